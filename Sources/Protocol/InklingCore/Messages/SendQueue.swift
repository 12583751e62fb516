import InklingWire

/// The waiting texts and the waiting name of a link, which have no record numbers yet.
///
/// A part gets its record number at its first transmission (M-10). So a name can go before texts that were queued
/// earlier.
struct SendQueue {
    /// The content of a record that is sent for the first time.
    struct Part {
        /// The message or invite that the part belongs to; nil for another type.
        var message: UInt64?
        var type = RecordType.text
        var isFirst = true
        var isLast = true
        /// The ID of the text; nil for other messages, and for texts that nobody keeps (M-80).
        var textID: TextID?
        let body: [UInt8]
        /// The link's up time when the first record of the message was sent.
        let begun: Duration

        /// The part's size for the limit of its link's queue (M-14).
        var cost: Int { message == nil ? 0 : body.count + (isLast ? Limits.queuedMessageOverhead : 0) }
    }

    private struct Waiting {
        let message: UInt64
        let type: RecordType
        let textID: TextID?
        var text: [UInt8]
        var offset = 0
        var begun: Duration?
    }

    /// The body of a greasing record that is sent before the next message.
    var greasing: [UInt8]?
    /// The bytes of waiting text, plus 256 for each message.
    private(set) var bytes = 0
    private var waiting: [Waiting] = []
    private var head = 0
    private var name: [UInt8]
    private var isNameWaiting = true
    private var lastName: Instant?
    /// The body of the successor record, after which the link sends nothing more; nil on most links (M-65).
    private(set) var successor: [UInt8]?
    private(set) var isSuccessorWaiting = false

    init(name: String) { self.name = Array(name.utf8) }

    /// Whether no text waits.
    var isEmpty: Bool { head == waiting.count }
    /// The message of the first waiting text; nil if none waits.
    var first: UInt64? { isEmpty ? nil : waiting[head].message }
    /// The link's up time when the first record of ``first`` was sent; nil before that.
    var firstBegun: Duration? { isEmpty ? nil : waiting[head].begun }
    /// The messages that wait completely or in part, oldest first.
    var messages: [UInt64] { waiting[head...].map(\.message) }
    /// The earliest time for the waiting name; nil if none waits (M-24).
    var nameDue: Instant? {
        guard isNameWaiting, isBetweenMessages else { return nil }
        return lastName.map { $0 + Limits.nameInterval } ?? .zero
    }

    /// Whether the successor waits for its turn between two messages.
    var isSuccessorDue: Bool { isSuccessorWaiting && isBetweenMessages }

    private var isBetweenMessages: Bool { isEmpty || waiting[head].offset == 0 }

    /// The IDs of the texts that wait completely or in part.
    var textIDs: [TextID] { waiting[head...].compactMap(\.textID) }

    mutating func add(_ message: UInt64, _ type: RecordType = .text, _ id: TextID? = nil, text: [UInt8]) {
        bytes += text.count + Limits.queuedMessageOverhead
        waiting.append(Waiting(message: message, type: type, textID: id, text: text))
    }

    mutating func rename(_ name: String) {
        let bytes = Array(name.utf8)
        guard bytes != self.name else { return }
        self.name = bytes
        isNameWaiting = true
    }

    /// Schedules the current name again.
    mutating func repeatName() { isNameWaiting = true }

    /// Schedules the successor again, if there is one.
    mutating func repeatSuccessor() { isSuccessorWaiting = successor != nil }

    /// Lets the name go at once, as record 0 of a new state (M-24).
    mutating func beginState() {
        isNameWaiting = true
        lastName = nil
        repeatSuccessor()
    }

    /// Drops all texts of which no record was sent, and queues a successor, which replaces an earlier one.
    ///
    /// - Returns: The dropped messages.
    mutating func close(with successor: [UInt8]) -> [UInt64] {
        let begun = isBetweenMessages ? head : head + 1
        let dropped = waiting[begun...]
        bytes -= dropped.reduce(0) { $0 + $1.text.count + Limits.queuedMessageOverhead }
        waiting.removeLast(dropped.count)
        if self.successor != successor {
            self.successor = successor
            isSuccessorWaiting = true
        }
        return dropped.map(\.message)
    }

    /// Removes the first text if some of it was already sent.
    ///
    /// - Returns: The message of the removed text.
    mutating func dropBegun() -> UInt64? {
        guard !isBetweenMessages else { return nil }
        let begun = waiting[head]
        bytes -= begun.text.count - begun.offset + Limits.queuedMessageOverhead
        advanceHead()
        return begun.message
    }

    /// Removes the texts with an ID, of which nothing was sent (M-86).
    ///
    /// - Returns: Their messages.
    mutating func dropIdentified() -> [UInt64] {
        let dropped = waiting[head...].filter { $0.textID != nil }
        guard !dropped.isEmpty else { return [] }
        bytes -= dropped.reduce(0) { $0 + $1.text.count + Limits.queuedMessageOverhead }
        waiting = waiting[head...].filter { $0.textID == nil }
        head = 0
        return dropped.map(\.message)
    }

    /// Removes a text with an ID if nothing of it was sent.
    ///
    /// - Returns: Whether the text was there.
    mutating func remove(_ id: TextID) -> Bool {
        guard let place = waiting[head...].firstIndex(where: { $0.textID == id && $0.offset == 0 }) else {
            return false
        }
        bytes -= waiting[place].text.count + Limits.queuedMessageOverhead
        waiting.remove(at: place)
        return true
    }

    mutating func removeAll() {
        bytes = 0
        waiting = []
        head = 0
    }

    /// Removes and returns the next part: the name if it is due, then the successor, or else up to 1,167 bytes of text.
    /// A text is cut between two Unicode scalars (M-1, M-27).
    mutating func next(now: Instant, up: Duration) -> Part? {
        if let nameDue, nameDue <= now {
            isNameWaiting = false
            lastName = now
            return Part(type: .name, body: name, begun: up)
        }
        if let successor, isSuccessorDue {
            isSuccessorWaiting = false
            return Part(type: .successor, body: successor, begun: up)
        }
        if let body = greasing, isBetweenMessages {
            greasing = nil
            return Part(type: Greasing.recordType, body: body, begun: up)
        }
        guard !isEmpty else { return nil }
        let first = waiting[head]
        let room =
            first.offset == 0 && first.textID != nil ? Limits.maximumIdentifiedTextSize : Limits.maximumRecordTextSize
        var end = min(first.offset + room, first.text.count)
        // A continuation byte of UTF-8 must stay with the bytes before it.
        while end < first.text.count, end > first.offset, first.text[end] & 0xC0 == 0x80 { end -= 1 }
        let begun = first.begun ?? up
        waiting[head].begun = begun
        waiting[head].offset = end
        let isLast = end == first.text.count
        if isLast { advanceHead() }
        let part = Part(
            message: first.message, type: first.type, isFirst: first.offset == 0, isLast: isLast,
            textID: first.textID, body: Array(first.text[first.offset..<end]), begun: begun)
        bytes -= part.cost
        return part
    }

    private mutating func advanceHead() {
        waiting[head].text = []
        head += 1
        guard head > 64, head * 2 > waiting.count else { return }
        waiting.removeFirst(head)
        head = 0
    }
}

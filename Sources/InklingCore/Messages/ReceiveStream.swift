import InklingWire

/// The receiver's side of one link's reliable stream of records: any order → whole messages in order, once.
struct ReceiveStream {
    /// How far the message has come that is being put together.
    private enum Assembly {
        case none
        case begun(at: Instant, lastRecord: Instant)
        /// It was given up: nothing of this stream is taken any more (M-20).
        case abandoned
    }

    /// The peer's stream that is held; 0 for none.
    private(set) var id: UInt32 = 0
    /// The record that is expected next.
    private(set) var next: UInt32 = 0
    private var beyond: [UInt32: Record] = [:]
    /// What is kept free for the records beyond.
    private var beyondCost = 0
    private var assembly = Assembly.none
    private var parts: [String] = []
    private var partsSize = 0
    /// Whether the expected record, or one beyond it, was refused for want of room.
    private var isHeldBack = false

    /// The last streams that were given up for others after records of them had come (M-7).
    private var givenUp: [UInt32] = []

    // MARK: Queries

    /// The bytes that are held of messages that are not whole, or kept free for them.
    var joining: Int { beyondCost + (isAssembling ? ReceiveStream.longestCost : 0) }

    /// When a message that goes on no more is given up.
    var nextDeadline: Instant? {
        guard case .begun(let start, let lastRecord) = assembly else { return nil }
        return min(lastRecord + Limits.reassemblyPause, start + Limits.longestReassembly)
    }

    /// What is acknowledged now.
    var ack: Ack {
        var bitmap: UInt16 = 0
        for bit in 0..<UInt32(16) where next < UInt32.max - 17 && beyond[next + 1 + bit] != nil {
            bitmap |= 1 << UInt16(bit)
        }
        return Ack(stream: id, next: next, bitmap: bitmap)
    }

    private var isAssembling: Bool { if case .begun = assembly { true } else { false } }
    private static let longestCost = Inbox.cost(of: Limits.maximumMessageSize)

    /// What has to be free for a record before it is taken: where it is a message or begins one, that whole.
    private static func cost(of record: Record) -> Int {
        record.isFirst && !record.isLast ? longestCost : Inbox.cost(of: record.text.utf8.count)
    }

    // MARK: Inputs

    /// The peer's hello named its stream; another than the one held begins at record 0, unless it was begun before.
    mutating func hold(_ stream: UInt32) {
        guard stream != id, !givenUp.contains(stream) else { return }
        let isBegun = next > 0 || !beyond.isEmpty
        let givenUp = isBegun ? givenUp.suffix(Limits.rememberedStreams - 1) + [id] : givenUp
        self = ReceiveStream()
        self.givenUp = Array(givenUp)
        id = stream
    }

    /// A record came.
    ///
    /// - Parameter admits: Whether there is room for so many bytes more. What is taken has room for as long as it takes.
    /// - Returns: The messages that it completes, in order; nil when the record is of another stream and gets no
    ///   acknowledgement.
    mutating func receive(_ record: Record, now: Instant, admits: (Int) -> Bool) -> [String]? {
        guard record.stream == id, id != 0 else { return nil }
        switch assembly {
        case .none: break
        case .begun(let start, _): assembly = .begun(at: start, lastRecord: now)
        case .abandoned: return []
        }
        guard record.number >= next else { return [] }
        guard record.number - next < UInt32(Limits.recordsInFlight) else { return [] }
        guard beyond[record.number] == nil else { return [] }
        if record.number > next {
            let cost = ReceiveStream.cost(of: record)
            guard !isHeldBack, admits(cost) else {
                isHeldBack = true
                return []
            }
            beyond[record.number] = record
            beyondCost += cost
            return []
        }
        // One that goes on with a message has its room, and one that breaks the order of M-1 needs none.
        if record.isFirst, !isAssembling, !admits(ReceiveStream.cost(of: record)) {
            isHeldBack = true
            return []
        }
        isHeldBack = false
        var messages: [String] = []
        var current: Record? = record
        while let record = current {
            if let message = append(record, now) { messages.append(message) }
            next &+= 1
            current = beyond.removeValue(forKey: next)
            if let current { beyondCost -= ReceiveStream.cost(of: current) }
        }
        return messages
    }

    /// Gives up a message of which nothing came for as long as its sender would have given it up (M-19, M-20).
    mutating func advance(_ now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        assembly = .abandoned
        parts = []
        beyond = [:]
        beyondCost = 0
    }

    /// A record that breaks the order of first and last, or the limit, is dropped with what it would join.
    private mutating func append(_ record: Record, _ now: Instant) -> String? {
        guard record.isFirst != isAssembling else {
            drop()
            return nil
        }
        if !isAssembling { assembly = .begun(at: now, lastRecord: now) }
        partsSize += record.text.utf8.count
        guard partsSize <= Limits.reassemblyBytesPerLink else {
            drop()
            return nil
        }
        parts.append(record.text)
        guard record.isLast else { return nil }
        defer { drop() }
        return parts.joined()
    }

    private mutating func drop() {
        assembly = .none
        parts = []
        partsSize = 0
    }
}

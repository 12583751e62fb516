import InklingWire

/// The sent but unacknowledged records of a link, and the congestion window (M-10, M-12, M-31 to M-35).
struct SendWindow {
    private enum State {
        /// The record waits to be sent again as soon as the window permits.
        case queued
        /// The record is due to be sent again at once (M-12). Until then it counts as in flight.
        case again
        case inFlight
        /// The bitmap of the newest ack contains the record.
        case held
    }

    private struct SentRecord {
        let part: SendQueue.Part
        var state = State.inFlight
        /// The number of the record's last transmission, counted over all transmissions of the link; 0 before the
        /// first.
        var transmission: UInt64 = 0
        var isRepeated = false
        var sentAt = Instant.zero
        /// The number of acknowledged records whose last transmission was later than this record's.
        var overtakings = 0

        var isInFlight: Bool { state == .inFlight || state == .again }
    }

    /// The lowest unacknowledged record number.
    private(set) var base: UInt32 = 0
    private var sent: [SentRecord] = []
    private var transmissions: UInt64 = 0
    private var limit = Limits.initialWindow
    /// The next unused number at the time when the window was last halved.
    private var halvedUntil: UInt32 = 0

    // MARK: Queries

    /// The next unused record number.
    var next: UInt32 { base + UInt32(sent.count) }
    /// The unacknowledged parts, lowest number first.
    var parts: [SendQueue.Part] { sent.map(\.part) }
    /// The first part that belongs to a message; nil if there is none.
    var firstText: SendQueue.Part? { sent.first { $0.part.message != nil }?.part }
    /// The number of records in flight: sent, and neither acknowledged, nor in the newest bitmap, nor set back by the
    /// timer (M-34).
    var inFlight: Int { sent.count(where: \.isInFlight) }
    /// Whether the window has room for a record's first transmission (M-10, M-34).
    var hasRoom: Bool { isOpen && sent.count < Limits.recordsAbove }
    /// The IDs of the texts of which a record is unacknowledged.
    var textIDs: Set<TextID> { Set(sent.lazy.compactMap(\.part.textID)) }
    /// Returns the text ID to send beside a record, which begins a text (M-80).
    func textID(of record: Record) -> TextID? {
        guard record.isFirst, record.number >= base, record.number < next else { return nil }
        return sent[Int(record.number - base)].part.textID
    }

    /// Whether a record may be sent again now.
    var hasRepeat: Bool { repeatIndex != nil }

    private var isOpen: Bool { inFlight < limit }

    private var repeatIndex: Int? {
        let isOpen = isOpen
        return sent.firstIndex { $0.state == .again || ($0.state == .queued && isOpen) }
    }

    // MARK: Transmissions

    /// Gives a part its record number and marks it as sent.
    mutating func send(_ part: SendQueue.Part, _ now: Instant) -> Record {
        sent.append(SentRecord(part: part))
        return transmit(sent.count - 1, now)
    }

    /// Returns the lowest record that may be sent again, and marks it as sent; nil if there is none.
    mutating func repeatRecord(_ now: Instant) -> Record? { repeatIndex.map { transmit($0, now) } }

    /// Returns record 0 if it was sent but not acknowledged, to go beside a pong (L-82). Its ack then gives no round
    /// trip.
    mutating func recordZero() -> Record? {
        guard base == 0, let first = sent.first else { return nil }
        sent[0].isRepeated = true
        return Record(
            number: 0, type: first.part.type, isFirst: first.part.isFirst, isLast: first.part.isLast,
            body: first.part.body)
    }

    private mutating func transmit(_ index: Int, _ now: Instant) -> Record {
        transmissions += 1
        sent[index].isRepeated = sent[index].transmission > 0
        sent[index].state = .inFlight
        sent[index].transmission = transmissions
        sent[index].sentAt = now
        sent[index].overtakings = 0
        let part = sent[index].part
        return Record(
            number: base + UInt32(index), type: part.type, isFirst: part.isFirst, isLast: part.isLast, body: part.body)
    }

    // MARK: Events

    /// Applies the newest ack, whose next is not beyond ``next``.
    ///
    /// - Returns: The parts that the ack acknowledges, and the round trip of the latest record that it acknowledges or
    ///   names for the first time. The round trip is nil if the node sent that record twice (M-32).
    mutating func receive(_ ack: Ack, _ now: Instant) -> (acknowledged: [SendQueue.Part], sample: Duration?) {
        var latest: SentRecord?
        for index in sent.indices {
            let number = base + UInt32(index)
            guard number < ack.next || ack.names(number) else {
                if sent[index].state == .held { sent[index].state = .inFlight }
                continue
            }
            if sent[index].state != .held, sent[index].transmission > latest?.transmission ?? 0 { latest = sent[index] }
            sent[index].state = .held
        }
        let acknowledged = removeAcknowledged(below: ack.next)
        if !acknowledged.isEmpty { limit = min(limit + 1, Limits.maximumWindow) }
        repeatOvertaken()
        return (acknowledged, latest.flatMap { $0.isRepeated ? nil : now - $0.sentAt })
    }

    private mutating func removeAcknowledged(below next: UInt32) -> [SendQueue.Part] {
        guard next > base else { return [] }
        let removed = sent.prefix(Int(next - base))
        sent.removeFirst(removed.count)
        base = next
        for index in sent.indices {
            sent[index].overtakings += removed.count { $0.transmission > sent[index].transmission }
        }
        return removed.map(\.part)
    }

    /// Schedules records that three later transmissions overtook, and halves the window once for them (M-12, M-35).
    private mutating func repeatOvertaken() {
        let held = sent.filter { $0.state == .held }.map(\.transmission)
        var isOvertaken = false
        for index in sent.indices where sent[index].state == .inFlight {
            let later = sent[index].overtakings + held.count { $0 > sent[index].transmission }
            guard later >= Limits.laterRecordsUntilRepeat else { continue }
            sent[index].state = .again
            isOvertaken = true
        }
        guard isOvertaken, base >= halvedUntil else { return }
        limit = max(limit / 2, 1)
        halvedUntil = next
    }

    /// Handles the expiry of the timer: records in flight count as not sent (M-33, M-35).
    mutating func timeOut() {
        for index in sent.indices where sent[index].isInFlight { sent[index].state = .queued }
        limit = 1
    }

    /// Handles a link that went down: all records must be sent again (M-29).
    mutating func goDown() {
        for index in sent.indices { sent[index].state = .queued }
    }

    /// Handles a link that came up (M-34).
    mutating func comeUp() { limit = Limits.initialWindow }

    /// Drops all records and skips one unused number.
    ///
    /// - Returns: The number for a forward (M-37).
    mutating func skip() -> UInt32 {
        base = next + 1
        sent = []
        return base
    }
}

import InklingWire2

/// The records of a link that were sent and are not acknowledged, and the congestion window (M-10, M-12, M-31 to M-35).
struct SendWindow {
    private enum State {
        /// To be sent again as the window allows.
        case queued
        /// To be sent again at once (M-12). Until then the record counts as in flight.
        case again
        case inFlight
        /// Named in the bitmap of the newest ack.
        case held
    }

    private struct SentRecord {
        let record: Record
        let part: SendQueue.Part
        var state = State.inFlight
        /// The place of the last transmission among all of the link.
        var transmission: UInt64
        var isRepeated = false
        var sentAt: Instant
        /// The acknowledged records whose last transmission was later.
        var overtakings = 0

        var isInFlight: Bool { state == .inFlight || state == .again }
    }

    /// What an ack did.
    struct News {
        /// The parts that it acknowledged.
        var acknowledged: [SendQueue.Part] = []
        /// Whether it acknowledged a record for the first time (M-31).
        var isNew: Bool { !acknowledged.isEmpty }
        /// The round trip of the latest record that it acknowledged or named for the first time; nil if there is none, or
        /// if that was sent twice (M-32).
        var sample: Duration?
    }

    /// The lowest unacknowledged number.
    private(set) var base: UInt32 = 0
    private var sent: [SentRecord] = []
    private var transmissions: UInt64 = 0
    private var limit = Limits.initialWindow
    /// The number that was next when the window was halved last.
    private var halvedUntil: UInt32 = 0

    // MARK: Queries

    var isEmpty: Bool { sent.isEmpty }
    /// The next unused number.
    var next: UInt32 { base + UInt32(sent.count) }
    /// The parts that are not acknowledged, lowest number first.
    var parts: [SendQueue.Part] { sent.map(\.part) }
    /// The first part of the oldest message; nil if none of a message is left.
    var firstText: SendQueue.Part? { sent.first { $0.part.message != nil }?.part }
    /// The records that are sent and not acknowledged, named in the newest bitmap or set back by the timer (M-34).
    var inFlight: Int { sent.count(where: \.isInFlight) }
    /// Whether a record may be sent for the first time (M-10, M-34).
    var hasRoom: Bool { isOpen && sent.count < Limits.recordsAbove }
    /// Whether a record may be sent again.
    var hasRepeat: Bool { repeatIndex != nil }

    private var isOpen: Bool { inFlight < limit }

    private var repeatIndex: Int? {
        let isOpen = isOpen
        return sent.firstIndex { $0.state == .again || ($0.state == .queued && isOpen) }
    }

    // MARK: Transmissions

    /// Gives a part its number and marks it as sent.
    mutating func send(_ part: SendQueue.Part, _ now: Instant) -> Record {
        transmissions += 1
        let record = Record(number: next, type: part.type, isFirst: part.isFirst, isLast: part.isLast, body: part.body)
        sent.append(SentRecord(record: record, part: part, transmission: transmissions, sentAt: now))
        return record
    }

    /// Returns the lowest record that may be sent again, marked as sent; nil when there is none.
    mutating func repeatRecord(_ now: Instant) -> Record? {
        guard let index = repeatIndex else { return nil }
        transmissions += 1
        sent[index].state = .inFlight
        sent[index].transmission = transmissions
        sent[index].isRepeated = true
        sent[index].sentAt = now
        sent[index].overtakings = 0
        return sent[index].record
    }

    // MARK: Events

    /// Applies the newest ack, whose `next` is not beyond ``next``.
    mutating func receive(_ ack: Ack, _ now: Instant) -> News {
        var news = News()
        var latest: SentRecord?
        for index in sent.indices {
            let number = sent[index].record.number
            guard number < ack.next || ack.names(number) else {
                if sent[index].state == .held { sent[index].state = .inFlight }
                continue
            }
            if sent[index].state != .held, sent[index].transmission > latest?.transmission ?? 0 { latest = sent[index] }
            sent[index].state = .held
        }
        if let latest, !latest.isRepeated { news.sample = now - latest.sentAt }
        news.acknowledged = removeAcknowledged(below: ack.next)
        if news.isNew { limit = min(limit + 1, Limits.maximumWindow) }
        repeatOvertaken()
        return news
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

    /// Sends records again that three later transmissions overtook, and halves the window once for them (M-12, M-35).
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

    /// Applies that the timer ran out: what is in flight counts as not sent (M-33, M-35).
    mutating func timeOut() {
        for index in sent.indices where sent[index].isInFlight { sent[index].state = .queued }
        limit = 1
    }

    /// Applies that the link went down: nothing is in flight or held any more.
    mutating func goDown() {
        for index in sent.indices { sent[index].state = .queued }
    }

    /// Applies that the link came up (M-34).
    mutating func comeUp() { limit = Limits.initialWindow }

    /// Drops all records and skips one unused number.
    ///
    /// - Returns: The next number, which a forward names (M-37).
    mutating func skip() -> UInt32 {
        base = next + 1
        sent = []
        return base
    }
}

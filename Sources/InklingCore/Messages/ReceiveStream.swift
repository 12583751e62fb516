import InklingWire

/// The receiver's side of one link's reliable stream of records: any order → whole messages in order, once.
struct ReceiveStream {
    /// The message whose first record was taken.
    private enum Assembly {
        case none
        case begun
        /// The node gave it up, and takes nothing more of this stream (M-20).
        case abandoned
    }

    /// The peer's stream that is held; 0 for none.
    private(set) var id: UInt32 = 0
    /// The record that is expected next.
    private(set) var next: UInt32 = 0
    private var beyond: [UInt32: Record] = [:]
    private var assembly = Assembly.none
    private var parts: [String] = []
    private var partsSize = 0
    /// When the oldest message began that is not delivered, or the gap before it showed, and when the last record came.
    private var waiting: (since: Instant, lastRecord: Instant)?
    /// Whether the expected record, or one beyond it, was refused for want of room.
    private var isHeldBack = false

    /// The last streams that were given up for others after records of them had come (M-7).
    private var givenUp: [UInt32] = []

    // MARK: Queries

    /// The room that the records named in acks have.
    var pending: Inbox.Pending { pending(with: nil) }

    /// When messages of which not all records come are given up.
    var nextDeadline: Instant? {
        waiting.map { min($0.lastRecord + Limits.reassemblyPause, $0.since + Limits.longestReassembly) }
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

    /// The room that is needed once `record` is taken too.
    ///
    /// A message of several records needs the link's one place in the reassembly pool from its first record that comes,
    /// whichever that is. Messages become whole one after the other, so all of a link can use the same place. A last
    /// record, or a record that is a message, needs room among the texts for all that it may complete.
    private func pending(with record: Record?) -> Inbox.Pending {
        var pending = Inbox.Pending()
        if record == nil, beyond.isEmpty {
            pending.reassembly = isAssembling ? Inbox.cost(of: Limits.maximumMessageSize) : 0
            return pending
        }
        let isJoined = isAssembling || beyond.values.contains { !$0.isWhole } || record.map { !$0.isWhole } ?? false
        if isJoined { pending.reassembly = Inbox.cost(of: Limits.maximumMessageSize) }
        let lastBeyond = beyond.values.filter(\.isLast).map(\.number).max()
        let last = record.map { $0.isLast ? max($0.number, lastBeyond ?? 0) : lastBeyond } ?? lastBeyond
        guard let last, last >= next else { return pending }
        pending.texts = isAssembling ? partsSize : 0
        for number in next...last {
            if let present = number == record?.number ? record : beyond[number] {
                pending.texts += present.isLast ? Inbox.cost(of: present.text.utf8.count) : present.text.utf8.count
            } else {
                pending.texts += Inbox.cost(of: Limits.maximumRecordTextSize)
            }
        }
        return pending
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

    /// Takes a record, or refuses it for want of room.
    ///
    /// - Parameter admits: Whether the link may hold that much. The link holds it from then on.
    /// - Returns: The messages that the record completes, in order; nil for a record of another stream, which gets no
    ///   acknowledgement.
    mutating func receive(_ record: Record, now: Instant, admits: (Inbox.Pending) -> Bool) -> [String]? {
        guard record.stream == id, id != 0 else { return nil }
        if case .abandoned = assembly { return [] }
        waiting?.lastRecord = now
        guard record.number >= next else { return [] }
        guard record.number - next < UInt32(Limits.recordsInFlight) else { return [] }
        guard beyond[record.number] == nil else { return [] }
        let isExpected = record.number == next
        // A record that breaks the order of M-1 needs no room.
        let isBroken = isExpected && record.isFirst == isAssembling
        guard isBroken || (isExpected || !isHeldBack) && admits(pending(with: record)) else {
            isHeldBack = true
            return []
        }
        guard isExpected else {
            beyond[record.number] = record
            waiting = waiting ?? (now, now)
            return []
        }
        isHeldBack = false
        return takeExpected(record, now)
    }

    /// Takes the expected record, and those beyond that follow it.
    private mutating func takeExpected(_ record: Record, _ now: Instant) -> [String] {
        var goesOn = isAssembling
        var messages: [String] = []
        var current: Record? = record
        while let record = current {
            if let message = append(record) { messages.append(message) }
            goesOn = goesOn && isAssembling
            next &+= 1
            current = beyond.removeValue(forKey: next)
        }
        // The time of a message runs from its first record, and that of a gap from when it is the first one.
        if !isAssembling, beyond.isEmpty {
            waiting = nil
        } else if !goesOn {
            waiting = (now, now)
        }
        return messages
    }

    /// Gives up what waits for records that no longer come: its sender has given it up too (M-19, M-20).
    mutating func advance(_ now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        drop()
        assembly = .abandoned
        waiting = nil
        beyond = [:]
    }

    /// A record that breaks the order of first and last, or the limit, is dropped with what it would join.
    private mutating func append(_ record: Record) -> String? {
        guard record.isFirst != isAssembling else {
            drop()
            return nil
        }
        assembly = .begun
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

extension Record {
    /// Whether the record is a message by itself.
    fileprivate var isWhole: Bool { isFirst && isLast }
}

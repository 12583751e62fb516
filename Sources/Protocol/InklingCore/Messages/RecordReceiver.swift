import InklingWire

/// The effect of a record that was taken.
enum RecordEvent: Equatable, Sendable {
    /// The peer's display name: empty if the record's was not valid (M-25).
    case name(String)
    /// A whole message.
    case message(String)
}

/// The records that a node receives on one link: in any order → names and whole messages, in order and once (M-2).
///
/// A new receiver is down. Its owner answers each record and each forward with ``ack`` at once, also if it returns no event
/// (M-15).
struct RecordReceiver: Sendable {
    private enum Assembly {
        case none
        case begun(text: [UInt8], since: Instant)
        /// No record is taken until a forward comes (M-43).
        case givenUp
    }

    /// Whether a name was delivered, so that the link is shown (L-85). The name is record 0, unless a forward passed
    /// over that (M-37).
    private(set) var isPeerNamed = false
    private var expected: UInt32 = 0
    private var beyond: [UInt32: Record] = [:]
    private var assembly = Assembly.none
    /// The instant since when the expected record is missing while others are held.
    private var gapSince: Instant?
    private var lastRecord = Instant.zero
    private var downSince: Instant? = .zero

    // MARK: Queries

    /// The ack that names the expected record and those held beyond it (M-15).
    var ack: Ack {
        var bitmap: UInt16 = 0
        for number in beyond.keys { bitmap |= 1 << UInt16(number - expected - 1) }
        return Ack(next: expected, bitmap: bitmap)
    }

    /// The instant when held records and a begun message are dropped; nil without any, or while the link is down (M-43).
    var nextDeadline: Instant? {
        var since = gapSince
        if case .begun(_, let begun) = assembly { since = earliest(since, or: begun) }
        guard let since, downSince == nil else { return nil }
        return min(since + Limits.longestGap, lastRecord + Limits.waitingWithoutRecord)
    }

    // MARK: Inputs

    /// Takes or holds a record.
    ///
    /// - Parameter grant: Answers a demand for room, and applies it if there is room.
    /// - Returns: The names and messages that the record completes, in order.
    mutating func receive(_ record: Record, now: Instant, grant: (TextDemand) -> Bool) -> [RecordEvent] {
        if case .givenUp = assembly { return [] }
        lastRecord = now
        // The last number would leave none to expect.
        guard record.number >= expected, record.number < .max, beyond[record.number] == nil else { return [] }
        guard record.number > expected else { return take(record, now, grant) }
        guard record.number - expected < UInt32(Limits.recordsAbove), grant(.hold(record.body.count)) else { return [] }
        beyond[record.number] = record
        gapSince = gapSince ?? now
        return []
    }

    /// Drops held records below a forward's number and a begun message, and expects that number (M-38).
    mutating func receive(forward number: UInt32, now: Instant, grant: (TextDemand) -> Bool) -> [RecordEvent] {
        guard number > expected else { return [] }
        dropMessage(grant)
        dropHeld(below: number, grant)
        expected = number
        lastRecord = now
        gapSince = beyond.isEmpty ? nil : now
        return take(removeExpected(grant), now, grant)
    }

    /// Drops held records and a begun message when their time has passed (M-43).
    mutating func advance(_ now: Instant, grant: (TextDemand) -> Bool) {
        guard let nextDeadline, nextDeadline <= now else { return }
        dropMessage(grant)
        dropHeld(below: .max, grant)
        gapSince = nil
        assembly = .givenUp
    }

    /// Applies that the link went down, where the times stand still (M-43).
    mutating func goDown(now: Instant) { downSince = downSince ?? now }

    /// Applies that the link came up.
    mutating func comeUp(now: Instant) {
        guard let pause = downSince.map({ now - $0 }) else { return }
        downSince = nil
        lastRecord = lastRecord + pause
        gapSince = gapSince.map { $0 + pause }
        if case .begun(let text, let since) = assembly { assembly = .begun(text: text, since: since + pause) }
    }

    // MARK: Records in order

    /// Takes the expected record, and those held right above it.
    private mutating func take(_ record: Record?, _ now: Instant, _ grant: (TextDemand) -> Bool) -> [RecordEvent] {
        var events: [RecordEvent] = []
        var next = record
        while let record = next, apply(record, now, grant, &events) {
            expected += 1
            gapSince = beyond.isEmpty ? nil : now
            next = removeExpected(grant)
        }
        if beyond.isEmpty { gapSince = nil }
        return events
    }

    /// Returns the expected record if it was held, without the room that it had.
    private mutating func removeExpected(_ grant: (TextDemand) -> Bool) -> Record? {
        guard let record = beyond.removeValue(forKey: expected) else { return nil }
        _ = grant(.drop(record.body.count))
        return record
    }

    /// Applies a record at its turn.
    ///
    /// - Returns: Whether it is taken; otherwise there is no room for it (M-39).
    private mutating func apply(
        _ record: Record, _ now: Instant, _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]
    ) -> Bool {
        switch record.type {
        case .name:
            isPeerNamed = true
            events.append(.name(record.displayName))
            return true
        case .text:
            // A peer that did not name itself is not shown, nor are its texts (L-85).
            return !isPeerNamed || join(record, now, grant, &events)
        case .invite, .successor, .unknown:
            return true
        }
    }

    /// Joins a text to the message in progress. A text that breaks M-1 is dropped with the message (M-23).
    private mutating func join(
        _ record: Record, _ now: Instant, _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]
    ) -> Bool {
        switch assembly {
        case .givenUp: return false
        case .none:
            guard record.isFirst else { return true }
            guard !record.isLast else { return deliver(record.body, grant, &events) }
            guard grant(.begin) else { return false }
            assembly = .begun(text: record.body, since: now)
        case .begun(var text, let since):
            guard !record.isFirst, text.count + record.body.count <= Limits.messageSizes.upperBound else {
                dropMessage(grant)
                return true
            }
            // Without a second owner the text grows in place.
            assembly = .none
            text += record.body
            if record.isLast, deliver(text, grant, &events) {
                _ = grant(.end)
                return true
            }
            if record.isLast { text.removeLast(record.body.count) }
            assembly = .begun(text: text, since: since)
            return !record.isLast
        }
        return true
    }

    private func deliver(_ text: [UInt8], _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]) -> Bool {
        guard grant(.deliver(text.count)) else { return false }
        events.append(.message(String(decoding: text, as: UTF8.self)))
        return true
    }

    // MARK: Room

    private mutating func dropMessage(_ grant: (TextDemand) -> Bool) {
        if case .begun = assembly { _ = grant(.end) }
        assembly = .none
    }

    private mutating func dropHeld(below number: UInt32, _ grant: (TextDemand) -> Bool) {
        for (held, record) in beyond where held < number { _ = grant(.drop(record.body.count)) }
        beyond = beyond.filter { $0.key >= number }
    }
}

import InklingWire

/// The effect of a received record.
enum RecordEvent: Equatable, Sendable {
    /// The peer's display name, empty if the record's name was not valid (M-25).
    case name(String)
    /// A complete message.
    case message(String)
    /// A complete text with its ID. The record, its last one, is acknowledged once the text is kept (M-82).
    case text(String, TextID, record: UInt32)
    /// An invite to another chat, or a knock, which has none (M-46).
    case invite(Invite?)
    /// The body of a successor record.
    case successor([UInt8])
}

/// The received records of one link. Records arrive in any order; names and complete messages come out in order, and
/// only once (M-2).
///
/// A new receiver is down. Its owner answers each record and each forward with ``ack`` at once, even if no event
/// results (M-15).
struct RecordReceiver: Sendable {
    private enum Assembly {
        case none
        case begun(text: [UInt8], TextID?, since: Instant)
        /// The receiver accepts no record until a forward arrives (M-43).
        case givenUp
    }

    /// Whether a name has arrived, so that the person is shown (L-85). The name is record 0, unless a forward skipped
    /// record 0 (M-37).
    private(set) var isPeerNamed = false
    /// Whether the receiver accepts texts and invites. A hidden link does not (M-92, M-94).
    var takesMessages = true
    private var expected: UInt32 = 0
    private var beyond: [UInt32: Record] = [:]
    /// The digests of the last 16 records that were taken in order, the newest last (L-105).
    private var taken: [(number: UInt32, digest: UInt64)] = []
    /// The text IDs of records in ``beyond``.
    private var textIDs: [UInt32: TextID] = [:]
    /// The last records of texts that the node has put out and not kept yet, in order (M-82).
    private var unkept: [UInt32] = []
    private var assembly = Assembly.none
    /// The time since when the expected record is missing while later records are held.
    private var gapSince: Instant?
    private var lastRecord = Instant.zero
    private var downSince: Instant? = .zero

    // MARK: Queries

    /// The ack with the expected record and the held later ones (M-15).
    var ack: Ack {
        // A bitmap would make the sender repeat the unkept record at once (M-12).
        guard acknowledged == expected else { return Ack(next: acknowledged) }
        var bitmap: UInt16 = 0
        for number in beyond.keys { bitmap |= 1 << UInt16(number - expected - 1) }
        return Ack(next: expected, bitmap: bitmap)
    }

    /// The lowest record that is not acknowledged.
    var acknowledged: UInt32 { unkept.first ?? expected }

    /// The time when the receiver drops held records and a begun message; nil without any, or while the link is down
    /// (M-43).
    var nextDeadline: Instant? {
        var since = gapSince
        if case .begun(_, _, let begun) = assembly { since = earliest(since, or: begun) }
        guard let since, downSince == nil else { return nil }
        return min(since + Limits.longestGap, lastRecord + Limits.waitingWithoutRecord)
    }

    /// Returns whether another record came under the number of this one. The peer has then returned to a snapshot
    /// (L-105).
    func contradicts(_ record: Record) -> Bool {
        if let held = beyond[record.number] { return held != record }
        return taken.contains { $0.number == record.number && $0.digest != record.digest }
    }

    // MARK: Inputs

    /// Receives a record. A record that is not the expected one may be held.
    ///
    /// - Parameters:
    ///   - id: The ID of the text that the record begins; nil if the node need not keep the text.
    ///   - grant: Answers a demand for room, and reserves the room if there is any.
    /// - Returns: The names, messages and invites that the record completes, in order.
    mutating func receive(
        _ record: Record, _ id: TextID? = nil, now: Instant, grant: (TextDemand) -> Bool
    ) -> [RecordEvent] {
        if case .givenUp = assembly { return [] }
        lastRecord = now
        // After the highest number, no number would be left to expect.
        guard record.number >= expected, record.number < .max, beyond[record.number] == nil else { return [] }
        guard record.number - acknowledged < UInt32(Limits.recordsAbove) else { return [] }
        guard record.number > expected else { return take((record, id), now, grant) }
        guard accepts(record), grant(.hold(record.body.count)) else { return [] }
        beyond[record.number] = record
        textIDs[record.number] = id
        gapSince = gapSince ?? now
        return []
    }

    /// Applies a forward: drops a begun message and held records below its number, and then expects that number (M-38).
    mutating func receive(forward number: UInt32, now: Instant, grant: (TextDemand) -> Bool) -> [RecordEvent] {
        guard number > expected else { return [] }
        dropMessage(grant)
        dropHeld(below: number, grant)
        unkept = []
        expected = number
        lastRecord = now
        gapSince = beyond.isEmpty ? nil : now
        return take(removeExpected(grant), now, grant)
    }

    /// Lets acks acknowledge the last record of a text, because the node has kept or seen the text (M-82, M-83).
    mutating func keep(_ record: UInt32) { unkept.removeAll { $0 == record } }

    /// Drops held records and a begun message when their time has passed (M-43).
    mutating func advance(_ now: Instant, grant: (TextDemand) -> Bool) {
        guard let nextDeadline, nextDeadline <= now else { return }
        dropMessage(grant)
        dropHeld(below: .max, grant)
        gapSince = nil
        assembly = .givenUp
    }

    /// Records that the link went down. The times of M-43 stand still while it is down.
    mutating func goDown(now: Instant) { downSince = downSince ?? now }

    /// Records that the link came up.
    mutating func comeUp(now: Instant) {
        guard let pause = downSince.map({ now - $0 }) else { return }
        downSince = nil
        lastRecord = lastRecord + pause
        gapSince = gapSince.map { $0 + pause }
        if case .begun(let text, let id, let since) = assembly {
            assembly = .begun(text: text, id, since: since + pause)
        }
    }

    // MARK: Records in order

    /// Applies the expected record, and the held records that follow it directly.
    private mutating func take(
        _ record: (Record, TextID?)?, _ now: Instant, _ grant: (TextDemand) -> Bool
    ) -> [RecordEvent] {
        var events: [RecordEvent] = []
        var next = record
        while let (record, id) = next, apply(record, id, now, grant, &events) {
            note(record)
            expected += 1
            gapSince = beyond.isEmpty ? nil : now
            next = removeExpected(grant)
        }
        if beyond.isEmpty { gapSince = nil }
        return events
    }

    private mutating func note(_ record: Record) {
        if taken.count == Limits.recordsAbove { taken.removeFirst() }
        taken.append((record.number, record.digest))
    }

    /// Returns the expected record if it was held, and frees its room.
    private mutating func removeExpected(_ grant: (TextDemand) -> Bool) -> (Record, TextID?)? {
        guard let record = beyond.removeValue(forKey: expected) else { return nil }
        _ = grant(.drop(record.body.count))
        return (record, textIDs.removeValue(forKey: expected))
    }

    /// Applies a record in order.
    ///
    /// - Returns: Whether the receiver accepted the record. If not, there is no room for it (M-39), or the link takes no
    ///   message (M-92).
    private mutating func apply(
        _ record: Record, _ id: TextID?, _ now: Instant, _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]
    ) -> Bool {
        guard accepts(record) else { return false }
        switch record.type {
        case .name:
            isPeerNamed = true
            events.append(.name(record.displayName))
            return true
        case .text:
            // Texts of a peer that has not named itself are not shown, and neither is the peer (L-85).
            return !isPeerNamed || join(record, id, now, grant, &events)
        case .invite:
            if isPeerNamed, let invite = record.invite { events.append(.invite(invite)) }
            return true
        case .successor:
            events.append(.successor(record.body))
            return true
        case .unknown:
            return true
        }
    }

    private func accepts(_ record: Record) -> Bool {
        takesMessages || record.type != .text && record.type != .invite
    }

    /// Adds a text to the message in progress. A text that breaks M-1 is dropped together with the message (M-23).
    private mutating func join(
        _ record: Record, _ id: TextID?, _ now: Instant, _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]
    ) -> Bool {
        switch assembly {
        case .givenUp: return false
        case .none:
            guard record.isFirst else { return true }
            guard !record.isLast else { return deliver(record.body, id, in: record, grant, &events) }
            guard grant(.begin) else { return false }
            assembly = .begun(text: record.body, id, since: now)
        case .begun(var text, let id, let since):
            guard !record.isFirst, text.count + record.body.count <= Limits.messageSizes.upperBound else {
                dropMessage(grant)
                return true
            }
            // With a single reference, the text grows in place without a copy.
            assembly = .none
            text += record.body
            if record.isLast, deliver(text, id, in: record, grant, &events) {
                _ = grant(.end)
                return true
            }
            if record.isLast { text.removeLast(record.body.count) }
            assembly = .begun(text: text, id, since: since)
            return !record.isLast
        }
        return true
    }

    private mutating func deliver(
        _ bytes: [UInt8], _ id: TextID?, in last: Record, _ grant: (TextDemand) -> Bool, _ events: inout [RecordEvent]
    ) -> Bool {
        guard grant(.deliver(bytes.count)) else { return false }
        let text = String(decoding: bytes, as: UTF8.self)
        if let id {
            unkept.append(last.number)
            events.append(.text(text, id, record: last.number))
        } else {
            events.append(.message(text))
        }
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
        textIDs = textIDs.filter { $0.key >= number }
    }
}

extension Record {
    /// A digest of type, flags and body. A peer that finds two records with one digest deceives only itself.
    fileprivate var digest: UInt64 {
        let flags = (isFirst ? 1 : 0) | (isLast ? 2 : 0) as UInt64
        var digest = (0xCBF2_9CE4_8422_2325 ^ UInt64(type.code) << 8 ^ flags) &* 0x100_0000_01B3
        for byte in body { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return digest
    }

    /// The invite in an invite record, none in a knock; nil if the body is not valid (M-46).
    fileprivate var invite: Invite?? {
        guard !body.isEmpty else { return .some(nil) }
        return String(validating: body, as: UTF8.self).flatMap { try? Invite($0) }.map { .some($0) }
    }
}

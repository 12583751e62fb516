import InklingWire

/// The copies of farewells, whose bytes are sealed already (L-32).
struct Farewells {
    private struct Copy {
        let at: Instant
        let bytes: [UInt8]
        let address: Address
    }

    private var copies: [Copy] = []

    var isEmpty: Bool { copies.isEmpty }
    var nextDeadline: Instant? { copies.first?.at }

    /// Says farewell on a session: at once, and again when its copies are due.
    mutating func say(
        _ reason: ByeReason, on session: inout Session, to address: Address, _ effects: inout Effects, now: Instant
    ) {
        let datagrams = session.farewell(reason)
        guard let first = datagrams.first else { return }
        effects.send(first, to: address, .bye)
        for (delay, bytes) in zip(Limits.edgeCopies, datagrams.dropFirst()) {
            let copy = Copy(at: now + delay, bytes: bytes, address: address)
            let place = copies.lastIndex { $0.at <= copy.at }.map { $0 + 1 } ?? 0
            copies.insert(copy, at: place)
        }
    }

    /// Sends the copies that are due.
    mutating func advance(_ effects: inout Effects, now: Instant) {
        let due = copies.prefix { $0.at <= now }
        copies.removeFirst(due.count)
        for copy in due { effects.send(copy.bytes, to: copy.address, .bye) }
    }
}

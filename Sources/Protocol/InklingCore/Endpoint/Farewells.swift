import InklingWire

/// The copies of byes that a node has yet to send, already sealed (L-32).
struct Farewells: Sendable {
    private struct Copy: Sendable {
        let at: Instant
        let bytes: [UInt8]
        let address: Address
    }

    private var copies: [Copy] = []

    var isEmpty: Bool { copies.isEmpty }
    var nextDeadline: Instant? { copies.first?.at }

    /// Says bye on each session of a link, on the sending one first. The byes go out now, and their copies later.
    mutating func say(_ reason: ByeReason, on link: inout Link, _ effects: inout Effects, now: Instant) {
        guard let sending = link.sessions.sending?.localIndex else { return }
        let indices = [sending] + link.sessions.indices.filter { $0 != sending }
        for index in indices {
            guard let bytes = link.seal([.bye(reason)], on: index) else { return }
            effects.send(bytes, to: link.address, .bye)
            for delay in Limits.copies {
                let copy = Copy(at: now + delay, bytes: bytes, address: link.address)
                let place = copies.lastIndex { $0.at <= copy.at }.map { $0 + 1 } ?? 0
                copies.insert(copy, at: place)
            }
        }
    }

    /// Sends the copies that are due.
    mutating func advance(_ effects: inout Effects, now: Instant) {
        let due = copies.prefix { $0.at <= now }
        copies.removeFirst(due.count)
        for copy in due { effects.send(copy.bytes, to: copy.address, .bye) }
    }
}

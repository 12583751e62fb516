import InklingWire

/// The unanswered pings of one link. Their pongs give round trips and confirm addresses (L-28, L-80).
struct PingClock: Sendable {
    private struct Ping: Sendable {
        let token: UInt16
        let sentAt: Instant
        /// The destinations of the ping that its pong may still confirm.
        var addresses: [Address]
    }

    /// The most pings that wait for a pong. Above it, the oldest is forgotten.
    private static let capacity = 64

    /// The smoothed round trip; nil before the first pong.
    private(set) var roundTrip: Duration?
    /// The time of the last ping.
    private(set) var lastSent: Instant?
    /// The pings that wait for a pong, the oldest first.
    private var awaited: [Ping] = []

    /// Records a ping that the node sends.
    ///
    /// - Parameter addresses: All destinations of the ping.
    /// - Returns: The token of the ping.
    mutating func next(to addresses: [Address], _ effects: inout Effects, now: Instant) -> UInt16 {
        forget(now)
        lastSent = now
        if awaited.count >= PingClock.capacity { awaited.removeFirst() }
        while true {
            let token = UInt16(truncatingIfNeeded: effects.number())
            guard !awaited.contains(where: { $0.token == token }) else { continue }
            awaited.append(Ping(token: token, sentAt: now, addresses: addresses))
            return token
        }
    }

    /// The effect of a pong.
    enum Answer: Equatable {
        /// No ping with this token waits for a pong.
        case unexpected
        case awaited
        /// The pong came from a destination of its ping (L-51).
        case confirmed
    }

    /// Applies the token of a pong from an address.
    mutating func pong(_ token: UInt16, from source: Address, now: Instant) -> Answer {
        forget(now)
        guard let index = awaited.firstIndex(where: { $0.token == token }) else { return .unexpected }
        let ping = awaited.remove(at: index)
        let sample = now - ping.sentAt
        roundTrip = roundTrip.map { $0 * 7 / 8 + sample / 8 } ?? sample
        return ping.addresses.contains(source) ? .confirmed : .awaited
    }

    /// Ends all address checks: no earlier ping can confirm an address any more (L-73).
    mutating func endChecks() {
        for index in awaited.indices { awaited[index].addresses = [] }
    }

    private mutating func forget(_ now: Instant) { awaited.removeAll { now - $0.sentAt >= Limits.pongAwaited } }
}

import InklingWire

/// The unanswered pings of one link, and what their pongs tell (L-28, L-80).
struct PingClock: Sendable {
    private struct Ping: Sendable {
        let token: UInt16
        let sentAt: Instant
        /// Where it went, as long as its pong may confirm that.
        var addresses: [Address]
    }

    /// The pings whose pongs are awaited at most; the oldest is forgotten.
    private static let capacity = 64

    /// The smoothed round trip; nil before the first pong.
    private(set) var roundTrip: Duration?
    /// When the last ping went out.
    private(set) var lastSent: Instant?
    /// The oldest first.
    private var awaited: [Ping] = []

    /// Records a ping that goes out.
    ///
    /// - Parameter addresses: All that it goes to.
    /// - Returns: Its token.
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
        /// Its token is not awaited.
        case unexpected
        case awaited
        /// The ping was sent to where the pong came from (L-51).
        case confirmed
    }

    /// Takes the token of a pong that came from an address.
    mutating func pong(_ token: UInt16, from source: Address, now: Instant) -> Answer {
        forget(now)
        guard let index = awaited.firstIndex(where: { $0.token == token }) else { return .unexpected }
        let ping = awaited.remove(at: index)
        let sample = now - ping.sentAt
        roundTrip = roundTrip.map { $0 * 7 / 8 + sample / 8 } ?? sample
        return ping.addresses.contains(source) ? .confirmed : .awaited
    }

    /// Lets no earlier ping confirm an address any more (L-73).
    mutating func endChecks() {
        for index in awaited.indices { awaited[index].addresses = [] }
    }

    private mutating func forget(_ now: Instant) { awaited.removeAll { now - $0.sentAt >= Limits.pongAwaited } }
}

import InklingWire

/// The pings in flight of one link, and what their pongs tell.
struct PingClock {
    private struct Ping {
        let token: UInt16
        let sentAt: Instant
        /// Where it went, as long as its pong may confirm that.
        var addresses: [Address]
    }

    private(set) var roundTrip: Duration?
    /// The oldest first.
    private var awaited: [Ping] = []

    /// A ping goes out.
    ///
    /// - Parameter addresses: All that it goes to.
    /// - Returns: Its token.
    mutating func next(to addresses: [Address], _ effects: inout Effects, now: Instant) -> UInt16 {
        forget(now)
        if awaited.count >= Limits.pingsInFlight { awaited.removeFirst() }
        while true {
            let token = UInt16(truncatingIfNeeded: effects.number())
            guard !awaited.contains(where: { $0.token == token }) else { continue }
            awaited.append(Ping(token: token, sentAt: now, addresses: addresses))
            return token
        }
    }

    /// What a pong says.
    enum Answer: Equatable {
        /// Its token is not awaited.
        case unexpected
        case answered
        /// The ping was sent to where the pong came from (L-51).
        case confirmed
    }

    /// A pong came from an address.
    mutating func pong(_ token: UInt16, from source: Address, now: Instant) -> Answer {
        forget(now)
        guard let index = awaited.firstIndex(where: { $0.token == token }) else { return .unexpected }
        let ping = awaited.remove(at: index)
        let sample = now - ping.sentAt
        roundTrip = roundTrip.map { $0 * 7 / 8 + sample / 8 } ?? sample
        return ping.addresses.contains(source) ? .confirmed : .answered
    }

    /// None of the pings in flight confirms an address any more.
    mutating func endChecks() {
        for index in awaited.indices { awaited[index].addresses = [] }
    }

    private mutating func forget(_ now: Instant) { awaited.removeAll { now - $0.sentAt >= Limits.pingAwaited } }
}

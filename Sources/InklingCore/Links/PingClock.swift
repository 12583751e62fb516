import InklingWire

/// The pings in flight of one link, and what their pongs tell.
struct PingClock {
    private(set) var roundTrip: Duration?
    private var token: UInt16 = 0
    private var sentAt: [UInt16: Instant] = [:]

    mutating func next(_ now: Instant) -> UInt16 {
        token &+= 1
        if sentAt.count >= Limits.pingsInFlight { sentAt.removeAll() }
        sentAt[token] = now
        return token
    }

    mutating func pong(_ token: UInt16, now: Instant) {
        guard let sent = sentAt.removeValue(forKey: token) else { return }
        let sample = now - sent
        roundTrip = roundTrip.map { $0 * 7 / 8 + sample / 8 } ?? sample
    }
}

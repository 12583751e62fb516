import InklingWire

/// The pings that tell a peer that the own networks have changed: at most one a second (L-40).
enum ChangePings {
    case none
    /// The last one went out then.
    case sent(at: Instant)
    /// The networks changed again within the second; the next one goes out then.
    case owed(at: Instant)

    var nextDeadline: Instant? {
        if case .owed(let due) = self { due } else { nil }
    }

    /// The own networks changed.
    ///
    /// - Returns: Whether a ping goes out at once.
    mutating func changed(_ now: Instant) -> Bool {
        switch self {
        case .owed: return false
        case .sent(let last) where now - last < Limits.changePingInterval:
            self = .owed(at: last + Limits.changePingInterval)
            return false
        case .none, .sent:
            self = .sent(at: now)
            return true
        }
    }

    /// Time passes.
    ///
    /// - Returns: Whether a ping is due.
    mutating func advance(_ now: Instant) -> Bool {
        guard case .owed(let due) = self, due <= now else { return false }
        self = .sent(at: now)
        return true
    }
}

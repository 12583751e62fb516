import InklingWire

/// Whether a link's peer is heard from (L-26, L-27): this is where somebody goes offline.
struct Liveness {
    private enum State: Equatable {
        /// Heard from; silence makes it suspect then.
        case alive(until: Instant)
        /// Silent for too long: so many pings went out, and the next step is due then.
        case suspect(pings: Int, next: Instant)
    }

    private var state: State
    /// When the last evidence of the peer came.
    private(set) var lastEvidence: Instant
    /// The peer's idle interval, as its last heartbeat announced it.
    private(set) var announcedInterval = Limits.idleInterval

    init(now: Instant) {
        lastEvidence = now
        state = .alive(until: now + Liveness.silence(of: announcedInterval))
    }

    var isSuspect: Bool {
        if case .suspect = state { true } else { false }
    }

    /// Whether all pings of a round went out, and the end of the link is next.
    var hasHadAllPings: Bool {
        if case .suspect(Limits.suspicionPings, _) = state { true } else { false }
    }

    /// After how long a peer of that idle interval is suspected.
    static func silence(of interval: Duration) -> Duration { interval * Limits.suspicionQuarterIntervals / 4 }

    /// How long a node of that idle interval has to be silent until its peers have given it up.
    static func end(of interval: Duration) -> Duration {
        silence(of: interval) + Limits.pingInterval * Limits.suspicionPings
    }

    var nextDeadline: Instant {
        switch state {
        case .alive(let until): until
        case .suspect(_, let next): next
        }
    }

    // MARK: Inputs

    /// Evidence of the peer came.
    mutating func heard(_ now: Instant) {
        lastEvidence = now
        state = .alive(until: now + Liveness.silence(of: announcedInterval))
    }

    /// The peer's heartbeat announced its idle interval.
    mutating func announced(_ interval: Duration) {
        guard interval != announcedInterval else { return }
        announcedInterval = interval
        if case .alive = state { state = .alive(until: lastEvidence + Liveness.silence(of: interval)) }
    }

    /// Something else says that the peer may be gone: the first ping is due.
    mutating func doubt(_ now: Instant) {
        if !isSuspect { state = .suspect(pings: 0, next: now) }
    }

    /// The peer hears nothing of us (L-45): half of the pings count as sent.
    mutating func unheard(_ now: Instant) {
        if !isSuspect { state = .suspect(pings: Limits.pingsSpentUnheard, next: now) }
    }

    /// Our own timer was late: peers that are due for suspicion or down get a whole new round of pings (L-30).
    ///
    /// - Returns: Whether a round begins.
    mutating func overslept(_ now: Instant) -> Bool {
        if case .alive(let until) = state, until > now { return false }
        state = .suspect(pings: 0, next: now)
        return true
    }

    /// What was read counts again: after a whole round meanwhile, whose answers did not, there is one more ping (L-30).
    mutating func caughtUp(_ now: Instant) {
        if hasHadAllPings { state = .suspect(pings: Limits.suspicionPings - 1, next: now) }
    }

    /// What silence asks for.
    enum Step: Equatable { case none, ping, down }

    /// Time passes.
    ///
    /// - Parameter isBehind: Whether what the socket holds may still be evidence: nobody goes down then.
    mutating func advance(_ now: Instant, isBehind: Bool) -> Step {
        switch state {
        case .alive(let until):
            guard until <= now else { return .none }
            state = .suspect(pings: 1, next: Liveness.next(after: until, sent: now))
            return .ping
        case .suspect(let pings, let next):
            guard next <= now else { return .none }
            guard pings < Limits.suspicionPings else {
                guard isBehind else { return .down }
                state = .suspect(pings: pings, next: now + Limits.pingInterval)
                return .none
            }
            // The answer to the last one has its whole time.
            let isLast = pings + 1 == Limits.suspicionPings
            let step = isLast ? now + Limits.pingInterval : Liveness.next(after: next, sent: now)
            state = .suspect(pings: pings + 1, next: step)
            return .ping
        }
    }

    /// When the ping after one is due, so that late timers do not add up; at least half an interval lies between two.
    private static func next(after due: Instant, sent now: Instant) -> Instant {
        max(due + Limits.pingInterval, now + Limits.pingInterval / 2)
    }
}

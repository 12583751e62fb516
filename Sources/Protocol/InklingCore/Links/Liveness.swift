import InklingWire

/// The liveness of a link: up, suspect or down (L-26, L-27, L-80).
struct Liveness: Sendable {
    private enum State: Equatable {
        /// Heard from; silence makes the link suspect then.
        case up(until: Instant)
        /// Silent for too long: so many pings of the round are spent, and the next step is due then.
        case suspect(pings: Int, next: Instant, reach: Reach)
        /// New, or silent for good.
        case down(since: Instant)
    }

    /// Where the pings of a round go.
    enum Reach: Equatable {
        /// To the link's address and the candidates of its covered instances (L-26).
        case everywhere
        /// To the link's address alone (L-45).
        case address
    }

    private var state: State
    /// When the last evidence of the peer came.
    private(set) var lastEvidence: Instant
    /// The peer's idle interval, as its last heartbeat announced it.
    private(set) var announcedInterval = Limits.idleInterval
    /// When the link came up last, and for how long it was up before (L-84).
    private var upSince: Instant
    private var upBefore = Duration.zero
    /// When the peer of an up link must have named itself (L-86).
    private(set) var nameDeadline: Instant
    private var lastUnheard: Instant?
    /// Whether this node stood still and has heard nothing since: the peer may have forgotten the link (L-42).
    private(set) var isStale = false
    /// How many pings of the round went out; others were over the limit of L-76.
    private var pingsSent = 0

    /// A new link is down (L-80).
    init(now: Instant) {
        lastEvidence = now
        upSince = now
        nameDeadline = now + Limits.unnamedPeriod
        state = .down(since: now)
    }

    // MARK: Queries

    var isDown: Bool { if case .down = state { true } else { false } }
    var isSuspect: Bool { if case .suspect = state { true } else { false } }

    /// Whether all pings of a round are spent, and the end comes next.
    var isSpent: Bool { if case .suspect(Limits.pings, _, _) = state { true } else { false } }

    /// Whether one more ping of the round has to go out to make three (L-76).
    var needsPing: Bool {
        guard case .suspect(let pings, _, _) = state else { return false }
        return pingsSent + (Limits.pings - pings) < Limits.suspectPingsPerLink
    }

    /// For how long the link was up in all since it was made (L-84).
    func lifetime(_ now: Instant) -> Duration { isDown ? upBefore : upBefore + (now - upSince) }

    var nextDeadline: Instant {
        switch state {
        case .up(let until): until
        case .suspect(_, let next, _): next
        case .down(let since): since + Limits.downPeriod
        }
    }

    static func silence(of interval: Duration) -> Duration { interval * Limits.suspicionQuarterIntervals / 4 }

    // MARK: Inputs

    /// An awaited pong came on a down link (L-80).
    mutating func comeUp(_ now: Instant) {
        upSince = now
        nameDeadline = now + Limits.unnamedPeriod
        heard(now)
    }

    /// Evidence came on an up or suspect link (L-23).
    mutating func heard(_ now: Instant) {
        lastEvidence = now
        isStale = false
        state = .up(until: now + Liveness.silence(of: announcedInterval))
    }

    /// The peer's heartbeat announced its idle interval (T-12).
    mutating func announced(_ interval: Duration) {
        guard interval != announcedInterval else { return }
        announcedInterval = interval
        if case .up = state { state = .up(until: lastEvidence + Liveness.silence(of: interval)) }
    }

    /// Something else says that the peer may be gone: the first ping is due (L-31).
    mutating func doubt(_ now: Instant) {
        if case .up = state { begin(pings: 0, next: now, .everywhere) }
    }

    /// The newest datagram says that the peer hears nothing: half of the pings are spent, at most once in 10 s (L-45). A
    /// peer that still comes up says so for 3 s.
    mutating func unheard(_ now: Instant) {
        guard case .up = state, now - upSince >= Limits.joinPingPeriod,
            lastUnheard.map({ now - $0 >= Limits.unheardInterval }) ?? true
        else { return }
        lastUnheard = now
        begin(pings: Limits.pingsSpentByUnheard, next: now, .address)
    }

    /// Our own timer was late: a link that is due for suspicion or down gets a whole new round (L-89).
    mutating func overslept(_ now: Instant) {
        putOffNameDeadline(now)
        switch state {
        case .up(let until) where until <= now: begin(pings: 0, next: now, .everywhere)
        case .suspect(_, let next, _) where next <= now: begin(pings: 0, next: now, .everywhere)
        case .up, .suspect, .down: return
        }
    }

    /// Gives a link that is due to end for want of a name the time of a round: the socket may hold the name (L-89).
    mutating func putOffNameDeadline(_ now: Instant) {
        if nameDeadline <= now { nameDeadline = now + Limits.pingInterval * Limits.pings }
    }

    /// This node stood still: nothing is known of the peer until evidence comes (L-42).
    mutating func stoodStill() { isStale = true }

    /// Gives a spent round one more ping and 125 ms, as datagrams count again (L-89).
    mutating func caughtUp(_ now: Instant) {
        guard case .suspect(Limits.pings, _, let reach) = state else { return }
        state = .suspect(pings: Limits.pings - 1, next: now, reach: reach)
    }

    /// The link has no session left (L-38).
    mutating func goDown(_ now: Instant) {
        upBefore = lifetime(now)
        isStale = false
        state = .down(since: now)
    }

    private mutating func begin(pings: Int, next: Instant, _ reach: Reach) {
        pingsSent = 0
        state = .suspect(pings: pings, next: next, reach: reach)
    }

    /// One ping of the round went out.
    mutating func pinged() { pingsSent += 1 }

    // MARK: Time

    /// The action that silence requires.
    enum Step: Equatable {
        case none
        case ping(Reach)
        case down
        /// Down, or new, for 60 s (L-83).
        case forget
    }

    /// - Parameter isBehind: Whether what the socket holds may still be evidence: no link goes down then.
    mutating func advance(_ now: Instant, isBehind: Bool) -> Step {
        switch state {
        case .up(let until):
            guard until <= now else { return .none }
            begin(pings: 1, next: Liveness.next(after: until, sent: now), .everywhere)
            return .ping(.everywhere)
        case .suspect(let pings, let next, let reach):
            guard next <= now else { return .none }
            guard pings < Limits.pings else {
                guard isBehind else { return .down }
                state = .suspect(pings: pings, next: now + Limits.pingInterval, reach: reach)
                return .none
            }
            // The answer to the last one has its whole time.
            let isLast = pings + 1 == Limits.pings
            let step = isLast ? now + Limits.pingInterval : Liveness.next(after: next, sent: now)
            state = .suspect(pings: pings + 1, next: step, reach: reach)
            return .ping(reach)
        case .down(let since):
            return since + Limits.downPeriod <= now ? .forget : .none
        }
    }

    /// When the ping after one is due, so that late timers do not add up; at least half an interval lies between two.
    private static func next(after due: Instant, sent now: Instant) -> Instant {
        max(due + Limits.pingInterval, now + Limits.pingInterval / 2)
    }
}

import InklingWire

/// The liveness of a link: up, suspect or down (L-26, L-27, L-80).
struct Liveness: Sendable {
    private enum State: Equatable {
        /// Evidence arrived lately. Without more, the link becomes suspect at `until`.
        case up(until: Instant)
        /// No evidence arrived for too long. `pings` of the round are spent, and the next step is due at `next`.
        case suspect(pings: Int, next: Instant, reach: Reach)
        /// The link is new, or was silent for a whole round of pings.
        case down(since: Instant)
    }

    /// The destinations of a round of pings.
    enum Reach: Equatable {
        /// The link's address and the candidates of its covered instances (L-26).
        case everywhere
        /// The link's address alone (L-110).
        case address
    }

    private var state: State
    /// The time of the peer's last evidence.
    private(set) var lastEvidence: Instant
    /// The idle interval in the peer's last heartbeat.
    private(set) var announcedInterval = Limits.idleInterval
    /// The silence after which the link becomes suspect (L-26).
    private var silence = Liveness.silence(of: Limits.idleInterval)
    /// The time when the link last came up, and the total time for which it was up before (L-84).
    private var upSince: Instant
    private var upBefore = Duration.zero
    /// The time by which the peer of an up link must have named itself (L-86).
    private(set) var nameDeadline: Instant
    private var lastUnheard: Instant?
    /// Whether this node stood still and has received no evidence since. The peer may have forgotten the link (L-42).
    private(set) var isStale = false
    /// The number of pings sent in this round. Pings above the limit of L-76 were skipped.
    private var pingsSent = 0

    /// A new link, which is down (L-80).
    init(now: Instant) {
        lastEvidence = now
        upSince = now
        nameDeadline = now + Limits.unnamedPeriod
        state = .down(since: now)
    }

    // MARK: Queries

    var isDown: Bool { if case .down = state { true } else { false } }
    var isSuspect: Bool { if case .suspect = state { true } else { false } }

    /// Whether all pings of the round are spent, so that the link goes down next.
    var isSpent: Bool { if case .suspect(Limits.pings, _, _) = state { true } else { false } }

    /// Whether the node must send a ping even above the limit, so that the round has three (L-76).
    var needsPing: Bool {
        guard case .suspect(let pings, _, _) = state else { return false }
        return pingsSent + (Limits.pings - pings) < Limits.suspectPingsPerLink
    }

    /// Returns the total time for which the link was up since it was made (L-84).
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

    /// Brings a down link up after an awaited pong (L-80).
    mutating func comeUp(_ now: Instant) {
        upSince = now
        nameDeadline = now + Limits.unnamedPeriod
        heard(now)
    }

    /// Records evidence on an up or suspect link (L-23).
    mutating func heard(_ now: Instant) {
        lastEvidence = now
        isStale = false
        state = .up(until: now + silence)
    }

    /// Records the idle interval in the peer's heartbeat (T-12).
    mutating func announced(_ interval: Duration) {
        guard interval != announcedInterval else { return }
        announcedInterval = interval
        silence = Liveness.silence(of: interval)
        if case .up = state { state = .up(until: lastEvidence + silence) }
    }

    /// Makes the link suspect because of another sign that the peer may be gone. The first ping is due now (L-31).
    mutating func doubt(_ now: Instant) {
        if case .up = state { begin(pings: 0, next: now, .everywhere) }
    }

    /// Makes the link suspect because the newest datagram reports "unheard". Half of the pings count as spent, at most
    /// once in 10 s (L-110). A link that came up in the last 3 s is left out: its peer may still be coming up.
    mutating func unheard(_ now: Instant) {
        guard case .up = state, now - upSince >= Limits.joinPingPeriod,
            lastUnheard.map({ now - $0 >= Limits.unheardInterval }) ?? true
        else { return }
        lastUnheard = now
        begin(pings: Limits.pingsSpentByUnheard, next: now, .address)
    }

    /// Restarts the round of pings after a late timer, if the link was about to become suspect or go down (L-89).
    mutating func overslept(_ now: Instant) {
        putOffNameDeadline(now)
        switch state {
        case .up(let until) where until <= now: begin(pings: 0, next: now, .everywhere)
        case .suspect(_, let next, _) where next <= now: begin(pings: 0, next: now, .everywhere)
        case .up, .suspect, .down: return
        }
    }

    /// Gives an unnamed link its whole time once more. The peer's name may wait in the socket, or go to the address that
    /// this node had before it stood still (L-89).
    mutating func putOffNameDeadline(_ now: Instant) {
        if nameDeadline <= now { nameDeadline = now + Limits.unnamedPeriod }
    }

    /// Records that this node stood still. The peer's state is unknown until evidence arrives (L-42).
    mutating func stoodStill() { isStale = true }

    /// Gives a spent round one more ping and 125 ms, because datagrams count again (L-89).
    mutating func caughtUp(_ now: Instant) {
        guard case .suspect(Limits.pings, _, let reach) = state else { return }
        state = .suspect(pings: Limits.pings - 1, next: now, reach: reach)
    }

    /// Takes the link down, for silence or because no session is left (L-38).
    mutating func goDown(_ now: Instant) {
        upBefore = lifetime(now)
        isStale = false
        state = .down(since: now)
    }

    private mutating func begin(pings: Int, next: Instant, _ reach: Reach) {
        pingsSent = 0
        state = .suspect(pings: pings, next: next, reach: reach)
    }

    /// Counts a ping of the round that went out.
    mutating func pinged() { pingsSent += 1 }

    // MARK: Time

    /// The action that the link's silence requires.
    enum Step: Equatable {
        case none
        case ping(Reach)
        case down
        /// The link is forgotten after 60 s without being up (L-83).
        case forget
    }

    /// Returns the step that is due.
    ///
    /// - Parameter isBehind: Whether the socket may still hold evidence of the peer. In this case the link does not go
    ///   down yet.
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
            // The node waits the full interval for the answer to the last ping.
            let isLast = pings + 1 == Limits.pings
            let step = isLast ? now + Limits.pingInterval : Liveness.next(after: next, sent: now)
            state = .suspect(pings: pings + 1, next: step, reach: reach)
            return .ping(reach)
        case .down(let since):
            return since + Limits.downPeriod <= now ? .forget : .none
        }
    }

    /// Returns the time of the next ping. The planned times decide, because delays must not add up. At least half an
    /// interval lies between two pings.
    private static func next(after due: Instant, sent now: Instant) -> Instant {
        max(due + Limits.pingInterval, now + Limits.pingInterval / 2)
    }
}

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

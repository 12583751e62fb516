import InklingWire

/// The attempts of a node to make a link with a key in a chat, or to bring one up.
struct Opening: Sendable {
    enum State: Equatable, Sendable {
        /// The next attempt begins then.
        case waiting(until: Instant)
        /// The index of the pending handshake.
        case attempting(UInt32)
        /// The session of that index joined a link that has to come up by then (L-91).
        case joined(UInt32, until: Instant)
    }

    private(set) var state: State
    /// When the first attempt began; nil before it.
    private(set) var since: Instant?
    /// How many attempts began.
    private(set) var attempts = 0
    /// When the last attempt began.
    private var lastBegan: Instant?

    /// How far jitter moves what is due, in percent (L-4, L-5).
    static let jitter = (100 - Limits.openingJitterPercent)...(100 + Limits.openingJitterPercent)

    var nextDeadline: Instant? {
        switch state {
        case .attempting: nil
        case .waiting(let until): until
        case .joined(_, let until): until
        }
    }

    /// The pending handshake, if there is one.
    var pending: UInt32? { if case .attempting(let index) = state { index } else { nil } }

    var isUnderWay: Bool {
        switch state {
        case .attempting, .joined: true
        case .waiting: false
        }
    }

    // MARK: Changes

    /// An opening whose first attempt begins at an instant.
    init(at instant: Instant) { state = .waiting(until: instant) }

    mutating func wait(until instant: Instant) { state = .waiting(until: instant) }

    mutating func begin(_ index: UInt32, now: Instant) {
        state = .attempting(index)
        since = since ?? now
        lastBegan = now
        attempts += 1
    }

    /// The attempt under way counts as the first one (L-102).
    mutating func continueAsFirst() {
        since = lastBegan
        attempts = 1
    }

    /// Continues with a handshake that L-65 or L-66 caused, in place of the attempt.
    mutating func goOn(with index: UInt32) { state = .attempting(index) }

    /// Its response opened, and a session joined a link.
    mutating func join(_ session: UInt32, now: Instant) {
        state = .joined(session, until: now + Limits.joinPingPeriod)
    }

    /// Plans the next attempt after one that failed (L-5).
    mutating func failed(_ effects: inout Effects, now: Instant) {
        let isFast = since.map { now - $0 < Limits.fastPeriod } ?? true
        guard isFast else {
            let next = effects.instant(after: lastBegan ?? now, Limits.slowInterval, percent: Opening.jitter)
            state = .waiting(until: max(next, now))
            return
        }
        let pause = Limits.pauses[min(max(attempts - 1, 0), Limits.pauses.count - 1)]
        state = .waiting(until: effects.instant(after: now, pause, percent: Opening.jitter))
    }
}

/// How often an address is asked whose key is not known (D-11).
struct AskPace: Sendable {
    private var asks = 0

    /// The pause after an ask that goes out now: doubling, then constant.
    mutating func asked() -> Duration {
        asks += 1
        let times = Limits.asksByHand
        return asks < times.count ? times[asks] - times[asks - 1] : Limits.askInterval
    }
}

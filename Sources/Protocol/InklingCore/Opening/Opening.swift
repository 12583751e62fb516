import InklingWire

/// A node's attempts to make a link with a key in a chat, or to bring a link up.
struct Opening: Sendable {
    enum State: Equatable, Sendable {
        /// The next attempt begins at `until`.
        case waiting(until: Instant)
        /// A handshake is pending, with this index.
        case attempting(UInt32)
        /// The session with this index joined a link. The link must come up before `until` (L-91).
        case joined(UInt32, until: Instant)
    }

    private(set) var state: State
    /// The time when the first attempt began; nil before.
    private(set) var since: Instant?
    /// The number of attempts so far.
    private(set) var attempts = 0
    /// The time when the last attempt began.
    private var lastBegan: Instant?

    /// The range within which jitter varies a delay, in percent (L-4, L-5).
    static let jitter = (100 - Limits.openingJitterPercent)...(100 + Limits.openingJitterPercent)

    var nextDeadline: Instant? {
        switch state {
        case .attempting: nil
        case .waiting(let until): until
        case .joined(_, let until): until
        }
    }

    /// The index of the pending handshake, if any.
    var pending: UInt32? { if case .attempting(let index) = state { index } else { nil } }

    var isUnderWay: Bool {
        switch state {
        case .attempting, .joined: true
        case .waiting: false
        }
    }

    // MARK: Changes

    /// An opening whose first attempt begins at `instant`.
    init(at instant: Instant) { state = .waiting(until: instant) }

    mutating func wait(until instant: Instant) { state = .waiting(until: instant) }

    mutating func begin(_ index: UInt32, now: Instant) {
        state = .attempting(index)
        since = since ?? now
        lastBegan = now
        attempts += 1
    }

    /// Counts the running attempt as the first one (L-102).
    mutating func continueAsFirst() {
        since = lastBegan
        attempts = 1
    }

    /// Continues the attempt with a handshake that L-65 or L-66 requires.
    mutating func goOn(with index: UInt32) { state = .attempting(index) }

    /// Records that a response opened and its session joined a link.
    mutating func join(_ session: UInt32, now: Instant) {
        state = .joined(session, until: now + Limits.joinPingPeriod)
    }

    /// Plans the next attempt after a failed one (L-5).
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

/// The pace of asks to an address whose key is unknown (D-11).
struct AskPace: Sendable {
    private var asks = 0

    /// Returns the pause after an ask that is sent now. The pause doubles, and later stays constant.
    mutating func asked() -> Duration {
        asks += 1
        let times = Limits.asksByHand
        return asks < times.count ? times[asks] - times[asks - 1] : Limits.askInterval
    }
}

import InklingCore
import InklingWire

/// The announcements of a user's typing in one chat, computed from the user's actions alone (T-5 to T-10).
///
/// The model has no lateness: a node that was stopped, or whose timers are late, announces the same later.
struct TypingModel {
    /// A start or a stop that the node must announce.
    struct Edge {
        let at: Instant
        let isStart: Bool
        /// Whether a message announces the edge, in the same datagram.
        let isMessage: Bool
    }

    private enum State {
        case idle
        case due(at: Instant, until: Instant)
        case announced(until: Instant)
    }

    private var state = State.idle
    private var lastStart: Instant?
    /// The last edge.
    private(set) var edge: Edge?

    /// The time since when typing is announced; nil while it is not.
    var announcedSince: Instant? {
        guard case .announced = state else { return nil }
        return edge?.at
    }

    /// The times of the last edge's typing frames: the first at once, then two copies (T-6).
    var frames: [Instant] {
        guard let edge else { return [] }
        return [edge.at] + Limits.copies.map { edge.at + $0 }
    }

    // MARK: Inputs

    mutating func edit(_ now: Instant) {
        advance(to: now)
        let until = now + Limits.typingIdleStop
        switch state {
        case .idle:
            if let lastStart, now < lastStart + Limits.startInterval {
                state = .due(at: lastStart + Limits.startInterval, until: until)
            } else {
                start(now, until: until)
            }
        case .due(let at, _): state = .due(at: at, until: until)
        case .announced: state = .announced(until: until)
        }
    }

    mutating func end(_ now: Instant, byMessage isMessage: Bool = false) {
        advance(to: now)
        if case .announced = state { edge = Edge(at: now, isStart: false, isMessage: isMessage) }
        state = .idle
    }

    /// Ends the announcement without copies, because a farewell carries the stop.
    mutating func abandon() {
        state = .idle
        edge = nil
    }

    mutating func advance(to now: Instant) {
        if case .due(let at, let until) = state, at <= now {
            if until <= at { state = .idle } else { start(at, until: until) }
        }
        if case .announced(let until) = state, until <= now {
            state = .idle
            edge = Edge(at: until, isStart: false, isMessage: false)
        }
    }

    private mutating func start(_ at: Instant, until: Instant) {
        state = .announced(until: until)
        lastStart = at
        edge = Edge(at: at, isStart: true, isMessage: false)
    }
}

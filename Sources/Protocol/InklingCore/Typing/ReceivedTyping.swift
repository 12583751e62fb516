import InklingWire

/// The received typing status of the peer on one link.
struct ReceivedTyping: Sendable {
    private enum State {
        case idle
        case typing(since: Instant, evidence: Instant)
    }

    private var state = State.idle
    private var starts: TokenBucket

    init(now: Instant) {
        starts = TokenBucket(perSecond: Limits.starts, burst: Limits.starts, now: now)
    }

    /// The time since when the peer is typing; nil if it is not.
    var since: Instant? {
        if case .typing(let since, _) = state { since } else { nil }
    }

    /// The time when the status ends without further evidence.
    var nextDeadline: Instant? {
        if case .typing(_, let evidence) = state { evidence + Limits.typingExpiry } else { nil }
    }

    enum Change: Equatable { case none, started, ended, limited }

    /// Applies a newer status.
    mutating func apply(isTyping: Bool, now: Instant) -> Change {
        switch (state, isTyping) {
        case (.idle, false):
            return .none
        case (.idle, true):
            guard starts.take(now) else { return .limited }
            state = .typing(since: now, evidence: now)
            return .started
        case (.typing(let since, _), true):
            state = .typing(since: since, evidence: now)
            return .none
        case (.typing, false):
            state = .idle
            return .ended
        }
    }

    /// Ends a status whose last evidence is 3.0 s old.
    mutating func advance(_ now: Instant) -> Change {
        guard let nextDeadline, nextDeadline <= now else { return .none }
        state = .idle
        return .ended
    }
}

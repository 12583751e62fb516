import InklingWire

/// The announcements of the user's typing in one chat. Edits become starts and stops.
struct TypingAnnouncer: Sendable {
    private enum State {
        /// The user is not typing.
        case idle
        /// The user is typing. The start must wait until the previous start is 500 ms old.
        case due(at: Instant, until: Instant)
        /// The start was announced. Without an edit, the typing ends at `until`.
        case announced(until: Instant)
    }

    /// A typing frame that must be sent now.
    enum Emission: Equatable {
        case start, stop
        /// A copy of the last edge, with the current state.
        case copy
    }

    private var state = State.idle
    private var lastStart: Instant?
    private var copies: [Instant] = []

    /// Whether the chat's status announces typing.
    var isAnnounced: Bool {
        if case .announced = state { true } else { false }
    }

    /// Whether the user is typing, even if the start still waits.
    var isUnderWay: Bool {
        if case .idle = state { false } else { true }
    }

    var nextDeadline: Instant? {
        switch state {
        case .idle: copies.first
        case .due(let at, _): earliest(at, copies.first)
        case .announced(let until): earliest(until, copies.first)
        }
    }

    /// Applies an edit of the input field, which contains an unfinished message.
    mutating func edit(_ now: Instant) -> Emission? {
        let until = now + Limits.typingIdleStop
        switch state {
        case .idle:
            if let lastStart, now < lastStart + Limits.startInterval {
                state = .due(at: lastStart + Limits.startInterval, until: until)
                return nil
            }
            return start(now, until: until)
        case .due(let at, _):
            state = .due(at: at, until: until)
            return nil
        case .announced:
            state = .announced(until: until)
            return nil
        }
    }

    /// Ends typing, because the message was sent, the field was emptied, or the user left it.
    mutating func end(_ now: Instant) -> Emission? {
        switch state {
        case .idle:
            return nil
        case .due:
            state = .idle
            return nil
        case .announced:
            state = .idle
            copies = copyTimes(now)
            return .stop
        }
    }

    /// Ends typing without a stop, because a farewell implies it. The time of the last start is kept.
    mutating func abandon() {
        state = .idle
        copies = []
    }

    /// Returns the emissions that are due; several if the owner is late.
    mutating func advance(_ now: Instant) -> [Emission] {
        var emissions: [Emission] = []
        switch state {
        case .due(_, let until) where until <= now:
            state = .idle
        case .due(let at, let until) where at <= now:
            if let start = start(now, until: until) { emissions.append(start) }
        case .announced(let until) where until <= now:
            if let stop = end(now) { emissions.append(stop) }
        case .idle, .due, .announced:
            break
        }
        if emissions.isEmpty, let first = copies.first, first <= now {
            copies.removeAll { $0 <= now }
            emissions.append(.copy)
        }
        return emissions
    }

    private mutating func start(_ now: Instant, until: Instant) -> Emission? {
        state = .announced(until: until)
        lastStart = now
        copies = copyTimes(now)
        return .start
    }

    private func copyTimes(_ now: Instant) -> [Instant] { Limits.copies.map { now + $0 } }
}

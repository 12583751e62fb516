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

/// Returns whether the text of an input field counts as typing: the text has a visible character and is not a command.
///
/// - Parameter text: the whole content of the input field.
package func countsAsTyping(_ text: String) -> Bool {
    guard text.unicodeScalars.first != "/" else { return false }
    return text.unicodeScalars.contains(where: isVisible)
}

private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    guard !scalar.isASCII else { return (0x21...0x7E).contains(scalar.value) }
    let properties = scalar.properties
    if properties.isDefaultIgnorableCodePoint { return false }
    switch properties.generalCategory {
    case .control, .format, .surrogate, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator:
        return false
    default:
        return true
    }
}

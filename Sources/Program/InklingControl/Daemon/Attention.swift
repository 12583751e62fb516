/// Whether the user of a daemon is away because no chat is shown.
///
/// Times are in milliseconds of a clock that never goes back.
struct Attention {
    private enum State {
        case shown
        /// No chat is shown since that time.
        case waning(since: Int64)
        case away
    }

    /// Whether the user is away while no chat is shown; a setting.
    var isEnabled: Bool
    private var state = State.away

    init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    var isAway: Bool {
        if case .away = state { isEnabled } else { false }
    }

    var nextDeadline: Int64? {
        if case .waning(let since) = state { since + DaemonLimits.attentionGrace } else { nil }
    }

    /// Records whether any chat is shown.
    mutating func note(isShown: Bool, at now: Int64) {
        switch (state, isShown) {
        case (_, true): state = .shown
        case (.shown, false): state = .waning(since: now)
        case (.waning, false), (.away, false): break
        }
    }

    /// Makes the user away when the grace time is over.
    mutating func advance(to now: Int64) {
        if let nextDeadline, nextDeadline <= now { state = .away }
    }
}

/// Whether the user of a daemon is away because no front end shows a chat.
///
/// Times are in milliseconds of a clock that never goes back.
struct Attention {
    private enum State {
        case shown
        /// No front end has shown a chat since that time. The user is not away yet.
        case waning(since: Int64)
        case away
    }

    /// Whether the user is away while no front end shows a chat. The setting decides.
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

    /// Records whether any front end shows a chat.
    mutating func update(isShown: Bool, at now: Int64) {
        switch (state, isShown) {
        case (_, true): state = .shown
        case (.shown, false): state = .waning(since: now)
        case (.waning, false), (.away, false): break
        }
    }

    /// Sets the user away when the grace time is over.
    mutating func advance(to now: Int64) {
        if let nextDeadline, nextDeadline <= now { state = .away }
    }
}

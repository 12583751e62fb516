import InklingWire

/// The first successor that a node takes in a chat, which is the only one there (M-90).
enum Following: Sendable {
    case none
    /// The successor waits, because the chain has moved too often (M-88).
    case waiting(Successor, until: Instant)
    case reported

    /// The time when the successor no longer waits; nil unless one waits.
    var nextDeadline: Instant? {
        if case .waiting(_, let until) = self { until } else { nil }
    }
}

/// The rate of moves along each chain of chats (M-88). The chat that follows another inherits its rate.
struct MovePaces: Sendable {
    /// The times when the chains of these chats have all moves of a burst again.
    private var restored: [ChatID: Instant] = [:]

    /// Returns the time from which a chat may move.
    func nextMove(from chat: ChatID, _ now: Instant) -> Instant {
        guard let restored = restored[chat] else { return now }
        return max(now, restored + Limits.moveInterval * (1 - Limits.moveBurst))
    }

    /// Counts a move.
    mutating func moved(from chat: ChatID, to next: ChatID, _ now: Instant) {
        restored = restored.filter { now < $0.value }
        let end = max(now, restored[chat] ?? now) + Limits.moveInterval
        restored[chat] = end
        restored[next] = max(end, restored[next] ?? end)
    }
}

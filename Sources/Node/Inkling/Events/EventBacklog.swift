import InklingModel

/// What waits for one reader of a node's events, for as long as the reader takes something now and then.
///
/// A reader that takes nothing for too long gets no messages until it takes again: then nobody waits for it (M-20).
package struct EventBacklog: Sendable {
    private var queue: EventQueue
    /// The reader gets messages. Otherwise it takes nothing, and nobody waits for it.
    private var isAttentive = true
    /// Since it was last looked at.
    private var hasTaken = false
    private var idleLooks = 0

    package init(_ queue: EventQueue = EventQueue()) {
        self.queue = queue
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { queue.isEmpty }

    /// Whether something waits, and whether it is taken is to be looked at.
    package var isWatched: Bool { isAttentive && !queue.isEmpty }

    /// The messages that wait, in no order.
    package var waitingMessages: [UInt64] { queue.waitingMessages }

    /// Something happened.
    ///
    /// - Returns: False for a message if the reader gets none: it is counted.
    package mutating func add(_ timed: TimedEvent) -> Bool {
        if case .message(let chat, _, _, _) = timed.event, !isAttentive {
            queue.missMessage(in: chat, at: timed.at)
            return false
        }
        queue.add(timed)
        return true
    }

    /// What the reader gets now; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        guard let event = queue.take() else { return nil }
        attend()
        return event
    }

    /// The reader waits for what comes next.
    package mutating func attend() { (isAttentive, hasTaken) = (true, true) }

    /// A reader that took nothing of what waits, so many times in a row, gets no messages until it takes again.
    ///
    /// - Returns: The messages that don't wait for it any more.
    package mutating func look(patience: Int) -> [UInt64] {
        idleLooks = hasTaken || queue.isEmpty ? 0 : idleLooks + 1
        hasTaken = false
        guard isAttentive, idleLooks >= patience else { return [] }
        isAttentive = false
        return queue.giveUpMessages()
    }

    /// The reader knows nothing of who types in a chat.
    package mutating func forgetTyping(in chat: String) { queue.forgetTyping(in: chat) }

    /// The reader is gone.
    ///
    /// - Returns: The messages that waited for it, and what it was not told.
    package mutating func giveUp() -> (numbers: [UInt64], gaps: [String: EventQueue.Gap]) { queue.giveUp() }
}

import InklingModel

/// The waiting events of one reader, and whether the reader still takes some.
///
/// A reader that takes nothing for too long gets no messages until it takes again. Meanwhile no sender waits for the
/// reader (M-20).
package struct EventBacklog: Sendable {
    private var queue: EventQueue
    /// Whether the reader gets messages. A reader that takes no events gets none, and no sender waits for it.
    private var isAttentive = true
    /// Whether the reader took an event since the last call of ``look(patience:)``.
    private var hasTaken = false
    private var idleLooks = 0

    package init(_ queue: EventQueue = EventQueue()) {
        self.queue = queue
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { queue.isEmpty }

    /// Whether events wait, so that the node has to watch the reader.
    package var isWatched: Bool { isAttentive && !queue.isEmpty }

    /// The waiting messages, in no order.
    package var waitingMessages: [MessageID] { queue.waitingMessages }

    /// Adds an event.
    ///
    /// - Returns: False for a message to a reader that gets no messages. The queue counts such a message.
    package mutating func add(_ timed: TimedEvent) -> Bool {
        if case .message(let message) = timed.event, !isAttentive {
            queue.missMessage(in: message.chat, at: timed.at)
            return false
        }
        queue.add(timed)
        return true
    }

    /// Returns the reader's next event; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        guard let event = queue.take() else { return nil }
        attend()
        return event
    }

    /// Records that the reader is waiting for the next event.
    package mutating func attend() { (isAttentive, hasTaken) = (true, true) }

    /// Stops messages to a reader after `patience` calls in a row without a taken event. Messages resume when the
    /// reader takes again.
    ///
    /// - Returns: The messages that don't wait for the reader any more.
    package mutating func look(patience: Int) -> [MessageID] {
        idleLooks = hasTaken || queue.isEmpty ? 0 : idleLooks + 1
        hasTaken = false
        guard isAttentive, idleLooks >= patience else { return [] }
        isAttentive = false
        return queue.giveUpMessages()
    }

    /// Forgets the typists that the reader knows in a chat.
    package mutating func forgetTyping(in chat: String) { queue.forgetTyping(in: chat) }

    /// Ends the backlog of a reader that no longer exists.
    ///
    /// - Returns: The messages that waited for the reader, and the counts of events that it missed.
    package mutating func giveUp() -> (numbers: [MessageID], gaps: [String: EventQueue.Gap]) { queue.giveUp() }
}

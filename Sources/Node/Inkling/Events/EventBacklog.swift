import InklingModel

/// The waiting events of one reader, and whether the reader still takes some.
///
/// A reader that takes nothing for too long gets no messages until it takes again. Meanwhile no sender waits for the
/// reader (M-20).
package struct EventBacklog: Sendable {
    package var queue: EventQueue
    /// Whether the reader gets messages. A reader that takes nothing gets none, and no sender waits for it.
    private var isAttentive = true
    /// Whether the reader took an event since the last call of ``look(patience:)``.
    private var hasTaken = false
    private var idleLooks = 0

    package init(_ queue: EventQueue = EventQueue()) {
        self.queue = queue
    }

    /// Whether nothing waits.
    // See isWatched.
    @inline(__always)
    package var isEmpty: Bool { queue.isEmpty }

    /// Whether events wait, so that the node has to watch the reader.
    // A call would copy the whole backlog out of its owner, with 600 instructions.
    @inline(__always)
    package var isWatched: Bool { isAttentive && !queue.isEmpty }

    /// The waiting messages, in no order.
    package var waitingMessages: [MessageID] { queue.waitingMessages }

    /// Adds an output.
    ///
    /// - Returns: False for a message to a reader that gets none. The queue counts the message.
    package mutating func add(_ output: QueuedOutput) -> Bool {
        if !isAttentive, let message = output.message {
            queue.missMessage(in: message.chat, at: output.at)
            return false
        }
        queue.add(output)
        return true
    }

    /// Returns the next output; nil if nothing waits.
    package mutating func next() -> QueuedOutput? {
        guard let output = queue.next() else { return nil }
        attend()
        return output
    }

    /// Adds an output for a reader that takes now, and returns the next one; nil if nothing waits.
    package mutating func next(after output: QueuedOutput) -> QueuedOutput? {
        guard let output = queue.next(after: output) else { return nil }
        attend()
        return output
    }

    /// Returns the next event of a reader that gets only events; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        if case .event(let timed) = next() { timed } else { nil }
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

    /// Ends the backlog of a reader that is gone.
    ///
    /// - Returns: The messages that waited for the reader, and the counts of events that it missed.
    package mutating func giveUp() -> (numbers: [MessageID], gaps: [String: EventQueue.Gap]) { queue.giveUp() }
}

/// Something that happened in a chat or to the node.
public enum Event: Sendable, Hashable {
    /// A presence changed.
    case peer(chat: String, Person, Presence, why: PresenceReason)
    /// Who is typing: the whole list, in the order in which to name them, on each change.
    case typing(chat: String, [Person])
    /// A message came, whole and in order. `number` counts the messages that this node received.
    case message(chat: String, from: Person, number: UInt64, text: String)
    /// A message of ours was acknowledged whole.
    case delivered(chat: String, message: UInt64, user: UserID)
    /// A message of ours is not known to be delivered.
    case failed(chat: String, message: UInt64, user: UserID, why: FailureReason)
    /// Something that a person may want to know, or its end.
    case notice(Notice)
}

/// An event, and when the node learned of it.
public struct TimedEvent: Sendable, Hashable {
    /// Seconds since 1970, with microseconds.
    public let at: Double
    /// What happened.
    public let event: Event

    package init(at: Double, event: Event) {
        self.at = at
        self.event = event
    }
}

/// Why somebody's presence changed.
public enum PresenceReason: String, CaseIterable, Sendable, Hashable {
    /// They came, or have another name.
    case hello
    /// They are back from being away.
    case back
    /// They say that they are away.
    case away
    /// They left the chat, or ended their node.
    case bye
    /// Their node ended without a word, and its helper said goodbye.
    case will
    /// Nothing has come from them for too long.
    case silence
    /// This user has blocked them.
    case blocked
    /// Their node was started again.
    case replaced
}

/// Why a message is not known to be delivered to somebody.
public enum FailureReason: String, CaseIterable, Sendable, Hashable {
    /// They left the chat, or ended their node.
    case bye
    /// Nothing has come from them for too long.
    case silence
    /// Their node ended without a word, and its helper said goodbye.
    case will
    /// This node left the chat.
    case left
    /// This user has blocked them.
    case blocked
    /// Their node was started again.
    case replaced
    /// This node was stopped.
    case quit
    /// They are there, but acknowledged nothing for too long.
    case stalled
    /// Their node has lost what it had received.
    case lostState = "lost-state"
}

/// Something that happened in a chat or to the node.
public enum Event: Sendable, Hashable {
    /// A presence, or a name, changed. It says all that is known of them.
    case peer(chat: String, Peer, why: PresenceReason)
    /// Who is typing: the complete list, in the order in which to name people, on each change.
    case typing(chat: String, [Person])
    /// A message came, whole and in order. `number` counts the messages that this node received.
    case message(chat: String, from: Person, number: UInt64, text: String)
    /// A message of ours was acknowledged whole.
    case delivered(chat: String, message: UInt64, user: UserID)
    /// It is not known whether a message of ours was delivered.
    case failed(chat: String, message: UInt64, user: UserID, why: FailureReason)
    /// Something that a person may want to know, or its end.
    case notice(Notice)
    /// The reader of these events did not get everything: so many messages came in the chat, and so many
    /// ``delivered(chat:message:user:)`` and ``failed(chat:message:user:why:)`` were due, that it is not told.
    case missed(chat: String, messages: Int, outcomes: Int)
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
    /// They came, or changed their name.
    case hello
    /// They are back from being away.
    case back
    /// They say that they are away.
    case away
    /// They left the chat, or ended their node.
    case bye
    /// Their node ended without saying goodbye, and its helper said it.
    case will
    /// Nothing has come from them for too long.
    case silence
    /// This user has blocked them.
    case blocked
    /// Their node was started again.
    case replaced
    /// This node had no room for the link any more.
    case full
}

/// Why a message may not have been delivered to somebody.
public enum FailureReason: String, CaseIterable, Sendable, Hashable {
    /// They left the chat, or ended their node.
    case bye
    /// Nothing has come from them for too long.
    case silence
    /// Their node ended without saying goodbye, and its helper said it.
    case will
    /// This node left the chat.
    case left
    /// This user has blocked them.
    case blocked
    /// Their node was started again.
    case replaced
    /// This node was stopped.
    case quit
    /// They are there, but have acknowledged nothing for too long.
    case stalled
    /// This node had no room for the link any more.
    case full
    /// Their node has lost what it had received.
    case lostState = "lost-state"
}

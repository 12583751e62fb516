/// Something that happened in a chat or to the node.
public enum Event: Sendable, Hashable {
    /// Somebody's presence or name changed. The ``Peer`` has all that is known of them now.
    case peer(chat: String, Peer, why: PresenceReason)
    /// The people who are typing have changed: the complete list, in the order of naming, the latest start first
    /// (T-20).
    case typing(chat: String, [Person])
    /// A message came, whole and in the order in which its author sent them. `number` counts the messages that this
    /// node has received, from 1 on; `text` is 1 to 65,536 bytes of UTF-8, as sent.
    case message(chat: String, from: Person, number: UInt64, text: String)
    /// A message that this node sent, with the number that ``Node/send(_:to:)`` returned, was acknowledged whole by
    /// that person's node (M-17).
    case delivered(chat: String, message: UInt64, user: UserID)
    /// A message that this node sent may not have reached that person (M-17): nothing more will be known.
    case failed(chat: String, message: UInt64, user: UserID, why: FailureReason)
    /// Something about the node that its user may want to know, or that it is over.
    case notice(Notice)
    /// The reader of these events took nothing for too long. In that chat `messages` messages are left out here, and
    /// `outcomes` times ``delivered(chat:message:user:)`` or ``failed(chat:message:user:why:)``.
    case missed(chat: String, messages: Int, outcomes: Int)

    /// The name of the chat in which it happened; nil for a notice.
    package var chat: String? {
        switch self {
        case .peer(let chat, _, _), .typing(let chat, _), .message(let chat, _, _, _), .delivered(let chat, _, _),
            .failed(let chat, _, _, _), .missed(let chat, _, _):
            chat
        case .notice: nil
        }
    }
}

/// An event, and when the node learned of it.
public struct TimedEvent: Sendable, Hashable {
    /// The time of day in seconds since 1970, with microseconds.
    public let at: Double
    /// The event.
    public let event: Event
    /// Whether a message waited in the socket while this node was stopped. Its author may have written it long before
    /// ``at``.
    public let isDelayed: Bool

    package init(at: Double, event: Event, isDelayed: Bool = false) {
        self.at = at
        self.event = event
        self.isDelayed = isDelayed
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

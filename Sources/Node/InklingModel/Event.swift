/// A change in a chat or of the node.
public enum Event: Sendable, Hashable {
    /// A person's presence or name changed. The ``Peer`` has all that the node now knows of the person.
    case peer(chat: String, Peer, why: PresenceReason)
    /// The people who are typing have changed: the complete list, in the order of naming, the latest start first
    /// (T-20).
    case typing(chat: String, [Person])
    /// A message arrived, complete and in the order in which its author sent the messages. `number` counts the messages
    /// that this node has received, from 1. `text` is 1 to 65,536 bytes of UTF-8, as sent.
    case message(chat: String, from: Person, number: UInt64, text: String)
    /// A person's node acknowledged a message of this node completely (M-17). `message` is the number that
    /// ``Node/send(_:to:)`` returned.
    case delivered(chat: String, message: UInt64, user: UserID)
    /// A message of this node may not have reached a person, and no later report will follow (M-17).
    case failed(chat: String, message: UInt64, user: UserID, why: FailureReason)
    /// Information about the node for its user, or the end of an earlier notice's state.
    case notice(Notice)
    /// The reader of these events took none for too long, so events of that chat are missing here. `messages` counts
    /// missing messages. `outcomes` counts missing ``delivered(chat:message:user:)`` and
    /// ``failed(chat:message:user:why:)``.
    case missed(chat: String, messages: Int, outcomes: Int)

    /// The name of the event's chat; nil for a notice.
    package var chat: String? {
        switch self {
        case .peer(let chat, _, _), .typing(let chat, _), .message(let chat, _, _, _), .delivered(let chat, _, _),
            .failed(let chat, _, _, _), .missed(let chat, _, _):
            chat
        case .notice: nil
        }
    }
}

/// An event, and the time when the node learned of it.
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

/// The reason for a change of somebody's presence.
public enum PresenceReason: String, CaseIterable, Sendable, Hashable {
    /// The person came, or changed their name.
    case hello
    /// The person is back from being away.
    case back
    /// The person reports to be away.
    case away
    /// The person left the chat, or ended their node.
    case bye
    /// The person's node ended without a bye, and its helper sent the bye.
    case will
    /// No datagram has arrived from the person's node for too long.
    case silence
    /// This user has blocked the person.
    case blocked
    /// The person's node was started again.
    case replaced
    /// This node had no more room for the link.
    case full
}

/// The reason why a message may not have been delivered to a person.
public enum FailureReason: String, CaseIterable, Sendable, Hashable {
    /// The person left the chat, or ended their node.
    case bye
    /// No datagram has arrived from the person's node for too long.
    case silence
    /// The person's node ended without a bye, and its helper sent the bye.
    case will
    /// This node left the chat.
    case left
    /// This user has blocked the person.
    case blocked
    /// The person's node was started again.
    case replaced
    /// This node was stopped.
    case quit
    /// The person's node is reachable, but has acknowledged no record for too long.
    case stalled
    /// This node had no more room for the link.
    case full
    /// The person's node has lost the records that it had received.
    case lostState = "lost-state"
}

// The rarer cases are indirect, so that an event of typing is copied as a few words.
/// A change in a chat or of the node.
public enum Event: Sendable, Hashable {
    /// Somebody's presence or name changed.
    indirect case peer(PeerChange)
    /// The people who are typing have changed: the complete list, in the order of naming, the latest start first
    /// (T-20).
    case typing(chat: String, [Person])
    /// A message came, whole and in the order in which its author sent them.
    indirect case message(ReceivedMessage)
    /// A person's node acknowledged a whole message that this node sent (M-17).
    indirect case delivered(DeliveryReceipt)
    /// A message that this node sent may not have reached a person (M-17): nothing more will be known.
    indirect case failed(DeliveryFailure)
    /// A message that this node sent waits on disk for a person who is offline. Its outcome follows.
    indirect case waiting(WaitingReceipt)
    /// Something about the node that its user may want to know, or that it is over.
    indirect case notice(Notice)
    /// The reader of these events took nothing for too long, so some are left out here.
    indirect case missed(MissedEvents)

    /// The name of the event's chat; nil for a notice.
    package var chat: String? {
        switch self {
        case .peer(let change): change.chat
        case .typing(let chat, _): chat
        case .message(let message): message.chat
        case .delivered(let receipt): receipt.chat
        case .failed(let failure): failure.chat
        case .waiting(let receipt): receipt.chat
        case .missed(let missed): missed.chat
        case .notice: nil
        }
    }
}

/// A change of somebody's presence or name.
public struct PeerChange: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// All that is known of the person now.
    public let peer: Peer
    /// Why the presence changed.
    public let why: PresenceReason

    package init(chat: String, _ peer: Peer, why: PresenceReason) {
        (self.chat, self.peer, self.why) = (chat, peer, why)
    }
}

/// A message from somebody in a chat.
public struct ReceivedMessage: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// The author.
    public let sender: Person
    /// The number among the messages that this node has received, from 1 on.
    public let id: MessageID
    /// 1 to 65,536 bytes of UTF-8, as sent: make the text safe before you print it, with InklingText.
    public let text: String
    /// When the author says to have written the text, if their node keeps texts for people who are offline; else nil.
    public let written: Timestamp?

    package init(chat: String, from sender: Person, id: MessageID, text: String, written: Timestamp? = nil) {
        (self.chat, self.sender, self.id, self.text, self.written) = (chat, sender, id, text, written)
    }
}

/// The acknowledgement of a message that this node sent, by one of its recipients.
public struct DeliveryReceipt: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// The number that ``Node/send(_:to:)`` returned; 0 for a text that an earlier run of the node sent.
    public let message: MessageID
    /// The recipient.
    public let user: UserID
    /// The number of a waiting text that an earlier run of the node sent.
    public let entry: UInt64?

    package init(chat: String, message: MessageID, user: UserID, entry: UInt64? = nil) {
        (self.chat, self.message, self.user, self.entry) = (chat, message, user, entry)
    }
}

/// A message that this node sent, which waits on disk for one of its recipients.
public struct WaitingReceipt: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// The number that ``Node/send(_:to:)`` returned.
    public let message: MessageID
    /// The recipient.
    public let user: UserID

    package init(chat: String, message: MessageID, user: UserID) {
        (self.chat, self.message, self.user) = (chat, message, user)
    }
}

/// The failure of a message that this node sent, for one of its recipients.
public struct DeliveryFailure: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// The number that ``Node/send(_:to:)`` returned; 0 for a text that an earlier run of the node sent.
    public let message: MessageID
    /// The recipient.
    public let user: UserID
    /// Why the message may not have reached the recipient.
    public let why: FailureReason
    /// The number of a waiting text that an earlier run of the node sent.
    public let entry: UInt64?

    package init(chat: String, message: MessageID, user: UserID, why: FailureReason, entry: UInt64? = nil) {
        (self.chat, self.message, self.user, self.why, self.entry) = (chat, message, user, why, entry)
    }
}

/// The numbers of events of a chat that a slow reader misses.
public struct MissedEvents: Sendable, Hashable {
    /// The chat's name.
    public let chat: String
    /// The number of messages.
    public let messages: Int
    /// The number of times ``Event/delivered(_:)`` or ``Event/failed(_:)``.
    public let outcomes: Int

    package init(chat: String, messages: Int, outcomes: Int) {
        (self.chat, self.messages, self.outcomes) = (chat, messages, outcomes)
    }
}

/// An event, and when the node learned of it.
public struct TimedEvent: Sendable, Hashable {
    /// When the node learned of it.
    public let at: Timestamp
    /// The event.
    public let event: Event
    /// Whether a message waited in the socket while this node was stopped. Its author may have written it long before
    /// ``at``.
    public let isDelayed: Bool

    package init(at: Timestamp, event: Event, isDelayed: Bool = false) {
        self.at = at
        self.event = event
        self.isDelayed = isDelayed
    }
}

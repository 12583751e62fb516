import InklingModel

/// The limits of a daemon, from `Protocol/daemon.md`.
package enum DaemonLimits {
    /// The most front ends at the same time.
    package static let frontEnds = 64
    /// The most messages of a chat that wait for a reader.
    static let unreadMessages = 500
    /// The most unread messages of one person in a chat.
    static let unreadMessagesPerPerson = 125
    /// The most bytes that wait for a reader, in all chats.
    static let unreadBytes = 1 << 20
    /// The most unread bytes of one person, in all chats.
    static let unreadBytesPerPerson = 1 << 18
    /// The most unread texts with an ID of a chat.
    static let unreadTexts = 1_000
    /// The most unread texts with an ID of one person in a chat.
    static let unreadTextsPerPerson = 250
    /// The most bytes of unread texts with an ID, in all chats.
    static let unreadTextBytes = 8 << 20
    /// The most bytes of unread texts with an ID of one person, in all chats.
    static let unreadTextBytesPerPerson = 2 << 20
    /// The most last messages of a chat.
    static let recentMessages = 200
    /// The most bytes of the last messages of a chat.
    static let recentBytes = 1 << 18
    /// The bytes that each outcome adds to the size of an own message.
    static let recentOutcome = 32
    /// The most bytes of messages that wait for the disk.
    static let historyBacklog = 4 << 20
    /// The most bytes of messages and outcomes that wait for a front end that does not read.
    static let backlogBytes = 2 << 20
    /// Returns the share of ``backlogBytes`` for messages from senders of a rank and of lower ranks; nil for no
    /// separate share.
    static func backlogShare(of rank: SenderRank) -> Int? {
        switch rank {
        case .stranger: backlogBytes / 2
        case .member: backlogBytes / 4 * 3
        case .met, .verified: nil
        }
    }
    /// The bytes that a message or an outcome adds to the size of its text.
    static let messageOverhead = 256
    /// The longest time in which a front end may leave all its output unread, in milliseconds.
    static let readerPatience: Int64 = 10_000
    /// The time without a shown chat until the user is away, in milliseconds.
    static let attentionGrace: Int64 = 5_000
    /// The time for which a draft counts after its last edit, in milliseconds (T-9).
    static let draftTime = TypingTime.idleStop
}

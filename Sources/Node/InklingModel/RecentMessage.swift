/// One of the last messages of a chat, which a daemon holds for its front ends.
package struct RecentMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case received(ReceivedMessage, isDelayed: Bool)
        /// A message of this user, with its outcomes so far.
        case own(OwnMessage, delivered: [UserID], failed: [Failure])
    }

    /// An outcome by which the message may not have reached a person.
    package struct Failure: Hashable, Sendable {
        package var user: UserID
        package var why: FailureReason

        package init(user: UserID, why: FailureReason) {
            self.user = user
            self.why = why
        }
    }

    /// When the node received the message, or when this user sent it.
    package var at: Timestamp
    package var content: Content
    /// The number in the list of a chat's messages; nil for a message that the chat's history lacks.
    package var entry: UInt64?
    /// Whether the user has not read the message yet.
    package var isUnread = false
    /// The people for whom an own message waits on disk.
    package var waiting: [UserID] = []

    package var text: String {
        switch content {
        case .received(let message, _): message.text
        case .own(let message, _, _): message.text
        }
    }

    package init(at: Timestamp, _ content: Content) {
        self.at = at
        self.content = content
    }
}

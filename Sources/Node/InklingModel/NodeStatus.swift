/// A chat that a node is in.
package struct ChatStatus: Hashable, Sendable {
    package var name: String
    package var hasSecret: Bool
    /// Whether the node stays in the chat without a front end, even after a restart.
    package var isKept: Bool
    /// The number of messages that the user has not read.
    package var unread: Int
    /// The number of other people who are present in the chat.
    package var present: Int
    /// Whether discovery may still find further people.
    package var isLooking: Bool
    /// The owner's key; nil if the chat has none.
    package var owner: PublicKey?
    /// The other key of a talk.
    package var partner: PublicKey?
    /// Whether the node keeps the chat's messages on disk.
    package var keepsHistory = false
    /// Whether texts wait there for members who are offline.
    package var holdsTexts = false

    package init(
        _ name: String, hasSecret: Bool = false, isKept: Bool = false, unread: Int = 0, present: Int = 0,
        isLooking: Bool = false, owner: PublicKey? = nil, partner: PublicKey? = nil
    ) {
        self.name = name
        self.hasSecret = hasSecret
        self.isKept = isKept
        self.unread = unread
        self.present = present
        self.isLooking = isLooking
        self.owner = owner
        self.partner = partner
    }
}

/// The state of a node.
package struct NodeStatus: Hashable, Sendable {
    /// When it was started.
    package var since: Timestamp
    /// Whether the node reports the user as away to its peers.
    package var isAway: Bool
    /// The number of the node's front ends.
    package var frontEnds: Int
    package var chats: [ChatStatus]

    package init(since: Timestamp, isAway: Bool, frontEnds: Int, chats: [ChatStatus]) {
        self.since = since
        self.isAway = isAway
        self.frontEnds = frontEnds
        self.chats = chats
    }
}

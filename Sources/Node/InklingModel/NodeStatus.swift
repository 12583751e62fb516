/// A chat that a node is in.
package struct ChatStatus: Hashable, Sendable {
    package var name: String
    package var hasSecret: Bool
    /// Whether the node stays in it without a front end, over restarts too.
    package var isKept: Bool
    /// How many messages wait for somebody to read them.
    package var waiting: Int
    /// How many others are there.
    package var present: Int
    /// Whether others may not have been found yet.
    package var isLooking: Bool

    package init(
        _ name: String, hasSecret: Bool = false, isKept: Bool = false, waiting: Int = 0, present: Int = 0,
        isLooking: Bool = false
    ) {
        self.name = name
        self.hasSecret = hasSecret
        self.isKept = isKept
        self.waiting = waiting
        self.present = present
        self.isLooking = isLooking
    }
}

/// How a node is doing.
package struct NodeStatus: Hashable, Sendable {
    /// When it was started.
    package var since: Timestamp
    /// Whether the node reports the user as away to its peers.
    package var isAway: Bool
    /// How many front ends it has.
    package var frontEnds: Int
    package var chats: [ChatStatus]

    package init(since: Timestamp, isAway: Bool, frontEnds: Int, chats: [ChatStatus]) {
        self.since = since
        self.isAway = isAway
        self.frontEnds = frontEnds
        self.chats = chats
    }
}

/// An open invitation to another chat, or to a talk (M-46). A node joins nothing before its user accepts.
public struct Invitation: Hashable, Sendable {
    /// The number of the invitation among those of this node, from 1 on.
    public package(set) var number: Int
    /// The name of the chat in which the sender is.
    public package(set) var chat: String
    /// The sender.
    public package(set) var sender: Person
    /// The static key of the sender.
    public package(set) var key: PublicKey
    /// Whether the user has verified the sender.
    public package(set) var isVerified: Bool
    /// The name of the other chat, as its members call it; nil for a talk with the sender.
    public package(set) var name: String?
    /// The owner of the other chat; nil if it has none.
    public package(set) var owner: PublicKey?

    package init(
        number: Int, chat: String, sender: Person, key: PublicKey, isVerified: Bool, name: String?, owner: PublicKey?
    ) {
        self.number = number
        self.chat = chat
        self.sender = sender
        self.key = key
        self.isVerified = isVerified
        self.name = name
        self.owner = owner
    }

    /// The reason why an invitation is no longer open.
    public enum End: String, CaseIterable, Hashable, Sendable {
        /// The node has joined the chat.
        case accepted
        /// The user declined.
        case declined
        /// The user blocked the sender.
        case blocked
        /// The invitation made room for one of somebody whom the user knows (M-48).
        case replaced
    }
}

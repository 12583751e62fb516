import InklingWire

/// The number of a link within its node, in the order in which links were made.
package struct LinkID: Hashable, Comparable, Sendable {
    package let value: UInt64
    package static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// The number of an instance within its node, in the order in which instances became known.
struct InstanceID: Hashable, Comparable, Sendable {
    let value: UInt64
    static func < (left: InstanceID, right: InstanceID) -> Bool { left.value < right.value }
}

/// A node's local identifier of one of its chats. No datagram contains the identifier, or any other constant of a chat.
package struct ChatID: Hashable, Comparable, Sendable {
    package let value: UInt64

    package static func < (left: ChatID, right: ChatID) -> Bool { left.value < right.value }
}

extension ChatKeys {
    /// The identifier of the chat, the same on all its nodes.
    package var id: ChatID { ChatID(value: prologueKey.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }
}

/// One identity in one chat.
struct PersonID: Hashable, Comparable, Sendable {
    let chat: ChatID
    let key: PublicKey
    static func < (left: PersonID, right: PersonID) -> Bool {
        left.chat == right.chat ? left.key < right.key : left.chat < right.chat
    }
}

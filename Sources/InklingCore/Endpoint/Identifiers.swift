import InklingWire

/// The number of a link within its node, in the order of their making.
package struct LinkID: Hashable, Comparable, Sendable {
    package let value: UInt64
    package static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// The number of a set of candidate addresses within its node: a discovered service instance or a peer by hand.
struct PeerSourceID: Hashable, Comparable, Sendable {
    let value: UInt64
    static func < (left: PeerSourceID, right: PeerSourceID) -> Bool { left.value < right.value }
}

/// One identity in one chat.
struct PersonID: Hashable, Comparable, Sendable {
    let chat: ChatTag
    let key: PublicKey
    static func < (left: PersonID, right: PersonID) -> Bool {
        left.chat == right.chat ? left.key < right.key : left.chat < right.chat
    }
}

import InklingCore

/// One datagram on its way.
final class Packet: Sendable {
    /// Counts the datagrams in the order in which nodes sent them; a copy made by the network keeps the number.
    let number: UInt64
    let sentAt: Instant
    let sender: Int
    let source: Address
    let destination: Address
    let bytes: [UInt8]
    /// The chats in which the sender's user was typing when it was sent, as bits.
    let typing: UInt8
    /// It is what a node sent, whole; whoever sent it again.
    let isGenuine: Bool
    /// It may be a bye that says that nothing is heard (L-44): no sign of life, and no status.
    let mayBeUnheard: Bool

    init(
        number: UInt64, sentAt: Instant, sender: Int, source: Address, destination: Address,
        bytes: [UInt8], typing: UInt8, isGenuine: Bool, mayBeUnheard: Bool
    ) {
        self.number = number
        self.sentAt = sentAt
        self.sender = sender
        self.source = source
        self.destination = destination
        self.bytes = bytes
        self.typing = typing
        self.isGenuine = isGenuine
        self.mayBeUnheard = mayBeUnheard
    }
}

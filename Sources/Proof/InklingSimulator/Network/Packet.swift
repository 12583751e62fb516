import InklingCore

/// One datagram on its way.
final class Packet: Sendable {
    /// The sender index of datagrams that no host sent.
    static let adversary = -1

    /// The position of the datagram in the order in which nodes sent them. Copies made by the network keep the number.
    let number: UInt64
    /// The purpose of the datagram.
    let kind: DatagramKind
    let sentAt: Instant
    let sender: Int
    /// The start of the sender's node, counted from 1.
    let incarnation: Int
    let source: Address
    let destination: Address
    let bytes: [UInt8]
    /// The chats in which the sender's user was typing at the time, as bits.
    let typing: UInt32
    /// The chats in which the sender showed the receiver's person at the time, as bits.
    let shows: UInt32
    /// The bytes that the sender's node sent; nil for a datagram of the adversary.
    let original: [UInt8]?

    init(
        number: UInt64, kind: DatagramKind, sentAt: Instant, sender: Int, incarnation: Int = 0, source: Address,
        destination: Address, bytes: [UInt8], original: [UInt8]?, typing: UInt32, shows: UInt32 = 0
    ) {
        self.number = number
        self.kind = kind
        self.sentAt = sentAt
        self.sender = sender
        self.incarnation = incarnation
        self.source = source
        self.destination = destination
        self.bytes = bytes
        self.original = original
        self.typing = typing
        self.shows = shows
    }

    /// Whether the bytes are those of a node. The attacker may repair a damaged datagram by cutting it short.
    var isGenuine: Bool { bytes == original }

    /// The receiver index of a host's sealed datagram; nil if the datagram was cut too short.
    var session: UInt32? { kind.isSealed && bytes.count >= 27 ? SealedHeader(bytes).index : nil }

    var summary: String {
        "number \(number), \(kind.rawValue) of host \(sender), sent at \(sentAt.nanoseconds / 1_000), typing \(typing)"
    }
}

/// The unencrypted part of a sealed datagram.
struct SealedHeader {
    let index: UInt32
    let counter: UInt32

    init(_ bytes: [UInt8]) {
        func word(at start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        index = word(at: 1)
        counter = word(at: 5)
    }
}

extension DatagramKind {
    var isSealed: Bool {
        switch self {
        case .initiation, .response, .retry, .ask, .tell: false
        case .heartbeat, .typing, .record, .ack, .forward, .ping, .pong, .bye: true
        }
    }

    /// Returns whether a datagram of a size contains a typing status: in a heartbeat or a typing frame, alone or before
    /// another frame.
    func hasStatus(size: Int) -> Bool {
        switch self {
        case .heartbeat, .typing, .record, .pong: true
        // A ping alone has 28 bytes. The pings of a session that joins also carry a heartbeat (L-74).
        case .ping: size > 28
        case .ack, .forward, .bye, .initiation, .response, .retry, .ask, .tell: false
        }
    }
}

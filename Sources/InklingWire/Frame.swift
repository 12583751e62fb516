/// What a user does, whole: a status that was lost is healed by the next.
package struct Status: Hashable, Sendable {
    /// Whether the user types, as announced.
    package var isTyping: Bool
    /// Whether the user said to be away.
    package var isAway: Bool

    /// The status of those two facts.
    package init(isTyping: Bool, isAway: Bool) {
        self.isTyping = isTyping
        self.isAway = isAway
    }

    /// The status in a byte: bit 0 is typing, bit 1 away; the others are ignored (T-2, X-1).
    package init(byte: UInt8) {
        isTyping = byte & 1 != 0
        isAway = byte & 2 != 0
    }

    /// The status as a byte, its other bits 0.
    package var byte: UInt8 { (isTyping ? 1 : 0) | (isAway ? 2 : 0) }
}

/// One frame of a sealed datagram.
package enum Frame: Equatable, Sendable {
    /// The sender lives; its status, and when to expect the next one.
    case heartbeat(Heartbeat)
    /// The status, at an edge or before a message.
    case typing(Status)
    /// Who the sender is and where its streams stand.
    case hello(Hello)
    /// One record of the sender's stream.
    case message(Record)
    /// Which records of the receiver's stream have come.
    case ack(Ack)
    /// A token that is to come back in a pong.
    case ping(UInt16)
    /// The token of a ping.
    case pong(UInt16)
    /// The sender goes.
    case bye(ByeReason)
    /// A frame of a later protocol, of type 0x40 or above, skipped by its length.
    case unknown(type: UInt8, body: [UInt8])

    /// The types of the frames, which are all below 0x40.
    enum Kind: UInt8 {
        case heartbeat = 1
        case typing
        case hello
        case message
        case ack
        case ping
        case pong
        case bye
    }

    /// The first type of those that carry a length of 16 bits, so that older nodes skip them (W-26).
    package static let firstExtensionType: UInt8 = 0x40

    /// The frame's type byte.
    package var type: UInt8 {
        switch self {
        case .heartbeat: Kind.heartbeat.rawValue
        case .typing: Kind.typing.rawValue
        case .hello: Kind.hello.rawValue
        case .message: Kind.message.rawValue
        case .ack: Kind.ack.rawValue
        case .ping: Kind.ping.rawValue
        case .pong: Kind.pong.rawValue
        case .bye: Kind.bye.rawValue
        case .unknown(let type, _): type
        }
    }
}

/// The sender lives, does this, and will be heard again within an interval.
package struct Heartbeat: Hashable, Sendable {
    /// What the sender's user does.
    package var status: Status
    /// The sender's idle interval in units of 100 ms, as the wire has it.
    package var interval: UInt8

    /// A heartbeat of a status and an interval in units of 100 ms.
    package init(status: Status, interval: UInt8) {
        self.status = status
        self.interval = interval
    }

    /// The longest time between two heartbeats of the sender when it is idle, clamped to 1 s at least (T-12).
    package var idleInterval: Duration {
        max(.milliseconds(100 * Int(interval)), Limits.minimumIdleInterval)
    }
}

/// Who the sender is, and where its stream and the receiver's stand.
package struct Hello: Hashable, Sendable {
    /// A random number for each start of the sender's node.
    package var run: UInt64
    /// The stream of the sender's records, never 0.
    package var stream: UInt32
    /// The stream of the receiver's records that the sender holds; 0 for none.
    package var heldStream: UInt32
    /// The record of that stream that the sender expects next.
    package var nextRecord: UInt32
    /// The sender's display name, at most 64 bytes of UTF-8, as the peer sent it: not safe to show.
    package var name: String

    /// A hello; a stream of 0 and a name of more than 64 bytes can't be encoded.
    package init(run: UInt64, stream: UInt32, heldStream: UInt32, nextRecord: UInt32, name: String) {
        self.run = run
        self.stream = stream
        self.heldStream = heldStream
        self.nextRecord = nextRecord
        self.name = name
    }
}

/// One record of a stream: a message or a part of one.
package struct Record: Hashable, Sendable {
    /// The sender's stream.
    package var stream: UInt32
    /// The record's place in it, from 0.
    package var number: UInt32
    /// Whether a message begins with it.
    package var isFirst: Bool
    /// Whether a message ends with it.
    package var isLast: Bool
    /// The text, at least 1 byte, cut at a scalar's boundary.
    package var text: String

    /// A record; an empty text can't be encoded.
    package init(stream: UInt32, number: UInt32, isFirst: Bool, isLast: Bool, text: String) {
        self.stream = stream
        self.number = number
        self.isFirst = isFirst
        self.isLast = isLast
        self.text = text
    }
}

/// Which records of the receiver's stream have come.
package struct Ack: Hashable, Sendable {
    /// The stream of the node that this goes to.
    package var stream: UInt32
    /// The record that is expected next: all before it have come.
    package var next: UInt32
    /// Bit i, the least significant being 0, says that record `next` + 1 + i has come.
    package var bitmap: UInt16

    /// An ack of a stream.
    package init(stream: UInt32, next: UInt32, bitmap: UInt16) {
        self.stream = stream
        self.next = next
        self.bitmap = bitmap
    }
}

/// Why the sender goes.
package enum ByeReason: UInt8, CaseIterable, Sendable {
    /// Its program ended.
    case quit = 0
    /// It left the chat.
    case left = 1
    /// Its program was suspended.
    case suspended = 2
    /// It was killed, and its helper sends the bye that it had prepared.
    case lastWill = 3
    /// It blocked the receiver, or removed it.
    case removed = 4
    /// It hears nothing of the receiver (L-44).
    case unheard = 5

    /// The reason in a byte; one that is not known counts as `quit`.
    package init(byte: UInt8) {
        self = ByeReason(rawValue: byte) ?? .quit
    }
}

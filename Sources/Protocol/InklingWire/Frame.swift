/// The whole state that a node announces to a peer (T-2). After a lost status, the next one suffices.
package struct Status: Hashable, Sendable {
    /// Bit 0: the sender's user types.
    package var isTyping: Bool
    /// Bit 1: the sender's user is away.
    package var isAway: Bool
    /// Bit 2: the sender does not hear the receiver (L-44).
    package var isUnheard: Bool

    /// Makes a status from its three facts.
    package init(isTyping: Bool = false, isAway: Bool = false, isUnheard: Bool = false) {
        self.isTyping = isTyping
        self.isAway = isAway
        self.isUnheard = isUnheard
    }

    /// Parses a byte. Unassigned bits are ignored.
    package init(byte: UInt8) {
        self.init(isTyping: byte & 1 != 0, isAway: byte & 2 != 0, isUnheard: byte & 4 != 0)
    }

    /// The status as a byte. Unassigned bits are zero.
    package var byte: UInt8 { (isTyping ? 1 : 0) | (isAway ? 2 : 0) | (isUnheard ? 4 : 0) }
}

/// One frame of a sealed datagram.
package enum Frame: Equatable, Sendable {
    /// The sender's status, and its interval between heartbeats.
    case heartbeat(Heartbeat)
    /// The sender's status, sent when typing starts or stops, or before a record.
    case typing(Status)
    /// A numbered record, the last frame of its datagram.
    case record(Record)
    /// The records that the sender has received.
    case ack(Ack)
    /// A ping with a token. The receiver returns the token in a pong.
    case ping(UInt16)
    /// The answer to a ping, with its token.
    case pong(UInt16)
    /// The end of the link, with its reason.
    case bye(ByeReason)
    /// The number of the sender's next record. The sender will not repeat any record below it (M-37).
    case forward(UInt32)
    /// The ID of the text that begins in the record of the same datagram (M-80).
    case textID(TextID)
    /// A frame of an unassigned type, 0x40 or above, which a node skips (W-26).
    case unknown(type: UInt8, body: [UInt8])

    /// The assigned types, all below 0x40.
    enum Kind: UInt8 {
        case heartbeat = 1
        case typing
        case record = 4
        case ack
        case ping
        case pong
        case bye
        case forward
    }

    /// The lowest type whose frames have a length of 2 bytes (W-26). A node can therefore skip unknown ones.
    package static let firstUnknownType: UInt8 = 0x40
    /// The type of a text ID. Nodes that do not know it skip the frame.
    static let textIDType: UInt8 = 0x41

    /// The type, the first byte of the frame.
    package var type: UInt8 {
        switch self {
        case .heartbeat: Kind.heartbeat.rawValue
        case .typing: Kind.typing.rawValue
        case .record: Kind.record.rawValue
        case .ack: Kind.ack.rawValue
        case .ping: Kind.ping.rawValue
        case .pong: Kind.pong.rawValue
        case .bye: Kind.bye.rawValue
        case .forward: Kind.forward.rawValue
        case .textID: Frame.textIDType
        case .unknown(let type, _): type
        }
    }
}

/// A node's status and its idle interval.
package struct Heartbeat: Hashable, Sendable {
    /// The current status.
    package var status: Status
    /// The sender's idle interval as in the frame, in units of 100 ms (T-11).
    package var interval: UInt8

    /// Makes a heartbeat from a status and an interval in units of 100 ms.
    package init(status: Status, interval: UInt8) {
        self.status = status
        self.interval = interval
    }

    /// The idle interval that the receiver uses: the announced one, but at least 1 s and at most 25.5 s (T-12).
    package var idleInterval: Duration {
        max(.milliseconds(100 * Int(interval)), Limits.minimumIntervalTaken)
    }
}

/// The type of a record, a number of four bits.
package enum RecordType: Hashable, Sendable {
    /// A part of a message.
    case text
    /// The display name of the sender.
    case name
    /// An invite to another chat, or a knock (M-46).
    case invite
    /// The chat that follows this one (M-89).
    case successor
    /// A type from 4 to 15, which a receiver acknowledges and ignores (M-26).
    case unknown(UInt8)

    /// The type in the low four bits of a code byte.
    package init(code: UInt8) {
        switch code & 0x0F {
        case 0: self = .text
        case 1: self = .name
        case 2: self = .invite
        case 3: self = .successor
        case let other: self = .unknown(other)
        }
    }

    /// The type as a number of four bits.
    package var code: UInt8 {
        switch self {
        case .text: 0
        case .name: 1
        case .invite: 2
        case .successor: 3
        case .unknown(let code): code
        }
    }

    /// Whether this version defines the content of the type (W-40).
    package var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }
}

/// A numbered record of one direction of a link.
package struct Record: Hashable, Sendable {
    /// The number of the record in its direction, from 0.
    package var number: UInt32
    /// The type of the record.
    package var type: RecordType
    /// Whether the record is the first of its message.
    package var isFirst: Bool
    /// Whether the record is the last of its message.
    package var isLast: Bool
    /// The content of the record, up to the end of the datagram.
    package var body: [UInt8]

    /// Makes a record. ``Frames/encode(_:)`` refuses a body or flags that break W-28 or W-40.
    package init(number: UInt32, type: RecordType, isFirst: Bool = true, isLast: Bool = true, body: [UInt8]) {
        self.number = number
        self.type = type
        self.isFirst = isFirst
        self.isLast = isLast
        self.body = body
    }

    /// The body as text. The body of a text record is valid UTF-8 (W-28).
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The display name in the body, unsafe to show. Returns an empty name for a body that is over 64 bytes or not
    /// UTF-8 (M-25).
    package var displayName: String {
        guard body.count <= Limits.maximumDisplayNameSize else { return "" }
        return String(validating: body, as: UTF8.self) ?? ""
    }
}

/// The records that the sender of the ack has received so far.
package struct Ack: Hashable, Sendable {
    /// The next record that the sender of the ack expects. All records below are acknowledged (M-31).
    package var next: UInt32
    /// Bit i, with bit 0 being 0x0001, means that record next + 1 + i has arrived.
    package var bitmap: UInt16

    /// Makes an ack.
    package init(next: UInt32, bitmap: UInt16 = 0) {
        self.next = next
        self.bitmap = bitmap
    }

    /// Returns whether the bitmap acknowledges a record. Numbers do not wrap around.
    package func names(_ number: UInt32) -> Bool {
        guard number > next, number - next <= 16 else { return false }
        return bitmap & 1 << UInt16(number - next - 1) != 0
    }
}

/// The reason for a bye.
package enum ByeReason: UInt8, CaseIterable, Sendable {
    /// The program ended.
    case quit = 0
    /// The user left the chat, or blocked the peer (L-32).
    case left = 1
    /// The program was suspended.
    case suspended = 2
    /// The node died, and another process sent its last will (L-33).
    case lastWill = 3
    /// The owner moved the chat and removed the peer (M-65).
    case removed = 6

    /// Parses a byte. An unassigned value counts as `quit`.
    package init(byte: UInt8) {
        self = ByeReason(rawValue: byte) ?? .quit
    }
}

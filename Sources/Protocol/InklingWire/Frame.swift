/// The whole announced state of a node (T-2). The next status makes up for a lost one.
package struct Status: Hashable, Sendable {
    /// Bit 0: the node's user types.
    package var isTyping: Bool
    /// Bit 1: the user is away.
    package var isAway: Bool
    /// Bit 2: the node does not hear the receiver (L-44).
    package var isUnheard: Bool

    /// A status of these facts.
    package init(isTyping: Bool = false, isAway: Bool = false, isUnheard: Bool = false) {
        self.isTyping = isTyping
        self.isAway = isAway
        self.isUnheard = isUnheard
    }

    /// The status in a byte, whose unassigned bits are ignored.
    package init(byte: UInt8) {
        self.init(isTyping: byte & 1 != 0, isAway: byte & 2 != 0, isUnheard: byte & 4 != 0)
    }

    /// The status as a byte, with unassigned bits of zero.
    package var byte: UInt8 { (isTyping ? 1 : 0) | (isAway ? 2 : 0) | (isUnheard ? 4 : 0) }
}

/// One frame of a sealed datagram.
package enum Frame: Equatable, Sendable {
    /// The status, and the time until the next heartbeat.
    case heartbeat(Heartbeat)
    /// The status at an edge, or before a record.
    case typing(Status)
    /// A numbered record, the last frame of its datagram.
    case record(Record)
    /// The records that the sender has received.
    case ack(Ack)
    /// A token that a pong returns.
    case ping(UInt16)
    /// The token of a ping.
    case pong(UInt16)
    /// The end of the link.
    case bye(ByeReason)
    /// The number of the sender's next record: those below come no more (M-37).
    case forward(UInt32)
    /// A frame of an unassigned type from 0x40 on, which a node skips (W-26).
    case unknown(type: UInt8, body: [UInt8])

    /// The types that are listed, all below 0x40.
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

    /// The first type of the frames with a length of 2 bytes (W-26).
    package static let firstUnknownType: UInt8 = 0x40

    /// The frame's first byte.
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
        case .unknown(let type, _): type
        }
    }
}

/// The status of a node, and its idle interval.
package struct Heartbeat: Hashable, Sendable {
    /// The status of this moment.
    package var status: Status
    /// The sender's idle interval in units of 100 ms, as the frame has it (T-11).
    package var interval: UInt8

    /// A heartbeat of a status and an interval in units of 100 ms.
    package init(status: Status, interval: UInt8) {
        self.status = status
        self.interval = interval
    }

    /// The idle interval that a receiver takes, 1 to 25.5 s (T-12).
    package var idleInterval: Duration {
        max(.milliseconds(100 * Int(interval)), Limits.minimumIntervalTaken)
    }
}

/// The type of a record, four bits.
package enum RecordType: Hashable, Sendable {
    /// A part of a message.
    case text
    /// The display name of the sender.
    case name
    /// An invite: reserved (M-28).
    case invite
    /// The chat that follows this one: reserved (M-28).
    case successor
    /// A type from 4 to 15, which a receiver acknowledges and passes over (M-26).
    case unknown(UInt8)

    /// The type in the low four bits of a code.
    package init(code: UInt8) {
        switch code & 0x0F {
        case 0: self = .text
        case 1: self = .name
        case 2: self = .invite
        case 3: self = .successor
        case let other: self = .unknown(other)
        }
    }

    /// The four bits.
    package var code: UInt8 {
        switch self {
        case .text: 0
        case .name: 1
        case .invite: 2
        case .successor: 3
        case .unknown(let code): code
        }
    }

    /// Whether this version gives the type a form (W-40).
    package var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }
}

/// One numbered record of a link's direction.
package struct Record: Hashable, Sendable {
    /// The place of the record in its direction, from 0.
    package var number: UInt32
    /// The type of the record.
    package var type: RecordType
    /// Whether a message begins with the record.
    package var isFirst: Bool
    /// Whether a message ends with the record.
    package var isLast: Bool
    /// The content, which reaches to the end of the datagram.
    package var body: [UInt8]

    /// A record. ``Frames/encode(_:)`` refuses a body or flags against W-28 and W-40.
    package init(number: UInt32, type: RecordType, isFirst: Bool = true, isLast: Bool = true, body: [UInt8]) {
        self.number = number
        self.type = type
        self.isFirst = isFirst
        self.isLast = isLast
        self.body = body
    }

    /// The body as text. The body of a text record is valid UTF-8 (W-28).
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The display name in the body, which is unsafe to show. The name is empty if the body is over 64 bytes or is
    /// not UTF-8 (M-25).
    package var displayName: String {
        guard body.count <= Limits.maximumDisplayNameSize else { return "" }
        return String(validating: body, as: UTF8.self) ?? ""
    }
}

/// The records of the receiver that the sender of the ack has received.
package struct Ack: Hashable, Sendable {
    /// The number that the sender expects. All records below are acknowledged (M-31).
    package var next: UInt32
    /// Bit i, bit 0 being 0x0001, says that record next + 1 + i is held.
    package var bitmap: UInt16

    /// An ack.
    package init(next: UInt32, bitmap: UInt16 = 0) {
        self.next = next
        self.bitmap = bitmap
    }

    /// Whether the bitmap names a record. Numbers do not wrap around.
    package func names(_ number: UInt32) -> Bool {
        guard number > next, number - next <= 16 else { return false }
        return bitmap & 1 << UInt16(number - next - 1) != 0
    }
}

/// The reason of a bye.
package enum ByeReason: UInt8, CaseIterable, Sendable {
    /// The program ended.
    case quit = 0
    /// The user left the chat, or blocked the peer (L-32).
    case left = 1
    /// The program was suspended.
    case suspended = 2
    /// The node died, and another process sent its last will (L-33).
    case lastWill = 3

    /// The reason in a byte; an unassigned one is taken for `quit`.
    package init(byte: UInt8) {
        self = ByeReason(rawValue: byte) ?? .quit
    }
}

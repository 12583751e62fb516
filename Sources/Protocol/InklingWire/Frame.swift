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

/// The reason why a node drops the whole plaintext of a sealed datagram, and the position of the wrong frame.
package struct FrameError: Error, Hashable, Sendable {
    /// The errors that a frame can have.
    package enum Reason: String, CaseIterable, Sendable {
        /// There is no frame (W-24).
        case empty
        /// A frame is cut off (W-24).
        case truncated
        /// An unassigned type below 0x40 (W-25).
        case unknownType
        /// Two frames have the same type below 0x40 (W-25).
        case duplicate
        /// The plaintext has two heartbeats, or two typing frames, or one of each (W-27).
        case twoStatuses
        /// A name, invite or successor lacks one of the two flags "first" and "last" (W-40).
        case flags
        /// A text record with an empty body (W-28).
        case emptyText
        /// A text record whose body is not valid UTF-8 (W-28, W-33).
        case notUTF8
        /// The plaintext has the last will's counter, but is not a single bye (W-21).
        case lastWill
    }

    /// The first error in the plaintext.
    package let reason: Reason
    /// The index of the wrong frame's first byte.
    package let offset: Int

    /// Makes an error of the frame at an offset.
    package init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

/// The plaintext of a sealed datagram: one or more frames. A node parses all frames before it applies the first (W-24).
package enum Frames {
    /// Parses a plaintext. A record reaches to the end. No byte may follow the last frame.
    ///
    /// - Parameter counter: the datagram's counter. Under the last will's counter, only a single bye with reason 3 is
    ///   valid (W-21).
    package static func parse(_ plaintext: [UInt8], counter: UInt32) throws(FrameError) -> [Frame] {
        guard counter == Limits.lastWillCounter else { return try parse(plaintext) }
        guard plaintext.count == 2, plaintext[0] == Frame.Kind.bye.rawValue else {
            throw FrameError(reason: .lastWill, offset: 0)
        }
        return [.bye(.lastWill)]
    }

    /// Parses the plaintext of a datagram whose counter is not the last will's.
    package static func parse(_ plaintext: [UInt8]) throws(FrameError) -> [Frame] {
        guard !plaintext.isEmpty else { throw FrameError(reason: .empty, offset: 0) }
        var parser = FrameParser(plaintext)
        var frames: [Frame] = []
        while let frame = try parser.next() {
            frames.append(frame)
        }
        return frames
    }

    /// Encodes one or more frames as a plaintext. A frame that `parse` would refuse is the caller's bug.
    package static func encode(_ frames: [Frame]) -> [UInt8] {
        var writer = ByteWriter(capacity: Limits.maximumDatagramSize)
        append(frames, to: &writer)
        return writer.bytes
    }

    /// Encodes frames behind what was written before.
    static func append(_ frames: [Frame], to writer: inout ByteWriter) {
        precondition(!frames.isEmpty, "a datagram has at least one frame")
        var types = FrameTypes()
        for (index, frame) in frames.enumerated() {
            precondition(types.insert(frame.type) == nil, "each type stands once, and one status at most")
            if case .record = frame {
                precondition(index == frames.count - 1, "a record is the last frame")
            }
            writer.append(frame)
        }
    }

    /// Returns the frames of a datagram in the order in which a node applies them, without unknown frames (W-30).
    package static func inOrder(_ frames: [Frame]) -> [Frame] {
        let kinds: [Frame.Kind] = [.heartbeat, .typing, .ping, .pong, .ack, .forward, .record, .bye]
        return kinds.compactMap { kind in frames.first { $0.type == kind.rawValue } }
    }
}

/// The types below 0x40 that the parser has found so far.
private struct FrameTypes {
    private static let statuses = bit(of: Frame.Kind.heartbeat.rawValue) | bit(of: Frame.Kind.typing.rawValue)

    private var seen: UInt64 = 0

    /// Adds a type. Returns the error if the type may not follow the types before it.
    mutating func insert(_ type: UInt8) -> FrameError.Reason? {
        guard type < Frame.firstUnknownType else { return nil }
        let bit = FrameTypes.bit(of: type)
        guard bit & FrameTypes.statuses == 0 || seen & FrameTypes.statuses == 0 else { return .twoStatuses }
        guard seen & bit == 0 else { return .duplicate }
        seen |= bit
        return nil
    }

    private static func bit(of type: UInt8) -> UInt64 { 1 << UInt64(type) }
}

/// A parser of frames, from the front of a plaintext.
private struct FrameParser {
    private var reader: ByteReader
    private var types = FrameTypes()
    private var start = 0

    init(_ bytes: [UInt8]) {
        reader = ByteReader(bytes)
    }

    /// Returns the next frame, or nil at the end.
    mutating func next() throws(FrameError) -> Frame? {
        start = reader.offset
        guard let type = reader.uint8() else { return nil }
        guard type < Frame.firstUnknownType else {
            let body = try need(reader.take(Int(try need(reader.uint16()))))
            return TextID(of: type, body).map(Frame.textID) ?? .unknown(type: type, body: body)
        }
        guard let kind = Frame.Kind(rawValue: type) else { throw error(.unknownType) }
        if let reason = types.insert(type) { throw error(reason) }
        switch kind {
        case .heartbeat:
            return .heartbeat(Heartbeat(status: try status(), interval: try need(reader.uint8())))
        case .typing: return .typing(try status())
        case .record: return .record(try record())
        case .ack: return .ack(Ack(next: try need(reader.uint32()), bitmap: try need(reader.uint16())))
        case .ping: return .ping(try need(reader.uint16()))
        case .pong: return .pong(try need(reader.uint16()))
        case .bye: return .bye(ByeReason(byte: try need(reader.uint8())))
        case .forward: return .forward(try need(reader.uint32()))
        }
    }

    private mutating func status() throws(FrameError) -> Status {
        Status(byte: try need(reader.uint8()))
    }

    private mutating func record() throws(FrameError) -> Record {
        let number = try need(reader.uint32())
        let flags = try need(reader.uint8())
        let record = Record(
            number: number, type: RecordType(code: flags >> 4), isFirst: flags & 1 != 0, isLast: flags & 2 != 0,
            body: reader.rest())
        if let reason = record.fault { throw error(reason) }
        return record
    }

    private func need<Value>(_ value: Value?) throws(FrameError) -> Value {
        guard let value else { throw error(.truncated) }
        return value
    }

    private func error(_ reason: FrameError.Reason) -> FrameError {
        FrameError(reason: reason, offset: start)
    }
}

extension Record {
    /// The record's breach of W-28 or W-40; nil for a valid record.
    fileprivate var fault: FrameError.Reason? {
        switch type {
        case .text:
            if body.isEmpty { return .emptyText }
            return String(validating: body, as: UTF8.self) == nil ? .notUTF8 : nil
        case .name, .invite, .successor: return isFirst && isLast ? nil : .flags
        case .unknown: return nil
        }
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ frame: Frame) {
        append(frame.type)
        switch frame {
        case .heartbeat(let heartbeat):
            append(heartbeat.status.byte)
            append(heartbeat.interval)
        case .typing(let status): append(status.byte)
        case .record(let record):
            precondition(record.fault == nil, "a text is UTF-8 and not empty, and other types have both flags")
            append(record.number)
            append((record.isFirst ? 1 : 0) | (record.isLast ? 2 : 0) | record.type.code << 4 as UInt8)
            append(record.body)
        case .ack(let ack):
            append(ack.next)
            append(ack.bitmap)
        case .ping(let token), .pong(let token): append(token)
        case .bye(let reason): append(reason.rawValue)
        case .textID(let id):
            append(UInt16(Limits.textIDSize))
            append(id.body)
        case .forward(let next): append(next)
        case .unknown(let type, let body):
            precondition(
                type >= Frame.firstUnknownType && body.count <= UInt16.max, "an unknown frame carries a length")
            append(UInt16(body.count))
            append(body)
        }
    }
}

/// The name of a text among all texts of its writer for one recipient in one chat (M-80).
package struct TextID: Hashable, Comparable, Sendable {
    /// The writer's run, random at each start of the writer's node.
    package var run: UInt64
    /// The number of the text within the run, from 1.
    package var number: UInt64
    /// When the text was written, in milliseconds since 1970. Anybody can write any time.
    package var written: UInt64

    /// Makes an ID. ``Frames/encode(_:)`` takes the number 0 as well, although receivers ignore it.
    package init(run: UInt64, number: UInt64, written: UInt64) {
        self.run = run
        self.number = number
        self.written = written
    }

    /// Parses the body of a frame; nil for another type, another length, or the number 0 (M-81).
    init?(of type: UInt8, _ body: [UInt8]) {
        var reader = ByteReader(body)
        guard type == Frame.textIDType, body.count == Limits.textIDSize, let run = reader.uint64(),
            let number = reader.uint64(), let written = reader.uint64(), number > 0
        else { return nil }
        self.init(run: run, number: number, written: written)
    }

    var body: [UInt8] { run.bigEndianBytes + number.bigEndianBytes + written.bigEndianBytes }

    package static func < (left: TextID, right: TextID) -> Bool {
        (left.run, left.number) < (right.run, right.number)
    }
}

extension Record {
    /// Whether a text ID in the same datagram names this record's text (M-81).
    package var beginsText: Bool { isFirst && type == .text }
}

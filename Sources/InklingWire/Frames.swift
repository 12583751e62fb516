/// Why the content of a sealed datagram is refused, all of it, and where.
package struct FrameError: Error, Hashable, Sendable {
    /// What can be wrong with frames.
    package enum Reason: String, CaseIterable, Sendable {
        /// There is no frame (W-24).
        case empty
        /// A frame reaches beyond the end (W-24).
        case truncated
        /// A type below 0x40 that is not known (W-25).
        case unknownType
        /// A type below 0x40 for the second time (W-25).
        case duplicate
        /// A heartbeat and a typing frame (W-27).
        case twoStatuses
        /// A hello's name of more than 64 bytes (W-29).
        case nameTooLong
        /// A name or a text that is no UTF-8 (W-28, W-29).
        case invalidText
        /// A hello whose own stream is 0 (W-29).
        case zeroStream
        /// A message without text (W-28).
        case emptyMessage
    }

    /// What is wrong.
    package let reason: Reason
    /// Where the frame begins that is wrong, in bytes from the first frame.
    package let offset: Int

    /// An error in the frame at an offset.
    package init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

/// The content of a sealed datagram: one or more frames, parsed as a whole before any of them applies (W-24).
package enum Frames {
    /// The frames that `bytes` are. A message reaches to the end, so it is the last; nothing may trail any other.
    package static func parse(_ bytes: [UInt8]) throws(FrameError) -> [Frame] {
        guard !bytes.isEmpty else { throw FrameError(reason: .empty, offset: 0) }
        var parser = FrameParser(bytes)
        var frames: [Frame] = []
        while let frame = try parser.next() {
            frames.append(frame)
        }
        return frames
    }

    /// The bytes of one or more frames. Frames that `parse` would refuse are the caller's bug.
    package static func encode(_ frames: [Frame]) -> [UInt8] {
        precondition(!frames.isEmpty, "a datagram has at least one frame")
        var types = FrameTypes()
        var writer = ByteWriter(capacity: Limits.maximumDatagramSize)
        for (index, frame) in frames.enumerated() {
            precondition(types.insert(frame.type) == nil, "each type once, and one status at most")
            if case .message = frame {
                precondition(index == frames.count - 1, "a message is the last frame")
            }
            writer.append(frame)
        }
        return writer.bytes
    }
}

/// Which types below 0x40 a datagram has shown.
private struct FrameTypes {
    private static let statuses = bit(of: Frame.Kind.heartbeat.rawValue) | bit(of: Frame.Kind.typing.rawValue)

    private var seen: UInt64 = 0

    /// Counts a frame's type, and says which rule it breaks.
    mutating func insert(_ type: UInt8) -> FrameError.Reason? {
        guard type < Frame.firstExtensionType else { return nil }
        let bit = FrameTypes.bit(of: type)
        guard seen & bit == 0 else { return .duplicate }
        guard bit & FrameTypes.statuses == 0 || seen & FrameTypes.statuses == 0 else { return .twoStatuses }
        seen |= bit
        return nil
    }

    private static func bit(of type: UInt8) -> UInt64 { 1 << UInt64(type) }
}

/// Takes frames from the front of a datagram's content.
private struct FrameParser {
    private var reader: ByteReader
    private var types = FrameTypes()
    private var start = 0

    init(_ bytes: [UInt8]) {
        reader = ByteReader(bytes)
    }

    /// The next frame; nil at the end.
    mutating func next() throws(FrameError) -> Frame? {
        start = reader.offset
        guard let type = reader.uint8() else { return nil }
        guard type < Frame.firstExtensionType else {
            return .unknown(type: type, body: try need(reader.take(Int(try need(reader.uint16())))))
        }
        guard let kind = Frame.Kind(rawValue: type) else { throw error(.unknownType) }
        if let broken = types.insert(type) { throw error(broken) }
        switch kind {
        case .heartbeat:
            return .heartbeat(Heartbeat(status: try status(), interval: try need(reader.uint8())))
        case .typing: return .typing(try status())
        case .hello: return .hello(try hello())
        case .message: return .message(try record())
        case .ack:
            return .ack(
                Ack(
                    stream: try need(reader.uint32()), next: try need(reader.uint32()),
                    bitmap: try need(reader.uint16())))
        case .ping: return .ping(try need(reader.uint16()))
        case .pong: return .pong(try need(reader.uint16()))
        case .bye: return .bye(ByeReason(byte: try need(reader.uint8())))
        }
    }

    private mutating func status() throws(FrameError) -> Status {
        Status(byte: try need(reader.uint8()))
    }

    private mutating func hello() throws(FrameError) -> Hello {
        let run = try need(reader.uint64())
        let stream = try need(reader.uint32())
        let held = try need(reader.uint32())
        let next = try need(reader.uint32())
        let size = Int(try need(reader.uint8()))
        guard stream != 0 else { throw error(.zeroStream) }
        guard size <= Limits.maximumNameSize else { throw error(.nameTooLong) }
        let name = try text(try need(reader.take(size)))
        return Hello(run: run, stream: stream, heldStream: held, nextRecord: next, name: name)
    }

    private mutating func record() throws(FrameError) -> Record {
        let stream = try need(reader.uint32())
        let number = try need(reader.uint32())
        let flags = try need(reader.uint8())
        guard reader.remaining > 0 else { throw error(.emptyMessage) }
        return Record(
            stream: stream, number: number, isFirst: flags & 1 != 0, isLast: flags & 2 != 0,
            text: try text(reader.rest()))
    }

    private func text(_ bytes: [UInt8]) throws(FrameError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error(.invalidText) }
        return text
    }

    private func need<Value>(_ value: Value?) throws(FrameError) -> Value {
        guard let value else { throw error(.truncated) }
        return value
    }

    private func error(_ reason: FrameError.Reason) -> FrameError {
        FrameError(reason: reason, offset: start)
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
        case .hello(let hello): append(hello)
        case .message(let record):
            precondition(!record.text.isEmpty, "a message has text")
            append(record.stream)
            append(record.number)
            append((record.isFirst ? 1 : 0) | (record.isLast ? 2 : 0) as UInt8)
            append(record.text.utf8)
        case .ack(let ack):
            append(ack.stream)
            append(ack.next)
            append(ack.bitmap)
        case .ping(let token), .pong(let token): append(token)
        case .bye(let reason): append(reason.rawValue)
        case .unknown(let type, let body):
            precondition(type >= Frame.firstExtensionType && body.count <= UInt16.max, "an extension carries a length")
            append(UInt16(body.count))
            append(body)
        }
    }

    private mutating func append(_ hello: Hello) {
        let name = Array(hello.name.utf8)
        precondition(hello.stream != 0, "a hello's own stream is not 0")
        precondition(name.count <= Limits.maximumNameSize, "a name has at most 64 bytes")
        append(hello.run)
        append(hello.stream)
        append(hello.heldStream)
        append(hello.nextRecord)
        append(UInt8(name.count))
        append(name)
    }
}

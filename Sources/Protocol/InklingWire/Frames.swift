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
        precondition(!frames.isEmpty, "a datagram has at least one frame")
        var types = FrameTypes()
        var writer = ByteWriter(capacity: Limits.maximumDatagramSize)
        for (index, frame) in frames.enumerated() {
            precondition(types.insert(frame.type) == nil, "each type stands once, and one status at most")
            if case .record = frame {
                precondition(index == frames.count - 1, "a record is the last frame")
            }
            writer.append(frame)
        }
        return writer.bytes
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

import NIOCore
import NIOWebSocket

/// The messages in the frames of a page.
struct MessageAssembler {
    enum Outcome: Equatable {
        /// The message is not complete.
        case more
        /// A text, in UTF-8 and without a line feed.
        case message([UInt8])
        case fault(CloseCode, String)
    }

    /// The bytes of an incomplete message; nil between messages.
    private var held: [UInt8]?

    /// Returns the fault in the header of a frame of any kind, or nil.
    static func fault(of frame: WebSocketFrame) -> String? {
        if frame.rsv1 || frame.rsv2 || frame.rsv3 { return "a reserved bit is set" }
        return frame.maskKey == nil ? "a frame is not masked" : nil
    }

    /// Takes a frame of data.
    mutating func receive(_ frame: WebSocketFrame) -> Outcome {
        var bytes: [UInt8]
        switch (frame.opcode, held) {
        case (.binary, _): return .fault(.message, "messages are texts")
        case (.text, nil): bytes = []
        case (.continuation, let start?): bytes = start
        default: return .fault(.protocolError, "a frame is out of order")
        }
        held = nil
        let data = frame.unmaskedData
        guard bytes.count + data.readableBytes <= WebLimits.message else {
            return .fault(.message, "the message is too long")
        }
        bytes += data.readableBytesView
        guard frame.fin else {
            held = bytes
            return .more
        }
        guard !bytes.contains(UInt8(ascii: "\n")) else { return .fault(.message, "the message has a line feed") }
        guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
            return .fault(.notUTF8, "the message is not UTF-8")
        }
        return .message(bytes)
    }
}

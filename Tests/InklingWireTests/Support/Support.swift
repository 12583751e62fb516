import Foundation
import InklingTestSupport
import InklingWire

struct NotHex: Error {}

struct Missing: Error {}

/// What a vector must have: `#require` can't stand within another one.
func need<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

/// The bytes of lower-case hex digits.
func unhex(_ hex: String) throws -> [UInt8] {
    let digits = Array(hex)
    guard digits.count % 2 == 0 else { throw NotHex() }
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { throw NotHex() }
        return byte
    }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Every array that differs from `bytes` in one bit, with the place of that bit.
func bitFlips(of bytes: [UInt8]) -> [(byte: Int, mask: UInt8, bytes: [UInt8])] {
    bytes.indices.flatMap { index in
        (0..<8).map { bit in
            var flipped = bytes
            flipped[index] ^= 1 << bit
            return (index, 1 << bit, flipped)
        }
    }
}

/// The content of a file, by its path from this target's folder.
func contents(of path: String) throws -> Data {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try Data(contentsOf: folder.appendingPathComponent(path))
}

/// Two sides that share a chat's key, and the handshake between them.
struct Pair {
    var initiator: KeyPair
    var responder: KeyPair
    var initiatorEphemeral: KeyPair
    var responderEphemeral: KeyPair
    var preSharedKey: [UInt8]
    let senderIndex: UInt32 = 0x0102_0304
    let tag = ChatTag(0x1122_3344_5566_7788)
    let responderIndex: UInt32 = 0xA0B0_C0D0

    init(seed: UInt64 = 1) {
        var generator = SeededGenerator(seed: seed)
        initiator = KeyPair(using: &generator)
        responder = KeyPair(using: &generator)
        initiatorEphemeral = KeyPair(using: &generator)
        responderEphemeral = KeyPair(using: &generator)
        preSharedKey = generator.bytes(32)
    }

    var prologue: [UInt8] { Initiation.prologue(senderIndex: senderIndex, tag: tag) }

    func initiate() throws -> (handshake: NoiseInitiator, message: [UInt8]) {
        try NoiseInitiator.initiate(
            identity: initiator, ephemeral: initiatorEphemeral, remote: responder.publicKey,
            preSharedKey: preSharedKey, prologue: prologue)
    }

    func reply(to message: [UInt8]) throws -> (message: [UInt8], keys: TransportKeys) {
        try NoiseResponder.read(identity: responder, prologue: prologue, message: message)
            .reply(
                ephemeral: responderEphemeral, preSharedKey: preSharedKey, payload: responderIndex.bigEndianBytes)
    }

    /// The keys of both sides after the whole handshake.
    func shake() throws -> (initiator: TransportKeys, responder: TransportKeys) {
        let (handshake, first) = try initiate()
        let (second, responderKeys) = try reply(to: first)
        return (try handshake.finish(second).keys, responderKeys)
    }
}

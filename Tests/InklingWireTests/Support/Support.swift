import Foundation
import InklingWire
import SeededRandom

struct NotHex: Error {}

struct Missing: Error {}

/// Unwraps a value that a vector must have, because `#require` can't stand within another one.
func need<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

/// The bytes of lower-case hex digits.
func unhex(_ hex: String?) throws -> [UInt8] {
    let digits = Array(try need(hex))
    guard digits.count % 2 == 0 else { throw NotHex() }
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { throw NotHex() }
        return byte
    }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The number of 16 hex digits, as vectors have tokens, nonces, checks and runs.
func number(_ hex: String?) throws -> UInt64 {
    try need(UInt64(bigEndianBytes: unhex(hex)))
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

typealias SeededGenerator = SeededRandom.SeededGenerator

/// Two nodes in one chat, and the handshake between them.
struct Pair {
    let initiator: KeyPair
    let responder: KeyPair
    let initiatorEphemeral: KeyPair
    let responderEphemeral: KeyPair
    let chat: ChatKeys
    let senderIndex: UInt32 = 0x0102_0304
    let responderIndex: UInt32 = 0xA0B0_C0D0
    let initiatorState = RunAndEpoch(run: 0x1122_3344_5566_7788, epoch: 5)
    let responderState = RunAndEpoch(run: 0, epoch: .max)

    init(seed: UInt64 = 1) {
        var generator = SeededGenerator(seed: seed)
        initiator = KeyPair(using: &generator)
        responder = KeyPair(using: &generator)
        initiatorEphemeral = KeyPair(using: &generator)
        responderEphemeral = KeyPair(using: &generator)
        chat = ChatKeys(secret: ChatSecret(using: &generator))
    }

    func initiate(to remote: PublicKey? = nil) throws -> PendingHandshake {
        try PendingHandshake(
            chat: chat, identity: initiator, ephemeral: initiatorEphemeral, remote: remote ?? responder.publicKey,
            senderIndex: senderIndex, own: initiatorState)
    }

    func respond(to initiation: Initiation) throws -> (response: Response, keys: TransportKeys) {
        try ReceivedHandshake(initiation, chat: chat, identity: responder)
            .respond(ephemeral: responderEphemeral, index: responderIndex, own: responderState)
    }

    /// The keys of both sides after the whole handshake.
    func shake() throws -> (initiator: TransportKeys, responder: TransportKeys) {
        let pending = try initiate()
        let (response, keys) = try respond(to: pending.initiation)
        return (try pending.complete(response).keys, keys)
    }
}

import InklingWire
import Testing

/// An encoding of a point whose order divides 8, with which each X25519 result is zero.
struct LowOrderPoint: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: [UInt8]

    /// The seven encodings below 2²⁵⁵, and the same with the top bit, which X25519 ignores.
    static var all: [LowOrderPoint] {
        get throws {
            let full = String(repeating: "ff", count: 30)
            let zeros = String(repeating: "00", count: 30)
            let points = [
                ("0", zeros + "0000"),
                ("1", "01" + zeros + "00"),
                ("a point of order 8", "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
                ("another point of order 8", "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
                ("p - 1", "ec" + full + "7f"),
                ("p", "ed" + full + "7f"),
                ("p + 1", "ee" + full + "7f"),
            ]
            return try points.flatMap { name, hex in
                let plain = try unhex(hex)
                var high = plain
                high[31] |= 0x80
                return [
                    LowOrderPoint(testDescription: name, bytes: plain),
                    LowOrderPoint(testDescription: name + " with the top bit set", bytes: high),
                ]
            }
        }
    }
}

@Suite("The handshake")
struct HandshakeTests {
    private let pair = Pair()

    /// Noise message 1 of the pair's initiation replaced, with its check.
    private func read(_ noise: [UInt8]) throws -> ReceivedHandshake {
        let initiation = pair.chat.initiation(senderIndex: pair.senderIndex, noise: noise)
        return try ReceivedHandshake(initiation, chat: pair.chat, identity: pair.responder)
    }

    @Test("W-18: both sides learn index, run and epoch of the other, and have the same keys")
    func roundTrip() throws {
        let pending = try pair.initiate()
        #expect(pending.initiation.senderIndex == pair.senderIndex)
        #expect(pair.chat.fits(pending.initiation))
        let received = try ReceivedHandshake(pending.initiation, chat: pair.chat, identity: pair.responder)
        #expect(received.remote == pair.initiator.publicKey)
        #expect(received.peer == pair.initiatorState)
        let (response, keys) = try pair.respond(to: pending.initiation)
        #expect(response.receiverIndex == pair.senderIndex)
        let made = try pending.complete(response)
        #expect(made.index == pair.responderIndex)
        #expect(made.peer == pair.responderState)
        #expect(made.keys.handshakeHash == keys.handshakeHash)
    }

    @Test("W-38: message 1 with any one bit flipped is refused")
    func flippedMessage1() throws {
        for flip in bitFlips(of: try pair.initiate().initiation.noise) {
            #expect(throws: NoiseError.self, "bit \(flip.mask) of byte \(flip.byte)") { try read(flip.bytes) }
        }
    }

    @Test("L-7: message 2 with any one bit flipped is refused, and the genuine one still completes the handshake")
    func flippedMessage2() throws {
        let pending = try pair.initiate()
        let (response, keys) = try pair.respond(to: pending.initiation)
        for flip in bitFlips(of: response.noise) {
            #expect(throws: NoiseError.self, "bit \(flip.mask) of byte \(flip.byte)") {
                try pending.complete(Response(receiverIndex: response.receiverIndex, noise: flip.bytes))
            }
        }
        #expect(try pending.complete(response).keys.handshakeHash == keys.handshakeHash)
    }

    @Test("W-17: the prologue binds the index and the chat")
    func prologue() throws {
        let initiation = try pair.initiate().initiation
        let other = Initiation(
            senderIndex: initiation.senderIndex ^ 1, check: initiation.check, noise: initiation.noise)
        #expect(throws: NoiseError.authentication) {
            try ReceivedHandshake(other, chat: pair.chat, identity: pair.responder)
        }
        #expect(throws: NoiseError.authentication) {
            try ReceivedHandshake(initiation, chat: Pair(seed: 2).chat, identity: pair.responder)
        }
    }

    @Test("W-38: message 1 for another node is refused")
    func wrongResponder() throws {
        let initiation = try pair.initiate().initiation
        #expect(throws: NoiseError.authentication) {
            try ReceivedHandshake(initiation, chat: pair.chat, identity: Pair(seed: 2).responder)
        }
    }

    @Test("D-7: a node reads no initiation of its own static key")
    func ownKey() throws {
        let initiation = try pair.initiate(to: pair.initiator.publicKey).initiation
        #expect(throws: NoiseError.ownKey) {
            try ReceivedHandshake(initiation, chat: pair.chat, identity: pair.initiator)
        }
    }

    @Test("W-38: each session and each direction has a key of its own")
    func distinctKeys() throws {
        let pending = try pair.initiate()
        let received = try ReceivedHandshake(pending.initiation, chat: pair.chat, identity: pair.responder)
        let sessions = try [1, 2].map { (seed: UInt64) in
            var generator = SeededGenerator(seed: seed)
            return try received.respond(
                ephemeral: KeyPair(using: &generator), index: 1, own: pair.responderState)
        }
        let keys = sessions.flatMap { [$0.keys.send, $0.keys.receive] }
        #expect(Set(keys.map { $0.seal([1, 2, 3], counter: 0, associatedData: []) }).count == 4)
        #expect(sessions[0].keys.handshakeHash != sessions[1].keys.handshakeHash)
    }

    @Test("W-4: a low-order point as the ephemeral key of message 1 is refused", arguments: try LowOrderPoint.all)
    func lowOrderMessage1(_ point: LowOrderPoint) throws {
        let noise = try pair.initiate().initiation.noise
        #expect(throws: NoiseError.invalidKey) { try read(point.bytes + noise.dropFirst(32)) }
    }

    @Test("W-4: a low-order point as the ephemeral key of message 2 is refused", arguments: try LowOrderPoint.all)
    func lowOrderMessage2(_ point: LowOrderPoint) throws {
        let pending = try pair.initiate()
        let noise = try pair.respond(to: pending.initiation).response.noise
        #expect(throws: NoiseError.invalidKey) {
            try pending.complete(Response(receiverIndex: 0, noise: point.bytes + noise.dropFirst(32)))
        }
    }

    @Test(
        "W-3, W-4: a low-order point as a published key is no key, or no handshake begins with it",
        arguments: try LowOrderPoint.all)
    func lowOrderKey(_ point: LowOrderPoint) throws {
        guard let key = PublicKey(point.bytes) else { return }
        #expect(throws: NoiseError.invalidKey) { try pair.initiate(to: key) }
    }
}

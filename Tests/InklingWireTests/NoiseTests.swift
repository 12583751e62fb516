import Foundation
import InklingTestSupport
import InklingWire
import Testing

/// One entry of `Fixtures/noise.json`, in the fields of the Noise wiki's vector format.
struct NoiseVector: Decodable, CustomTestStringConvertible {
    struct Message: Decodable {
        let payload: String
        let ciphertext: String
    }

    let protocolName: String
    let initPrologue: String
    let initStatic: String
    let initEphemeral: String
    let initRemoteStatic: String
    let initPsks: [String]?
    let respStatic: String
    let respEphemeral: String
    let handshakeHash: String?
    let messages: [Message]
    let sources: [String]

    var testDescription: String { "\(protocolName) of \(sources.first ?? "nowhere")" }

    static var all: [NoiseVector] {
        get throws {
            struct File: Decodable {
                let vectors: [NoiseVector]
            }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(File.self, from: contents(of: "Fixtures/noise.json")).vectors
        }
    }
}

@Suite("The Noise handshake")
struct NoiseTests {
    @Test("published vectors come out to the byte, in both directions", arguments: try NoiseVector.all)
    func vectors(_ vector: NoiseVector) throws {
        let identity = try #require(KeyPair(privateKey: unhex(vector.initStatic)))
        let other = try #require(KeyPair(privateKey: unhex(vector.respStatic)))
        let psk = try vector.initPsks?.first.map(unhex)
        #expect(hex(other.publicKey.bytes) == vector.initRemoteStatic)

        let (handshake, first) = try NoiseInitiator.initiate(
            identity: identity, ephemeral: try #require(KeyPair(privateKey: unhex(vector.initEphemeral))),
            remote: other.publicKey, preSharedKey: psk, prologue: unhex(vector.initPrologue),
            payload: unhex(vector.messages[0].payload))
        #expect(hex(first) == vector.messages[0].ciphertext)

        let received = try NoiseResponder.read(
            identity: other, prologue: unhex(vector.initPrologue), message: first, withPreSharedKey: psk != nil)
        #expect(received.remote == identity.publicKey)
        #expect(hex(received.payload) == vector.messages[0].payload)

        let (second, otherKeys) = try received.reply(
            ephemeral: try #require(KeyPair(privateKey: unhex(vector.respEphemeral))), preSharedKey: psk,
            payload: unhex(vector.messages[1].payload))
        #expect(hex(second) == vector.messages[1].ciphertext)
        let (payload, keys) = try handshake.finish(second)
        #expect(hex(payload) == vector.messages[1].payload)
        #expect(keys.handshakeHash == otherKeys.handshakeHash)
        if let hash = vector.handshakeHash {
            #expect(hex(keys.handshakeHash) == hash)
        }

        for (index, message) in vector.messages.dropFirst(2).enumerated() {
            let (sender, receiver) = index % 2 == 0 ? (keys, otherKeys) : (otherKeys, keys)
            let counter = UInt64(index / 2)
            let sealed = sender.send.seal(try unhex(message.payload), counter: counter, associatedData: [])
            #expect(hex(sealed) == message.ciphertext)
            let opened = try receiver.receive.open(sealed, counter: counter, associatedData: [])
            #expect(hex(opened) == message.payload)
        }
    }

    @Test("W-18: message 1 has 96 bytes and message 2 has 52, as the datagrams need")
    func sizes() throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        #expect(first.count == Initiation.noiseSize)
        #expect(try pair.reply(to: first).message.count == Response.noiseSize)
    }

    @Test("message 1 with any one bit flipped is refused")
    func flippedMessage1() throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        for flip in bitFlips(of: first) {
            #expect(throws: NoiseError.self, "bit \(flip.mask) of byte \(flip.byte)") {
                try NoiseResponder.read(identity: pair.responder, prologue: pair.prologue, message: flip.bytes)
            }
        }
    }

    @Test("W-17: message 1 under a header with any one bit flipped is refused: the prologue binds all 13 bytes")
    func flippedHeader() throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        for flip in bitFlips(of: pair.prologue) {
            #expect(throws: NoiseError.authentication, "bit \(flip.mask) of byte \(flip.byte)") {
                try NoiseResponder.read(identity: pair.responder, prologue: flip.bytes, message: first)
            }
        }
    }

    @Test("L-7: message 2 with any one bit flipped is refused, and the genuine one still completes the handshake")
    func flippedMessage2() throws {
        let pair = Pair()
        let (handshake, first) = try pair.initiate()
        let (second, keys) = try pair.reply(to: first)
        for flip in bitFlips(of: second) {
            #expect(throws: NoiseError.self, "bit \(flip.mask) of byte \(flip.byte)") {
                try handshake.finish(flip.bytes)
            }
        }
        #expect(try handshake.finish(second).keys.handshakeHash == keys.handshakeHash)
    }

    @Test("every truncation of either message is refused")
    func truncations() throws {
        let pair = Pair()
        let (handshake, first) = try pair.initiate()
        let (second, _) = try pair.reply(to: first)
        for count in first.indices {
            #expect(throws: NoiseError.length) {
                try NoiseResponder.read(
                    identity: pair.responder, prologue: pair.prologue, message: Array(first.prefix(count)))
            }
        }
        for count in second.indices {
            #expect(throws: count < 48 ? NoiseError.length : .authentication) {
                try handshake.finish(Array(second.prefix(count)))
            }
        }
    }

    @Test("W-8, W-9: who lacks the chat's key can read message 1 and complete nothing")
    func wrongPreSharedKey() throws {
        let pair = Pair()
        let (handshake, first) = try pair.initiate()
        let received = try NoiseResponder.read(identity: pair.responder, prologue: pair.prologue, message: first)
        #expect(received.remote == pair.initiator.publicKey)
        for flip in bitFlips(of: pair.preSharedKey).prefix(16) {
            let (second, _) = try received.reply(
                ephemeral: pair.responderEphemeral, preSharedKey: flip.bytes, payload: [0, 0, 0, 0])
            #expect(throws: NoiseError.authentication) { try handshake.finish(second) }
        }
    }

    @Test("message 1 for another node is refused")
    func wrongResponder() throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        #expect(throws: NoiseError.authentication) {
            try NoiseResponder.read(identity: pair.initiator, prologue: pair.prologue, message: first)
        }
    }

    @Test("a message of IK is none of IKpsk2")
    func otherPattern() throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        #expect(throws: NoiseError.authentication) {
            try NoiseResponder.read(
                identity: pair.responder, prologue: pair.prologue, message: first, withPreSharedKey: false)
        }
    }

    @Test("each session has keys of its own, and each direction too")
    func distinctKeys() throws {
        let first = try Pair(seed: 1).shake()
        var again = Pair(seed: 1)
        var generator = SeededGenerator(seed: 2)
        again.responderEphemeral = KeyPair(using: &generator)
        let second = try again.shake()
        let keys = [first.initiator.send, first.responder.send, second.initiator.send, second.responder.send]
        let sealed = Set(keys.map { $0.seal([1, 2, 3], counter: 0, associatedData: []) })
        #expect(sealed.count == keys.count)
        #expect(first.initiator.handshakeHash != second.initiator.handshakeHash)
    }
}

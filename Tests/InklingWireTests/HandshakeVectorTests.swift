import InklingWire
import Testing

@Suite("Vectors of handshakes")
struct HandshakeVectorTests {
    private func pair(_ privateKey: String, _ publicKey: String) throws -> KeyPair {
        let pair = try need(KeyPair(privateKey: unhex(privateKey)))
        #expect(hex(pair.publicKey.bytes) == publicKey)
        return pair
    }

    private func initiate(
        _ vector: HandshakeVectors.Valid
    ) throws -> (handshake: NoiseInitiator, message: [UInt8]) {
        try NoiseInitiator.initiate(
            identity: pair(vector.initiator.staticPrivate, vector.initiator.staticPublic),
            ephemeral: pair(vector.initiator.ephemeralPrivate, vector.initiator.ephemeralPublic),
            remote: need(PublicKey(unhex(vector.responder.staticPublic))), preSharedKey: unhex(vector.psk),
            prologue: unhex(vector.prologue))
    }

    private func read(
        _ vector: HandshakeVectors.Valid, _ initiation: Initiation
    ) throws -> NoiseResponder {
        try NoiseResponder.read(
            identity: pair(vector.responder.staticPrivate, vector.responder.staticPublic),
            prologue: initiation.prologue, message: initiation.noise)
    }

    @Test("W-17, W-18: both datagrams and the keys come out to the byte", arguments: try HandshakeVectors.read().valid)
    func handshake(_ vector: HandshakeVectors.Valid) throws {
        let chat = try need(vector.chat.keys)
        #expect(chat.tag.hex == vector.tag)
        #expect(hex(chat.preSharedKey) == vector.psk)

        let (handshake, first) = try initiate(vector)
        #expect(hex(first) == vector.message1)
        var initiation = Initiation(senderIndex: vector.initiator.index, tag: chat.tag, noise: first)
        #expect(hex(initiation.header) == vector.header)
        #expect(hex(initiation.prologue) == vector.prologue)
        #expect(hex(initiation.encode()) == vector.initiation)
        initiation.cookie = try unhex(vector.cookie)
        #expect(hex(initiation.encode()) == vector.initiationWithCookie)

        let received = try read(vector, initiation)
        #expect(hex(received.remote.bytes) == vector.initiator.staticPublic)
        #expect(received.payload.isEmpty)
        let (second, responderKeys) = try received.reply(
            ephemeral: pair(vector.responder.ephemeralPrivate, vector.responder.ephemeralPublic),
            preSharedKey: chat.preSharedKey, payload: vector.responder.index.bigEndianBytes)
        #expect(hex(second) == vector.message2)
        let response = Response(receiverIndex: vector.initiator.index, noise: second)
        #expect(hex(response.encode()) == vector.response)

        let (payload, initiatorKeys) = try handshake.finish(second)
        #expect(hex(payload) == vector.message2Payload)
        #expect(UInt32(bigEndianBytes: payload) == vector.responder.index)
        #expect(hex(initiatorKeys.handshakeHash) == vector.handshakeHash)
        #expect(hex(responderKeys.handshakeHash) == vector.handshakeHash)
        try compare(initiatorKeys.send, vector.initiatorToResponderKey)
        try compare(responderKeys.send, vector.responderToInitiatorKey)
        try conversation(vector, initiatorKeys, responderKeys)
    }

    private func compare(_ key: CipherKey, _ hex: String) throws {
        let sample = CipherKey(bytes: try unhex(hex)).seal([1], counter: 5, associatedData: [2])
        #expect(key.seal([1], counter: 5, associatedData: [2]) == sample)
    }

    /// W-19, W-20, W-21: what both sides say on the session.
    private func conversation(
        _ vector: HandshakeVectors.Valid, _ initiator: TransportKeys, _ responder: TransportKeys
    ) throws {
        for step in vector.sealed {
            let isInitiators = step.from == "initiator"
            let index = isInitiators ? vector.responder.index : vector.initiator.index
            let header = SealedDatagram.header(receiverIndex: index, counter: step.counter)
            let ciphertext = (isInitiators ? initiator : responder).send.seal(
                try unhex(step.plaintext), counter: UInt64(step.counter), associatedData: header)
            let sealed = SealedDatagram(receiverIndex: index, counter: step.counter, ciphertext: ciphertext)
            #expect(hex(sealed.encode()) == step.bytes, "\(step.name)")
            let opened = try (isInitiators ? responder : initiator).receive.open(
                ciphertext, counter: UInt64(step.counter), associatedData: header)
            #expect(hex(opened) == step.plaintext, "\(step.name)")
            #expect(throws: Never.self, "\(step.name)") { try Frames.parse(opened) }
        }
    }

    @Test("W-3, W-4, W-17: datagrams that complete no handshake", arguments: try HandshakeVectors.read().invalid)
    func refused(_ vector: HandshakeVectors.Invalid) throws {
        let genuine = try HandshakeVectors.read().valid[vector.of]
        let received = try unhex(need(vector.initiation ?? vector.response))
        guard vector.stage != "parse" else {
            let error = try need(DatagramError(rawValue: vector.error))
            #expect(throws: error) { try Datagram.parse(received) }
            return
        }
        let error = try need(NoiseError(rawValue: vector.error))
        switch try Datagram.parse(received) {
        case .initiation(let initiation):
            #expect(throws: error) { try read(genuine, initiation) }
        case .response(let response):
            let (handshake, _) = try initiate(genuine)
            #expect(throws: error) { try handshake.finish(response.noise) }
            let message = try unhex(genuine.message2)
            #expect(throws: Never.self, "L-7: the pending handshake is as it was") { try handshake.finish(message) }
        case .sealed, .retry, .ask, .tell:
            Issue.record("a case of a handshake holds another datagram")
        }
    }
}

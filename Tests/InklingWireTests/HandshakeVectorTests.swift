import InklingWire
import Testing

@Suite("Vectors of handshakes")
struct HandshakeVectorTests {
    private func pair(_ privateKey: String, _ publicKey: String) throws -> KeyPair {
        let pair = try need(KeyPair(privateKey: unhex(privateKey)))
        #expect(hex(pair.publicKey.bytes) == publicKey)
        return pair
    }

    private func state(_ side: HandshakeVectors.Side) throws -> RunAndEpoch {
        RunAndEpoch(run: try number(side.run), epoch: side.epoch)
    }

    private func initiate(_ vector: HandshakeVectors.Valid) throws -> PendingHandshake {
        let side = vector.initiator
        let ephemeral = try pair(side.ephemeralPrivate, side.ephemeralPublic)
        let remote = try need(PublicKey(unhex(vector.responder.staticPublic)))
        return try PendingHandshake(
            chat: vector.chat.keys, identity: pair(side.staticPrivate, side.staticPublic), ephemeral: ephemeral,
            remote: remote, senderIndex: side.index, own: state(side))
    }

    private func read(_ vector: HandshakeVectors.Valid, _ initiation: Initiation) throws -> ReceivedHandshake {
        let side = vector.responder
        return try ReceivedHandshake(
            initiation, chat: vector.chat.keys, identity: pair(side.staticPrivate, side.staticPublic))
    }

    private func initiation(_ bytes: String) throws -> Initiation {
        guard case .initiation(let initiation) = try Datagram.parse(unhex(bytes)) else { throw Missing() }
        return initiation
    }

    private func response(_ bytes: String) throws -> Response {
        guard case .response(let response) = try Datagram.parse(unhex(bytes)) else { throw Missing() }
        return response
    }

    @Test(
        "W-17, W-18, W-36, W-38: datagrams and keys come out to the byte",
        arguments: try HandshakeVectors.read().valid)
    func handshake(_ vector: HandshakeVectors.Valid) throws {
        #expect(hex(try vector.chat.keys.prologue(senderIndex: vector.initiator.index)) == vector.prologue)
        let side = vector.responder
        let received = try read(vector, initiation(vector.initiation))
        #expect(try vector.chat.keys.fits(initiation(vector.initiation)))
        #expect(hex(received.remote.bytes) == vector.initiator.staticPublic)
        #expect(try received.peer == state(vector.initiator))
        let (answer, responderKeys) = try received.respond(
            ephemeral: pair(side.ephemeralPrivate, side.ephemeralPublic), index: side.index, own: state(side))
        #expect(hex(answer.noise) == vector.message2)
        #expect(hex(answer.encode()) == vector.response)
        #expect(hex(responderKeys.handshakeHash) == vector.handshakeHash)
        try compare(responderKeys.send, vector.responderToInitiatorKey)
        try compare(responderKeys.receive, vector.initiatorToResponderKey)

        // W-3: no key pair has an ephemeral key that is not canonical.
        guard !vector.clauses.contains("W-3") else { return }
        let pending = try initiate(vector)
        var initiation = pending.initiation
        #expect(hex(initiation.noise) == vector.message1)
        #expect(hex(initiation.check.bigEndianBytes) == vector.check)
        #expect(hex(initiation.encode()) == vector.initiation)
        initiation.cookie = try unhex(vector.cookie)
        #expect(hex(initiation.encode()) == vector.initiationWithCookie)
        let (index, peer, initiatorKeys) = try pending.complete(answer)
        #expect(index == side.index)
        #expect(try peer == state(side))
        #expect(hex(initiatorKeys.handshakeHash) == vector.handshakeHash)
        try compare(initiatorKeys.send, vector.initiatorToResponderKey)
        try compare(initiatorKeys.receive, vector.responderToInitiatorKey)
        try conversation(vector, initiatorKeys, responderKeys)
    }

    private func compare(_ key: CipherKey, _ hex: String) throws {
        let sample = CipherKey(bytes: try unhex(hex)).seal([1], counter: 5, associatedData: [2])
        #expect(key.seal([1], counter: 5, associatedData: [2]) == sample)
    }

    /// The sealed datagrams of both sides (W-19, W-20, W-21).
    private func conversation(
        _ vector: HandshakeVectors.Valid, _ initiator: TransportKeys, _ responder: TransportKeys
    ) throws {
        for step in vector.sealed {
            let isInitiators = step.from == "initiator"
            let index = isInitiators ? vector.responder.index : vector.initiator.index
            let (sender, receiver) = isInitiators ? (initiator, responder) : (responder, initiator)
            let frames = try Frames.parse(unhex(step.plaintext), counter: step.counter)
            let sealed =
                step.counter == Limits.lastWillCounter
                ? sender.sealLastWill(receiverIndex: index)
                : sender.seal(frames, receiverIndex: index, counter: step.counter)
            #expect(hex(sealed.encode()) == step.bytes, "\(step.name)")
            #expect(hex(try receiver.open(sealed)) == step.plaintext, "\(step.name)")
        }
    }

    @Test(
        "W-3, W-4, W-17, W-37, D-7: datagrams that complete no handshake",
        arguments: try HandshakeVectors.read().invalid)
    func refused(_ vector: HandshakeVectors.Invalid) throws {
        let genuine = try HandshakeVectors.read().valid[vector.of]
        let bytes = try need(vector.initiation ?? vector.response)
        switch vector.stage {
        case "parse":
            let error = try need(DatagramError(rawValue: vector.error))
            #expect(throws: error) { try Datagram.parse(unhex(bytes)) }
        case "check": #expect(try !genuine.chat.keys.fits(initiation(bytes)))
        case "index": #expect(try response(bytes).receiverIndex != genuine.initiator.index)
        case "initiation":
            let initiation = try initiation(bytes)
            let error = try need(NoiseError(rawValue: vector.error))
            #expect(try genuine.chat.keys.fits(initiation))
            #expect(throws: error) { try read(genuine, initiation) }
        default:
            let response = try response(bytes)
            let error = try need(NoiseError(rawValue: vector.error))
            let pending = try initiate(genuine)
            #expect(throws: error) { try pending.complete(response) }
            let good = try self.response(genuine.response)
            #expect(throws: Never.self, "L-7: the handshake stays pending") { try pending.complete(good) }
        }
    }
}

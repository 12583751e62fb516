import InklingWire
import Testing

@Suite("Vectors of handshakes")
struct HandshakeVectorTests {
    private func pair(_ privateKey: String, _ publicKey: String) throws -> KeyPair {
        let pair = try need(KeyPair(privateKey: unhex(privateKey)))
        #expect(hex(pair.publicKey.bytes) == publicKey)
        return pair
    }

    private func state(_ side: Vector.Side) throws -> RunAndEpoch {
        RunAndEpoch(run: try number(side.run), epoch: side.epoch)
    }

    private func initiate(_ vector: Vector) throws -> PendingHandshake {
        let side = try need(vector.initiator)
        let ephemeral = try pair(side.ephemeralPrivate, side.ephemeralPublic)
        let remote = try need(PublicKey(unhex(vector.responder?.staticPublic)))
        return try PendingHandshake(
            chat: vector.keys, identity: pair(side.staticPrivate, side.staticPublic), ephemeral: ephemeral,
            remote: remote, senderIndex: side.index, own: state(side))
    }

    private func read(_ vector: Vector, _ initiation: Initiation) throws -> ReceivedHandshake {
        let side = try need(vector.responder)
        return try ReceivedHandshake(
            initiation, chat: vector.keys, identity: pair(side.staticPrivate, side.staticPublic))
    }

    private func initiation(_ bytes: String?) throws -> Initiation {
        guard case .initiation(let initiation) = try Datagram.parse(unhex(bytes)) else { throw Missing() }
        return initiation
    }

    private func response(_ bytes: String?) throws -> Response {
        guard case .response(let response) = try Datagram.parse(unhex(bytes)) else { throw Missing() }
        return response
    }

    @Test(
        "W-17, W-18, W-36, W-38: datagrams and keys come out to the byte",
        arguments: try Vector.read("handshake", "valid"))
    func handshake(_ vector: Vector) throws {
        let (initiator, side) = try (need(vector.initiator), need(vector.responder))
        #expect(hex(try vector.keys.prologue(senderIndex: initiator.index)) == vector.prologue)
        let received = try read(vector, initiation(vector.initiation))
        #expect(try vector.keys.fits(initiation(vector.initiation)))
        #expect(hex(received.remote.bytes) == initiator.staticPublic)
        #expect(try received.peer == state(initiator))
        let (answer, responderKeys) = try received.respond(
            ephemeral: pair(side.ephemeralPrivate, side.ephemeralPublic), index: side.index, own: state(side))
        #expect(hex(answer.noise) == vector.message2)
        #expect(hex(answer.encode()) == vector.response)
        #expect(hex(responderKeys.handshakeHash) == vector.handshakeHash)
        try compare(responderKeys.send, vector.responderToInitiatorKey)
        try compare(responderKeys.receive, vector.initiatorToResponderKey)

        // W-3: no key pair has an ephemeral key that is not canonical.
        guard vector.clauses?.contains("W-3") == false else { return }
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

    private func compare(_ key: CipherKey, _ hex: String?) throws {
        let sample = CipherKey(bytes: try unhex(hex)).seal([1], counter: 5, associatedData: [2])
        #expect(key.seal([1], counter: 5, associatedData: [2]) == sample)
    }

    /// The sealed datagrams of both sides (W-19, W-20, W-21).
    private func conversation(
        _ vector: Vector, _ initiator: TransportKeys, _ responder: TransportKeys
    ) throws {
        for step in try need(vector.sealed) {
            let isInitiators = step.from == "initiator"
            let (index, counter) = try (
                need(isInitiators ? vector.responder : vector.initiator).index, need(step.counter)
            )
            let (sender, receiver) = isInitiators ? (initiator, responder) : (responder, initiator)
            let frames = try Frames.parse(unhex(step.plaintext), counter: counter)
            let sealed =
                counter == Limits.lastWillCounter
                ? sender.sealLastWill(receiverIndex: index)
                : sender.seal(frames, receiverIndex: index, counter: counter)
            #expect(hex(sealed.encode()) == step.bytes, "\(step)")
            #expect(hex(try receiver.open(sealed)) == step.plaintext, "\(step)")
        }
    }

    @Test(
        "W-3, W-4, W-17, W-37, D-7: datagrams that complete no handshake",
        arguments: try Vector.read("handshake", "invalid"))
    func refused(_ vector: Vector) throws {
        let genuine = try Vector.read("handshake", "valid")[need(vector.of)]
        let bytes = vector.initiation ?? vector.response
        switch vector.stage {
        case "parse":
            let error = try need(vector.error.flatMap(DatagramError.init))
            #expect(throws: error) { try Datagram.parse(unhex(bytes)) }
        case "check": #expect(try !genuine.keys.fits(initiation(bytes)))
        case "index": #expect(try response(bytes).receiverIndex != genuine.initiator?.index)
        case "initiation":
            let initiation = try initiation(bytes)
            let error = try need(vector.error.flatMap(NoiseError.init))
            #expect(try genuine.keys.fits(initiation))
            #expect(throws: error) { try read(genuine, initiation) }
        default:
            let response = try response(bytes)
            let error = try need(vector.error.flatMap(NoiseError.init))
            let pending = try initiate(genuine)
            #expect(throws: error) { try pending.complete(response) }
            let good = try self.response(genuine.response)
            #expect(throws: Never.self, "L-7: the handshake stays pending") { try pending.complete(good) }
        }
    }
}

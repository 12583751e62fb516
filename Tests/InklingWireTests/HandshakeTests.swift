import InklingWire
import Testing

@Suite("The handshake")
struct HandshakeTests {
    private let pair = Pair()

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

    @Test("W-19: the sender can't open its own datagram, so a reflected one is not from the peer")
    func reflection() throws {
        let keys = try pair.shake()
        let datagram = keys.initiator.seal([.bye(.quit)], receiverIndex: 1, counter: 0)
        #expect(throws: NoiseError.authentication) { try keys.initiator.open(datagram) }
    }
}

import InklingWire
import Testing

@testable import InklingCore

/// Altered and repeated datagrams, and datagrams of a newer protocol.
@Suite("Robustness")
struct RobustnessTests {
    @Test("Altered, cut, repeated and misdirected datagrams change no link that is up", arguments: 1...4)
    func fuzz(seed: Int) {
        var random = Seeded(UInt64(seed) &+ 500)
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(max(limit, 1))) }
        let lan = TestLAN.pair(seed: UInt64(seed))
        lan.say(0, "one")
        lan.run(.seconds(12))
        let epochs = lan.link(0, to: 1)?.epochs
        for round in 0..<400 {
            let recorded = lan.sent
            var bytes = recorded[below(recorded.count)].bytes
            switch below(4) {
            case 0: bytes[below(bytes.count)] ^= 1 << UInt8(below(8))
            case 1: bytes = Array(bytes.prefix(below(bytes.count)))
            case 2: bytes += [UInt8](repeating: 7, count: below(30))
            default: break
            }
            // The nodes have sent no bye or last will so far, so no repeated datagram can end the link.
            lan.inject(bytes, from: World.address(1 + below(6)), to: below(2))
            if round % 10 == 0 { lan.run(.ms(below(400))) }
        }
        lan.run(.seconds(5))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        #expect(lan.link(0, to: 1)?.epochs == epochs && lan.links(0, to: 1).count == 1)
        #expect(lan.link(0, to: 1)?.address == World.address(2))
        #expect(lan.messages(at: 1) == ["one"])
    }

    @Test("A node under test adds frames and records of reserved types, and nodes understand each other (X-3 to X-5)")
    func greasing() {
        let lan = TestLAN.pair { $0.isGreasing = true }
        for index in 0..<60 {
            lan.say(0, "\(index)")
            lan.run(.seconds(1))
        }
        #expect(lan.messages(at: 1) == (0..<60).map { "\($0)" })
        #expect(lan.sent(by: 0, .heartbeat).contains { $0.bytes.count > 28 })
    }

    @Test("A bye on an unconfirmed session ends the link of that run and pair, else that session alone (L-34)")
    func byeOnUnconfirmed() throws {
        for isSame in [true, false] {
            for reason in [ByeReason.quit, .lastWill] {
                var stage = LinkStage(isShown: true)
                let session = Session(
                    localIndex: 900, remoteIndex: 901, role: .responder, keys: LinkStage.keys.node,
                    address: World.address(9), now: stage.now)
                stage.endpoint.handshakes.add(
                    UnconfirmedSession(
                        person: World.person(1), run: 9, epochs: EpochPair(own: 0, peer: isSame ? 0 : 1),
                        initiation: [1],
                        response: [], createdAt: stage.now, session: session))
                let sealed =
                    reason == .lastWill
                    ? LinkStage.keys.peer.sealLastWill(receiverIndex: 900)
                    : LinkStage.keys.peer.seal([.bye(reason)], receiverIndex: 900, counter: 700)
                stage.deliver(sealed.encode())
                #expect((stage.link == nil) == isSame)
                #expect(stage.endpoint.handshakes.unconfirmedCount == 0)
            }
        }
    }

    @Test("A link that has used its last counter is forgotten, with another epoch (L-79)")
    func lastCounter() {
        var stage = LinkStage(isShown: true)
        stage.endpoint.links[stage.id].useCounterForTest(Limits.lastCounter - 1)
        stage.run(.seconds(1))
        #expect(stage.link != nil && stage.seen.last?.counter == Limits.lastCounter - 1)
        stage.with { $0.measureRoundTrip(in: World.chat, now: $1) }
        #expect(stage.link == nil && stage.seen.last?.counter == Limits.lastCounter)
        #expect(stage.endpoint.epoch(of: World.person(1)) == 1)
    }

    @Test("At most 64 crowded addresses are asked at a time, and 20 a second begin (D-26)")
    func crowdedAddresses() {
        let lan = TestLAN()
        lan.start(0)
        var generator = Seeded(60)
        let keys = (0..<5).map { _ in KeyPair(using: &generator).publicKey }
        for address in 0..<100 {
            for (index, key) in keys.enumerated() {
                lan.with(0) { endpoint, now in
                    endpoint.found(
                        "\(address) \(index)", chat: World.chat, key: key,
                        addresses: [World.address(20 + address)], now: now)
                }
            }
            lan.run(.ms(10))
        }
        lan.run(.seconds(12))
        let crowded = lan.nodes[0]?.endpoint.directory.instances.unordered.filter(\.isCrowded) ?? []
        #expect(crowded.count <= 64)
        let firsts = Dictionary(grouping: lan.sent(by: 0, .ask), by: \.to).compactMap { $0.value.first?.at }.sorted()
        for (index, at) in firsts.enumerated() where index + 20 < firsts.count {
            #expect(firsts[index + 20] - at >= .seconds(1))
        }
    }

    @Test("An address of an open chat that tells a key is opened to, though it is crowded (D-17)")
    func preferredThere() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1, identity: 1)
        lan.with(0) { $0.setStandings([World.key(1): .met], now: $1) }
        for key in 1..<8 {
            lan.with(0) {
                $0.found("\(key)", chat: World.chat, key: World.key(key), addresses: [World.address(2)], now: $1)
            }
        }
        lan.run(.seconds(1))
        #expect(lan.isUp(0, to: 1))
    }
}

extension Link {
    /// Sets the counter of the link's next datagram.
    mutating func useCounterForTest(_ counter: UInt32) { nextCounter = counter }
}

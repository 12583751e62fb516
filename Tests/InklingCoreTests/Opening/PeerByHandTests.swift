import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Peers by hand")
struct PeerByHandTests {
    /// A peer off-link, as a user may name it.
    static let far = Address(ipv4: 0xC0A8_0909, port: 7_000)

    private func asks(_ lan: VirtualLAN, by index: Int = 0) -> [(at: Int, ask: Ask, to: Address)] {
        lan.sent(index, kind: 5).compactMap { packet in
            guard case .ask(let ask)? = try? Datagram.parse(packet.bytes) else { return nil }
            return (packet.at.milliseconds, ask, packet.destination)
        }
    }

    private func tell(_ lan: VirtualLAN, _ key: PublicKey, from source: Address = far, nonce: UInt64 = 0) throws {
        lan.run(for: .zero)
        let token = try #require(asks(lan).last?.ask.token)
        lan.inject(Tell(token: token, nonce: nonce, key: key.bytes).encode(), into: 0, from: source)
    }

    @Test(
        "while the key is unknown, asks go out at 0, 0.3, 0.9, 2.1 and 4.5 s and then every 5 s, each with a new token (D-11)"
    )
    func rhythm() {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.run(for: .seconds(300))
        let asks = asks(lan)
        let steps = zip(asks.dropFirst(), asks).map { $0.at - $1.at }
        #expect(asks[0].at == 0)
        for (step, expected) in zip(steps, [300, 600, 1_200, 2_400]) {
            #expect((expected * 3 / 4 - 1...expected * 5 / 4 + 1).contains(step))
        }
        #expect(steps.dropFirst(4).allSatisfy { (3_749...6_251).contains($0) })
        let mean = steps.dropFirst(4).reduce(0, +) / (steps.count - 4)
        #expect((4_700...5_300).contains(mean))
        #expect(Set(asks.map(\.ask.token)).count == asks.count)
        #expect(asks.allSatisfy { $0.to == PeerByHandTests.far && $0.ask.tag == VirtualLAN.lobby.tag })
        #expect(lan.initiations(0).isEmpty)
    }

    @Test(
        "the initiation follows when the key is known, and each further attempt asks again (D-11, D-12, L-1)",
        arguments: [8, 2])
    func told(_ identity: Int) throws {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.run(for: .milliseconds(10))
        try tell(lan, VirtualLAN.identities[identity].publicKey)
        lan.run(for: .seconds(8))
        let initiations = lan.initiations(0, to: PeerByHandTests.far)
        #expect(initiations.first?.at == .at(identity == 8 ? 10 : 310))
        let starts = initiations.enumerated().filter {
            $0.offset == 0 || initiations[$0.offset - 1].bytes != $0.element.bytes
        }
        .map(\.element.at.milliseconds)
        #expect(starts.count >= 2)
        #expect(asks(lan).map(\.at).filter { $0 > 10 || identity == 8 } == (identity == 8 ? [0] : []) + starts)
    }

    @Test("a tell is taken with the latest token, from where it was asked, with a valid key (D-12)")
    func refusals() throws {
        let lan = lonely()
        let key = VirtualLAN.identities[8].publicKey
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.run(for: .milliseconds(500))
        #expect(asks(lan).count == 2)
        func give(_ token: UInt32, _ key: [UInt8], from source: Address = PeerByHandTests.far) {
            lan.inject(Tell(token: token, nonce: 0, key: key).encode(), into: 0, from: source)
            lan.run(for: .milliseconds(1))
        }
        let token = asks(lan)[1].ask.token
        give(asks(lan)[0].ask.token, key.bytes)
        give(token ^ 1, key.bytes)
        give(token, key.bytes, from: VirtualLAN.address(100))
        give(token, key.bytes, from: Address(ipv4: 0xC0A8_0909, port: 7_001))
        give(token, Array(repeating: 0, count: 32))
        give(token, Array(repeating: 0xFF, count: 32))
        #expect(lan.initiations(0).isEmpty)
        give(token, key.bytes)
        #expect(lan.initiations(0).count == 1)
    }

    @Test("a later tell replaces the key (D-12)")
    func replaced() throws {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        try tell(lan, VirtualLAN.identities[8].publicKey)
        lan.run(for: .milliseconds(100))
        let before = try lastInitiation(lan)
        try tell(lan, VirtualLAN.identities[9].publicKey)
        lan.run(for: .milliseconds(100))
        let peer = ScriptedPeer(lan, identity: 9, address: PeerByHandTests.far)
        #expect(throws: NoiseError.self) { try peer.answer(before) }
        let (answered, response) = try peer.answer(try lastInitiation(lan))
        let session = answered
        lan.inject(response, into: 0, from: peer.address)
        peer.greet(on: session)
        #expect(lan.online(0) == ["Hand"])
        lan.forget()
        peer.live(on: session, for: .seconds(20))
        #expect(lan.sent(0, kind: 1).isEmpty && lan.sent(0, kind: 5).isEmpty, "a live link needs neither")
    }

    @Test("in a secret chat the key comes masked (D-12, D-13, W-10)")
    func masked() throws {
        let keys = ChatKeys(secret: try #require(ChatSecret(Array(repeating: 5, count: 16))))
        let lan = VirtualLAN()
        lan.add(identity: 5, name: "A", chats: [keys])
        lan.add(identity: 8, name: "B", chats: [keys])
        let address = lan.hosts[1].address
        lan.perform(0) { $0.addPeer(address, now: $1) }
        lan.run(for: .milliseconds(50))
        #expect(lan.online(0, in: keys) == ["B"])
        var seen: Set<[UInt8]> = []
        for token in 0..<5 {
            lan.inject(Ask(tag: keys.tag, token: UInt32(token)).encode(), into: 1, from: VirtualLAN.address(77))
        }
        for packet in lan.sent(1, kind: 6) {
            guard case .tell(let tell) = try Datagram.parse(packet.bytes) else { continue }
            seen.insert(tell.key)
            #expect(keys.unmasked(tell.key, nonce: tell.nonce) == lan.hosts[1].endpoint.publicKey)
            #expect(tell.key != lan.hosts[1].endpoint.publicKey.bytes)
        }
        #expect(seen.count == lan.sent(1, kind: 6).count, "a new nonce each time")
    }

    @Test(
        "asks of an own chat from an unknown address are answered, 32 a second, where they came from; others get nothing (D-13)"
    )
    func answers() throws {
        let lan = lonely()
        for token in 0..<100 {
            lan.inject(
                Ask(tag: VirtualLAN.lobby.tag, token: UInt32(token)).encode(), into: 0, from: VirtualLAN.address(77))
        }
        let tells = lan.sent(0, kind: 6)
        #expect(tells.count == 32)
        #expect(tells.allSatisfy { $0.destination == VirtualLAN.address(77) })
        for (token, packet) in tells.enumerated() {
            let expected = Tell(token: UInt32(token), nonce: 0, key: lan.hosts[0].endpoint.publicKey.bytes)
            #expect(packet.bytes == expected.encode())
        }
        lan.inject(Ask(tag: ChatTag(9), token: 1).encode(), into: 0, from: VirtualLAN.address(77))
        lan.run(for: .seconds(1))
        lan.inject(Ask(tag: ChatTag(9), token: 1).encode(), into: 0, from: VirtualLAN.address(77))
        #expect(lan.sent(0, kind: 6).count == 32)
        for step in 0..<200 {
            let ask = Ask(tag: VirtualLAN.lobby.tag, token: UInt32(step))
            lan.inject(ask.encode(), into: 0, from: VirtualLAN.address(77))
            lan.run(for: .milliseconds(10))
        }
        #expect(lan.sent(0, kind: 6).count <= 32 + 32 + 64)
        #expect(mostInASecond(lan.sent(0, kind: 6).map(\.at.milliseconds)) <= 32)
    }

    @Test("a tell with the own key makes no link; the user is told, and the address asked each 60 s (D-7, D-14)")
    func oneself() throws {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        for _ in 0..<3 {
            try tell(lan, lan.hosts[0].endpoint.publicKey)
            lan.run(for: .seconds(60))
        }
        #expect(lan.initiations(0).isEmpty)
        #expect(asks(lan).map(\.at) == [0, 60_000, 120_000, 180_000])
        let notices = lan.hosts[0].log.filter { $0.output == .peerIsOneself(PeerByHandTests.far) }
        #expect(!notices.isEmpty)
        try tell(lan, VirtualLAN.identities[8].publicKey)
        lan.run(for: .milliseconds(1))
        #expect(lan.initiations(0).count == 1, "somebody else is there now")
    }

    @Test("an own address with the own port is no peer (D-8, D-14)")
    func ownAddress() {
        let lan = lonely()
        let own = lan.hosts[0].address
        lan.perform(0) { $0.addPeer(own, now: $1) }
        lan.run(for: .seconds(2))
        #expect(lan.hosts[0].sent.isEmpty)
        #expect(lan.hosts[0].log.map(\.output) == [.peerIsOneself(own)])
    }

    @Test("a peer by hand that is discovered and linked already is neither asked again nor opened to (D-11, L-3)")
    func linkedAlready() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "A")
        lan.add(identity: 1, name: "B")
        lan.discoverAll()
        lan.run(for: .seconds(1))
        lan.forget()
        let address = lan.hosts[1].address
        lan.perform(0) { $0.addPeer(address, now: $1) }
        lan.run(for: .seconds(30))
        #expect(asks(lan).count == 1)
        #expect(lan.initiations(0).isEmpty)
        lan.expectWorking(0, 1)
    }

    @Test(
        "two nodes that know each other by hand alone, off-link, find each other and come back after anything (D-11, L-24)"
    )
    func offLink() {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "A")
        lan.add(identity: 1, name: "B")
        lan.move(1, to: PeerByHandTests.far)
        let near = lan.hosts[0].address
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.perform(1) { $0.addPeer(near, now: $1) }
        lan.run(for: .milliseconds(700))
        lan.expectWorking(0, 1)
        let moved = Address(ipv4: 0xC0A8_0A0A, port: 7_000)
        lan.move(1, to: moved)
        lan.run(for: .seconds(2))
        lan.expectWorking(0, 1, "after it moved")
        #expect(lan.offline(0).isEmpty)
        lan.move(1, to: PeerByHandTests.far)
        lan.kill(1)
        lan.run(for: .seconds(5))
        #expect(lan.offline(0) == [.silence])
        let again = lan.restart(1, identity: 1, name: "B")
        lan.perform(again) { $0.addPeer(near, now: $1) }
        lan.run(for: .seconds(8))
        lan.expectWorking(0, again, "after its restart")
    }

    @Test("after a bye an address by hand rests 5 s, and is tried from then on (L-35)")
    func bye() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8, address: PeerByHandTests.far)
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        try tell(lan, peer.identity.publicKey)
        lan.run(for: .milliseconds(1))
        let (answered, response) = try peer.answer(try lastInitiation(lan))
        let session = answered
        lan.inject(response, into: 0, from: peer.address)
        peer.greet(on: session)
        lan.run(until: .at(1_000))
        lan.forget()
        peer.send([.bye(.quit)], on: session)
        lan.run(for: .seconds(30))
        #expect(lan.initiationTimes(0).first == 6_000)
        #expect(asks(lan).first?.at == 6_000)
        #expect(lan.initiations(0).count > 8)
    }

    @Test("a peer that is added while the node is suspended is asked on its return (D-11)")
    func whileSuspended() {
        let lan = lonely()
        lan.perform(0) { $0.suspend(now: $1) }
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.run(for: .seconds(10))
        #expect(lan.hosts[0].sent.isEmpty)
        lan.perform(0) { $0.resume(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(asks(lan).map(\.at) == [10_000])
    }

    @Test("a chat that is joined later asks the peers by hand too (D-11)")
    func joined() throws {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        let other = ChatKeys(openName: "other")
        lan.perform(0) { try? $0.join(other, now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(Set(asks(lan).map(\.ask.tag)) == [VirtualLAN.lobby.tag, other.tag])
    }
}

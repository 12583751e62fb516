import InklingWire
import Testing

@testable import InklingCore

/// Instances, peers by hand, asks and tells.
@Suite("Discovery")
struct DiscoveryTests {
    private func node(identity: Int = 0) -> TestLAN {
        let lan = TestLAN()
        lan.start(0, identity: identity)
        return lan
    }

    private func find(_ lan: TestLAN, _ name: String, key: Int = 5, at addresses: [Address]) {
        lan.with(0) { $0.found(name, chat: World.chat, key: World.key(key), addresses: addresses, now: $1) }
    }

    private func instances(_ lan: TestLAN, key: Int = 5) -> [Instance] {
        lan.nodes[0]?.endpoint.directory.instances.instances(of: World.person(key)) ?? []
    }

    @Test("An instance, a tell and an initiation with the node's own key are ignored (D-7)")
    func ownKey() {
        let lan = node()
        find(lan, "i", key: 0, at: [World.address(9)])
        lan.run(.seconds(1))
        #expect(lan.sent.isEmpty)
        lan.start(1, identity: 0)
        lan.with(1) { $0.found("j", chat: World.chat, key: World.key(2), addresses: [World.address(1)], now: $1) }
        lan.run(.seconds(1))
        #expect(lan.sent(by: 0).isEmpty)
    }

    @Test("Only unicast, on-link addresses that are not the node's own become candidates (D-8)")
    func candidates() {
        let lan = node()
        let multicast = Address(ipv4: 0xE000_0001, port: 4_000)
        find(lan, "i", at: [World.remote(3), World.address(1), multicast, World.address(9), World.address(9, port: 0)])
        #expect(instances(lan).first?.addresses == [World.address(9)])
        lan.with(0) {
            $0.setNetworks(
                [World.network(1), LocalNetwork(address: World.remote(0), prefixLength: 120)], port: 4_000, now: $1)
        }
        #expect(instances(lan).first?.addresses == [World.address(9), World.remote(3)].sorted())
    }

    @Test("An instance has at most eight candidates; a link's address and known ones are kept (D-9)")
    func eight() {
        let lan = node()
        find(lan, "i", at: [World.address(60), World.address(61)])
        find(lan, "i", at: (20..<40).map { World.address($0) } + [World.address(60), World.address(61)])
        let addresses = instances(lan).first?.addresses ?? []
        #expect(addresses.count == 8 && addresses.contains(World.address(60)) && addresses.contains(World.address(61)))
    }

    @Test("An instance listed with another key becomes another peer's (D-9)")
    func otherKey() {
        let lan = node()
        find(lan, "i", at: [World.address(9)])
        find(lan, "i", key: 6, at: [World.address(9)])
        #expect(instances(lan).isEmpty && instances(lan, key: 6).count == 1)
        #expect(lan.nodes[0]?.endpoint.openings.find(World.person(5)) == nil)
    }

    @Test("A fifth instance replaces the one with the most attempts, none untried, and it comes back (D-22)")
    func fifth() {
        let lan = node()
        for index in 0..<4 { find(lan, "\(index)", at: [World.address(20 + index)]) }
        // All instances were tried once. So the one known longest is evicted.
        lan.run(.ms(10))
        find(lan, "new", at: [World.address(30)])
        let names = instances(lan).map(\.origin)
        #expect(names.count == 4 && !names.contains(.discovered("0")) && names.contains(.discovered("new")))
        lan.with(0) { $0.lost("2", chat: World.chat, now: $1) }
        #expect(instances(lan).contains { $0.origin == .discovered("0") })
        let fresh = node()
        fresh.with(0) { $0.block(World.key(5).userID, now: $1) }
        for index in 0..<5 { find(fresh, "\(index)", at: [World.address(20 + index)]) }
        #expect(!instances(fresh).contains { $0.origin == .discovered("4") })
    }

    @Test("An instance that changes to a key with four instances replaces one of them (D-22)")
    func fifthByKey() {
        let lan = node()
        for index in 0..<4 { find(lan, "\(index)", at: [World.address(20 + index)]) }
        lan.run(.ms(10))
        find(lan, "i", key: 6, at: [World.address(30)])
        find(lan, "i", key: 5, at: [World.address(30)])
        let names = instances(lan).map(\.origin)
        #expect(names.count == 4 && !names.contains(.discovered("0")) && names.contains(.discovered("i")))
        #expect(instances(lan, key: 6).isEmpty)
    }

    @Test("A vanished service ends nothing, and draws one ping (L-29)")
    func lost() {
        let lan = TestLAN.pair()
        let before = lan.sent(by: 0, .ping).count
        lan.with(0) { $0.lost("1", chat: World.chat, now: $1) }
        #expect(lan.sent(by: 0, .ping).count == before + 1)
        lan.run(.seconds(20))
        #expect(lan.isUp(0, to: 1))
    }

    @Test("A tell with the own key makes no link, is reported once, and asks go on each 60 s (D-14)")
    func oneself() {
        let lan = node()
        lan.start(1, identity: 0)
        lan.with(0) { $0.addPeer(World.address(2), now: $1) }
        lan.run(.seconds(200))
        let notices = lan.outputs(0).filter { if case .peerIsOneself = $0 { true } else { false } }
        #expect(notices.count == 1 && lan.sent(by: 0, .initiation).isEmpty)
        #expect(lan.sent(by: 0, .ask).count == 4)
    }

    @Test("Other asks get nothing (D-13), and at most 64 a second, 32 of unknown or far ones, are answered (D-25)")
    func askLimits() {
        let lan = node()
        lan.inject(Datagram.ask(World.other.ask(token: 1)).encode(), from: World.address(9), to: 0)
        #expect(lan.sent(by: 0, .tell).isEmpty)
        lan.run(.seconds(2))
        for token in 0..<100 {
            lan.inject(Datagram.ask(World.lobby.ask(token: UInt64(token))).encode(), from: World.address(9), to: 0)
        }
        #expect(lan.sent(by: 0, .tell).count == 32)
        lan.with(0) { $0.addPeer(World.address(10), now: $1) }
        for token in 0..<20 {
            let ask = Datagram.ask(World.lobby.ask(token: UInt64(1_000 + token))).encode()
            lan.inject(ask, from: World.address(10), to: 0, hopLimit: 64)
        }
        #expect(lan.sent(by: 0, .tell).count == 32)
        for token in 0..<100 {
            lan.inject(
                Datagram.ask(World.lobby.ask(token: UInt64(2_000 + token))).encode(), from: World.address(10), to: 0)
        }
        #expect(lan.sent(by: 0, .tell).count == 64)
        lan.run(.seconds(2))
        for _ in 0..<600 {
            lan.inject(Datagram.ask(World.other.ask(token: 7)).encode(), from: World.address(9), to: 0)
        }
        lan.inject(Datagram.ask(World.lobby.ask(token: 9_999)).encode(), from: World.address(9), to: 0)
        #expect(lan.sent(by: 0, .tell).count == 64)
    }

    @Test("With over four keys at an address, it is asked, and strangers' instances there are not opened to (D-17)")
    func crowded() {
        let lan = node()
        lan.start(1, identity: 1)
        for key in 1..<8 { find(lan, "\(key)", key: key, at: [World.address(2)]) }
        let start = lan.now
        lan.run(.seconds(6))
        #expect(lan.sent(by: 0, .ask).contains { $0.to == World.address(2) })
        #expect(lan.isUp(0, to: 1))
        #expect(lan.sent(by: 0, .initiation, since: start).count < 30)
    }

    @Test("An address that a host by hand lost gets no more asks or answers, and keeps its link (D-24, D-16)")
    func removedByHand() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        let remote = Address(ipv4: 0xC633_6407, port: 9)
        for address in [World.address(2), World.address(9), remote] {
            lan.with(0) { $0.addPeer(address, now: $1) }
        }
        lan.run(.seconds(2))
        #expect(lan.isUp(0, to: 1))
        let links = [World.address(2), World.address(9)].map { address in
            lan.nodes[0]?.endpoint.hasLink(byHand: address)
        }
        #expect(links == [true, false])
        for address in [World.address(2), World.address(9), remote] {
            lan.with(0) { $0.removePeer(address, now: $1) }
        }
        let start = lan.now
        let ask = Datagram.ask(World.lobby.ask(token: 1)).encode()
        lan.with(0) { $0.receive(ask, from: World.remote(7), now: $1) }
        lan.run(.seconds(20))
        #expect(lan.isUp(0, to: 1) && lan.nodes[0]?.endpoint.hasLink(byHand: World.address(2)) == false)
        #expect(lan.sent(by: 0, .ask, since: start).isEmpty && lan.sent(by: 0, .tell, since: start).isEmpty)
        // The address can come back.
        lan.with(0) { $0.addPeer(World.address(9), now: $1) }
        lan.run(.seconds(1))
        #expect(!lan.sent(by: 0, .ask, since: start).isEmpty)
    }

    @Test("A remembered address by hand gets asks beside its attempts, and its new identity is found (D-24)")
    func rememberedByHand() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        lan.with(0) { $0.setStandings([World.key(1): .verified], now: $1) }
        lan.with(0) { $0.addPeer(World.address(2), now: $1) }
        lan.run(.seconds(12))
        #expect(lan.isUp(0, to: 1))
        lan.kill(1)
        lan.start(2, identity: 6, at: World.address(2))
        lan.run(.seconds(20))
        #expect(lan.isUp(0, to: 6))
    }

    @Test("Attempts at a remembered address count for the instance there (D-22)")
    func rememberedAttempts() {
        let lan = node()
        lan.with(0) { $0.setStandings([World.key(5): .verified], now: $1) }
        lan.with(0) { $0.recall(World.key(5), at: [World.address(9)], in: World.chat, now: $1) }
        find(lan, "i", at: [World.address(9)])
        lan.run(.seconds(8))
        #expect(instances(lan).first(where: \.isDiscovered)?.attempts == 3)
    }

    @Test("Off-link initiations and asks are dropped, but from hosts by hand, and where the user allows them (D-16)")
    func offLink() {
        for (allowed, byHand, tunnel) in [
            (false, false, false), (true, false, false), (false, true, false), (false, false, true),
        ] {
            let lan = TestLAN()
            lan.start(0, configure: { $0.acceptsRouted = allowed })
            if byHand { lan.with(0) { $0.addPeer(Address(ipv4: 0xC633_6407, port: 9), now: $1) } }
            let ask = Datagram.ask(World.lobby.ask(token: 1)).encode()
            lan.with(0) { $0.receive(ask, from: World.remote(7), overNamedTunnel: tunnel, now: $1) }
            #expect(lan.sent(by: 0, .tell).isEmpty == !(allowed || byHand || tunnel))
        }
    }

    @Test("Each attempt opens to the last two addresses of a preferred key, which are remembered (D-19, D-23)")
    func remembered() throws {
        let lan = TestLAN()
        lan.start(0)
        lan.with(0) { $0.setStandings([World.key(5): .verified], now: $1) }
        lan.with(0) {
            $0.recall(
                World.key(5), at: [World.address(9), World.address(10), World.address(11)], in: World.chat, now: $1)
        }
        lan.run(.seconds(31))
        #expect(
            lan.nodes[0]?.endpoint.lastAddresses(of: World.key(5), in: World.chat) == [
                World.address(9), World.address(10),
            ])
        let sent = lan.sent(by: 0, .initiation)
        var begins: [Instant] = []
        var seen: Set<[UInt8]> = []
        for datagram in sent where seen.insert(Array(datagram.bytes[1...4])).inserted { begins.append(datagram.at) }
        let gaps = zip(begins, begins.dropFirst()).map { $1 - $0 }
        #expect(try #require(gaps.first) == .seconds(3) && begins.count == 7)
        #expect(gaps.allSatisfy { $0 >= .seconds(3) && $0 < .seconds(6) })
        #expect(Set(sent.map(\.to)) == [World.address(9), World.address(10)])
        lan.with(0) { $0.setStandings([:], now: $1) }
        #expect(lan.nodes[0]?.endpoint.lastAddresses(of: World.key(5), in: World.chat) == [])
    }

    @Test("32 pairs are remembered; the lowest rank without a link goes first (D-19)")
    func rememberedLimit() {
        let lan = TestLAN()
        lan.start(0)
        var generator = Seeded(77)
        let keys = (0..<34).map { _ in KeyPair(using: &generator).publicKey }
        var standings: [PublicKey: Standing] = [:]
        for (index, key) in keys.enumerated() { standings[key] = index % 2 == 0 ? .verified : .met }
        lan.with(0) { $0.setStandings(standings, now: $1) }
        for key in keys {
            lan.with(0) { $0.recall(key, at: [World.address(9)], in: World.chat, now: $1) }
        }
        let kept = keys.filter { lan.nodes[0]?.endpoint.lastAddresses(of: $0, in: World.chat).isEmpty == false }
        #expect(
            kept.count == 32 && keys.enumerated().filter { $0.offset % 2 == 0 }.allSatisfy { kept.contains($0.element) }
        )
    }

    @Test("A relay at a forged place does not keep the node from a remembered address (D-23)")
    func relayed() {
        let lan = TestLAN()
        lan.delay = .ms(5)
        lan.start(0)
        lan.start(1)
        lan.with(0) { $0.setStandings([World.key(1): .met], now: $1) }
        lan.with(0) { $0.recall(World.key(1), at: [World.address(2)], in: World.chat, now: $1) }
        find(lan, "forged", key: 1, at: [World.address(9)])
        for _ in 0..<500 where !lan.isUp(0, to: 1) {
            let start = lan.now
            lan.run(.ms(1))
            // The relay passes handshakes on at once, and nothing else.
            for sent in lan.sent(by: 0, .initiation, since: start) where sent.to == World.address(9) {
                lan.inject(sent.bytes, from: World.address(8), to: 1)
            }
            for sent in lan.sent(by: 1, .response, since: start) where sent.to == World.address(8) {
                lan.inject(sent.bytes, from: World.address(9), to: 0)
            }
        }
        #expect(lan.isUp(0, to: 1) && lan.counters(0).handshakesCompleted > 1)
    }

    @Test("Forged instances of a friend's key keep friends apart for no longer than 5 s (D-23)")
    func forged() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        for id in 0..<2 {
            lan.with(id) { $0.setStandings([World.key(1 - id): .verified], now: $1) }
            lan.with(id) { $0.recall(World.key(1 - id), at: [World.address(2 - id)], in: World.chat, now: $1) }
        }
        for index in 0..<5 {
            find(lan, "forged \(index)", key: 1, at: (0..<8).map { World.address(40 + index * 8 + $0) })
        }
        lan.run(.seconds(5))
        #expect(lan.isUp(0, to: 1))
    }
}

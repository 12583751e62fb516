import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Candidate addresses")
struct CandidateTests {
    let there = VirtualLAN.address(100)

    @Test("an own key opens nothing (D-7, R11)")
    func ownKey() throws {
        let lan = lonely()
        lan.find("a", key: lan.hosts[0].endpoint.publicKey, at: [there])
        lan.run(for: .seconds(2))
        #expect(lan.hosts[0].sent.isEmpty)
        let twin = ScriptedPeer(lan, identity: 5)
        #expect(twin.exchange(try twin.initiation().bytes).isEmpty)
        #expect(lan.drops(0, .ownIdentity) == 1)
    }

    @Test("of discovered addresses unicast ones on-link are used, never oneself (D-8)")
    func addresses() {
        let lan = lonely()
        let own = lan.hosts[0].address
        let sameHost = VirtualLAN.address(0, port: 4_001)
        lan.find(
            "a", key: VirtualLAN.identities[8].publicKey,
            at: [
                own, sameHost, there,
                Address(ipv4: 0x0A01_0001, port: 4_000), Address(ipv4: 0xE000_00FB, port: 4_000),
                Address(ipv4: 0xFFFF_FFFF, port: 4_000), Address(ipv4: 0x0A00_0009, port: 0),
                Address(high: 0xFE80 << 48, low: 9, port: 4_000, scope: 2),
            ])
        lan.run(for: .milliseconds(100))
        #expect(Set(lan.initiations(0).map(\.destination)) == [sameHost, there])
    }

    @Test("link-local addresses keep their scope (D-8)")
    func scope() {
        let lan = lonely()
        func linkLocal(_ low: UInt64, scope: UInt32, port: UInt16 = 4_000) -> Address {
            Address(high: 0xFE80 << 48, low: low, port: port, scope: scope)
        }
        lan.perform(0) {
            $0.setNetworks(
                [LocalNetwork(address: linkLocal(1, scope: 2, port: 0), prefixLength: 64)], port: 4_000, now: $1)
        }
        lan.find(
            "a", key: VirtualLAN.identities[8].publicKey, at: [linkLocal(9, scope: 2), linkLocal(9, scope: 3)])
        lan.run(for: .milliseconds(100))
        #expect(lan.initiations(0).map(\.destination) == [linkLocal(9, scope: 2)])
    }

    @Test("an instance without an address that can be used waits for one, and counts as no attempt (D-8)")
    func noAddress() {
        let lan = lonely()
        let key = VirtualLAN.identities[8].publicKey
        lan.find("a", key: key, at: [Address(ipv4: 0x0B00_0001, port: 4_000)])
        lan.run(for: .seconds(100))
        #expect(lan.hosts[0].sent.isEmpty)
        lan.find("a", key: key, at: [there])
        lan.run(for: .milliseconds(1))
        #expect(lan.initiationTimes(0, to: there) == [100_000])
    }

    @Test("eight candidates an instance, among them always that of the live link (D-9)")
    func eightCandidates() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8, address: VirtualLAN.address(150))
        let many = (100..<112).map { VirtualLAN.address($0) }
        lan.find("a", key: peer.identity.publicKey, at: many)
        lan.run(for: .milliseconds(1))
        #expect(lan.initiations(0).count == 8)
        lan.run(for: .seconds(1))
        peer.interval = 10
        let session = try peer.link()
        lan.find("a", key: peer.identity.publicKey, at: many + [peer.address])
        peer.send([peer.heartbeat()], on: session)
        _ = peer.arrived()
        // Silence: pings go to the link's address and all candidates.
        lan.run(for: .milliseconds(1_800))
        let pings = peer.arrived(anywhere: true).filter { $0.bytes[0] == 0x13 && $0.at >= lan.now + .milliseconds(-60) }
        #expect(Set(pings.map(\.destination)).contains(peer.address))
        #expect(Set(pings.map(\.destination)).count <= 8)
        lan.run(for: .seconds(3))
        let again = peer.arrived(anywhere: true).filter { $0.bytes[0] == 0x11 }
        #expect(Set(again.map(\.destination)).contains(peer.address))
        #expect(Set(again.map(\.destination)).count == 8)
    }

    @Test("candidates that are known are kept when more come than there is room for (D-9)")
    func knownCandidates() {
        let lan = lonely()
        let key = VirtualLAN.identities[8].publicKey
        let known = (110..<118).map { VirtualLAN.address($0) }
        lan.find("a", key: key, at: known)
        lan.find("a", key: key, at: (100..<118).map { VirtualLAN.address($0) })
        lan.run(for: .seconds(2))
        #expect(Set(lan.initiations(0).map(\.destination)) == Set(known))
    }

    @Test("64 instances a key; that of a live link stays (D-9, R24)")
    func manyInstances() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("live", key: peer.identity.publicKey, at: [there])
        let session = try peer.link()
        lan.forget()
        for index in 1..<80 {
            lan.find("\(index)", key: peer.identity.publicKey, at: [VirtualLAN.address(110 + index)])
        }
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 64)
        lan.find("other", key: VirtualLAN.identities[9].publicKey, at: [VirtualLAN.address(120)])
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 65, "another key has its own")
        peer.live(on: session, for: .seconds(4))
        #expect(lan.initiations(0, to: there).isEmpty, "the live link's instance is still covered")
        #expect(lan.online(0) == ["Hand"], "one person, however many instances")
    }

    @Test("a peer on several interfaces and families is one peer (D-9, R24)")
    func oneOfMany() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let addresses = (100..<105).map { VirtualLAN.address($0) }
        lan.find("a", key: peer.identity.publicKey, at: addresses)
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        // The same initiation came five times; it is answered from each address.
        let (answered, response) = try peer.answer(initiation)
        let session = answered
        for address in addresses { lan.inject(response, into: 0, from: address) }
        peer.greet(on: session)
        #expect(lan.presences(0).count == 1)
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
        #expect(lan.hosts[0].endpoint.counters.handshakesCompleted == 1)
    }
}

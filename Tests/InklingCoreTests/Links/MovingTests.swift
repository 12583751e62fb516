import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Changes of networks and addresses")
struct MovingTests {
    private let home = LocalNetwork(address: Address(ipv4: 0x0A00_0001, port: 0), prefixLength: 120)
    private let cable = LocalNetwork(address: Address(ipv4: 0x0A00_0101, port: 0), prefixLength: 120)

    private func pings(_ peer: ScriptedPeer, _ session: ScriptedPeer.Session, anywhere: Bool = false) -> [UInt16] {
        peer.receive(on: session, anywhere: anywhere).compactMap(\.ping)
    }

    @Test("when the own networks change each peer gets one ping, at all candidates; when they don't, none (L-40)")
    func pinged() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        let session = try peer.link()
        lan.run(for: .milliseconds(200))
        func change(_ networks: [LocalNetwork]) -> [VirtualLAN.Packet] {
            _ = peer.arrived()
            lan.perform(0) { $0.setNetworks(networks, port: 4_000, now: $1) }
            return peer.arrived(anywhere: true)
        }
        #expect(change([home]).isEmpty)
        let packets = change([home, cable])
        #expect(packets.map(\.destination) == [peer.address, VirtualLAN.address(101)])
        #expect(Set(packets.map(\.bytes)).count == 1)
        let ping = try #require(peer.open(packets, on: session).first?.ping)
        peer.send([peer.heartbeat(), .pong(ping)], on: session)
        #expect(change([home, cable]).isEmpty)
        lan.run(for: .seconds(1))
        #expect(change([home]).count == 2, "another change, at once")
        #expect(lan.presences(0).count == 1)
    }

    @Test(
        "when the own networks change openings under way start again with the first attempt (L-40)",
        arguments: [("the smaller key", 8, 0), ("the larger key", 2, 300)])
    func reopened(_ row: (name: String, identity: Int, delay: Int)) {
        let lan = lonely()
        let there = VirtualLAN.address(100)
        lan.find("a", key: VirtualLAN.identities[row.identity].publicKey, at: [there])
        lan.run(for: .seconds(400))
        let slow = lan.initiationTimes(0).filter { $0 > 120_000 }
        #expect(zip(slow.dropFirst(), slow).contains { $0 - $1 > 40_000 }, "attempts are slow by now")
        lan.forget()
        let start = lan.now.milliseconds
        lan.perform(0) { $0.setNetworks([home, cable], port: 4_000, now: $1) }
        lan.run(for: .seconds(8))
        let times = lan.initiationTimes(0)
        #expect(times.first == start + row.delay)
        #expect(Set(lan.initiations(0).map(\.bytes)).count >= 2, "and the next attempt comes soon")
    }

    @Test("when the own networks change a peer that said bye is left alone as before (L-40, L-35)")
    func resting() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let session = try peer.link()
        peer.send([.bye(.quit)], on: session)
        lan.forget()
        lan.perform(0) { $0.setNetworks([home, cable], port: 4_000, now: $1) }
        lan.run(for: .seconds(59))
        #expect(lan.initiations(0).isEmpty)
    }

    @Test("a link at the address of another instance of that key is that one's: the node opens to the first (L-41)")
    func otherDevice() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        _ = try peer.opened()
        let session = try peer.link()
        lan.run(for: .milliseconds(10))
        _ = peer.arrived(anywhere: true)
        // Two devices of one person: the second has the address now that the first had.
        let moved = VirtualLAN.address(101)
        lan.find("b", key: peer.identity.publicKey, at: [peer.address])
        lan.find("a", key: peer.identity.publicKey, at: [moved])
        peer.live(on: session, for: .seconds(1))
        #expect(!lan.initiations(0, to: moved).isEmpty)
        #expect(lan.offline(0).isEmpty)
    }

    @Test("a peer that discovery has elsewhere than its link gets a ping, at most one a second (L-41, L-29)")
    func movedPeer() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let session = try peer.link()
        lan.run(for: .milliseconds(200))
        _ = peer.arrived()
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        #expect(pings(peer, session, anywhere: true).isEmpty, "the link's address is among them")
        lan.find("a", key: peer.identity.publicKey, at: [VirtualLAN.address(101)])
        let packets = peer.arrived(anywhere: true)
        #expect(packets.map(\.destination) == [peer.address, VirtualLAN.address(101)])
        let ping = try #require(peer.open(packets, on: session).first?.ping)
        lan.find("a", key: peer.identity.publicKey, at: [VirtualLAN.address(102)])
        #expect(pings(peer, session, anywhere: true).isEmpty)
        // It answers from where it is, and the link goes there.
        peer.address = VirtualLAN.address(101)
        peer.send([peer.heartbeat(), .pong(ping)], on: session)
        lan.run(for: .seconds(1))
        #expect(!peer.receive(on: session).isEmpty)
        #expect(lan.presences(0).count == 1)
    }
}

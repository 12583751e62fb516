import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Networks that change")
struct NetworkChangeTests {
    private func network(_ address: Address, prefixLength: Int = 120) -> LocalNetwork {
        LocalNetwork(address: Address(high: address.high, low: address.low, port: 0), prefixLength: prefixLength)
    }

    private func attach(_ lan: VirtualLAN, _ index: Int, to networks: [LocalNetwork]) {
        lan.perform(index) { $0.setNetworks(networks, port: 4_000, now: $1) }
    }

    @Test(
        "a node at a new address is known there at once: one ping goes to each peer, and what was sent meanwhile arrives (L-40, L-24, R26)"
    )
    func moved() {
        let lan = VirtualLAN()
        for index in 0..<3 { lan.add(identity: index, name: "\(index)") }
        lan.discoverAll()
        lan.run(for: .seconds(2))
        // What goes to the old address is lost from here on.
        let old = lan.hosts[0].address
        let new = VirtualLAN.address(50)
        lan.transit = { $0.destination == old || $0.source == old ? [] : [.microseconds(200)] }
        for step in 0..<5 {
            lan.send(1, "\(step)")
            lan.run(for: .milliseconds(100))
        }
        lan.forget()
        let moved = lan.now
        lan.move(0, to: new)
        #expect(lan.sent(0, kind: 3).map(\.destination) == [1, 2].map { VirtualLAN.address($0) })
        lan.run(for: .milliseconds(1))
        for index in 1...2 {
            lan.forget()
            lan.compose(index, "a")
            #expect(lan.sent(index, kind: 3).map(\.destination).contains(new))
        }
        lan.run(until: moved + .seconds(2))
        #expect(lan.messages(0) == (0..<5).map(String.init))
        for index in 0..<3 { #expect(lan.presences(index).isEmpty, "nobody went, and nobody came twice") }
        #expect(lan.hosts.map(\.endpoint.counters.linksMade) == [2, 2, 2])
    }

    @Test("a ping about a change of networks goes to all candidates, at once and then once a second (L-40)")
    func everyChange() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        let session = try peer.link()
        let own = lan.hosts[0].address
        _ = peer.arrived(anywhere: true)
        func pings() -> [ScriptedPeer.Received] {
            peer.open(peer.arrived(anywhere: true), on: session).filter { $0.ping != nil }
        }
        for last in 1..<4 {
            attach(lan, 0, to: [network(own), network(VirtualLAN.address(200 + last))])
            let pings = pings()
            #expect(pings.count == (last == 1 ? 2 : 0))
            #expect(Set(pings.map(\.bytes)).count <= 1, "the same sealed bytes")
        }
        lan.run(for: .milliseconds(999))
        #expect(pings().isEmpty)
        lan.run(for: .milliseconds(1))
        #expect(pings().count == 2, "one for both changes")
        attach(lan, 0, to: [network(own), network(VirtualLAN.address(203))])
        lan.run(for: .milliseconds(1_000))
        #expect(pings().isEmpty, "nothing changed")
        attach(lan, 0, to: [])
        #expect(pings().count == 1, "without a network the peer's address alone is left")
        lan.run(for: .milliseconds(100))
        attach(lan, 0, to: [network(own)])
        lan.run(for: .milliseconds(900))
        #expect(pings().count == 2, "then both again")
        #expect(lan.presences(0).count == 1)
    }

    @Test(
        "the network gone for long and back: openings under way restart at once, and rest 300 ms at most (L-40, R16)",
        arguments: [5, 12, 31, 80])
    func returned(_ seconds: Int) {
        let lan = pair()
        lan.transit = { _ in [] }
        attach(lan, 1, to: [])
        lan.run(for: .milliseconds(seconds * 1_000))
        #expect(lan.online(0).isEmpty && lan.online(1).isEmpty)
        lan.transit = { _ in [.microseconds(200)] }
        attach(lan, 1, to: [network(lan.hosts[1].address)])
        lan.run(for: .milliseconds(400))
        lan.expectWorking(0, 1)
    }

    @Test(
        "a peer by hand is tried at once when the networks change, but not before its time after a bye (L-40, L-35)",
        arguments: [true, false])
    func byHand(_ hasLeft: Bool) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.perform(0) { $0.addPeer(peer.address, now: $1) }
        lan.run(for: .zero)
        if hasLeft {
            guard case .ask(let ask)? = try lan.sent(0, kind: 5).first.map({ try Datagram.parse($0.bytes) }) else {
                Issue.record("no ask")
                return
            }
            let tell = Tell(token: ask.token, nonce: 0, key: peer.identity.publicKey.bytes)
            lan.inject(tell.encode(), into: 0, from: peer.address)
            let session = try peer.link()
            peer.send([.bye(.quit)], on: session)
        } else {
            lan.run(for: .seconds(200))
        }
        lan.forget()
        lan.run(for: .milliseconds(100))
        attach(lan, 0, to: [network(lan.hosts[0].address), network(VirtualLAN.address(200))])
        lan.run(for: .milliseconds(100))
        #expect(lan.sent(0, kind: 5).isEmpty == hasLeft)
    }

    @Test(
        "discovery knows a peer under other addresses than its link's: one ping asks there, at most one a second (L-41, L-29)"
    )
    func peerMoved() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let session = try peer.link()
        _ = peer.arrived(anywhere: true)
        func find(_ last: [Int]) -> [Address] {
            lan.find("a", key: peer.identity.publicKey, at: last.map { VirtualLAN.address($0) })
            return peer.open(peer.arrived(anywhere: true), on: session).filter { $0.ping != nil }.isEmpty
                ? [] : lan.hosts[0].sent.suffix(last.count + 1).map(\.destination)
        }
        #expect(find([100, 105]).isEmpty, "it may be where it was")
        #expect(find([105]) == [peer.address, VirtualLAN.address(105)])
        #expect(find([106]).isEmpty, "it was asked a moment ago")
        lan.run(for: .milliseconds(1_100))
        _ = peer.arrived(anywhere: true)
        #expect(find([107]) == [peer.address, VirtualLAN.address(107)])
        // Nothing that can be used says nothing.
        lan.run(for: .milliseconds(1_100))
        _ = peer.arrived(anywhere: true)
        lan.find("a", key: peer.identity.publicKey, at: [PeerByHandTests.far])
        #expect(peer.open(peer.arrived(anywhere: true), on: session).allSatisfy { $0.ping == nil })
    }

    @Test(
        "the whole network gets other addresses: the two that move one after the other stay online to each other (L-40, L-41, R24)",
        arguments: [0, 1])
    func renumbered(_ first: Int) {
        let lan = pair()
        func renumber(_ index: Int) {
            let address = Address(ipv4: 0xC0A8_0001 + UInt32(index), port: 4_000)
            lan.move(index, to: address)
        }
        let second = 1 - first
        renumber(first)
        lan.run(for: .milliseconds(300))
        renumber(second)
        lan.run(for: .milliseconds(900))
        // Their daemons have announced them by now.
        lan.discoverAll()
        lan.run(for: .seconds(2))
        #expect(lan.presences(0).isEmpty && lan.presences(1).isEmpty)
        lan.expectWorking(0, 1)
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Addresses of links")
struct AddressTests {
    @Test(
        "the link's address follows the newest evidence (L-24)",
        arguments: [
            ("on-link to on-link", VirtualLAN.address(100), VirtualLAN.address(105), true),
            ("on-link to off-link", VirtualLAN.address(100), PeerByHandTests.far, false),
            ("off-link to on-link", PeerByHandTests.far, VirtualLAN.address(105), true),
            ("off-link to off-link", PeerByHandTests.far, Address(ipv4: 0xC0A8_0A0A, port: 7), true),
            ("to another port", VirtualLAN.address(100), VirtualLAN.address(100, port: 4_444), true),
            ("to multicast", VirtualLAN.address(100), Address(ipv4: 0xE000_0001, port: 7), false),
            ("to ourselves", VirtualLAN.address(100), VirtualLAN.address(0), false),
        ])
    func address(_ row: (name: String, before: Address, after: Address, follows: Bool)) throws {
        let lan = lonely(acceptsRouted: true)
        let peer = ScriptedPeer(lan, identity: 8, address: row.before)
        let session = try peer.link()
        peer.send([peer.heartbeat()], on: session, counter: 50, from: row.after)
        lan.run(for: .seconds(1))
        let destination = lan.sent(0, kind: 3).last?.destination
        #expect(destination == (row.follows ? row.after : row.before))
        // A late one leads nowhere.
        peer.send([peer.heartbeat()], on: session, counter: 55, from: row.follows ? row.after : row.before)
        peer.send([peer.heartbeat()], on: session, counter: 40, from: VirtualLAN.address(111))
        lan.run(for: .seconds(1))
        #expect(lan.sent(0, kind: 3).last?.destination == destination)
        // Nor does one that does not authenticate.
        var forged = peer.seal([peer.heartbeat()], on: session, counter: 60)
        forged[12] ^= 1
        lan.inject(forged, into: 0, from: VirtualLAN.address(111))
        lan.run(for: .seconds(1))
        #expect(lan.sent(0, kind: 3).last?.destination == destination)
    }

    @Test("a peer by hand may move from on-link to off-link (L-24)")
    func addressByHand() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.perform(0) { $0.addPeer(peer.address, now: $1) }
        lan.run(for: .zero)
        guard case .ask(let ask)? = try lan.sent(0, kind: 5).first.map({ try Datagram.parse($0.bytes) }) else {
            Issue.record("no ask")
            return
        }
        lan.inject(
            Tell(token: ask.token, nonce: 0, key: peer.identity.publicKey.bytes).encode(), into: 0, from: peer.address)
        lan.run(for: .zero)
        let (answered, response) = try peer.answer(try lastInitiation(lan))
        let session = answered
        lan.inject(response, into: 0, from: peer.address)
        peer.greet(on: session)
        peer.send([peer.heartbeat()], on: session, from: PeerByHandTests.far)
        lan.run(for: .seconds(1))
        #expect(lan.sent(0, kind: 3).last?.destination == PeerByHandTests.far)
    }

    @Test("evidence on an older session moves the address as well (L-24)")
    func addressOfOlder() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        _ = try peer.link()
        peer.send([peer.heartbeat()], on: first, from: VirtualLAN.address(105))
        lan.run(for: .seconds(1))
        #expect(lan.sent(0, kind: 3).last?.destination == VirtualLAN.address(105))
    }
}

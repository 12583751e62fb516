import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Addresses of links")
struct AddressTests {
    private let elsewhere = VirtualLAN.address(105)

    private func linked() throws -> (lan: VirtualLAN, peer: ScriptedPeer, session: ScriptedPeer.Session) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        _ = peer.arrived(anywhere: true)
        return (lan, peer, session)
    }

    /// Where the next heartbeat goes.
    private func destination(_ lan: VirtualLAN) -> Address? {
        lan.forget()
        lan.run(for: .seconds(1))
        return lan.sent(0, kind: 3).last?.destination
    }

    @Test(
        "the link's address follows the newest evidence once a pong came from there (L-24, L-51)",
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
        let pings = peer.pings(to: row.after, on: session)
        #expect(pings.count == (row.follows ? 1 : 0))
        #expect(destination(lan) == row.before)
        if let ping = pings.first { peer.send([.pong(ping)], on: session, counter: 51, from: row.after) }
        #expect(destination(lan) == (row.follows ? row.after : row.before))
        // A late one leads nowhere.
        peer.send([peer.heartbeat()], on: session, counter: 55, from: row.follows ? row.after : row.before)
        peer.send([peer.heartbeat()], on: session, counter: 40, from: VirtualLAN.address(111))
        #expect(peer.pings(to: VirtualLAN.address(111), on: session).isEmpty)
        // Nor does one that does not authenticate.
        var forged = peer.seal([peer.heartbeat()], on: session, counter: 60)
        forged[12] ^= 1
        lan.inject(forged, into: 0, from: VirtualLAN.address(111))
        #expect(peer.pings(to: VirtualLAN.address(111), on: session).isEmpty)
        #expect(destination(lan) == (row.follows ? row.after : row.before))
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
        peer.move(to: PeerByHandTests.far, on: session)
        #expect(destination(lan) == PeerByHandTests.far)
    }

    @Test("evidence on an older session moves the address as well, for all sessions (L-24)")
    func addressOfOlder() throws {
        let (lan, peer, first) = try linked()
        let second = try peer.link()
        peer.move(to: elsewhere, on: first)
        #expect(destination(lan) == elsewhere)
        lan.forget()
        lan.perform(0) { $0.quit(now: $1) }
        let byes = lan.sent(0, kind: 3)
        #expect(peer.open(byes, on: first).count == 1 && peer.open(byes, on: second).count == 1)
        #expect(byes.count == 2 && byes.allSatisfy { $0.destination == elsewhere })
    }

    // MARK: Until the pong comes

    @Test("evidence from a forged address counts, and the link goes on where the peer is (L-51)")
    func forged() throws {
        let (lan, peer, session) = try linked()
        var received = 0
        for _ in 0..<100 {
            let bytes = peer.seal([peer.heartbeat()], on: session)
            received += bytes.count
            lan.inject(bytes, into: 0, from: elsewhere)
            lan.run(for: .milliseconds(100))
        }
        #expect(lan.presences(0).count == 1, "ten seconds of evidence from there alone")
        let sent = lan.hosts[0].sent.filter { $0.destination == elsewhere }
        let opened = peer.open(sent, on: session)
        #expect(opened.count == sent.count && opened.allSatisfy { $0.frames.count == 1 && $0.ping != nil })
        #expect(zip(opened.dropFirst(), opened).allSatisfy { $0.at - $1.at >= .milliseconds(125) })
        #expect((40...80).contains(sent.count))
        #expect(sent.map(\.bytes.count).reduce(0, +) <= 3 * received)
        #expect(destination(lan) == peer.address)
    }

    @Test("a ping from elsewhere is answered there, within three times the bytes that came (L-28, L-51)")
    func pongs() throws {
        let (lan, peer, session) = try linked()
        peer.send([.ping(0xABCD)], on: session, from: elsewhere)
        var packets = peer.arrived(anywhere: true)
        #expect(packets.allSatisfy { $0.destination == elsewhere })
        #expect(peer.open(packets, on: session).compactMap(\.pong) == [0xABCD])
        #expect(peer.open(packets, on: session).contains { $0.pong != nil && $0.heartbeat != nil })
        // A whole second of what a link may send.
        var received = 0
        for token in UInt16(0)..<500 {
            let bytes = peer.seal([.ping(token)], on: session)
            received += bytes.count
            lan.inject(bytes, into: 0, from: elsewhere)
            lan.run(for: .milliseconds(2))
        }
        packets = peer.arrived(anywhere: true)
        let pongs = peer.open(packets, on: session).compactMap(\.pong)
        #expect(Set(pongs).isSuperset(of: 0..<500))
        #expect(packets.map(\.bytes.count).reduce(0, +) <= 3 * received)
    }

    @Test("a wrong token ends the check for 1 s, and the right one comes too late (L-51)")
    func guessed() throws {
        let (lan, peer, session) = try linked()
        peer.send([peer.heartbeat()], on: session, from: elsewhere)
        let token = try #require(peer.pings(to: elsewhere, on: session).first)
        for guess in [token &+ 1, token] { peer.send([.pong(guess)], on: session, from: elsewhere) }
        lan.run(for: .milliseconds(999))
        peer.send([peer.heartbeat()], on: session, from: elsewhere)
        #expect(peer.pings(to: elsewhere, on: session).isEmpty)
        #expect(destination(lan) == peer.address)
        peer.move(to: elsewhere, on: session)
        #expect(destination(lan) == elsewhere)
    }

    @Test("the pong of a ping that went elsewhere confirms nothing, and ends nothing (L-51)")
    func foreignToken() throws {
        let (lan, peer, session) = try linked()
        // A ping to the link's address.
        let home = peer.address
        lan.perform(0) { $0.doubt(home, now: $1) }
        let token = try #require(peer.receive(on: session).first?.ping)
        peer.send([.pong(token)], on: session, from: elsewhere)
        let ping = try #require(peer.pings(to: elsewhere, on: session).first)
        #expect(destination(lan) == peer.address)
        peer.send([.pong(ping)], on: session, from: elsewhere)
        #expect(destination(lan) == elsewhere)
    }

    @Test("a pong after 3 s confirms nothing (L-51)", arguments: [2_999, 3_000])
    func late(_ delay: Int) throws {
        let (lan, peer, session) = try linked()
        peer.send([peer.heartbeat()], on: session, from: elsewhere)
        let token = try #require(peer.pings(to: elsewhere, on: session).first)
        lan.run(for: .milliseconds(delay))
        peer.send([.pong(token)], on: session, from: elsewhere)
        #expect(destination(lan) == (delay < 3_000 ? elsewhere : peer.address))
    }

    @Test("a pong moves nothing where newer evidence came from elsewhere (L-51)")
    func overtaken() throws {
        let (lan, peer, session) = try linked()
        peer.send([peer.heartbeat()], on: session, counter: 50, from: elsewhere)
        let token = try #require(peer.pings(to: elsewhere, on: session).first)
        peer.send([peer.heartbeat()], on: session, counter: 60)
        peer.send([.pong(token)], on: session, counter: 55, from: elsewhere)
        #expect(destination(lan) == peer.address)
        // A pong that is older than what else came from there counts.
        peer.send([peer.heartbeat()], on: session, counter: 70, from: elsewhere)
        let next = try #require(peer.pings(to: elsewhere, on: session).first)
        peer.send([peer.heartbeat()], on: session, counter: 80, from: elsewhere)
        peer.send([.pong(next)], on: session, counter: 75, from: elsewhere)
        #expect(destination(lan) == elsewhere)
    }

    @Test("a ping to all candidates confirms the one that answers (L-51, L-26)")
    func candidate() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, elsewhere])
        let session = try peer.link()
        _ = peer.arrived(anywhere: true)
        lan.perform(0) { $0.lost("a", chat: VirtualLAN.lobby.tag, now: $1) }
        let packets = peer.arrived(anywhere: true)
        #expect(packets.map(\.destination) == [peer.address, elsewhere])
        let token = try #require(peer.open(packets, on: session).first?.ping)
        peer.send([peer.heartbeat(), .pong(token)], on: session, from: elsewhere)
        #expect(destination(lan) == elsewhere)
    }

    @Test("a pong to an address that nobody answered from carries no hello, and comes before one (L-51, L-28, L-18)")
    func withoutHello() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        // It never says that it holds the node's stream.
        peer.send([peer.heartbeat(), peer.hello], on: session)
        _ = peer.arrived(anywhere: true)
        peer.send([.ping(1)], on: session)
        #expect(peer.receive(on: session).contains { $0.pong == 1 && $0.hello != nil }, "hellos go out")
        peer.send([.ping(2)], on: session, from: elsewhere)
        let there = peer.open(peer.arrived(anywhere: true).filter { $0.destination == elsewhere }, on: session)
        #expect(there.count == 2 && there.allSatisfy { $0.hello == nil })
    }

    @Test("a bye of a peer that hears nothing moves nothing (L-45)")
    func unheard() throws {
        let (lan, peer, session) = try linked()
        peer.send([.bye(.unheard)], on: session, from: elsewhere)
        lan.run(for: .milliseconds(600))
        let sent = peer.arrived(anywhere: true)
        #expect(!sent.isEmpty && sent.allSatisfy { $0.destination == peer.address })
    }

    // MARK: Sessions without a link

    @Test("a session without a link stays where its initiation came from (L-24)")
    func responder() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        _ = peer.arrived(anywhere: true)
        peer.send([peer.heartbeat()], on: session, from: elsewhere)
        lan.run(for: .seconds(1))
        let hellos = peer.arrived(anywhere: true)
        #expect(hellos.count >= 4 && hellos.allSatisfy { $0.destination == peer.address })
        // The link that it makes is there, and asks where its hello came from.
        peer.send([peer.heartbeat(), peer.hello], on: session, from: elsewhere)
        let packets = peer.arrived(anywhere: true)
        let there = peer.open(packets.filter { $0.destination == elsewhere }, on: session)
        #expect(there.count == 1 && there.first?.ping != nil && there.first?.hello != nil)
        #expect(destination(lan) == peer.address)
    }

    @Test(
        "a session that the node opened is where its response came from, if an initiation went there (L-24)",
        arguments: [100, 101, 105])
    func initiator(_ last: Int) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        lan.run(for: .milliseconds(1))
        let (session, response) = try peer.answer(try lastInitiation(lan))
        _ = peer.arrived(anywhere: true)
        lan.inject(response, into: 0, from: VirtualLAN.address(last))
        let hello = try #require(peer.arrived(anywhere: true).first)
        #expect(hello.destination == VirtualLAN.address(last == 101 ? 101 : 100))
        #expect(peer.open([hello], on: session).first?.hello != nil)
    }
}

extension ScriptedPeer {
    /// The tokens of the pings that the node has sent to an address since it was last looked at.
    fileprivate func pings(to destination: Address, on session: Session) -> [UInt16] {
        open(arrived(anywhere: true).filter { $0.destination == destination }, on: session).compactMap(\.ping)
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Blocked and foreign peers")
struct BlockTests {
    @Test(
        "a blocked key vanishes at once, in the middle of typing, and nothing of it is shown or answered (L-36, R13)",
        arguments: [8, 2])
    func block(_ identity: Int) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let session = try peer.link()
        peer.send([peer.heartbeat(typing: true)], on: session)
        let waiting = try peer.open()
        let user = peer.identity.publicKey.userID
        lan.perform(0) { $0.block(user, now: $1) }
        #expect(lan.typing(0).last?.names == [])
        #expect(lan.offline(0) == [.blocked])
        lan.run(for: .seconds(1))
        lan.forget()
        peer.send([peer.heartbeat(typing: true)], on: session)
        peer.send([peer.heartbeat(), peer.hello], on: waiting)
        #expect(peer.exchange(try peer.initiation().bytes).isEmpty)
        #expect(lan.drops(0, .blocked) == 1)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        lan.find("b", key: peer.identity.publicKey, at: [VirtualLAN.address(102)])
        lan.run(for: .seconds(200))
        #expect(lan.hosts[0].sent.isEmpty)
        #expect(lan.hosts[0].log.isEmpty)
        lan.perform(0) { $0.unblock(user, now: $1) }
        lan.run(for: .milliseconds(301))
        #expect(!lan.initiations(0).isEmpty)
        _ = try peer.link()
        #expect(lan.online(0) == ["Hand"])
    }

    @Test("a peer that is blocked by hand is neither opened to when it tells its key (L-36, D-12)")
    func blockByHand() throws {
        let lan = lonely()
        let key = VirtualLAN.identities[8].publicKey
        lan.perform(0) { $0.block(key.userID, now: $1) }
        lan.perform(0) { $0.addPeer(PeerByHandTests.far, now: $1) }
        lan.run(for: .zero)
        guard case .ask(let ask)? = try lan.sent(0, kind: 5).first.map({ try Datagram.parse($0.bytes) }) else {
            Issue.record("no ask")
            return
        }
        lan.inject(Tell(token: ask.token, nonce: 0, key: key.bytes).encode(), into: 0, from: PeerByHandTests.far)
        lan.run(for: .seconds(100))
        #expect(lan.initiations(0).isEmpty)
        lan.perform(0) { $0.unblock(key.userID, now: $1) }
        lan.run(for: .zero)
        #expect(lan.initiations(0).count == 1)
    }

    @Test("blocking holds in all chats and comes back in all (L-36, R13)")
    func blockEverywhere() {
        let other = ChatKeys(openName: "other")
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "A", chats: [VirtualLAN.lobby, other])
        lan.add(identity: 1, name: "B", chats: [VirtualLAN.lobby, other])
        lan.discoverAll()
        lan.discoverAll(in: other)
        lan.run(for: .seconds(1))
        #expect(lan.hosts[0].endpoint.tableSizes.links == 2, "links of different chats share nothing")
        let user = VirtualLAN.identities[1].publicKey.userID
        lan.perform(0) { $0.block(user, now: $1) }
        lan.run(for: .milliseconds(10))
        #expect(lan.online(0).isEmpty && lan.online(0, in: other).isEmpty)
        #expect(lan.online(1).isEmpty && lan.online(1, in: other).isEmpty)
        lan.perform(0) { $0.unblock(user, now: $1) }
        lan.run(for: .seconds(1))
        lan.expectWorking(0, 1)
        lan.expectWorking(0, 1, in: other)
    }

    @Test("what another member forges changes nothing about somebody else's link (R12)")
    func forged() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let thief = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(101), name: "Thief", seed: 9)
        let session = try peer.link()
        let own = try thief.link()
        lan.forget()
        // Its own keys, the other's index: also with the other's address as the source.
        let mixed = ScriptedPeer.Session(localIndex: own.localIndex, remoteIndex: session.remoteIndex, keys: own.keys)
        for source in [thief.address, peer.address] {
            thief.send([thief.heartbeat(typing: true)], on: mixed, counter: 500, from: source)
            thief.send([.bye(.lastWill)], on: mixed, counter: Limits.lastWillCounter, from: source)
        }
        #expect(lan.drops(0, .unauthenticated) == 4)
        // Records of the other's stream, in its own session.
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "forged")
        thief.stream = 78
        thief.send([thief.heartbeat(), thief.hello], on: own)
        thief.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: own)
        #expect(lan.messages(0).isEmpty)
        // The other's run, in its own hello: it is another key, and another link.
        thief.run = peer.run
        let again = try thief.link()
        thief.send([.bye(.quit)], on: again)
        #expect(lan.presences(0).allSatisfy { $0.name == "Thief" })
        #expect(lan.online(0).contains("Hand"))
    }
}

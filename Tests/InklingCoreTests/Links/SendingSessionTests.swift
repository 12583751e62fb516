import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Which session sends")
struct SendingSessionTests {
    private func isTyping(_ lan: VirtualLAN) -> Bool {
        !lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty
    }

    private func hasHello(_ received: [ScriptedPeer.Received]) -> Bool { received.contains { $0.hello != nil } }

    // MARK: Several openings at once

    @Test("to one address one handshake is begun at a time, whatever the instances (L-3)")
    func oneAtATime() {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        for name in ["a", "b", "c"] { lan.find(name, key: peer.identity.publicKey, at: [peer.address]) }
        lan.run(for: .milliseconds(320))
        #expect(Set(lan.initiations(0).map(\.bytes)).count == 1)
        lan.run(for: .milliseconds(2_500))
        #expect(Set(lan.initiations(0).map(\.bytes)).count == 1)
    }

    // MARK: Sides that do not agree

    /// A node with the larger key that sends on the second of two sessions, and a peer that sends on the first.
    private func apart() throws -> (VirtualLAN, ScriptedPeer, ScriptedPeer.Session, ScriptedPeer.Session) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        peer.interval = 10
        let first = try peer.link()
        let second = try peer.link()
        lan.run(for: .zero)
        _ = peer.arrived()
        return (lan, peer, first, second)
    }

    @Test(
        "hellos on the older session take the larger key along, once the newer one is silent for 1.75 intervals (L-43)")
    func largerFollows() throws {
        let (lan, peer, first, second) = try apart()
        for step in 0..<7 {
            peer.send([peer.heartbeat(typing: true), peer.hello], on: first)
            #expect(!isTyping(lan), "T-13: a newer session carried a status")
            lan.run(for: .milliseconds(step < 6 ? 250 : 249))
        }
        peer.send([peer.heartbeat(typing: true), peer.hello], on: first)
        #expect(!isTyping(lan))
        var packets = peer.arrived()
        #expect(peer.open(packets, on: first).isEmpty)
        #expect(!peer.open(packets, on: second).isEmpty)
        lan.run(for: .milliseconds(1))
        peer.send([peer.heartbeat(), peer.hello], on: first)
        peer.send([peer.heartbeat(typing: true)], on: first)
        #expect(isTyping(lan), "statuses of that session count from now on")
        // It says hello there until the peer's comes again.
        lan.run(for: .milliseconds(600))
        packets = peer.arrived()
        #expect(peer.open(packets, on: second).isEmpty)
        #expect(peer.open(packets, on: first).filter { $0.hello != nil }.count >= 3)
        peer.send([peer.heartbeat(), peer.hello], on: first)
        _ = peer.arrived()
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "there")
        peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: first)
        lan.send(0, "back")
        lan.run(for: .milliseconds(700))
        let received = peer.receive(on: first)
        #expect(!hasHello(received))
        #expect(received.contains { $0.frames.contains { $0.isMessage } })
        #expect(lan.messages(0) == ["there"])
        #expect(lan.presences(0).count == 1)
    }

    @Test("what comes on the newer session keeps the larger key there, whatever hellos say (L-43)")
    func largerStays() throws {
        let (lan, peer, first, second) = try apart()
        for _ in 0..<20 {
            lan.run(for: .milliseconds(250))
            peer.send([peer.heartbeat(typing: true), peer.hello], on: first)
            if lan.now.milliseconds % 750 == 0 { peer.send([peer.heartbeat()], on: second) }
            #expect(!isTyping(lan))
        }
        let packets = peer.arrived()
        #expect(peer.open(packets, on: first).isEmpty)
        #expect(!peer.open(packets, on: second).isEmpty)
    }

    @Test("a hello that was only late leads the larger key astray for an interval, and not for good (L-43)")
    func lateHello() throws {
        let (lan, peer, first, second) = try apart()
        lan.run(for: .milliseconds(1_800))
        peer.send([peer.heartbeat(), peer.hello], on: first)
        #expect(hasHello(peer.receive(on: first)), "it was led astray")
        let start = lan.now
        // The peer sends on the second, and answers a hello on the first as the smaller key has to.
        while lan.now - start < .milliseconds(2_600) {
            lan.run(for: .milliseconds(200))
            let packets = peer.arrived()
            for received in peer.open(packets, on: first) + peer.open(packets, on: second) {
                if let ping = received.ping { peer.send([peer.heartbeat(), .pong(ping)], on: second) }
            }
            guard hasHello(peer.open(packets, on: first)) else { continue }
            peer.send([peer.heartbeat(), peer.hello], on: second)
        }
        peer.send([peer.heartbeat(typing: true), peer.hello], on: second)
        #expect(isTyping(lan))
        _ = peer.arrived()
        lan.send(0, "back")
        lan.run(for: .milliseconds(500))
        let packets = peer.arrived()
        #expect(peer.open(packets, on: first).isEmpty)
        #expect(peer.open(packets, on: second).contains { $0.frames.contains { $0.isMessage } })
        lan.run(for: .milliseconds(500))
        #expect(!hasHello(peer.receive(on: second)), "nothing is left to be said")
        #expect(lan.presences(0).count == 1)
    }

    @Test(
        "a message on the older session ends typing, unless a later status there says that it goes on (T-13, R4)",
        arguments: [false, true])
    func messageOnOlder(_ typesOn: Bool) throws {
        let (lan, peer, first, second) = try apart()
        peer.send([peer.heartbeat(typing: true)], on: second)
        #expect(isTyping(lan))
        // A later status overtakes the message, and is none that counts.
        peer.send([peer.heartbeat(typing: typesOn)], on: first, counter: 90)
        #expect(isTyping(lan))
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "hi")
        peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: first, counter: 89)
        #expect(lan.messages(0) == ["hi"])
        #expect(isTyping(lan) == typesOn)
    }

    @Test("the smaller key stays where it sends, and says hello there, at most every 200 ms (L-43)")
    func smallerAnswers() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        let second = try peer.link()
        lan.run(for: .seconds(3))
        _ = peer.arrived()
        var times: [Int] = []
        for _ in 0..<40 {
            peer.send([peer.heartbeat(typing: true), peer.hello], on: first)
            let packets = peer.arrived()
            #expect(peer.open(packets, on: first).isEmpty)
            times += peer.open(packets, on: second).filter { $0.hello != nil }.map(\.at.milliseconds)
            lan.run(for: .milliseconds(50))
        }
        #expect(times == (0..<10).map { 3_000 + 200 * $0 })
        #expect(!isTyping(lan), "a newer session carried a status (T-13)")
    }

    @Test("two nodes that send on different sessions agree within an interval and a hello (L-43)")
    func bothNodes() {
        let lan = apartNodes()
        lan.run(for: .milliseconds(1_500))
        lan.expectWorking(0, 1)
        lan.run(for: .seconds(11))
        #expect(lan.hosts.map(\.endpoint.tableSizes.sessions) == [1, 1])
        #expect(lan.offline(0).isEmpty && lan.offline(1).isEmpty)
    }

    /// Two nodes after a first contact in which the smaller key sends on one session, and the larger on another.
    ///
    /// The smaller one opens twice. Its hellos arrive in the order of completion, but for the first on the session
    /// completed first, which is lost: so that one is the last to be completed for the larger key.
    private func apartNodes() -> VirtualLAN {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        var hellos = 0
        lan.transit = { packet in
            guard packet.source == VirtualLAN.address(0), packet.bytes[0] == 0x13 else { return [.microseconds(200)] }
            hellos += 1
            return hellos == 1 ? [] : [.microseconds(200)]
        }
        let (key, address) = (lan.hosts[1].endpoint.publicKey, lan.hosts[1].address)
        for name in ["one", "two"] { lan.find(name, key: key, at: [address]) }
        lan.run(for: .milliseconds(300))
        return lan
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Sessions")
struct SessionTests {
    private let lobby = VirtualLAN.lobby.tag

    private func isTyping(_ lan: VirtualLAN) -> Bool { !lan.hosts[0].endpoint.typing(in: lobby).isEmpty }

    // MARK: Hello

    @Test(
        "the initiator says hello at once and every 250 ms; after 3 s without the peer's it opens afresh (L-16, L-19)")
    func initiatorGreets() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.opened()
        let start = lan.now.milliseconds
        lan.run(for: .seconds(4))
        let packets = peer.arrived()
        let hellos = peer.open(packets, on: session)
        #expect(hellos.map { $0.at.milliseconds - start } == (0..<12).map { $0 * 250 })
        #expect(hellos.allSatisfy { $0.hello != nil && $0.heartbeat != nil })
        #expect(packets.first { $0.bytes[0] == 0x11 }?.at.milliseconds == start + 3_000)
        #expect(lan.hosts[0].log.isEmpty)
    }

    @Test(
        "the responder says hello at once and every 250 ms; after 3 s without the peer's it drops the session (L-16, L-19, L-20)"
    )
    func responderGreets() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        lan.run(until: .at(1_000))
        peer.send([peer.heartbeat()], on: session)
        lan.run(for: .seconds(10))
        let packets = peer.arrived()
        #expect(peer.open(packets, on: session).map { $0.at.milliseconds } == (0..<12).map { 1_000 + $0 * 250 })
        #expect(packets.count == 12)
        #expect(lan.hosts[0].log.isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
    }

    @Test("hellos go on until the latest of the peer's holds the node's stream (L-16)")
    func untilHeld() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.opened()
        peer.send([peer.heartbeat(), peer.hello], on: session)
        let hellos = peer.receive(on: session)
        #expect(hellos.compactMap(\.hello).last?.heldStream == peer.stream)
        let start = lan.now
        lan.run(for: .seconds(8))
        let repeats = peer.receive(on: session).filter { $0.hello != nil }.map(\.at)
        #expect(repeats.count >= 32, "no end as long as the peer does not hold it")
        #expect(zip(repeats, [start] + repeats).allSatisfy { $0 - $1 <= .milliseconds(250) })
        peer.heldStream = try #require(hellos.last?.hello?.stream)
        peer.send([peer.heartbeat(), peer.hello], on: session)
        _ = peer.receive(on: session)
        peer.live(on: session, for: .seconds(3)) { #expect($0.hello == nil) }
    }

    @Test("a hello is answered if ours says something new, or is repeated and ours is 200 ms old; 12 times (L-17)")
    func answers() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        _ = peer.arrived()
        func say() -> Int {
            peer.send([peer.heartbeat(), peer.hello], on: session)
            return peer.receive(on: session).filter { $0.hello != nil }.count
        }
        #expect(say() == 0, "nothing new, and ours is not 200 ms old")
        lan.run(for: .milliseconds(199))
        #expect(say() == 0)
        lan.run(for: .milliseconds(1))
        #expect(say() == 1)
        #expect(say() == 0)
        peer.stream += 1
        #expect(say() == 1, "ours holds another stream now")
        // One was the answer to the first hello of all.
        for _ in 3..<12 {
            lan.run(for: .milliseconds(200))
            _ = peer.arrived()
            #expect(say() == 1)
        }
        for _ in 0..<2 {
            lan.run(for: .milliseconds(999))
            _ = peer.arrived()
            #expect(say() == 0)
            lan.run(for: .milliseconds(1))
            _ = peer.arrived()
            #expect(say() == 1, "after twelve still one a second")
        }
    }

    @Test("two nodes between which twelve answers were lost still find together (L-17, L-18, R26)")
    func lostAnswers() {
        let lan = VirtualLAN()
        lan.add(identity: 2)
        lan.add(identity: 5)
        var hellos = 0
        // The first hello of the node that begins arrives, and no other one of it; its heartbeats do.
        lan.transit = { packet in
            guard packet.source == VirtualLAN.address(0), packet.bytes[0] == 0x13, packet.bytes.count > 45 else {
                return [.microseconds(200)]
            }
            hellos += 1
            return hellos == 1 ? [.microseconds(200)] : []
        }
        lan.discoverAll()
        lan.run(for: .seconds(10))
        #expect(hellos > 12)
        lan.repair()
        lan.run(for: .seconds(2))
        lan.expectWorking(0, 1)
    }

    @Test("until the peer holds our stream every datagram carries our hello, and no message goes (L-18)")
    func everyDatagram() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        peer.send([peer.heartbeat(), peer.hello], on: session)
        let first = try #require(peer.receive(on: session).first?.hello)
        lan.compose(0, "h")
        #expect(lan.send(0, "hello") == 1)
        peer.send([.ping(9)], on: session)
        lan.perform(0) { $0.setAway(true, now: $1) }
        lan.perform(0) { $0.measureRoundTrip(in: VirtualLAN.lobby.tag, now: $1) }
        lan.run(for: .seconds(2))
        let received = peer.receive(on: session)
        #expect(received.count > 8)
        #expect(received.contains { $0.pong == 9 } && received.contains { $0.ping != nil })
        #expect(received.allSatisfy { $0.hello?.stream == first.stream })
        func messages(_ received: [ScriptedPeer.Received]) -> Int {
            received.filter { $0.frames.contains { if case .message = $0 { true } else { false } } }.count
        }
        #expect(messages(received) == 0)
        peer.heldStream = first.stream
        peer.send([peer.heartbeat(), peer.hello], on: session)
        lan.run(for: .zero)
        #expect(messages(peer.receive(on: session)) == 1)
        lan.perform(0) { $0.quit(now: $1) }
        #expect(peer.receive(on: session).allSatisfy { $0.frames == [.bye(.quit)] })
    }

    @Test("before the peer's hello all frames but hello and bye are ignored; with it, all count (L-20)")
    func beforeHello() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        peer.send([peer.heartbeat(typing: true)], on: session)
        peer.send([.ping(4)], on: session)
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "early")
        peer.send([.typing(Status(isTyping: true, isAway: false)), .message(record)], on: session)
        lan.run(for: .milliseconds(1))
        #expect(lan.hosts[0].log.isEmpty)
        #expect(!peer.receive(on: session).contains { $0.pong != nil })
        peer.send([peer.heartbeat(typing: true), peer.hello, .ping(5)], on: session)
        #expect(lan.online(0) == ["Hand"])
        #expect(isTyping(lan))
        #expect(peer.receive(on: session).contains { $0.pong == 5 })
        #expect(lan.messages(0).isEmpty)
    }

    @Test("a status that came before the hello and was ignored still makes older ones old (L-20, T-13)")
    func ignoredStatus() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        peer.send([peer.heartbeat()], on: session, counter: 5)
        peer.send([peer.heartbeat(typing: true), peer.hello], on: session, counter: 3)
        #expect(lan.online(0) == ["Hand"])
        #expect(!isTyping(lan), "the user had stopped by then")
        peer.send([peer.heartbeat(typing: true)], on: session, counter: 6)
        #expect(isTyping(lan))
    }

    @Test("a farewell that comes late, on a session that others were heard of after, ends that session alone (L-34)")
    func lateFarewell() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        lan.run(for: .milliseconds(100))
        let second = try peer.link()
        lan.run(for: .milliseconds(100))
        // The peer went back to the one before.
        peer.send([.pong(9)], on: first)
        let sessions = lan.hosts[0].endpoint.tableSizes.sessions
        peer.send([.bye(.quit)], on: second)
        #expect(lan.online(0) == ["Hand"])
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == sessions - 1)
        _ = peer.arrived()
        lan.compose(0, "x")
        #expect(peer.receive(on: first).contains { $0.hello != nil }, "it goes on there")
        peer.send([.bye(.quit)], on: first)
        #expect(lan.online(0).isEmpty)
    }

    @Test("a bye before the peer's hello ends that session (L-20, L-34, L-35)", arguments: [true, false])
    func byeBeforeHello(_ isInitiator: Bool) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = isInitiator ? try peer.opened() : try peer.open()
        peer.send([.bye(.quit)], on: session)
        lan.forget()
        lan.run(for: .seconds(59))
        #expect(lan.hosts[0].sent.isEmpty && lan.hosts[0].log.isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
    }

    @Test("a first contact takes three hellos: held 0, held, held (L-16, L-17)")
    func threeHellos() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        var session = try peer.opened()
        #expect(peer.receive(on: session).compactMap(\.hello?.heldStream) == [0])
        peer.heldStream = 0
        peer.send([peer.heartbeat(), peer.hello], on: session)
        #expect(peer.receive(on: session).compactMap(\.hello?.heldStream) == [peer.stream])
        let other = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(101), seed: 8)
        session = try other.open()
        other.send([other.heartbeat(), other.hello], on: session)
        #expect(other.receive(on: session).compactMap(\.hello?.heldStream) == [other.stream])
    }

    // MARK: Several sessions

    @Test("the session completed last sends; those before it receive, until 10 s are over (L-21)")
    func older() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        peer.live(on: first, for: .seconds(2))
        let second = try peer.link()
        lan.run(for: .milliseconds(1_100))
        let packets = peer.arrived()
        #expect(peer.open(packets, on: first).isEmpty)
        #expect(!peer.open(packets, on: second).isEmpty)
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "late")
        peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: first)
        #expect(lan.messages(0) == ["late"])
        lan.run(for: .milliseconds(9_999))
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 2, "10 s from its last datagram")
        lan.run(for: .milliseconds(2))
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1)
        peer.send([peer.heartbeat()], on: first)
        #expect(lan.drops(0, .unknownIndex) == 1)
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
        #expect(lan.presences(0).count == 1, "sessions come and go unseen")
    }

    @Test("three older sessions are kept; a fourth drops the oldest (L-21)")
    func fourOlder() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        var sessions: [ScriptedPeer.Session] = []
        for _ in 0..<5 { sessions.append(try peer.link()) }
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 4)
        for index in sessions.indices {
            peer.send([.ping(UInt16(index))], on: sessions[index])
        }
        #expect(lan.drops(0, .unknownIndex) == 1)
        #expect(peer.receive(on: sessions[4]).compactMap(\.pong) == [1, 2, 3, 4])
    }

    @Test("a hello applies if its counter is above the last one's and no newer session had one (L-22)")
    func helloOrder() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        peer.name = "New"
        peer.send([peer.heartbeat(), peer.hello], on: first, counter: 10)
        #expect(lan.online(0) == ["New"])
        peer.name = "Old"
        peer.send([peer.heartbeat(), peer.hello], on: first, counter: 9)
        #expect(lan.online(0) == ["New"])
        peer.name = "Second"
        let second = try peer.link()
        #expect(lan.online(0) == ["Second"])
        peer.name = "Old"
        peer.send([peer.heartbeat(), peer.hello], on: first, counter: 11)
        #expect(lan.online(0) == ["Second"])
        peer.name = "Third"
        peer.send([peer.heartbeat(), peer.hello], on: second)
        #expect(lan.online(0) == ["Third"])
    }

    // MARK: Evidence

    /// When the link goes down if nothing comes after what `input` sends at 1 s: 3 s after the last evidence.
    private func down(_ input: (ScriptedPeer, ScriptedPeer.Session) -> Void) throws -> Int? {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        let session = try peer.link()
        peer.send([peer.heartbeat()], on: session, counter: 20)
        lan.run(until: .at(1_000))
        input(peer, session)
        lan.run(until: .at(8_000))
        return lan.presences(0).first { $0.presence == .offline }?.at
    }

    @Test("what counts as evidence (L-23, W-22, W-23, W-24)")
    func evidence() throws {
        #expect(try down { _, _ in } == 3_000)
        #expect(try down { $0.send([.pong(1)], on: $1, counter: 21) } == 4_000, "any frame")
        #expect(try down { $0.send([.unknown(type: 0x50, body: [1])], on: $1, counter: 21) } == 4_000)
        #expect(try down { $0.send([$0.heartbeat()], on: $1, counter: 20) } == 3_000, "a counter used before")
        #expect(try down { $0.send([$0.heartbeat()], on: $1, counter: 15) } == 3_000, "a lower counter")
        let broken = try down { peer, session in
            peer.lan.inject(
                peer.seal(plaintext: [1, 0, 10, 9], on: session, counter: 21), into: 0, from: peer.address)
        }
        #expect(broken == 3_000, "an error in its frames")
        let forged = try down { peer, session in
            var bytes = peer.seal([peer.heartbeat()], on: session, counter: 21)
            bytes[bytes.count - 1] ^= 1
            peer.lan.inject(bytes, into: 0, from: peer.address)
        }
        #expect(forged == 3_000, "a tag that does not fit")
    }

    @Test("a late datagram delivers its message and ack, and its status revives nothing (L-23, T-13, R15)")
    func late() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        peer.send([peer.heartbeat(typing: true)], on: session, counter: 30)
        peer.send([peer.heartbeat()], on: session, counter: 31)
        lan.forget()
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "late")
        peer.send([.typing(Status(isTyping: true, isAway: false)), .message(record)], on: session, counter: 29)
        #expect(lan.messages(0) == ["late"])
        #expect(lan.typing(0).isEmpty)
        _ = peer.arrived()
        peer.send([.typing(Status(isTyping: true, isAway: false)), .message(record)], on: session, counter: 29)
        #expect(lan.messages(0) == ["late"])
        #expect(peer.arrived().isEmpty, "a doubled datagram is not even acknowledged")
    }

    @Test("the replay window: 1,024 counters, and nothing that does not authenticate moves it (W-22, W-23)")
    func window() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        func isAccepted(_ counter: UInt64, break byte: Int? = nil) -> Bool {
            var bytes = peer.seal([.ping(UInt16(truncatingIfNeeded: counter))], on: session, counter: counter)
            if let byte { bytes[byte] ^= 0x80 }
            _ = peer.arrived()
            lan.inject(bytes, into: 0, from: peer.address)
            return peer.receive(on: session).contains { $0.pong == UInt16(truncatingIfNeeded: counter) }
        }
        #expect(isAccepted(2_000))
        #expect(!isAccepted(2_000))
        #expect(isAccepted(2_000 - 1_023))
        #expect(!isAccepted(2_000 - 1_024))
        #expect(!isAccepted(5_000, break: 20), "altered")
        #expect(isAccepted(1_500), "the altered one did not move the window")
        #expect(!isAccepted(2_500, break: 5), "another counter than it was sealed under")
        #expect(isAccepted(2_500))
        #expect(lan.drops(0, .unauthenticated) == 2)
    }

    @Test("counters begin at 0, grow by 1, and end at 2^32 - 3 (W-20)")
    func counters() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        var counters: [UInt32] = []
        _ = lan.hosts[0].sent.map { counters += peer.open([$0], on: session).map(\.counter) }
        _ = peer.arrived()
        peer.live(on: session, for: .seconds(20)) { counters.append($0.counter) }
        #expect(counters == (0..<UInt32(counters.count)).map { $0 })
        for (counter, isTaken) in [
            (UInt64(1) << 31, true), (1 << 32 - 4, true), (1 << 32 - 3, true), (1 << 32 - 2, false),
        ] {
            _ = peer.arrived()
            peer.send([.ping(6)], on: session, counter: counter)
            #expect(peer.receive(on: session).contains { $0.pong == 6 } == isTaken, "counter \(counter)")
        }
        #expect(lan.online(0) == ["Hand"])
    }

    @Test("under the last counter one bye alone is accepted, again and again, and the window stays (W-21, L-33, L-34)")
    func lastWill() throws {
        let will = Limits.lastWillCounter
        let rows: [(String, [Frame])] = [
            ("a heartbeat", [.heartbeat(Heartbeat(status: Status(isTyping: true, isAway: false), interval: 10))]),
            ("a status with the bye", [.typing(Status(isTyping: false, isAway: false)), .bye(.lastWill)]),
            ("a frame behind the bye", [.bye(.lastWill), .unknown(type: 0x40, body: [])]),
        ]
        for (name, frames) in rows {
            let lan = lonely()
            let peer = ScriptedPeer(lan, identity: 8)
            let session = try peer.link()
            peer.send(frames, on: session, counter: will)
            #expect(lan.online(0) == ["Hand"], "\(name)")
            #expect(!isTyping(lan), "\(name)")
            peer.send([.ping(3)], on: session)
            #expect(peer.receive(on: session).contains { $0.pong == 3 }, "\(name) moved the window")
            peer.send([peer.heartbeat(typing: true)], on: session)
            #expect(isTyping(lan))
            peer.send([.bye(.lastWill)], on: session, counter: will)
            #expect(lan.presences(0).last?.why == .will)
            #expect(!isTyping(lan), "typing ends at once (R7)")
            #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
        }
    }

    @Test("a last will is a bye: the node does not open to that peer for 60 s (L-35)")
    func afterLastWill() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.opened()
        peer.greet(on: session)
        lan.run(until: .at(1_000))
        peer.send([.bye(.lastWill)], on: session, counter: Limits.lastWillCounter)
        lan.forget()
        lan.run(for: .seconds(62))
        #expect(lan.initiationTimes(0).first == 61_000)
    }

    @Test("of more than 500 datagrams a second the surplus is dropped, and is evidence all the same (L-25)")
    func surplus() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        let session = try peer.link()
        let before = lan.hosts[0].endpoint.counters.sent[.pong] ?? 0
        func pongs() -> Int { (lan.hosts[0].endpoint.counters.sent[.pong] ?? 0) - before }
        for _ in 0..<1_100 { peer.send([.ping(1)], on: session) }
        #expect((990...1_000).contains(pongs()))
        let dropped = lan.drops(0, .peerLimit)
        #expect(dropped == 1_100 - pongs())
        peer.name = "Surplus"
        peer.send([peer.heartbeat(typing: true), peer.hello], on: session)
        #expect(lan.online(0) == ["Hand"] && !isTyping(lan))
        lan.run(for: .seconds(1))
        for _ in 0..<600 { peer.send([.ping(1)], on: session) }
        #expect((1_490...1_500).contains(pongs()))
        lan.run(for: .milliseconds(2_999))
        #expect(lan.online(0) == ["Hand"], "the last surplus was evidence")
        lan.run(for: .milliseconds(2))
        #expect(lan.online(0).isEmpty)
    }
}

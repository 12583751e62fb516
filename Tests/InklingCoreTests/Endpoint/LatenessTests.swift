import InklingWire
import Testing

@testable import InklingCore

/// Nodes that were stopped, and timers that come late.
@Suite("Lateness")
struct LatenessTests {
    @Test("A node in a chat has a timer due within a second at all times (L-46)")
    func timer() {
        let lan = TestLAN()
        lan.start(0)
        for _ in 0..<20 {
            let due = lan.nodes[0]?.endpoint.nextDeadline
            #expect(due.map { $0 - lan.now <= .seconds(1) } == true)
            lan.run(.ms(777))
        }
    }

    @Test("A message that its user takes late notices the lateness too (T-18, L-30)")
    func taken() {
        var stage = LinkStage(isShown: true)
        stage.receive([.typingOff, .text("x", number: 1)])
        stage.skip(.ms(1_600))
        stage.with { $0.messageTaken(1, now: $1) }
        #expect(stage.endpoint.counters.lateTimers == 1 && stage.endpoint.heldText == 0)
    }

    @Test("A message that waited shows after its author's typing ended (L-90, T-27)")
    func order() {
        var stage = LinkStage(isShown: true)
        stage.receive([.typingOn])
        stage.skip(.ms(1_900))
        stage.receive([.typingOff, .text("x", number: 1)])
        let last = stage.outputs.suffix(4).map(\.output).filter {
            switch $0 {
            case .typing, .message: true
            default: false
            }
        }
        if case .typing(_, let people)? = last.first, case .message? = last.last {
            #expect(people.isEmpty)
        } else {
            Issue.record("the list does not come before the message")
        }
    }

    @Test(
        "While catching up, evidence does not count and no link goes down; then one more ping and 125 ms (L-30, L-89)")
    func evidence() {
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat])
        stage.receive([.beat])
        stage.run(.seconds(1))
        stage.receive([.beat])
        stage.skip(.ms(2_000))
        let evidence = stage.link?.liveness.lastEvidence
        stage.receive([.beat])
        #expect(stage.link?.liveness.lastEvidence == evidence && stage.link?.liveness.isSuspect == true)
        stage.run(.ms(3_000))
        #expect(stage.isUp && stage.endpoint.wantsSocketDrained)
        #expect(stage.link?.liveness.isSpent == true)
        let pings = stage.pingTokens.count
        stage.with { $0.socketDrained(now: $1) }
        stage.run(.ms(10))
        #expect(stage.pingTokens.count == pings + 1 && stage.isUp)
        stage.run(.ms(120))
        #expect(!stage.isUp)
    }

    @Test("A link that lacks a name when catching up begins gets 10 s more, and no bye before its end (L-86, L-89)")
    func nameless() throws {
        for isNamed in [true, false] {
            var stage = LinkStage()
            stage.receive([.longBeat, .pong(try #require(stage.pingTokens.last))])
            stage.skip(.seconds(12))
            stage.receive([.beat])
            stage.run(.ms(2_000))
            #expect(stage.isUp && stage.endpoint.wantsSocketDrained)
            if isNamed { stage.receive([.typingOff, .name("Peer")]) }
            stage.receive([.beat])
            stage.with { $0.socketDrained(now: $1) }
            for _ in 1...5 {
                stage.receive([.longBeat])
                stage.run(.ms(1_500))
            }
            #expect(stage.link != nil)
            stage.receive([.longBeat])
            stage.run(.ms(1_000))
            #expect((stage.link != nil) == isNamed)
        }
    }

    @Test("While typing is announced, the heartbeat of L-82 is followed by one 500 ms later (T-8)")
    func beatAfterName() throws {
        var stage = LinkStage()
        stage.with { try? $0.compose("draft", in: World.chat, now: $1) }
        stage.receive([.longBeat, .pong(try #require(stage.pingTokens.last))])
        stage.run(.ms(100))
        stage.receive([.typingOff, .name("Peer")])
        let named = stage.now
        stage.run(.ms(1_100))
        #expect(stage.sent(0x01, since: named).map { $0.at - named } == [.zero, .ms(500), .ms(1_000)])
    }

    @Test("An ack that waited while the node stood still gives no round trip (M-32)")
    func untimelyAck() {
        for wait in [10, 1_600] {
            var stage = LinkStage(isShown: true)
            let before = stage.link?.sender.roundTrip
            stage.with { _ = try? $0.send("text", to: World.chat, now: $1) }
            stage.skip(.ms(wait))
            stage.receiveAck(next: 2)
            #expect((stage.link?.sender.roundTrip != before) == (wait == 10))
        }
    }

    @Test("A retransmission timer that shortens when its address is on-link again makes no timer late (L-30, M-11)")
    func shorterTimer() {
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat])
        stage.with { $0.setNetworks([], port: 4_000, now: $1) }
        stage.with { _ = try? $0.send("text", to: World.chat, now: $1) }
        stage.run(.ms(900))
        stage.with { $0.setNetworks([World.network(1)], port: 4_000, now: $1) }
        stage.with { $0.advance(to: $1) }
        #expect(!stage.endpoint.surroundings.isBehind)
    }

    @Test("Catching up ends after 4,096 datagrams (L-30)")
    func many() {
        var stage = LinkStage(isShown: true)
        stage.skip(.ms(1_600))
        stage.with { $0.advance(to: $1) }
        for _ in 0..<4_096 { stage.deliver([0x31]) }
        #expect(stage.endpoint.surroundings.isBehind)
        stage.receive([.beat])
        #expect(!stage.endpoint.surroundings.isBehind && stage.link?.liveness.lastEvidence == stage.now)
    }

    @Test("While catching up, no pong brings a link up (L-30)")
    func pong() {
        var stage = LinkStage()
        let token = stage.pingTokens.last ?? 0
        stage.skip(.ms(2_000))
        stage.receive([.beat, .pong(token)])
        #expect(!stage.isUp)
    }

    @Test(
        "After a long stop nobody was gone, and what is written at once arrives (L-42, L-103)", arguments: [70, 28_800])
    func longStop(seconds: Int) {
        let lan = TestLAN.pair()
        lan.run(.seconds(12))
        lan.stop(0)
        lan.run(.seconds(seconds))
        #expect(lan.links(1, to: 0).isEmpty)
        let start = lan.now
        lan.resume(0)
        lan.say(0, "back")
        lan.run(.ms(400))
        #expect(lan.messages(at: 1) == ["back"] && lan.counters(0).messagesDelivered == 1)
        let presences = lan.outputs(0, since: start).filter { if case .presence = $0 { true } else { false } }
        #expect(presences.isEmpty && lan.presence(1, at: 0) == .online)
    }

    @Test("A silent session of a down link outlives the start of catching up too (L-38)")
    func sessionOfDownLink() {
        var stage = LinkStage(isShown: true)
        stage.join(900, completion: 2)
        for counter in UInt32(41)...80 {
            stage.run(.seconds(1))
            stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: counter).encode())
        }
        stage.run(.seconds(5))
        #expect(stage.link?.isDown == true)
        stage.skip(.seconds(20))
        let start = stage.now
        stage.with { $0.advance(to: $1) }
        let ping = LinkStage.keys.peer.seal([.ping(7)], receiverIndex: LinkStage.nodeIndex, counter: 90)
        stage.deliver(ping.encode())
        #expect(stage.sent(0x07, since: start).count == 1)
    }

    @Test("A handshake after a stop goes to all addresses of the person, also if it had to wait (L-42)")
    func waitingHandshake() {
        for isStale in [false, true] {
            var stage = LinkStage(isShown: true)
            let addresses = [World.address(2), World.address(3)]
            stage.with { $0.found("1", chat: World.chat, key: World.key(1), addresses: addresses, now: $1) }
            let start = stage.now
            let id = stage.id
            stage.with { endpoint, now in
                endpoint.begin(now)
                if isStale { endpoint.links[id].liveness.stoodStill() }
                endpoint.links[id].nextRekey = now
                endpoint.advance(link: id, now)
                endpoint.finish()
            }
            let sent = stage.outputs.compactMap { at, output in
                if case .send(_, let address, .initiation) = output, at >= start { address } else { nil }
            }
            #expect(sent == (isStale ? addresses : [LinkStage.peerAddress]))
        }
    }

    @Test("A person whose sessions are too old after a sleep stays shown while a new one joins (L-103)")
    func newSession() {
        var stage = LinkStage(isShown: true)
        for _ in 0..<12 {
            stage.run(.seconds(1))
            stage.receive([.beat])
        }
        let before = stage.presences.count
        stage.skip(.seconds(28_800))
        stage.with { $0.advance(to: $1) }
        #expect(stage.link?.isDown == true)
        stage.join(900, completion: 2)
        stage.with { $0.socketDrained(now: $1) }
        for counter in UInt32(41)...43 {
            stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: counter).encode())
            stage.run(.ms(100))
        }
        #expect(stage.presences.count == before)
        stage.run(.seconds(4))
        #expect(stage.presences.last?.presence == .offline)
    }

    @Test("After a stop, a session that was silent for over 60 s still opens what waits in the socket (L-38)")
    func silentSession() {
        var stage = LinkStage(isShown: true)
        stage.join(900, completion: 2)
        stage.skip(.seconds(61))
        stage.receive([.text("waited", number: 1)])
        #expect(stage.texts == ["waited"])
        stage.with { $0.socketDrained(now: $1) }
        stage.receive([.beat])
        stage.run(.seconds(61))
        #expect(stage.link?.sessions.indices.contains(LinkStage.nodeIndex) != true)
    }

    @Test("A timer 500 ms late is not late, and one later is (L-30)")
    func threshold() {
        for (delay, isLate) in [(500, false), (501, true)] {
            var stage = LinkStage(isShown: true)
            let due = stage.endpoint.nextDeadline ?? stage.now
            stage.skip(due - stage.now + .ms(delay))
            stage.with { $0.advance(to: $1) }
            #expect(stage.endpoint.surroundings.isBehind == isLate)
        }
    }
}

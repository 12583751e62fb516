import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("After a stop or a sleep")
struct AwakeningTests {
    private let lobby = VirtualLAN.lobby.tag

    // MARK: What waited in the socket

    @Test("a stop that waited in the socket ends typing before the message behind it shows (L-30, M-9, R4)")
    func waitingStop() throws {
        let peer = try ScriptedPeer.linked()
        let lan = peer.lan
        peer.send(typing: true, counter: 10)
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "done")
        let stop = peer.seal([.typing(Status(isTyping: false, isAway: false)), .message(record)], counter: 20)
        let start = peer.seal([.typing(Status(isTyping: true, isAway: false))], counter: 19)
        lan.stop(0)
        lan.run(for: .milliseconds(2_500))
        peer.forget()
        // The timer is late: all that waited is read before the socket is empty.
        lan.perform(0) { $0.advance(to: $1) }
        #expect(lan.hosts[0].endpoint.wantsSocketDrained)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).count == 1, "its 3.0 s are not over")
        peer.inject(stop)
        let outputs = lan.hosts[0].log.map(\.output)
        guard outputs.count == 2, case .typing(_, []) = outputs[0], case .message = outputs[1] else {
            Issue.record("typing does not end before the message: \(outputs)")
            return
        }
        peer.inject(start)
        lan.perform(0) { $0.socketDrained(now: $1) }
        lan.resume(0)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).isEmpty)
    }

    @Test(
        "an older start that is read after the socket was empty does not revive what a waiting stop ended (L-30, T-13)")
    func olderStart() throws {
        let peer = try ScriptedPeer.linked()
        let lan = peer.lan
        peer.send(typing: true, counter: 10)
        lan.stop(0)
        lan.run(for: .milliseconds(2_500))
        lan.perform(0) { $0.advance(to: $1) }
        peer.send(typing: false, counter: 20)
        lan.perform(0) { $0.socketDrained(now: $1) }
        lan.resume(0)
        peer.send(typing: true, counter: 19)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).isEmpty)
        peer.send(typing: true, counter: 21)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).count == 1, "a newer one is shown")
    }

    @Test(
        "a waiting stop that is older than the last status ends nothing, and one that counts says nothing else (L-30, T-13)"
    )
    func olderStop() throws {
        let peer = try ScriptedPeer.linked()
        let lan = peer.lan
        peer.send(typing: true, counter: 10)
        lan.stop(0)
        lan.run(for: .milliseconds(2_500))
        lan.perform(0) { $0.advance(to: $1) }
        peer.send(typing: false, counter: 9)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).count == 1)
        peer.forget()
        peer.send(typing: false, away: true, counter: 20)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).isEmpty)
        #expect(lan.presences(0).isEmpty, "whether the peer is away now is not known")
    }

    @Test(
        "two nodes: who typed and sent while the other was stopped does not show as typing behind the message (L-30, R4)"
    )
    func stopped() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(400))
        lan.stop(1)
        lan.run(for: .milliseconds(900))
        lan.compose(0, "hi")
        lan.run(for: .milliseconds(100))
        lan.send(0, "hi")
        lan.run(for: .milliseconds(700))
        lan.forget()
        lan.resume(1)
        let outputs = lan.hosts[1].log.map(\.output)
        guard outputs.count == 2, case .typing(_, []) = outputs[0], case .message = outputs[1] else {
            Issue.record("\(outputs)")
            return
        }
        lan.run(for: .seconds(5))
        #expect(lan.typing(1).count == 1)
    }

    @Test("a node that had no link notices that it was stopped, and shows nothing that waited as new (L-46, L-30, R10)")
    func alone() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let opening = try peer.initiation()
        lan.run(for: .seconds(10))
        #expect(lan.hosts[0].endpoint.nextDeadline.map { $0 - lan.now <= .seconds(1) } == true)
        lan.stop(0)
        lan.run(for: .milliseconds(1_600))
        lan.resume(0)
        #expect(lan.hosts[0].endpoint.counters.lateTimers == 1)
        // A whole second without anything to do is no stop.
        lan.run(for: .seconds(10))
        #expect(lan.hosts[0].endpoint.counters.lateTimers == 1)
        // All this waited while the node was stopped.
        lan.stop(0)
        lan.run(for: .milliseconds(2_000))
        lan.perform(0) { $0.advance(to: $1) }
        #expect(lan.hosts[0].endpoint.wantsSocketDrained)
        let session = try peer.open(opening)
        peer.send([peer.heartbeat(typing: true), peer.hello], on: session)
        #expect(lan.online(0) == ["Hand"])
        #expect(lan.hosts[0].endpoint.typing(in: lobby).isEmpty)
        lan.resume(0)
        peer.send([peer.heartbeat(typing: true)], on: session)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).count == 1, "what comes from then on is new")
    }

    // MARK: Peers that have given the node up

    /// A node that slept, with a link to a peer at `VirtualLAN.address(100)`, which discovery lists at 101 too.
    private func asleep(_ identity: Int, for duration: Duration) throws -> (
        VirtualLAN, ScriptedPeer, ScriptedPeer.Session
    ) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        peer.interval = 10
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        let session = try peer.link()
        lan.run(for: .milliseconds(500))
        lan.stop(0)
        lan.run(for: duration)
        lan.forget()
        _ = peer.arrived()
        lan.resume(0)
        return (lan, peer, session)
    }

    @Test(
        "after a sleep of 3 s or more a handshake begins with the pings, at all candidates (L-42)",
        arguments: [("the smaller key", 8, 0), ("the larger key", 2, 300)])
    func handshake(_ row: (name: String, identity: Int, delay: Int)) throws {
        let (lan, peer, _) = try asleep(row.identity, for: .seconds(600))
        let start = lan.now.milliseconds
        lan.run(for: .milliseconds(row.delay))
        for address in [peer.address, VirtualLAN.address(101)] {
            #expect(lan.initiationTimes(0, to: address) == [start + row.delay])
        }
        // The peer has forgotten the link: it answers the handshake, and no ping.
        let (next, response) = try peer.answer(try lastInitiation(lan))
        lan.inject(response, into: 0, from: peer.address)
        peer.heldStream = 0
        peer.stream += 1
        peer.greet(on: next)
        peer.live(on: next, for: .seconds(3))
        #expect(lan.presences(0).isEmpty, "the user is told nothing")
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
        peer.send([peer.heartbeat(typing: true)], on: next)
        #expect(lan.hosts[0].endpoint.typing(in: lobby).count == 1)
    }

    @Test("after a stop that nobody can have noticed no handshake begins (L-42)")
    func shortStop() throws {
        let (lan, peer, session) = try asleep(8, for: .milliseconds(2_400))
        #expect(!peer.receive(on: session).isEmpty)
        peer.send([peer.heartbeat(), .pong(1)], on: session)
        peer.live(on: session, for: .seconds(5))
        #expect(lan.initiations(0).isEmpty)
    }

    @Test("a peer that answers neither ping nor handshake goes down after one round (L-42, L-30, L-27)")
    func nobody() throws {
        let (lan, _, _) = try asleep(8, for: .seconds(600))
        let start = lan.now.milliseconds
        lan.run(for: .milliseconds(1_249))
        #expect(lan.offline(0).isEmpty)
        lan.run(for: .milliseconds(1))
        #expect(lan.presences(0).map(\.at) == [start + 1_250])
        #expect(lan.hosts[0].endpoint.tableSizes.links == 0)
    }

    @Test(
        "a link whose session reached its two hours in a sleep stays for the new handshake (L-42, L-38)",
        arguments: [("in the sleep", 7_300_000), ("after the peer has answered", 7_199_900)])
    func twoHours(_ row: (name: String, wake: Int)) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        let session = try peer.opened()
        peer.greet(on: session)
        peer.live(on: session, for: .seconds(600), step: .milliseconds(750))
        lan.stop(0)
        lan.run(until: .at(row.wake))
        lan.forget()
        _ = peer.arrived()
        lan.resume(0)
        if row.wake < 7_200_000 {
            let ping = try #require(peer.receive(on: session).compactMap(\.ping).first)
            peer.send([peer.heartbeat(), .pong(ping)], on: session)
        }
        lan.run(for: .milliseconds(300))
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0, "no session is older than 2 h")
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
        let (next, response) = try peer.answer(try lastInitiation(lan))
        lan.inject(response, into: 0, from: peer.address)
        peer.greet(on: next)
        peer.live(on: next, for: .seconds(20))
        #expect(lan.presences(0).isEmpty, "nobody was away")
        lan.send(0, "back")
        #expect(peer.receive(on: next).contains { $0.frames.contains { $0.isMessage } })
    }

    @Test(
        "two nodes, one of which slept past all sessions: it tells nothing of the other (L-42, L-38)",
        arguments: [0, 1])
    func twoNodesAsleep(_ sleeper: Int) {
        let lan = pair()
        lan.run(until: .at(60_000))
        lan.stop(sleeper)
        lan.run(until: .at(7_300_000))
        lan.forget()
        lan.resume(sleeper)
        lan.run(for: .seconds(2))
        #expect(lan.presences(sleeper).isEmpty)
        lan.expectWorking(0, 1)
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Restarts and farewells")
struct RestartTests {
    private let lobby = VirtualLAN.lobby.tag

    @Test(
        "a killed node that starts again is back at once; typing and messages go to its new run (L-31, L-21, R22, R24)",
        arguments: [0, 1])
    func restart(_ killed: Int) {
        let lan = pair()
        let other = 1 - killed
        lan.compose(killed, "typing")
        lan.run(for: .milliseconds(50))
        let next = lan.restart(killed, identity: killed, name: "again")
        lan.discover(other, by: next)
        lan.run(for: .milliseconds(400))
        #expect(lan.online(other) == ["again"], "one person, by the newest name")
        #expect(lan.online(next).count == 1)
        #expect(lan.hosts[other].endpoint.tableSizes.links == 2, "the old run is suspect, and not removed")
        lan.run(for: .milliseconds(1_200))
        #expect(lan.hosts[other].endpoint.tableSizes.links == 1, "its round of pings has begun at once")
        #expect(lan.offline(other).isEmpty, "the person was never away")
        #expect(lan.hosts[other].endpoint.typing(in: lobby).isEmpty)
        lan.expectWorking(other, next)
    }

    @Test("a new run makes the other links of that key suspect, pings at once, and removes none (L-31)")
    func newRun() throws {
        let lan = lonely()
        let first = ScriptedPeer(lan, identity: 8, seed: 1)
        let session = try first.link()
        lan.run(until: .at(1_000))
        _ = first.arrived()
        let second = ScriptedPeer(lan, identity: 8, address: VirtualLAN.address(101), name: "Two", seed: 2)
        _ = try second.link()
        lan.run(for: .zero)
        #expect(first.receive(on: session).compactMap(\.ping).count == 1)
        lan.run(for: .milliseconds(300))
        first.send([first.heartbeat(), .pong(1)], on: session)
        lan.run(for: .seconds(20))
        #expect(lan.hosts[0].endpoint.tableSizes.links == 2)
        #expect(lan.presences(0).map(\.presence) == [.online, .online], "a name changed, nothing else")
    }

    @Test("two devices of one identity are one person to others and nobody to each other (R11, R24, D-7, L-31)")
    func twoDevices() {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "A")
        lan.add(identity: 1, name: "B", run: 1)
        lan.add(identity: 1, name: "B", run: 2)
        lan.discoverAll()
        lan.run(for: .seconds(5))
        #expect(lan.online(0) == ["B"])
        #expect(lan.hosts[0].endpoint.tableSizes.links == 2)
        #expect(lan.online(1) == ["A"] && lan.online(2) == ["A"])
        #expect(lan.presences(0).count == 1)
        lan.expectWorking(0, 1)
        lan.expectWorking(0, 2)
        lan.perform(1) { $0.quit(now: $1) }
        lan.run(for: .seconds(1))
        #expect(lan.online(0) == ["B"], "the other device is there")
        #expect(lan.offline(0).isEmpty)
        lan.perform(2) { $0.quit(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(lan.offline(0) == [.bye])
    }

    // MARK: Bye

    @Test(
        "a farewell goes at once and after 30 and 120 ms, and the session is used no more (L-32, R22)",
        arguments: [("quit", ByeReason.quit), ("leave", .left), ("suspend", .suspended), ("block", .removed)])
    func farewell(_ row: (name: String, reason: ByeReason)) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        lan.run(until: .at(5_000))
        _ = peer.arrived()
        let user = peer.identity.publicKey.userID
        lan.perform(0) { endpoint, now in
            switch row.reason {
            case .quit: endpoint.quit(now: now)
            case .left: try? endpoint.leave(VirtualLAN.lobby.tag, now: now)
            case .suspended: endpoint.suspend(now: now)
            default: endpoint.block(user, now: now)
            }
        }
        lan.run(for: .seconds(5))
        let packets = peer.arrived()
        let byes = peer.open(packets, on: session)
        #expect(byes.map(\.frames) == Array(repeating: [.bye(row.reason)], count: 3))
        #expect(byes.map(\.at.milliseconds) == [5_000, 5_030, 5_120])
        #expect(packets.count == 3)
        #expect(!lan.hosts[0].endpoint.hasFarewells)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
    }

    @Test(
        "a farewell goes on each session of the link, whichever the peer takes for the last one (L-32, L-34)",
        arguments: [false, true])
    func farewellOnEach(_ isGreeting: Bool) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        lan.run(for: .milliseconds(10))
        let second: ScriptedPeer.Session
        if isGreeting {
            // A second handshake is complete, and the peer's hello has not come on it.
            peer.send([.bye(.unheard)], on: first)
            lan.run(for: .milliseconds(1))
            let (session, response) = try peer.answer(try lastInitiation(lan))
            lan.inject(response, into: 0, from: peer.address)
            second = session
        } else {
            second = try peer.link()
        }
        lan.run(for: .milliseconds(10))
        _ = peer.arrived()
        let start = lan.now.milliseconds
        lan.perform(0) { endpoint, now in endpoint.quit(now: now) }
        lan.run(for: .seconds(1))
        let packets = peer.arrived()
        for session in [first, second] {
            let byes = peer.open(packets, on: session).filter { $0.bye != nil }
            #expect(byes.map(\.bye) == [.quit, .quit, .quit])
            #expect(byes.map { $0.at.milliseconds - start } == [0, 30, 120])
        }
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
    }

    @Test(
        "a bye ends its link at once, whatever its counter (L-34, R6)",
        arguments: [ByeReason.quit, .left, .suspended, .removed])
    func bye(_ reason: ByeReason) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        peer.send([peer.heartbeat(typing: true)], on: session, counter: 100)
        lan.run(for: .milliseconds(100))
        peer.send([.bye(reason)], on: session, counter: 50)
        #expect(lan.presences(0).last?.presence == .offline)
        #expect(lan.presences(0).last?.why == .bye)
        #expect(lan.presences(0).last?.at == 100)
        #expect(lan.typing(0).last?.names == [], "offline users never show as typing (R14)")
        #expect(lan.hosts[0].endpoint.tableSizes.links == 0)
    }

    @Test("a bye on an older session ends that session alone, once the newer one has the peer's hello (L-34, R15)")
    func lateBye() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        let second = try peer.open()
        peer.greet(on: second)
        peer.send([.bye(.quit)], on: first)
        #expect(lan.offline(0).isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1)
        peer.send([.bye(.quit)], on: second)
        #expect(lan.offline(0) == [.bye])
    }

    @Test("a bye ends the link while a newer session still awaits the peer's hello (L-34)")
    func byeBeforeNewerHello() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let first = try peer.link()
        let second = try peer.open()
        peer.send([peer.heartbeat()], on: second)
        peer.send([.bye(.quit)], on: first)
        #expect(lan.offline(0) == [.bye])
        // That session makes the link again.
        peer.heldStream = 0
        peer.greet(on: second)
        #expect(lan.online(0) == ["Hand"])
    }

    @Test(
        "after a bye discovered instances rest for 60 s, whatever discovery says; the peer's initiation is answered (L-35)"
    )
    func rest() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        var session = try peer.link()
        lan.run(until: .at(1_000))
        lan.forget()
        peer.send([.bye(.suspended)], on: session)
        lan.run(for: .seconds(20))
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        lan.run(for: .seconds(39))
        #expect(lan.initiations(0).isEmpty)
        lan.run(for: .seconds(2))
        #expect(lan.initiationTimes(0, to: peer.address).first == 61_000)
        #expect(lan.initiationTimes(0, to: VirtualLAN.address(101)).first == 61_000, "it was told of the new address")
        session = try peer.link()
        peer.send([.bye(.suspended)], on: session)
        lan.run(for: .seconds(5))
        session = try peer.link()
        #expect(lan.online(0) == ["Hand"])
    }

    @Test("after a bye one attempt is made each 60 s (L-35, L-5)")
    func slow() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let session = try peer.link()
        lan.forget()
        peer.send([.bye(.quit)], on: session)
        lan.run(for: .seconds(600))
        let attempts = Set(lan.initiations(0).map(\.bytes)).count
        #expect((8...13).contains(attempts))
    }

    @Test(
        "a node that was suspended is back at once on its return, and keeps its run (R6, R22, L-35)",
        arguments: [0, 1], [1, 30, 200])
    func suspended(_ index: Int, _ seconds: Int) {
        let lan = pair()
        let other = 1 - index
        lan.compose(index, "typing")
        lan.run(for: .milliseconds(20))
        lan.perform(index) { $0.suspend(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(lan.offline(other) == [.bye])
        #expect(lan.hosts[other].endpoint.typing(in: lobby).isEmpty)
        #expect(lan.hosts[index].endpoint.tableSizes.links == 0)
        lan.run(for: .milliseconds(seconds * 1_000))
        #expect(lan.online(other).isEmpty)
        lan.perform(index) { $0.resume(now: $1) }
        lan.run(for: .milliseconds(400))
        #expect(lan.hosts[other].endpoint.typing(in: lobby).isEmpty, "never a stale status")
        lan.expectWorking(0, 1)
    }

    @Test("a suspended node sends nothing but its farewell and takes nothing")
    func suspendedIsQuiet() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        _ = try peer.link()
        lan.perform(0) { $0.suspend(now: $1) }
        lan.run(for: .milliseconds(200))
        lan.forget()
        #expect(peer.exchange(try peer.initiation().bytes).isEmpty)
        lan.find("a", key: VirtualLAN.identities[9].publicKey, at: [VirtualLAN.address(101)])
        lan.compose(0, "x")
        #expect(lan.send(0, "x") == 0)
        lan.run(for: .seconds(100))
        #expect(lan.hosts[0].sent.isEmpty)
        lan.perform(0) { $0.resume(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(lan.initiations(0, to: VirtualLAN.address(101)).count == 1)
    }

    @Test("a lost farewell is healed by its copies; the loss of all by silence (L-32, R7)", arguments: [0, 1, 2, 3])
    func lostFarewells(_ lost: Int) {
        let lan = pair()
        let quit = lan.now.milliseconds
        var count = 0
        lan.transit = { packet in
            guard packet.source == VirtualLAN.address(0) else { return [.microseconds(200)] }
            count += 1
            return count <= lost ? [] : [.microseconds(200)]
        }
        lan.perform(0) { $0.quit(now: $1) }
        lan.run(for: .seconds(4))
        let last = lan.presences(1).last
        #expect(last?.presence == .offline)
        #expect((last?.at ?? .max) - quit <= [1, 31, 121, 3_000][lost])
        #expect(last?.why == (lost == 3 ? .silence : .bye))
    }

    @Test("two runs of a seed are equal to the byte")
    func deterministic() {
        func run() -> [[[UInt8]]] {
            let lan = VirtualLAN()
            var random = SeededGenerator(seed: 11)
            lan.transit = { _ in
                Int.random(in: 0..<10, using: &random) == 0
                    ? [] : [.microseconds(Int.random(in: 200...30_000, using: &random))]
            }
            for index in 0..<4 { lan.add(identity: index) }
            lan.discoverAll()
            lan.run(for: .seconds(3))
            for index in 0..<4 {
                lan.compose(index, "text")
                lan.send(index, "message")
            }
            lan.perform(1) { $0.addPeer(PeerByHandTests.far, now: $1) }
            lan.run(for: .seconds(3))
            lan.kill(3)
            lan.perform(2) { $0.suspend(now: $1) }
            lan.run(for: .seconds(6))
            lan.perform(2) { $0.resume(now: $1) }
            lan.run(for: .seconds(4))
            return lan.hosts.map { $0.sent.map(\.bytes) }
        }
        let first = run()
        #expect(first == run())
        #expect(first.allSatisfy { $0.count > 10 })
    }
}

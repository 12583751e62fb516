import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Crossed openings")
struct CrossingTests {
    /// How two openings come to cross; what each sent is on its way.
    enum Start: String, CaseIterable {
        case inTheSameInstant, smallerAfterItAnswered, largerAfterItAnswered

        var wire: Wire {
            var wire = Wire()
            switch self {
            case .inTheSameInstant:
                wire.discover(0, by: 1)
                wire.wait(until: .at(300))
                wire.discover(1, by: 0)
            case .smallerAfterItAnswered:
                wire.discover(0, by: 1)
                wire.wait(until: .at(300))
                wire.deliver(0)
                wire.discover(1, by: 0)
            case .largerAfterItAnswered:
                wire.discover(1, by: 0)
                wire.wait(until: .zero)
                wire.deliver(0)
                wire.discover(0, by: 1)
                // The smaller one's second transmission may be under way as well.
                wire.wait(until: .at(300))
            }
            wire.wait(until: .at(300))
            return wire
        }
    }

    @Test(
        "initiations, responses and hellos of both, in every order of arrival, lead to one working link (L-14, L-15, L-21)",
        arguments: Start.allCases)
    func orders(_ start: Start) {
        var count = 0
        start.wire.explore(depth: 5) { wire, path in
            var wire = wire
            wire.settle(for: .milliseconds(250))
            let faults = wire.faults()
            #expect(faults.isEmpty, "\(path): \(faults)")
            count += 1
            guard count % 4 == 0 else { return }
            wire.settle(for: .seconds(14))
            let sessions = wire.endpoints.map(\.tableSizes.sessions)
            #expect(sessions == [1, 1], "one session is left on each side:\(path)")
            #expect(wire.losses(0) + wire.losses(1) == 0, "\(path)")
        }
        #expect(count >= 10)
    }

    @Test(
        "with one of the datagrams lost or doubled, in every order of arrival, it heals in 400 ms (L-4, L-14, L-15, L-16)",
        arguments: Start.allCases)
    func faults(_ start: Start) {
        var count = 0
        start.wire.explore(depth: 3, faults: 1) { wire, path in
            var wire = wire
            wire.settle(for: .milliseconds(400))
            let faults = wire.faults()
            #expect(faults.isEmpty, "\(path): \(faults)")
            #expect(wire.losses(0) + wire.losses(1) == 0, "\(path)")
            count += 1
        }
        #expect(count > 25)
    }

    @Test(
        "the larger key answers and abandons its own (L-14)",
        arguments: ["source among its candidates", "the only one pending"])
    func larger(_ row: String) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        let isCandidate = row == "source among its candidates"
        lan.find("a", key: peer.identity.publicKey, at: [isCandidate ? peer.address : VirtualLAN.address(101)])
        lan.run(for: .milliseconds(320))
        let own = try lastInitiation(lan)
        let (late, response) = try peer.answer(own)
        _ = try peer.open()
        lan.forget()
        lan.run(for: .seconds(4))
        #expect(!lan.initiations(0).contains { $0.bytes == own.encode() })
        _ = peer.arrived()
        lan.inject(response, into: 0, from: peer.address)
        #expect(peer.receive(on: late).isEmpty, "its index is no longer pending")
        // The peer's handshake came to nothing: there is another attempt, later.
        lan.run(for: .seconds(3))
        #expect(!lan.initiations(0).isEmpty)
    }

    @Test("the larger key abandons the one that was sent to the source, and no other (L-14)")
    func largerOfTwo() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        let other = VirtualLAN.address(101)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        lan.find("b", key: peer.identity.publicKey, at: [other])
        lan.run(for: .milliseconds(320))
        _ = try peer.open()
        lan.forget()
        lan.run(for: .milliseconds(2_500))
        #expect(lan.initiations(0, to: peer.address).isEmpty)
        #expect(!lan.initiations(0, to: other).isEmpty)
    }

    @Test("recorded initiations that are sent again make the larger key give way three times, and no more (L-55)")
    func replays() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 0)
        let recorded = try (0..<40).map { _ in try peer.initiation().bytes }
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        var next = 0
        // Whoever replays them sends one whenever the node opens.
        while lan.now < .at(30_000) {
            let before = lan.initiations(0).count
            lan.run(for: .milliseconds(100))
            guard lan.initiations(0).count > before || lan.now < .at(300), next < recorded.count else { continue }
            lan.inject(recorded[next], into: 0, from: VirtualLAN.address(66))
            next += 1
        }
        let times = lan.initiationTimes(0)
        #expect(next > 4)
        // Each of the three turns costs 5 s; then attempts follow one another as they do without anybody's.
        #expect(times.filter { $0 > 16_000 }.count >= 8, "\(times)")
        lan.forget()
        lan.run(for: .seconds(3))
        while lan.now < .at(40_000), lan.initiations(0).last?.at != lan.now { lan.run(for: .milliseconds(1)) }
        try peer.answerNewest()
        #expect(lan.hosts[0].endpoint.counters.handshakesCompleted == 1)
    }

    @Test("a peer that confirms what it began is given way to as ever (L-55)")
    func confirmedTurns() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 0)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        for _ in 0..<6 {
            lan.run(for: .milliseconds(200))
            let session = try peer.open()
            peer.send([.ping(1)], on: session)
            #expect(lan.initiations(0).isEmpty)
            lan.run(for: .milliseconds(2_000))
        }
        #expect(lan.initiations(0).isEmpty, "it waits as long as such a session awaits the hello")
    }

    @Test("with two pending and the source among neither's candidates the larger key abandons none (L-14)")
    func largerOfNeither() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        lan.find("a", key: peer.identity.publicKey, at: [VirtualLAN.address(101)])
        lan.find("b", key: peer.identity.publicKey, at: [VirtualLAN.address(102)])
        lan.run(for: .milliseconds(320))
        _ = try peer.open()
        lan.forget()
        lan.run(for: .seconds(1))
        #expect(Set(lan.initiations(0).map(\.destination)).count == 2)
    }

    @Test("the smaller key answers and goes on; a sealed datagram on the peer's session ends its own (L-15)")
    func smallerBefore() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        lan.run(for: .milliseconds(1))
        let own = try lastInitiation(lan)
        let (late, response) = try peer.answer(own)
        let session = try peer.open()
        lan.forget()
        lan.run(for: .seconds(1))
        #expect(lan.initiations(0).allSatisfy { $0.bytes == own.encode() })
        #expect(lan.initiations(0).count >= 1)
        peer.greet(on: session)
        lan.forget()
        _ = peer.arrived()
        lan.inject(response, into: 0, from: peer.address)
        #expect(peer.receive(on: late).isEmpty)
        peer.live(on: session, for: .seconds(5))
        #expect(lan.initiations(0).isEmpty)
    }

    @Test(
        "the smaller key keeps the peer's session as an older one if its own was complete before (L-15, L-21, L-48)",
        arguments: ["answered while pending", "answered before it began"])
    func smallerAfter(_ row: String) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        var theirs: ScriptedPeer.Session?
        if row == "answered before it began" { theirs = try peer.open() }
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        lan.run(for: .milliseconds(1))
        let own = try lastInitiation(lan)
        if row == "answered while pending" { theirs = try peer.open() }
        let older = try #require(theirs)
        let (mine, response) = try peer.answer(own)
        lan.inject(response, into: 0, from: peer.address)
        _ = peer.arrived()
        peer.send([peer.heartbeat(), peer.hello], on: older)
        peer.greet(on: mine)
        _ = peer.arrived()
        // Statuses of the newer session count, those of the older one no longer do.
        peer.send([peer.heartbeat(typing: true)], on: older)
        #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
        peer.send([peer.heartbeat(typing: true)], on: mine)
        #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).count == 1)
        // It still receives: a ping on it is answered on the one that sends.
        peer.send([.ping(7)], on: older)
        let packets = peer.arrived()
        #expect(peer.open(packets, on: mine).contains { $0.pong == 7 })
        #expect(peer.open(packets, on: older).isEmpty)
        lan.run(for: .seconds(3))
        #expect(peer.receive(on: older).isEmpty, "an older session only receives")
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
    }

    @Test(
        "nodes that find each other in the same instant, over and over, always end with one working link (L-14, L-15, R24)",
        arguments: 0..<6)
    func simultaneous(_ seed: Int) {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "A")
        lan.add(identity: 1, name: "B")
        var random = SeededGenerator(seed: UInt64(seed))
        lan.transit = { _ in
            Int.random(in: 0..<10, using: &random) == 0
                ? [] : [.microseconds(Int.random(in: 200...60_000, using: &random))]
        }
        lan.discover(0, by: 1)
        lan.run(until: .at(290))
        lan.discover(1, by: 0)
        lan.run(for: .seconds(4))
        lan.transit = { _ in [.microseconds(200)] }
        lan.run(for: .seconds(1))
        lan.expectWorking(0, 1)
        #expect(lan.hosts.map(\.endpoint.tableSizes.links) == [1, 1])
    }
}

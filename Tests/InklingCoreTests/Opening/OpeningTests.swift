import InklingWire
import Testing

@testable import InklingCore

/// How a node opens to peers that are absent, and to peers that are present.
@Suite("Openings")
struct OpeningTests {
    /// Returns a network with a node that knows a silent instance at some addresses.
    private func alone(identity: Int = 0, at addresses: [Address], seed: UInt64 = 1) -> TestLAN {
        let lan = TestLAN(seed: seed)
        lan.start(0, identity: identity)
        find(lan, "i", key: 5, at: addresses)
        lan.run(.zero)
        return lan
    }

    private func find(_ lan: TestLAN, _ name: String, key: Int, at addresses: [Address]) {
        lan.with(0) { $0.found(name, chat: World.chat, key: World.key(key), addresses: addresses, now: $1) }
    }

    /// Returns the attempts of a node, each as the times of its transmissions.
    private func attempts(_ lan: TestLAN, to address: Address) -> [[Instant]] {
        var order: [ArraySlice<UInt8>] = []
        var times: [ArraySlice<UInt8>: [Instant]] = [:]
        for sent in lan.sent(by: 0, .initiation) where sent.to == address {
            let index = sent.bytes[1...4]
            if times[index] == nil { order.append(index) }
            times[index, default: []].append(sent.at)
        }
        return order.map { times[$0] ?? [] }
    }

    @Test("Pauses are 0, 1.25 and 2.5 s, and from 90 s on an attempt begins each minute (L-5)", arguments: 1...3)
    func pauses(seed: Int) {
        let lan = alone(at: [World.address(9)], seed: UInt64(seed))
        lan.run(.seconds(400))
        let begins = attempts(lan, to: World.address(9)).compactMap(\.first)
        let gaps = zip(begins, begins.dropFirst()).map { $1 - $0 }
        #expect(gaps[0] == .seconds(3))
        #expect(gaps[1] >= .ms(3_000 + 937) && gaps[1] <= .ms(3_000 + 1_563))
        for (begin, gap) in zip(begins, gaps).dropFirst(2) {
            if begin < .zero + .seconds(83) {
                #expect(gap >= .ms(3_000 + 1_875) && gap <= .ms(3_000 + 3_125))
            } else if begin > .zero + .seconds(90) {
                #expect(gap >= .seconds(45) && gap <= .seconds(75))
            }
        }
        let keys = Set(lan.sent(by: 0, .initiation).map { $0.bytes[13..<45] })
        #expect(keys.count == begins.count)
    }

    @Test("A transmission goes to all candidates of uncovered instances; the first response completes it (L-2)")
    func allCandidates() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        for host in 40..<43 { find(lan, "dead \(host)", key: 1, at: [World.address(host)]) }
        lan.list(1, to: 0)
        lan.run(.seconds(1))
        #expect(lan.isUp(0, to: 1))
        let first = lan.sent(by: 0, .initiation).filter { $0.at < .ms(310) }
        #expect(first.contains { $0.to == World.address(40) })
    }

    @Test("New candidates join the next transmission of an attempt under way (L-102)")
    func newCandidates() {
        let lan = alone(at: [World.address(9)])
        lan.run(.ms(100))
        find(lan, "i", key: 5, at: [World.address(9), World.address(10)])
        lan.run(.ms(500))
        let sent = lan.sent(by: 0, .initiation)
        #expect(Set(sent.map { $0.bytes[1...4] }).count == 1)
        #expect(sent.contains { $0.to == World.address(10) })
    }

    @Test("New candidates begin a waiting opening again with the first attempt (L-102)")
    func restart() {
        let lan = alone(at: [World.address(9)])
        lan.run(.seconds(200))
        let start = lan.now
        find(lan, "i", key: 5, at: [World.address(9), World.address(10)])
        lan.run(.seconds(7))
        let begins = attempts(lan, to: World.address(9)).compactMap(\.first).filter { $0 >= start }
        #expect(begins.first == start && begins.dropFirst().first == start + .seconds(3))
    }

    @Test("An answered attempt that brings no link up begins no other at once (L-5)")
    func relayed() {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        lan.start(2, identity: 1)
        lan.listAll()
        lan.run(.seconds(12))
        lan.kill(2)
        lan.with(0) { $0.lost("2", chat: World.chat, now: $1) }
        lan.run(.ms(3_000))
        let (start, completed) = (lan.now, lan.counters(0).handshakesCompleted)
        for _ in 0..<1_000 {
            // A relay at the dead node's address passes handshakes on to the other node.
            for sent in lan.sent(by: 0, .initiation, since: lan.now) where sent.to == World.address(3) {
                lan.inject(sent.bytes, from: World.address(9), to: 1)
            }
            for sent in lan.sent(by: 1, .response, since: lan.now) where sent.to == World.address(9) {
                lan.inject(sent.bytes, from: World.address(3), to: 0)
            }
            lan.run(.ms(1))
        }
        let begun = Set(lan.sent(by: 0, .initiation, since: start).map { $0.bytes[1...4] }).count
        #expect(lan.counters(0).handshakesCompleted > completed && begun <= 3)
    }

    @Test("A node whose peer opened, and whose link does not come up within 3 s, opens too (L-2)")
    func peerOpened() throws {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        lan.list(0, to: 1)
        // The pongs to node 0 get lost, so its link stays down.
        lan.filter = { $0.kind != .pong && $0.kind != .heartbeat }
        lan.run(.ms(500))
        let joined = try #require(lan.link(0, to: 1)?.madeAt)
        lan.run(until: joined + .ms(2_999))
        #expect(lan.sent(by: 0, .initiation).isEmpty)
        lan.run(.ms(10))
        #expect(lan.sent(by: 0, .initiation).isEmpty == false)
        let normal = TestLAN.pair()
        #expect(normal.sent(by: 1, .initiation).isEmpty || normal.sent(by: 0, .initiation).isEmpty)
    }

    @Test("News without end keeps no attempt from its response (L-102)")
    func endlessNews() {
        let lan = TestLAN()
        lan.delay = .ms(100)
        lan.start(0)
        lan.start(1)
        lan.list(1, to: 0)
        for index in 0..<40 where !lan.isUp(0, to: 1) {
            find(lan, "forged", key: 1, at: [World.address(20 + index)])
            lan.run(.ms(50))
        }
        #expect(lan.isUp(0, to: 1))
    }

    @Test("Devices of two identities all have their links within a second (L-102)")
    func devices() {
        let lan = TestLAN()
        for id in 0..<4 { lan.start(id, identity: id / 2) }
        lan.listAll()
        lan.run(.seconds(1))
        for (id, other) in [(0, 1), (1, 1), (2, 0), (3, 0)] {
            let links = lan.nodes[id]?.endpoint.links.links(of: World.person(other)) ?? []
            #expect(links.count { !$0.isDown } == 2, "node \(id)")
        }
    }

    @Test("A covered place gets no attempts after the peer moved (L-2)")
    func movedPeer() {
        let lan = TestLAN.pair()
        lan.run(.seconds(12))
        lan.move(1, to: World.address(32))
        lan.run(.seconds(5))
        let start = lan.now
        #expect(lan.link(0, to: 1)?.address == World.address(32) && lan.isUp(0, to: 1))
        lan.run(.seconds(20))
        #expect(lan.sent(by: 0, .initiation, since: start).isEmpty)
    }

    @Test("A restarted peer is found at once, however long the node tried in vain (L-102)")
    func returned() {
        let lan = alone(identity: 0, at: [World.address(9)])
        lan.run(.seconds(300))
        lan.start(1, identity: 5)
        lan.list(1, to: 0)
        lan.run(.ms(400))
        #expect(lan.isUp(0, to: 5))
    }

    @Test("Changed networks begin openings again, and resting instances stay at rest (L-40, L-35)")
    func networks() {
        let lan = alone(at: [World.address(9)])
        lan.run(.seconds(200))
        let start = lan.now
        lan.with(0) { $0.setNetworks([World.network(1), World.network(3)], port: 4_000, now: $1) }
        lan.run(.seconds(4))
        #expect(attempts(lan, to: World.address(9)).compactMap(\.first).filter { $0 >= start }.count == 2)
        let met = TestLAN.pair()
        met.with(1) { $0.quit(now: $1) }
        met.run(.seconds(1))
        let rest = met.now
        met.with(0) { $0.setNetworks([World.network(1), World.network(3)], port: 4_000, now: $1) }
        met.run(.seconds(20))
        #expect(met.sent(by: 0, .initiation, since: rest).isEmpty)
    }

    @Test("At most 200 initiations a second go out, 150 to strangers, and 64 are pending, 48 of strangers (L-6)")
    func limits() {
        let lan = TestLAN()
        lan.start(0)
        var generator = Seeded(50)
        let keys = (0..<120).map { _ in KeyPair(using: &generator).publicKey }
        for (index, key) in keys.enumerated() {
            lan.with(0) { endpoint, now in
                endpoint.found(
                    "\(index)", chat: World.chat, key: key,
                    addresses: (0..<4).map { World.address(20 + $0, port: UInt16(5_000 + index)) }, now: now)
            }
        }
        for _ in 0..<80 {
            lan.run(.ms(50))
            #expect(lan.nodes[0]?.endpoint.handshakes.count ?? 0 <= 48)
        }
        let times = lan.sent(by: 0, .initiation).map(\.at)
        for (index, at) in times.enumerated() where index + 150 < times.count {
            #expect(times[index + 150] - at >= .seconds(1))
        }
    }

    @Test("A first attempt replaces the pending one with the most attempts, two at least (L-98)")
    func replacement() {
        let lan = TestLAN()
        lan.start(0)
        var generator = Seeded(51)
        for index in 0..<60 {
            let key = KeyPair(using: &generator).publicKey
            lan.with(0) { endpoint, now in
                endpoint.found(
                    "\(index)", chat: World.chat, key: key, addresses: [World.address(20, port: UInt16(5_000 + index))],
                    now: now)
            }
        }
        lan.run(.seconds(8))
        let start = lan.now
        lan.start(1)
        lan.list(1, to: 0)
        lan.run(.seconds(2))
        #expect(lan.isUp(0, to: 1))
        #expect(lan.sent(by: 0, .initiation, since: start).contains { $0.to == World.address(2) })
    }

    @Test("A silent address gets 4 initiations a second with a burst of 40, the last 10 for favoured ones (L-54)")
    func silentAddress() {
        var effects = Effects(random: Seeded(1))
        var limits = InitiationLimits()
        let address = World.address(9)
        func take(_ isFavoured: Bool, _ now: Instant) -> Bool {
            limits.take([address], isFavoured: isFavoured, &effects, now: now) != nil
        }
        #expect((0..<60).count { _ in take(false, .zero) } == 30)
        #expect((0..<60).count { _ in take(true, .zero) } == 10)
        #expect((0..<60).count { _ in take(true, .ms(1_000)) } == 4)
        limits.answered(from: address, &effects)
        #expect((0..<60).count { _ in take(false, .ms(2_001)) } == 60)
    }

    @Test("A peer that moved during a cut is found at its new address (L-81)")
    func bothMoved() {
        let lan = TestLAN.pair()
        lan.run(.seconds(12))
        lan.cuts = [[0, 1], [1, 0]]
        lan.run(.seconds(5))
        lan.move(0, to: World.address(31))
        lan.move(1, to: World.address(32))
        lan.say(0, "still there")
        lan.cuts = []
        lan.listAll()
        lan.run(.seconds(6))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        #expect(lan.link(0, to: 1)?.address == World.address(32) && lan.messages(at: 1) == ["still there"])
    }
}

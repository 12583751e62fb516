import InklingWire
import Testing

@testable import InklingCore

/// The rules of links that the vectors do not cover.
@Suite("Links")
struct LinkTests {
    @Test("A status that came before record 0 shows with it (L-85)")
    func statusBefore() throws {
        var stage = LinkStage()
        stage.receive([.beat, .pong(try #require(stage.pingTokens.last))])
        stage.receive([.typing(Status(isTyping: true, isAway: true))])
        #expect(stage.presences.isEmpty && stage.lists.isEmpty)
        stage.receive([.typing(Status(isTyping: true, isAway: true)), .name("Peer")])
        #expect(stage.presences.map(\.presence) == [.away])
        #expect(stage.lists.map(\.isTyping) == [true])
    }

    @Test("A chat out of epochs gets another run, and its links end (L-60)")
    func outOfEpochs() {
        var stage = LinkStage(isShown: true)
        stage.endpoint.epochs[World.chat] = Epochs(run: 5, counter: .max)
        stage.receive([.bye(.quit)])
        #expect(stage.endpoint.run(in: World.chat) != 5)
        #expect(stage.endpoint.epoch(of: World.person(1)) == 0)
    }

    @Test("A session that completes under an old counter ends the link after 3 s, unless one passes (L-93)")
    func oldCounter() {
        for passes in [false, true] {
            var stage = LinkStage(isShown: true)
            stage.receive([.longBeat], counter: 3_000)
            stage.join(900)
            stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: 10).encode())
            #expect(stage.link?.sessions.all.last?.isComplete == true)
            stage.run(.ms(2_900))
            if passes { stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: 3_001).encode()) }
            stage.run(.ms(200))
            #expect((stage.link != nil) == passes)
        }
    }

    @Test("4,000 datagrams a second are taken of all links of a source (L-25)")
    func floodOfSource() {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        let source = Source.network(high: 1, low: 1)
        let taken = (0..<5_000).count { _ in admission.takesDatagram(of: source, &effects, now: .zero) }
        #expect(taken == 4_000)
        let own = (0..<5_000).count { _ in admission.takesDatagram(of: nil, &effects, now: .zero) }
        #expect(own == 5_000)
    }

    @Test("Hints ping at most once a second, and never a suspect link (L-29, L-40)")
    func hints() {
        var stage = LinkStage(isShown: true)
        let before = stage.pingTokens.count
        stage.with { $0.doubt(LinkStage.peerAddress, now: $1) }
        stage.run(.ms(500))
        stage.with { $0.doubt(LinkStage.peerAddress, now: $1) }
        #expect(stage.pingTokens.count == before + 1)
        stage.run(.ms(500))
        stage.with { $0.doubt(World.address(77), now: $1) }
        #expect(stage.pingTokens.count == before + 1)
        stage.with { $0.doubt(LinkStage.peerAddress, now: $1) }
        #expect(stage.pingTokens.count == before + 2)
        stage.run(until: .ms(1_760))
        let suspect = stage.pingTokens.count
        #expect(stage.link?.liveness.isSuspect == true)
        stage.run(until: .ms(2_100))
        let later = stage.pingTokens.count
        stage.with { $0.doubt(LinkStage.peerAddress, now: $1) }
        stage.with { $0.setNetworks([World.network(1), World.network(9)], port: 4_000, now: $1) }
        #expect(stage.pingTokens.count == later && later > suspect)
    }

    @Test("Changed networks ping each link, at most once a second, and not for the same networks (L-40)")
    func networks() {
        var stage = LinkStage(isShown: true)
        let before = stage.pingTokens.count
        stage.with { $0.setNetworks([World.network(1)], port: 4_000, now: $1) }
        #expect(stage.pingTokens.count == before)
        for host in 30..<34 {
            stage.with { $0.setNetworks([World.network(1), World.network(host)], port: 4_000, now: $1) }
        }
        #expect(stage.pingTokens.count == before + 1)
        stage.run(.ms(1_000))
        #expect(stage.pingTokens.count == before + 2)
    }

    @Test("At most 1,000 pings of suspect links go out a second, 500 to strangers, and three a link (L-76)")
    func pingBudget() {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        let strangers = (0..<900).count { _ in admission.takesPing(1, isStranger: true, now: .zero) }
        let others = (0..<900).count { _ in admission.takesPing(1, isStranger: false, now: .zero) }
        #expect(strangers == 500 && others == 500)
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat])
        stage.receive([.beat])
        for _ in 0..<1_000 {
            _ = stage.endpoint.admission.takesPing(1, isStranger: false, now: .ms(1_749))
        }
        stage.run(until: .ms(2_700))
        let before = stage.sent(0x06, since: .ms(1_750)).count
        stage.run(until: .ms(2_748))
        #expect(before <= 1)
        for _ in 0..<1_000 {
            _ = stage.endpoint.admission.takesPing(1, isStranger: false, now: .ms(2_749))
        }
        stage.run(until: .ms(3_000))
        #expect(stage.sent(0x06, since: .ms(1_750)).count == 3)
    }

    @Test("After a bye, sent or received, covered instances rest for 60 s, and those by hand for 5 s (L-35)")
    func rest() {
        for isByHand in [false, true] {
            let lan = TestLAN.pair()
            if isByHand { lan.with(0) { $0.addPeer(World.address(2), now: $1) } }
            lan.run(.seconds(1))
            lan.filter = { $0.node == 1 && $0.kind == .bye || $0.node == 1 && $0.kind == .tell || $0.kind == .ask }
            lan.with(1) { $0.quit(now: $1) }
            lan.run(.ms(2))
            let start = lan.now
            #expect(lan.links(0, to: 1).isEmpty)
            lan.run(.seconds(70))
            let first = lan.sent(by: 0, .initiation, since: start).first.map { ($0.at - start).nanoseconds / 1_000_000 }
            #expect(isByHand ? (4_990...5_400).contains(first ?? 0) : (59_990...60_400).contains(first ?? 0))
        }
    }

    @Test("A node opens again 5 s after it ended a link for lack of a name, though its peer rests for 60 s (L-106)")
    func restWithoutName() throws {
        let lan = TestLAN()
        lan.start(0)
        lan.start(1)
        // The link of node 1 never comes up, so node 1 sends no name.
        lan.filter = { $0.node == 1 || $0.kind != .pong }
        lan.listAll()
        lan.run(.seconds(11))
        let bye = try #require(lan.sent(by: 0, .bye, since: .zero).first)
        #expect((10_000...10_400).contains(bye.at.ms) && lan.links(0, to: 1).isEmpty && lan.links(1, to: 0).isEmpty)
        lan.filter = { _ in true }
        lan.run(.seconds(5))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        let opened = try #require(lan.sent(by: 0, .initiation, since: bye.at).first)
        #expect((5_000...5_400).contains((opened.at - bye.at).nanoseconds / 1_000_000))
        #expect(lan.sent(by: 1, .initiation, since: bye.at).isEmpty)
    }

    @Test("A return from suspension opens to the last addresses for 90 s, and waits for no rest (L-88)")
    func suspension() {
        let lan = TestLAN.pair()
        lan.run(.seconds(1))
        // Discovery no longer lists node 1, and only node 0 knows its last address.
        lan.with(0) { $0.lost("1", chat: World.chat, now: $1) }
        lan.with(0) { $0.suspend(now: $1) }
        lan.run(.seconds(5))
        let start = lan.now
        lan.with(0) { $0.resume(now: $1) }
        lan.run(.seconds(2))
        #expect(lan.isUp(0, to: 1))
        #expect(lan.sent(by: 0, .initiation, since: start).allSatisfy { $0.to == World.address(2) })
        lan.run(.seconds(95))
        #expect(lan.nodes[0]?.endpoint.directory.instances.count == 0)
    }
}

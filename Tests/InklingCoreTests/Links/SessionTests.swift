import InklingWire
import Testing

@testable import InklingCore

/// Sessions of a link, and handshakes for new ones.
@Suite("Sessions")
struct SessionTests {
    private func session(_ index: UInt32, role: Session.Role = .initiator, now: Instant = .zero) -> Session {
        Session(
            localIndex: index, remoteIndex: index + 100, role: role, keys: LinkStage.keys.node,
            address: LinkStage.peerAddress, now: now)
    }

    @Test("A link sends on the session whose first newest datagram opened last, or on that which joined last (L-70)")
    func sending() {
        var sessions = SessionSet()
        _ = sessions.add(session(1))
        _ = sessions.add(session(2))
        #expect(sessions.sending?.localIndex == 2)
        sessions[0].opened(order: 1, isNewest: true, now: .ms(10))
        #expect(sessions.sending?.localIndex == 1)
        sessions[1].opened(order: 2, isNewest: true, now: .ms(20))
        sessions[0].opened(order: 3, isNewest: true, now: .ms(30))
        #expect(sessions.sending?.localIndex == 2)
    }

    @Test("A fifth session replaces the most silent one but the sending one, if silent for 3 s (L-77)")
    func fifth() {
        var sessions = SessionSet()
        for index in 1...4 { #expect(sessions.hasRoom(.zero) && sessions.add(session(UInt32(index))) == nil) }
        sessions[0].opened(order: 1, isNewest: true, now: .ms(10))
        sessions[2].opened(order: 2, isNewest: false, now: .ms(20))
        sessions[3].opened(order: 3, isNewest: false, now: .ms(30))
        #expect(!sessions.hasRoom(.ms(2_999)))
        #expect(sessions.hasRoom(.ms(3_000)))
        #expect(sessions.add(session(5, now: .ms(3_000)))?.localIndex == 2)
        #expect(!sessions.hasRoom(.ms(3_019)) && sessions.hasRoom(.ms(3_020)))
        #expect(sessions.add(session(6, now: .ms(3_020)))?.localIndex == 3)
        #expect(sessions.indices == [1, 4, 5, 6] && sessions.sending?.localIndex == 1)
    }

    @Test("A datagram that waited on the way makes no session the sending one (L-70)")
    func oldDatagram() {
        var stage = LinkStage(isShown: true)
        stage.receive([.beat], counter: 40)
        let (other, id) = (session(900), stage.id)
        stage.with { endpoint, now in
            endpoint.join(other, to: id, now)
            endpoint.finish()
        }
        stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: 30).encode())
        #expect(stage.link?.sessions.all.last?.isComplete == true)
        #expect(stage.link?.sessions.sending?.localIndex == LinkStage.nodeIndex)
        stage.deliver(LinkStage.keys.peer.seal([.beat], receiverIndex: 900, counter: 41).encode())
        #expect(stage.link?.sessions.sending?.localIndex == 900)
    }

    @Test("Sessions are erased: incomplete after 3 s, silent after 60 s, any after 2 h (L-38, L-75)")
    func expiry() {
        var session = session(1)
        #expect(session.expiry(isSending: true) == .ms(3_000))
        session.opened(order: 1, isNewest: true, now: .ms(1_000))
        #expect(session.expiry(isSending: false) == .ms(61_000))
        #expect(session.expiry(isSending: true) == .zero + .seconds(7_200))
    }

    @Test("A link without sessions is down (L-38)")
    func withoutSessions() {
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat])
        while stage.now < .zero + .seconds(7_180) {
            stage.run(.seconds(20))
            stage.receive([.longBeat])
        }
        let isUp = stage.isUp
        stage.run(.seconds(25))
        let (isDown, isEmpty) = (stage.link?.isDown, stage.link?.sessions.isEmpty)
        #expect(isUp && isDown == true && isEmpty == true)
    }

    @Test("Each end begins a handshake 60 to 65 min into its sending session, and repeats it after 60 s (L-37)")
    func rekey() throws {
        let lan = ConversationTests.pair()
        let joined = try #require(lan.link(0, to: 1)?.sessions.sending?.joinedAt)
        lan.run(until: joined + .seconds(3_590))
        let epochs = lan.link(0, to: 1)?.epochs
        let start = lan.now
        lan.filter = { $0.kind != .response }
        lan.run(.seconds(500))
        let initiations = lan.sent(by: 0, .initiation, since: start)
        let first = try #require(initiations.first)
        #expect(first.at - joined >= .seconds(3_600) && first.at - joined <= .seconds(3_900))
        #expect(initiations.allSatisfy { $0.to == World.address(2) })
        let begins = Set(initiations.map { $0.bytes[1...4] }).count
        #expect(begins >= 3)
        lan.filter = { _ in true }
        lan.run(.seconds(70))
        #expect(lan.isUp(0, to: 1) && lan.link(0, to: 1)?.epochs == epochs)
        #expect(lan.link(0, to: 1)?.sessions.sending?.joinedAt != joined)
        lan.say(0, "after")
        lan.run(.ms(50))
        #expect(lan.messages(at: 1) == ["after"])
    }

    @Test("Counters go on over a new session (W-20), and a link that used its last counter is forgotten (L-79)")
    func counters() {
        var stage = LinkStage(isShown: true)
        var other = Session(
            localIndex: 900, remoteIndex: LinkStage.peerIndex, role: .responder, keys: LinkStage.keys.node,
            address: LinkStage.peerAddress, now: stage.now)
        other.opened(order: 99, isNewest: true, now: stage.now)
        stage.with { endpoint, now in
            endpoint.join(other, to: LinkStage(isShown: true).id, now)
            endpoint.finish()
        }
        let counters = stage.seen.map(\.counter)
        #expect(
            counters == counters.sorted() && Set(counters).count == counters.count
                && counters.last == UInt32(counters.count - 1))
    }

    @Test("Replayed initiations make sessions that change nothing, and at most 128 (L-12)")
    func unconfirmed() throws {
        let lan = ConversationTests.pair()
        lan.run(.seconds(1))
        lan.kill(1)
        let initiation = try #require(lan.sent(by: 0, .initiation).first)
        lan.run(.ms(1))
        let start = lan.now
        lan.start(1)
        lan.filter = { $0.kind != .initiation }
        lan.inject(initiation.bytes, from: World.address(9), to: 1)
        #expect(lan.sent(by: 1, .response, since: start).count == 1)
        #expect(lan.links(1, to: 0).isEmpty && lan.presence(0, at: 1) == .offline)
        #expect(lan.nodes[1]?.endpoint.handshakes.unconfirmedCount == 1)
        // The same initiation gets the same response (L-8, step 2), at its source address.
        lan.inject(initiation.bytes, from: World.address(8), to: 1)
        let responses = lan.sent(by: 1, .response, since: start)
        #expect(responses.count == 2 && responses[0].bytes == responses[1].bytes && responses[1].to == World.address(8))
        lan.run(.ms(4_999))
        #expect(lan.nodes[1]?.endpoint.handshakes.unconfirmedCount == 1)
        lan.run(.ms(2))
        #expect(lan.nodes[1]?.endpoint.handshakes.unconfirmedCount == 0)
        lan.inject(initiation.bytes, from: World.address(9), to: 1)
        #expect(lan.sent(by: 1, .response, since: start).count == 3)
    }

    @Test("A state replaced fails sent messages with lost-state, keeps queued ones, and starts counters anew (L-69)")
    func replaced() throws {
        let lan = ConversationTests.pair()
        lan.run(.seconds(12))
        lan.cuts = [[0, 1], [1, 0]]
        lan.say(0, "sent")
        lan.run(.seconds(5))
        lan.say(0, "queued")
        // Only node 1 forgets the link, so only its epoch rises.
        let id = try #require(lan.link(1, to: 0)?.id)
        lan.with(1) { endpoint, now in
            endpoint.begin(now)
            endpoint.forget(id, .silence, .silence, now)
            endpoint.finish()
        }
        lan.cuts = []
        lan.run(.seconds(6))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        let failures = lan.outputs(0).compactMap { output -> FailureReason? in
            if case .failed(_, _, _, let reason) = output { reason } else { nil }
        }
        #expect(failures == [.lostState])
        #expect(lan.messages(at: 1) == ["queued"])
    }

    @Test("A link has at most one for a run: a second handshake joins it (L-61)")
    func second() {
        let lan = ConversationTests.pair()
        lan.list(1, to: 0, name: "again", at: [World.address(2), World.address(70)])
        lan.run(.seconds(20))
        #expect(lan.links(0, to: 1).count == 1 && lan.links(1, to: 0).count == 1)
    }
}

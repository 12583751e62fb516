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
        let lan = TestLAN.pair()
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
}

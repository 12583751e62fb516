import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Rekeying")
struct RekeyTests {
    /// A link that is old: its session was made at the start, and the peer goes on answering.
    private func aged(_ duration: Duration, isInitiator: Bool) throws -> (
        VirtualLAN, ScriptedPeer, ScriptedPeer.Session
    ) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = isInitiator ? try peer.opened() : try peer.open()
        peer.greet(on: session)
        lan.forget()
        peer.live(on: session, for: duration, step: .seconds(30))
        return (lan, peer, session)
    }

    @Test(
        "the initiator replaces a session after 60 min, the responder after 61; failing, each 60 s, up to 2 h (L-37, L-38)",
        arguments: [(true, 3_600), (false, 3_660)])
    func rekey(_ row: (isInitiator: Bool, seconds: Int)) throws {
        let (lan, peer, session) = try aged(.seconds(row.seconds - 5), isInitiator: row.isInitiator)
        #expect(lan.initiations(0).isEmpty)
        peer.live(on: session, for: .seconds(300), step: .seconds(30))
        let starts = Set(lan.initiations(0).map(\.bytes)).count
        #expect(starts == 5)
        let first = try #require(lan.initiationTimes(0).first)
        #expect((row.seconds * 1_000...row.seconds * 1_000 + 1_001).contains(first))
        let times = lan.initiations(0).enumerated()
            .filter { $0.offset == 0 || lan.initiations(0)[$0.offset - 1].bytes != $0.element.bytes }
            .map(\.element.at.milliseconds)
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 == 60_000 })
        #expect(lan.online(0) == ["Hand"])
        lan.forget()
        peer.live(on: session, for: .seconds(7_190) - (lan.now - .zero), step: .seconds(30))
        #expect(lan.presences(0).isEmpty)
        peer.live(on: session, for: .seconds(20), step: .seconds(5))
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0, "no session is older than 2 h")
        // The peer announces 25.5 s, and nothing of it counts any more.
        peer.live(on: session, for: .seconds(36), step: .seconds(5))
        #expect(lan.offline(0) == [.silence])
    }

    @Test("the peer's new handshake takes the place of the node's own, under way or due (L-37)")
    func rekeyCrossed() throws {
        let (lan, peer, session) = try aged(.seconds(3_602), isInitiator: true)
        #expect(!lan.initiations(0).isEmpty)
        let next = try peer.link()
        lan.run(for: .seconds(1))
        lan.forget()
        peer.live(on: next, for: .seconds(200), step: .seconds(10))
        #expect(lan.initiations(0).isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1)
        peer.send([.ping(1)], on: session)
        #expect(lan.drops(0, .unknownIndex) == 1)
    }

    @Test("a renewal goes to where the peer is now (L-24, L-37)")
    func rekeyAfterMove() throws {
        let (lan, peer, session) = try aged(.seconds(3_602), isInitiator: true)
        let before = lan.initiations(0).count
        #expect(before > 0)
        let other = VirtualLAN.address(105)
        peer.move(to: other, on: session)
        peer.address = other
        peer.live(on: session, for: .seconds(70), step: .seconds(10))
        #expect(lan.initiations(0).last?.destination == peer.address)
    }

    @Test("a rekeying with loss and traffic under way loses, doubles and reorders no message (L-37, L-47, R26)")
    func rekeyUnderTraffic() {
        let lan = pair()
        // The heartbeats of an hour: both answer in time, nothing else happens.
        lan.run(until: .at(3_599_000))
        lan.forget()
        var random = SeededGenerator(seed: 3)
        lan.transit = { _ in
            switch Int.random(in: 0..<20, using: &random) {
            case 0: []
            case 1: [.milliseconds(1), .milliseconds(9)]
            default: [.microseconds(Int.random(in: 200...5_000, using: &random))]
            }
        }
        var sent: [[String]] = [[], []]
        for step in 0..<500 {
            let index = step % 2
            sent[index].append("message \(step)")
            lan.send(index, "message \(step)")
            lan.run(for: .milliseconds(8))
        }
        lan.transit = { _ in [.microseconds(200)] }
        lan.run(for: .seconds(12))
        #expect(!lan.initiations(0).isEmpty)
        #expect(lan.messages(1) == sent[0])
        #expect(lan.messages(0) == sent[1])
        #expect(lan.offline(0).isEmpty && lan.offline(1).isEmpty)
        #expect(lan.hosts.map(\.endpoint.tableSizes.sessions) == [1, 1])
        lan.expectWorking(0, 1)
    }
}

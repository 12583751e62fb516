import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("A peer that hears nothing")
struct UnheardTests {
    private func linked(identity: Int = 8) throws -> (VirtualLAN, ScriptedPeer, ScriptedPeer.Session) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        peer.interval = 10
        let session = try peer.link()
        lan.run(for: .milliseconds(1))
        _ = peer.arrived()
        return (lan, peer, session)
    }

    @Test("a node says that it heard nothing for too long: a bye with reason 5, and its copies (L-44, L-27, L-32)")
    func saysSo() throws {
        let (lan, peer, session) = try linked()
        lan.run(to: 2_999)
        #expect(peer.receive(on: session).allSatisfy { $0.bye == nil })
        lan.run(to: 3_500)
        let byes = peer.receive(on: session).filter { $0.bye != nil }
        #expect(byes.map(\.bye) == [.unheard, .unheard, .unheard])
        #expect(byes.map(\.at.milliseconds) == [3_000, 3_030, 3_120])
        #expect(lan.offline(0) == [.silence])
    }

    @Test(
        "told so, a node asks five times, begins a handshake, and ends the link by silence after 625 ms (L-45, L-42)",
        arguments: [("a larger key, at once", 8, 0), ("a smaller key, later", 2, 300)])
    func isTold(_ row: (name: String, identity: Int, delay: Int)) throws {
        let (lan, peer, session) = try linked(identity: row.identity)
        lan.run(to: 500)
        _ = peer.arrived()
        peer.send([.bye(.unheard)], on: session)
        lan.run(to: 1_124)
        #expect(lan.online(0) == ["Hand"])
        let packets = peer.arrived()
        let pings = peer.open(packets, on: session).filter { $0.ping != nil }
        #expect(pings.map(\.at.milliseconds) == [500, 625, 750, 875, 1_000])
        #expect(packets.first { $0.bytes[0] == 0x11 }?.at.milliseconds == 500 + row.delay)
        lan.run(to: 1_125)
        #expect(lan.offline(0) == [.silence])
    }

    @Test("typing that was shown goes on being shown for as long as the link lasts (L-45, T-14)")
    func typingStays() throws {
        let (lan, peer, session) = try linked()
        peer.send([peer.heartbeat(typing: true)], on: session)
        peer.send([.bye(.unheard)], on: session)
        #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).count == 1)
        lan.run(for: .milliseconds(700))
        #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
    }

    @Test("a message that it overtook ends typing all the same (L-45, R4)")
    func overtaken() throws {
        let (lan, peer, session) = try linked()
        peer.send([peer.heartbeat(typing: true)], on: session, counter: 80)
        peer.send([.bye(.unheard)], on: session, counter: 90)
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "hi")
        peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: session, counter: 89)
        #expect(lan.messages(0) == ["hi"])
        #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
    }

    @Test("a link that is suspect already gets no shorter time (L-45, L-27)")
    func suspect() throws {
        let (lan, peer, session) = try linked()
        lan.run(to: 1_800)
        peer.send([.pong(9)], on: session)
        lan.run(to: 3_600)
        // The newest datagram, and no evidence.
        peer.send([.bye(.unheard)], on: session)
        lan.run(to: 4_799)
        #expect(lan.online(0) == ["Hand"])
        lan.run(to: 4_800)
        #expect(lan.offline(0) == [.silence])
    }

    @Test("on a session that the peer has gone on from it ends that session alone (L-45, L-34)")
    func older() throws {
        let (lan, peer, first) = try linked()
        lan.run(to: 100)
        let second = try peer.link()
        lan.run(to: 200)
        _ = peer.arrived()
        let sessions = lan.hosts[0].endpoint.tableSizes.sessions
        peer.send([.bye(.unheard)], on: first)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == sessions - 1)
        lan.run(to: 1_000)
        #expect(peer.receive(on: second).allSatisfy { $0.ping == nil })
        peer.live(on: second, for: .seconds(5))
        #expect(lan.offline(0).isEmpty)
    }

    @Test("before the peer's hello it ends the session, and the node opens afresh (L-45, L-19)")
    func beforeHello() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.opened()
        _ = peer.arrived()
        peer.send([.bye(.unheard)], on: session)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
        lan.run(for: .milliseconds(10))
        #expect(peer.arrived().contains { $0.bytes[0] == 0x11 }, "no rest as after a farewell")
        #expect(lan.presences(0).isEmpty)
    }

    @Test(
        "where datagrams pass one way only, both sides show the other as gone within 4 s, and return (L-44, L-45, R6)",
        arguments: [0, 1])
    func oneWay(_ deaf: Int) {
        let lan = pair()
        let cut = lan.now
        lan.forget()
        lan.transit = { $0.destination == lan.hosts[deaf].address ? [] : [.microseconds(200)] }
        lan.run(for: .seconds(20))
        for index in 0...1 {
            #expect(lan.offline(index) == [.silence])
            let after = (lan.presences(index).first?.at ?? .max) - cut.milliseconds
            #expect(after < 3_700, "\(index) after \(after) ms")
        }
        lan.repair()
        lan.run(for: .seconds(4))
        lan.expectWorking(0, 1)
    }

    @Test(
        "a node that went unheard for 3 s, and is heard again, never shows the other as gone (L-45, L-42)",
        arguments: [0, 1])
    func mended(_ deaf: Int) {
        let lan = pair()
        lan.forget()
        lan.transit = { $0.destination == lan.hosts[deaf].address ? [] : [.microseconds(200)] }
        while lan.offline(deaf).isEmpty { lan.run(for: .milliseconds(1)) }
        lan.repair()
        lan.run(for: .seconds(5))
        #expect(lan.offline(1 - deaf).isEmpty)
        #expect(lan.presences(deaf).map(\.presence) == [.offline, .online])
        lan.expectWorking(0, 1)
    }

    @Test(
        "a node that was stopped for 10 s finds no farewells that end its links (L-45, L-30, L-42)", arguments: [0, 1])
    func stopped(_ stopped: Int) {
        let lan = pair()
        lan.forget()
        lan.stop(stopped)
        lan.run(for: .seconds(10))
        lan.resume(stopped)
        lan.run(for: .seconds(3))
        #expect(lan.offline(stopped).isEmpty)
        #expect(lan.presences(1 - stopped).map(\.presence) == [.offline, .online])
        lan.expectWorking(0, 1)
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Silence")
struct SilenceTests {
    private let lobby = VirtualLAN.lobby.tag

    /// A link to a hand-driven peer that announces an interval, made in the instant 0.
    private func linked(interval: UInt8 = 10, identity: Int = 8) throws -> (
        VirtualLAN, ScriptedPeer, ScriptedPeer.Session
    ) {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        peer.interval = interval
        lan.find("a", key: peer.identity.publicKey, at: [peer.address, VirtualLAN.address(101)])
        let session = try peer.link()
        lan.run(for: .zero)
        _ = peer.arrived()
        return (lan, peer, session)
    }

    private func pings(_ packets: [VirtualLAN.Packet], _ peer: ScriptedPeer, _ session: ScriptedPeer.Session)
        -> [ScriptedPeer
        .Received]
    {
        peer.open(packets, on: session).filter { $0.ping != nil }
    }

    @Test(
        "ten pings 125 ms apart after 1.75 intervals, and down 125 ms after the tenth (L-26, L-27)",
        arguments: [
            ("of 1 s", 10, 1_750), ("of 2 s", 20, 3_500), ("of 25.5 s", 255, 44_625),
            ("of 0 s, taken as 1 s", 0, 1_750),
        ])
    func silence(_ row: (name: String, interval: UInt8, suspect: Int)) throws {
        let (lan, peer, session) = try linked(interval: row.interval)
        lan.run(for: .milliseconds(row.suspect + 1_249))
        #expect(lan.online(0) == ["Hand"])
        let packets = peer.arrived(anywhere: true)
        let first = pings(packets.filter { $0.destination == peer.address }, peer, session)
        let second = pings(packets.filter { $0.destination == VirtualLAN.address(101) }, peer, session)
        #expect(first.map(\.at.milliseconds) == (0..<10).map { row.suspect + 125 * $0 })
        #expect(first.map(\.bytes) == second.map(\.bytes), "the same sealed bytes to all candidates")
        #expect(Set(first.compactMap(\.ping)).count == 10)
        #expect(lan.presences(0).allSatisfy { $0.presence == .online }, "a suspect is online still")
        lan.run(for: .milliseconds(1))
        #expect(lan.offline(0) == [.silence])
        #expect(lan.presences(0).last?.at == row.suspect + 1_250)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
    }

    @Test("before the first heartbeat the interval counts as 1 s (L-26)")
    func noHeartbeat() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.open()
        peer.send([peer.hello], on: session)
        lan.run(for: .seconds(5))
        #expect(lan.presences(0).last?.at == 3_000)
    }

    @Test("any evidence ends the suspicion, at any ping (L-27)", arguments: [1_751, 2_000, 2_999])
    func evidence(_ at: Int) throws {
        let (lan, peer, session) = try linked()
        lan.run(until: .at(at))
        peer.send([.pong(999)], on: session)
        _ = peer.arrived()
        lan.run(until: .at(at + 1_749))
        #expect(pings(peer.arrived(), peer, session).isEmpty)
        lan.run(until: .at(at + 2_999))
        #expect(lan.online(0) == ["Hand"])
        lan.run(until: .at(at + 3_000))
        #expect(lan.online(0).isEmpty)
    }

    @Test("a ping is answered at once: heartbeat and pong in one datagram (L-28)")
    func pong() throws {
        let (lan, peer, session) = try linked()
        lan.compose(0, "x")
        _ = peer.arrived()
        peer.send([.ping(0xABCD)], on: session)
        let answers = peer.receive(on: session)
        #expect(answers.count == 1)
        #expect(answers.first?.pong == 0xABCD)
        #expect(answers.first?.heartbeat?.status.isTyping == true)
        // One of a lower counter from elsewhere is answered there, and moves nothing.
        let elsewhere = VirtualLAN.address(105)
        peer.send([.ping(1)], on: session, counter: 90)
        _ = peer.arrived(anywhere: true)
        peer.send([.ping(2)], on: session, counter: 80, from: elsewhere)
        #expect(peer.arrived(anywhere: true).map(\.destination) == [elsewhere])
        lan.compose(0, "y")
        lan.compose(0, "")
        #expect(Set(peer.arrived(anywhere: true).map(\.destination)) == [peer.address])
    }

    @Test(
        "a vanished instance or an ICMP error draws one ping, at most one a second, and ends nothing (L-29, R24)",
        arguments: ["vanished", "doubted"])
    func doubts(_ row: String) throws {
        let (lan, peer, session) = try linked()
        var times: [Int] = []
        for step in 0..<40 {
            if row == "vanished" {
                lan.perform(0) { $0.lost("a", chat: VirtualLAN.lobby.tag, now: $1) }
            } else {
                let address = peer.address
                lan.perform(0) { $0.doubt(address, now: $1) }
            }
            times += pings(peer.arrived(), peer, session).map(\.at.milliseconds)
            lan.run(for: .milliseconds(100))
            if step % 5 == 0 { peer.send([peer.heartbeat()], on: session) }
        }
        #expect(times == [0, 1_000, 2_000, 3_000])
        #expect(lan.presences(0).count == 1)
        let other = VirtualLAN.address(77)
        lan.perform(0) { $0.doubt(other, now: $1) }
        #expect(pings(peer.arrived(), peer, session).isEmpty)
    }

    @Test(
        "a peer whose instance vanished stays as long as it answers, and is opened to again after silence (L-29, R24)"
    )
    func vanished() throws {
        let (lan, peer, session) = try linked()
        lan.perform(0) { $0.lost("a", chat: VirtualLAN.lobby.tag, now: $1) }
        peer.live(on: session, for: .seconds(120))
        #expect(lan.presences(0).count == 1)
        lan.forget()
        lan.run(for: .seconds(4))
        #expect(lan.offline(0) == [.silence])
        #expect(!lan.initiations(0, to: peer.address).isEmpty)
    }

    @Test("above 50 links the idle interval stretches to links ÷ 50 s, and so does silence (T-11, L-26)")
    func stretched() throws {
        let lan = lonely()
        let identities = keys(120, seed: 4)
        var peers: [(ScriptedPeer, ScriptedPeer.Session)] = []
        for (index, identity) in identities.enumerated() {
            let peer = ScriptedPeer(
                lan, identity: identity, address: VirtualLAN.address(1 + index), name: "\(index)", seed: UInt64(index))
            peers.append((peer, try peer.link()))
            lan.run(for: .milliseconds(20))
        }
        lan.run(for: .seconds(1))
        let start = lan.now
        for (peer, _) in peers { _ = peer.arrived() }
        lan.run(for: .seconds(20))
        var total = 0
        for (peer, session) in peers {
            let received = peer.receive(on: session).filter { $0.at >= start }
            total += received.count
            #expect(received.allSatisfy { $0.heartbeat?.interval == 24 })
            #expect(
                zip(received.dropFirst(), received).allSatisfy {
                    (1_800...2_401).contains(($0.at - $1.at) / .milliseconds(1))
                })
        }
        #expect((1_000...1_340).contains(total), "about 50 a second, and up to a third more by jitter")
        #expect(lan.offline(0).isEmpty)
    }

    // MARK: Our own timer

    @Test(
        "a stopped node neither drops anybody falsely nor shows what is old (L-30, R10)", arguments: [2, 10, 60, 600])
    func stopped(_ seconds: Int) {
        for (stopped, other) in [(0, 1), (1, 0)] {
            let lan = pair()
            lan.compose(other, "typing")
            lan.run(for: .milliseconds(100))
            #expect(lan.typing(stopped).last?.names.count == 1)
            lan.stop(stopped)
            lan.run(for: .milliseconds(seconds * 1_000))
            lan.forget()
            let resumed = lan.now.milliseconds
            lan.resume(stopped)
            let isOver = lan.hosts[stopped].endpoint.typing(in: lobby).isEmpty
            #expect(isOver == (seconds > 2), "3.0 s after the last status that counted, and no later")
            lan.run(for: .milliseconds(seconds == 2 ? 400 : 3_000))
            lan.expectWorking(0, 1, "stopped \(seconds) s")
            let offline = lan.presences(stopped).filter { $0.presence == .offline }
            if seconds == 2 {
                #expect(offline.isEmpty && lan.offline(other).isEmpty, "both lived")
            } else {
                // The other one has given up that link: one whole round of pings, not less, shows that.
                #expect(offline.allSatisfy { $0.at >= resumed + 1_250 })
            }
            let shown = lan.typing(stopped).filter { $0.at < resumed + 900 }
            #expect(shown.allSatisfy { $0.names.isEmpty }, "nothing old is shown")
        }
    }

    @Test(
        "datagrams read before the socket is empty are neither status nor evidence; messages, acks, byes and hellos count (L-30)"
    )
    func catchingUp() throws {
        let (lan, peer, session) = try linked()
        let late = lan.now + .seconds(2)
        lan.stop(0)
        lan.run(until: late)
        let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "waiting")
        let waiting = [
            peer.seal([peer.heartbeat(typing: true)], on: session),
            peer.seal([.typing(Status(isTyping: true, isAway: true)), .message(record)], on: session),
        ]
        lan.perform(0) { $0.advance(to: $1) }
        for bytes in waiting { lan.inject(bytes, into: 0, from: VirtualLAN.address(105)) }
        #expect(lan.hosts[0].endpoint.wantsSocketDrained)
        #expect(lan.messages(0) == ["waiting"])
        #expect(lan.typing(0).isEmpty)
        #expect(lan.presences(0).last?.presence == .online)
        lan.perform(0) { $0.socketDrained(now: $1) }
        _ = peer.arrived()
        lan.resume(0)
        lan.run(for: .milliseconds(1_249))
        #expect(
            pings(peer.arrived(), peer, session).count == 9, "a whole new round; the first went at once, where it was")
        #expect(lan.online(0) == ["Hand"])
        peer.send([peer.heartbeat(typing: true)], on: session)
        #expect(lan.typing(0).last?.names == ["Hand"], "new ones count")
        lan.run(for: .milliseconds(1_700))
        #expect(lan.online(0) == ["Hand"])
    }

    @Test("who refills the socket keeps no node catching up: after 4,096 datagrams evidence counts (L-30)")
    func refilled() throws {
        let (lan, peer, session) = try linked()
        lan.stop(0)
        lan.run(for: .seconds(2))
        lan.perform(0) { $0.advance(to: $1) }
        for _ in 0..<4_095 { lan.inject([0], into: 0, from: VirtualLAN.address(105)) }
        peer.send([peer.heartbeat(typing: true)], on: session)
        #expect(lan.hosts[0].endpoint.wantsSocketDrained)
        #expect(lan.typing(0).isEmpty, "the last that is old")
        peer.send([peer.heartbeat(typing: true)], on: session)
        #expect(!lan.hosts[0].endpoint.wantsSocketDrained)
        #expect(lan.typing(0).last?.names == ["Hand"], "and the first that is new")
        lan.resume(0)
        lan.run(for: .milliseconds(1_749))
        #expect(lan.online(0) == ["Hand"])
    }

    @Test("while it catches up a node sends ten pings on a link, then one when that is over, and goes on (L-30)")
    func longRound() throws {
        let (lan, peer, session) = try linked()
        lan.stop(0)
        lan.run(for: .seconds(2))
        _ = peer.arrived()
        lan.perform(0) { $0.advance(to: $1) }
        for _ in 0..<50 {
            lan.run(for: .milliseconds(100))
            lan.perform(0) { $0.advance(to: $1) }
        }
        #expect(pings(peer.arrived(), peer, session).count == 10, "in five seconds")
        #expect(lan.online(0) == ["Hand"])
        lan.perform(0) { $0.socketDrained(now: $1) }
        lan.resume(0)
        #expect(pings(peer.arrived(), peer, session).count == 1)
        lan.run(for: .milliseconds(124))
        #expect(lan.online(0) == ["Hand"])
        lan.run(for: .milliseconds(1))
        #expect(lan.online(0).isEmpty)
    }

    @Test("a bye that waited in the socket ends the link (L-30, L-34)")
    func byeWhileStopped() throws {
        let (lan, peer, session) = try linked()
        lan.stop(0)
        lan.run(for: .seconds(2))
        lan.perform(0) { $0.advance(to: $1) }
        lan.inject(peer.seal([.bye(.quit)], on: session), into: 0, from: peer.address)
        #expect(lan.offline(0) == [.bye])
    }

    @Test("a timer that is less than 500 ms late changes nothing (L-30)")
    func slightlyLate() throws {
        let (lan, peer, session) = try linked()
        lan.run(until: .at(500))
        let deadline = try #require(lan.hosts[0].endpoint.nextDeadline)
        lan.stop(0)
        lan.run(until: deadline + .milliseconds(500))
        lan.perform(0) { $0.advance(to: $1) }
        #expect(!lan.hosts[0].endpoint.wantsSocketDrained)
        peer.send([peer.heartbeat(typing: true)], on: session)
        #expect(isTyping(lan))
    }

    private func isTyping(_ lan: VirtualLAN) -> Bool { !lan.hosts[0].endpoint.typing(in: lobby).isEmpty }

    // MARK: The network

    @Test(
        "the network goes and comes: typing clears in 3 s, presence too, and everything resumes by itself (R16, R22, L-1)",
        arguments: [2, 8, 40, 200])
    func outage(_ seconds: Int) {
        let lan = pair()
        lan.compose(0, "typing")
        lan.run(for: .milliseconds(100))
        lan.transit = { _ in [] }
        let cut = lan.now.milliseconds
        lan.run(for: .milliseconds(seconds * 1_000))
        #expect(lan.typing(1).filter { $0.at > cut }.allSatisfy { $0.at <= cut + 3_000 && $0.names.isEmpty })
        if seconds > 3 {
            for index in 0...1 {
                let last = lan.presences(index).last
                #expect(last?.presence == .offline && (last?.at ?? 0) <= cut + 3_000)
            }
        }
        lan.transit = { _ in [.microseconds(200)] }
        // While attempts are fast, less than 5 s pass between two initiations; after 90 s it is up to the slow rhythm.
        lan.run(for: seconds > 90 ? .seconds(75) : .seconds(5))
        lan.expectWorking(0, 1)
        if seconds == 2 { #expect(lan.offline(0).isEmpty && lan.offline(1).isEmpty) }
    }

    @Test(
        "what one hears and the other does not ends within 6 s and comes back by itself (L-26, L-27, R16)",
        arguments: [0, 1])
    func oneWay(_ deaf: Int) {
        let lan = pair()
        let address = lan.hosts[deaf].address
        lan.transit = { $0.destination == address ? [] : [.microseconds(200)] }
        lan.run(for: .seconds(20))
        #expect(lan.online(0).isEmpty && lan.online(1).isEmpty)
        lan.transit = { _ in [.microseconds(200)] }
        lan.run(for: .seconds(5))
        lan.expectWorking(0, 1)
    }

    @Test(
        "at 10 % loss, with doubles and reordering, nobody goes offline for five minutes (R15, R16, R22)",
        arguments: 0..<3)
    func loss(_ seed: UInt64) {
        let lan = VirtualLAN()
        var random = SeededGenerator(seed: seed)
        lan.transit = { _ in
            let delay = Duration.microseconds(Int.random(in: 200...40_000, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0, 1: return []
            case 2: return [delay, delay + .milliseconds(30)]
            default: return [delay]
            }
        }
        for index in 0..<3 { lan.add(identity: index, name: "\(index)") }
        lan.discoverAll()
        lan.run(for: .seconds(2))
        for index in 0..<3 { #expect(lan.online(index).count == 2, "online within 2 s") }
        lan.run(for: .seconds(300))
        for index in 0..<3 { #expect(lan.presences(index).count == 2) }
    }
}

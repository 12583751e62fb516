import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Presence, and who is shown")
struct PresenceTests {
    /// One node, and peers by hand of the identities 1 to `count`, linked.
    private func crowd(_ count: Int, names: (Int) -> String) throws -> (VirtualLAN, [ScriptedPeer]) {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Node")
        var peers: [ScriptedPeer] = []
        for identity in 1...count {
            let peer = ScriptedPeer(
                lan, identity: identity, host: 100 + identity, name: names(identity), run: UInt64(identity))
            try peer.meet()
            peers.append(peer)
        }
        lan.run(for: .milliseconds(500))
        for peer in peers { peer.clear() }
        return (lan, peers)
    }

    @Test("a change of away goes out at once on all links, and the stop that it causes in the same frame (T-21, T-10)")
    func awayFrame() throws {
        let (lan, peers) = try crowd(3) { "peer \($0)" }
        lan.compose(0, "h")
        lan.run(for: .milliseconds(300))
        for peer in peers { peer.clear() }
        lan.perform(0) { $0.setAway(true, now: $1) }
        for peer in peers {
            peer.poll()
            #expect(peer.seen.map(\.frames) == [[.typing(Status(isTyping: false, isAway: true))]])
            peer.clear()
        }
        lan.run(for: .milliseconds(200))
        lan.perform(0) { $0.setAway(true, now: $1) }
        for peer in peers {
            peer.poll()
            peer.clear()
            peer.send([.pong(1)])
        }
        lan.perform(0) { $0.setAway(false, now: $1) }
        for peer in peers {
            peer.poll()
            #expect(peer.seen.count == 1)
            #expect(peer.seen.first?.frames.compactMap(\.status) == [Status(isTyping: false, isAway: false)])
        }
    }

    @Test("others are told of online, away, back and offline as it happens (R22, T-19)")
    func life() {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        lan.discoverAll()
        lan.run(for: .seconds(2))
        #expect(lan.presences(0).map(\.presence) == [.online], "within 2 s of starting")
        lan.perform(1) { $0.setAway(true, now: $1) }
        lan.run(for: .milliseconds(1))
        lan.perform(1) { $0.setAway(false, now: $1) }
        lan.run(for: .milliseconds(1))
        lan.perform(1) { $0.suspend(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(lan.presences(0).map(\.why) == [.hello, .away, .back, .bye])
        #expect(lan.presences(0).map(\.presence) == [.online, .away, .online, .offline])
        lan.run(for: .seconds(10))
        lan.perform(1) { $0.resume(now: $1) }
        lan.run(for: .seconds(2))
        #expect(lan.presences(0).last?.presence == .online, "online again on return")
        lan.perform(1) { $0.quit(now: $1) }
        lan.run(for: .milliseconds(1))
        #expect(lan.presences(0).map(\.why).suffix(2) == [.hello, .bye])
    }

    @Test("silence is told exactly 3.0 s after the last evidence, and with it any typing is over (R22, R16)")
    func silence() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        peer.run(for: 700)
        peer.send([.pong(1)])
        let last = peer.now
        peer.run(for: 4_000)
        #expect(peer.lan.presences(0).map(\.why) == [.silence])
        #expect(peer.lan.presences(0).first?.at == last + 3_000)
        #expect(peer.shown.map(\.at) == [last - 700, last + 2_300])
        #expect(peer.lan.hosts[0].endpoint.counters.linksLostToSilence == 1)
    }

    @Test("a lost away is healed by the next heartbeat (T-2)")
    func lostAway() {
        let lan = twoNodes()
        lan.cut()
        lan.perform(1) { $0.setAway(true, now: $1) }
        lan.repair()
        lan.run(for: .milliseconds(1_001))
        #expect(lan.presences(0).map(\.presence) == [.away])
    }

    @Test("who started last is named first, and heartbeats, copies and refreshes change nothing (T-20, R18)")
    func order() throws {
        let (lan, peers) = try crowd(11) { "peer \($0)" }
        let turns = [4, 9, 0, 7, 2, 10, 5, 1, 8, 3, 6]
        for place in turns {
            peers[place].send(typing: true)
            lan.run(for: .milliseconds(10))
        }
        let expected = turns.reversed().map { "peer \($0 + 1)" }
        #expect(lan.typing(0).last?.names == expected, "eleven at once")
        let told = lan.typing(0).count
        #expect(told == 11)
        for _ in 0..<5 {
            lan.run(for: .milliseconds(400))
            for peer in peers { peer.send(typing: true) }
        }
        #expect(lan.typing(0).count == told, "stable between starts")
        peers[7].send(typing: false)
        #expect(lan.typing(0).last?.names == expected.filter { $0 != "peer 8" })
        peers[7].send(typing: true)
        #expect(lan.typing(0).last?.names == ["peer 8"] + expected.filter { $0 != "peer 8" })
    }

    @Test("starts of one instant are named by name, and equal names by user ID (T-20)")
    func ties() throws {
        let names = ["", "Cleo", "Adam", "Same", "Same", "Same", "Same", "Bea", "Same", "Same", "Same", "Same"]
        let (lan, peers) = try crowd(11) { names[$0] }
        for peer in peers { peer.send(typing: true) }
        let people = lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag)
        #expect(people.prefix(3).map(\.name) == ["Adam", "Bea", "Cleo"])
        let same = people.dropFirst(3).map(\.key.userID)
        #expect(same.count == 8)
        #expect(same == same.sorted())
        let reversed = try crowd(11) { names[$0] }
        for peer in reversed.1.reversed() { peer.send(typing: true) }
        #expect(reversed.0.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag) == people, "not the order of arrival")
    }

    @Test("two devices of one person are one, typing while one of them is, and online before away (T-19, R24)")
    func devices() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Node")
        let one = ScriptedPeer(lan, identity: 1, host: 101, name: "Ann", run: 1)
        let two = ScriptedPeer(lan, identity: 1, host: 102, name: "Ann", run: 2)
        try one.meet()
        lan.run(for: .milliseconds(100))
        try two.meet()
        lan.run(for: .milliseconds(100))
        one.send([.pong(1)])
        two.send([.pong(1)])
        #expect(lan.hosts[0].endpoint.tableSizes.links == 2)
        #expect(lan.online(0).count == 1)
        lan.forget()
        one.send(typing: true)
        two.send(typing: true)
        one.send(typing: false)
        #expect(one.shown.map(\.shown) == [true])
        two.send(typing: false)
        #expect(one.shown.map(\.shown) == [true, false])
        #expect(lan.presences(0).isEmpty)
        one.send(typing: false, away: true)
        #expect(lan.presences(0).isEmpty, "the other is online")
        two.send(typing: false, away: true)
        #expect(lan.presences(0).map(\.presence) == [.away])
        two.send(typing: true, away: true)
        one.send(typing: false)
        #expect(lan.presences(0).map(\.presence) == [.away, .online])
        two.send([.bye(.quit)])
        #expect(one.shown.last?.shown == false, "the link that typed is gone")
        #expect(lan.presences(0).map(\.presence) == [.away, .online])
        one.send([.bye(.quit)])
        #expect(lan.presences(0).map(\.presence) == [.away, .online, .offline])
    }

    @Test("the order does not change because one of a person's devices stops (T-20, R18)", arguments: [false, true])
    func deviceOrder(_ laterStops: Bool) throws {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Node")
        let one = ScriptedPeer(lan, identity: 1, host: 101, name: "Ann", run: 1)
        let two = ScriptedPeer(lan, identity: 1, host: 102, name: "Ann", run: 2)
        let other = ScriptedPeer(lan, identity: 2, host: 103, name: "Ben", run: 3)
        for peer in [one, two, other] {
            try peer.meet()
            lan.run(for: .milliseconds(50))
        }
        for peer in [one, two, other] { peer.send([.pong(1)]) }
        lan.forget()
        one.send(typing: true)
        lan.run(for: .milliseconds(10))
        other.send(typing: true)
        lan.run(for: .milliseconds(10))
        two.send(typing: true)
        lan.run(for: .milliseconds(10))
        let before = lan.typing(0).last?.names
        (laterStops ? two : one).send(typing: false)
        #expect(lan.typing(0).last?.names == before, "nobody started")
        #expect(before == ["Ben", "Ann"], "Ann has been typing since before Ben started")
    }

    @Test("a suspect peer goes on to be shown as typing, a peer that is down does not (T-19)")
    func suspect() throws {
        let peer = try ScriptedPeer.linked()
        let start = peer.now
        peer.run(for: 1_000)
        peer.send(typing: true, counter: 9)
        peer.run(for: 1_800)
        #expect(!peer.pings.isEmpty, "suspect")
        #expect(peer.shown.map { $0.at - start } == [1_000])
        peer.send([.pong(1)])
        peer.run(for: 1_250)
        #expect(peer.shown.map { $0.at - start } == [1_000, 4_000], "T-15 alone ended it")
        #expect(peer.lan.online(0) == ["Hand"])
    }

    @Test("a person is told of before anything else of it: presence, then typing or messages (R14, R22, W-30)")
    func presenceFirst() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peer = ScriptedPeer(lan, host: 100)
        lan.perform(0) {
            $0.found("x", chat: peer.chat.tag, key: peer.identity.publicKey, addresses: [peer.address], now: $1)
        }
        lan.run(for: .zero)
        try peer.answerNewest()
        peer.send([peer.hello, .typing(Status(isTyping: true, isAway: true))])
        let outputs = lan.hosts[0].log.map(\.output)
        #expect(outputs.count >= 2)
        guard case .presence(_, _, _, .hello) = outputs.first else {
            Issue.record("\(outputs)")
            return
        }
    }
}

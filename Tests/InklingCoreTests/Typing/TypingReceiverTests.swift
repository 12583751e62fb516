import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// What ends a peer's typing at once.
struct Clearing: Sendable, CustomTestStringConvertible {
    let name: String
    var presence: Presence? = .offline
    let act: @Sendable (ScriptedPeer) throws -> Void
    var testDescription: String { name }

    static let all: [Clearing] = [
        .init(name: "a status without typing", presence: .online) { $0.send(typing: false) },
        .init(name: "a heartbeat without typing", presence: .online) {
            $0.send([.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: 10))])
        },
        .init(name: "a bye") { $0.send([.bye(.quit)]) },
        .init(name: "a bye of a suspended peer") { $0.send([.bye(.suspended)]) },
        .init(name: "a bye of a lower counter") {
            $0.send([.ping(1)], counter: 90)
            $0.send([.bye(.left)], counter: 80)
        },
        .init(name: "the last will") { $0.inject($0.seal([.bye(.lastWill)], counter: Limits.lastWillCounter)) },
        .init(name: "a block") { peer in
            peer.lan.perform(0) { $0.block(peer.identity.publicKey.userID, now: $1) }
        },
        .init(name: "the end of membership") { peer in
            try peer.lan.perform(0) { try $0.leave(peer.chat.tag, now: $1) }
        },
    ]
}

@Suite("Typing, the receiver")
struct TypingReceiverTests {
    @Test("typing ends exactly 3.0 s after the last status, though everything else is lost (T-15, R7, R10)")
    func expiry() throws {
        for last in [0, 1, 30, 120, 500, 749, 1_000, 2_500] {
            let lan = twoNodes()
            lan.transit = { packet in
                packet.at > .at(1_000 + last) && packet.source == VirtualLAN.address(0) ? [] : [.zero]
            }
            for step in 0..<60 {
                lan.compose(0, "\(step)")
                lan.run(for: .milliseconds(100))
            }
            let evidence = lan.hosts[0].sent.filter { $0.at <= .at(1_000 + last) }.map(\.at.milliseconds).max() ?? 0
            #expect(lan.typing(1).map(\.at) == [1_000, evidence + 3_000])
        }
    }

    @Test("the end comes 3.0 s after the status, while messages, acks, pings and hellos keep the link up (T-15, R10)")
    func onlyStatuses() throws {
        let peer = try ScriptedPeer.linked()
        let start = peer.now
        peer.send(typing: true)
        for step in 1...12 {
            peer.run(for: 400)
            switch step % 4 {
            case 0: peer.sayHello()
            case 1: peer.send([.ping(UInt16(step))])
            case 2:
                peer.send([
                    .message(.init(stream: 5_000, number: UInt32(step / 4), isFirst: true, isLast: true, text: "m"))
                ])
            default: peer.send(ack: 0)
            }
        }
        #expect(peer.shown.map { $0.at - start } == [0, 3_000])
        #expect(peer.lan.hosts[0].endpoint.counters.staleClears == 1, "R28")
        #expect(peer.lan.online(0) == ["Hand"])
    }

    @Test("an input after the end finds it ended: nothing is shown for longer by a late timer (T-18, R10)")
    func inputFirstRunsDeadlines() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        peer.lan.stop(0)
        peer.lan.run(for: .milliseconds(3_000))
        peer.forget()
        peer.send([.message(.init(stream: 5_000, number: 0, isFirst: true, isLast: true, text: "late"))])
        let outputs = peer.lan.hosts[0].log.map(\.output)
        guard case .typing(_, []) = outputs.first, case .message = outputs.last else {
            Issue.record("not cleared before the message: \(outputs)")
            return
        }
    }

    @Test(
        "nothing is shown after the own machine was stopped and what waited in the socket was read (R10, L-30)",
        arguments: [3_100, 4_000, 10_000, 3_600_000])
    func stopped(_ milliseconds: Int) {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(100))
        lan.stop(1)
        for step in 0..<20 {
            lan.run(for: .milliseconds(100))
            lan.compose(0, "\(step)")
        }
        lan.perform(0) { try? $0.stopTyping(in: VirtualLAN.lobby.tag, now: $1) }
        lan.cut()
        lan.run(for: .milliseconds(milliseconds - 2_000))
        lan.resume(1)
        #expect(lan.hosts[1].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
        lan.run(for: .seconds(10))
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
    }

    @Test("suspending and resuming shows nothing of before (R10, R6)")
    func suspended() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(100))
        lan.perform(1) { $0.suspend(now: $1) }
        #expect(lan.hosts[1].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
        lan.perform(0) { try? $0.stopTyping(in: VirtualLAN.lobby.tag, now: $1) }
        lan.run(for: .seconds(5))
        lan.perform(1) { $0.resume(now: $1) }
        lan.run(for: .seconds(5))
        #expect(lan.online(1) == ["Alice"])
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
    }

    @Test("late, doubled, lost and reordered statuses neither revive a status nor make it flicker (T-13, R15)")
    func permutations() throws {
        let peer = try ScriptedPeer.linked()
        let idle = peer.lan.hosts[0].endpoint
        let (start, address, chat) = (peer.now, peer.address, peer.chat.tag)
        // The counter says the state: three of one kind, then three of the other, as an edge and its copies are.
        func says(_ number: Int) -> Bool { (number - 1) / 3 % 2 == 0 }
        let sealed: [[UInt8]] = (1...18).map { number in
            peer.seal([.typing(Status(isTyping: says(number), isAway: false))], counter: UInt64(number))
        }
        for seed in 0..<2_000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            var arrivals: [(at: Int, number: Int)] = []
            for number in 1...18 {
                for _ in 0..<[0, 1, 1, 1, 1, 2][Int.random(in: 0..<6, using: &generator)] {
                    let delay = Int.random(in: 0...(seed % 3 == 0 ? 2_000 : 90), using: &generator)
                    arrivals.append((start + number * 40 + delay, number))
                }
            }
            arrivals.sort { $0 < $1 }
            var endpoint = idle
            var (newest, isShown) = (0, false)
            for arrival in arrivals {
                while let deadline = endpoint.nextDeadline, deadline <= .at(arrival.at) {
                    endpoint.advance(to: deadline)
                }
                endpoint.receive(sealed[arrival.number - 1], from: address, now: .at(arrival.at))
                let expected = arrival.number > newest ? says(arrival.number) : isShown
                var changes: [Bool] = []
                while let output = endpoint.nextOutput() {
                    if case .typing(chat, let people) = output { changes.append(!people.isEmpty) }
                }
                let due: [Bool] = expected == isShown ? [] : [expected]
                guard changes == due else {
                    Issue.record("seed \(seed), counter \(arrival.number) after \(newest): \(changes)")
                    return
                }
                (newest, isShown) = (max(newest, arrival.number), expected)
            }
        }
    }

    @Test(
        "two nodes on a network that loses, doubles and delays: what shows is true, without flicker (R15, R32)",
        arguments: 1...8)
    func badNetwork(_ seed: Int) {
        let lan = twoNodes()
        nonisolated(unsafe) var generator = SeededGenerator(seed: UInt64(seed))
        lan.transit = { _ in
            let copies = [0, 1, 1, 1, 1, 1, 1, 1, 1, 2][Int.random(in: 0..<10, using: &generator)]
            return (0..<copies).map { _ in .milliseconds(Int.random(in: 0...50, using: &generator)) }
        }
        for round in 0..<10 {
            for step in 0..<20 {
                lan.compose(0, "\(round) \(step)")
                lan.run(for: .milliseconds(100))
            }
            lan.send(0, "round \(round)")
            lan.run(for: .seconds(3))
        }
        let changes = lan.typing(1).map(\.names)
        #expect(changes == (0..<10).flatMap { _ in [["Alice"], []] })
        for round in 0..<10 {
            let begin = 1_000 + round * 5_000
            #expect((begin...begin + 600).contains(lan.typing(1)[2 * round].at))
            #expect((begin + 2_000...begin + 2_600).contains(lan.typing(1)[2 * round + 1].at))
        }
    }

    @Test("of starts more than ten in a second are dropped, ends never, and the link goes on (T-16)")
    func startLimit() throws {
        let peer = try ScriptedPeer.linked()
        peer.run(for: 1_000)
        for _ in 0..<30 {
            peer.send(typing: true)
            peer.send(typing: false)
        }
        #expect(peer.shown.count { $0.shown } == 10)
        #expect(peer.shown.last?.shown == false)
        #expect(peer.lan.hosts[0].endpoint.counters.typingStartsLimited == 20)
        peer.run(for: 99)
        peer.send(typing: true)
        #expect(peer.shown.last?.shown == false, "ten a second: the next after 100 ms")
        peer.send(typing: false)
        peer.run(for: 1)
        peer.send(typing: true)
        #expect(peer.shown.last?.shown == true)
        for _ in 0..<10 {
            peer.send(typing: false)
            peer.send(typing: true)
        }
        #expect(peer.shown.last?.shown == false, "the ends came through")
        peer.run(for: 1_000)
        peer.send(typing: true)
        #expect(peer.shown.last?.shown == true)
    }

    @Test("a start that was dropped shows with a later status, once there is room (T-2, T-16)")
    func limitedStartHeals() throws {
        let peer = try ScriptedPeer.linked()
        for _ in 0..<10 {
            peer.send(typing: true)
            peer.send(typing: false)
        }
        peer.send(typing: true)
        #expect(peer.shown.last?.shown == false)
        peer.run(for: 500)
        peer.send(typing: true)
        #expect(peer.shown.last?.shown == true)
    }

    @Test("it clears at once, and shows nothing more (T-14, R7, R13, R14)", arguments: Clearing.all)
    func clears(_ clearing: Clearing) throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        peer.run(for: 300)
        let at = peer.now
        try clearing.act(peer)
        #expect(peer.shown.map(\.shown) == [true, false])
        #expect(peer.shown.last?.at == at)
        #expect(peer.lan.presences(0).last?.presence ?? .online == clearing.presence)
        if clearing.presence == .offline {
            for _ in 0..<6 {
                peer.run(for: 100)
                peer.send(typing: true)
            }
            #expect(peer.shown.map(\.shown) == [true, false])
        }
    }

    @Test("a peer blocked in the middle of typing is gone at once, and back when it is unblocked (R13, L-36)")
    func block() throws {
        let lan = twoNodes()
        let bob = lan.hosts[1].endpoint.publicKey.userID
        lan.compose(1, "h")
        lan.run(for: .milliseconds(300))
        lan.perform(0) { $0.block(bob, now: $1) }
        #expect(lan.typing(0).map(\.names) == [["Bob"], []])
        for step in 0..<50 {
            lan.compose(1, "\(step)")
            lan.run(for: .milliseconds(100))
        }
        #expect(lan.typing(0).map(\.names) == [["Bob"], []])
        #expect(lan.presences(0).map(\.why) == [.blocked])
        lan.perform(0) { $0.unblock(bob, now: $1) }
        lan.run(for: .milliseconds(400))
        lan.compose(1, "again")
        lan.run(for: .milliseconds(1))
        #expect(lan.typing(0).last?.names == ["Bob"])
    }

    @Test("a status of an older session counts for nothing once a newer one carried one (T-13)")
    func olderSession() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        #expect(peer.shown.map(\.shown) == [true])
        try peer.openUncrossed()
        peer.sayHello()
        peer.run(for: 300)
        #expect(peer.sessions.count == 2)
        peer.send(typing: false, on: peer.sessions[0])
        #expect(peer.shown.map(\.shown) == [true, false], "the newer one has carried none yet")
        peer.send(typing: true, on: peer.sessions[1])
        peer.send(typing: false, on: peer.sessions[0])
        #expect(peer.shown.map(\.shown) == [true, false, true])
        peer.send(typing: false, on: peer.sessions[1])
        peer.send(typing: true, on: peer.sessions[0])
        #expect(peer.shown.map(\.shown) == [true, false, true, false])
    }

    @Test(
        "what a peer announces as interval is taken between 1 and 25.5 s (T-12)",
        arguments: [(0, 1_750), (9, 1_750), (10, 1_750), (11, 1_925), (20, 3_500), (255, 44_625)])
    func intervals(_ units: Int, _ suspectAfter: Int) throws {
        let peer = try ScriptedPeer.linked()
        peer.send([.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: UInt8(units)))])
        let start = peer.now
        peer.run(for: suspectAfter + 2_000)
        #expect(peer.pings.first.map { $0 - start } == suspectAfter)
        #expect(peer.lan.presences(0).last?.at == start + suspectAfter + 1_250)
    }

    @Test("a long interval does not let typing show for longer than 3.0 s (T-15)")
    func longInterval() throws {
        let peer = try ScriptedPeer.linked()
        let start = peer.now
        peer.send([.heartbeat(Heartbeat(status: Status(isTyping: true, isAway: false), interval: 255))])
        peer.run(for: 5_000)
        #expect(peer.shown.map { $0.at - start } == [0, 3_000])
        #expect(peer.lan.online(0) == ["Hand"])
    }

    @Test("the own identity on another device is never shown, and neither name nor address make one own (T-17, R11)")
    func ownIdentity() {
        let lan = VirtualLAN()
        let one = lan.add(identity: 3, name: "Same")
        let device = lan.add(identity: 3, name: "Same")
        let other = lan.add(identity: 4, name: "Same", host: 1)
        lan.discoverAll()
        lan.run(for: .seconds(1))
        #expect(lan.hosts[other].address == lan.hosts[device].address)
        lan.compose(device, "h")
        lan.run(for: .milliseconds(500))
        #expect(lan.typing(one).isEmpty)
        #expect(lan.presences(one).count <= 1)
        let peer = ScriptedPeer(lan, identity: 3, node: one, host: 120, name: "Same")
        #expect(throws: ScriptedPeer.Unanswered.self) { try peer.openUncrossed() }
        #expect(lan.hosts[one].endpoint.counters.drops[.ownIdentity] ?? 0 >= 1)

        let plain = VirtualLAN()
        plain.add(identity: 0, name: "Same")
        plain.add(identity: 1, name: "Same")
        plain.discoverAll()
        plain.run(for: .seconds(1))
        plain.compose(1, "h")
        plain.run(for: .milliseconds(1))
        #expect(plain.typing(0).map(\.names) == [["Same"]], "another identity of the same name is shown")
    }

    @Test("nobody is named as typing who was not told to be there (R14)")
    func onlyPresent() {
        let lan = twoNodes()
        lan.compose(1, "h")
        lan.run(for: .milliseconds(100))
        let late = lan.add(identity: 2, name: "Carol")
        lan.discoverAll()
        for step in 0..<30 {
            lan.compose(1, "\(step)")
            lan.run(for: .milliseconds(100))
            if step == 10 { lan.cut() }
            if step == 25 { lan.repair() }
        }
        lan.run(for: .seconds(9))
        for host in [0, late] {
            var present: Set<PublicKey> = host == 0 ? [lan.hosts[1].endpoint.publicKey] : []
            for entry in lan.hosts[host].log {
                switch entry.output {
                case .presence(_, let person, .offline, _): present.remove(person.key)
                case .presence(_, let person, _, _): present.insert(person.key)
                case .typing(_, let people):
                    for person in people { #expect(present.contains(person.key), "host \(host) at \(entry.at)") }
                default: break
                }
            }
        }
    }

    @Test("of more than 500 datagrams a second on a link the surplus is dropped, but it is evidence (L-25)")
    func datagramLimit() throws {
        let peer = try ScriptedPeer.linked()
        peer.run(for: 600)
        let before = peer.lan.hosts[0].endpoint.counters.drops[.peerLimit] ?? 0
        for _ in 0..<1_100 { peer.send([.pong(1)]) }
        #expect((peer.lan.hosts[0].endpoint.counters.drops[.peerLimit] ?? 0) - before == 100)
        peer.send(typing: true)
        #expect(peer.shown.isEmpty, "what is over the limit changes nothing")
        peer.forget()
        peer.run(for: 1_749)
        #expect(peer.pings.isEmpty, "the last one dropped was evidence")
        peer.run(for: 1)
        #expect(!peer.pings.isEmpty)
        peer.send(typing: true)
        #expect(peer.shown.map(\.shown) == [true])
        for _ in 0..<1_100 { peer.send([.pong(1)]) }
        peer.send([.bye(.quit)])
        #expect(peer.shown.map(\.shown) == [true, false], "a bye is never over the limit")
    }

    @Test("forged and foreign datagrams change nothing of what is shown (R12)")
    func forged() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        let genuine = peer.seal([.typing(Status(isTyping: false, isAway: false))], counter: 60)
        for bit in 0..<genuine.count * 8 {
            var forged = genuine
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            peer.inject(forged)
        }
        let stranger = ScriptedPeer(peer.lan, identity: 2, host: 101, chat: ChatKeys(openName: "elsewhere"), run: 9)
        #expect(throws: ScriptedPeer.Unanswered.self) { try stranger.openUncrossed() }
        #expect(peer.shown.map(\.shown) == [true])
        peer.inject(genuine)
        #expect(peer.shown.map(\.shown) == [true, false])
    }
}

import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// How a link ends, and what is said of its messages.
struct LinkEnd: Sendable, CustomTestStringConvertible {
    let name: String
    let reason: FailureReason
    let act: @Sendable (ScriptedPeer) throws -> Void
    var testDescription: String { name }

    static let all: [LinkEnd] = [
        .init(name: "the peer says bye", reason: .bye) { $0.send([.bye(.quit)]) },
        .init(name: "the peer is suspended", reason: .bye) { $0.send([.bye(.suspended)]) },
        .init(name: "the peer leaves", reason: .bye) { $0.send([.bye(.left)]) },
        .init(name: "the peer blocks", reason: .bye) { $0.send([.bye(.removed)]) },
        .init(name: "the peer falls silent", reason: .silence) { $0.run(for: 4_000) },
        .init(name: "the peer's last will", reason: .will) {
            $0.inject($0.seal([.bye(.lastWill)], counter: Limits.lastWillCounter))
        },
        .init(name: "leaving the chat", reason: .left) { peer in
            try peer.lan.perform(0) { try $0.leave(peer.chat.tag, now: $1) }
        },
        .init(name: "blocking the peer", reason: .blocked) { peer in
            peer.lan.perform(0) { $0.block(peer.identity.publicKey.userID, now: $1) }
        },
        .init(name: "quitting", reason: .quit) { peer in peer.lan.perform(0) { $0.quit(now: $1) } },
        .init(name: "suspending", reason: .quit) { peer in peer.lan.perform(0) { $0.suspend(now: $1) } },
        .init(name: "the peer restarts under a new run", reason: .replaced) { peer in
            peer.restart(run: 78, stream: 9_000)
            try peer.openUncrossed()
            peer.sayHello()
            peer.sign = [.pong(1)]
            peer.run(for: 3_000)
        },
    ]
}

@Suite("Messages")
struct MessageTests {
    private static let chat = VirtualLAN.lobby.tag
    private static let scalars: [[Unicode.Scalar]] = [
        ["a", "z", " ", "\n"], ["é", "ß", "\u{80}", "\u{7FF}"], ["€", "あ", "\u{800}", "\u{FFFD}"],
        ["😀", "\u{10000}", "\u{10FFFF}", "🎉"],
    ]
    private static let emoji = ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{301}", "🏳️‍🌈", "\r\n"]

    /// A text of 1 to 10,000 characters, more often a short one, of mixed widths.
    private static func randomText(_ generator: inout SeededGenerator) -> String {
        let least = [1, 1, 10, 10, 100, 100, 1_000][Int.random(in: 0..<7, using: &generator)]
        let count = Int.random(in: least...least * 10, using: &generator)
        var view = String.UnicodeScalarView()
        let width = Int.random(in: 0..<6, using: &generator)
        for _ in 0..<count {
            if width == 5 {
                view.append(contentsOf: emoji[Int.random(in: 0..<emoji.count, using: &generator)].unicodeScalars)
                if view.count >= count { break }
            } else {
                let row = scalars[width == 4 ? Int.random(in: 0..<4, using: &generator) : width]
                view.append(row[Int.random(in: 0..<row.count, using: &generator)])
            }
        }
        return String(view)
    }

    // MARK: Whole and once

    @Test(
        "a thousand random messages over a bad network: once, whole, in order, each reported (M-1, M-2, M-17, R25, R26)",
        arguments: [(10, 500), (30, 500)])
    func badNetwork(_ loss: Int, _ count: Int) {
        let lan = twoNodes()
        var generator = SeededGenerator(seed: UInt64(loss))
        nonisolated(unsafe) var dice = SeededGenerator(seed: UInt64(loss) + 1)
        lan.transit = { _ in
            if Int.random(in: 0..<100, using: &dice) < loss { return [] }
            let copies = Int.random(in: 0..<10, using: &dice) == 0 ? 2 : 1
            return (0..<copies).map { _ in .milliseconds(Int.random(in: 0...50, using: &dice)) }
        }
        var texts: [[String]] = [[], []]
        for number in 0..<count {
            let sender = number % 5 == 0 ? 1 : 0
            let text = Self.randomText(&generator)
            texts[sender].append(text)
            #expect(lan.send(sender, text) == 1)
            lan.run(for: .milliseconds(Int.random(in: 0...40, using: &generator)))
        }
        for _ in 0..<180 where lan.outcomes(0).count + lan.outcomes(1).count < count { lan.run(for: .seconds(1)) }
        for (sender, receiver) in [(0, 1), (1, 0)] {
            #expect(lan.messages(receiver) == texts[sender])
            #expect(lan.outcomes(sender).map(\.message) == (1...texts[sender].count).map { UInt64($0) })
            #expect(lan.outcomes(sender).allSatisfy { $0.failure == nil })
            #expect(lan.hosts[sender].endpoint.tableSizes.messages == 0)
            #expect(lan.hosts[sender].endpoint.counters.messagesDelivered == texts[sender].count)
            let utf8 = zip(lan.messages(receiver), texts[sender]).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
            #expect(utf8, "byte for byte")
        }
    }

    @Test(
        "a text is cut at scalar boundaries into full records, the first and the last flagged (M-1)",
        arguments: [1, 2, 3, 4, 1_161, 1_162, 1_163, 1_164, 2_326, 2_327, 5_000, 65_533, 65_536])
    func cutting(_ size: Int) throws {
        for width in 1...4 {
            let peer = try ScriptedPeer.linked()
            peer.acknowledges = true
            let scalar = Self.scalars[width - 1][0]
            let text =
                String(repeating: "x", count: size % width) + String(repeating: String(scalar), count: size / width)
            #expect(text.utf8.count == size)
            peer.lan.send(0, text)
            for _ in 0..<200 where peer.lan.outcomes(0).isEmpty { peer.run(for: 10) }
            let records = peer.records.map(\.record)
            #expect(records.map(\.text).joined() == text)
            #expect(records.map(\.number) == (0..<records.count).map { UInt32($0) })
            #expect(records.map(\.isFirst) == records.indices.map { $0 == 0 })
            #expect(records.map(\.isLast) == records.indices.map { $0 == records.count - 1 })
            #expect(records.dropLast().allSatisfy { (1_160...1_163).contains($0.text.utf8.count) })
            #expect(peer.lan.hosts[0].sent.allSatisfy { $0.bytes.count <= 1_200 })
            #expect(peer.lan.outcomes(0).map(\.failure) == [nil])
        }
    }

    @Test(
        "10,000 scalars of four bytes, and a message of 64 KiB, arrive whole; empty and longer ones are refused (M-1)")
    func limits() {
        let lan = twoNodes()
        let texts = [String(repeating: "😀", count: 10_000), String(repeating: "y", count: 65_536), "\n"]
        for text in texts { #expect(lan.send(0, text) == 1) }
        lan.perform(0) { endpoint, now in
            #expect(throws: CommandError.messageEmpty) { try endpoint.send("", to: Self.chat, now: now) }
            #expect(throws: CommandError.messageTooLong(bytes: 65_537)) {
                try endpoint.send(String(repeating: "y", count: 65_537), to: Self.chat, now: now)
            }
        }
        lan.run(for: .seconds(1))
        #expect(lan.messages(1) == texts)
        #expect(lan.outcomes(0).count == 3)
        #expect(lan.hosts[0].endpoint.counters.messagesSent == 3)
    }

    @Test("a message is there as fast as the network is, also while the sender's user types on (R25)")
    func fast() {
        let lan = twoNodes()
        for step in 0..<50 {
            lan.compose(0, "\(step)")
            lan.send(0, "m \(step)")
            let at = lan.now
            lan.compose(0, "\(step) again")
            lan.run(for: .milliseconds(20))
            let came = lan.hosts[1].log.last { if case .message = $0.output { true } else { false } }
            #expect(came?.at == at + .microseconds(200))
        }
        #expect(lan.messages(1).count == 50)
    }

    @Test("who is not there gets nothing, then or later, and the sender is told to how many it goes (R25)")
    func nobody() {
        let lan = twoNodes()
        let third = lan.add(identity: 2, name: "Carol")
        #expect(lan.send(0, "early") == 1)
        lan.discoverAll()
        lan.run(for: .seconds(2))
        #expect(lan.messages(third).isEmpty)
        #expect(lan.send(0, "to both") == 2)
        lan.run(for: .seconds(1))
        #expect(lan.messages(third) == ["to both"])
        let alone = VirtualLAN()
        alone.add(identity: 0)
        #expect(alone.send(0, "to nobody") == 0)
        alone.run(for: .seconds(5))
        #expect(alone.hosts[0].log.isEmpty, "no outcome where there is no person")
    }

    // MARK: Typing before messages

    @Test(
        "typing ends before each of a hundred messages shows, whichever copies are lost (M-9, T-10, R4)",
        arguments: [(0, 100), (1, 100), (3, 20), (5, 20)])
    func typingBeforeMessage(_ lost: Int, _ count: Int) {
        let lan = twoNodes()
        nonisolated(unsafe) var left = 0
        lan.transit = { packet in
            guard packet.source == VirtualLAN.address(0), left > 0 else { return [.microseconds(200)] }
            left -= 1
            return []
        }
        for number in 0..<count {
            lan.compose(0, "draft \(number)")
            lan.run(for: .milliseconds(600))
            left = lost
            lan.send(0, "message \(number)")
            lan.run(for: .milliseconds(200))
            for _ in 0..<30 where lan.messages(1).count == number { lan.run(for: .milliseconds(500)) }
        }
        #expect(lan.messages(1).count == count)
        var isTyping = false
        var shown = 0
        for entry in lan.hosts[1].log {
            switch entry.output {
            case .typing(_, let people):
                isTyping = !people.isEmpty
                if isTyping { shown += 1 }
            case .message(_, _, let number, _):
                #expect(!isTyping, "message \(number)")
                #expect(shown == Int(number), "and once for each message, not again after it")
            default: break
            }
        }
        #expect(!isTyping)
        #expect(shown == count)
    }

    @Test("the stop is in the datagram of the message, before it, and the message itself clears nothing (M-9)")
    func sameDatagram() throws {
        let peer = try ScriptedPeer.linked()
        peer.lan.compose(0, "h")
        peer.run(for: 200)
        peer.clear()
        peer.lan.send(0, "hi")
        peer.poll()
        #expect(peer.seen.count == 1)
        #expect(peer.seen.first?.frames.first == .typing(Status(isTyping: false, isAway: false)))
        #expect(peer.seen.first?.frames.count == 2)
        peer.lan.compose(0, "more")
        peer.run(for: 600)
        let again = peer.seen.filter { $0.frames.contains(where: \.isMessage) }.dropFirst()
        #expect(again.first?.frames.first == .typing(Status(isTyping: true, isAway: false)), "the status of its moment")

        peer.send(typing: true, counter: 50)
        peer.send(
            [
                .typing(Status(isTyping: false, isAway: false)),
                .message(Record(stream: 5_000, number: 0, isFirst: true, isLast: true, text: "late")),
            ],
            counter: 40)
        #expect(peer.lan.messages(0) == ["late"])
        #expect(peer.shown.map(\.shown) == [true], "a late copy leaves newer typing alone")
        peer.send([.message(Record(stream: 5_000, number: 1, isFirst: true, isLast: true, text: "bare"))], counter: 60)
        #expect(peer.lan.messages(0) == ["late", "bare"])
        #expect(peer.shown.map(\.shown) == [true])
    }

    // MARK: Pacing and limits

    @Test("a link gets 400 datagrams with a message a second, after a burst of 64 (M-13)")
    func pacing() throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        peer.sign = [.pong(1)]
        let start = peer.now
        for number in 0..<1_000 { peer.lan.send(0, "\(number)") }
        peer.run(for: 2_500)
        let times = peer.records.map { $0.at - start }
        #expect(times.count == 1_000)
        for (place, time) in times.enumerated() where place >= 64 {
            #expect(time >= (place - 63) * 5 / 2, "record \(place)")
        }
        #expect(times.prefix(64).allSatisfy { $0 <= 5 }, "the burst is not held back")
        #expect(times.last.map { $0 <= 2_400 } == true, "nor is the rest longer than need be")
        #expect(peer.lan.hosts[0].endpoint.counters.retransmissions == 0)
    }

    @Test("a node sends 64 records between two reads, and 2,000 a second in all (M-13)")
    func pacingOfNode() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peers = (1...11).map { ScriptedPeer(lan, identity: $0, host: 100 + $0, run: UInt64($0)) }
        for peer in peers {
            try peer.meet()
            peer.acknowledges = true
        }
        lan.run(for: .milliseconds(500))
        for peer in peers { peer.clear() }
        func sent() -> Int { peers.map(\.records.count).reduce(0, +) }
        let long = String(repeating: "x", count: 60_000)
        #expect(lan.send(0, long) == 11)
        let atOnce = lan.hosts[0].sent.count { $0.bytes.count > 1_100 }
        #expect(atOnce == 64)
        for _ in 0..<8 { lan.send(0, long) }
        for millisecond in 1...390 {
            lan.run(for: .milliseconds(1))
            for peer in peers { peer.poll() }
            #expect(sent() <= 128 + 2 * millisecond)
        }
        #expect(sent() > 800, "and it makes use of it: \(sent())")
    }

    @Test("of 20,000 lines that are piped into a chat of eight each arrives, and none stalls (M-13, M-19, M-21)")
    func longPipe() {
        let lan = VirtualLAN()
        for index in 0..<8 { lan.add(identity: index) }
        lan.discoverAll()
        lan.run(until: .at(2_000))
        lan.forget()
        var sent = 0
        var received = Array(repeating: 0, count: 8)
        var outcomes = 0
        while sent < 20_000 || outcomes < 7 * sent, lan.now < .at(120_000) {
            // As a pipe does: as much as the queue takes.
            while sent < 20_000, lan.send(0, "line \(sent)") == 7 { sent += 1 }
            lan.run(for: .milliseconds(500))
            for index in 1..<8 {
                let texts = lan.messages(index)
                #expect(texts == (0..<texts.count).map { "line \(received[index] + $0)" })
                received[index] += texts.count
            }
            let news = lan.outcomes(0)
            #expect(news.allSatisfy { $0.failure == nil })
            outcomes += news.count
            let (least, most) = (received.dropFirst().min() ?? 0, received.dropFirst().max() ?? 0)
            #expect(most - least <= 200, "nobody gets far ahead of the others")
            lan.forget()
        }
        #expect(received.dropFirst().allSatisfy { $0 == 20_000 })
        #expect(lan.now < .at(80_000), "and the rate is made use of: \(lan.now.milliseconds) ms")
    }

    @Test("statuses, acks, pings and byes are not held back by records that wait (M-13, R25)")
    func notHeldBack() throws {
        let peer = try ScriptedPeer.linked()
        let start = peer.now
        for number in 0..<500 { peer.lan.send(0, "\(number)") }
        peer.run(for: 7)
        peer.clear()
        peer.lan.compose(0, "h")
        peer.send(record: 0, "yours")
        peer.send([.ping(3)])
        peer.lan.perform(0) { $0.quit(now: $1) }
        peer.poll()
        #expect(peer.typingFrames.map(\.at) == [start + 7])
        #expect(peer.acks.count == 1)
        #expect(peer.seen.contains { $0.frames.contains(.pong(3)) })
        #expect(peer.byes.map(\.at) == [start + 7])
    }

    @Test("4 MiB wait for a peer; a message beyond is refused for all before anything is sent (M-14)")
    func queue() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let slow = ScriptedPeer(lan, identity: 1, host: 101, run: 1)
        let quick = ScriptedPeer(lan, identity: 2, host: 102, run: 2)
        for peer in [slow, quick] { try peer.meet() }
        quick.acknowledges = true
        lan.run(for: .milliseconds(500))
        let block = String(repeating: "x", count: 65_536)
        for _ in 0..<63 { #expect(lan.send(0, block) == 2) }
        // Each counts 256 bytes besides its text: this one fills the rest.
        #expect(lan.send(0, String(repeating: "x", count: 4_194_304 - 63 * (65_536 + 256) - 256)) == 2)
        quick.run(for: 1)
        slow.clear()
        quick.clear()
        lan.compose(0, "y")
        lan.forget()
        lan.perform(0) { endpoint, now in
            #expect(throws: CommandError.queueFull(slow.identity.publicKey)) {
                try endpoint.send("y", to: Self.chat, now: now)
            }
        }
        #expect(lan.hosts[0].sent.isEmpty, "not even a stop")
        #expect(lan.hosts[0].endpoint.counters.messagesSent == 64)
        slow.poll()
        slow.send(ack: 1)
        quick.send([.ack(Ack(stream: quick.heldStream, next: quick.nextRecord, bitmap: 0))])
        lan.perform(0) { endpoint, now in
            #expect(throws: CommandError.queueFull(slow.identity.publicKey)) {
                try endpoint.send(String(repeating: "y", count: 908), to: Self.chat, now: now)
            }
        }
        #expect(lan.send(0, String(repeating: "y", count: 907)) == 2, "as much as was acknowledged")
    }

    @Test("what a living peer does not acknowledge for 30 s has failed, and a new stream begins (M-19, M-17)")
    func stalled() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        let session = try peer.link()
        let stream = peer.receive(on: session).compactMap(\.hello).last?.stream
        let start = lan.now.milliseconds
        lan.send(0, "first")
        lan.run(for: .seconds(1))
        lan.send(0, "second")
        var streams: Set<UInt32> = []
        peer.live(on: session, for: .seconds(40)) { received in
            if let hello = received.hello { streams.insert(hello.stream) }
        }
        let failures = lan.hosts[0].log.compactMap { entry -> (Int, UInt64, FailureReason)? in
            guard case .failed(let message, _, _, let why) = entry.output else { return nil }
            return (entry.at.milliseconds - start, message, why)
        }
        #expect(failures.map(\.0) == [30_000, 30_000])
        #expect(failures.map(\.1) == [1, 2])
        #expect(failures.allSatisfy { $0.2 == .stalled })
        #expect(lan.online(0).count == 1, "the link lives on")
        #expect(streams.count == 1 && streams.first != stream)
        #expect(lan.hosts[0].endpoint.tableSizes.messages == 0)
    }

    @Test("once the oldest message of a full queue is 5 s old, it alone gets no more (M-14, M-17)")
    func fullQueueOfOne() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let slow = ScriptedPeer(lan, identity: 1, host: 101, run: 1)
        let quick = ScriptedPeer(lan, identity: 2, host: 102, run: 2)
        for peer in [slow, quick] {
            try peer.meet()
            peer.send([peer.heartbeat()])
        }
        quick.acknowledges = true
        lan.run(for: .milliseconds(500))
        for peer in [slow, quick] { peer.clear() }
        let block = String(repeating: "x", count: 65_536)
        lan.send(0, block)
        let start = lan.now
        func run(to end: Instant) {
            while lan.now < end {
                quick.run(for: 1)
                slow.poll()
            }
        }
        run(to: start + .milliseconds(100))
        for _ in 0..<62 {
            #expect(lan.send(0, block) == 2)
            run(to: lan.now + .milliseconds(60))
        }
        run(to: start + .milliseconds(4_990))
        lan.forget()
        #expect(lan.send(0, block) == nil, "it holds up all while it may be slow for a moment")
        run(to: start + .milliseconds(5_001))
        #expect(lan.send(0, block) == 2)
        #expect(lan.outcomes(0).filter { $0.failure == .stalled }.map(\.message) == [64])
        run(to: lan.now + .seconds(5))
        #expect(lan.outcomes(0).filter { $0.failure == nil }.map(\.message).last == 64, "the other has it")
        slow.send([.bye(.quit)])
        #expect(lan.outcomes(0).count { $0.failure == .bye } == 63)
        #expect(lan.hosts[0].endpoint.tableSizes.messages == 0)
    }

    @Test("a message that would go to nobody for full queues is refused however old they are (M-14)")
    func fullQueueOfAll() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        let block = String(repeating: "x", count: 65_536)
        for _ in 0..<63 { peer.lan.send(0, block) }
        peer.run(for: 6_000)
        peer.lan.perform(0) { endpoint, now in
            #expect(throws: CommandError.queueFull(peer.identity.publicKey)) {
                try endpoint.send(block, to: Self.chat, now: now)
            }
        }
        #expect(peer.lan.outcomes(0).isEmpty)
    }

    @Test("a peer that acknowledges a record each 29 s holds the queue for a minute, not for ever (M-19)")
    func trickle() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        for number in 0..<40 { peer.lan.send(0, "\(number)") }
        let start = peer.now
        for step in 1...2 {
            peer.run(until: start + step * 29_000)
            peer.send(ack: UInt32(step))
        }
        peer.run(until: start + 61_000)
        let outcomes = peer.lan.hosts[0].log.compactMap { entry -> (at: Int, failure: FailureReason?)? in
            switch entry.output {
            case .delivered: (entry.at.milliseconds - start, nil)
            case .failed(_, _, _, let reason): (entry.at.milliseconds - start, reason)
            default: nil
            }
        }
        #expect(outcomes.prefix(2).allSatisfy { $0.failure == nil })
        #expect(outcomes.dropFirst(2).allSatisfy { $0.failure == .stalled && $0.at == 60_000 }, "\(outcomes)")
        #expect(outcomes.count == 40)
        #expect(peer.lan.online(0).count == 1)
    }

    // MARK: A user who takes nothing

    @Test("a user who takes nothing is held 8 MiB for, and gets the rest afterwards (M-20, H4)")
    func untaken() {
        let lan = twoNodes()
        let friend = lan.hosts[0].endpoint.publicKey
        lan.perform(1) { $0.setStandings([friend: .verified], now: $1) }
        lan.takeMessages(1, false)
        let block = String(repeating: "x", count: 65_536)
        var sent = 0
        func run(_ seconds: Int) {
            for _ in 0..<seconds {
                while sent < 200, lan.send(0, block) == 1 { sent += 1 }
                lan.run(for: .seconds(1))
            }
        }
        run(25)
        let held = lan.messages(1).count
        #expect(held * 65_792 <= 8 * 1_024 * 1_024)
        #expect(held * 65_792 > 5 * 1_024 * 1_024, "and makes use of it")
        #expect(lan.outcomes(0).count == held, "nothing else is acknowledged")
        #expect(lan.online(0).count == 1 && lan.online(1).count == 1)
        run(5)
        #expect(lan.messages(1).count == held)
        lan.takeMessages(1, true)
        lan.perform(1) { endpoint, _ in for number in 1...held { endpoint.messageTaken(UInt64(number)) } }
        run(2)
        #expect(lan.messages(1).count > held, "it goes on within a second")
        for _ in 0..<40 where lan.outcomes(0).count < sent { run(1) }
        #expect(lan.messages(1).count == sent)
        #expect(lan.outcomes(0).allSatisfy { $0.failure == nil })
    }

    @Test("one who floods a user who takes nothing does not keep another's messages away (M-20)")
    func untakenFlood() {
        let lan = VirtualLAN()
        for index in 0..<3 { lan.add(identity: index, chats: index == 2 ? [] : [VirtualLAN.lobby]) }
        lan.discoverAll()
        lan.run(until: .at(1_000))
        lan.takeMessages(1, false)
        let block = String(repeating: "x", count: 65_536)
        while lan.now < .at(25_000) {
            while lan.send(0, block) == 1 {}
            lan.run(for: .seconds(1))
        }
        lan.perform(2) { try? $0.join(VirtualLAN.lobby, now: $1) }
        lan.discoverAll()
        lan.run(for: .seconds(1))
        lan.forget()
        #expect(lan.send(2, "hello") == 2)
        lan.send(2, block)
        lan.run(for: .seconds(1))
        #expect(lan.messages(1) == ["hello", block])
    }

    @Test("an ack goes out unprompted on each link that was held back, once half is free again (M-20)")
    func unpromptedAck() throws {
        let peer = try ScriptedPeer.linked()
        peer.lan.takeMessages(0, false)
        peer.sign = [.pong(1)]
        let part = String(repeating: "x", count: 1_163)
        var next: UInt32 = 0
        var isRefused = false
        while !isRefused {
            for place in 0..<56 where !isRefused {
                peer.clear()
                peer.send(record: next, part, first: place == 0, last: place == 55)
                isRefused = peer.acks.last?.next != next + 1
                if !isRefused { next += 1 }
            }
            peer.run(for: 120)
        }
        let held = peer.lan.messages(0).count
        #expect(next == held * 56 + 55, "at the end of a message")
        peer.clear()
        peer.send(record: next + 1, part, first: false, last: false)
        #expect(peer.acks == [Ack(stream: 5_000, next: next, bitmap: 0)])
        peer.clear()
        let cost = 56 * 1_163 + 256
        for number in 1...held {
            peer.lan.perform(0) { endpoint, _ in endpoint.messageTaken(UInt64(number)) }
            peer.poll()
            let isHalfFree = (held - number) * cost <= 256 * 1_024
            #expect(peer.acks == (isHalfFree ? [Ack(stream: 5_000, next: next, bitmap: 0)] : []), "\(number)")
        }
    }

    // MARK: Outcome

    @Test("each message fails once, with the reason for which its link ended (M-17, M-18, R26)", arguments: LinkEnd.all)
    func failures(_ end: LinkEnd) throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<20 { peer.lan.send(0, "\(number)") }
        peer.poll()
        peer.send(ack: 3, bitmap: 0b10)
        try end.act(peer)
        peer.run(for: 100)
        let outcomes = peer.lan.outcomes(0)
        #expect(outcomes.map(\.message) == (1...20).map { UInt64($0) }, "one each")
        #expect(outcomes.prefix(3).allSatisfy { $0.failure == nil })
        #expect(outcomes.dropFirst(3).allSatisfy { $0.failure == end.reason }, "\(outcomes)")
        #expect(peer.lan.hosts[0].endpoint.counters.messagesFailed == 17)
        #expect(peer.lan.hosts[0].endpoint.tableSizes.messages == 0)
    }

    @Test("an acknowledgement that comes after the end changes nothing (M-17)")
    func lateAck() throws {
        let peer = try ScriptedPeer.linked()
        peer.lan.send(0, "x")
        peer.poll()
        peer.send([.bye(.quit)])
        peer.send(ack: 1)
        peer.lan.send(0, "y")
        #expect(peer.lan.outcomes(0).map(\.failure) == [.bye])
    }

    /// A node, and two devices of one person, linked.
    private func devices() throws -> (VirtualLAN, ScriptedPeer, ScriptedPeer) {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let one = ScriptedPeer(lan, identity: 1, host: 101, run: 1, stream: 100)
        let two = ScriptedPeer(lan, identity: 1, host: 102, run: 2, stream: 200)
        for peer in [one, two] {
            try peer.meet()
            peer.sayHello()
            lan.run(for: .milliseconds(50))
        }
        for peer in [one, two] { peer.send([.pong(1)]) }
        lan.forget()
        return (lan, one, two)
    }

    @Test("a person with two devices counts once, and the first device that has all is the outcome (M-17)")
    func twoDevices() throws {
        let (lan, one, two) = try devices()
        #expect(lan.send(0, "first") == 1, "one person")
        #expect(lan.send(0, "second") == 1)
        lan.send(0, "third")
        one.poll()
        two.poll()
        #expect(one.records.count == 3 && two.records.count == 3)
        one.send(ack: 1)
        two.send(ack: 1)
        #expect(lan.outcomes(0).map(\.message) == [1])
        one.send([.bye(.quit)])
        #expect(lan.outcomes(0).map(\.message) == [1], "the other may have them still")
        two.send(ack: 2)
        #expect(lan.outcomes(0).map(\.message) == [1, 2])
        two.send([.hello(Hello(run: 2, stream: 200, heldStream: 0, nextRecord: 0, name: ""))])
        #expect(lan.outcomes(0).map(\.failure) == [nil, nil, .lostState])
        #expect(lan.hosts[0].endpoint.tableSizes.messages == 0)
    }

    @Test("a message to several people has an outcome for each (M-17)")
    func severalPeople() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peers = (1...3).map { ScriptedPeer(lan, identity: $0, host: 100 + $0, run: UInt64($0)) }
        for peer in peers { try peer.meet() }
        lan.run(for: .milliseconds(100))
        #expect(lan.send(0, "x") == 3)
        for peer in peers { peer.poll() }
        peers[0].send(ack: 1)
        peers[1].send([.bye(.quit)])
        lan.run(for: .seconds(8))
        let outcomes: [PublicKey: [String]] = lan.hosts[0].log.reduce(into: [:]) { result, entry in
            switch entry.output {
            case .delivered(1, _, let key): result[key, default: []].append("delivered")
            case .failed(1, _, let key, let reason): result[key, default: []].append(reason.rawValue)
            default: break
            }
        }
        let keys = peers.map(\.identity.publicKey)
        #expect(outcomes == [keys[0]: ["delivered"], keys[1]: ["bye"], keys[2]: ["silence"]])
    }

    @Test("a peer that restarts loses what it did not acknowledge, told as such, and gets what comes then (M-6, M-18)")
    func restart() {
        let lan = twoNodes()
        for number in 0..<5 { lan.send(0, "before \(number)") }
        lan.run(for: .milliseconds(100))
        lan.kill(1)
        for number in 0..<5 { lan.send(0, "between \(number)") }
        let again = lan.add(identity: 1, name: "Bob", run: 4_711, host: 5)
        lan.discoverAll()
        lan.run(for: .seconds(4))
        for number in 0..<5 { lan.send(0, "after \(number)") }
        lan.run(for: .seconds(1))
        #expect(lan.messages(again) == (0..<5).map { "after \($0)" })
        let outcomes = lan.outcomes(0)
        #expect(outcomes.map(\.message).sorted() == (1...15).map { UInt64($0) })
        #expect(outcomes.filter { $0.failure != nil }.map(\.message) == Array(6...10))
        #expect(outcomes.compactMap(\.failure).allSatisfy { $0 == .replaced })
    }

    @Test(
        "whatever happens to two nodes, each message has one outcome, and delivered is true (M-17, R26)",
        arguments: 1...16)
    func anything(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed) * 7_919)
        nonisolated(unsafe) var dice = SeededGenerator(seed: UInt64(seed))
        let lan = twoNodes()
        nonisolated(unsafe) var isCut = false
        lan.transit = { _ in
            if isCut || Int.random(in: 0..<10, using: &dice) == 0 { return [] }
            return [.milliseconds(Int.random(in: 0...30, using: &dice))]
        }
        var (bob, sent, expected): (Int, [String], Int) = (1, [], 0)
        let user = lan.hosts[1].endpoint.publicKey.userID
        for _ in 0..<60 {
            switch Int.random(in: 0..<24, using: &generator) {
            case 0: isCut.toggle()
            case 1: lan.perform(bob) { $0.suspend(now: $1) }
            case 2, 3: lan.perform(bob) { $0.resume(now: $1) }
            case 4: lan.perform(0) { $0.block(user, now: $1) }
            case 5, 6: lan.perform(0) { $0.unblock(user, now: $1) }
            case 7:
                lan.kill(bob)
                bob = lan.add(
                    identity: 1, name: "Bob", run: .random(in: .min ... .max, using: &generator), host: lan.hosts.count)
                lan.discover(bob, by: 0)
                lan.discover(0, by: bob)
            case 8: lan.stop(bob)
            case 9, 10: if lan.hosts[bob].isStopped { lan.resume(bob) }
            default:
                sent.append(
                    "\(sent.count + 1) " + String(repeating: "é", count: .random(in: 0...4_000, using: &generator)))
                expected += lan.send(0, sent[sent.count - 1]) ?? 0
            }
            lan.run(for: .milliseconds(.random(in: 0...700, using: &generator)))
        }
        isCut = false
        if lan.hosts[bob].isStopped { lan.resume(bob) }
        lan.run(for: .seconds(60))
        let outcomes = lan.outcomes(0)
        #expect(outcomes.count == expected)
        #expect(Set(outcomes.map(\.message)).count == outcomes.count)
        #expect(lan.hosts[0].endpoint.tableSizes.messages == 0)
        var came: [String: Int] = [:]
        for host in 1..<lan.hosts.count {
            let numbers = lan.messages(host).compactMap { Int($0.prefix { $0 != " " }) }
            #expect(numbers == numbers.sorted(), "in order")
            for text in lan.messages(host) { came[text, default: 0] += 1 }
        }
        #expect(came.values.allSatisfy { $0 == 1 }, "no message twice")
        #expect(Set(came.keys).isSubset(of: sent), "and none cut short")
        for outcome in outcomes where outcome.failure == nil {
            #expect(came[sent[Int(outcome.message) - 1]] == 1, "message \(outcome.message) was said to be delivered")
        }
    }

    // MARK: Counters

    @Test("the counters say what happened (R28)")
    func counters() throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        let before = peer.lan.hosts[0].endpoint.counters
        peer.lan.compose(0, "h")
        peer.run(for: 50)
        peer.lan.send(0, "hi")
        peer.run(for: 50)
        peer.send(typing: true)
        peer.run(for: 30)
        peer.send(typing: true)
        peer.send(record: 0, "with an indicator before it")
        peer.send(record: 1, "without one")
        peer.send(record: 1, "doubled")
        peer.send(typing: true)
        peer.run(for: 1_600)
        peer.send([.pong(9)])
        peer.run(for: 1_400)
        peer.inject([0x13, 1, 2])
        peer.inject(peer.seal([.ping(1)], counter: 0))
        let after = peer.lan.hosts[0].endpoint.counters
        #expect(after.messagesSent == 1 && after.messagesDelivered == 1 && after.messagesFailed == 0)
        #expect(after.messagesReceived == 2 && after.messagesPrecededByTyping == 1)
        #expect(after.typingStartsSent == 1 && after.typingStartsReceived == 2)
        #expect(after.staleClears == 1)
        #expect(after.drops[.malformed] == 1 && after.drops[.replayed] == 1)
        #expect(after.retransmissions == 0 && after.lateTimers == 0)
        #expect(after.sent[.typing] == 1 + 1 + 2)
        #expect(after.sent[.message] == 1 && after.sent[.ack] == 3)
        #expect((after.received[.sealed] ?? 0) > (before.received[.sealed] ?? 0))
        #expect(after.bytesSent - before.bytesSent == peer.lan.hosts[0].sent.map(\.bytes.count).reduce(0, +))
        #expect(after.handshakesCompleted == 1 && after.linksMade == 1)
    }

    @Test("the round trip is told by a ping that was asked for (R28)")
    func roundTrip() {
        let lan = twoNodes()
        lan.transit = { _ in [.milliseconds(7)] }
        lan.perform(0) { $0.measureRoundTrip(in: Self.chat, now: $1) }
        lan.run(for: .milliseconds(20))
        #expect(lan.hosts[0].endpoint.present(in: Self.chat).first?.roundTrip == .milliseconds(14))
    }
}

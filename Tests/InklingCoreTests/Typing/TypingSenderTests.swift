import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// A text and whether it counts as typing.
struct CountingText: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let counts: Bool
    var testDescription: String { name }

    static let all: [CountingText] = [
        .init(name: "a letter", text: "a", counts: true),
        .init(name: "a letter behind blanks", text: " \t a", counts: true),
        .init(name: "a slash behind a blank", text: " /help", counts: true),
        .init(name: "an emoji of several scalars", text: "👩‍👩‍👧‍👦", counts: true),
        .init(name: "a combining mark alone", text: "\u{301}", counts: true),
        .init(name: "a private-use character", text: "\u{E000}", counts: true),
        .init(name: "a letter behind a zero-width space", text: "\u{200B}a", counts: true),
        .init(name: "a slash inside", text: "a/b", counts: true),
        .init(name: "nothing", text: "", counts: false),
        .init(name: "a blank", text: " ", counts: false),
        .init(name: "a no-break space", text: "\u{A0}", counts: false),
        .init(name: "an ideographic space", text: "\u{3000}", counts: false),
        .init(name: "a line separator", text: "\u{2028}", counts: false),
        .init(name: "a newline", text: "\n", counts: false),
        .init(name: "a zero-width joiner", text: "\u{200D}", counts: false),
        .init(name: "a control character", text: "\u{7}", counts: false),
        .init(name: "a byte order mark", text: "\u{FEFF}", counts: false),
        .init(name: "a Hangul filler", text: "\u{3164}", counts: false),
        .init(name: "a variation selector", text: "\u{FE0F}", counts: false),
        .init(name: "an unassigned code point", text: "\u{378}", counts: false),
        .init(name: "a noncharacter", text: "\u{FFFF}", counts: false),
        .init(name: "a command", text: "/help me", counts: false),
        .init(name: "a slash alone", text: "/", counts: false),
        .init(name: "a slash with a combining mark", text: "/\u{301}a", counts: false),
    ]
}

/// Something that ends typing at once.
struct Ending: Sendable, CustomTestStringConvertible {
    let name: String
    /// Whether a bye says it.
    var isBye = false
    let act: @Sendable (inout Endpoint, Instant) throws -> Void
    var testDescription: String { name }

    private static let chat = VirtualLAN.lobby.tag

    static let all: [Ending] = [
        .init(name: "sending") { _ = try $0.send("hi", to: chat, now: $1) },
        .init(name: "empty text") { try $0.compose("", in: chat, now: $1) },
        .init(name: "blank text") { try $0.compose("  \u{200B}", in: chat, now: $1) },
        .init(name: "a command") { try $0.compose("/quit", in: chat, now: $1) },
        .init(name: "giving up, as when another chat is opened") { try $0.stopTyping(in: chat, now: $1) },
        .init(name: "going away") { $0.setAway(true, now: $1) },
        .init(name: "leaving the chat", isBye: true) { try $0.leave(chat, now: $1) },
        .init(name: "suspending", isBye: true) { $0.suspend(now: $1) },
        .init(name: "quitting", isBye: true) { $0.quit(now: $1) },
    ]
}

@Suite("Typing, the sender")
struct TypingSenderTests {
    @Test("the text of a draft is in no datagram, no frame and no output (T-1, S-2, R33)")
    func draftStays() throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        peer.sign = [.pong(1)]
        let lan = peer.lan
        let secret = "Xylophonquetzal"
        for end in 1...secret.count {
            lan.compose(0, String(secret.prefix(end)))
            peer.run(for: 40)
        }
        peer.run(for: 5_000)
        lan.compose(0, secret + "!")
        peer.run(for: 1_000)
        lan.perform(0) { $0.setAway(true, now: $1) }
        lan.compose(0, secret + "?")
        lan.send(0, "something else")
        peer.run(for: 1_000)
        #expect(peer.seen.count == lan.hosts[0].sent.count, "all that was sent was looked into")
        #expect(peer.typingFrames.contains { $0.typing && $0.away })
        #expect(peer.records.map(\.record.text) == ["something else"])
        for part in [secret, String(secret.prefix(6)), String(secret.dropFirst(5).prefix(6))] {
            let needle = Array(part.utf8)
            for bytes in peer.seen.map({ Frames.encode($0.frames) }) + lan.hosts[0].sent.map(\.bytes) {
                #expect(!contains(bytes, needle))
            }
            for host in lan.hosts { for entry in host.log { #expect(!"\(entry.output)".contains(part)) } }
        }
    }

    private func contains(_ bytes: [UInt8], _ needle: [UInt8]) -> Bool {
        guard bytes.count >= needle.count else { return false }
        return (0...bytes.count - needle.count).contains { bytes[$0..<$0 + needle.count].elementsEqual(needle) }
    }

    @Test("what is sent of a draft does not depend on its text or its length (T-1)")
    func lengthStays() throws {
        func sizes(_ text: String) throws -> [Int] {
            let peer = try ScriptedPeer.linked()
            peer.lan.compose(0, text)
            peer.run(for: 1_000)
            return peer.lan.hosts[0].sent.map(\.bytes.count)
        }
        #expect(try sizes("a") == sizes(String(repeating: "long ", count: 2_000)))
    }

    @Test("the first visible character shows at the others as fast as the network is (R1)")
    func first() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .microseconds(200))
        #expect(lan.typing(1).map(\.names) == [["Alice"]])
        #expect(lan.hosts[1].log.last?.at == .at(1_000) + .microseconds(200))
    }

    @Test("a minute of typing is one start, two heartbeats a second, nothing more, and no gap (R2, T-8)")
    func minute() throws {
        let lan = twoNodes()
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        let start = peer.now
        for count in 1...600 {
            for lan in [lan, peer.lan] { lan.compose(0, String(repeating: "x", count: count)) }
            lan.run(for: .milliseconds(100))
            peer.run(for: 100)
        }
        #expect(lan.typing(1).map(\.names) == [["Alice"]], "one start, no gap")
        #expect(peer.typingFrames.map { $0.at - start } == [0, 30, 120])
        #expect(peer.heartbeats.map { $0.at - start } == (1...120).map { 500 * $0 }, "exactly, without jitter")
        #expect(peer.seen.flatMap(\.frames).allSatisfy { $0.status == Status(isTyping: true, isAway: false) })
        #expect(peer.seen.count == 123)
        #expect(lan.hosts[0].sent.count == 123)
        #expect(lan.hosts[0].endpoint.counters.typingStartsSent == 1)
    }

    @Test("only a text that counts begins typing (T-3, R5)", arguments: CountingText.all)
    func counting(_ row: CountingText) throws {
        let peer = try ScriptedPeer.linked()
        peer.lan.compose(0, row.text)
        peer.run(for: 100)
        #expect(peer.typingFrames.isEmpty == !row.counts)
        #expect(countsAsTyping(row.text) == row.counts)
    }

    @Test("what a minute of edits announces keeps the rules of edges (T-3, T-5 to T-9, R2)", arguments: 1...12)
    func randomEdits(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        let begin = peer.now
        var edits: [(at: Int, counts: Bool)] = []
        var text = ""
        while peer.now < begin + 20_000 {
            let slow = Int.random(in: 0..<8, using: &generator) == 0
            peer.run(for: Int.random(in: slow ? 2_000...3_500 : 5...300, using: &generator))
            let counts = Int.random(in: 0..<3, using: &generator) > 0
            let next = counts ? "x\(Int.random(in: 0..<1_000, using: &generator))" : ""
            if next != text { edits.append((peer.now, counts)) }
            text = next
            peer.lan.compose(0, text)
        }
        peer.run(for: 4_000)
        expectEdges(of: peer, edits)
    }

    /// Walks through what was sent beside what was edited.
    private func expectEdges(of peer: ScriptedPeer, _ edits: [(at: Int, counts: Bool)]) {
        var announced = false
        var edges: [(at: Int, typing: Bool)] = []
        for frame in peer.typingFrames {
            guard frame.typing != announced else {
                let since = frame.at - (edges.last?.at ?? 0)
                #expect([30, 120].contains(since), "no typing frame but edges and their copies: \(frame) (T-8)")
                continue
            }
            announced = frame.typing
            edges.append((frame.at, frame.typing))
        }
        let starts = edges.filter(\.typing).map(\.at)
        for (one, next) in zip(starts, starts.dropFirst()) { #expect(next - one >= 500, "T-5") }
        for start in starts {
            let before = edits.last { $0.at <= start }
            #expect(before?.counts == true, "a start needs an edit that counts (T-3)")
        }
        for stop in edges.filter({ !$0.typing }).map(\.at) {
            let before = edits.last { $0.at <= stop }
            #expect(
                before.map { !$0.counts && $0.at == stop || $0.counts && $0.at + 2_900 == stop } == true, "T-9, T-10")
        }
        #expect(!announced)
        for (edge, next) in zip(edges, edges.dropFirst() + [(at: .max, typing: false)]) {
            let beats = peer.heartbeats.map(\.at).filter { edge.typing && $0 > edge.at && $0 < next.at }
            let due = edge.typing ? Array(stride(from: edge.at + 500, to: min(next.at, peer.now), by: 500)) : []
            #expect(beats == due, "T-8")
            for delay in [30, 120] where edge.at + delay < next.at {
                #expect(peer.typingFrames.contains { $0.at == edge.at + delay && $0.typing == edge.typing }, "T-6")
            }
        }
    }

    @Test("composing the text that is there already is no edit, whatever happened since (T-4, R6)")
    func sameText() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        let lan = peer.lan
        lan.compose(0, "h")
        peer.run(for: 2_000)
        lan.compose(0, "h")
        peer.run(for: 1_500)
        peer.forget()
        lan.compose(0, "h")
        peer.run(for: 200)
        #expect(peer.typingFrames.isEmpty, "the field did not change since typing ended by itself")
        lan.compose(0, "hi")
        peer.run(for: 700)
        lan.perform(0) { $0.setAway(true, now: $1) }
        peer.run(for: 1_000)
        peer.forget()
        lan.compose(0, "hi")
        peer.run(for: 500)
        #expect(peer.typingFrames.isEmpty, "nor by going away")
        lan.compose(0, "hit")
        peer.run(for: 1)
        #expect(peer.typingFrames.map(\.typing) == [true], "away does not keep a later edit from typing")
        #expect(peer.typingFrames.map(\.away) == [true])
    }

    @Test("typing that was under way is not there after a suspension, nor by composing the same text (R6, T-4, T-10)")
    func resume() {
        let lan = twoNodes()
        lan.compose(0, "hi")
        lan.run(for: .milliseconds(600))
        lan.perform(0) { $0.suspend(now: $1) }
        lan.run(for: .seconds(2))
        lan.compose(0, "hi")
        lan.perform(0) { $0.resume(now: $1) }
        lan.compose(0, "hi")
        lan.run(for: .seconds(3))
        #expect(lan.online(1) == ["Alice"], "presence is restored")
        lan.compose(0, "hi")
        lan.run(for: .seconds(1))
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
        lan.compose(0, "hi!")
        lan.run(for: .milliseconds(1))
        #expect(lan.typing(1).map(\.names) == [["Alice"], [], ["Alice"]])
    }

    @Test("a suspension does not make two starts within 500 ms possible (T-5)")
    func startsAroundSuspension() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(50))
        lan.perform(0) { $0.suspend(now: $1) }
        lan.perform(0) { $0.resume(now: $1) }
        lan.run(for: .milliseconds(50))
        #expect(lan.online(1) == ["Alice"])
        lan.compose(0, "he")
        lan.run(for: .milliseconds(390))
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
        lan.run(for: .milliseconds(20))
        #expect(lan.typing(1).map(\.names) == [["Alice"], [], ["Alice"]])
        #expect(lan.typing(1).last?.at == 1_500)
    }

    @Test("an edge goes to each link at once with its copies, each under a counter of its own (T-6, T-7)")
    func allLinks() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peers = (1...3).map { ScriptedPeer(lan, identity: $0, host: 100 + $0, run: UInt64($0)) }
        for peer in peers { try peer.meet() }
        lan.run(for: .milliseconds(500))
        for peer in peers {
            peer.poll()
            peer.send([.ping(1)])
        }
        let start = lan.now.milliseconds
        lan.compose(0, "h")
        lan.run(for: .milliseconds(50))
        lan.compose(0, "")
        lan.run(for: .milliseconds(450))
        for peer in peers {
            peer.poll()
            let seen = peer.typingFrames.map { "\($0.at - start) \($0.typing)" }
            #expect(seen == ["0 true", "30 true", "50 false", "80 false", "170 false"])
            #expect(Set(peer.seen.map(\.counter)).count == peer.seen.count)
        }
    }

    @Test("a status is the whole state: typing and away stand in each, so that one lost is healed by the next (T-2)")
    func wholeState() {
        let lan = twoNodes()
        lan.transit = { packet in packet.at < .at(1_400) && packet.source == VirtualLAN.address(0) ? [] : [.zero] }
        lan.perform(0) { $0.setAway(true, now: $1) }
        lan.compose(0, "x")
        lan.run(to: 1_499)
        #expect(lan.typing(1).isEmpty)
        lan.run(to: 1_500)
        #expect(lan.typing(1).map(\.names) == [["Alice"]], "the first heartbeat heals the lost edge and its copies")
        #expect(lan.presences(1).map(\.presence) == [.away])
    }

    @Test("typing ends at the others within 3.0 s of the last edit (T-9, R3)")
    func endsByItself() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(1_234))
        lan.compose(0, "he")
        lan.run(for: .seconds(5))
        #expect(lan.typing(1).map(\.at) == [1_000, 2_234 + 2_900])
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
    }

    @Test("typing ends at once for the others (T-10, R5, R6)", arguments: Ending.all)
    func endsAtOnce(_ ending: Ending) throws {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(700))
        try lan.perform(0, ending.act)
        lan.run(for: .milliseconds(1))
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
        lan.run(for: .seconds(8))
        #expect(lan.typing(1).map(\.names) == [["Alice"], []], "and nothing late shows it again")
    }

    @Test(
        "what ends typing goes out as one frame at once, with copies 30 and 120 ms later (T-6, T-10, L-32)",
        arguments: Ending.all)
    func endingFrames(_ ending: Ending) throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        peer.lan.compose(0, "h")
        peer.run(for: 700)
        #expect(peer.typingFrames.count == 3)
        peer.forget()
        let start = peer.now
        try peer.lan.perform(0, ending.act)
        peer.run(for: 300)
        if ending.isBye {
            #expect(peer.byes.map { $0.at - start } == [0, 30, 120])
            #expect(peer.typingFrames.isEmpty, "the bye says the stop")
        } else {
            #expect(peer.typingFrames.map { $0.at - start } == [0, 30, 120])
            #expect(peer.typingFrames.allSatisfy { !$0.typing })
        }
    }

    @Test("a start that is due is dropped by whatever ends typing (T-5, T-10)", arguments: Ending.all)
    func dueIsDropped(_ ending: Ending) throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        peer.sign = [.pong(1)]
        peer.lan.compose(0, "h")
        peer.run(for: 100)
        peer.lan.compose(0, "")
        peer.run(for: 150)
        peer.lan.compose(0, "x")
        peer.run(for: 100)
        peer.forget()
        try peer.lan.perform(0, ending.act)
        peer.run(for: 4_000)
        #expect(!peer.typingFrames.contains { $0.typing })
        #expect(!peer.heartbeats.contains { $0.heartbeat.status.isTyping })
        #expect(peer.lan.hosts[0].endpoint.counters.typingStartsSent == 1)
    }

    @Test("a start that is due is no announced typing: no status of that time says so (T-5)")
    func dueIsNotAnnounced() throws {
        let peer = try ScriptedPeer.linked()
        let start = peer.now
        peer.lan.compose(0, "h")
        peer.run(for: 100)
        peer.lan.compose(0, "")
        peer.run(for: 50)
        peer.lan.compose(0, "x")
        peer.forget()
        peer.send([.ping(7)])
        peer.run(until: start + 499)
        #expect(peer.heartbeats.map(\.heartbeat.status.isTyping) == [false], "the pong's heartbeat")
        peer.run(until: start + 500)
        #expect(peer.typingFrames.last?.typing == true)
    }

    @Test("a user who switched off sending types unseen, and all else stays (R9)")
    func switchedOff() throws {
        let peer = try ScriptedPeer.linked(sendsTyping: false)
        peer.acknowledges = true
        peer.sign = [.pong(1)]
        peer.lan.compose(0, "h")
        peer.run(for: 3_500)
        peer.lan.compose(0, "he")
        peer.run(for: 100)
        peer.lan.perform(0) { try? $0.startTyping(in: VirtualLAN.lobby.tag, now: $1) }
        peer.run(for: 100)
        #expect(peer.typingFrames.isEmpty)
        #expect(peer.heartbeats.count >= 3)
        peer.lan.send(0, "text")
        peer.run(for: 300)
        #expect(peer.typingFrames.map(\.withMessage) == [true], "the frame of M-9 alone")
        peer.lan.perform(0) { $0.setAway(true, now: $1) }
        peer.run(for: 10)
        #expect(peer.heartbeats.last?.heartbeat.status == Status(isTyping: false, isAway: true))
        #expect(!peer.seen.flatMap(\.frames).contains { $0.status?.isTyping == true })
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil])
        #expect(peer.lan.hosts[0].endpoint.counters.typingStartsSent == 0)
    }

    @Test("at rest a heartbeat goes out once per interval, shortened by up to a quarter (T-11)")
    func idleHeartbeats() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        peer.run(for: 60_000)
        let times = peer.heartbeats.map(\.at)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(gaps.count >= 60)
        #expect(gaps.allSatisfy { (750...1_000).contains($0) })
        #expect(Set(gaps).count > 10, "at random")
        #expect(peer.heartbeats.allSatisfy { $0.heartbeat.interval == 10 })
    }

    @Test("with many links the idle interval is stretched and announced, and typing heartbeats are not (T-8, T-11)")
    func manyLinks() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let chats = [VirtualLAN.lobby] + (1..<15).map { ChatKeys(openName: "room \($0)") }
        for chat in chats.dropFirst() { lan.perform(0) { try? $0.join(chat, now: $1) } }
        var peers: [ScriptedPeer] = []
        for (place, chat) in chats.enumerated() {
            for identity in 1...5 {
                let peer = ScriptedPeer(
                    lan, identity: identity, host: 30 + 10 * place + identity, chat: chat, run: UInt64(identity))
                try peer.meet()
                peers.append(peer)
            }
        }
        #expect(lan.hosts[0].endpoint.tableSizes.links == 75)
        lan.run(for: .milliseconds(300))
        lan.forget()
        for step in 1...12 {
            lan.run(for: .seconds(1))
            for peer in peers { peer.send([.ping(UInt16(step))]) }
        }
        lan.forget()
        lan.compose(0, "x")
        lan.run(for: .milliseconds(1_600))
        for (place, peer) in peers.enumerated() {
            peer.poll()
            #expect(peer.heartbeats.filter { $0.at > 300 }.allSatisfy { $0.heartbeat.interval == 15 })
            let typing = peer.heartbeats.filter(\.heartbeat.status.isTyping)
            #expect(typing.count == (place < 5 ? 3 : 0))
        }
    }

    @Test("a wakened node never says again what is over: no late heartbeat carries stale typing (T-9, T-18, R10)")
    func lateHeartbeat() throws {
        for stopped in [2_905, 3_300, 5_000, 60_000] {
            let peer = try ScriptedPeer.linked()
            peer.lan.compose(0, "h")
            peer.run(for: 200)
            peer.forget()
            peer.lan.stop(0)
            peer.lan.run(for: .milliseconds(stopped))
            peer.lan.resume(0)
            peer.run(for: 1)
            let statuses = peer.seen.flatMap(\.frames).compactMap(\.status)
            #expect(!statuses.isEmpty)
            #expect(statuses.allSatisfy { !$0.isTyping }, "stopped for \(stopped) ms: \(peer.seen)")
        }
    }

    @Test("a link that comes up while somebody types says so with its first status (T-2, R1)")
    func lateJoiner() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(200))
        let third = lan.add(identity: 2, name: "Carol")
        lan.discoverAll()
        lan.run(for: .milliseconds(400))
        #expect(lan.typing(third).map(\.names) == [["Alice"]])
        lan.run(for: .seconds(4))
        #expect(lan.typing(third).map(\.names) == [["Alice"], []])
        #expect(lan.typing(third).last?.at == 1_000 + 2_900)
    }

    @Test("the network goes while somebody types, and all resumes by itself (R16)")
    func outage() {
        let lan = twoNodes()
        lan.compose(0, "h")
        lan.run(for: .milliseconds(100))
        lan.cut()
        for step in 1...50 {
            lan.run(for: .milliseconds(200))
            lan.compose(0, "h\(step)")
        }
        #expect(lan.typing(1).map(\.names) == [["Alice"], []])
        #expect(lan.typing(1).last.map { (4_000...4_120).contains($0.at) } == true)
        #expect(lan.online(1).isEmpty)
        lan.repair()
        for step in 51...100 {
            lan.run(for: .milliseconds(200))
            lan.compose(0, "h\(step)")
        }
        #expect(lan.online(1) == ["Alice"])
        #expect(lan.typing(1).map(\.names) == [["Alice"], [], ["Alice"]])
    }

    @Test("the calls of an app that shows the core no text start and stop typing as edits do (T-3, T-10)")
    func withoutText() throws {
        let peer = try ScriptedPeer.linked()
        let chat = VirtualLAN.lobby.tag
        let start = peer.now
        peer.lan.perform(0) { try? $0.startTyping(in: chat, now: $1) }
        peer.run(for: 200)
        peer.lan.perform(0) { try? $0.startTyping(in: chat, now: $1) }
        peer.run(for: 100)
        peer.lan.perform(0) { try? $0.stopTyping(in: chat, now: $1) }
        peer.run(for: 200)
        #expect(peer.typingFrames.map { $0.at - start } == [0, 30, 120, 300, 330, 420])
        #expect(peer.typingFrames.map(\.typing) == [true, true, true, false, false, false])
    }
}

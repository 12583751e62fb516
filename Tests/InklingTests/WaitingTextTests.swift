import Inkling
import InklingModel
import InklingWire
import Synchronization
import Testing

/// Texts that wait for people who are away, over loopback, with real files.
@Suite("Waiting texts of a node", .serialized, .timeLimit(.minutes(2)))
struct WaitingTextTests {
    private static func waits(_ events: [Event]) -> Int {
        events.count { if case .waiting = $0 { true } else { false } }
    }

    private static func outcomes(_ events: [Event]) -> [Event] {
        events.filter {
            switch $0 {
            case .delivered, .failed: true
            default: false
            }
        }
    }

    /// Runs a body with the folders of Alice and Bob, who have met.
    private static func withMet(_ body: (_ alice: TextNode, _ bob: TextNode, String, String) async throws -> Void)
        async throws
    {
        let (first, second) = (try TemporaryFolder(), try TemporaryFolder())
        let alice = try await TextNode("Alice", in: first.path)
        let bob = try await TextNode("Bob", in: second.path, peers: [alice.identity.port])
        try await alice.meet(bob)
        try await bob.meet(alice)
        try await body(alice, bob, first.path, second.path)
        withExtendedLifetime((first, second)) {}
    }

    // M-82, M-83, M-84
    @Test("a text waits for a member who is away, over restarts of both, and comes once and in order")
    func restarts() async throws {
        try await Self.withMet { alice, bob, first, second in
            try await bob.stop()
            try await alice.wait("Bob is gone") { try await $0.isAlone }
            try await alice.send("one")
            try await alice.send("two")
            try await alice.wait("both wait") { Self.waits(try await $0.events) == 2 }
            #expect(try await alice.recipients == [1, 1])
            #expect(try await alice.waiting == ["one", "two"])
            try await alice.stop()

            let later = try await TextNode("Alice", in: first)
            #expect(try await later.waiting == ["one", "two"])
            try await later.send("three")
            try await later.wait("it waits too") { Self.waits(try await $0.events) == 1 }
            let entries = try await later.run { $0.waitingTexts }
            #expect(Set(entries.map(\.entry)).count == 3)
            #expect(entries.allSatisfy { $0.name == "Bob" && $0.chat == "team" })

            let back = try await TextNode("Bob", in: second, peers: [later.identity.port])
            try await back.wait("all came") { try await $0.texts.count >= 3 }
            #expect(try await back.texts == ["one", "two", "three"])
            let written = try await back.messages.compactMap(\.written)
            #expect(zip(written, entries).allSatisfy { abs($0.seconds(since: $1.at)) < 0.002 } && written.count == 3)
            try await later.wait("outcomes") { Self.outcomes(try await $0.events).count == 3 }
            let user = back.identity.user
            #expect(
                Self.outcomes(try await later.events) == [
                    .delivered(.init(chat: "team", message: 0, user: user, entry: entries[0].entry)),
                    .delivered(.init(chat: "team", message: 0, user: user, entry: entries[1].entry)),
                    .delivered(.init(chat: "team", message: 1, user: user)),
                ])
            #expect(try await later.waiting.isEmpty)

            // Bob reads the first text. The others stay unread over a restart, with their times.
            try await back.run { node in node.readTexts([1], in: "team") }
            try await back.stop()
            let again = try await TextNode("Bob", in: second, peers: [later.identity.port])
            let unread = try await again.run { $0.takeRestoredTexts(in: "team") }
            let texts = unread.compactMap { if case .message(let it) = $0.event { it.text } else { nil } }
            #expect(texts == ["two", "three"])
            #expect(try await again.run { $0.takeRestoredTexts(in: "team") }.isEmpty, "once")
            try await again.meet(later)
            try await later.send("four")
            try await again.wait("the next one") { try await !$0.texts.isEmpty }
            #expect(try await again.texts == ["four"], "no text came again")
            try await later.stop()
            try await again.stop()
        }
    }

    //
    @Test("texts that the store saves from a damaged file show in the same run")
    func saved() async throws {
        let chat = try #require(TextNode.chat)
        let log = try #require(TextLogID(digits: chat.logID))
        var (stage, attempts) = (try await TextStage(), 0)
        repeat {
            attempts += 1
            try #require(attempts < 20)
            if attempts > 1 { stage = try await TextStage() }
            let records = try [SomeText.waiting(1), SomeText.waiting(2), SomeText.received(3)]
            try await stage.append(records, to: log)
            for number in 1...10 {
                try await stage.append([SomeText.received(number)], to: TextLogID(try Chat("chat \(number)")))
            }
            try await stage.end()
            stage.reverseKeys(of: "rows", "key", in: stage.file)
            // By chance, the keys of a chat are where a search finds them.
        } while !stage.found(log).entries.isEmpty
        let node = try await TextNode("Alice", in: stage.folder.path)
        try await node.wait("the texts are there") { try await $0.waiting == ["1", "2"] }
        let unread = try await node.run { $0.takeRestoredTexts(in: "team") }
        #expect(unread.compactMap { if case .message(let it) = $0.event { it.text } else { nil } } == ["3"])
        try await node.stop()
        #expect(stage.found(log).entries == [1, 2] && stage.found(log).unreadNumbers == [3])
    }

    //
    @Test("a file that is damaged during a run doubles no text")
    func spoiled() async throws {
        let stage = try await TextStage()
        let chat = try #require(TextNode.chat)
        let log = try #require(TextLogID(digits: chat.logID))
        try await stage.append(
            (1...3).map { try SomeText.waiting($0) } + [SomeText.received(4)], to: log)
        try await stage.end()
        let node = try await TextNode("Alice", in: stage.folder.path)
        try await node.ask(.forget(chat: nil, entry: 1))
        try await node.wait("the disk has forgotten it") { try await $0.answers.count == 2 }
        stage.spoilPages()
        try await node.ask(.forget(chat: nil, entry: 2))
        try await node.wait("the damage is reported") { node in
            try await node.events.contains {
                if case .notice(.other("waiting-damaged", _)) = $0 { true } else { false }
            }
        }
        #expect(try await node.waiting == ["3"])
        let unread = try await node.run { $0.takeRestoredTexts(in: "team") }
        #expect(unread.compactMap { if case .message(let it) = $0.event { it.text } else { nil } } == ["4"])
        try await node.stop()
    }

    // M-82
    @Test("a text is neither shown nor acknowledged before it is on disk")
    func slowDisk() async throws {
        try await Self.withMet { alice, bob, _, _ in
            try await bob.setFailure("the disk is full")
            try await alice.send("one")
            try await alice.send("two")
            try await Task.sleep(for: .seconds(1))
            #expect(Self.outcomes(try await alice.events).isEmpty)
            #expect(try await bob.texts.isEmpty)
            try await bob.setFailure(nil)
            try await alice.wait("outcomes") { Self.outcomes(try await $0.events).count == 2 }
            #expect(try await bob.texts == ["one", "two"])
            try await alice.stop()
            try await bob.stop()
        }
    }

    //
    @Test("a text that the disk refuses does not wait")
    func fullDisk() async throws {
        try await Self.withMet { alice, bob, _, _ in
            try await bob.stop()
            try await alice.wait("Bob is gone") { try await $0.isAlone }
            try await alice.setFailure("the disk is full")
            try await alice.send("one")
            try await alice.wait("an outcome") { !Self.outcomes(try await $0.events).isEmpty }
            let failed = Event.failed(.init(chat: "team", message: 1, user: bob.identity.user, why: .noRoom))
            #expect(Self.outcomes(try await alice.events) == [failed])
            #expect(Self.waits(try await alice.events) == 0)
            try await alice.stop()
        }
    }

    //
    @Test("a text in flight waits when the person's node is killed, and a live one needs no disk")
    func live() async throws {
        try await Self.withMet { alice, bob, _, second in
            try await alice.send("live")
            try await alice.wait("an outcome") { Self.outcomes(try await $0.events).count == 1 }
            #expect(Self.waits(try await alice.events) == 0)
            try await bob.setFailure("not any more")
            try await alice.send("late")
            try await bob.stop()
            try await alice.wait("it waits") { Self.waits(try await $0.events) == 1 }
            #expect(try await alice.waiting == ["late"])
            let back = try await TextNode("Bob", in: second, peers: [alice.identity.port])
            try await back.wait("it came") { try await !$0.texts.isEmpty }
            #expect(try await back.texts == ["late"])
            try await alice.wait("an outcome") { Self.outcomes(try await $0.events).count == 2 }
            try await alice.stop()
            try await back.stop()
        }
    }

    //
    @Test("nothing waits for somebody who left the chat, over restarts, until they are back")
    func left() async throws {
        try await Self.withMet { alice, bob, first, second in
            try await bob.ask(.leave(chat: "team"))
            try await alice.wait("Bob is gone") { try await $0.isAlone }
            try await alice.send("one")
            try await bob.stop()
            try await alice.stop()
            let later = try await TextNode("Alice", in: first)
            try await later.send("two")
            #expect(try await later.recipients == [0])
            let back = try await TextNode("Bob", in: second, peers: [later.identity.port])
            try await later.meet(back)
            try await back.stop()
            try await later.wait("Bob is gone") { try await $0.isAlone }
            try await later.send("three")
            try await later.wait("it waits") { Self.waits(try await $0.events) == 1 }
            #expect(try await later.waiting == ["three"])
            try await later.stop()
        }
    }

    //
    @Test("texts are given up at the user's word, by a block, and by the switch")
    func givingUp() async throws {
        try await Self.withMet { alice, bob, first, second in
            let user = bob.identity.user
            try await bob.stop()
            try await alice.wait("Bob is gone") { try await $0.isAlone }
            for text in ["one", "two", "three"] { try await alice.send(text) }
            try await alice.wait("all wait") { try await $0.waiting.count == 3 }
            let entry = try await alice.run { $0.waitingTexts[1].entry }
            try await alice.forget()
            try await alice.ask(.forget(chat: nil, entry: entry))
            try await alice.wait("the outcome") { !Self.outcomes(try await $0.events).isEmpty }
            #expect(
                Self.outcomes(try await alice.events) == [
                    .failed(.init(chat: "team", message: 2, user: user, why: .givenUp))
                ])
            #expect(try await alice.waiting == ["one", "three"])
            try await alice.forget()
            try await alice.ask(.forget(chat: nil, entry: entry))
            try await alice.wait("an answer") { try await !$0.answers.isEmpty }
            guard case .failed(.other("unknown-entry", _)) = try await alice.answers.first else {
                Issue.record("\(try await alice.answers)")
                return
            }
            try await alice.ask(.forget(chat: nil, entry: nil))
            try await alice.wait("nothing waits") { try await $0.waiting.isEmpty }
            #expect(Self.outcomes(try await alice.events).count == 2)
            try await alice.send("four")
            try await alice.wait("it waits") { try await $0.waiting == ["four"] }
            try await alice.ask(.setBlocked(true, .user(user)))
            try await alice.wait("the block") { try await $0.waiting.isEmpty }
            try await alice.ask(.setBlocked(false, .user(user)))
            try await alice.send("five")
            try await alice.wait("it waits") { try await $0.waiting == ["five"] }
            try await alice.ask(.hold(false, chat: "team"))
            try await alice.wait("the switch") { try await $0.waiting.isEmpty }
            try await alice.forget()
            try await alice.send("six")
            #expect(Self.waits(try await alice.events) == 0)
            try await alice.ask(.hold(true, chat: "team"))
            try await alice.send("seven")
            try await alice.wait("it waits") { try await $0.waiting == ["seven"] }
            try await alice.stop()
            let later = try await TextNode("Alice", in: first)
            let back = try await TextNode("Bob", in: second, peers: [later.identity.port])
            try await back.wait("the last one") { try await !$0.texts.isEmpty }
            #expect(try await back.texts == ["seven"])
            try await later.stop()
            try await back.stop()
        }
    }

    //
    @Test("a switch that the disk refuses gives up no text, and a later one gives up all")
    func refusedSwitch() async throws {
        try await Self.withMet { alice, bob, _, _ in
            try await bob.stop()
            try await alice.wait("Bob is gone") { try await $0.isAlone }
            try await alice.send("one")
            try await alice.wait("it waits") { try await $0.waiting == ["one"] }
            try await alice.setFailure("the disk is full")
            let notice = Notice.other(code: "waiting-not-kept", text: "the disk is full")
            #expect(try await alice.run { $0.textFault } == notice)
            try await alice.forget()
            try await alice.ask(.hold(false, chat: "team"))
            try await alice.wait("an answer") { try await !$0.answers.isEmpty }
            #expect(try await alice.answers == [.failed(.other(code: "not-kept", text: "the disk is full"))])
            #expect(try await alice.waiting == ["one"])
            #expect(Self.outcomes(try await alice.events).isEmpty)
            try await alice.setFailure(nil)
            #expect(try await alice.run { $0.textFault } == nil)
            try await alice.send("two")
            try await alice.wait("it waits too") { try await $0.waiting == ["one", "two"] }
            try await alice.forget()
            try await alice.ask(.hold(false, chat: "team"))
            try await alice.send("three")
            try await alice.wait("nothing waits") { try await $0.waiting.isEmpty }
            #expect(Self.outcomes(try await alice.events).count == 3)
            try await alice.ask(.hold(false, chat: "team"))
            try await alice.ask(.hold(true, chat: "team"))
            try await alice.send("four")
            try await alice.wait("the last word counts") { try await $0.waiting == ["four"] }
            try await alice.stop()
        }
    }

    // R52
    @Test("only time that passed ends a wait, for a text and for a person, over restarts with a wrong clock")
    func wrongClock() async throws {
        let (first, second) = (try TemporaryFolder(), try TemporaryFolder())
        let clocks = Clocks()
        let alice = try await TextNode("Alice", in: first.path, clocks: { clocks.reading })
        let bob = try await TextNode("Bob", in: second.path, peers: [alice.identity.port])
        try await alice.meet(bob)
        try await bob.stop()
        try await alice.wait("Bob is gone") { try await $0.isAlone }
        try await alice.send("one")
        try await alice.wait("it waits") { Self.waits(try await $0.events) == 1 }
        try await alice.stop()

        clocks.reboot(ahead: 6 * 365 * 86_400)
        let later = try await TextNode("Alice", in: first.path, clocks: { clocks.reading })
        #expect(try await later.waiting == ["one"])
        clocks.pass(.seconds(7 * 86_400 - 60))
        try await later.send("two")
        try await later.wait("both wait") { try await $0.waiting == ["one", "two"] }
        clocks.pass(.seconds(120))
        try await later.send("three")
        try await later.wait("the first one is given up") { try await $0.waiting == ["two", "three"] }
        guard case .failed(let failure) = Self.outcomes(try await later.events).first else {
            Issue.record("no outcome")
            return
        }
        #expect(failure.why == .givenUp)
        clocks.pass(.seconds(30 * 86_400))
        try await later.send("four")
        #expect(try await later.recipients == [1, 1, 0])
        try await later.stop()
        withExtendedLifetime((first, second)) {}
    }

    //
    @Test("in an open chat nothing waits by itself, and an ID has no effect there")
    func open() async throws {
        let (first, second) = (try TemporaryFolder(), try TemporaryFolder())
        let team = try Chat("team")
        let alice = try await TextNode("Alice", in: first.path, chat: team)
        let bob = try await TextNode("Bob", in: second.path, peers: [alice.identity.port], chat: team)
        try await alice.meet(bob)
        try await alice.send("hi")
        try await bob.wait("the message") { try await $0.texts == ["hi"] }
        #expect(try await bob.messages.allSatisfy { $0.written == nil })
        try await bob.stop()
        try await alice.wait("Bob is gone") { try await $0.isAlone }
        try await alice.forget()
        try await alice.send("nobody")
        #expect(try await alice.waiting.isEmpty)
        #expect(Self.waits(try await alice.events) == 0)
        try await alice.stop()
        let later = try await TextNode("Alice", in: first.path, chat: team, holds: ["team": true])
        try await later.send("tea")
        try await later.wait("it waits") { try await $0.waiting == ["tea"] }
        try await later.stop()
        withExtendedLifetime((first, second)) {}
    }

    /// Runs a body with three members of a chat of Alice's, who see each other.
    private static func withOwned(
        _ body: (_ alice: TextNode, _ bob: TextNode, _ carol: TextNode, _ team: Chat, _ folders: [String]) async throws
            -> Void
    ) async throws {
        let folders = try (0..<3).map { _ in try TemporaryFolder() }
        let bob = try await TextNode("Bob", in: folders[1].path, chat: Chat("lobby"))
        let carol = try await TextNode(
            "Carol", in: folders[2].path, peers: [bob.identity.port], chat: Chat("lobby"))
        let peers = [bob, carol].map(\.identity.port)
        let alice = try await TextNode("Alice", in: folders[0].path, peers: peers, chat: Chat("lobby"))
        let team = try Chat("team", secret: .random(), owner: alice.identity.key)
        for node in [alice, bob, carol] { try await node.ask(.join(team)) }
        for (one, other) in [(alice, bob), (bob, carol), (carol, alice)] {
            try await one.meet(other)
            try await other.meet(one)
        }
        try await body(alice, bob, carol, team, folders.map(\.path))
        withExtendedLifetime(folders) {}
    }

    /// Returns the chat of the next move.
    private static func moved(_ node: TextNode) async throws -> Chat {
        func move(_ events: [Event]) -> Chat? {
            events.lazy.compactMap { if case .notice(.moved(let chat)) = $0 { chat } else { nil } }.first
        }
        try await node.wait("the chat moves") { move(try await $0.events) != nil }
        return try #require(move(try await node.events))
    }

    // M-96
    @Test("a text in the chat to which an earlier one moved is shown, though its writer wrote in both")
    func twoRuns() async throws {
        try await Self.withOwned { alice, bob, carol, team, _ in
            for text in ["one", "two", "three"] { try await carol.send(text) }
            try await bob.wait("all came") { try await $0.texts.count == 3 }
            try await alice.ask(.move(chat: "team", keys: [bob.identity.key]))
            let chat = try await Self.moved(bob)
            // Carol was not chosen, and has an invite.
            try await carol.ask(.join(try chat.named("b")))
            try await carol.wait("Bob is there") { node in
                try await node.run { $0.peers(in: "b") }.contains { $0.name == "Bob" && $0.presence == .online }
            }
            try await carol.ask(.send("four", chat: "b"))
            try await bob.wait("it came") { try await $0.texts.count == 4 }
            #expect(try await bob.texts.last == "four")
        }
    }

    // M-65
    @Test("a text that waits for the owner of a chat comes when its writer follows the owner's move")
    func waitsForTheOwner() async throws {
        try await Self.withOwned { alice, bob, carol, team, folders in
            try await alice.stop()
            try await bob.stop()
            try await carol.wait("both are gone") { try await $0.isAlone }
            try await carol.send("late")
            try await carol.wait("it waits") { try await $0.waiting == ["late", "late"] }
            try await carol.stop()
            let back = try await TextNode("Alice", in: folders[0], port: alice.identity.port, chat: team)
            try await back.ask(.move(chat: "team", keys: [carol.identity.key]))
            _ = try await Self.moved(back)
            let later = try await TextNode(
                "Carol", in: folders[2], peers: [alice.identity.port], port: carol.identity.port, chat: team)
            _ = try await Self.moved(later)
            try await back.wait("it came") { try await $0.texts == ["late"] }
            try await later.wait("it waits for Bob alone") { try await $0.waiting == ["late"] }
            let events = try await later.events
            #expect(events.filter { if case .delivered = $0 { true } else { false } }.count == 1)
            try await back.stop()
            try await later.stop()
        }
    }

    // A-68, M-83
    @Test("when two chats become one, texts that wait in the earlier are given up, and unread ones stay over a restart")
    func becameOne() async throws {
        try await Self.withOwned { alice, bob, carol, team, folders in
            try await alice.send("unread")
            try await bob.wait("it came") { try await $0.texts == ["unread"] }
            try await bob.stop()
            try await carol.stop()
            try await alice.wait("both are gone") { try await $0.isAlone }
            let keys = [bob, carol].map(\.identity.key)
            try await alice.ask(.move(chat: "team", keys: keys))
            let named = try await Self.moved(alice).named("b")
            let back = try await TextNode("Bob", in: folders[1], port: bob.identity.port, chat: named)
            try await back.ask(.join(team))
            try await back.ask(.send("late", chat: "team"))
            try await back.wait("the text is given up") { node in
                try await node.events.contains { event in
                    if case .failed(let failure) = event { failure.why == .givenUp } else { false }
                }
            }
            #expect(try await Self.moved(back) == (try named.named("team")))
            #expect(try await back.waiting == [])
            try await back.ask(.send("again", chat: "team"))
            try await back.wait("it is refused") { node in
                try await node.answers.contains(.failed(.chatMoved("team")))
            }
            try await back.stop()
            let later = try await TextNode("Bob", in: folders[1], port: bob.identity.port, chat: named)
            let unread = try await later.run { $0.takeRestoredTexts(in: "b") }
            #expect(unread.map { if case .message(let message) = $0.event { message.text } else { "" } } == ["unread"])
            #expect(try await later.run { $0.logID(of: named) } == named.logID)
        }
    }
}

import InklingConsole
import InklingModel
import Testing

/// The history of a chat at the prompt.
@Suite("History at the prompt")
struct HistoryTests {
    private static func chat() throws -> Chat { try Chat("team", secret: ChatStage.secret) }

    private static func received(
        _ text: String, minutes: Int, from person: StagePerson = .bob, isUnread: Bool = false
    ) -> RecentMessage {
        let message = ReceivedMessage(chat: "team", from: person.person, id: 1, text: text)
        var kept = RecentMessage(
            at: ChatStage.noon - .seconds(60 * minutes), .received(message, isDelayed: false))
        kept.isUnread = isUnread
        return kept
    }

    private static func own(_ text: String, minutes: Int, failed: [RecentMessage.Failure] = []) -> RecentMessage {
        let at = ChatStage.noon - .seconds(60 * minutes)
        let own = OwnMessage(at: at, chat: "team", message: 1, recipients: 1, text: text)
        return RecentMessage(at: at, .own(own, delivered: failed.isEmpty ? [StagePerson.bob.user] : [], failed: failed))
    }

    private static func stage(
        _ kept: [RecentMessage] = [], form: ChatDisplay.Form = .screen, place: NodePlace = .daemon
    ) throws -> ChatStage {
        var stage = ChatStage(try chat(), form: form, place: place)
        stage.node.kept = kept
        stage.begin()
        return stage
    }

    private static let messages = [
        received("See you", minutes: 20), own("Bye", minutes: 3),
        own("Still there?", minutes: 2, failed: [.init(user: StagePerson.bob.user, why: .bye)]),
        received("Not yet seen", minutes: 1, isUnread: true),
    ]

    @Test("the start shows the last messages above a line")
    func start() throws {
        var stage = try Self.stage(Self.messages)
        #expect(stage.asked.first == .join(try Self.chat()))
        #expect(
            stage.asked.dropFirst().prefix(3) == [
                .messages(chat: "team", count: 20), .join(try Self.chat(), isKept: true, isConfirmed: true),
                .open(chat: "team"),
            ])
        let lines = stage.newLines()
        let expected = [
            "11:40 Bob: See you", "11:57 You: Bye  (delivered)",
            "11:58 You: Still there?  (may not have reached Bob (left))",
            "12:00 --- until here: earlier messages ---",
        ]
        #expect(Array(lines.suffix(expected.count)) == expected)
        #expect(lines.first?.contains("team is private") == true)
        stage.receive("Hi", from: .bob, in: "team")
        #expect(stage.newLines() == ["12:00 Bob: Hi"])
    }

    @Test("without kept messages, behind a pipe and without a daemon, the start shows nothing of it")
    func nothing() throws {
        var stage = try Self.stage()
        #expect(!stage.newLines().contains { $0.contains("earlier") })
        for (form, place) in [(ChatDisplay.Form.pipe, NodePlace.daemon), (.screen, .own)] {
            let stage = try Self.stage(Self.messages, form: form, place: place)
            #expect(!stage.asked.contains { if case .messages = $0 { true } else { false } })
            #expect(stage.asked.contains(.open(chat: "team")) == (form == .screen), "a pipe looks at no chat")
        }
        // Whole lines have no times.
        stage = try Self.stage(Self.messages, form: .lines)
        #expect(stage.newLines().contains("Bob: See you"))
        // A daemon of an earlier version refuses the request.
        stage = ChatStage(try Self.chat(), place: .daemon)
        stage.answersAtOnce = false
        stage.begin()
        stage.answerNext()
        stage.node.failures = [.other(code: "bad-command", text: "there is no command")]
        stage.answerNext()
        #expect(!stage.newLines().contains { $0.contains("command") })
    }

    @Test("the start shows what an open chat's daemon has in memory, and /history off then removes nothing")
    func memory() {
        var stage = ChatStage(place: .daemon)
        stage.node.kept = [Self.received("Tea?", minutes: 2)]
        stage.begin()
        #expect(stage.newLines().suffix(2) == ["11:58 Bob: Tea?", "12:00 --- until here: earlier messages ---"])
        stage = (try? Self.stage([Self.received("Tea?", minutes: 2)])) ?? stage
        stage.node.chats = [ChatStatus("team", hasSecret: true)]
        #expect(stage.enter("/history off") == ["* No message of this chat is kept. To begin: /history on"])
        #expect(!stage.newRequests().contains(.history(false, chat: "team")))
    }

    @Test("a long message is cut, and a muted person's is left out")
    func lines() throws {
        let long = String(repeating: "word ", count: 5_000)
        var stage = try Self.stage([Self.received(long, minutes: 1)])
        let line = try #require(stage.newLines().first { $0.contains("Bob: word") })
        #expect(line.count < 230 && line.hasSuffix("..."))
        stage.node.kept.append(Self.received("a word of Charlie", minutes: 1, from: .charlie))
        stage.come(.charlie, in: "team")
        _ = stage.enter("/mute Charlie")
        #expect(stage.enter("/find word").first == "* 1 message with \"word\":")
    }

    @Test("/history shows the state, and switches it")
    func switching() throws {
        var stage = try Self.stage()
        stage.node.chats = [ChatStatus("team", hasSecret: true)]
        #expect(stage.enter("/history").first?.hasPrefix("* No message of this chat is kept.") == true)
        #expect(
            stage.enter("/history on").first?.hasPrefix("* From now on, the messages of this chat are kept") == true)
        #expect(stage.newRequests().last == .history(true, chat: "team") && stage.node.keepsHistory)
        stage.node.chats[0].keepsHistory = true
        #expect(stage.enter("/history").first?.hasPrefix("* The last 10,000 messages of this chat are kept") == true)
        // There is nothing to lose yet.
        #expect(
            stage.enter("/history off") == ["* No message of this chat is kept any more. To begin again: /history on"])
        stage.node.kept = Self.messages
        #expect(
            stage.enter("/history off")
                == ["* This removes all kept messages of this chat, for good. To do so: /history off ok"])
        #expect(stage.node.kept.count == 4)
        #expect(stage.enter("/history off ok").first?.hasPrefix("* No message of this chat is kept any more") == true)
        #expect(stage.node.kept.isEmpty)
        stage.node.failures = [.other(code: "history-not-kept", text: "No room.")]
        #expect(stage.enter("/history on") == ["! No room."])
    }

    @Test("/history explains what it needs")
    func refusals() throws {
        var stage = try Self.stage(place: .own)
        #expect(stage.enter("/history on") == ["! No history is kept, because this identity ends with the prompt"])
        stage = ChatStage.begun(place: .daemon)
        #expect(stage.enter("/history").first?.hasPrefix("! Only a private chat has a history") == true)
        #expect(stage.enter("/history maybe") == ["! /history takes on or off"])
        #expect(stage.newRequests().allSatisfy { if case .compose = $0 { true } else { false } })
    }

    @Test("/find searches the kept messages and those of this run, each once")
    func find() throws {
        var stage = try Self.stage([Self.received("Tea tomorrow?", minutes: 60), Self.own("No tea", minutes: 30)])
        stage.receive("tea is ready", from: .bob, in: "team")
        let lines = [
            "* 3 messages with \"TEA\":", "11:00 Bob: Tea tomorrow?", "11:30 You: No tea", "12:00 Bob: tea is ready",
        ]
        stage.node.kept.append(Self.received("tea is ready", minutes: 0))
        #expect(stage.enter("/find TEA") == lines)
        stage.node.kept = []
        #expect(
            stage.enter("/find TEA") == ["* 1 message with \"TEA\":", "12:00 Bob: tea is ready"])
        #expect(
            stage.enter("/find coffee") == ["* Nothing with \"coffee\" in what is kept, or was said since the start"])
        stage.node.kept = (1...50).map { Self.received("tea \($0)", minutes: 100 - $0) }
        let many = stage.enter("/find tea")
        #expect(many.first == "* 51 or more messages with \"tea\", the last 20:" && many.count == 21)
        // A daemon that does not know the request leaves what this run has.
        stage.node.failures = [.other(code: "bad-command", text: "there is no command")]
        #expect(stage.enter("/find tea") == ["* 1 message with \"tea\":", "12:00 Bob: tea is ready"])
    }
}

import InklingConsole
import InklingModel
import Testing

/// A prompt whose node is a daemon, which other front ends use too.
@Suite("The prompt and its daemon")
struct DaemonTests {
    private static let gone = ["12:00 ! The daemon has ended. To start the daemon again: inkling daemon"]
    private static let goneWithDraft = [
        "12:00 ! The daemon has ended. Your draft is kept. To start the daemon again: inkling daemon"
    ]

    private static func lost(_ stage: inout ChatStage, _ why: ServiceEnd = .lost) {
        stage.perform(stage.model.receive(.ended(why), at: stage.moment))
    }

    @Test("a daemon that goes is waited for: the draft stays, nothing is asked, and what can't be done is said")
    func lost() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        stage.type("half a se")
        stage.typing(.bob)
        _ = (stage.newRequests(), stage.newLines())
        Self.lost(&stage)
        #expect(stage.newLines() == Self.goneWithDraft && stage.newEffects() == [.reattach])
        #expect(stage.model.isRunning && stage.model.editor.text == "half a se" && stage.model.indicator == nil)
        stage.type("ntence")
        #expect(stage.model.editor.text == "half a sentence")
        stage.type("\r")
        #expect(stage.newLines() == ["! The daemon has ended; your message is kept. Send it when the daemon runs"])
        #expect(stage.model.editor.text == "half a sentence")
        stage.type("\u{15}")
        for command in ["/who", "/join garden", "/leave", "/nick Al"] {
            #expect(stage.enter(command).allSatisfy { $0.hasPrefix("! The daemon has ended; ") }, "\(command)")
        }
        #expect(stage.enter("/away").count == 1)
        #expect(stage.newRequests().isEmpty)
        Self.lost(&stage)
        #expect(stage.newLines().isEmpty, "it is said once")
    }

    @Test("an attached prompt shows no notice of the daemon's chosen port")
    func port() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        stage.receive(.notice(.other(code: "reachable-on-link", text: "UDP port 7001 answers only peers.")))
        #expect(stage.newLines().isEmpty)
        var own = ChatStage.begun([.bob])
        own.receive(.notice(.reachableOnLink(port: 7001)))
        #expect(own.newLines().first?.contains("UDP port 7001 answers only peers") == true)
    }

    @Test("what the end of the daemon does to others is not told")
    func endOfOthers() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        stage.come(.bob, .offline)
        Self.lost(&stage)
        stage.advance(by: 10_000)
        #expect(stage.newLines() == Self.gone)
    }

    // A-44
    @Test("a chat that moved is joined again as the new one")
    func moved() throws {
        let chats = try ["a", "b"].map { letter in
            try Chat(invite: "inkling:team#\(String(repeating: letter, count: 25))a@\(ChatStage.key("a"))")
        }
        var stage = ChatStage.begun([.bob], place: .daemon)
        _ = stage.enter("/join \(chats[0].invite ?? "")")
        let notice = TimedEvent(at: ChatStage.noon, event: .notice(.moved(chats[1])))
        stage.perform(stage.model.receive(.event(notice), at: stage.moment))
        Self.lost(&stage)
        _ = stage.newRequests()
        stage.perform(stage.model.reattached(ChatStage.identity("Alice"), at: stage.moment))
        #expect(stage.newRequests().contains(.join(chats[1])))
    }

    @Test("when the daemon is back the chats are joined again, and who did not come back with it is told")
    func back() {
        var stage = ChatStage.begun([.bob, .charlie], place: .daemon)
        _ = stage.enter("/join garden")
        _ = stage.enter("/away")
        stage.type("draft")
        _ = stage.newRequests()
        Self.lost(&stage, .stopped)
        #expect(stage.newLines()[0] == Self.goneWithDraft[0])
        stage.node.met = [StagePerson.bob.peer(.online)]
        var identity = ChatStage.identity("Alicia")
        identity.port = 8
        stage.perform(stage.model.reattached(identity, at: stage.moment))
        #expect(
            stage.newRequests() == [
                .setAway(true), .join(ChatStage.chat("kitchen")), .join(ChatStage.chat("garden")),
                .open(chat: "garden"), .subscribe(Subscription(chats: .all)), .chats,
            ])
        #expect(stage.newLines() == ["12:00 * The daemon is back"])
        #expect(stage.model.identity == identity && stage.model.editor.text == "draft")
        stage.advance(by: 5_000)
        stage.type("\u{15}")
        #expect(stage.enter("/open kitchen").contains { $0.hasSuffix("* Charlie has left") })
        stage.receive("hello", from: .bob)
        #expect(stage.newLines() == ["12:00 Bob: hello"])
    }

    @Test("what was on its way when the daemon went is named")
    func unanswered() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        _ = stage.enter("first")
        stage.answersAtOnce = false
        _ = stage.enter("second")
        Self.lost(&stage, .tooSlow)
        let lines = stage.newLines()
        #expect(
            lines[0]
                == "12:00 ! The daemon closed the connection, because this prompt read nothing for too long. This "
                + "prompt connects again")
        #expect(lines.contains { $0.hasSuffix("first  (on its way)") || $0.hasSuffix("unknown: first") }, "\(lines)")
        #expect(lines.last == "12:00 ! It is not known whether this was sent: second")
        #expect(!stage.model.hasUnanswered)
        stage.finish()
        #expect(stage.newEffects() == [.reattach, .beginEnd, .end])
    }

    @Test("a stop leaves the daemon and comes back to it without a word, unless it is gone by then")
    func stopped() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        stage.type("draft")
        _ = stage.newRequests()
        func stop() {
            stage.perform(stage.model.willSuspend(at: stage.moment))
            stage.perform(stage.model.resumed(at: stage.moment))
        }
        stop()
        stage.type("s")
        #expect(stage.newRequests().isEmpty && stage.model.editor.text == "drafts")
        stage.node.met = [StagePerson.bob.peer(.online)]
        stage.perform(stage.model.reattached(ChatStage.identity("Alice"), at: stage.moment))
        #expect(
            stage.newRequests() == [
                .join(ChatStage.chat("kitchen")), .open(chat: "kitchen"), .subscribe(Subscription(chats: .all)), .chats,
            ])
        stage.advance(by: 10_000)
        #expect(stage.newLines().isEmpty && stage.newEffects().isEmpty)
        stop()
        Self.lost(&stage)
        #expect(stage.newLines() == Self.goneWithDraft && stage.newEffects().isEmpty, "it is looked for already")
        stage.perform(stage.model.reattached(ChatStage.identity("Alice"), at: stage.moment))
        #expect(stage.newLines() == ["12:00 * The daemon is back"])
    }

    @Test("a message shows when the node had it, and one that waited for the node to go on was written earlier (J-15)")
    func late() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        func receive(_ text: String, minutesAgo: Int, isDelayed: Bool) {
            let event = Event.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 4, text: text))
            let timed = TimedEvent(at: ChatStage.noon - .seconds(minutesAgo * 60), event: event, isDelayed: isDelayed)
            stage.perform(stage.model.receive(.event(timed), at: stage.moment))
        }
        receive("read late", minutesAgo: 5, isDelayed: false)
        receive("told late", minutesAgo: 0, isDelayed: true)
        #expect(stage.newLines() == ["11:55 Bob: read late", "12:00 Bob: told late  (written earlier)"])
    }

    @Test("the prompt counts what is unread in the daemon's other chats, also in later ones, until it opens them")
    func unread() {
        var stage = ChatStage(rings: true, place: .daemon)
        stage.node.chats = [
            ChatStatus("kitchen"), ChatStatus("team", hasSecret: true, unread: 2), ChatStatus("attic"),
        ]
        stage.begin()
        stage.advance(by: 3_000)
        #expect(stage.newRequests().contains(.subscribe(Subscription(chats: .all))))
        #expect(stage.model.prompt == "kitchen (open) [team 2]> ")
        _ = stage.newEffects()
        stage.receive("look", from: .bob, in: "attic")
        #expect(stage.model.prompt == "kitchen (open) [team 2, attic (open) 1]> " && stage.newEffects().isEmpty)
        stage.receive("look, Alice", from: .bob, in: "attic")
        #expect(stage.newEffects() == [.bell])
        stage.node.chats[2].unread = 2
        stage.node.chats.append(ChatStatus("cellar", unread: 1))
        stage.receive("look", from: .bob, in: "cellar")
        #expect(stage.model.prompt == "kitchen (open) [team 2, attic (open) 2, cellar (open) 1]> ")
        stage.typing(.bob, in: "attic")
        _ = stage.enter("/open attic")
        #expect(stage.model.prompt == "attic (open) [team 2, cellar (open) 1]> ")
        #expect(stage.model.indicator?.hasPrefix("Bob is typing.") == true)
        // Another front end reads the rest.
        stage.node.chats[1].unread = 0
        stage.advance(by: 60_000)
        #expect(stage.model.prompt == "attic (open) [cellar (open) 1]> ")
        stage.come(.bob, in: "attic")
        _ = stage.enter("/mute Bob")
        stage.receive("look", from: .bob, in: "cellar")
        #expect(stage.model.prompt == "attic (open, Bob: muted) [cellar (open) 1]> ")
    }

    @Test("the prompt lists all chats of the daemon, opens any of them, and leaves those that are kept")
    func chats() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        stage.node.chats = [
            ChatStatus("kitchen", isKept: true), ChatStatus("team", hasSecret: true, isKept: true, unread: 2),
            ChatStatus("attic"),
        ]
        #expect(
            stage.enter("/chats") == [
                "* 1 kitchen (open): here", "* - team: kept, 2 unread. To open it: /open team",
                "* - attic (open): at another prompt. To open it: /open attic",
            ])
        #expect(stage.enter("/leave team") == ["* The daemon no longer keeps team"])
        #expect(stage.newRequests().last == .leave(chat: "team"))
        stage.node.failures = [.unknownChat("attic")]
        #expect(stage.enter("/leave attic") == ["! You are not in a chat called attic; /chats lists yours"])
        #expect(stage.enter("/open cellar") == ["! You are not in a chat called cellar; /chats lists yours"])
        #expect(stage.enter("/open team").first == "12:00 * You are now in team (open)", "as the stage's node has it")
        #expect(
            stage.newRequests().suffix(4) == [
                .chats, .join(ChatStage.chat("team")), .messages(chat: "team", count: 20), .open(chat: "team"),
            ])
        #expect(stage.enter("/open kitchen") == ["* You are now in kitchen (open)"])
    }

    @Test("messages that waited show with their times, below one line, and count as read a moment later")
    func waited() {
        var stage = ChatStage.begun([.bob])
        func receive(_ event: Event, minutesAgo: Int) {
            let timed = TimedEvent(at: ChatStage.noon - .seconds(minutesAgo * 60), event: event)
            stage.perform(stage.model.receive(.unread(timed), at: stage.moment))
        }
        receive(.missed(.init(chat: "kitchen", messages: 3, outcomes: 0)), minutesAgo: 60)
        receive(.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 4, text: "one")), minutesAgo: 59)
        receive(.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 5, text: "two")), minutesAgo: 30)
        receive(.message(.init(chat: "garden", from: StagePerson.bob.person, id: 6, text: "elsewhere")), minutesAgo: 20)
        #expect(
            stage.newLines() == [
                "12:00 --- new messages ---", "11:00 * 3 messages that came before are not kept any more",
                "11:01 Bob: one", "11:30 Bob: two",
            ])
        #expect(stage.newRequests().isEmpty)
        stage.advance(by: 200)
        #expect(stage.newRequests() == [.read(chat: "kitchen")])
        stage.advance(by: 10_000)
        #expect(stage.newRequests().isEmpty)
        receive(.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 7, text: "three")), minutesAgo: 1)
        stage.finish()
        #expect(stage.newRequests() == [.read(chat: "kitchen"), .compose("", chat: "kitchen")])
    }

    @Test("messages that came while another chat was open count as read a moment after the user opens their chat")
    func waitedAtThePrompt() {
        func reads(_ stage: inout ChatStage) -> [ServiceRequest] {
            stage.newRequests().filter { if case .read = $0 { true } else { false } }
        }
        var stage = ChatStage.begun([.bob], place: .daemon)
        _ = stage.enter("/join garden")
        stage.advance(by: 1_000)
        #expect(reads(&stage).isEmpty)
        stage.receive("one", from: .bob)
        #expect(stage.enter("/open kitchen").contains { $0.hasSuffix("Bob: one") })
        #expect(reads(&stage).isEmpty)
        stage.advance(by: 200)
        #expect(reads(&stage) == [.read(chat: "kitchen")])
        _ = stage.enter("/open garden")
        stage.advance(by: 1_000)
        #expect(reads(&stage).isEmpty)
        stage.receive("two", from: .bob)
        _ = stage.enter("/open kitchen")
        _ = stage.enter("/open garden")
        #expect(reads(&stage) == [.read(chat: "kitchen")], "the messages are on the screen")
        stage.advance(by: 1_000)
        #expect(reads(&stage).isEmpty)
    }

    @Test("whom the daemon has found is there from the beginning, and comes before what waited")
    func found() {
        var stage = ChatStage(place: .daemon)
        stage.node.met = [StagePerson.bob.peer(.online)]
        stage.begin()
        #expect(stage.newLines().count == 1, "nobody is looked for")
        let event = Event.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 1, text: "one"))
        stage.perform(
            stage.model.receive(.unread(TimedEvent(at: ChatStage.noon - .seconds(60), event: event)), at: stage.moment))
        #expect(stage.newLines() == ["12:00 * Bob is here", "12:00 --- new messages ---", "11:59 Bob: one"])
        _ = stage.enter("two")
        #expect(stage.asked.last == .send("two", chat: "kitchen"), "others need not be found first")
    }

    @Test("what the user says by another front end shows as said by the user, and is no unread message")
    func own() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/join garden")
        _ = stage.newLines()
        func receive(_ text: String, _ chat: String) {
            let message = OwnMessage(at: ChatStage.noon, chat: chat, message: 9, recipients: 1, text: text)
            stage.perform(stage.model.receive(.own(message), at: stage.moment))
        }
        receive("here", "garden")
        #expect(stage.newLines() == ["12:00 You: here"])
        receive("there", "kitchen")
        #expect(stage.newLines().isEmpty && !stage.model.prompt.contains("1"))
        #expect(stage.enter("/open kitchen").contains { $0.hasSuffix("You: there") })
        #expect(stage.enter("/find there").contains { $0.hasSuffix("You: there") })
    }

    @Test("a chat is what the node has it to be: its secret comes from there")
    func secret() throws {
        let secret = try Chat("kitchen", secret: Secret("abcdefghijklmnopqrstuvwxya"))
        var stage = ChatStage()
        stage.answersAtOnce = false
        stage.begin()
        stage.perform(stage.model.receive(.answer(.joined(secret, []), to: RequestID()), at: stage.moment))
        #expect(!stage.newLines().contains { $0.contains("open chat") })
        #expect(stage.enter("/invite").last == secret.invite)
    }

    @Test("what the user said at another prompt shows at this one, and can be taken back here")
    func user() {
        var stage = ChatStage.begun([.bob], place: .daemon)
        func hear(_ name: String, isAway: Bool) -> [String] {
            stage.perform(stage.model.receive(.user(UserState(at: 0, name: name, isAway: isAway)), at: stage.moment))
            return stage.newLines()
        }
        #expect(hear("Alice", isAway: true) == ["* You are away now. To return: /back"])
        #expect(stage.model.prompt.contains("(away)"))
        #expect(stage.enter("/away") == ["* You are already away. To return: /back"])
        _ = stage.newRequests()
        #expect(stage.enter("/back") == ["* You are back"] && stage.newRequests().contains(.setAway(false)))
        #expect(hear("Alice", isAway: false) == [], "it is known")
        #expect(hear("Alicia", isAway: false) == ["* Others see you as Alicia from now on"])
        #expect(stage.enter("/nick Alicia").first?.hasPrefix("* That is your name already") == true)
    }

    @Test("after a stop the daemon says whether the user is away; after its end the prompt does")
    func awayAgain() {
        for (isStop, requests) in [(true, [ServiceRequest]()), (false, [.setAway(true)])] {
            var stage = ChatStage.begun([.bob], place: .daemon)
            _ = stage.enter("/away")
            if isStop { stage.perform(stage.model.willSuspend(at: stage.moment)) } else { Self.lost(&stage) }
            _ = stage.newRequests()
            stage.perform(stage.model.reattached(ChatStage.identity("Alice"), at: stage.moment))
            let asked = stage.newRequests().filter { if case .setAway = $0 { true } else { false } }
            #expect(asked == requests && stage.model.prompt.contains("(away)") == !isStop)
        }
    }

    @Test("a daemon that does not answer is told of after 3 s, once, and not one that does, nor a node of its own")
    func silence() {
        let text = "! The daemon does not answer. What you have entered waits until it does"
        for outlives in [true, false] {
            var stage = ChatStage.begun([.bob], place: outlives ? .daemon : .own)
            _ = stage.newLines()
            stage.answersAtOnce = false
            _ = stage.enter("hello")
            stage.advance(by: 2_999)
            #expect(!stage.newLines().contains { $0.hasSuffix(text) })
            stage.advance(by: 1)
            #expect(stage.newLines().contains { $0.hasSuffix(text) } == outlives)
            stage.advance(by: 60_000)
            #expect(!stage.newLines().contains { $0.hasSuffix(text) })
        }
        var stage = ChatStage.begun([.bob], place: .daemon)
        _ = stage.enter("hello")
        stage.advance(by: 10_000)
        #expect(!stage.newLines().contains { $0.hasSuffix(text) })
    }
}

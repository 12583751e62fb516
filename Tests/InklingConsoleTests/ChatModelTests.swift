import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("The prompt as a model")
struct ChatModelTests {
    @Test("it begins with what the chat is, and that others are looked for; the prompt names who is there")
    func begin() {
        var stage = ChatStage()
        #expect(stage.model.prompt == "no chat> ")
        stage.begin()
        #expect(stage.asked == [.join(ChatStage.chat("kitchen")), .open(chat: "kitchen")])
        #expect(
            stage.terminal.screen == [
                "12:00 * kitchen is an open chat: anybody on this network can join and read it.",
                "        For a private chat: /invite NAME",
                "12:00 * Looking for others. Messages reach only people who are online.", "kitchen (open)>",
            ])
        stage.come(.bob)
        #expect(stage.texts.count == 2, "it waits for more of its kind")
        stage.advance(by: 500)
        #expect(stage.terminal.screen.suffix(2) == ["12:00 * Bob is here", "kitchen (open, Bob: Active now)>"])
        stage.come(.charlie)
        #expect(stage.terminal.screen.last == "kitchen (open)>")
        #expect(stage.effects.isEmpty && stage.terminal.notUnderstood.isEmpty)
    }

    @Test("in a narrow terminal, names give way to the verb and the dots", arguments: [40, 30, 20, 10])
    func narrow(columns: Int) {
        let people = [
            StagePerson(name: "Bartholomew the Elder", letter: "b"),
            StagePerson(name: "Christopher the Younger", letter: "c"),
        ]
        var stage = ChatStage.begun(people, columns: columns, reducedMotion: true)
        stage.typing(people[0], people[1])
        let shown = [
            40: "Barth... and Chris... are typing...", 30: "Ba... and Ch... are typing...",
            20: "typing...", 10: "typing...",
        ]
        #expect(stage.model.indicator == shown[columns])
        #expect(stage.terminal.screen.contains { $0 == shown[columns] }, "\(stage.terminal.screen)")
    }

    @Test("many deliveries at once share a line, after the first")
    func sharedDelivery() {
        var stage = ChatStage.begun([.bob])
        for number in 1...5 { _ = stage.enter("line \(number)") }
        _ = stage.newLines()
        for number in 1...5 { stage.deliver(MessageID(rawValue: UInt64(number)), to: .bob) }
        #expect(stage.newLines() == ["12:00 * Delivered: line 1", "12:00 You: line 5  (delivered)"])
        stage.advance(by: 2_000)
        #expect(stage.newLines() == ["12:00 * Delivered: 3 more messages, the last one: line 4"])
        stage.advance(by: 10_000)
        #expect(stage.newLines() == [])
    }

    @Test("who has the name of another one learns it once, with the label that others see")
    func namesake() {
        var stage = ChatStage.begun(as: "Bob")
        stage.come(.bob)
        stage.come(StagePerson(name: "BOB", letter: "e"))
        stage.advance(by: 3_000)
        #expect(
            stage.newLines().filter { $0.contains("your name") } == [
                "12:00 * Somebody else here has your name: others see you as Bob ~aaaa. To change your name: /nick NAME"
            ])
        stage.come(.charlie)
        _ = stage.enter("/nick Charlie")
        stage.come(.charlie, .away, why: .away)
        #expect(stage.newLines().contains { $0.contains("as Charlie ~aaaa") })
    }

    @Test("two people with one name who arrive together have suffixes in the same line")
    func together() {
        var stage = ChatStage.begun()
        stage.come(.bob)
        stage.come(StagePerson(name: "Bob", letter: "e"))
        stage.advance(by: 3_000)
        #expect(stage.newLines().first == "12:00 * Bob ~bbbb and Bob ~eeee are here")
    }

    @Test("M-97: a removed member learns it, before who has left")
    func removal() {
        var stage = ChatStage.begun([.bob, .charlie])
        stage.come(.bob, .offline, why: .removed)
        stage.come(.charlie, .offline)
        stage.advance(by: 3_000)
        #expect(stage.newLines() == ["12:00 * You were removed from kitchen", "12:00 * Bob and Charlie have left"])
    }

    @Test("a chat that is written as a channel elsewhere gets a hint")
    func numberSign() {
        var stage = ChatStage(ChatStage.chat("#kitchen"))
        stage.begin()
        #expect(
            stage.newLines().contains(
                "12:00 * The # is part of this chat's name. If you mean kitchen: /join kitchen"))
    }

    @Test("the one who is there stands in the prompt, whoever has gone before, and needs no name in a delivery")
    func oneOfSeveral() {
        var stage = ChatStage.begun([.bob, .charlie])
        stage.come(.charlie, .offline)
        stage.advance(by: 1_000)
        #expect(stage.model.prompt == "kitchen (open, Bob: Active now)> ")
        stage.type("hi\r")
        stage.deliver(to: .bob)
        #expect(stage.newLines().last == "12:00 You: hi  (delivered)")
        stage.come(.bob, .offline)
        #expect(stage.model.prompt == "kitchen (open)> ", "both have gone")
    }

    @Test("the first suffix that shows is explained, once in a session, and with the name's reason")
    func suffix() {
        var stage = ChatStage.begun([.bob])
        stage.come(StagePerson(name: "bob", letter: "f"))
        stage.advance(by: 600)
        #expect(
            stage.newLines() == [
                "12:00 * bob ~ffff is here",
                "12:00 * ~ffff tells this bob from another one that you have met: /whois bob ~ffff",
            ])
        stage.come(StagePerson(name: "Bob", letter: "e"))
        _ = stage.enter("/join lobby")
        stage.come(StagePerson(name: "Alice", letter: "g"), in: "lobby")
        stage.advance(by: 600)
        #expect(stage.newLines().last == "12:00 * Alice ~gggg is here")
        var other = ChatStage.begun()
        other.come(StagePerson(name: "Alice", letter: "g"))
        other.advance(by: 600)
        #expect(
            other.newLines().last
                == "12:00 * ~gggg begins the user ID of Alice, because the name could mislead: /whois Alice ~gggg")
    }

    @Test("who types has come before: no indicator shows anybody whose coming was not told")
    func arrivalFirst() {
        var stage = ChatStage.begun()
        for person in [StagePerson.bob, .charlie] { stage.come(person) }
        #expect(stage.newLines().isEmpty, "it waits for more of its kind")
        stage.typing(.bob)
        #expect(stage.newLines() == ["12:00 * Bob and Charlie are here"])
        #expect(stage.terminal.screen.suffix(2).first == "Bob is typing.")
        stage.come(.bob, .offline, why: .will)
        stage.advance(by: 600)
        #expect(stage.newLines() == ["12:00 * Bob has left"])
        var plain = ChatStage.begun(form: .lines)
        plain.come(.bob)
        plain.typing(.bob)
        #expect(plain.newLines() == ["* Bob is here", "* Bob is typing"])
    }

    @Test("a first chat that can't be joined is the end")
    func refused() {
        var stage = ChatStage()
        stage.node.failures = [.tooManyChats]
        stage.begin()
        #expect(stage.effects == [.cannotStart(.tooManyChats)] && stage.draws == 0)
        #expect(!stage.model.isRunning && stage.model.nextTick == nil && stage.model.finish(at: stage.moment).isEmpty)
    }

    @Test("those who were there before a front end came to the chat are told after the greeting")
    func presentBefore() {
        var stage = ChatStage(form: .lines)
        stage.node.met = [
            StagePerson.bob.peer(.online), StagePerson.dora.peer(.offline, lastSeen: ChatStage.noon - .seconds(90)),
        ]
        stage.begin()
        #expect(stage.newLines().count == 1 && stage.model.anybodyOnline, "nobody is looked for")
        stage.advance(by: 5_000)
        #expect(stage.newLines() == ["* Bob is here"], "and nobody is alone")
    }

    @Test("somebody whose name shows as Someone is told")
    func unreadableName() {
        var stage = ChatStage(as: "🙂", form: .lines)
        stage.begin()
        #expect(
            stage.texts.last
                == "* Others see you as Someone, because your name has no letter or digit. To change it: /nick NAME")
    }

    @Test("who is still alone after 4 s is told what to do, once; nobody else is")
    func alone() {
        var stage = ChatStage(form: .lines)
        stage.begin()
        _ = stage.newLines()
        stage.advance(by: 3_999)
        #expect(stage.newLines().isEmpty)
        stage.advance(by: 1)
        #expect(
            stage.newLines() == [
                "* Still alone in kitchen. You can be found.",
                "* Others on the same network join with inkling chat kitchen.",
                "* If they have joined but don't appear: inkling doctor --here",
            ])
        stage.advance(by: 600_000)
        #expect(stage.newLines().isEmpty && stage.model.nextTick == nil)
    }

    @Test("who is alone without discovery is not told that they can be found, until it is back")
    func aloneWithoutDiscovery() {
        for (notices, reach) in [
            ([Notice.discoveryDown(.gone)], "Discovery is unavailable, so others can't find this computer."),
            ([.discoveryDown(.absent), .discoveryUp], "You can be found."),
            ([.discoveryDown(.refused)], "You can be found."),
        ] {
            var stage = ChatStage(form: .lines)
            stage.begin()
            for notice in notices { stage.receive(.notice(notice)) }
            stage.advance(by: 4_000)
            #expect(stage.texts.contains("* Still alone in kitchen. \(reach)"))
        }
    }

    @Test("each edit is told first and then drawn; keys that change nothing are not told")
    func typing() {
        var stage = ChatStage.begun([.bob])
        let effects = stage.model.receive(bytes: Array("h".utf8), at: stage.moment)
        #expect(effects == [.ask(.compose("h", chat: "kitchen")), .draw])
        #expect(stage.model.receive(bytes: Array("\u{1B}[D".utf8), at: stage.moment) == [.draw])
        stage.type("\u{1B}[C" + "ello")
        #expect(stage.newRequests() == [.compose("hello", chat: "kitchen")], "what comes in one piece is one edit")
        #expect(stage.terminal.screen.last == "kitchen (open, Bob: Active now)> hello")
        stage.type("\u{15}")
        #expect(stage.newRequests() == [.compose("", chat: "kitchen")])
        stage.type("\u{19}")
        #expect(stage.terminal.screen.last == "kitchen (open, Bob: Active now)> hello")
    }

    @Test("an Escape that stands alone is a key after 50 ms, and a paste without its end is inserted after a second")
    func halfKeys() {
        var stage = ChatStage.begun([.bob])
        stage.press([0x1B])
        #expect(stage.model.nextTick == stage.now + 50)
        stage.advance(by: 50)
        stage.type("b")
        #expect(stage.model.editor.text == "b", "it is no Alt-b")
        stage.press([0x1B])
        stage.advance(by: 49)
        stage.type("b")
        #expect(stage.model.editor.text == "b" && stage.model.editor.cursor == 0)
        stage.type("\u{1B}[200~one\rtwo")
        stage.advance(by: 999)
        #expect(stage.model.editor.text == "b")
        stage.advance(by: 1)
        #expect(stage.model.editor.text == "one\ntwob")
    }

    @Test("who types shows with dots that go on, dim at first, and start again; a message ends it")
    func indicator() {
        var stage = ChatStage.begun([.bob, .charlie], decorated: true)
        stage.typing(.bob)
        #expect(stage.model.indicator == "Bob is typing." && stage.model.emphasis == .dim)
        #expect(stage.terminal.screen.suffix(2) == ["Bob is typing.", "kitchen (open)>"])
        stage.advance(by: 299)
        stage.perform(stage.model.tick(at: stage.moment))
        #expect(stage.model.emphasis == .dim && stage.model.nextTick == stage.now + 1)
        stage.advance(by: 1)
        #expect(stage.model.emphasis == .plain && stage.model.indicator == "Bob is typing.")
        stage.advance(by: 200)
        #expect(stage.model.indicator == "Bob is typing..")
        stage.typing(.charlie, .bob)
        stage.advance(by: 1_000)
        #expect(stage.model.indicator == "Charlie and Bob are typing.")
        stage.typing()
        stage.receive("hi", from: .bob)
        #expect(stage.model.indicator == nil)
        #expect(stage.terminal.screen.suffix(2) == ["12:00 Bob: hi", "kitchen (open)>"])
        stage.advance(by: 700)
        stage.typing(.bob)
        #expect(stage.model.indicator == "Bob is typing." && stage.model.emphasis == .dim)
    }

    @Test("where motion is unwanted, the dots stand still and ask for no time")
    func reducedMotion() {
        var stage = ChatStage.begun([.bob], decorated: true, reducedMotion: true)
        let before = stage.model.nextTick
        stage.typing(.bob)
        #expect(stage.model.indicator == "Bob is typing..." && stage.model.emphasis == .plain)
        #expect(stage.model.nextTick == before)
    }

    @Test("the prompt is drawn anew each minute, so that it says how long ago somebody went")
    func minutes() {
        var stage = ChatStage.begun([.bob])
        stage.come(.bob, .offline)
        stage.advance(by: 1_000)
        #expect(stage.model.prompt == "kitchen (open, Bob: Last seen just now)> ")
        stage.advance(by: 177_000)
        #expect(stage.model.prompt == "kitchen (open, Bob: 2m ago)> ")
        #expect(stage.terminal.screen.last == "kitchen (open, Bob: 2m ago)>")
    }

    @Test("an own message shows with who has it as soon as that is known, or after 150 ms without")
    func delivery() {
        var stage = ChatStage.begun([.bob, .charlie])
        stage.type("hello\r")
        #expect(stage.newRequests().suffix(1) == [.send("hello", chat: "kitchen")])
        #expect(stage.newLines().isEmpty && stage.model.hasUnanswered)
        stage.deliver(to: .bob)
        #expect(stage.newLines().isEmpty)
        stage.deliver(to: .charlie)
        #expect(stage.newLines() == ["12:00 You: hello  (to all 2)"] && !stage.model.hasUnanswered)
        stage.type("again\r")
        stage.deliver(to: .bob)
        stage.advance(by: 150)
        #expect(stage.newLines() == ["12:00 You: again  (sending: 1 of 2 have it)"])
        stage.receive(.failed(.init(chat: "kitchen", message: 2, user: StagePerson.charlie.user, why: .silence)))
        #expect(
            stage.newLines() == ["12:00 * Delivered to 1 of 2, may not have reached Charlie (out of reach): again"])
        #expect(stage.model.answers == 4 && stage.model.lostMessages == 0)
        stage.come(.bob, .offline)
        stage.come(.charlie, .offline)
        stage.type("anybody?\r")
        #expect(
            stage.newLines() == [
                "12:00 * Bob and Charlie have left", "12:00 You: anybody?",
                "12:00 * Nobody was here to receive: anybody?",
            ])
        #expect(stage.model.lostMessages == 1)
    }

    @Test("what is sent before others could be found shows at once, waits for them, and is typed no more")
    func settling() {
        var stage = ChatStage()
        stage.begin()
        stage.type("one\rtwo\r")
        #expect(
            stage.newRequests().suffix(4) == [
                .compose("one", chat: "kitchen"), .compose("", chat: "kitchen"), .compose("two", chat: "kitchen"),
                .compose("", chat: "kitchen"),
            ])
        #expect(stage.newLines().suffix(2) == ["12:00 You: one  (on its way)", "12:00 You: two  (on its way)"])
        stage.come(.bob)
        stage.advance(by: 999)
        #expect(stage.newRequests().isEmpty)
        stage.advance(by: 1)
        #expect(stage.newRequests() == [.send("one", chat: "kitchen"), .send("two", chat: "kitchen")])
        #expect(!stage.newLines().contains { $0.contains("You: one") }, "they were shown")
        var alone = ChatStage()
        alone.begin()
        alone.type("one\r")
        alone.advance(by: 1_999)
        #expect(!alone.asked.contains(.send("one", chat: "kitchen")))
        alone.advance(by: 1)
        #expect(
            alone.texts.suffix(2) == ["12:00 You: one  (on its way)", "12:00 * Nobody was here to receive: one"])
    }

    @Test("a message that can't be sent says why, and is typed no more")
    func unsent() {
        var stage = ChatStage.begun([.bob])
        stage.node.failures = [.messageTooLong(bytes: 70_000)]
        #expect(stage.enter("hello") == ["12:00 ! " + NodeError.messageTooLong(bytes: 70_000).fact])
        #expect(stage.asked.last == .compose("", chat: "kitchen") && !stage.model.hasUnanswered)
    }

    @Test("messages of others come after the line that they are here; another day is named")
    func messages() {
        var stage = ChatStage.begun()
        stage.come(.bob)
        stage.receive("hello\nall", from: .bob)
        #expect(stage.newLines() == ["12:00 * Bob is here", "12:00 Bob: hello\nall"])
        stage.advance(by: 12 * 3_600_000)
        stage.receive("good night", from: .bob)
        #expect(stage.newLines() == ["--- Wednesday, 4 March 2026 ---", "00:00 Bob: good night"])
        stage.receive("elsewhere", from: .bob, in: "lobby")
        stage.receive(.missed(.init(chat: "kitchen", messages: 2, outcomes: 0)))
        stage.receive(.notice(.discoveryUp))
        stage.receive(.notice(.keyChanged(StagePerson.bob.person, known: ChatStage.user("e"), isVerified: false)))
        #expect(
            stage.newLines() == [
                "00:00 * 2 messages were left out: they came faster than they could be shown",
                "00:00 * Discovery works again.",
            ])
    }

    @Test("of a flood the first messages show, others are heard, and the rest shows when asked for")
    func flood() {
        var stage = ChatStage.begun([.bob, .charlie])
        for number in 1...12 {
            stage.receive("spam \(number)", from: .bob)
            if number % 4 == 0 { stage.receive("hello", from: .charlie) }
        }
        let shown = stage.newLines()
        #expect(shown.filter { $0.hasPrefix("12:00 Bob: ") } == (1...10).map { "12:00 Bob: spam \($0)" })
        #expect(shown.count { $0 == "12:00 Charlie: hello" } == 3 && shown.count == 13, "others are heard")
        stage.advance(by: 999)
        #expect(stage.newLines().isEmpty)
        stage.advance(by: 1)
        #expect(stage.newLines() == ["12:00 * 2 more messages from Bob: /show Bob"])
        #expect(stage.enter("/show bob") == ["12:00 Bob: spam 11", "12:00 Bob: spam 12"])
        #expect(stage.enter("/show bob") == ["* There is nothing more to show from Bob"])
        #expect(stage.enter("/show") == ["* There is nothing more to show"])
    }

    @Test("a name that is known with another key is told once, loudly, and not of somebody muted until they are heard")
    func keys() {
        let known = Peer.Namesake(user: ChatStage.user("e"), names: ["BOB", "Robert"], isVerified: true)
        let bob = StagePerson(name: "Bob", letter: "b", namesake: known, names: ["Bob", "Bert"])
        var stage = ChatStage.begun(form: .lines)
        stage.come(bob)
        stage.advance(by: 500)
        let alarm = stage.newLines()
        #expect(alarm.count == 2 && alarm[1] == "* Bob ~bbbb is here")
        #expect(alarm[0].hasPrefix("!! Bob ~bbbb is not the BOB you verified"), "\(alarm)")
        stage.come(bob, .away, why: .away)
        stage.advance(by: 10_000)
        #expect(stage.newLines() == ["* Bob ~bbbb is away"])
        let early = StagePerson(
            name: "Bob", letter: "f", namesake: known, names: ["Bob"], namedSince: ChatStage.noon - .seconds(1))
        stage.come(early)
        stage.advance(by: 500)
        #expect(
            stage.newLines().first == "! Bob ~ffff is still not the BOB you verified: /verify Bob ~ffff, or /block")
        let sure = StagePerson(name: "Bob", letter: "g", isVerified: true, namesake: known)
        stage.come(sure)
        stage.advance(by: 10_000)
        #expect(!stage.newLines().contains { $0.contains("!") })
    }

    @Test("where the terminal edits its own lines, they are entered whole, and who types is told in lines")
    func lines() {
        var stage = ChatStage.begun([.bob, .charlie], form: .lines)
        stage.typing(.bob)
        stage.typing(.bob, .charlie)
        stage.typing()
        stage.typing(.bob)
        #expect(
            stage.newLines() == ["* Bob is typing", "* Bob and Charlie are typing", "* Bob is typing"],
            "that it ends is not told")
        stage.line("hello")
        stage.line("   ")
        stage.line("/away")
        #expect(stage.newRequests() == [.send("hello", chat: "kitchen"), .setAway(true)])
        #expect(stage.newLines() == ["* Others see that you are away; messages still reach you. To return: /back"])
        stage.deliver(to: .bob)
        stage.deliver(to: .charlie)
        #expect(stage.newLines().isEmpty, "the own message stands there already")
        stage.line("/clear")
        #expect(stage.newLines() == ["! There is no screen to clear here"])
        let effects = stage.model.receive(line: "x", at: stage.moment)
        #expect(effects == [.ask(.send("x", chat: "kitchen"))], "there is nothing to draw")
    }

    @Test("a log line and a fault outside show as a notice and an error; another width is drawn")
    func outside() {
        var stage = ChatStage.begun([.bob])
        stage.perform(stage.model.report(notice: "warning: x\u{1B}", at: stage.moment))
        stage.perform(stage.model.report(badLine: "line 3 is not UTF-8", at: stage.moment))
        #expect(stage.newLines() == ["12:00 * warning: x\\x1b", "12:00 ! line 3 is not UTF-8"])
        #expect(stage.model.resize(columns: 30, at: stage.moment) == [.draw])
        #expect(stage.model.prompt == "kitchen (open)> ")
    }

    @Test("a full field, nothing to take back, Ctrl-L and Tab answer as they should")
    func editorAnswers() {
        var stage = ChatStage.begun([.bob, StagePerson(name: "Bobby", letter: "c")])
        stage.type("\u{19}")
        #expect(stage.newEffects() == [.bell])
        stage.type("\u{C}")
        #expect(stage.newEffects() == [.clearScreen] && stage.terminal.screen.last == "kitchen (open)>")
        stage.type("/whoi\t")
        #expect(stage.model.editor.text == "/whois ")
        _ = stage.newRequests()
        stage.type("bo\t")
        #expect(stage.newRequests().last == .compose("/whois Bob", chat: "kitchen"))
        stage.type("\t")
        #expect(stage.newLines() == ["* Bob  Bobby"])
        stage.type("\u{15}zzz\t")
        #expect(stage.newEffects() == [.bell])
        stage.type("\u{15}")
        stage.type("\u{1B}[200~" + String(repeating: "a", count: LineEditor.longestText + 1) + "\u{1B}[201~")
        #expect(
            stage.newLines() == ["! A message can hold at most 64 KiB: this was not inserted. Send it in parts"])
    }

    // MARK: Stops

    @Test("a stop and what it does to others is not told, unless somebody is not back after 5 s")
    func stops() {
        var stage = ChatStage.begun([.bob, .charlie])
        stage.advance(by: 60_000)
        stage.type("dra\u{1A}ft")
        #expect(stage.newEffects() == [.suspend])
        #expect(stage.model.editor.text == "dra", "what was typed after it is for later")
        stage.perform(stage.model.willSuspend(at: stage.moment))
        stage.come(.bob, .offline)
        stage.come(.charlie, .offline)
        stage.perform(stage.model.resumed(at: stage.moment))
        #expect(stage.model.editor.text == "draft")
        stage.come(.bob)
        stage.advance(by: 4_999)
        #expect(stage.newLines().isEmpty)
        stage.advance(by: 1)
        #expect(stage.newLines() == ["12:01 * Charlie has left"])
        stage.come(.charlie)
        stage.advance(by: 1_000)
        #expect(stage.newLines() == ["12:01 * Charlie is here"])
    }

    @Test("another stop before all are back begins the wait again")
    func twoStops() {
        var stage = ChatStage.begun([.bob])
        stage.perform(stage.model.willSuspend(at: stage.moment))
        stage.come(.bob, .offline)
        stage.perform(stage.model.resumed(at: stage.moment))
        stage.advance(by: 3_000)
        stage.perform(stage.model.willSuspend(at: stage.moment))
        stage.advance(by: 3_000)
        #expect(stage.newLines().isEmpty)
        stage.perform(stage.model.resumed(at: stage.moment))
        stage.come(.bob)
        stage.advance(by: 20_000)
        #expect(stage.newLines().isEmpty)
    }

    // MARK: The end

    @Test(
        "the end comes at once where nothing waits, and draws no more",
        arguments: ["\u{4}", "/quit\r", "/q\r"])
    func quits(keys: String) {
        var stage = ChatStage.begun([.bob])
        stage.type(keys)
        #expect(stage.newEffects() == [.beginEnd, .end])
        #expect(stage.newRequests().last == .compose("", chat: "kitchen"))
        #expect(!stage.model.isRunning && stage.model.isAnswered && stage.model.nextTick == nil)
        stage.type("x")
        stage.receive(.notice(.discoveryUp))
        #expect(stage.newLines().isEmpty && stage.newEffects().isEmpty)
    }

    @Test("Ctrl-C clears the line, which ends the typing; Ctrl-Y has it back")
    func clears() {
        var stage = ChatStage.begun([.bob])
        stage.type("draft\u{3}")
        #expect(stage.model.isRunning && stage.model.editor.isEmpty && stage.newLines().isEmpty)
        #expect(
            stage.newRequests() == [.compose("draft", chat: "kitchen"), .compose("", chat: "kitchen")])
        stage.type("\u{19}")
        #expect(stage.model.editor.text == "draft")
    }

    @Test("on an empty line the first Ctrl-C says how to leave, and a second one right after it leaves")
    func interrupts() {
        var stage = ChatStage.begun([.bob])
        stage.type("\u{3}")
        #expect(stage.newLines() == ["* Ctrl-D or /quit leaves"] && stage.model.isRunning)
        stage.type("x\u{3}")
        #expect(stage.newLines().isEmpty, "it has cleared the line")
        stage.type("\u{3}")
        #expect(stage.newLines() == ["* Ctrl-D or /quit leaves"] && stage.newEffects().isEmpty)
        stage.type("\u{3}")
        #expect(stage.newEffects() == [.beginEnd, .end])
    }

    @Test("what was entered may be recalled in later runs, unless it has an invite or what may be a secret")
    func keptLines() {
        var stage = ChatStage.begun([.bob])
        for line in [
            "hello", "/who", "join INKLING:x#abc", "/join inkling:team#abcdefghijklmnopqrstuvwxya",
            "it is abcdefghijklmnopqrstuvwxya", "//slash", "\u{1F469}\u{200D}\u{1F467} 日本語日本語日本語日本語日本語日本語日本語日本語日本語",
        ] { stage.type(line + "\r") }
        #expect(
            stage.kept
                == ["hello", "/who", "//slash", "\u{1F469}\u{200D}\u{1F467} 日本語日本語日本語日本語日本語日本語日本語日本語日本語"])
    }

    @Test("lines of earlier runs are recalled before those of this one")
    func recalled() {
        var stage = ChatStage(rows: 24)
        stage.model.recall(["first", "second"])
        stage.begin()
        stage.type("third\r\u{10}")
        #expect(stage.model.editor.text == "third")
        stage.type("\u{10}\u{10}")
        #expect(stage.model.editor.text == "first")
    }

    @Test("the end sends what waits, and waits for what becomes of it")
    func lastWords() {
        var stage = ChatStage()
        stage.begin()
        stage.come(.bob)
        stage.type("last words\r\u{4}")
        #expect(stage.newEffects() == [.beginEnd] && !stage.model.isRunning && stage.model.hasUnanswered)
        #expect(stage.asked.last == .send("last words", chat: "kitchen"))
        stage.type("typed too late\r")
        stage.deliver(to: .bob)
        #expect(stage.texts.suffix(2) == ["12:00 You: last words  (on its way)", "12:00 * Delivered: last words"])
        #expect(stage.newEffects() == [.end] && stage.model.isAnswered)
    }

    @Test("it waits for 2 s at most, and says what is not known")
    func patience() {
        var stage = ChatStage.begun([.bob])
        for number in 1...5 { stage.type("words \(number)\r") }
        _ = stage.newLines()
        stage.typing(.bob)
        stage.finish()
        #expect(stage.newEffects() == [.beginEnd])
        stage.finish()
        #expect(stage.newEffects().isEmpty, "one signal often comes as several")
        stage.advance(by: 1_999)
        #expect(stage.newEffects().isEmpty && stage.model.nextTick == stage.now + 1)
        stage.advance(by: 1)
        #expect(
            stage.newLines() == [
                "12:00 You: words 5  (on its way)", "12:00 * Delivery is unknown: words 1",
                "12:00 * Delivery is unknown: words 2", "12:00 * Delivery is unknown: words 3",
                "12:00 * Delivery of 2 more messages is unknown",
            ])
        #expect(stage.newEffects() == [.end] && !stage.model.isAnswered)
    }

    @Test("whoever ended it ends the wait by doing so once more")
    func impatience() {
        for key in ["\u{3}", "\u{4}"] {
            var stage = ChatStage.begun([.bob])
            stage.type("words\r\u{4}")
            #expect(stage.newEffects() == [.beginEnd])
            stage.type("x\r")
            #expect(stage.newEffects().isEmpty)
            stage.type(key)
            #expect(stage.newEffects() == [.end])
        }
        var stage = ChatStage.begun([.bob])
        stage.type("words\r")
        stage.finish()
        stage.advance(by: 301)
        stage.finish()
        #expect(stage.newEffects() == [.beginEnd, .end] && !stage.model.isAnswered)
    }

    @Test("where the node ends, nothing is waited for")
    func nodeEnded() {
        var stage = ChatStage.begun([.bob])
        stage.type("words\r")
        stage.perform(stage.model.receive(.ended(.stopped), at: stage.moment))
        #expect(stage.newEffects() == [.beginEnd, .end])
        #expect(stage.texts.last == "12:00 * Delivery is unknown: words")
    }

    @Test("at the end lines of all chats show, below the name of theirs")
    func endElsewhere() {
        var stage = ChatStage.begun([.bob])
        stage.type("somebody hears\r")
        _ = stage.enter("/join lobby")
        stage.type("nobody does\r")
        _ = stage.enter("/open kitchen")
        stage.node.people = [:]
        stage.finish()
        #expect(
            stage.newLines().suffix(2) == [
                "12:00 * In lobby (open):", "12:00 * Nobody was here to receive: nobody does",
            ])
        stage.deliver(1, to: .bob)
        #expect(stage.newLines() == ["12:00 * In kitchen (open):", "12:00 You: somebody hears  (delivered)"])
        #expect(stage.newEffects() == [.beginEnd, .end])
    }
}

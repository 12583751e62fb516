import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Commands on oneself")
struct OneselfTests {
    @Test("/notify has the terminal ring at the name from now on, and keeps that")
    func notify() {
        var stage = ChatStage.begun([.bob])
        stage.receive("Alice?", from: .bob)
        #expect(stage.newEffects().isEmpty)
        #expect(
            stage.enter("/notify")
                == ["* The terminal does not ring. To have it ring at your name: /notify on"])
        #expect(
            stage.enter("/notify on")
                == ["* The terminal rings when somebody says your name. To change that: /notify off"])
        stage.receive("Alice?", from: .bob)
        #expect(stage.newEffects() == [.bell])
        _ = stage.enter("/notify off")
        stage.advance(by: 5_000)
        stage.receive("Alice?", from: .bob)
        #expect(stage.newEffects().isEmpty && stage.lasting == [.bell(true), .bell(false)])
    }

    @Test("/notify icon keeps whether the icon of the desktop starts at login")
    func icon() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/notify icon on")
        _ = stage.enter("/notify icon off")
        #expect(stage.lasting == [.autostart(true), .autostart(false)])
    }

    @Test("whoever has used no prompt yet is told how it works, once")
    func explanation() {
        for explains in [true, false] {
            let display = ChatDisplay(form: .screen, folds: true, explains: explains)
            var model = ChatModel(
                ChatStage.chat("kitchen"), identity: ChatStage.identity("Alice"), display: display,
                texts: ChatStage.texts, columns: 80, at: Moment(steady: 0, wall: ChatStage.noon))
            _ = model.begin(at: Moment(steady: 0, wall: ChatStage.noon))
            model.assign(RequestID())
            let effects = model.receive(
                .answer(.joined(ChatStage.chat("kitchen"), []), to: RequestID()),
                at: Moment(steady: 1, wall: ChatStage.noon))
            let lines: [String] = effects.flatMap { effect -> [String] in
                if case .show(let lines) = effect { lines.map(\.text) } else { [] }
            }
            let text = "12:00 * Type and press Enter. /help shows more, /quit leaves."
            #expect((lines.first == text) == explains && lines.contains(text) == explains)
        }
    }

    // MARK: Messages that were not delivered

    @Test("/resend sends again what reached nobody and what failed, in order, when somebody is there")
    func resend() {
        var stage = ChatStage.begun()
        #expect(stage.enter("/resend") == ["* There is nothing to send again: no message of this chat has failed"])
        _ = stage.enter("nobody heard this")
        stage.come(.bob)
        stage.come(.charlie)
        stage.advance(by: 3_000)
        _ = stage.enter("Charlie has this")
        stage.deliver(to: .charlie)
        stage.receive(
            .failed(.init(chat: "kitchen", message: stage.node.sent, user: StagePerson.bob.user, why: .silence)))
        _ = stage.enter("all have this")
        stage.deliver(to: .bob)
        stage.deliver(to: .charlie)
        stage.come(.bob, .offline)
        stage.come(.charlie, .offline)
        #expect(stage.enter("/resend") == ["! Nobody is here. Your messages are kept for another /resend"])
        stage.come(.bob)
        _ = stage.newRequests()
        _ = stage.enter("/resend")
        #expect(
            stage.newRequests().filter { if case .send = $0 { true } else { false } }
                == [.send("nobody heard this", chat: "kitchen"), .send("Charlie has this", chat: "kitchen")])
        #expect(stage.enter("/resend")[0].hasPrefix("* There is nothing to send again"))
    }

    @Test("a message that the node refused is sent again too, and one that fails again stays")
    func refused() {
        var stage = ChatStage.begun([.bob])
        stage.node.failures = [.stopped]
        _ = stage.enter(String(repeating: "long ", count: 100))
        for _ in 0..<2 {
            _ = stage.newRequests()
            _ = stage.enter("/resend")
            #expect(stage.newRequests().contains(.send(String(repeating: "long ", count: 100), chat: "kitchen")))
            stage.receive(
                .failed(.init(chat: "kitchen", message: stage.node.sent, user: StagePerson.bob.user, why: .bye)))
        }
    }

    @Test("what is kept to be sent again is bounded: the latest stay")
    func bounded() {
        var stage = ChatStage.begun()
        for number in 1...60 { _ = stage.enter("message \(number)") }
        stage.come(.bob)
        _ = stage.newRequests()
        _ = stage.enter("/resend")
        let sent = stage.newRequests().compactMap { if case .send(let text, _) = $0 { text } else { nil } }
        #expect(sent == (11...60).map { "message \($0)" })
    }

    @Test(
        "of two equal messages at once each gets its own answer, once, in either order", arguments: [false, true])
    func equalMessages(inReverse: Bool) {
        var stage = ChatStage.begun()
        for _ in 0..<2 { _ = stage.enter("x") }
        stage.come(.bob)
        stage.answersAtOnce = false
        _ = stage.enter("/resend")
        let ids = stage.waiting.compactMap { if case .send("x", _) = $0.request { $0.id } else { nil } }
        guard ids.count == 2 else { return #expect(Bool(false), "\(stage.waiting)") }
        let answers: [(id: RequestID, answer: ServiceAnswer)] = [
            (ids[0], .failed(.stopped)), (ids[1], .sent(message: 9, recipients: 1)),
        ]
        for (id, answer) in inReverse ? answers.reversed() : answers {
            #expect(stage.model.hasUnanswered)
            for count in [1, 0] {
                _ = stage.newLines()
                stage.perform(stage.model.receive(.answer(answer, to: id), at: stage.moment))
                #expect(stage.newLines().count == count)
            }
        }
        stage.deliver(9, to: .bob)
        #expect(!stage.model.hasUnanswered)
        _ = stage.newRequests()
        _ = stage.enter("/resend")
        #expect(stage.newRequests().count { $0 == .send("x", chat: "kitchen") } == 1)
    }

    // MARK: /who

    @Test("/who has columns on a screen: who, presence, since or until when; a narrow one has a line each")
    func who() {
        let day = LocalTime.Day(year: 2026, month: 3, day: 3)
        let time = LocalTime(day: day, hour: 12, minute: 4)
        let before = LocalTime(day: LocalTime.Day(year: 2026, month: 3, day: 1), hour: 9, minute: 5)
        var labels = Labels(ownName: "Alice")
        labels.update(Labels.Person(user: "bbbbbbbbbbbbbbbb", name: "Bob", isVerified: true))
        labels.update(Labels.Person(user: "cccccccccccccccc", name: "日本"))
        labels.update(Labels.Person(user: "dddddddddddddddd", name: "Dora"))
        let people = [
            ChatLines.Presence(
                label: labels.label(of: "bbbbbbbbbbbbbbbb"), presence: "Active now", since: time,
                roundTrip: .milliseconds(3), isVerified: true),
            ChatLines.Presence(label: labels.label(of: "cccccccccccccccc"), presence: "Last seen today", seen: time),
            ChatLines.Presence(
                label: labels.label(of: "dddddddddddddddd"), presence: "Last seen recently", seen: before, isMuted: true
            ),
        ]
        #expect(
            ChatLines.people(people, columns: 100, today: day).map(\.text) == [
                "* Bob \(Labels.verifiedMark)  Active now          since 12:04         3 ms round trip         bbbbbbbbbbbbbbbb",
                "* 日本   Last seen today     last 12:04                                  cccccccccccccccc",
                "* Dora   Last seen recently  last 1 March 09:05                   muted  dddddddddddddddd",
            ])
        #expect(
            ChatLines.people(people, columns: 80, today: day).first?.text.hasSuffix("3 ms round trip") == true)
        #expect(
            ChatLines.people(people, columns: 60, today: day).map(\.text) == [
                "* Bob \(Labels.verifiedMark): Active now, since 12:04, 3 ms round trip, verified (bbbbbbbbbbbbbbbb)",
                "* 日本: Last seen today, last 12:04 (cccccccccccccccc)",
                "* Dora: Last seen recently, last 1 March 09:05, muted (dddddddddddddddd)",
            ])
    }
}

import InklingConsole
import InklingModel
import Testing

@Suite("Lines of a pipe as messages")
struct PipeModelTests {
    /// A pipe with a node that answers at once.
    private struct Stage: ModelStage {
        var model: PipeModel
        var node = StageNode()
        var now: Int64 = 0
        var lines: [String] = []
        var effects: [ChatEffect] = []
        var sent: [String] = []

        init(_ people: [StagePerson] = [], rings: Bool = false) {
            model = PipeModel(
                ChatStage.chat("kitchen"), identity: ChatStage.identity("Alice"),
                display: ChatDisplay(form: .pipe, folds: false, ringsForMentions: rings), texts: ChatStage.texts,
                columns: 80,
                at: Moment(steady: 0, wall: ChatStage.noon))
            perform(model.begin(at: moment))
            for person in people { come(person) }
        }

        mutating func perform(_ effects: [ChatEffect]) {
            var queue = effects[...]
            while let effect = queue.popFirst() {
                switch effect {
                case .show(let new): lines += new.map(\.text)
                case .ask(let request):
                    if case .send(let text, _) = request, node.failures.isEmpty { sent.append(text) }
                    guard !request.isEdit else { break }
                    let id = node.nextRequestID.advance()
                    model.assign(id)
                    queue += model.receive(.answer(node.answer(request), to: id), at: moment)
                case .draw, .bell, .clearScreen, .keep, .suspend, .complain, .cannotStart, .reattach, .beginEnd, .end:
                    self.effects.append(effect)
                }
            }
        }

        mutating func endOfInput() { perform(model.endOfInput(at: moment)) }
    }

    @Test("lines wait for others, are sent in order, and the program ends with 0 when all have them")
    func wholeWay() {
        var stage = Stage()
        #expect(stage.lines.count == 1 && stage.lines[0].hasPrefix("* kitchen is an open chat"))
        #expect(stage.model.wantsInput)
        stage.line("one")
        stage.line("  ")
        stage.line("/quit")
        #expect(!stage.model.wantsInput, "no more is read than was sent")
        stage.come(.bob)
        stage.advance(by: 999)
        #expect(stage.sent.isEmpty)
        stage.advance(by: 1)
        #expect(stage.sent == ["one", "/quit"] && stage.model.wantsInput)
        stage.line("three")
        stage.endOfInput()
        #expect(stage.sent == ["one", "/quit", "three"] && stage.effects.isEmpty)
        for number: UInt64 in 1...3 { stage.deliver(MessageID(rawValue: number), to: .bob) }
        #expect(stage.effects == [.beginEnd, .end] && stage.model.exitStatus == 0)
        #expect(
            stage.lines.dropFirst() == [
                "* Bob is here", "You: one  (on its way)", "You: /quit  (on its way)", "* Delivered: one",
                "* Delivered: /quit", "You: three  (delivered)",
            ])
        #expect(stage.model.nextTick == nil && !stage.model.wantsInput)
    }

    @Test("after 5 s alone lines are sent all the same, and the status says that nobody has them")
    func alone() {
        var stage = Stage()
        stage.advance(by: 2_000)
        stage.line("one")
        stage.endOfInput()
        stage.advance(by: 2_999)
        #expect(stage.sent.isEmpty && stage.effects.isEmpty)
        stage.advance(by: 1)
        #expect(
            stage.effects == [
                .complain("nobody else is in the chat; messages reach only people who are online"), .beginEnd, .end,
            ])
        #expect(stage.lines.last == "* Nobody was here to receive: one" && stage.model.exitStatus == 1)
    }

    @Test("an empty input waits for others as well, and ends with 0 only if there were any")
    func empty() {
        var stage = Stage([.bob])
        stage.endOfInput()
        stage.advance(by: 1_000)
        #expect(stage.effects == [.beginEnd, .end] && stage.model.exitStatus == 0)
        var alone = Stage()
        alone.endOfInput()
        alone.advance(by: 5_000)
        #expect(alone.effects.last == .end && alone.model.exitStatus == 1)
    }

    @Test("where the queue is full it tries again, in order, and reads no more meanwhile")
    func fullQueue() {
        var stage = Stage([.bob])
        stage.advance(by: 1_000)
        stage.node.failures = [.queueFull(StagePerson.bob.user), .queueFull(StagePerson.bob.user)]
        stage.line("one")
        stage.line("two")
        stage.endOfInput()
        #expect(stage.sent.isEmpty && !stage.model.wantsInput && stage.model.nextTick == stage.now + 50)
        stage.advance(by: 50)
        #expect(stage.sent.isEmpty)
        stage.advance(by: 50)
        #expect(stage.sent == ["one", "two"] && stage.effects.isEmpty)
        for number: UInt64 in 1...2 { stage.deliver(MessageID(rawValue: number), to: .bob) }
        #expect(stage.effects == [.beginEnd, .end] && stage.model.exitStatus == 0)
    }

    @Test("a line that can't be sent is told on standard error, and the others are sent")
    func badLines() {
        var stage = Stage([.bob])
        stage.advance(by: 1_000)
        stage.perform(stage.model.report(badLine: "line 1 is not UTF-8", at: stage.moment))
        stage.node.failures = [.messageTooLong(bytes: 70_000)]
        stage.line("long")
        stage.line("short")
        stage.endOfInput()
        #expect(stage.sent == ["short"])
        stage.deliver(1, to: .bob)
        #expect(
            stage.effects == [
                .complain("line 1 is not UTF-8"), .complain(NodeError.messageTooLong(bytes: 70_000).fact), .beginEnd,
                .end,
            ])
        #expect(stage.model.exitStatus == 1)
    }

    @Test("it waits for answers for 10 s after the last one, then says that delivery is unknown")
    func noAnswers() {
        var stage = Stage([.bob, .charlie])
        stage.advance(by: 1_000)
        stage.line("one")
        stage.endOfInput()
        stage.advance(by: 9_999)
        stage.deliver(1, to: .bob)
        stage.advance(by: 10_000)
        #expect(stage.effects.isEmpty)
        stage.advance(by: 1)
        #expect(stage.effects == [.complain("delivery of some messages is unknown"), .beginEnd])
        stage.advance(by: 2_000)
        #expect(stage.effects.last == .end && stage.model.exitStatus == 1)
        #expect(stage.lines.last == "* Delivered to 1 of 2; delivery to all is unknown: one")
    }

    @Test("a signal ends it; the status says whether lines are left or unanswered")
    func signal() {
        var stage = Stage([.bob])
        stage.finish()
        #expect(stage.effects == [.beginEnd, .end] && stage.model.exitStatus == 0)
        var left = Stage([.bob])
        left.line("one")
        left.finish()
        #expect(left.effects == [.beginEnd, .end] && left.sent.isEmpty && left.model.exitStatus == 1)
        var unanswered = Stage([.bob])
        unanswered.advance(by: 1_000)
        unanswered.line("one")
        unanswered.finish()
        #expect(unanswered.effects == [.beginEnd])
        unanswered.advance(by: 400)
        unanswered.finish()
        #expect(unanswered.effects == [.beginEnd, .end] && unanswered.model.exitStatus == 1)
    }

    @Test("an output that nobody takes ends it, and is a failure while lines may be left")
    func outputFailed() {
        var stage = Stage([.bob])
        stage.perform(stage.model.outputFailed("no room", at: stage.moment))
        #expect(stage.effects == [.complain("no room"), .beginEnd, .end] && stage.model.exitStatus == 1)
        var whole = Stage([.bob])
        whole.advance(by: 1_000)
        whole.line("one")
        whole.endOfInput()
        whole.perform(whole.model.outputFailed("no room", at: whole.moment))
        #expect(whole.effects == [.beginEnd])
        whole.deliver(1, to: .bob)
        #expect(whole.effects == [.beginEnd, .end] && whole.model.exitStatus == 0)
    }

    @Test("a pipe has no bell")
    func bell() {
        var stage = Stage([.bob], rings: true)
        stage.receive(.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 1, text: "Alice, tea!")))
        #expect(stage.lines.last == "Bob: Alice, tea!" && stage.effects.isEmpty)
    }

    @Test("messages that reach nobody, and a node that ends, make the status 1")
    func lost() {
        var stage = Stage([.bob])
        stage.advance(by: 1_000)
        stage.line("one")
        stage.endOfInput()
        stage.receive(.failed(.init(chat: "kitchen", message: 1, user: StagePerson.bob.user, why: .silence)))
        #expect(stage.effects == [.beginEnd, .end] && stage.model.exitStatus == 1)
        #expect(stage.lines.last == "You: one  (may not have reached Bob (out of reach))")
        var ended = Stage([.bob])
        ended.line("one")
        ended.perform(ended.model.receive(.ended(.stopped), at: ended.moment))
        #expect(ended.effects == [.beginEnd, .end] && ended.model.exitStatus == 1)
        var refused = PipeModel(
            ChatStage.chat("kitchen"), identity: ChatStage.identity("Alice"),
            display: ChatDisplay(form: .pipe, folds: false), texts: ChatStage.texts, columns: 80,
            at: Moment(steady: 0, wall: 0))
        let start = refused.begin(at: Moment(steady: 0, wall: 0))
        #expect(start == [.ask(.join(ChatStage.chat("kitchen")))])
        refused.assign(RequestID())
        let effects = refused.receive(.answer(.failed(.stopped), to: RequestID()), at: Moment(steady: 0, wall: 0))
        #expect(effects == [.cannotStart(.stopped)])
    }

    @Test("what others say while lines are sent shows whole, and so does who types")
    func others() {
        var stage = Stage([.bob])
        stage.advance(by: 1_000)
        for number in 1...30 {
            stage.receive(.message(.init(chat: "kitchen", from: StagePerson.bob.person, id: 1, text: "m\(number)")))
        }
        stage.receive(.typing(chat: "kitchen", [StagePerson.bob.person]))
        #expect(stage.lines.suffix(31) == (1...30).map { "Bob: m\($0)" } + ["* Bob is typing"])
        stage.advance(by: 60_000)
        #expect(!stage.lines.contains { $0.contains("alone") })
    }
}

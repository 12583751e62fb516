import Inkling
import InklingService
import InklingModel
import Testing

/// The service of a prompt's node, to which other programs of the user attach.
@Suite("The service of a prompt")
struct ServiceHolderTests {
    private static func team(_ letter: Character = "a") throws -> Chat {
        try Chat("team", secret: Secret(String(repeating: letter, count: 26)))
    }

    private static func chats(_ prompt: StageFrontEnd) throws -> [ChatStatus] {
        let chats: [ChatStatus]? = if case .chats(let chats)? = prompt.ask(.chats) { chats } else { nil }
        return try #require(chats)
    }

    private static func expectNotKept(_ prompt: StageFrontEnd) {
        guard case .notice(.other(code: "chats-not-kept", _))? = prompt.events.last else {
            Issue.record("\(prompt.outputs)")
            return
        }
    }

    //
    @Test("kept chats are joined only by name, and listed before; a secret of another chat of the name is refused")
    func keptChats() throws {
        let team = try Self.team()
        let stage = ServiceStage(level: .holder, kept: [team, try Chat("garden")])
        let prompt = stage.frontEnd(isPatient: true)
        #expect(stage.node.takeRequests().isEmpty)
        let chats = try Self.chats(prompt)
        #expect(chats.map(\.name) == ["team", "garden"] && chats.allSatisfy(\.isKept) && chats[0].hasSecret)
        #expect(prompt.ask(.invite(chat: "team")) == .invite(team.invite))
        #expect(prompt.ask(.join(try Self.team("e"))) == .failed(.chatExists("team")))
        #expect(stage.node.takeRequests().allSatisfy { if case .join = $0 { false } else { true } })
        #expect(prompt.ask(.join(try Chat("team"))) == .joined(team, []))
        #expect(stage.node.takeRequests() == [.join(team)])
        let second = stage.frontEnd()
        #expect(second.ask(.join(try Chat("team"))) == .joined(team, []))
    }

    //
    @Test(
        "a secret takes no kept chat of its name away, be that private or open, until its user leaves it",
        arguments: [Service.Level.driven, .holder])
    func otherSecret(_ level: Service.Level) throws {
        let (team, garden) = (try Self.team(), try Chat("garden"))
        let stage = ServiceStage(level: level, kept: [team, garden])
        let prompt = stage.frontEnd(isPatient: true)
        let others = [try Self.team("e"), try Chat("garden", secret: Secret(String(repeating: "a", count: 26)))]
        for other in others {
            for isConfirmed in [false, true] {
                #expect(prompt.ask(.join(other, isConfirmed: isConfirmed)) == .failed(.chatExists(other.name)))
            }
        }
        #expect(stage.node.chats.isEmpty && stage.kept.isEmpty)
        #expect(prompt.ask(.leave(chat: "team")) == .done && stage.kept.last == [garden])
        #expect(prompt.ask(.join(others[0])) == .joined(others[0], []) && stage.kept.last == [garden, others[0]])
    }

    //
    @Test("a further join that keeps a chat waits for the write that keeps it, and shares its result")
    func sharedWrite() throws {
        let team = try Self.team()
        for (level, reason) in [(Service.Level.daemon, nil), (.daemon, "full"), (.holder, nil), (.holder, "full")] {
            let stage = ServiceStage(level: level)
            let (first, second) = (stage.frontEnd(isPatient: level == .holder), stage.frontEnd())
            var written: [(String?) -> Void] = []
            stage.keepCompletion = { written.append($0) }
            first.ask(.join(team, isKept: level == .daemon))
            second.ask(.join(team, isKept: true))
            #expect(first.answers.isEmpty && second.answers.isEmpty && stage.kept == [[team]])
            written.removeFirst()(reason)
            let failure = reason.map { ServiceAnswer.failed(.other(code: "not-kept", text: $0)) }
            #expect(second.answers == [failure ?? .joined(team, [])])
            #expect(first.answers == [level == .holder ? .joined(team, []) : failure ?? .joined(team, [])])
            #expect(stage.node.chats == (level == .daemon && reason != nil ? [] : [team]) && written.isEmpty)
        }
    }

    //
    @Test("a join that keeps a chat again after a leave has a write of its own")
    func writeAfterLeave() throws {
        let team = try Self.team()
        let stage = ServiceStage()
        let (first, second, third) = (stage.frontEnd(), stage.frontEnd(), stage.frontEnd())
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        first.ask(.join(team, isKept: true))
        second.ask(.leave(chat: "team"))
        third.ask(.join(team, isKept: true))
        try #require(stage.kept == [[team], [], [team]])
        for _ in 0..<2 { written.removeFirst()(nil) }
        try #require(third.answers.isEmpty && written.count == 1)
        written.removeFirst()(nil)
        #expect(third.answers == [.joined(team, [])] && stage.node.chats == [team])
    }

    //
    @Test(
        "a private chat is kept when its join is on disk, and dropped when its end is on disk; a full disk is a notice",
        arguments: [Service.Level.driven, .holder])
    func keeping(_ level: Service.Level) throws {
        let team = try Self.team()
        let stage = ServiceStage(level: level)
        let prompt = stage.frontEnd(isPatient: true)
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        prompt.ask(.join(team))
        #expect(prompt.answers.isEmpty && stage.kept == [[team]])
        stage.node.tell(Somebody.message(1, in: "team"))
        #expect(prompt.outputs.isEmpty, "what comes meanwhile follows the answer")
        written.removeFirst()(nil)
        #expect(prompt.answers == [.joined(team, [])] && prompt.texts == ["hi"])
        prompt.forget()
        prompt.ask(.leave(chat: "team"))
        #expect(prompt.answers.isEmpty && stage.kept.last == [] && stage.leaving == team)
        #expect(stage.node.chats == [team], "its logs end when the disk knows that they will")
        written.removeFirst()("full")
        #expect(prompt.answers == [.done] && stage.node.chats.isEmpty && stage.finished.isEmpty)
        Self.expectNotKept(prompt)
        prompt.forget()
        prompt.ask(.join(team))
        written.removeFirst()("full")
        #expect(prompt.answers == [.joined(team, [])], "it is there all the same")
        let chats = try Self.chats(prompt)
        #expect(chats.map(\.isKept) == [false])
        Self.expectNotKept(prompt)
        let count = stage.kept.count
        prompt.ask(.join(try Chat("kitchen")))
        #expect(prompt.ask(.leave(chat: "kitchen")) == .done && stage.kept.count == count, "it is open")
    }

    //
    @Test("a chat is left when the disk knows that; its end is complete then, and a join before it keeps everything")
    func leaving() throws {
        let team = try Self.team()
        let stage = ServiceStage(level: .daemon)
        let prompt = stage.frontEnd()
        prompt.ask(.join(team, isKept: true))
        stage.history.set(true, for: team) { _ in }
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        prompt.ask(.leave(chat: "team"))
        #expect(stage.leaving == team && stage.node.chats == [team] && stage.history.keeps(team))
        let other = stage.frontEnd()
        other.ask(.join(team, isKept: true))
        written.removeFirst()(nil)
        #expect(stage.node.chats == [team] && stage.history.keeps(team))
        written.removeFirst()(nil)
        #expect(other.answers == [.joined(team, [])] && stage.kept.last == [team] && stage.leaving == nil)
        other.ask(.leave(chat: "team"))
        written.removeFirst()(nil)
        #expect(stage.node.chats.isEmpty && !stage.history.keeps(team) && stage.finished.last == team)
    }

    //
    @Test("a leave ends no logs of a chat in which another front end stays, or which another one joins meanwhile")
    func leavingWithOthers() throws {
        let team = try Self.team()
        let stage = ServiceStage(kept: [team])
        stage.history.set(true, for: team) { _ in }
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        let (prompt, page) = (try stage.frontEnd(in: "team"), try stage.frontEnd(in: "team"))
        prompt.ask(.leave(chat: "team"))
        #expect(stage.kept.last == [] && stage.leaving == nil, "a start after this must not end the logs")
        written.removeFirst()(nil)
        #expect(prompt.answers == [.done] && stage.node.chats == [team])
        #expect(stage.history.keeps(team) && stage.finished.isEmpty)
        page.ask(.join(team, isKept: true))
        written.removeFirst()(nil)
        page.service.stop {}
        let (last, later) = (stage.frontEnd(), stage.frontEnd())
        last.ask(.leave(chat: "team"))
        #expect(stage.leaving == team)
        later.ask(.join(team))
        written.removeFirst()(nil)
        #expect(last.answers == [.done] && stage.node.chats == [team] && stage.history.keeps(team))
        #expect(stage.finished == [team], "the node forgets that the logs end, as it is in the chat")
        #expect(later.ask(.leave(chat: "team")) == .done)
        #expect(stage.node.chats.isEmpty && !stage.history.keeps(team))
    }

    //
    @Test("a leave ends the history also if the last other connection ended during the write")
    func leavingAtEnd() throws {
        let team = try Self.team()
        let stage = ServiceStage(kept: [team])
        stage.history.set(true, for: team) { _ in }
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        let (prompt, page) = (try stage.frontEnd(in: "team"), try stage.frontEnd(in: "team"))
        prompt.ask(.leave(chat: "team"))
        page.service.stop {}
        #expect(stage.node.chats.isEmpty)
        written.removeFirst()(nil)
        #expect(prompt.answers == [.done] && !stage.history.keeps(team))
    }

    //
    @Test("while the disk stands still, others type, send and join; the one that waits gets its answer first")
    func stillDisk() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        var written: [(Notice?) -> Void] = []
        stage.nameCompletion = { written.append($0) }
        first.ask(.rename("Ann"))
        let rename = first.lastID
        first.ask(.chats)
        #expect(second.ask(.compose("h", chat: "kitchen")) == .done)
        #expect(stage.node.requests.last == .startTyping(chat: "kitchen"))
        #expect(second.ask(.send("hello", chat: "kitchen")) == .sent(message: 1, recipients: 1))
        #expect(second.ask(.join(try Chat("garden"))) == .joined(try Chat("garden"), []))
        stage.node.tell(Somebody.message(1))
        #expect(second.texts == ["hi"] && first.outputs.isEmpty)
        let notice = Notice.other(code: "nick-not-kept", text: "full")
        written.removeFirst()(notice)
        #expect(first.outputs.first == .answer(.done, to: rename) && first.answers.count == 2)
        #expect(first.texts == ["hi"] && first.events.contains(.notice(notice)) && stage.names == ["Ann"])
    }

    //
    @Test("no absence is announced, nobody else ends the prompt, and its end is the end of all")
    func end() throws {
        let stage = ServiceStage(level: .holder)
        let prompt = stage.frontEnd(isPatient: true)
        let other = stage.frontEnd()
        prompt.ask(.join(try Chat("kitchen")))
        stage.pass(60_000)
        #expect(stage.node.takeRequests().allSatisfy { if case .setAway = $0 { false } else { true } })
        guard case .failed(.other(code: "unsupported", _))? = other.ask(.shutDown) else {
            Issue.record("\(other.answers)")
            return
        }
        #expect(stage.node.stops == 0 && stage.shutDowns == 0)
        other.service.stop {}
        #expect(other.end == .stopped && prompt.end == nil)
        let third = stage.frontEnd()
        prompt.service.stop {}
        #expect(stage.node.stops == 1 && prompt.end == .stopped && third.end == .stopped)
    }

    //
    @Test("64 front ends attach beside the prompt, and each one's reading counts")
    func manyFrontEnds() throws {
        let stage = ServiceStage(level: .holder)
        let prompt = stage.frontEnd(isPatient: true)
        prompt.ask(.join(try Chat("kitchen")))
        let others = (0..<64).map { _ in stage.frontEnd() }
        #expect(stage.service.attach() == nil)
        stage.node.tell(Somebody.message(1))
        let last = try #require(others.last)
        last.ask(.join(try Chat("kitchen")))
        last.ask(.open(chat: "kitchen"))
        #expect(last.unread == [Somebody.message(1)])
        last.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 0)
    }

    // A-29, M-20, A-72
    @Test("the prompt is never cut off: its messages stay held, and others that don't read are")
    func slow() throws {
        let stage = ServiceStage(level: .holder)
        let prompt = stage.frontEnd(isPatient: true)
        let other = stage.frontEnd()
        for frontEnd in [prompt, other] {
            frontEnd.ask(.join(try Chat("kitchen")))
            frontEnd.service.takesEvents = false
        }
        stage.node.tell(Somebody.message(1))
        #expect(stage.service.takeSettled().isEmpty && stage.service.isWatched)
        stage.pass(11_000)
        #expect(other.end == .tooSlow && prompt.end == nil)
        prompt.service.takesEvents = true
        #expect(prompt.texts == ["hi"])
        #expect(stage.node.settled == [1] && !stage.service.isWatched)
        stage.node.tell(Somebody.message(2))
        #expect(stage.node.settled == [1, 2])
        prompt.service.takesEvents = false
        stage.node.tell(Somebody.message(3))
        stage.service.look(patience: 1)
        stage.service.look(patience: 1)
        #expect(stage.service.takeSettled() == [3], "after a while it holds up nobody")
    }

    //
    @Test("with 32 chats kept, a further private one is there and not kept, and the user is told")
    func fullList() throws {
        let chats = try (0..<KeptChats.limit).map { try Chat("garden \($0)") }
        let stage = ServiceStage(level: .holder, kept: chats)
        let prompt = stage.frontEnd(isPatient: true)
        let team = try Self.team()
        #expect(prompt.ask(.join(team)) == .joined(team, []) && stage.kept.isEmpty)
        Self.expectNotKept(prompt)
        guard case .failed(.other(code: "not-kept", _))? = prompt.ask(.join(try Chat("garden"), isKept: true)) else {
            Issue.record("\(prompt.answers)")
            return
        }
        #expect(stage.kept.isEmpty && stage.node.chats == [team])
    }

    //
    @Test(
        "names of other chats and a chat that the user left keep the node out; a name is kept, but no passing identity's",
        arguments: [Service.Level.driven, .holder, .daemon])
    func refusals(_ level: Service.Level) throws {
        let stage = ServiceStage(level: level)
        let prompt = stage.frontEnd(isPatient: level != .daemon)
        let team = try Chat("team")
        stage.doubtful = ["team"]
        #expect(prompt.ask(.join(team)) == .failed(.other(code: "private-name", text: "")))
        #expect(stage.node.chats.isEmpty)
        #expect(prompt.ask(.join(team, isConfirmed: true)) == .joined(team, []))
        let left = try Chat("left", secret: Secret(String(repeating: "a", count: 26)))
        stage.left = [left]
        #expect(prompt.ask(.join(left)) == .failed(.chatMoved("left")))
        #expect(stage.node.chats == [team])
        #expect(prompt.ask(.rename("Ann")) == .done && stage.names == ["Ann"])
        stage.node.identity.isTemporary = true
        #expect(prompt.ask(.rename("Anne")) == .done && stage.names == ["Ann"])
    }

    //
    @Test("joins of a chat wait until its name is checked, also at the start, and other requests do not")
    func checkedNames() throws {
        var checks: [() -> Void] = []
        let stage = ServiceStage(kept: [try Self.team()], nameChecked: { checks.append($0) })
        let (first, second) = (stage.frontEnd(), stage.frontEnd())
        first.ask(.join(try Self.team()))
        second.ask(.join(try Chat("garden")))
        #expect(stage.node.chats.isEmpty && first.answers.isEmpty && checks.count == 2)
        let third = stage.frontEnd()
        #expect(third.ask(.setAway(true)) == .done)
        for check in checks { check() }
        #expect(stage.node.chats == [try Self.team(), try Chat("garden")])
        #expect(first.answers == [.joined(try Self.team(), [])])
        #expect(second.answers == [.joined(try Chat("garden"), [])])
    }

    //
    @Test("a front end that waits for the disk at the end of the node gets its answer first, and the others their end")
    func endAfterDisk() throws {
        let stage = ServiceStage()
        let (first, second) = (stage.frontEnd(), stage.frontEnd())
        var written: [(String?) -> Void] = []
        stage.keepCompletion = { written.append($0) }
        for (frontEnd, name) in [(first, "kitchen"), (second, "garden")] {
            frontEnd.ask(.join(try Chat(name), isKept: true))
        }
        let other = stage.frontEnd()
        stage.node.stop {}
        var isOver = false
        stage.service.whenAnswered { isOver = true }
        #expect(other.end == .stopped && first.outputs.isEmpty && !isOver)
        first.ask(.chats)
        written.removeFirst()(nil)
        #expect(first.answers == [.joined(try Chat("kitchen"), [])] && first.end == .stopped && !isOver)
        stage.service.giveUp()
        #expect(second.answers.isEmpty && second.end == .stopped && isOver)
        written.removeFirst()(nil)
        #expect(second.answers.isEmpty)
    }
}

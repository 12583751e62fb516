import InklingService
import InklingModel
import Testing

/// Moves of chats in a daemon's service.
@Suite("Moves in the service")
struct ServiceMoveTests {
    private static func chat(_ letter: String) throws -> Chat {
        try Chat(invite: "inkling:team#\(String(repeating: letter, count: 25))a@\(Somebody.key)")
    }

    //
    @Test("a move answers its front end, and then all front ends learn of it and stay in the chat")
    func move() throws {
        let stage = ServiceStage()
        let (old, new) = (try Self.chat("a"), try Self.chat("b"))
        let request = ServiceRequest.move(chat: "team", keys: [Somebody.key])
        stage.node.answers[request] = .moved(new)
        let (one, two) = (stage.frontEnd(), stage.frontEnd())
        for frontEnd in [one, two] { frontEnd.ask(.join(old)) }
        stage.node.tell(Somebody.message(1, in: "team", "early"))
        #expect(one.ask(request) == .moved(new))
        for frontEnd in [one, two] { frontEnd.forget() }
        stage.node.tell(.notice(.moved(new)))
        stage.node.tell(Somebody.message(2, in: "team", "late"))
        for frontEnd in [one, two] {
            #expect(frontEnd.events.first == .notice(.moved(new)) && frontEnd.texts == ["late"])
            #expect(frontEnd.ask(.send("here", chat: "team")) == .sent(message: 1, recipients: 1) || frontEnd === two)
        }
        #expect(two.messages(.messages(chat: "team")).map(\.text).prefix(2) == ["early", "late"], "they stay")
        // A further front end enters the new chat by the name.
        let three = stage.frontEnd()
        #expect(three.ask(.join(try Chat("team"))) == .joined(new, []))
        three.ask(.open(chat: "team"))
        #expect(three.unread.count == 2, "unread messages stay")
    }

    //
    @Test("a kept chat is kept as the new one, and its messages go into the same history")
    func kept() throws {
        let (old, new) = (try Self.chat("a"), try Self.chat("b"))
        let stage = ServiceStage(kept: [try Chat("other"), old])
        stage.history.kept[new] = []
        stage.node.tell(.notice(.moved(new)))
        #expect(stage.kept == [[try Chat("other"), new]])
        stage.node.tell(Somebody.message(1, in: "team", "late"))
        #expect(stage.history.kept[new]?.map(\.text) == ["late"])
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(new))
        #expect(frontEnd.ask(.leave(chat: "team")) == .done)
        #expect(stage.kept.last == [try Chat("other")])
        // The notice of a chat that nobody is in any more changes nothing.
        stage.node.tell(.notice(.moved(old)))
        #expect(stage.kept.last == [try Chat("other")])
    }

    //
    @Test("a join by the old invite enters the newest chat, and the node answers for one that its user left")
    func oldInvite() throws {
        let stage = ServiceStage()
        let (old, new) = (try Self.chat("a"), try Self.chat("b"))
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(new))
        #expect(frontEnd.ask(.join(old)) == .failed(.chatExists("team")))
        stage.node.answers[.join(old)] = .failed(.chatMoved("team"))
        #expect(frontEnd.ask(.join(old)) == .failed(.chatMoved("team")), "the user left the newest chat")
        stage.sources[.invitation(3)] = old
        #expect(frontEnd.ask(.enter(.invitation(3), name: nil)) == .failed(.chatMoved("team")))
        stage.moves[old] = new
        #expect(stage.frontEnd().ask(.join(old)) == .joined(new, []))
        #expect(frontEnd.ask(.join(old, isKept: true)) == .joined(new, []))
        #expect(stage.kept.last == [new])
        #expect(stage.frontEnd().ask(.enter(.invitation(3), name: nil)) == .joined(new, []))
        #expect(frontEnd.ask(.send("here", chat: "team")) == .sent(message: 1, recipients: 1))
    }

    //
    @Test("a chat whose successor is there under another name keeps its own history until its user leaves it")
    func twoNames() throws {
        let (old, new) = (try Self.chat("a"), try Self.chat("b"))
        let other = try new.named("other")
        let stage = ServiceStage(kept: [old, other])
        for chat in [old, other] { stage.history.kept[chat] = [] }
        let frontEnd = stage.frontEnd()
        for chat in ["team", "other"] { frontEnd.ask(.join(try Chat(chat))) }
        stage.node.tell(.notice(.moved(new)))
        #expect(stage.kept.isEmpty && frontEnd.events.last == .notice(.moved(new)))
        stage.node.tell(Somebody.message(1, in: "other", "late"))
        #expect(stage.history.kept[other]?.map(\.text) == ["late"])
        #expect(frontEnd.ask(.leave(chat: "team")) == .done)
        #expect(stage.history.kept[other]?.map(\.text) == ["late"] && stage.history.kept[old] == nil)
        #expect(stage.kept.last == [other])
    }
}

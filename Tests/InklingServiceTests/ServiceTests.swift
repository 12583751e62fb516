import InklingService
import InklingModel
import Testing

/// The outputs of front ends that share a node.
@Suite("The service of a daemon")
struct ServiceTests {
    private static let secret = Result { try Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa") }

    // MARK: Chats

    //
    @Test("the node is in a chat while a front end is in it or it is kept, and asked no more often than that")
    func membership() throws {
        let stage = ServiceStage()
        let kitchen = try Chat("kitchen")
        let (first, second) = (stage.frontEnd(), stage.frontEnd())
        stage.node.people["kitchen"] = [Somebody.peer(Somebody.bob)]
        #expect(first.ask(.join(kitchen)) == .joined(kitchen, [Somebody.peer(Somebody.bob)]))
        #expect(second.ask(.join(kitchen)) == .joined(kitchen, [Somebody.peer(Somebody.bob)]))
        #expect(stage.node.takeRequests() == [.join(kitchen), .peers(chat: "kitchen")])
        #expect(first.ask(.join(kitchen)) == .failed(.chatExists("kitchen")))
        #expect(first.ask(.leave(chat: "kitchen")) == .done)
        #expect(first.ask(.leave(chat: "kitchen")) == .failed(.unknownChat("kitchen")))
        #expect(stage.node.chats == [kitchen])
        second.service.stop {}
        #expect(second.end == .stopped && stage.node.chats.isEmpty)
        #expect(stage.kept.isEmpty)
    }

    //
    @Test("whoever leaves a chat is told that everybody goes, as by a node that leaves it, and nobody else is")
    func leaving() throws {
        let stage = ServiceStage()
        let (bob, carol) = (Somebody.peer(Somebody.bob), Somebody.peer(Somebody.carol))
        stage.node.people["kitchen"] = [bob, Somebody.peer(Somebody.carol, .offline)]
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        stage.node.people["kitchen"] = [bob, carol]
        stage.node.tell(.peer(.init(chat: "kitchen", carol, why: .hello)))
        stage.node.tell(.typing(chat: "kitchen", [Somebody.bob]))
        first.forget()
        second.forget()
        first.ask(.leave(chat: "kitchen"))
        #expect(first.answers == [.done] && first.outputs.first == .answer(.done, to: first.lastID))
        #expect(second.outputs.isEmpty, "it is still there")
        let farewells = first.events
        guard case .typing("kitchen", []) = farewells.first else { return #expect(Bool(false), "\(farewells)") }
        let gone = farewells.dropFirst().compactMap { event -> Peer? in
            if case .peer(let change) = event, change.chat == "kitchen", change.why == .bye { change.peer } else { nil }
        }
        #expect(farewells.count == 3 && gone.map(\.user) == [Somebody.bob.user, Somebody.carol.user])
        #expect(gone.allSatisfy { $0.presence == .offline && $0.lastSeen == 5.5 && $0.onlineSince == nil })
        #expect(gone.map(\.names) == [bob.names, carol.names] && gone.allSatisfy(\.isVerified))

        // A subscription to all chats still covers the chat.
        second.ask(.subscribe(Subscription(chats: .all)))
        second.forget()
        second.ask(.leave(chat: "kitchen"))
        #expect(second.answers == [.done] && second.events.isEmpty)

        // After joining again, the front end gets only the new typing.
        first.ask(.join(try Chat("kitchen")))
        first.forget()
        stage.node.tell(.typing(chat: "kitchen", [Somebody.carol]))
        #expect(first.events == [.typing(chat: "kitchen", [Somebody.carol])])
    }

    @Test("whoever gets no events of presence is not told of those who go")
    func leavingWithoutPresence() throws {
        let stage = ServiceStage()
        stage.node.people["kitchen"] = [Somebody.peer(Somebody.bob)]
        let frontEnd = try stage.frontEnd(in: "kitchen")
        frontEnd.ask(.subscribe(Subscription(kinds: [.typing, .message])))
        frontEnd.forget()
        frontEnd.ask(.leave(chat: "kitchen"))
        #expect(frontEnd.outputs == [.answer(.done, to: frontEnd.lastID)])
    }

    //
    @Test("a kept chat stays without a front end, is there from the beginning, and ends when somebody leaves it")
    func keeping() throws {
        let (kitchen, attic) = (try Chat("kitchen"), try Chat("attic", secret: Self.secret.get()))
        let stage = ServiceStage(kept: [kitchen])
        #expect(stage.node.chats == [kitchen])
        let first = stage.frontEnd()
        #expect(first.ask(.join(attic, isKept: true)) == .joined(attic, []))
        #expect(first.ask(.join(attic, isKept: true)) == .joined(attic, []), "also where it is in it already")
        #expect(first.ask(.join(kitchen, isKept: true)) == .joined(kitchen, []))
        #expect(stage.kept == [[kitchen, attic]])
        first.service.stop {}
        #expect(stage.node.chats == [kitchen, attic])
        let second = stage.frontEnd()
        #expect(second.ask(.leave(chat: "kitchen")) == .done, "it need not be in it")
        #expect(stage.node.chats == [attic] && stage.kept.last == [attic])
        let third = stage.frontEnd()
        third.ask(.join(attic))
        #expect(second.ask(.leave(chat: "attic")) == .done)
        #expect(stage.node.chats == [attic] && stage.kept.last == [], "somebody else is in it")
    }

    //
    @Test("a chat that was kept and that the node can't be in is told, and the others are there")
    func refusedChat() throws {
        let (open, secret) = (try Chat("kitchen"), try Chat("kitchen", secret: Self.secret.get()))
        let stage = ServiceStage(kept: [open, secret, try Chat("attic")])
        #expect(stage.node.chats.map(\.name) == ["kitchen", "attic"])
        #expect(stage.refused == [secret: .chatExists("kitchen")])
    }

    //
    @Test("a chat is kept also by who is in it already, with the secret that it has")
    func keepingLater() throws {
        let attic = try Chat("attic", secret: Self.secret.get())
        let stage = ServiceStage()
        let (first, second) = (stage.frontEnd(), stage.frontEnd())
        first.ask(.join(attic))
        #expect(stage.kept.isEmpty)
        #expect(first.ask(.join(try Chat("attic"), isKept: true)) == .joined(attic, []))
        #expect(stage.kept == [[attic]])
        #expect(second.ask(.join(try Chat("kitchen"), isKept: true)) == .joined(try Chat("kitchen"), []))
        #expect(try stage.kept.count == 2 && stage.kept.last == [attic, Chat("kitchen")])
    }

    //
    @Test("of two that ask at the same time both are in the chat, and one that goes before it is in leaves none behind")
    func together() throws {
        let stage = ServiceStage()
        let kitchen = try Chat("kitchen")
        let (first, second, third) = (stage.frontEnd(), stage.frontEnd(), stage.frontEnd())
        stage.node.isSlow = true
        for frontEnd in [first, second] { frontEnd.ask(.join(kitchen)) }
        #expect(stage.node.takeRequests() == [.join(kitchen)], "the second waits for the first")
        stage.node.isSlow = false
        stage.node.release()
        #expect(first.answers == [.joined(kitchen, [])] && second.answers == [.joined(kitchen, [])])
        stage.node.isSlow = true
        third.ask(.join(try Chat("attic")))
        third.service.stop {}
        stage.node.isSlow = false
        stage.node.release()
        #expect(stage.node.chats == [kitchen] && third.outputs == [.ended(.stopped)])
    }

    //
    @Test("a chat without a secret is the one of that name that the node is in; one with another secret is not")
    func secrets() throws {
        let attic = try Chat("attic", secret: Self.secret.get())
        let stage = ServiceStage(kept: [attic])
        let frontEnd = stage.frontEnd()
        let open = ServiceRequest.join(try Chat("attic"), isConfirmed: true)
        #expect(frontEnd.ask(open) == .failed(.chatExists("attic")), "the user means the open chat of that name")
        #expect(frontEnd.ask(.join(try Chat("attic"))) == .joined(attic, []))
        let other = try Chat("attic", secret: Secret("baaaaaaaaaaaaaaaaaaaaaaaaa"))
        #expect(stage.frontEnd().ask(.join(other)) == .failed(.chatExists("attic")))
        #expect(stage.frontEnd().ask(.join(other, isKept: true)) == .failed(.chatExists("attic")))
        #expect(stage.frontEnd().ask(.join(attic)) == .joined(attic, []))
    }

    @Test("a request about a chat that one may not use has no effect")
    func strangers() throws {
        let stage = ServiceStage()
        _ = try stage.frontEnd(in: "kitchen")
        let other = stage.frontEnd()
        _ = stage.node.takeRequests()
        for request in [.compose("x", chat: "kitchen"), .open(chat: "kitchen"), .leave(chat: "kitchen")]
            as [ServiceRequest]
        {
            #expect(other.ask(request) == .failed(.unknownChat("kitchen")), "\(request)")
        }
        #expect(other.ask(.read(chat: "attic")) == .failed(.unknownChat("attic")))
        #expect(stage.node.takeRequests().isEmpty)
        #expect(other.ask(.send("hi", chat: "kitchen")) == .sent(message: 1, recipients: 1), "what the node is in")
    }

    @Test("chats and status tell what is kept and what waits, and how many front ends there are")
    func status() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")], announcesAbsence: true)
        let frontEnd = stage.frontEnd()
        stage.node.tell(Somebody.message(1))
        let chat = ChatStatus("kitchen", isKept: true, unread: 1)
        #expect(frontEnd.ask(.chats) == .chats([chat]))
        let status = NodeStatus(since: 1.25, isAway: true, frontEnds: 1, chats: [chat])
        #expect(frontEnd.ask(.status) == .status(status))
    }

    // MARK: Order

    //
    @Test("a sink that asks is answered after it has returned, in the order of the requests, and before what follows")
    func order() throws {
        let stage = ServiceStage()
        let frontEnd = try stage.frontEnd(in: "kitchen")
        frontEnd.react = { output in
            guard case .event = output, frontEnd.answers.isEmpty else { return }
            frontEnd.service.ask(.peers(chat: "kitchen"))
            frontEnd.service.ask(.open(chat: "attic"))
            frontEnd.service.ask(.send("x", chat: "kitchen"))
        }
        stage.node.tell(Somebody.message(1))
        #expect(frontEnd.deepest == 1)
        #expect(
            frontEnd.answers == [.peers([]), .failed(.unknownChat("attic")), .sent(message: 1, recipients: 1)])
    }

    //
    @Test("when the node is about to end, front ends are told of messages, and not that everybody goes")
    func ending() throws {
        let stage = ServiceStage()
        let frontEnd = try stage.frontEnd(in: "kitchen")
        stage.node.tell(.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob), why: .hello)))
        frontEnd.ask(.send("x", chat: "kitchen"))
        frontEnd.forget()
        stage.service.willEnd()
        stage.node.tell(.typing(chat: "kitchen", []))
        let failed = Event.failed(.init(chat: "kitchen", message: 1, user: Somebody.bob.user, why: .quit))
        stage.node.tell(failed)
        stage.node.tell(.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob, .offline), why: .bye)))
        #expect(frontEnd.events == [failed] && frontEnd.end == nil)
        stage.node.stop {}
        #expect(frontEnd.events == [failed] && frontEnd.end == .stopped)
    }

    //
    @Test("a front end that ends the daemon is answered first; what is answered to one that went is told to nobody")
    func answersAtTheEnd() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        stage.node.people["kitchen"] = [Somebody.peer(Somebody.bob)]
        let (first, second) = (stage.frontEnd(), stage.frontEnd())
        stage.node.isSlow = true
        first.ask(.subscribe(Subscription(chats: .all)))
        first.service.stop {}
        stage.node.release()
        #expect(first.outputs.count == 2 && first.answers == [.done] && first.end == .stopped)
        stage.shutDown = { stage.node.stop {} }
        second.ask(.shutDown)
        #expect(second.outputs == [.answer(.done, to: second.lastID), .ended(.stopped)])
    }

    @Test(
        "of two equal requests at once each gets its own answer, in either order of the answers",
        arguments: [false, true])
    func equalRequests(inReverse: Bool) throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        stage.node.isSlow = true
        stage.node.messageAnswers = [.failed(.queueFull(Somebody.bob.user)), .sent(message: 7, recipients: 1)]
        for frontEnd in [first, second] { frontEnd.ask(.send("x", chat: "kitchen")) }
        stage.node.release(inReverse: inReverse)
        #expect(first.answers == [.failed(.queueFull(Somebody.bob.user))] && first.own == ["x"])
        #expect(second.outputs == [.answer(.sent(message: 7, recipients: 1), to: second.lastID)])
    }

    // MARK: Messages

    //
    @Test("a message and its outcomes go to the sender and to all others who get messages there")
    func ownMessages() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        let (elsewhere, bar) = (try stage.frontEnd(in: "attic"), stage.frontEnd())
        bar.ask(.subscribe(Subscription(kinds: [.typing], chats: .all)))
        bar.forget()
        stage.node.recipients = 2
        #expect(first.ask(.send("hi", chat: "kitchen")) == .sent(message: 1, recipients: 2))
        #expect(second.own == ["hi"])
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user)))
        stage.node.tell(.failed(.init(chat: "kitchen", message: 1, user: Somebody.carol.user, why: .bye)))
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user)))
        #expect(first.events.count == 2 && first.own.isEmpty, "one outcome for each")
        #expect(second.events == first.events && elsewhere.outputs.isEmpty && bar.outputs.isEmpty)
        #expect(
            second.outputs.first
                == .own(OwnMessage(at: 5.5, chat: "kitchen", message: 1, recipients: 2, text: "hi")))
        first.ask(.send("bye", chat: "kitchen"))
        first.service.stop {}
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 2, user: Somebody.bob.user)))
        #expect(second.own == ["hi", "bye"] && second.events.count == 3, "the other front end outlives the sender")
        bar.ask(.send("by one who gets no messages", chat: "kitchen"))
        bar.forget()
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 3, user: Somebody.bob.user)))
        #expect(bar.events.count == 1, "the sender gets the outcomes in any case")
    }

    // MARK: Typing

    //
    @Test("the user types while any draft does; edits go on at once, and a front end that goes takes its draft with it")
    func drafts() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        let (start, stop) = (ServiceRequest.startTyping(chat: "kitchen"), ServiceRequest.stopTyping(chat: "kitchen"))
        _ = stage.node.takeRequests()
        first.ask(.compose("h", chat: "kitchen"))
        #expect(stage.node.takeRequests() == [start])
        first.ask(.compose("h", chat: "kitchen"))
        #expect(stage.node.takeRequests().isEmpty, "the same text is no edit")
        stage.pass(1_000)
        second.ask(.compose("x", chat: "kitchen"))
        #expect(stage.node.takeRequests() == [start])
        first.ask(.compose("", chat: "kitchen"))
        #expect(stage.node.takeRequests().isEmpty, "the other draft is there")
        second.service.stop {}
        #expect(stage.node.takeRequests() == [stop])
    }

    //
    @Test("a draft that remains ends 2.9 s after its own last edit")
    func remaining() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        first.ask(.compose("h", chat: "kitchen"))
        stage.pass(1_000)
        second.ask(.compose("x", chat: "kitchen"))
        second.ask(.compose("", chat: "kitchen"))
        _ = stage.node.takeRequests()
        stage.pass(1_899)
        #expect(stage.node.takeRequests().isEmpty)
        stage.pass(1)
        #expect(stage.node.takeRequests() == [.stopTyping(chat: "kitchen")])
    }

    //
    @Test("a message ends all drafts, which begin again with their next edit; so does going away")
    func sending() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        let (start, stop) = (ServiceRequest.startTyping(chat: "kitchen"), ServiceRequest.stopTyping(chat: "kitchen"))
        first.ask(.compose("h", chat: "kitchen"))
        second.ask(.compose("x", chat: "kitchen"))
        first.ask(.send("h", chat: "kitchen"))
        _ = stage.node.takeRequests()
        for text in ["h", ""] { first.ask(.compose(text, chat: "kitchen")) }
        #expect(stage.node.takeRequests() == [start, stop], "it was empty, and nothing else is being typed")
        second.ask(.compose("xy", chat: "kitchen"))
        first.ask(.send("h", chat: "kitchen"))
        _ = stage.node.takeRequests()
        second.ask(.compose("", chat: "kitchen"))
        second.service.stop {}
        #expect(stage.node.takeRequests().isEmpty, "nothing was being typed")
        first.ask(.compose("a", chat: "kitchen"))
        #expect(stage.node.takeRequests() == [start])
        first.ask(.setAway(true))
        _ = stage.node.takeRequests()
        first.ask(.compose("", chat: "kitchen"))
        #expect(stage.node.takeRequests().isEmpty)
        first.ask(.compose("ab", chat: "kitchen"))
        #expect(stage.node.takeRequests() == [.startTyping(chat: "kitchen")])
    }

    // T-10
    @Test("a request to go away ends all typing, also of a user who is away already", arguments: [false, true])
    func typingWhileAway(isByWord: Bool) throws {
        let stage = ServiceStage(announcesAbsence: true)
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(try Chat("kitchen")))
        if isByWord { frontEnd.ask(.setAway(true)) }
        frontEnd.ask(.compose("h", chat: "kitchen"))
        _ = stage.node.takeRequests()
        frontEnd.ask(.setAway(true))
        #expect(stage.node.takeRequests() == [.stopTyping(chat: "kitchen")])
        frontEnd.ask(.setAway(true))
        frontEnd.ask(.compose("", chat: "kitchen"))
        #expect(stage.node.takeRequests().isEmpty, "nothing is being typed")
    }

    // T-10
    @Test("a driven node that is away ends typing at a further request to go away")
    func typingOfDrivenNode() throws {
        let stage = ServiceStage(level: .driven)
        let frontEnd = stage.frontEnd(isPatient: true)
        frontEnd.ask(.join(try Chat("kitchen")))
        frontEnd.ask(.setAway(true))
        frontEnd.ask(.compose("h", chat: "kitchen"))
        _ = stage.node.takeRequests()
        frontEnd.ask(.setAway(true))
        #expect(stage.node.takeRequests() == [.stopTyping(chat: "kitchen")])
    }

    //
    @Test("to open another chat empties the draft in the one before, and no other")
    func opening() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        first.ask(.join(try Chat("attic")))
        first.ask(.compose("h", chat: "kitchen"))
        second.ask(.compose("x", chat: "kitchen"))
        _ = stage.node.takeRequests()
        second.ask(.open(chat: "kitchen"))
        first.ask(.open(chat: "attic"))
        #expect(stage.node.takeRequests().isEmpty, "what is open already is not emptied")
        second.ask(.leave(chat: "kitchen"))
        #expect(stage.node.takeRequests() == [.peers(chat: "kitchen"), .stopTyping(chat: "kitchen")])
        let driven = ServiceStage(level: .driven)
        let own = driven.frontEnd(isPatient: true)
        for chat in ["kitchen", "attic"] { own.ask(.join(try Chat(chat))) }
        for chat in ["kitchen", "attic"] { own.ask(.open(chat: chat)) }
        #expect(driven.node.requests.last == .compose("", chat: "kitchen"), "its node ends the typing")
        first.ask(.compose("h", chat: "attic"))
        first.ask(.open(chat: nil))
        #expect(stage.node.takeRequests() == [.startTyping(chat: "attic"), .stopTyping(chat: "attic")], "A-36")
    }

    @Test("what is no message in the making does not count")
    func commands() throws {
        let stage = ServiceStage()
        let frontEnd = try stage.frontEnd(in: "kitchen")
        _ = stage.node.takeRequests()
        frontEnd.ask(.compose("/help", chat: "kitchen"))
        #expect(stage.node.takeRequests().isEmpty)
        frontEnd.ask(.compose("help", chat: "kitchen"))
        frontEnd.ask(.compose("/help", chat: "kitchen"))
        #expect(stage.node.takeRequests() == [.startTyping(chat: "kitchen"), .stopTyping(chat: "kitchen")])
    }

    //
    @Test("a chat is said to be kept when that is on disk, and not if it can't be")
    func keptOnDisk() throws {
        let stage = ServiceStage()
        var completions: [(String?) -> Void] = []
        stage.keepCompletion = { completions.append($0) }
        let frontEnd = stage.frontEnd()
        let kitchen = try Chat("kitchen")
        frontEnd.ask(.join(kitchen, isKept: true))
        #expect(frontEnd.answers.isEmpty && stage.kept == [[kitchen]])
        completions.removeFirst()(nil)
        #expect(frontEnd.answers == [.joined(kitchen, [])])
        frontEnd.ask(.join(try Chat("attic"), isKept: true))
        completions.removeFirst()("The disk is full.")
        #expect(frontEnd.answers.last == .failed(.other(code: "not-kept", text: "The disk is full.")))
        #expect(stage.node.chats == [kitchen], "nor is it in the chat")
        let gone = stage.frontEnd()
        gone.ask(.join(try Chat("cellar"), isKept: true))
        gone.service.stop {}
        completions.removeFirst()(nil)
        #expect(gone.answers.isEmpty && stage.node.chats.map(\.name) == ["kitchen", "cellar"], "it is kept")
    }

    //
    @Test("the node is asked whether a name is confirmed, as the front end says; what was kept is")
    func confirmation() throws {
        let stage = ServiceStage(kept: [try Chat("garden")])
        #expect(stage.node.takeRequests() == [.join(try Chat("garden"), isConfirmed: true)])
        stage.frontEnd().ask(.join(try Chat("kitchen"), isConfirmed: true))
        stage.frontEnd().ask(.join(try Chat("attic"), isKept: true))
        let joins = stage.node.takeRequests().filter { if case .join = $0 { true } else { false } }
        #expect(joins == [.join(try Chat("kitchen"), isConfirmed: true), .join(try Chat("attic"))])
    }
}

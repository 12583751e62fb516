import InklingService
import InklingModel
import Testing

/// Messages that arrive while their chat is not shown. ``UnreadMessagesTests`` checks their bounds.
@Suite("Messages that wait for a front end")
struct ServiceUnreadTests {
    /// Returns a front end that has just opened the kitchen.
    private static func reader(_ stage: ServiceStage) throws -> StageFrontEnd {
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(try Chat("kitchen")))
        frontEnd.ask(.open(chat: "kitchen"))
        return frontEnd
    }

    //
    @Test("what comes while nobody looks waits, is handed to whoever opens the chat, with its time, until it was read")
    func waiting() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        stage.node.tell(Somebody.message(1), at: 1)
        stage.node.tell(Somebody.message(2), at: 2)
        let first = try stage.frontEnd(in: "kitchen", opens: false)
        stage.node.tell(Somebody.message(3), at: 3)
        #expect(first.texts.count == 1, "it gets what comes, and it waits all the same")
        #expect(first.ask(.open(chat: "kitchen")) == .done)
        #expect(
            first.outputs.suffix(3) == [
                .answer(.done, to: first.lastID),
                .unread(TimedEvent(at: 1, event: Somebody.message(1))),
                .unread(TimedEvent(at: 2, event: Somebody.message(2))),
            ])
        stage.node.tell(Somebody.message(4))
        let second = try Self.reader(stage)
        #expect(
            second.unread == [Somebody.message(1), Somebody.message(2), Somebody.message(3)], "the fourth was seen")
        first.ask(.open(chat: "kitchen"))
        #expect(first.unread.count == 2, "not once more")
        #expect(first.ask(.read(chat: "kitchen")) == .done)
        #expect(stage.service.unread.count(in: "kitchen") == 0 && stage.service.unread.size == 0)
    }

    //
    @Test("only what was written to the reader was read")
    func readByOne() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let first = try stage.frontEnd(in: "kitchen", opens: false)
        first.ask(.subscribe(Subscription(kinds: [.typing])))
        stage.node.tell(Somebody.message(1))
        first.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 1)
        first.ask(.open(chat: "kitchen"))
        #expect(first.unread.isEmpty, "a front end that gets no messages shows none (A-23)")
        first.ask(.subscribe(Subscription(kinds: [.message])))
        #expect(first.unread == [Somebody.message(1)] && first.answers.last == .done)
        let second = try stage.frontEnd(in: "kitchen")
        second.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 0)
    }

    //
    @Test("what a front end got before it joined the chat comes again when it opens it")
    func subscriber() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let first = stage.frontEnd()
        first.ask(.subscribe(Subscription(chats: .all)))
        stage.node.tell(Somebody.message(1))
        #expect(first.events == [Somebody.message(1)])
        first.ask(.join(try Chat("kitchen")))
        first.ask(.open(chat: "kitchen"))
        #expect(first.unread == [Somebody.message(1)])
    }

    //
    @Test("what went for lack of room is told once to each who opens the chat, before what waits")
    func lost() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        for number in 1...130 { stage.node.tell(Somebody.message(number), at: Timestamp(rawValue: Double(number))) }
        let first = try Self.reader(stage)
        #expect(first.unread.first == .missed(.init(chat: "kitchen", messages: 5, outcomes: 0)))
        #expect(first.unread.count == 126 && first.unread.dropFirst().first == Somebody.message(6))
        let second = try Self.reader(stage)
        #expect(second.unread.first == .missed(.init(chat: "kitchen", messages: 5, outcomes: 0)))
        second.ask(.read(chat: "kitchen"))
        let third = try Self.reader(stage)
        #expect(third.unread.isEmpty)
    }

    @Test("a message that a front end was not told of before it went waits for the next")
    func untaken() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let first = try stage.frontEnd(in: "kitchen")
        stage.node.tell(Somebody.message(1))
        first.service.takesEvents = false
        stage.node.tell(Somebody.message(2))
        stage.node.tell(Somebody.message(3))
        first.service.stop {}
        let second = try Self.reader(stage)
        #expect(second.unread == [Somebody.message(2), Somebody.message(3)])
    }

    //
    @Test("what one that goes was not told of has its place before what came later")
    func untakenInOrder() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let first = try stage.frontEnd(in: "kitchen")
        first.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        first.ask(.join(try Chat("attic")))
        first.ask(.open(chat: "attic"))
        stage.node.tell(Somebody.message(2))
        first.ask(.open(chat: "kitchen"))
        first.service.stop {}
        #expect(stage.service.unread.messages(in: "kitchen").map(\.content.id) == [1, 2])
    }

    //
    @Test("a message that is on its way to a front end when that opens the chat comes once, with those that waited")
    func onItsWay() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let member = try stage.frontEnd(in: "kitchen", opens: false)
        member.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        member.ask(.open(chat: "kitchen"))
        stage.node.tell(Somebody.message(2))
        member.service.takesEvents = true
        #expect(member.unread == [Somebody.message(1)] && member.events == [Somebody.message(2)])
        member.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 0)
    }

    //
    @Test("what another one was shown, and what the user wrote, does not wait for the next")
    func shownElsewhere() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let (slow, other) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        slow.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        other.ask(.send("own", chat: "kitchen"))
        slow.service.stop {}
        #expect(stage.service.unread.count(in: "kitchen") == 0, "the other one shows it")
        let last = try stage.frontEnd(in: "kitchen")
        last.service.takesEvents = false
        stage.frontEnd().ask(.send("own", chat: "kitchen"))
        other.service.stop {}
        last.service.stop {}
        #expect(stage.service.unread.count(in: "kitchen") == 0, "a message of one's own")
    }

    //
    @Test("a message that waits is not there twice when a front end goes that was not told of it")
    func untakenOnce() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let member = try stage.frontEnd(in: "kitchen", opens: false)
        member.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        member.service.stop {}
        #expect(try Self.reader(stage).unread == [Somebody.message(1)])
    }

    //
    @Test("nothing is told twice to one that opens another chat and comes back, and of losses only what is new")
    func again() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        for number in 1...130 { stage.node.tell(Somebody.message(number), at: Timestamp(rawValue: Double(number))) }
        let first = try Self.reader(stage)
        #expect(first.unread.count == 126)
        #expect(
            first.outputs.contains(
                .unread(TimedEvent(at: 5, event: .missed(.init(chat: "kitchen", messages: 5, outcomes: 0))))),
            "with the time of the last of them")
        first.ask(.join(try Chat("attic")))
        for expected in [[], [.missed(.init(chat: "kitchen", messages: 2, outcomes: 0))]] as [[Event]] {
            first.ask(.open(chat: "attic"))
            if !expected.isEmpty {
                for number in [131, 132] { stage.node.tell(Somebody.message(number)) }
            }
            first.forget()
            first.ask(.open(chat: "kitchen"))
            #expect(first.unread == expected)
        }
    }

    //
    @Test("after somebody has read, what goes is counted anew for everybody")
    func countedAnew() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        for number in 1...130 { stage.node.tell(Somebody.message(number)) }
        let (first, second) = (try Self.reader(stage), try Self.reader(stage))
        second.ask(.read(chat: "kitchen"))
        for frontEnd in [first, second] {
            frontEnd.ask(.join(try Chat("attic")))
            frontEnd.ask(.open(chat: "attic"))
        }
        for number in 131...260 { stage.node.tell(Somebody.message(number)) }
        first.forget()
        first.ask(.open(chat: "kitchen"))
        #expect(first.unread == [.missed(.init(chat: "kitchen", messages: 5, outcomes: 0))])
    }

    //
    @Test("one that is told of a chat without being in it can say that it was read")
    func readByGuest() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let bar = stage.frontEnd()
        bar.ask(.subscribe(Subscription(kinds: [.message], chats: .all)))
        stage.node.tell(Somebody.message(1))
        #expect(bar.ask(.read(chat: "kitchen")) == .done)
        #expect(stage.service.unread.count(in: "kitchen") == 0)
    }

    //
    @Test("a chat that the node left leaves nothing: what waited, what was lost, and who typed begin anew")
    func leftChat() throws {
        let kitchen = try Chat("kitchen")
        let stage = ServiceStage(kept: [kitchen])
        let first = try stage.frontEnd(in: "kitchen", opens: false)
        for round in 0..<2 {
            for number in round * 200 + 1...round * 200 + 130 { stage.node.tell(Somebody.message(number)) }
            stage.node.tell(.typing(chat: "kitchen", [Somebody.bob]))
            first.ask(.open(chat: "kitchen"))
            #expect(first.unread == [.missed(.init(chat: "kitchen", messages: 5, outcomes: 0))])
            first.ask(.leave(chat: "kitchen"))
            #expect(stage.node.chats.isEmpty && stage.service.unread.size == 0)
            first.forget()
            first.ask(.join(kitchen, isKept: true))
            #expect(first.outputs == [.answer(.joined(kitchen, []), to: first.lastID)], "nobody types")
        }
        first.ask(.leave(chat: "kitchen"))
        stage.node.tell(Somebody.message(1))
        first.ask(.join(kitchen))
        #expect(first.ask(.messages(chat: "kitchen")) == .messages([]), "the last messages end too")
    }

    //
    @Test("a chat that a front end has left is not shown by it, even if it gets the messages of all chats")
    func leftOpen() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen", opens: false))
        first.ask(.subscribe(Subscription(chats: .all)))
        second.ask(.leave(chat: "kitchen"))
        first.ask(.leave(chat: "kitchen"))
        second.ask(.join(try Chat("kitchen"), isKept: true))
        stage.node.tell(Somebody.message(1))
        #expect(first.texts == ["hi"] && stage.service.unread.count(in: "kitchen") == 1)
    }

    //
    @Test("what one front end took is read by no other, not even by one that comes after it")
    func places() throws {
        let stage = ServiceStage()
        let other = stage.frontEnd()
        let first = stage.frontEnd()
        first.ask(.join(try Chat("kitchen"), isKept: true))
        stage.node.tell(Somebody.message(1))
        #expect(first.texts == ["hi"])
        other.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 1)
        first.service.stop {}
        let next = stage.frontEnd()
        next.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 1)
        next.ask(.join(try Chat("kitchen")))
        next.ask(.open(chat: "kitchen"))
        #expect(next.unread == [Somebody.message(1)])
        next.ask(.read(chat: "kitchen"))
        #expect(stage.service.unread.count(in: "kitchen") == 0)
    }
}

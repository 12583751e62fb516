import InklingService
import InklingModel
import Testing

/// Presence, events and limits of the service.
@Suite("Presence, subscriptions and limits of a daemon")
struct ServiceLimitTests {
    // MARK: Presence

    //
    @Test("the user is away while no chat is shown: from the start, and 5 s after the last was")
    func absence() throws {
        let stage = ServiceStage(announcesAbsence: true)
        #expect(stage.node.takeRequests() == [.setAway(true)])
        let script = try stage.frontEnd(in: "kitchen", opens: false)
        #expect(!stage.node.takeRequests().contains(.setAway(false)), "a script shows nothing")
        let prompt = try stage.frontEnd(in: "kitchen")
        #expect(stage.node.takeRequests().last == .setAway(false))
        prompt.service.stop {}
        stage.pass(4_999)
        #expect(stage.node.takeRequests().isEmpty)
        stage.pass(1)
        #expect(stage.node.takeRequests() == [.setAway(true)])
        script.ask(.open(chat: "kitchen"))
        #expect(stage.node.takeRequests() == [.setAway(false)])
        script.ask(.subscribe(Subscription(kinds: [.typing])))
        stage.pass(5_000)
        #expect(stage.node.takeRequests() == [.setAway(true)], "it gets no messages, so it shows none")
    }

    //
    @Test("whoever comes back within the 5 s was never away")
    func flapping() throws {
        let stage = ServiceStage(announcesAbsence: true)
        try stage.frontEnd(in: "kitchen").service.stop {}
        stage.pass(4_000)
        let second = try stage.frontEnd(in: "kitchen")
        _ = stage.node.takeRequests()
        stage.pass(60_000)
        #expect(stage.node.takeRequests().isEmpty)
        second.ask(.leave(chat: "kitchen"))
        stage.pass(4_999)
        // A front end that attaches and detaches at once does not extend the 5 s.
        try stage.frontEnd(in: "kitchen", opens: false).service.stop {}
        _ = stage.node.takeRequests()
        stage.pass(1)
        #expect(stage.node.takeRequests() == [.setAway(true)])
    }

    //
    @Test("away by word lasts until back, whoever says it; and the rest can be switched off")
    func word() throws {
        let stage = ServiceStage(announcesAbsence: true)
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        _ = stage.node.takeRequests()
        first.ask(.setAway(true))
        first.service.stop {}
        second.ask(.open(chat: "kitchen"))
        #expect(stage.node.takeRequests() == [.setAway(true)])
        second.ask(.setAway(false))
        #expect(stage.node.takeRequests() == [.setAway(false)])
        second.service.stop {}
        let script = try stage.frontEnd(in: "kitchen", opens: false)
        stage.pass(5_000)
        _ = stage.node.takeRequests()
        for isAway in [true, false] { script.ask(.setAway(isAway)) }
        #expect(stage.node.takeRequests().isEmpty, "away all the while, as no chat is shown")

        stage.service.announcesAbsence = false
        second.service.stop {}
        stage.pass(60_000)
        #expect(!stage.node.takeRequests().contains(.setAway(true)))
        stage.service.announcesAbsence = true
        #expect(stage.node.takeRequests() == [.setAway(true)], "it can be switched on again")

        let switchedOff = ServiceStage()
        try switchedOff.frontEnd(in: "kitchen").service.stop {}
        switchedOff.pass(60_000)
        #expect(!switchedOff.node.takeRequests().contains(.setAway(true)))
    }

    @Test("a front end that is suspended shows nothing, and types nothing")
    func suspended() throws {
        let stage = ServiceStage(announcesAbsence: true)
        let frontEnd = try stage.frontEnd(in: "kitchen")
        frontEnd.ask(.compose("x", chat: "kitchen"))
        _ = stage.node.takeRequests()
        frontEnd.service.suspend {}
        #expect(stage.node.takeRequests() == [.stopTyping(chat: "kitchen")])
        stage.pass(5_000)
        #expect(stage.node.takeRequests() == [.setAway(true)])
        frontEnd.service.resume()
        #expect(stage.node.takeRequests() == [.setAway(false)])
    }

    // MARK: Events

    //
    @Test("a front end gets the events of its chats, and all notices; or what it subscribed to")
    func subscriptions() throws {
        let stage = ServiceStage()
        let (member, guest, bar) = (try stage.frontEnd(in: "kitchen"), stage.frontEnd(), stage.frontEnd())
        bar.ask(.subscribe(Subscription(kinds: [.typing], chats: .named(["kitchen", "attic"]))))
        bar.forget()
        let typing = Event.typing(chat: "kitchen", [Somebody.bob])
        let peer = Event.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob), why: .hello))
        for event in [peer, typing, Somebody.message(1), .notice(.discoveryUp)] { stage.node.tell(event) }
        #expect(member.events == [peer, typing, Somebody.message(1), .notice(.discoveryUp)])
        #expect(guest.events == [.notice(.discoveryUp)])
        #expect(bar.events == [typing])
        bar.forget()
        #expect(bar.ask(.send("x", chat: "kitchen")) == .sent(message: 1, recipients: 1))
        let delivered = Event.delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user))
        stage.node.tell(delivered)
        #expect(bar.events == [delivered], "in any case")
    }

    //
    @Test("a choice of chats holds for notices too; those without a chat come in any case, and standing ones once")
    func noticesOfChats() throws {
        let stage = ServiceStage()
        let (all, bar) = (stage.frontEnd(), stage.frontEnd())
        bar.ask(.subscribe(Subscription(chats: .named(["kitchen"]))))
        bar.forget()
        let invited = ["kitchen", "attic"].map { chat in
            Notice.invited(
                .init(
                    number: chat.count, chat: chat, sender: Somebody.bob, key: Somebody.key, isVerified: false,
                    name: "team", owner: nil))
        }
        let others: [Notice] = [
            .movedApart(chat: "attic"), .moved(try Chat("attic")), .discoveryUp, .lastWillOff(.ended),
        ]
        for notice in invited + others { stage.node.tell(.notice(notice)) }
        #expect(all.events == (invited + others).map { .notice($0) }, "without a choice, it gets all")
        #expect(bar.events == [.notice(invited[0]), .notice(.discoveryUp), .notice(.lastWillOff(.ended))])
        bar.forget()
        bar.ask(.subscribe(Subscription(chats: .named(["kitchen", "attic"]))))
        #expect(bar.events == [.notice(invited[1])])
        bar.forget()
        bar.ask(.subscribe(Subscription(kinds: [.message], chats: .all)))
        bar.ask(.subscribe(Subscription(kinds: [.notice], chats: .named(["attic"]))))
        #expect(bar.events == [.notice(invited[1]), .notice(.lastWillOff(.ended))])
    }

    //
    @Test("the present state follows the answer: who is there, who types, and the notices that hold")
    func presentState() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let (bob, carol) = (Somebody.peer(Somebody.bob), Somebody.peer(Somebody.carol, .away))
        stage.node.people["kitchen"] = [bob, carol, Somebody.peer(Somebody.bob, .offline)]
        stage.node.tell(.typing(chat: "kitchen", [Somebody.bob]))
        stage.node.tell(.notice(.discoveryDown(.absent)))
        stage.node.tell(.notice(.lastWillOff(.ended)))
        stage.node.tell(.notice(.discoveryUp))
        let frontEnd = stage.frontEnd()
        #expect(frontEnd.events == [.notice(.lastWillOff(.ended))])
        frontEnd.forget()
        frontEnd.ask(.join(try Chat("kitchen")))
        #expect(frontEnd.answers.count == 1 && frontEnd.events == [.typing(chat: "kitchen", [Somebody.bob])])
        let bar = stage.frontEnd()
        bar.ask(.subscribe(Subscription(kinds: [.peer], chats: .all)))
        #expect(bar.outputs.dropFirst().first == .answer(.done, to: bar.lastID))
        #expect(
            bar.events.suffix(2) == [
                .peer(.init(chat: "kitchen", bob, why: .hello)), .peer(.init(chat: "kitchen", carol, why: .away)),
            ])
        bar.forget()
        bar.ask(.subscribe(Subscription(kinds: [.peer, .typing, .notice], chats: .all)))
        #expect(bar.events == [.typing(chat: "kitchen", [Somebody.bob]), .notice(.lastWillOff(.ended))])
    }

    //
    @Test("what is told once is not told again by the next subscription, nor by a join; what was not wanted is")
    func presentStateOnce() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let (carol, typing) = (Somebody.peer(Somebody.carol, .away), Event.typing(chat: "kitchen", [Somebody.bob]))
        _ = try stage.frontEnd(in: "kitchen")
        stage.node.people["kitchen"] = [carol]
        stage.node.tell(typing)
        stage.node.tell(.notice(.lastWillOff(.ended)))
        let bar = stage.frontEnd()
        bar.ask(.subscribe(Subscription(chats: .all)))
        #expect(
            bar.timed == [
                TimedEvent(at: 5.5, event: .notice(.lastWillOff(.ended))),
                TimedEvent(at: 5.5, event: .peer(.init(chat: "kitchen", carol, why: .away))),
                TimedEvent(at: 5.5, event: typing),
            ], "with the time of writing")
        bar.forget()
        bar.ask(.subscribe(Subscription(chats: .named(["kitchen"]))))
        bar.ask(.join(try Chat("kitchen")))
        #expect(bar.events.isEmpty)
        bar.ask(.subscribe(Subscription(kinds: [.message], chats: .all)))
        bar.ask(.leave(chat: "kitchen"))
        bar.ask(.join(try Chat("kitchen")))
        #expect(bar.events.isEmpty, "it wants messages alone")
        bar.ask(.subscribe(Subscription(kinds: [.typing], chats: .all)))
        #expect(bar.events == [typing])
    }

    //
    @Test("who types is not told any more to one that left the chat before it took that")
    func leftTyping() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        let frontEnd = try stage.frontEnd(in: "kitchen")
        _ = try stage.frontEnd(in: "kitchen")
        frontEnd.service.takesEvents = false
        stage.node.tell(.typing(chat: "kitchen", [Somebody.bob]))
        frontEnd.ask(.leave(chat: "kitchen"))
        frontEnd.service.takesEvents = true
        #expect(frontEnd.events.isEmpty)
    }

    // MARK: Slow readers

    //
    @Test("a flood of strangers' messages does not cut off a front end that reads slowly, and friends' messages come")
    func strangersFlood() throws {
        let stage = ServiceStage()
        let stranger = Person(user: UserID("zzzzzzzzzzzzzzzz").unsafelyUnwrapped, name: "Z")
        stage.ranks = [stranger.user: .stranger]
        let slow = try stage.frontEnd(in: "kitchen")
        slow.service.takesEvents = false
        let text = String(repeating: "x", count: 65_536)
        for number in 1...100 {
            stage.node.tell(.message(.init(chat: "kitchen", from: stranger, id: MessageID(number), text: text)))
        }
        for number in 101...110 {
            let bob = Somebody.bob
            stage.node.tell(.message(.init(chat: "kitchen", from: bob, id: MessageID(number), text: text)))
        }
        slow.service.takesEvents = true
        #expect(slow.end == nil)
        let senders = slow.events.compactMap { if case .message(let message) = $0 { message.sender.user } else { nil } }
        #expect(senders.count { $0 == Somebody.bob.user } == 10 && senders.count { $0 == stranger.user } == 15)
        #expect(slow.events.contains(.missed(.init(chat: "kitchen", messages: 85, outcomes: 0))))
        slow.service.takesEvents = false
        slow.forget()
        stage.node.tell(.message(.init(chat: "kitchen", from: stranger, id: 111, text: "again")))
        slow.service.takesEvents = true
        #expect(slow.texts == ["again"], "what was taken counts no more")
    }

    //
    @Test("state is replaced for one that does not read; after 10 s it is cut off, and nobody else notices")
    func slow() throws {
        let stage = ServiceStage()
        let (slow, other) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        slow.service.takesEvents = false
        for round in 0..<100 {
            stage.node.tell(.typing(chat: "kitchen", round % 2 == 0 ? [Somebody.bob] : [Somebody.carol]))
        }
        #expect(other.events.count == 100 && slow.outputs.isEmpty)
        stage.pass(9_999)
        slow.service.takesEvents = true
        #expect(slow.events == [.typing(chat: "kitchen", [Somebody.carol])])
        slow.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        stage.pass(9_999)
        stage.service.tick()
        #expect(slow.end == nil)
        #expect(slow.ask(.peers(chat: "kitchen")) == .peers([]), "answers come all the same")
        stage.pass(1)
        #expect(slow.end == .tooSlow && other.texts == ["hi"])
        slow.forget()
        stage.node.tell(Somebody.message(2))
        slow.ask(.peers(chat: "kitchen"))
        #expect(slow.outputs.isEmpty, "nothing comes after the end")
        #expect(stage.service.frontEndCount == 1)
    }

    //
    @Test("messages of more than 2 MiB, each with 256 bytes more, are too many for one that does not read")
    func tooMuch() throws {
        let stage = ServiceStage()
        let (slow, other) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        slow.service.takesEvents = false
        let text = String(repeating: "x", count: 65_536 - 256)
        for number in 1...32 { stage.node.tell(Somebody.message(number, text)) }
        #expect(slow.end == nil)
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 9, user: Somebody.bob.user)))
        #expect(slow.end == nil, "not its own")
        other.ask(.send("x", chat: "kitchen"))
        #expect(slow.end == .tooSlow && other.texts.count == 32 && other.end == nil)
        for number in 33...65 { stage.node.tell(Somebody.message(number, text)) }
        #expect(other.end == nil && other.texts.count == 65, "what was taken does not count")
    }

    //
    @Test("an outcome counts 256 bytes while it waits")
    func outcomes() throws {
        let stage = ServiceStage()
        let slow = try stage.frontEnd(in: "kitchen")
        slow.service.takesEvents = false
        stage.node.recipients = 8_193
        slow.ask(.send("x", chat: "kitchen"))
        let delivered = Event.delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user))
        for _ in 0..<8_192 { stage.node.tell(delivered) }
        #expect(slow.end == nil)
        stage.node.tell(delivered)
        #expect(slow.end == .tooSlow)
    }

    //
    @Test("one that takes a little within each 10 s is not cut off")
    func little() throws {
        let stage = ServiceStage()
        let slow = try stage.frontEnd(in: "kitchen")
        slow.service.takesEvents = false
        for number in 1...4 { stage.node.tell(Somebody.message(number)) }
        slow.react = { output in
            if case .event = output { slow.service.takesEvents = false }
        }
        for taken in 1...3 {
            stage.pass(9_999)
            slow.service.takesEvents = true
            #expect(slow.end == nil && slow.texts.count == taken)
        }
        stage.pass(10_000)
        #expect(slow.end == .tooSlow)
    }
}

/// The limits of the waiting messages.
@Suite("Messages that wait")
struct UnreadMessagesTests {
    private static func message(
        _ number: Int, in chat: String = "kitchen", from letter: Character = "b", size: Int = 1
    ) -> TimedEvent {
        let user = UserID(String(repeating: letter, count: 16)).unsafelyUnwrapped
        return TimedEvent(
            at: Timestamp(rawValue: Double(number)),
            event: .message(
                .init(
                    chat: chat, from: Person(user: user, name: "x"), id: MessageID(number),
                    text: String(repeating: "x", count: size))))
    }

    //
    @Test("of one person at most 125 wait in a chat: the oldest of theirs goes, and no other")
    func perPerson() {
        var waiting = UnreadMessages()
        waiting.add(Self.message(1, from: "c"), rank: .met)
        for number in 2...127 { waiting.add(Self.message(number), rank: .met) }
        #expect(waiting.count(in: "kitchen") == 126)
        #expect(waiting.messages(in: "kitchen").prefix(2).map(\.content.id) == [1, 3])
        #expect(waiting.lost(in: "kitchen")?.count == 1 && waiting.lost(in: "kitchen")?.at == 2)
    }

    //
    @Test("of one person at most 256 KiB wait in all chats: the oldest of theirs goes, wherever it is")
    func bytesPerPerson() {
        var waiting = UnreadMessages()
        waiting.add(Self.message(1, in: "attic", from: "c", size: 65_280), rank: .met)
        for number in 2...5 {
            waiting.add(Self.message(number, in: number == 2 ? "attic" : "kitchen", size: 65_536 - 256), rank: .met)
        }
        #expect(waiting.lost(in: "attic") == nil && waiting.size == 5 * 65_536)
        waiting.add(Self.message(6), rank: .met)
        #expect(waiting.messages(in: "attic").map(\.content.id) == [1] && waiting.lost(in: "attic")?.count == 1)
        #expect(waiting.size == 4 * 65_536 + 257)
        var byte = UnreadMessages()
        for number in 1...4 { byte.add(Self.message(number, size: 65_536 - (number == 4 ? 255 : 256)), rank: .met) }
        #expect(byte.count(in: "kitchen") == 3, "a byte too many")
    }

    //
    @Test("of a chat at most 500 wait: its oldest goes")
    func perChat() {
        var waiting = UnreadMessages()
        waiting.add(Self.message(1, in: "attic"), rank: .met)
        let letters: [Character] = ["b", "c", "d", "e", "f"]
        for number in 2...502 { waiting.add(Self.message(number, from: letters[number % 5]), rank: .met) }
        #expect(waiting.count(in: "kitchen") == 500 && waiting.count(in: "attic") == 1)
        #expect(waiting.messages(in: "kitchen").first?.content.id == 3 && waiting.lost(in: "kitchen")?.count == 1)
    }

    //
    @Test("in all at most 1 MiB waits: the oldest goes of the chat that takes the most")
    func bytes() {
        var waiting = UnreadMessages()
        let letters: [Character] = ["b", "c", "d", "e", "f"]
        for number in 1...16 {
            let chat = number == 1 ? "attic" : "kitchen"
            waiting.add(Self.message(number, in: chat, from: letters[number / 4], size: 65_536 - 256), rank: .met)
        }
        #expect(waiting.size == 1 << 20 && waiting.lost(in: "attic") == nil)
        var byte = UnreadMessages()
        for number in 1...16 {
            byte.add(
                Self.message(number, from: letters[number / 4], size: 65_536 - (number == 16 ? 255 : 256)), rank: .met)
        }
        #expect(byte.count(in: "kitchen") == 15, "a byte too many")
        waiting.add(Self.message(17, from: "g"), rank: .met)
        #expect(waiting.count(in: "attic") == 1 && waiting.lost(in: "kitchen")?.count == 1)
        #expect(waiting.messages(in: "kitchen").first?.content.id == 3 && waiting.size == 15 * 65_536 + 257)
    }

    //
    @Test("strangers displace nobody: of them the newest is refused, in every bound, whoever else waits")
    func strangers() {
        let letters = Array("cdefghijklmnopqrstuvwxyz")
        for (chat, rank) in [("kitchen", SenderRank.member), ("kitchen", .met), ("attic", .met)] {
            var waiting = UnreadMessages()
            for number in 1...3 { waiting.add(Self.message(number, in: chat, size: 65_536), rank: rank) }
            for number in 4...63 {
                waiting.add(Self.message(number, from: letters[number % 24], size: 65_536), rank: .stranger)
            }
            #expect(waiting.messages(in: chat).prefix(3).map(\.content.id) == [1, 2, 3], "1 MiB of all, \(chat)")
            #expect(waiting.messages(in: "kitchen").contains { $0.content.id == 4 }, "the first stranger's")
            for number in 604...1_203 { waiting.add(Self.message(number, from: letters[number % 24]), rank: .stranger) }
            #expect(waiting.messages(in: chat).prefix(3).map(\.content.id) == [1, 2, 3], "500 of a chat, \(chat)")
            for number in 1_204...1_223 { waiting.add(Self.message(number, in: chat, from: "a"), rank: rank) }
            #expect(
                waiting.messages(in: chat).suffix(20).map(\.content.id.rawValue) == Array(1_204...1_223),
                "they make room")
        }
        var one = UnreadMessages()
        for number in 1...130 { one.add(Self.message(number), rank: .stranger) }
        #expect(
            one.messages(in: "kitchen").map(\.content.id.rawValue) == Array(1...125)
                && one.lost(in: "kitchen")?.count == 5)
    }

    //
    @Test("one chat's strangers, or members, displace nobody of another chat that takes less")
    func chats() {
        for rank in [SenderRank.stranger, .member] {
            var waiting = UnreadMessages()
            waiting.add(Self.message(1, in: "attic", size: 65_536), rank: rank)
            let letters = Array("cdefghijklmnopqrstuvwxyz")
            for number in 2...100 {
                waiting.add(Self.message(number, from: letters[number % 24], size: 65_536), rank: rank)
            }
            waiting.add(Self.message(101, in: "attic", size: 65_536), rank: rank)
            #expect(waiting.messages(in: "attic").map(\.content.id) == [1, 101], "\(rank)")
        }
    }

    //
    @Test(
        "a message of the greatest size always waits where only lower ranks are, and with an empty store",
        arguments: SenderRank.allCases)
    func greatest(_ rank: SenderRank) {
        var waiting = UnreadMessages()
        waiting.add(Self.message(1, size: 65_536), rank: rank)
        #expect(waiting.count(in: "kitchen") == 1)
    }

    //
    @Test("messages taken and read at one front end free their space, and the count of dropped ones starts at 0")
    func read() {
        var waiting = UnreadMessages()
        for number in 1...126 { waiting.add(Self.message(number), rank: .met) }
        // The first was evicted.
        #expect((1...4).map { waiting.take(MessageID($0), in: "kitchen", by: 63) } == [false, true, true, true])
        waiting.take(5, in: "kitchen", by: 0)
        waiting.take(6, in: "kitchen", by: 63)
        waiting.forgetTaken(by: 63, in: "garden")
        waiting.forgetTaken(by: 0)
        waiting.read(by: 0, in: "kitchen")
        #expect(waiting.count(in: "kitchen") == 125)
        waiting.forgetTaken(by: 63, in: "kitchen")
        for number in 2...4 { waiting.take(MessageID(number), in: "kitchen", by: 63) }
        waiting.read(by: 63, in: "kitchen")
        #expect(waiting.count(in: "kitchen") == 122 && waiting.size == 122 * 257 && waiting.lost(in: "kitchen") == nil)
        waiting.forget(chat: "kitchen")
        #expect(waiting.size == 0 && waiting.count(in: "kitchen") == 0)
    }
}

import InklingService
import InklingModel
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

/// Texts that wait, at a service over a node that the tests control.
@Suite("Texts at a service")
struct ServiceTextTests {
    private static func text(_ number: Int, in chat: String = "team", _ text: String = "hi") -> Event {
        .message(.init(chat: chat, from: Somebody.bob, id: MessageID(number), text: text, written: 0.5))
    }

    private static func team() throws -> Chat { try Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa")) }

    //
    @Test("an unread text stays on disk until it was read, and one that is shown does not")
    func reading() throws {
        let stage = ServiceStage(kept: [try Self.team()])
        stage.node.tell(Self.text(1))
        stage.node.tell(Somebody.message(2, in: "team"))
        #expect(stage.read.isEmpty)
        let frontEnd = try stage.frontEnd(in: "team")
        #expect(stage.read.isEmpty, "it got them, and has not read them")
        frontEnd.ask(.read(chat: "team"))
        #expect(stage.read == [1], "only a text with an ID is on disk")
        stage.node.tell(Self.text(3))
        #expect(stage.read == [1, 3], "its chat is shown")
    }

    //
    @Test("a text that a front end took in no more stays on disk")
    func untaken() throws {
        let stage = ServiceStage(kept: [try Self.team()])
        let frontEnd = try stage.frontEnd(in: "team")
        frontEnd.service.takesEvents = false
        stage.node.tell(Self.text(1))
        #expect(stage.read.isEmpty)
        frontEnd.service.stop {}
        #expect(stage.service.unread.count(in: "team") == 1 && stage.read.isEmpty)
    }

    //
    @Test("the unread texts of an earlier run wait, once, without a word to the hook")
    func restored() throws {
        let events = (1...3).map { TimedEvent(at: Timestamp(rawValue: Double($0)), event: Self.text($0)) }
        let stage = ServiceStage(kept: [try Self.team()], restored: ["team": events])
        #expect(stage.service.unread.count(in: "team") == 3)
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(try Self.team()))
        frontEnd.ask(.open(chat: "team"))
        #expect(frontEnd.unread == events.map(\.event))
        frontEnd.ask(.read(chat: "team"))
        #expect(stage.read == [1, 2, 3])
        frontEnd.ask(.open(chat: nil))
        stage.restored = ["team": [TimedEvent(at: 4, event: Self.text(4))]]
        stage.node.tell(.notice(.other(code: "waiting-damaged", text: "")))
        #expect(stage.service.unread.count(in: "team") == 1, "a text that the node saved from a damaged file")
    }

    //
    @Test("the unread texts of an earlier run that the history lacks come into it")
    func missing() throws {
        let events = (1...3).map { TimedEvent(at: Timestamp(rawValue: Double($0)), event: Self.text($0)) }
        let (stage, chat) = (ServiceStage(restored: ["team": events]), try Self.team())
        guard case .message(let first) = events[0].event else { throw StageError() }
        stage.history.kept = [chat: [RecentMessage(at: events[0].at, .received(first, isDelayed: false))]]
        stage.frontEnd().ask(.join(chat))
        #expect(stage.history.kept[chat]?.map(\.at) == events.map(\.at))
    }

    //
    @Test("texts with an ID have limits of their own, and an evicted one leaves the disk")
    func limits() throws {
        let stage = ServiceStage(kept: [try Self.team()])
        for number in 1...130 { stage.node.tell(Somebody.message(number, in: "team")) }
        for number in 131...381 { stage.node.tell(Self.text(number)) }
        #expect(stage.service.unread.count(in: "team") == 125 + 250)
        #expect(stage.read == [131], "the oldest of one person in a chat")
        let size = stage.service.unread.size
        stage.node.tell(Self.text(400, String(repeating: "x", count: 65_536)))
        #expect(stage.service.unread.size == size, "texts on disk take no room of messages in memory")
    }

    //
    @Test("a message that waits is reported to its sender and to those who get the chat's messages")
    func waiting() throws {
        let stage = ServiceStage(kept: [try Self.team()])
        let (sender, other) = (try stage.frontEnd(in: "team"), try stage.frontEnd(in: "team"))
        let outsider = stage.frontEnd()
        sender.ask(.send("tea", chat: "team"))
        let event = Event.waiting(.init(chat: "team", message: 1, user: Somebody.bob.user))
        stage.node.tell(event)
        for frontEnd in [sender, other] { #expect(frontEnd.events.contains(event)) }
        #expect(!outsider.events.contains(event))
        #expect(other.messages(.messages(chat: "team")).last?.waiting == [Somebody.bob.user])
        stage.node.tell(.delivered(.init(chat: "team", message: 1, user: Somebody.bob.user)))
        #expect(other.messages(.messages(chat: "team")).last?.waiting == [])
        let late = Event.delivered(.init(chat: "team", message: 0, user: Somebody.bob.user, entry: 9))
        stage.node.tell(late)
        #expect(other.events.contains(late) && !outsider.events.contains(late))
    }

    //
    @Test("the switch of a kept chat is on disk before the node has it, and a failure changes nothing")
    func switching() throws {
        let stage = ServiceStage(kept: [try Self.team()])
        let frontEnd = try stage.frontEnd(in: "team")
        #expect(frontEnd.ask(.hold(false, chat: "team")) == .done)
        #expect(stage.holds.last == ["team": false])
        #expect(try stage.kept.last == [Self.team()])
        #expect(stage.node.requests.last == .hold(false, chat: "team"))
        stage.keepCompletion = { $0("the disk is full") }
        guard case .failed(.other("not-kept", _)) = frontEnd.ask(.hold(true, chat: "team")) else {
            throw StageError()
        }
        #expect(stage.node.requests.last == .hold(false, chat: "team"))
        stage.keepCompletion = { $0(nil) }
        let refusal = ServiceAnswer.failed(.other(code: "not-kept", text: "the disk is full"))
        stage.node.answers[.hold(true, chat: "team")] = refusal
        #expect(frontEnd.ask(.hold(true, chat: "team")) == refusal)
        #expect(stage.holds.suffix(2) == [[:], ["team": false]], "the disk has the former switch again")
        stage.node.answers[.hold(true, chat: "team")] = nil
        frontEnd.ask(.hold(true, chat: "team"))
        #expect(stage.holds.last == [:], "the usual needs no entry")
        #expect(frontEnd.ask(.hold(true, chat: "nowhere")) == .failed(.unknownChat("nowhere")))
        frontEnd.ask(.hold(false, chat: "team"))
        frontEnd.ask(.leave(chat: "team"))
        #expect(stage.holds.last == [:])
        let kitchen = try stage.frontEnd(in: "kitchen")
        let count = stage.holds.count
        #expect(kitchen.ask(.hold(true, chat: "kitchen")) == .done)
        #expect(stage.holds.count == count, "a chat that is not kept is in no list")
    }

    private struct StageError: Error {}
}

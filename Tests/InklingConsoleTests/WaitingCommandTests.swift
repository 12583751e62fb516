import InklingConsole
import InklingModel
import Testing

/// Messages that wait for people who are offline, at the prompt.
@Suite("Waiting messages at the prompt")
struct WaitingCommandTests {
    private static func stage(people: [StagePerson] = [.bob], place: NodePlace = .daemon) throws -> ChatStage {
        var stage = ChatStage(try Chat("team", secret: ChatStage.secret), place: place)
        stage.begin()
        for person in people { stage.come(person, in: "team") }
        stage.advance(by: 3_000)
        _ = (stage.newLines(), stage.newEffects(), stage.newRequests())
        return stage
    }

    private static func waiting(_ person: StagePerson, _ message: MessageID = 1) -> Event {
        .waiting(.init(chat: "team", message: message, user: person.user))
    }

    private static func delivered(_ person: StagePerson, _ message: MessageID = 1) -> Event {
        .delivered(.init(chat: "team", message: message, user: person.user))
    }

    //
    @Test("a message waits for somebody, and then it is delivered to them")
    func one() throws {
        var stage = try Self.stage()
        _ = stage.enter("tea")
        stage.receive(Self.waiting(.bob))
        #expect(stage.newLines() == ["12:00 You: tea  (waiting for Bob)"])
        #expect(!stage.model.hasUnanswered, "the end need not wait for it")
        stage.receive(Self.delivered(.bob))
        #expect(stage.newLines() == ["12:00 * Delivered to Bob: tea"])
    }

    @Test("a message whose delivery fails later waits, and may be given up")
    func late() throws {
        var stage = try Self.stage()
        _ = stage.enter("tea")
        stage.advance(by: 200)
        #expect(stage.newLines() == ["12:00 You: tea  (on its way)"])
        stage.receive(Self.waiting(.bob))
        #expect(stage.newLines() == ["12:00 * Waiting for Bob: tea"])
        stage.receive(.failed(.init(chat: "team", message: 1, user: StagePerson.bob.user, why: .givenUp)))
        #expect(stage.newLines() == ["12:00 * May not have reached Bob (given up): tea"])
    }

    @Test("of several people, those who are offline are named")
    func several() throws {
        var stage = try Self.stage(people: [.bob, .charlie])
        _ = stage.enter("tea")
        stage.receive(Self.delivered(.charlie))
        stage.receive(Self.waiting(.bob))
        #expect(stage.newLines() == ["12:00 You: tea  (waiting for Bob, delivered to 1 of 2)"])
        stage.receive(Self.delivered(.bob))
        #expect(stage.newLines() == ["12:00 * Delivered to Bob: tea"])
    }

    //
    @Test("a message that waited shows when it was written")
    func written() throws {
        var stage = try Self.stage()
        func message(_ text: String, _ seconds: Int) -> Event {
            .message(
                .init(
                    chat: "team", from: StagePerson.bob.person, id: 1, text: text,
                    written: ChatStage.noon - .seconds(seconds)))
        }
        stage.receive(message("now", 20))
        stage.receive(message("then", 5_400))
        #expect(stage.newLines() == ["12:00 Bob: now", "12:00 Bob: then  (written 10:30)"])
        let time = ChatStage.localTime(ChatStage.noon)
        #expect(time.text(on: LocalTime.Day(year: 2026, month: 3, day: 4)) == "3 March, 12:00")
    }

    //
    @Test("/waiting lists, and /forget drops")
    func list() throws {
        var stage = try Self.stage()
        #expect(stage.enter("/waiting") == ["* No message waits for anybody"])
        #expect(stage.enter("/forget 1") == ["! There is no waiting message number 1; /waiting lists them"])
        stage.node.waitingTexts = [("team", "Tea is ready."), ("other", "Hi")].enumerated().map { index, text in
            WaitingEntry(
                entry: UInt64(70 + index), chat: text.0, user: StagePerson.bob.user, name: "Bob",
                key: StagePerson.bob.key, at: ChatStage.noon - .seconds(5_400), text: text.1)
        }
        #expect(
            stage.enter("/waiting") == [
                "* 1  for Bob, since 10:30: Tea is ready.", "* 2  for Bob in other, since 10:30: Hi",
            ])
        _ = stage.newRequests()
        #expect(stage.enter("/forget 2") == ["* That message waits no more"])
        #expect(stage.newRequests().last == .forget(chat: nil, entry: 71))
        #expect(stage.enter("/forget all") == ["* No message waits any more"])
        #expect(stage.newRequests().last == .forget(chat: nil, entry: nil))
        #expect(stage.enter("/forget 1").first?.hasPrefix("! There is no waiting message") == true)
    }

    //
    @Test("/waiting on and off switch, and a passing identity keeps no messages")
    func switching() throws {
        var stage = try Self.stage()
        #expect(stage.enter("/waiting off").first?.hasPrefix("* Messages to this chat reach only people") == true)
        #expect(stage.newRequests().last == .hold(false, chat: "team"))
        #expect(stage.enter("/waiting on").first?.hasPrefix("* From now on, messages to this chat wait") == true)
        #expect(stage.newRequests().last == .hold(true, chat: "team"))
        stage.node.failures = [.other(code: "not-kept", text: "No room.")]
        #expect(stage.enter("/waiting on") == ["! No room."])
        stage = try Self.stage(place: .own)
        for command in ["/waiting", "/waiting on", "/forget all"] {
            #expect(stage.enter(command).first?.hasPrefix("! Messages wait for nobody") == true)
        }
    }

    //
    @Test("an outcome of an earlier run of the daemon is told")
    func earlierRun() throws {
        var stage = try Self.stage()
        let user = StagePerson.bob.user
        stage.receive(.delivered(.init(chat: "team", message: 0, user: user, entry: 7)))
        stage.receive(.failed(.init(chat: "team", message: 0, user: user, why: .givenUp, entry: 8)))
        #expect(
            stage.newLines() == [
                "12:00 * A message that waited for Bob was delivered",
                "12:00 * A message that waited for Bob was given up",
            ])
    }

    @Test("the first lines say whether messages wait")
    func greeting() throws {
        for (place, text) in [(NodePlace.daemon, "wait for members who are offline"), (.own, "reach only people")] {
            var stage = ChatStage(try Chat("team", secret: ChatStage.secret), place: place)
            stage.begin()
            #expect(stage.newLines().contains { $0.contains(text) })
        }
    }
}

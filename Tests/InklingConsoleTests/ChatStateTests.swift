import InklingConsole
import InklingModel
import Testing

@Suite("What there is too much of in a chat")
struct ChatStateTests {
    private static let page = Page(columns: 80, showsTimes: false)
    private static let noon = LocalTime(day: LocalTime.Day(year: 2026, month: 3, day: 3), hour: 12, minute: 0)
    private static let bob = person("Bob", "b")
    private static let charlie = person("Charlie", "c")
    private static let dora = person("Dora", "d")

    private static func person(_ name: String, _ letter: Character) -> Person {
        guard let user = UserID(String(repeating: letter, count: 16)) else { preconditionFailure("not base32") }
        return Person(user: user, name: name)
    }

    private static func peer(_ person: Person, _ presence: Presence = .online, namesakes: [UserID] = []) -> Peer {
        Peer(
            user: person.user, name: person.name, presence: presence, key: ChatStage.key("b"), lastSeen: nil,
            onlineSince: nil,
            roundTrip: nil, firstSeen: nil, isVerified: false, isBlocked: false, namesakes: namesakes)
    }

    /// A chat in which these people are, and have been reported.
    private static func chat(with people: [Person]) throws -> ChatState {
        var state = ChatState(try Chat("kitchen"), ownName: "Alice", met: [], at: 0)
        for person in people { _ = come(person, to: &state, at: 0) }
        _ = state.due(at: 2_000, isSeen: true)
        return state
    }

    private static func come(
        _ person: Person, _ presence: Presence = .online, to state: inout ChatState, alarm: KeyAlarm? = nil,
        at now: Int64
    ) -> [String] {
        state.apply(
            peer(person, presence), why: presence == .offline ? .bye : .hello, alarm: alarm,
            at: Moment(steady: now, wall: 0)
        ).map(\.text)
    }

    private static func receive(
        _ text: String, from person: Person, in state: inout ChatState, page: Page? = page, at now: Int64
    ) -> [String] {
        state.receive(message: text, from: person, page: page, at: now, time: noon).map(\.text)
    }

    @Test("the message that ends a flood comes after the report on it, and what was not kept is counted")
    func afterwards() throws {
        var state = try Self.chat(with: [Self.bob])
        for number in 1...300 { _ = Self.receive("spam \(number)", from: Self.bob, in: &state, at: 10_000) }
        #expect(
            Self.receive("sorry", from: Self.bob, in: &state, at: 20_000)
                == ["* 290 more messages from Bob: /show Bob", "Bob: sorry"])
        let lines = state.show(nil, showsTimes: true).map(\.text)
        #expect(lines.prefix(2) == ["* 90 earlier messages from Bob were not kept", "12:00 Bob: spam 101"])
        #expect(lines.count == 201)
    }

    @Test("where nobody can ask for more, everything is shown, each message whole")
    func everything() throws {
        var state = try Self.chat(with: [Self.bob])
        let long = Array(repeating: "row", count: 100).joined(separator: "\n")
        for _ in 1...30 {
            let lines = state.receive(message: long, from: Self.bob, page: nil, at: 10_000, time: Self.noon)
            #expect(lines.count == 1 && lines[0].plainRows(columns: 80).count == 100)
        }
        #expect(state.show(nil, showsTimes: false).map(\.text) == ["* There is nothing more to show"])
    }

    @Test("a message of more than 40 rows shows its beginning, and as a whole to who asks")
    func long() throws {
        var state = try Self.chat(with: [Self.bob])
        let text = (1...322).map { "line \($0)" }.joined(separator: "\n")
        let lines = state.receive(message: text, from: Self.bob, page: Self.page, at: 10_000, time: Self.noon)
        let rows = lines.flatMap { $0.plainRows(columns: 80) }
        #expect(rows.count == 11 && rows[0] == "Bob: line 1" && rows[10] == "  ... 312 more lines: /show Bob")
        #expect(state.nextDeadline(isSeen: true) == nil, "there is nothing to report")
        let whole = state.show(Self.bob.user, showsTimes: false).flatMap { $0.plainRows(columns: 80) }
        #expect(whole.count == 322 && whole.last == "  line 322")
    }

    @Test("in a chat that is not open a flood makes one line, when it is opened")
    func elsewhere() throws {
        var state = try Self.chat(with: [Self.bob])
        for now in Int64(0)..<600 {
            let lines = state.receive(
                message: "spam", from: Self.bob, page: Self.page, at: 10_000 + now * 100, time: Self.noon)
            state.keep(lines + state.due(at: 10_000 + now * 100, isSeen: false), isMessage: true)
        }
        #expect(state.nextDeadline(isSeen: false) == nil)
        #expect(state.unread == 600)
        let lines = state.catchUp().map(\.text)
        #expect(lines.first == "--- new messages ---")
        #expect(lines.count == 12 && lines.last == "* 590 more messages from Bob: /show Bob")
    }

    @Test("what waits to be reported is reported at the end, in the chat that is open")
    func reportsAtEnd() throws {
        var state = try Self.chat(with: [Self.bob])
        for _ in 1...11 { _ = Self.receive("spam", from: Self.bob, in: &state, at: 10_000) }
        for person in [Self.charlie, Self.dora] {
            _ = Self.come(person, to: &state, alarm: KeyAlarm(known: person.name), at: 10_000)
        }
        var unseen = state
        #expect(unseen.abandon(isSeen: false).isEmpty)
        let lines = state.abandon(isSeen: true).map(\.text)
        #expect(lines.count == 2 && lines[0].hasPrefix("!! 2 people use names you know"))
        #expect(lines.last == "* 1 more message from Bob, not shown")
    }

    @Test("alarms are grouped, but nobody is heard before the alarm about them")
    func alarms() throws {
        var state = try Self.chat(with: [])
        #expect(Self.come(Self.bob, to: &state, alarm: KeyAlarm(known: "Bob"), at: 10_000).isEmpty)
        let first = state.due(at: 10_500, isSeen: true).map(\.text)
        #expect(first.count == 2 && first[0].hasPrefix("!! Bob is not the Bob you know"), "\(first)")
        for person in [Self.charlie, Self.dora, Self.person("Eve", "e")] {
            #expect(Self.come(person, to: &state, alarm: KeyAlarm(known: person.name), at: 10_600).isEmpty)
        }
        #expect(
            Self.receive("hi", from: Self.dora, in: &state, at: 12_500)
                == [
                    "* Charlie, Dora and Eve are here", "!! Dora is not the Dora you know: /verify Dora", "Dora: hi",
                ])
        #expect(Self.receive("hi", from: Self.dora, in: &state, at: 12_500) == ["Dora: hi"])
        #expect(Self.receive("hi", from: Self.bob, in: &state, at: 12_500) == ["Bob: hi"])
        #expect(state.nextDeadline(isSeen: true) == 15_500)
        let group = state.due(at: 15_500, isSeen: true).map(\.text)
        #expect(group.count == 1 && group[0].contains("!! 2 more people") && group[0].contains("Charlie and Eve."))
    }

    @Test("of somebody muted nothing shows: no message, no typing, no coming and going")
    func muted() throws {
        var state = try Self.chat(with: [Self.bob, Self.charlie])
        state.muted = [Self.bob.user]
        #expect(state.presence(of: Self.bob.user, now: 0) == "Active now")
        #expect(state.presence(of: Self.dora.user, now: 0) == nil)
        #expect(Self.receive("hi", from: Self.bob, in: &state, at: 10_000).isEmpty)
        #expect(Self.receive("hi", from: Self.charlie, in: &state, at: 10_000) == ["Charlie: hi"])
        _ = state.apply(typing: [Self.bob])
        #expect(state.indicator(.standard) == "")
        _ = state.apply(typing: [Self.bob, Self.charlie])
        #expect(state.indicator(.standard) == "Charlie is typing")
        for person in [Self.bob, Self.charlie] {
            #expect(Self.come(person, .offline, to: &state, at: 10_000).isEmpty)
        }
        #expect(state.due(at: 12_000, isSeen: true).map(\.text) == ["* Charlie has left"])
        #expect(Self.come(Self.bob, to: &state, at: 50_000).isEmpty && state.due(at: 60_000, isSeen: true).isEmpty)
        let who = state.who([Self.peer(Self.bob), Self.peer(Self.charlie)], doctor: "", columns: nil, now: 0) { _ in
            Self.noon
        }
        .map(\.text)
        #expect(who.map { $0.contains(", muted (") } == [true, false])
        state.muted = []
        #expect(state.indicator(.standard) == "")
        #expect(Self.receive("hi", from: Self.bob, in: &state, at: 60_000) == ["Bob: hi"])
        #expect(Self.come(Self.bob, .offline, to: &state, at: 100_000).isEmpty)
        #expect(state.due(at: 101_000, isSeen: true).map(\.text) == ["* Bob has left"])
    }

    @Test("a flood of somebody who is muted then stays to be shown, and is not counted further")
    func mutedFlood() throws {
        var state = try Self.chat(with: [Self.bob])
        for _ in 1...20 { _ = Self.receive("spam", from: Self.bob, in: &state, at: 10_000) }
        #expect(state.reportFolded(of: Self.bob.user).map(\.text) == ["* 10 more messages from Bob: /show Bob"])
        state.muted = [Self.bob.user]
        for _ in 1...20 { _ = Self.receive("spam", from: Self.bob, in: &state, at: 10_100) }
        #expect(state.nextDeadline(isSeen: true) == nil)
        #expect(state.show(Self.bob.user, showsTimes: false).count == 10)
    }
}

import InklingConsole
import InklingModel
import InklingText
import Testing

/// The labels of people whose user IDs are their names.
func people(_ names: String...) -> [Labels.Label] {
    var labels = Labels(ownName: "")
    for name in names { labels.update(Labels.Person(user: name, name: name)) }
    return names.map(labels.label)
}

@Suite("Lines of a chat")
struct ChatLinesTests {
    static let bob = people("Bob")[0]
    static let third = LocalTime.Day(year: 2026, month: 3, day: 3)

    @Test("a person's colour is the same in every line and never the only sign")
    func colour() {
        let line = ChatLines.message(from: Self.bob, text: "hi")
        #expect(line.spans[0].text == "Bob:" && line.spans[0].emphasis == .person("Bob"))
        #expect(line.text == "Bob: hi")
        #expect(Line.Emphasis.person("mfrgsylz2aaaaaaa") == .person(0))
        let users = (0..<600).map { "user\($0)" }
        var counts: [Line.Emphasis: Int] = [:]
        for user in users { counts[.person(user), default: 0] += 1 }
        #expect(counts.count == 6 && counts.values.allSatisfy { $0 > 50 })
    }

    @Test("times stand in front of lines, and a day that changed between them")
    func times() {
        var timeline = Timeline()
        let hello = ChatLines.message(from: Self.bob, text: "hello")
        let notice = ChatLines.notice("x")
        let first = timeline.stamped([hello, notice], at: LocalTime(day: Self.third, hour: 23, minute: 59))
        #expect(first.map(\.text) == ["23:59 Bob: hello", "23:59 * x"])
        #expect(first[0].spans[0].emphasis == .dim)
        #expect(
            timeline.stamped([], at: LocalTime(day: .init(year: 2026, month: 3, day: 9), hour: 0, minute: 0)).isEmpty)
        let next = LocalTime(day: .init(year: 2026, month: 3, day: 4), hour: 0, minute: 5)
        let second = timeline.stamped([hello], at: next)
        #expect(second.map(\.text) == ["--- Wednesday, 4 March 2026 ---", "00:05 Bob: hello"])
        #expect(second[0].spans[0].emphasis == .dim)
        #expect(timeline.stamped([hello], at: next).map(\.text) == ["00:05 Bob: hello"])
    }

    @Test(
        "days have their names",
        arguments: [
            (2026, 3, 3, "Tuesday, 3 March 2026"), (2026, 11, 21, "Saturday, 21 November 2026"),
            (2024, 2, 29, "Thursday, 29 February 2024"), (2000, 1, 1, "Saturday, 1 January 2000"),
            (2100, 2, 28, "Sunday, 28 February 2100"), (1999, 12, 31, "Friday, 31 December 1999"),
        ])
    func days(year: Int, month: Int, day: Int, text: String) {
        #expect(LocalTime.Day(year: year, month: month, day: day).text == text)
    }

    @Test("what became of an own message is said where it did not reach everybody")
    func delivery() {
        let everybody = people("Bob", "Charlie", "Dora", "Eve", "Fay")
        var delivery = Delivery(text: "hello\nthere", recipients: 3)
        delivery.succeed()
        delivery.succeed()
        #expect(!delivery.isSettled && delivery.line == nil && !delivery.reachedAll)
        var reached = delivery
        reached.succeed()
        #expect(reached.isSettled && reached.reachedAll && reached.line == nil)
        delivery.fail(everybody[0], why: .silence)
        #expect(delivery.isSettled && !delivery.reachedAll)
        #expect(delivery.mark == "may not have reached Bob (out of reach), to 2 of 3")
        #expect(delivery.line?.text == "* Delivered to 2 of 3, may not have reached Bob (out of reach): hello...")
        #expect(delivery.line?.spans.allSatisfy { $0.emphasis == .dim } == true)
        var one = Delivery(text: "hello", recipients: 1)
        one.fail(everybody[0], why: .bye)
        #expect(one.line?.text == "* May not have reached Bob (left): hello")
        var many = Delivery(text: "hello", recipients: 5)
        for person in everybody { many.fail(person, why: .stalled) }
        #expect(
            many.line?.text == "* May not have reached Bob (did not answer), Charlie (did not answer), "
                + "Dora (did not answer) and 2 more: hello")
        #expect(Delivery(text: "hello", recipients: 0).line?.text == "* Nobody was here to receive: hello")
    }

    @Test(
        "presence is one dim line for one person or many",
        arguments: [
            (1, PresenceChange.online, "* Bob is here"), (1, .left, "* Bob has left"),
            (1, .silent, "* Bob is out of reach"),
            (1, .away, "* Bob is away"), (1, .back, "* Bob is back"), (2, .online, "* Bob and Charlie are here"),
            (3, .left, "* Bob, Charlie and Dora have left"),
            (4, .silent, "* Bob, Charlie and 2 others are out of reach"),
        ])
    func presence(count: Int, change: PresenceChange, text: String) {
        let line = ChatLines.presence(
            PresenceLine(labels: Array(people("Bob", "Charlie", "Dora", "Eve")[..<count]), change: change))
        #expect(line == Line(text, .dim))
    }

    @Test("a known name with another key is a loud warning that says what to do")
    func changedKey() {
        var labels = Labels(ownName: "")
        labels.update(Labels.Person(user: "mfrg2", name: "Bob", acquaintance: .changedKey))
        let label = labels.label(of: "mfrg2")
        let line = ChatLines.changedKey(label, known: "Bob")
        #expect(line.spans.allSatisfy { $0.emphasis == .bold })
        #expect(
            line.plain == """
                !! Bob ~mfrg is not the Bob you know: the key is different.
                  It may be a new device, or somebody else using that name.
                  Share nothing secret until you have compared fingerprints,
                  face to face or by telephone: /verify Bob ~mfrg
                """)
        let renamed = ChatLines.changedKey(label, known: "bob", isVerified: true, formerName: "Charlie").plain
        #expect(renamed.hasPrefix("!! Bob ~mfrg is not the bob you verified: the key is different.\n"))
        #expect(renamed.contains("  Its key was called Charlie before.\n"))
        #expect(
            ChatLines.stillAnotherKey(label, known: "Bob").plain
                == "! Bob ~mfrg is still not the Bob you know: /verify Bob ~mfrg, or /block")
    }

    @Test("where more people are known, the only one who has a message is named")
    func namedReceiver() {
        for (namesOne, mark) in [(true, "delivered to Bob"), (false, "delivered")] {
            var delivery = Delivery(text: "hi", recipients: 1, namesOne: namesOne)
            #expect(delivery.mark == "on its way")
            delivery.succeed(Self.bob)
            #expect(delivery.mark == mark)
        }
    }

    @Test("whoever left is said to have left, oneself or the other")
    func whoLeft() {
        for (why, words) in [(FailureReason.bye, "left"), (.quit, "you left"), (.left, "you left")] {
            var delivery = Delivery(text: "hi", recipients: 1)
            delivery.fail(Self.bob, why: why)
            #expect(delivery.line?.text == "* May not have reached Bob (\(words)): hi")
        }
    }

    @Test("an excerpt is cut between pictures, never within one that is joined of several")
    func excerpts() {
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
        func line(_ text: String) -> String {
            var delivery = Delivery(text: text, recipients: 1)
            delivery.fail(Self.bob, why: .silence)
            return delivery.line?.text ?? ""
        }
        let begin = "* May not have reached Bob (out of reach): "
        #expect(line("\(family) tea \u{2764}\u{FE0F}") == begin + "\(family) tea \u{2764}\u{FE0F}")
        let many = String(repeating: family, count: 30)
        #expect(line(many) == begin + String(repeating: family, count: 20) + "...")
        #expect(line("one\ntwo") == begin + "one..." && line("one\r\ntwo") == begin + "one...")
    }

    @Test("of a message that is given up, what is known is said, and of whom nothing is")
    func abandoned() {
        var none = Delivery(text: "hi", recipients: 3)
        #expect(none.abandonedLine.text == "* Delivery is unknown: hi")
        var some = none
        some.succeed()
        #expect(some.abandonedLine.text == "* Delivered to 1 of 3; delivery to all is unknown: hi")
        none.fail(Self.bob, why: .bye)
        #expect(none.abandonedLine.text == "* May not have reached Bob (left); delivery to the rest is unknown: hi")
        some.fail(Self.bob, why: .silence)
        #expect(
            some.abandonedLine.text
                == "* Delivered to 1 of 3, may not have reached Bob (out of reach); delivery to the rest is unknown: hi"
        )
    }

    @Test("of a message that was shown before everybody had it, it is told when they do")
    func late() {
        var delivery = Delivery(text: "hi", recipients: 2)
        delivery.succeed()
        #expect(delivery.show() == "sending: 1 of 2 have it")
        delivery.succeed()
        #expect(delivery.line?.text == "* Delivered to all 2: hi")
        var prompt = Delivery(text: "hi", recipients: 1)
        prompt.succeed()
        #expect(prompt.show() == "delivered")
        #expect(prompt.line == nil)
    }

    @Test("/who and /chats are a line each")
    func answers() {
        #expect(
            ChatLines.person(Self.bob, presence: "3m ago", roundTrip: .microseconds(300)).text
                == "* Bob: 3m ago, under 1 ms round trip (Bob)")
        #expect(
            ChatLines.chat(number: 1, name: "lobby", isOpen: true, unread: 3, isCurrent: false).text
                == "* 1 lobby (open): 3 unread")
        #expect(
            ChatLines.chat(number: 2, name: "kitchen", isOpen: false, unread: 0, isCurrent: true).text
                == "* 2 kitchen: here")
    }

    struct PromptRow: CustomTestStringConvertible, Sendable {
        let name: String
        let prompt: Prompt
        let columns: Int
        let text: String
        var testDescription: String { "\(name), \(columns)" }
    }

    private static func bob(_ presence: String) -> Prompt.Other { Prompt.Other(label: bob, presence: presence) }
    private static func lobby(_ count: Int) -> Prompt.Unread {
        Prompt.Unread(chat: "lobby", isOpen: true, count: count)
    }
    private static func team(_ count: Int) -> Prompt.Unread { Prompt.Unread(chat: "team", isOpen: false, count: count) }

    @Test(
        "the prompt says what fits, and always that a chat is open",
        arguments: [
            PromptRow(name: "plain", prompt: Prompt(chat: "kitchen", isOpen: false), columns: 40, text: "kitchen> "),
            PromptRow(
                name: "unread", prompt: Prompt(chat: "kitchen", isOpen: true, unread: [team(3)]), columns: 40,
                text: "kitchen (open) [team 3]> "),
            PromptRow(
                name: "nothing unread", prompt: Prompt(chat: "kitchen", isOpen: true, unread: [team(0)]), columns: 40,
                text: "kitchen (open)> "),
            PromptRow(
                name: "two unread", prompt: Prompt(chat: "kitchen", isOpen: true, unread: [team(3), lobby(120)]),
                columns: 80,
                text: "kitchen (open) [team 3, lobby (open) 99+]> "),
            PromptRow(
                name: "two unread", prompt: Prompt(chat: "kitchen", isOpen: true, unread: [team(3), lobby(4)]),
                columns: 40,
                text: "kitchen (open) [7 unread]> "),
            PromptRow(
                name: "one to one", prompt: Prompt(chat: "kitchen", isOpen: false, other: bob("Active now")),
                columns: 40,
                text: "kitchen (Bob: Active now)> "),
            PromptRow(
                name: "one to one, open", prompt: Prompt(chat: "kitchen", isOpen: true, other: bob("Active now")),
                columns: 40,
                text: "kitchen (open, Active now)> "),
            PromptRow(
                name: "one to one, unread",
                prompt: Prompt(chat: "kitchen", isOpen: false, other: bob("Last seen just now"), unread: [lobby(1)]),
                columns: 40, text: "kitchen [1 unread]> "),
            PromptRow(
                name: "long name",
                prompt: Prompt(chat: String(repeating: "kitchen", count: 9), isOpen: true, unread: [team(3)]),
                columns: 40, text: "kitchenkitch... (open) [3]> "),
            PromptRow(
                name: "wide name", prompt: Prompt(chat: String(repeating: "日", count: 40), isOpen: true), columns: 40,
                text: "日日日日日日日日... (open)> "),
            PromptRow(
                name: "narrow", prompt: Prompt(chat: "kitchen", isOpen: true), columns: 20, text: "ki... (open)> "),
            PromptRow(
                name: "narrower", prompt: Prompt(chat: "kitchen", isOpen: true), columns: 18, text: "(open)> "),
            PromptRow(
                name: "narrowest", prompt: Prompt(chat: "kitchen", isOpen: true), columns: 8, text: "> "),
            PromptRow(
                name: "narrow and private", prompt: Prompt(chat: "kitchen", isOpen: false, unread: [team(3)]),
                columns: 16, text: "kitchen> "),
            PromptRow(
                name: "narrow and away", prompt: Prompt(chat: "kitchen", isOpen: true, isAway: true), columns: 20,
                text: "ki... (open)> "),
        ])
    func prompts(_ row: PromptRow) {
        #expect(row.prompt.text(columns: row.columns) == row.text)
    }

    @Test("at any width the prompt fits as a whole, with room to type, and a name that is cut shows it")
    func promptWidths() {
        for columns in 4...120 {
            for away in [false, true] {
                for chat in ["kitchen", "日本語のとても長い名前です日本語", String(repeating: "kitchen", count: 9)] {
                    let prompt = Prompt(
                        chat: chat, isOpen: true, other: Self.bob("Active now"), unread: [Self.team(3)], isAway: away)
                    let text = prompt.text(columns: columns)
                    #expect(text.hasSuffix("> ") && DisplayWidth.of(text) <= max(columns - 2, 2), "\(columns): \(text)")
                    let isWhole = text.hasPrefix(chat) || text.hasPrefix("(open)") || text == "> "
                    #expect(isWhole || text.contains("..."), "\(columns): \(text)")
                }
            }
            let search = Prompt.text(ofSearch: String(repeating: "ab", count: 50), isFound: true, columns: columns)
            #expect(search.hasSuffix("> ") && DisplayWidth.of(search) <= max(columns - 2, 2), "\(columns): \(search)")
        }
    }
}

@Suite("Presence lines")
struct PresenceLinesTests {
    /// Feeds changes and asks at each deadline; returns each line with its time.
    static func told(_ changes: [(Int64, String, PresenceChange)], until end: Int64 = 200_000) -> [String] {
        var lines = PresenceLines()
        var told: [String] = []
        func append(_ new: [PresenceLine], _ now: Int64) {
            told += new.map { "\(now) \(ChatLines.presence($0).text)" }
        }
        for (now, name, change) in changes {
            while let deadline = lines.nextDeadline, deadline <= now { append(lines.due(at: deadline), deadline) }
            append(lines.record(people(name)[0], change, at: now), now)
        }
        while let deadline = lines.nextDeadline, deadline <= end { append(lines.due(at: deadline), deadline) }
        #expect(lines.nextDeadline == nil)
        return told
    }

    @Test("one change is told after a short while")
    func one() {
        #expect(Self.told([(0, "Bob", .online)]) == ["500 * Bob is here"])
        #expect(
            Self.told([(0, "Bob", .online), (40_000, "Bob", .away), (80_000, "Bob", .back), (120_000, "Bob", .left)])
                == [
                    "500 * Bob is here", "40500 * Bob is away", "80500 * Bob is back", "120500 * Bob has left",
                ])
    }

    @Test("twenty people who come within two seconds are one line")
    func burst() {
        let joins = (0..<20).map { (Int64($0) * 100, "Person \($0 + 10)", PresenceChange.online) }
        #expect(Self.told(joins) == ["2000 * Person 10, Person 11 and 18 others are here"])
        let losses = joins.map { ($0.0 + 60_000, $0.1, PresenceChange.silent) }
        #expect(
            Self.told(joins + losses) == [
                "2000 * Person 10, Person 11 and 18 others are here",
                "62000 * Person 10, Person 11 and 18 others are out of reach",
            ])
    }

    @Test("who comes and goes is one line that claims no more, and one about where they are when that is over")
    func flapping() {
        func changes(_ count: Int64, every interval: Int64) -> [(Int64, String, PresenceChange)] {
            (0..<count).map { ($0 * interval, "Bob", $0 % 2 == 0 ? PresenceChange.online : PresenceChange.silent) }
        }
        let flaps = changes(10, every: 2_000)
        let comeback: (Int64, String, PresenceChange) = (20_000, "Bob", .online)
        #expect(
            Self.told(flaps) == [
                "500 * Bob is here", "2500 * Bob is out of reach", "4500 * Bob is here", "6500 * Bob is out of reach",
                "8500 * Bob is here", "10000 * Bob keeps coming and going", "28000 * Bob is out of reach",
            ])
        #expect(
            Self.told(flaps + [comeback]).suffix(2)
                == ["10000 * Bob keeps coming and going", "30000 * Bob is here"])
        #expect(
            Self.told(changes(9, every: 100)) == [
                "500 * Bob is here", "500 * Bob keeps coming and going", "10800 * Bob is here",
            ])
    }

    @Test("somebody who returns twice, or is away twice, has ordinary lines")
    func twice() {
        #expect(
            Self.told([
                (0, "Bob", .online), (2_000, "Bob", .left), (3_000, "Bob", .online), (10_000, "Bob", .silent),
                (20_000, "Bob", .online), (22_000, "Bob", .away), (24_000, "Bob", .back),
            ]) == [
                "500 * Bob is here", "2500 * Bob has left", "3500 * Bob is here", "10500 * Bob is out of reach",
                "20500 * Bob is here", "22500 * Bob is away", "24500 * Bob is back",
            ])
        #expect(
            Self.told([
                (0, "Bob", .online), (2_000, "Bob", .away), (4_000, "Bob", .back), (6_000, "Bob", .away),
                (8_000, "Bob", .back),
            ]) == [
                "500 * Bob is here", "2500 * Bob is away", "4500 * Bob is back", "6500 * Bob is away",
                "8500 * Bob is back",
            ])
    }

    @Test("somebody else is told of as ever while one comes and goes")
    func others() {
        let changes: [(Int64, String, PresenceChange)] = [
            (0, "Bob", .online), (600, "Bob", .silent), (1_200, "Bob", .online), (1_800, "Bob", .silent),
            (2_400, "Bob", .online), (3_000, "Bob", .silent), (4_000, "Dora", .online),
        ]
        #expect(
            Self.told(changes) == [
                "500 * Bob is here", "1100 * Bob is out of reach", "1700 * Bob is here", "2300 * Bob is out of reach",
                "2900 * Bob is here", "3000 * Bob keeps coming and going", "4500 * Dora is here",
                "13000 * Bob is out of reach",
            ])
    }

    @Test("what is undone before it is told is not told")
    func undone() {
        #expect(Self.told([(0, "Bob", .online), (300, "Bob", .left)]) == [])
        #expect(
            Self.told([(0, "Bob", .online), (50_000, "Bob", .silent), (50_300, "Bob", .back)]) == ["500 * Bob is here"])
    }

    @Test("what waits can be told at once, before a message")
    func flush() {
        var lines = PresenceLines()
        #expect(lines.record(people("Bob")[0], .online, at: 0) == [])
        #expect(lines.flush().map(\.text) == ["Bob is here"])
        #expect(lines.flush() == [])
        #expect(lines.due(at: 500) == [])
        #expect(lines.nextDeadline == nil)
    }
}

import InklingConsole
import InklingText
import Testing

/// Labels of people whose user IDs are their names.
private func labels(_ names: String...) -> Labels {
    var labels = Labels(ownName: "Alice")
    for name in names { labels.update(Labels.Person(user: name, name: name)) }
    return labels
}

private let noon = LocalTime(day: LocalTime.Day(year: 2026, month: 3, day: 3), hour: 12, minute: 0)

@Suite("Floods of messages")
struct FloodTests {
    @Test(
        "ordinary chat is never a flood",
        arguments: [
            // The time from one message to the next, over and over.
            [500], [100, 100, 100, 100, 4_600], [0, 0, 0, 0, 0, 0, 0, 0, 0, 5_000], [900, 300, 60, 2_000],
        ] as [[Int64]])
    func ordinary(gaps: [Int64]) {
        var floods = Floods()
        var now: Int64 = 0
        for number in 0..<1_000 {
            #expect(floods.countMessage(from: "Bob", at: now) == false, "message \(number)")
            now += gaps[number % gaps.count]
        }
    }

    @Test("a flood lasts while more than 5 messages come within 5 s, and ends with the first that makes fewer")
    func floodEnds() {
        var floods = Floods()
        var now: Int64 = 0
        for _ in 0..<100 { _ = floods.countMessage(from: "Bob", at: now) }
        for _ in 0..<50 {
            now += 900
            #expect(floods.countMessage(from: "Bob", at: now) == true)
        }
        let answers = (0..<6).map { _ in
            now += 1_000
            return floods.countMessage(from: "Bob", at: now)
        }
        #expect(answers.last == false && answers.first == true)
        for _ in 0..<5 { #expect(floods.countMessage(from: "Bob", at: now) == false) }
    }

    @Test("those who are quiet are forgotten once there are many")
    func bound() {
        var floods = Floods()
        for number in 0..<10_000 {
            _ = floods.countMessage(from: "user \(number)", at: Int64(number) * 100)
            #expect(floods.count <= Floods.people)
        }
    }
}

@Suite("Folded messages")
struct FoldedMessagesTests {
    @Test("a flood that goes on makes a line every 5 s, and the lines count all of it")
    func endless() throws {
        var folded = FoldedMessages()
        let labels = labels("Bob")
        var reports: [(at: Int64, text: String)] = []
        for now in Int64(0)..<63_000 {
            if now.isMultiple(of: 10), now < 60_000 { folded.fold("spam", from: "Bob", at: now, time: noon) }
            reports += folded.due(at: now, labels: labels).map { (now, $0.text) }
            if let due = folded.nextDeadline { #expect(due > now) }
        }
        #expect(reports.count == 12)
        for (earlier, later) in zip(reports, reports.dropFirst()) { #expect(later.at - earlier.at >= 5_000) }
        let counts = try reports.map { try #require(Int($0.text.split(separator: " ")[1])) }
        #expect(counts.reduce(0, +) == 6_000)
    }

    @Test("many floods at once make one line")
    func several() {
        var folded = FoldedMessages()
        let labels = labels("Bob", "Charlie", "Dora", "Eve")
        for (user, count) in [("Bob", 2), ("Charlie", 5)] {
            for _ in 0..<count { folded.fold("spam", from: user, at: 0, time: noon) }
        }
        #expect(folded.report(labels: labels).map(\.text) == ["* 7 more messages from Charlie and Bob: /show"])
        for user in ["Bob", "Charlie", "Dora", "Eve"] { folded.fold("spam", from: user, at: 0, time: noon) }
        #expect(
            folded.report(labels: labels).map(\.text) == ["* 4 more messages from Bob, Charlie and 2 others: /show"])
        folded.fold("spam", from: "Bob", at: 0, time: noon)
        #expect(folded.report(labels: labels, isLast: true).map(\.text) == ["* 1 more message from Bob, not shown"])
        #expect(folded.nextDeadline == nil)
    }

    @Test("what was folded is handed out once, in the order in which it came, and needs no report then")
    func drains() {
        var folded = FoldedMessages()
        for (number, user) in ["Bob", "Charlie", "Bob", "Dora"].enumerated() {
            folded.fold("\(number)", from: user, at: 0, time: noon)
        }
        folded.keep("long", from: "Dora", time: noon)
        #expect(folded.users == ["Bob", "Charlie", "Dora"])
        let bob = folded.drain(from: "Bob")
        #expect(bob.messages.map(\.text) == ["0", "2"] && bob.missing.isEmpty && bob.messages[0].time == noon)
        #expect(folded.drain(from: "Bob").isEmpty)
        #expect(folded.drain().messages.map(\.text) == ["1", "3", "long"])
        #expect(folded.nextDeadline == nil && folded.users.isEmpty && folded.drain().isEmpty)
        #expect(folded.report(labels: labels("Bob")).isEmpty)
    }

    @Test("of one person 256 KiB are kept, of all 1 MiB: whoever takes the most room gives way")
    func bytes() {
        var folded = FoldedMessages()
        let large = String(repeating: "x", count: 65_536)
        let users = ["Bob", "Charlie", "Dora", "Eve", "Fay", "Gil"]
        folded.fold("of Zoe", from: "Zoe", at: 0, time: noon)
        for number in 0..<10 {
            for user in users {
                folded.fold(large, from: user, at: 0, time: noon)
                let kept = (users + ["Zoe"]).map { user in
                    var copy = folded
                    return copy.drain(from: user).messages.reduce(0) { $0 + $1.text.utf8.count }
                }
                #expect(kept.allSatisfy { $0 <= FoldedMessages.bytesPerPerson })
                #expect(kept.reduce(0, +) <= FoldedMessages.bytes, "round \(number)")
            }
        }
        #expect(folded.drain(from: "Zoe").messages.map(\.text) == ["of Zoe"])
        let answer = folded.drain()
        #expect(answer.messages.count == 15)
        #expect(answer.messages.count + answer.missing.reduce(0) { $0 + $1.count } == 60)
    }

    @Test("of 64 people messages are kept: whoever has been quiet for the longest gives way, counted")
    func people() {
        var folded = FoldedMessages()
        for number in 0..<100 {
            for _ in 0..<2 { folded.fold("spam", from: "user \(number)", at: 0, time: noon) }
        }
        #expect(folded.users.count == FoldedMessages.people)
        let report = folded.report(labels: labels()).map(\.text)
        #expect(report.count == 1 && report[0].hasPrefix("* 200 more messages from "))
        #expect(report[0].hasSuffix("others: /show"))
        let answer = folded.drain()
        #expect(answer.messages.count == 128 && answer.missingOfOthers == 72 && answer.missing.isEmpty)
        #expect(answer.messages.first?.user == "user 36")
        #expect(
            ChatLines.notKept(answer.missingOfOthers, from: nil).text
                == "* 72 earlier messages from others were not kept")
    }
}

@Suite("Long messages")
struct LongMessageTests {
    static let bob = people("Bob")[0]

    private func line(_ rows: Int, of text: String = "row") -> Line {
        ChatLines.message(from: Self.bob, text: Array(repeating: text, count: rows).joined(separator: "\n"))
    }

    @Test("more than 40 rows on the screen are too long, however they came about")
    func limit() {
        let page = Page(columns: 80, showsTimes: true)
        #expect(!page.isTooLong(line(40)) && page.isTooLong(line(41)))
        let text = String(repeating: "word ", count: 400)
        #expect(!page.isTooLong(line(1, of: text)))
        #expect(Page(columns: 40, showsTimes: true).isTooLong(line(1, of: text)))
        // 20 times 74 columns: in two rows each beside a time, in one without.
        let wide = line(21, of: String(repeating: "x", count: 76))
        #expect(page.isTooLong(wide) && !Page(columns: 80, showsTimes: false).isTooLong(wide))
    }

    @Test("of a message that is too long the first 10 rows show, and how many more there are", arguments: [80, 30])
    func fold(columns: Int) {
        var timeline = Timeline()
        var line = line(322)
        line.fold = Line.Fold(longest: Page.longestMessage, shown: Page.shownRows, command: "/show Bob")
        let rows = timeline.stamped([line], at: noon)[0].plainRows(columns: columns)
        let indent = columns == 80 ? "        " : "  "
        #expect(Array(rows.prefix(10)) == ["12:00 Bob: row"] + Array(repeating: indent + "row", count: 9))
        let rest = columns == 80 ? ["... 312 more lines: /show Bob"] : ["... 312 more lines: /show", "Bob"]
        #expect(Array(rows.dropFirst(10)) == rest.map { indent + $0 })
        #expect(line.plain == self.line(322).plain, "output that is not a terminal gets everything")
    }

    @Test("a line that may be folded but has room shows as a whole")
    func room() {
        var folded = line(40)
        folded.fold = Line.Fold(longest: 40, shown: 10, command: "/show Bob")
        #expect(folded.plainRows(columns: 80) == line(40).plainRows(columns: 80))
    }
}

@Suite("Alarms about keys")
struct KeyAlarmsTests {
    private static let alarm = KeyAlarm(known: "Bob")
    private static func users(_ count: Int) -> [String] { (1...count).map { "Bob \($0)" } }
    private static let labels: Labels = {
        var labels = Labels(ownName: "Alice")
        for name in users(300) { labels.update(Labels.Person(user: name, name: name)) }
        return labels
    }()

    @Test("the first is shown within half a second and whole, and so is one that comes alone later")
    func first() {
        var alarms = KeyAlarms()
        for (number, now) in [Int64(0), 6_000, 60_000].enumerated() {
            let user = Self.users(3)[number]
            #expect(alarms.record(Self.alarm, about: user, at: now, labels: Self.labels).isEmpty)
            #expect(alarms.nextDeadline == now + 500 && alarms.due(at: now + 499, labels: Self.labels).isEmpty)
            #expect(
                alarms.due(at: now + 500, labels: Self.labels)
                    == [ChatLines.changedKey(Self.labels.label(of: user), known: "Bob")])
            #expect(alarms.nextDeadline == nil)
        }
    }

    @Test("20 keys with one name are one block with their count; more within 5 s are another; one alone is its own")
    func group() {
        var alarms = KeyAlarms()
        for (number, user) in Self.users(20).enumerated() {
            #expect(alarms.record(Self.alarm, about: user, at: Int64(number) * 20, labels: Self.labels).isEmpty)
        }
        let lines = alarms.due(at: 500, labels: Self.labels)
        #expect(lines.count == 1 && lines.allSatisfy { $0.spans.allSatisfy { $0.emphasis == .bold } })
        #expect(
            lines.first?.text == """
                !! 20 people use the name of the Bob you know, but their keys are different:
                Bob 1, Bob 2, Bob 3 and 17 others.
                Share nothing secret until you have compared fingerprints,
                face to face or by telephone: /verify NAME
                """)
        for user in ["Bob 21", "Bob 22"] {
            let alarm = KeyAlarm(known: user == "Bob 21" ? "bob" : "Eve")
            #expect(alarms.record(alarm, about: user, at: 900, labels: Self.labels).isEmpty)
        }
        #expect(alarms.nextDeadline == 5_500 && alarms.due(at: 5_499, labels: Self.labels).isEmpty)
        #expect(
            alarms.due(at: 5_500, labels: Self.labels).first?.text.hasPrefix(
                "!! 2 more people use names you know, but their keys are different:\nBob 21 and Bob 22.\n") == true)
        #expect(alarms.record(Self.alarm, about: "Bob 9", at: 5_600, labels: Self.labels).isEmpty)
        #expect(
            alarms.due(at: 10_500, labels: Self.labels)
                == [ChatLines.changedKey(Self.labels.label(of: "Bob 9"), known: "Bob")])
        #expect(alarms.nextDeadline == nil)
    }

    @Test("none is lost, however many come, and at most one block shows every 5 s")
    func endless() throws {
        var alarms = KeyAlarms()
        var told = 0
        var lines = 0
        for now in Int64(0)..<60_000 {
            var new = alarms.due(at: now, labels: Self.labels)
            // 40 a second.
            if now.isMultiple(of: 25), now < 50_000 {
                let user = "user \(now)"
                new += alarms.record(Self.alarm, about: user, at: now, labels: Self.labels)
            }
            for line in new {
                let count = line.text.contains(" people use ") ? Int(line.text.split(separator: " ")[1]) : 1
                told += try #require(count)
                lines += 1
            }
        }
        #expect(told == 2_000)
        #expect(lines == 11)
    }

    @Test("about more than 256 people at once no alarm waits")
    func bound() {
        var alarms = KeyAlarms()
        let counts = Self.users(300).map { alarms.record(Self.alarm, about: $0, at: 0, labels: Self.labels).count }
        #expect(counts.reduce(0, +) == 1 && counts[KeyAlarms.waiting] == 1)
        #expect(alarms.nextDeadline == 5_000)
    }

    @Test("an alarm names the one who is known by their own spelling, and vouches for no name of the newcomer")
    func spelling() {
        func alarm(_ former: [String], _ known: [String], isRepeated: Bool = false) -> KeyAlarm {
            KeyAlarm(
                newcomer: "B0b_", formerNames: former, knownNames: known, isVerified: true, isRepeated: isRepeated)
        }
        #expect(alarm([], ["Robert", "bob"]) == KeyAlarm(known: "bob", isVerified: true))
        // The alarm names the key's former name; another spelling of the same name is no former name.
        #expect(alarm(["Bob", "@bob", "Charlie"], ["Bob"]).formerName == "Charlie")
        #expect(alarm(["Bob", "\u{1B}[2J"], ["Bob"]).formerName == nil)
        #expect(
            alarm(["Charlie"], ["Bob"], isRepeated: true) == KeyAlarm(known: "Bob", isVerified: true, isRepeated: true))
    }

    @Test("names that were verified come first, and whoever takes several names counts once, by the worst")
    func verified() {
        var alarms = KeyAlarms()
        let verified = KeyAlarm(known: "Bob", isVerified: true)
        _ = alarms.record(Self.alarm, about: "Bob 1", at: 0, labels: Self.labels)
        for user in Self.users(6).dropFirst() {
            _ = alarms.record(user == "Bob 5" ? verified : Self.alarm, about: user, at: 0, labels: Self.labels)
        }
        _ = alarms.record(Self.alarm, about: "Bob 5", at: 0, labels: Self.labels)
        let text = alarms.flush(labels: Self.labels).first?.text ?? ""
        #expect(
            text.hasPrefix(
                """
                !! 6 people use the name of the Bob you verified, but their keys are different:
                Bob 5, Bob 1, Bob 2 and 3 others.
                """), "\(text)")
        _ = alarms.record(KeyAlarm(known: "Eve"), about: "Bob 1", at: 100, labels: Self.labels)
        _ = alarms.record(verified, about: "Bob 5", at: 100, labels: Self.labels)
        #expect(
            alarms.flush(labels: Self.labels).first?.text.hasPrefix(
                """
                !! 2 people use names you know, 1 of them names you verified, but their keys are different:
                Bob 5 and Bob 1.
                """) == true)
        let all = ChatLines.changedKeys(of: people("Bob", "Eve"), verified: 2)
        #expect(all.text.contains("use names you verified, but"))
    }
}

@Suite("Muted people")
struct MutedPeopleTests {
    @Test("they are found by label, name, suffix and identity, as they are called now")
    func find() {
        var labels = Labels(ownName: "Alice")
        for (user, name) in [("aaaabbbb", "Bob"), ("ccccdddd", "bob"), ("eeeeffff", "Anna Maria")] {
            labels.update(Labels.Person(user: user, name: name))
        }
        var muted = MutedPeople()
        for label in labels.all { _ = muted.mute(label) }
        #expect(muted.find("Bob ~aaaa") == .one("aaaabbbb") && muted.find("@bob ~cccc ") == .one("ccccdddd"))
        #expect(muted.find("BOB") == .several(["Bob ~aaaa", "bob ~cccc"]))
        #expect(muted.find("~aaaa") == .one("aaaabbbb") && muted.find("ccccdddd") == .one("ccccdddd"))
        #expect(muted.find("anna maria") == .one("eeeeffff"))
        #expect(muted.find("Zoe") == .nobody && muted.find("") == .nobody)
        labels.update(Labels.Person(user: "eeeeffff", name: "Zoe"))
        muted.rename(labels.label(of: "eeeeffff"))
        #expect(muted.find("zoe") == .one("eeeeffff") && muted.find("Anna Maria") == .nobody)
        muted.rename(Labels(ownName: "Alice").label(of: "unknown"))
        #expect(!muted.contains("unknown"))
    }

    @Test("the lines about it count what was not shown")
    func lines() {
        let bob = people("Bob")[0]
        #expect(
            ChatLines.unmuted(bob, presence: "Active now", messages: 7).text
                == "* Bob (Active now) is no longer muted: 7 messages while they were muted, not shown")
        #expect(
            ChatLines.unmuted(bob, presence: nil, messages: 1).text
                == "* Bob is no longer muted: 1 message while they were muted, not shown")
        #expect(ChatLines.muted(.init(label: bob, messages: 0)).text == "* Bob is muted: no messages so far")
        #expect(ChatLines.person(bob, presence: "Away", isMuted: true).text == "* Bob: Away, muted (Bob)")
    }
}

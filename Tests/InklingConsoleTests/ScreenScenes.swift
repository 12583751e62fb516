import InklingConsole
import InklingText
import Testing

/// Whole screens, as they stand in a terminal.
@Suite("Whole screens")
struct ScreenScenes {
    /// A chat that has seen some of everything.
    static func scene(columns: Int) -> Stage {
        var labels = Labels(ownName: "Alice")
        labels.update(Labels.Person(user: "mfrgsylz2aaaaaaa", name: "Bob", acquaintance: .known))
        labels.update(Labels.Person(user: "nzxw4zi3bbbbbbbb", name: "Жанна"))
        labels.update(Labels.Person(user: "orsxg5baccccccc2", name: "bob"))
        let (bob, jeanne, other) = (
            labels.label(of: "mfrgsylz2aaaaaaa"), labels.label(of: "nzxw4zi3bbbbbbbb"),
            labels.label(of: "orsxg5baccccccc2")
        )
        var timeline = Timeline()
        var stage = Stage(columns: columns, rows: 40, decorated: true)
        let monday = LocalTime.Day(year: 2026, month: 3, day: 2)
        let tuesday = LocalTime.Day(year: 2026, month: 3, day: 3)
        stage.prompt = Prompt(chat: "kitchen", isOpen: true, unread: [.init(chat: "team", isOpen: false, count: 3)])
            .text(
                columns: columns)
        stage.draw(
            timeline.stamped(
                [
                    ChatLines.openWarning(chat: "kitchen"),
                    ChatLines.presence(PresenceLine(labels: [bob, jeanne], change: .online)),
                    ChatLines.message(from: bob, text: "Is anybody cooking tonight? I could bring bread and cheese."),
                    ChatLines.own(text: "Soup:\n- leeks\n- potatoes"),
                ], at: LocalTime(day: monday, hour: 23, minute: 58)))
        stage.draw(
            timeline.stamped(
                [
                    ChatLines.message(from: jeanne, text: "👨‍👩‍👧 日本のスープ e\u{301}te\u{301} ❤\u{FE0F}"),
                    ChatLines.message(from: other, text: "שלום לכולם"), ChatLines.changedKey(other, known: "Bob"),
                ], at: LocalTime(day: tuesday, hour: 0, minute: 3)))
        stage.indicator = IndicatorText.text(people: [jeanne, bob]) + "."
        stage.type("That is a long answer, typed in several rows: 日本 and 👨‍👩‍👧 included")
        return stage
    }

    static let at40 = """
        23:58 * kitchen is an open chat: anybody
          on this network can join and read it.
          For a private chat: /invite NAME
        23:58 * Bob ~mfrg and Жанна are here
        23:58 Bob ~mfrg: Is anybody cooking
          tonight? I could bring bread and
          cheese.
        23:58 You: Soup:
          - leeks
          - potatoes
        --- Tuesday, 3 March 2026 ---
        00:03 Жанна: 👨‍👩‍👧 日本のスープ été ❤️
        00:03 bob ~orsx: שלום לכולם
        00:03 !! bob ~orsx is not the Bob you
          know: the key is different.
          It may be a new device, or somebody
          else using that name.
          Share nothing secret until you have
          compared fingerprints,
          face to face or by telephone: /verify
          bob ~orsx
        Жанна and Bob ~mfrg are typing.
        kitchen (open) [team 3]> That is a long
        answer, typed in several rows: 日本 and
        👨‍👩‍👧 included
        """

    static let at80 = """
        23:58 * kitchen is an open chat: anybody on this network can join and read it.
                For a private chat: /invite NAME
        23:58 * Bob ~mfrg and Жанна are here
        23:58 Bob ~mfrg: Is anybody cooking tonight? I could bring bread and cheese.
        23:58 You: Soup:
                - leeks
                - potatoes
        --- Tuesday, 3 March 2026 ---
        00:03 Жанна: 👨‍👩‍👧 日本のスープ été ❤️
        00:03 bob ~orsx: שלום לכולם
        00:03 !! bob ~orsx is not the Bob you know: the key is different.
                It may be a new device, or somebody else using that name.
                Share nothing secret until you have compared fingerprints,
                face to face or by telephone: /verify bob ~orsx
        Жанна and Bob ~mfrg are typing.
        kitchen (open) [team 3]> That is a long answer, typed in several rows: 日本 and
        👨‍👩‍👧 included
        """

    @Test(
        "R20, R21: a chat in 40 and 80 columns, with an indicator and without",
        arguments: [(40, at40), (80, at80)])
    func scenes(columns: Int, expected: String) {
        var stage = Self.scene(columns: columns)
        var rows = expected.split(separator: "\n").map(String.init)
        #expect(stage.terminal.everything == rows)
        #expect(stage.terminal.notUnderstood == [])
        #expect(rows.allSatisfy { DisplayWidth.of($0) <= columns })
        // Nobody types any more: its row is gone, and no empty one is left.
        stage.indicator = nil
        stage.draw()
        rows.removeAll { $0.hasSuffix("are typing.") }
        #expect(stage.terminal.everything == rows)
        let last = rows.count - 1
        #expect(stage.terminal.row == last && stage.terminal.column == DisplayWidth.of(rows[last]))
        #expect(stage.terminal.history.isEmpty && stage.terminal.wraps && stage.terminal.cursorShown)
    }

    @Test("R21: after each of 1,000 messages the input is what it was, to the byte", arguments: [40, 80, 200])
    func storm(columns: Int) {
        var stage = Stage(columns: columns, rows: 12, decorated: true)
        let bob = people("Bob")[0]
        stage.type(
            "the first row of what is typed, 日本 and 👨‍👩‍👧, then e\u{301}, and on and on, up to the last one of its rows")
        stage.press(.wordLeft)
        stage.draw()
        var count = 0
        for index in 0..<1_000 {
            let input = stage.terminal.screen.suffix(inputRows(stage))
            let cursor = (stage.terminal.row, stage.terminal.column)
            stage.indicator =
                index % 5 < 2 ? "Bob is typing" + IndicatorText.dots(step: index, reducedMotion: false) : nil
            stage.draw([ChatLines.message(from: bob, text: "message \(index)")])
            let screen = stage.terminal.screen
            #expect(Array(screen.suffix(input.count)) == Array(input))
            #expect(stage.terminal.column == cursor.1)
            let above = screen.dropLast(input.count)
            #expect(above.last == stage.indicator ?? "Bob: message \(index)")
            if screen.count == 12 { count += 1 }
            if index % 3 == 0 {
                stage.press(index % 2 == 0 ? .text("x") : .backspace)
                stage.press(index % 4 == 0 ? .left : .right)
            }
        }
        #expect(count > 900)
        stage.indicator = nil
        stage.draw()
        let said = stage.terminal.everything.dropLast(inputRows(stage))
        #expect(Array(said) == (0..<1_000).map { "Bob: message \($0)" })
        #expect(stage.terminal.notUnderstood == [])
    }

    private func inputRows(_ stage: Stage) -> Int {
        let rows = stage.terminal.screen
        return rows.count - (rows.lastIndex { $0.hasPrefix("lobby> ") } ?? 0)
    }

    @Test(
        "R21: a window that is made narrower and wider keeps the messages, and one input",
        arguments: [
            [80, 40, 80], [200, 40, 200], [80, 79, 78, 77, 60, 41, 40, 20, 80], [40, 200], [40, 30, 41, 30],
        ])
    func resizes(widths: [Int]) {
        let text = "an input that takes more than a row of forty columns, 日本 included"
        var stage = Stage(columns: widths[0], rows: 30)
        stage.indicator = "Bob is typing."
        stage.draw([ChatLines.message(from: people("Bob")[0], text: "hello there")])
        stage.type(text)
        for columns in widths.dropFirst() {
            stage.terminal.resize(columns: columns)
            stage.screen.resize(columns: columns, rows: 30)
            stage.draw()
            let rows = stage.terminal.everything
            #expect(rows[..<2] == ["Bob: hello there", "Bob is typing."])
            #expect(rows.filter { $0.hasPrefix("lobby> ") }.count == 1)
            let joined = rows[2...].joined().filter { $0 != " " }
            #expect(joined == ("lobby> " + text).filter { $0 != " " })
            #expect(stage.terminal.row == rows.count - 1)
        }
    }

    @Test("a window that changes while the cursor is in the middle of the input", arguments: 0...60)
    func resizesInside(left: Int) {
        var stage = Stage(columns: 60, rows: 30)
        stage.draw([Line("kept")])
        stage.type(String(repeating: "0123456789", count: 9))
        for _ in 0..<left { stage.press(.left) }
        for columns in [33, 60, 24] {
            stage.terminal.resize(columns: columns)
            stage.screen.resize(columns: columns, rows: 30)
            stage.draw()
            #expect(stage.terminal.everything.joined() == "keptlobby> " + String(repeating: "0123456789", count: 9))
        }
    }
}

import InklingConsole
import InklingModel
import InklingText
import Testing

/// A screen on a tiny terminal, with an editor.
struct Stage {
    var terminal: TinyTerminal
    var screen: Screen
    var editor = LineEditor()
    var indicator: String?
    var prompt = "lobby> "

    init(columns: Int, rows: Int = 12, decorated: Bool = false) {
        terminal = TinyTerminal(columns: columns, rows: rows)
        screen = Screen(columns: columns, rows: rows, decorated: decorated)
    }

    mutating func draw(_ lines: [Line] = []) {
        terminal.write(screen.draw(appending: lines, indicator: indicator, prompt: prompt, editor: editor))
    }

    mutating func type(_ text: String) {
        for scalar in text.unicodeScalars { press(scalar == "\n" ? .altEnter : .text(scalar)) }
    }

    mutating func press(_ key: Key) {
        _ = editor.handle(key)
        draw()
    }
}

@Suite("Screen")
struct ScreenTests {
    @Test("a long input wraps, and the cursor finds its place in every row")
    func wrapping() {
        var stage = Stage(columns: 40)
        stage.type(String(repeating: "0123456789", count: 8))
        let rows = [
            "lobby> " + "012345678901234567890123456789012", "3456789012345678901234567890123456789012", "3456789",
        ]
        #expect(stage.terminal.screen == rows)
        #expect(stage.terminal.row == 2 && stage.terminal.column == 7)
        for _ in 0..<48 { stage.press(.left) }
        #expect(stage.terminal.row == 0 && stage.terminal.column == 39)
        stage.press(.right)
        #expect(stage.terminal.row == 1 && stage.terminal.column == 0)
        stage.press(.home)
        #expect(stage.terminal.row == 0 && stage.terminal.column == 7)
        stage.press(.control("k"))
        #expect(stage.terminal.screen == ["lobby>"])
        #expect(stage.terminal.history.isEmpty)
    }

    @Test("an input that just fills its row leaves a place for the cursor", arguments: [40, 80, 200])
    func fullRow(columns: Int) {
        var stage = Stage(columns: columns)
        let text = String(repeating: "x", count: columns - 7)
        stage.type(text)
        #expect(stage.terminal.screen == ["lobby> " + text])
        #expect(stage.terminal.row == 1 && stage.terminal.column == 0)
        stage.type("y")
        #expect(stage.terminal.screen == ["lobby> " + text, "y"])
        stage.press(.backspace)
        stage.press(.backspace)
        #expect(stage.terminal.row == 0 && stage.terminal.column == columns - 1)
    }

    @Test("wide characters and pictures wrap whole")
    func wide() {
        var stage = Stage(columns: 40)
        stage.prompt = "> "
        stage.type("x" + String(repeating: "日", count: 20))
        #expect(stage.terminal.screen == ["> x" + String(repeating: "日", count: 18), "日日"])
        #expect(stage.terminal.row == 1 && stage.terminal.column == 4)
        stage.press(.control("u"))
        stage.type("a👨‍👩‍👧e\u{301}b")
        #expect(stage.terminal.screen == ["> a👨‍👩‍👧e\u{301}b"])
        #expect(stage.terminal.column == 7)
        stage.press(.left)
        stage.press(.left)
        stage.press(.left)
        #expect(stage.terminal.column == 3)
    }

    @Test("an input of several lines shows as such")
    func lines() {
        var stage = Stage(columns: 40)
        _ = stage.editor.handle(.paste("one\ntwo\tx\n\nfour"))
        stage.draw()
        #expect(stage.terminal.screen == ["lobby> one", "two    x", "", "four"])
        stage.press(.home)
        #expect(stage.terminal.row == 0 && stage.terminal.column == 7)
    }

    @Test("an input that is higher than the terminal is folded: its beginning shows, and the part around the cursor")
    func high() {
        var stage = Stage(columns: 40, rows: 6)
        stage.draw([Line("before")])
        stage.type((1...9).map(String.init).joined(separator: "\n"))
        #expect(stage.terminal.screen == ["before", "lobby> 1", "... 6 more lines", "8", "9"])
        #expect(stage.terminal.row == 4 && stage.terminal.column == 1)
        stage.press(.home)
        #expect(stage.terminal.screen == ["before", "lobby> 1", "2", "3", "... 6 more lines"])
        #expect(stage.terminal.row == 1 && stage.terminal.column == 7)
        stage.indicator = "Bob is typing."
        stage.press(.end)
        #expect(
            stage.terminal.screen == ["before", "Bob is typing.", "lobby> 1", "... 6 more lines", "8", "9"])
        for _ in 0..<5 { stage.press(.left) }
        #expect(
            stage.terminal.screen == ["before", "Bob is typing.", "lobby> 1", "... 4 more lines, 2 below", "6", "7"])
        #expect(stage.terminal.row == 5 && stage.terminal.column == 0)
        stage.press(.text("x"))
        #expect(stage.terminal.screen.last == "x7" && stage.terminal.history.isEmpty)
    }

    @Test("a long paste leaves the chat, the prompt and its own beginning in sight, however high the terminal is")
    func longPaste() {
        for rows in [24, 80] {
            var stage = Stage(columns: 80, rows: rows)
            stage.draw([Line("before")])
            _ = stage.editor.handle(.paste((1...60).map { "line \($0)" }.joined(separator: "\n")))
            stage.draw()
            let tail = (55...60).map { "line \($0)" }
            #expect(
                stage.terminal.screen
                    == ["before", "lobby> line 1", "line 2", "line 3", "... 51 more lines"] + tail)
            #expect(stage.terminal.history.isEmpty)
        }
    }

    @Test("words move to the next row whole")
    func words() {
        #expect(Line("aaa bbb ccc ddd").plainRows(columns: 20) == ["aaa bbb ccc ddd"])
        #expect(
            Line("Alice: one two three four five six").plainRows(columns: 20) == [
                "Alice: one two three", "  four five six",
            ])
        #expect(
            Line("Alice: 0123456789012345678901234567").plainRows(columns: 20) == [
                "Alice: 0123456789012", "  345678901234567",
            ])
        #expect(Line("one\ntwo").plainRows(columns: 20) == ["one", "  two"])
    }

    @Test("only what changed is written")
    func small() {
        var stage = Stage(columns: 80)
        stage.type("hello")
        let same = stage.screen.draw(indicator: nil, prompt: "lobby> ", editor: stage.editor)
        #expect(same.isEmpty)
        _ = stage.editor.handle(.left)
        let moved = stage.screen.draw(indicator: nil, prompt: "lobby> ", editor: stage.editor)
        #expect(String(decoding: moved, as: UTF8.self) == "\r\u{1B}[11C")
        stage.indicator = "Bob is typing."
        stage.draw()
        let dots = stage.screen.draw(indicator: "Bob is typing..", prompt: "lobby> ", editor: stage.editor)
        #expect(!String(decoding: dots, as: UTF8.self).contains("lobby"))
    }

    @Test("leaving takes the block away and the terminal's modes back")
    func leave() {
        var stage = Stage(columns: 80)
        stage.terminal.write(Array(Screen.begin.utf8))
        #expect(stage.terminal.pastesBracketed)
        stage.indicator = "Bob is typing."
        stage.draw([Line("kept")])
        stage.type("draft")
        stage.terminal.write(stage.screen.leave())
        #expect(stage.terminal.screen == ["kept"])
        #expect(stage.terminal.row == 1 && stage.terminal.column == 0)
        #expect(!stage.terminal.pastesBracketed && stage.terminal.wraps && stage.terminal.cursorShown)
        stage.draw()
        #expect(stage.terminal.screen == ["kept", "Bob is typing.", "lobby> draft"])
    }

    @Test("Ctrl-L clears the screen, and the prompt goes on in its last row")
    func clear() {
        var stage = Stage(columns: 80)
        stage.draw([Line("gone")])
        stage.type("draft")
        stage.terminal.write(stage.screen.clear())
        stage.draw()
        #expect(stage.terminal.screen.drop { $0.isEmpty } == ["lobby> draft"] && stage.terminal.row == 11)
        stage.draw([Line("came")])
        #expect(stage.terminal.screen.suffix(2) == ["came", "lobby> draft"])
    }

    @Test("after it, no narrower window leaves a prompt behind, whether or not the terminal keeps what is blank below")
    func clearAndNarrow() {
        for keepsBlanks in [true, false] {
            var stage = Stage(columns: 80, rows: 24)
            stage.prompt = "lobby (open, Bob)> "
            stage.terminal.write(stage.screen.clear())
            stage.draw()
            stage.type("a draft that is long enough to be wrapped")
            for columns in [60, 40, 30, 70, 24] {
                stage.terminal.resize(columns: columns, keepsBlanks: keepsBlanks)
                stage.screen.resize(columns: columns, rows: 24)
                stage.draw()
                #expect(stage.terminal.everything.joined().count { $0 == ">" } == 1)
            }
        }
    }

    @Test("bold and dim are written only where they are wanted")
    func decoration() {
        for decorated in [true, false] {
            var screen = Screen(columns: 80, rows: 24, decorated: decorated)
            let lines = [ChatLines.own(text: "hi"), ChatLines.notice("x")]
            let bytes = screen.draw(appending: lines, indicator: "Bob is typing.", prompt: "> ", editor: LineEditor())
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("\u{1B}[2mBob is typing.\u{1B}[0m") == decorated)
            #expect(text.contains("\u{1B}[1mYou:\u{1B}[0m hi") == decorated)
            #expect((text.contains("[0m") || text.contains("[1m") || text.contains("[2m")) == decorated)
        }
    }

    @Test(
        "display width of clusters",
        arguments: [
            ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("한", 2), ("\u{1112}\u{1161}\u{11AB}", 2), ("ｱ", 1),
            ("Ａ", 2),
            ("😀", 2), ("👨‍👩‍👧", 2), ("👍🏽", 2), ("🇩🇪", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("1\u{FE0F}\u{20E3}", 2), ("☎", 1),
            ("\u{200D}", 0), ("\u{200B}", 0), ("\u{301}", 0), ("א", 1), ("ع", 1), ("ก\u{E34}", 1), ("…", 1), ("─", 1),
            ("　", 2),
            ("𠀀", 2), ("\u{FFFD}", 1), ("\u{600}", 1), ("1🏽", 3), ("\u{7F}", 0), ("क\u{94D}क", 2),
        ])
    func widths(text: String, width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }
}

import InklingConsole
import Testing

@Suite("Line editor")
struct LineEditorTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let keys: [Key]
        /// The text with `|` where the cursor is.
        let result: String
        var testDescription: String { name }
    }

    static func type(_ text: String) -> [Key] { text.unicodeScalars.map(Key.text) }

    static func shown(_ editor: LineEditor) -> String {
        String(editor.characters[..<editor.cursor]) + "|" + String(editor.characters[editor.cursor...])
    }

    @Test("a recalled line keeps its edits until Enter, as in a shell")
    func editedLines() {
        var editor = LineEditor()
        for keys in [Self.type("one") + [.enter], Self.type("two") + [.enter], Self.type("own")] {
            for key in keys { _ = editor.handle(key) }
        }
        func shows(_ key: Key, _ text: String) { #expect(editor.handle(key) == .edited && editor.text == text) }
        shows(.up, "two")
        for key in Self.type(" more") { _ = editor.handle(key) }
        shows(.up, "one")
        shows(.down, "two more")
        shows(.down, "own")
        #expect(editor.handle(.down) == .refused)
        shows(.up, "two more")
        #expect(editor.handle(.enter) == .submit("two more"))
        shows(.up, "two more")
        shows(.up, "two")
    }

    @Test(
        "keys edit the text and move the cursor",
        arguments: [
            Row(name: "typing", keys: type("abc"), result: "abc|"),
            Row(name: "insert in the middle", keys: type("ac") + [.left] + type("b"), result: "ab|c"),
            Row(name: "backspace", keys: type("abc") + [.left, .backspace], result: "a|c"),
            Row(name: "backspace at the start", keys: type("a") + [.home, .backspace], result: "|a"),
            Row(name: "delete", keys: type("abc") + [.home, .delete], result: "|bc"),
            Row(name: "delete at the end", keys: type("a") + [.delete], result: "a|"),
            Row(name: "Ctrl-D deletes where there is text", keys: type("ab") + [.left, .control("d")], result: "a|"),
            Row(name: "ends stop the cursor", keys: type("a") + [.right, .left, .left], result: "|a"),
            Row(name: "home and end", keys: type("ab") + [.control("a"), .control("e"), .home], result: "|ab"),
            Row(
                name: "Ctrl-B and Ctrl-F", keys: type("abc") + [.control("b"), .control("b"), .control("f")],
                result: "ab|c"),
            Row(name: "word left", keys: type("one two, ") + [.wordLeft], result: "one |two, "),
            Row(
                name: "word right", keys: type("one two") + [.home, .wordRight, .alt("f"), .alt("b")],
                result: "one |two"),
            Row(name: "kill to the end", keys: type("one two") + [.alt("b"), .control("k")], result: "one |"),
            Row(name: "kill to the start", keys: type("one two") + [.alt("b"), .control("u")], result: "|two"),
            Row(name: "kill a word back", keys: type("a/b c/d ") + [.control("w")], result: "a/b |"),
            Row(name: "Alt-Backspace stops at signs", keys: type("a/b c/d") + [.altBackspace], result: "a/b c/|"),
            Row(name: "kill a word on", keys: type("one two") + [.home, .alt("d")], result: "| two"),
            Row(name: "yank", keys: type("one two") + [.control("w"), .home, .control("y")], result: "two|one "),
            Row(
                name: "kills in a row are one text",
                keys: type("one two three") + [.control("w"), .control("w"), .home, .control("y")],
                result: "two three|one "),
            Row(
                name: "kills forward in a row are one text",
                keys: type("one two three") + [.home, .alt("d"), .alt("d"), .end, .control("y")],
                result: " threeone two|"),
            Row(
                name: "kills both ways",
                keys: type("ab cd") + [.alt("b"), .control("k"), .control("u"), .control("y")],
                result: "ab cd|"),
            Row(
                name: "a move between kills parts them",
                keys: type("one two") + [.control("w"), .left, .control("w"), .control("y")], result: "one| "),
            Row(
                name: "Alt-Y takes the kill before",
                keys: type("one two") + [.control("w"), .left, .right, .control("w"), .control("y"), .alt("y")],
                result: "two|"),
            Row(
                name: "Alt-Y goes round",
                keys: type("one two") + [
                    .control("w"), .left, .right, .control("w"), .control("y"), .alt("y"), .alt("y"),
                ],
                result: "one |"),
            Row(name: "Alt-Y without a yank", keys: type("one two") + [.control("w"), .alt("y")], result: "one |"),
            Row(name: "Ctrl-Y with nothing killed", keys: type("a") + [.control("y")], result: "a|"),
            Row(name: "Ctrl-T at the end", keys: type("abdc") + [.control("t")], result: "abcd|"),
            Row(name: "Ctrl-T in the middle", keys: type("acbd") + [.left, .left, .control("t")], result: "abc|d"),
            Row(name: "Ctrl-T takes clusters", keys: type("e\u{301}👨‍👩‍👧") + [.control("t")], result: "👨‍👩‍👧e\u{301}|"),
            Row(name: "Ctrl-T at the start", keys: type("ab") + [.home, .control("t")], result: "|ab"),
            Row(name: "a combining mark joins", keys: type("e") + type("\u{301}"), result: "e\u{301}|"),
            Row(name: "backspace takes the whole cluster", keys: type("ae\u{301}") + [.backspace], result: "a|"),
            Row(name: "a family is one step", keys: type("a👨‍👩‍👧b") + [.left, .left], result: "a|👨‍👩‍👧b"),
            Row(name: "a family is one delete", keys: type("a👨‍👩‍👧b") + [.left, .backspace], result: "a|b"),
            Row(name: "a flag is one step", keys: type("🇩🇪🇫🇷") + [.left], result: "🇩🇪|🇫🇷"),
            Row(
                name: "clusters that merge keep the cursor whole", keys: type("👨👩") + [.left] + type("\u{200D}"),
                result: "👨‍👩|"),
            Row(name: "clusters that meet by deleting", keys: type("🇩x🇪") + [.left, .backspace], result: "🇩🇪|"),
            Row(
                name: "a paste keeps its lines", keys: [.paste("one\r\ntwo\rthree\nfour\n")],
                result: "one\ntwo\nthree\nfour|"),
            Row(
                name: "a paste loses its control characters", keys: [.paste("a\u{1B}[31mb\u{0}\u{9B}c\td")],
                result: "a[31mbc\td|"),
            Row(name: "Alt-Enter breaks the line", keys: type("a") + [.altEnter] + type("b"), result: "a\nb|"),
            Row(
                name: "unknown keys do nothing", keys: type("a") + [.unknown, .escape, .tab, .alt("q"), .control("q")],
                result: "a|"),
        ])
    func edits(_ row: Row) {
        var editor = LineEditor()
        for key in row.keys { _ = editor.handle(key) }
        #expect(Self.shown(editor) == row.result)
    }

    @Test("answers tell the program what a key asks for")
    func answers() {
        var editor = LineEditor()
        #expect(editor.handle(.control("d")) == .endOfInput)
        #expect(editor.handle(.control("c")) == .interrupt)
        #expect(editor.handle(.control("z")) == .suspend)
        #expect(editor.handle(.control("l")) == .redraw)
        #expect(editor.handle(.enter) == .nothing)
        #expect(editor.handle(.text(" ")) == .edited)
        #expect(editor.handle(.enter) == .nothing)
        #expect(editor.handle(.text("a")) == .edited)
        #expect(editor.handle(.left) == .nothing)
        #expect(editor.handle(.control("d")) == .edited)
        #expect(editor.handle(.control("d")) == .nothing)
        #expect(editor.handle(.text("b")) == .edited)
        #expect(editor.handle(.enter) == .submit(" b"))
        #expect(editor.isEmpty && editor.cursor == 0)
    }

    @Test("Tab and Alt with a digit are the program's")
    func programKeys() {
        var editor = LineEditor()
        #expect(editor.handle(.tab) == .complete)
        #expect(editor.handle(.alt("1")) == .openChat(1))
        #expect(editor.handle(.alt("9")) == .openChat(9))
        #expect(editor.handle(.alt("0")) == .nothing)
        #expect(editor.isEmpty)
    }

    @Test("each chat keeps its draft and the cursor in it; history and kills are shared")
    func drafts() {
        var editor = LineEditor()
        for key in Self.type("sent") + [.enter] + Self.type("for lobby") + [.wordLeft] { _ = editor.handle(key) }
        let lobby = editor.exchange(LineEditor.Draft())
        #expect(editor.isEmpty && !lobby.isEmpty)
        for key in Self.type("gone") + [.control("u")] + Self.type("for team") { _ = editor.handle(key) }
        let team = editor.exchange(lobby)
        #expect(Self.shown(editor) == "for |lobby")
        _ = editor.handle(.control("y"))
        #expect(Self.shown(editor) == "for gone|lobby")
        _ = editor.handle(.up)
        #expect(Self.shown(editor) == "sent|")
        _ = editor.exchange(team)
        #expect(Self.shown(editor) == "for team|")
        #expect(editor.handle(.down) == .refused)
    }

    @Test("the history goes back and forth and keeps the draft")
    func history() {
        var editor = LineEditor()
        for line in ["one", "two", "two"] {
            for key in Self.type(line) + [.enter] { _ = editor.handle(key) }
        }
        for key in Self.type("draft") { _ = editor.handle(key) }
        #expect(editor.handle(.up) == .edited)
        #expect(editor.text == "two")
        #expect(editor.handle(.control("p")) == .edited)
        #expect(editor.text == "one")
        #expect(editor.handle(.up) == .refused)
        #expect(editor.text == "one")
        _ = editor.handle(.down)
        _ = editor.handle(.control("n"))
        #expect(Self.shown(editor) == "draft|")
        #expect(editor.handle(.down) == .refused)
    }

    @Test("a search finds the latest line, goes back, and ends in the line that was found or in the draft")
    func search() {
        var editor = LineEditor()
        #expect(editor.handle(.control("r")) == .refused, "there is nothing to search")
        for line in ["one two", "two three", "four"] {
            for key in Self.type(line) + [.enter] { _ = editor.handle(key) }
        }
        for key in Self.type("draft") + [.left] { _ = editor.handle(key) }
        #expect(editor.handle(.control("r")) == .nothing && Self.shown(editor) == "draf|t")
        #expect(editor.handle(.backspace) == .refused && editor.handle(.control("r")) == .refused)
        #expect(editor.handle(.text("T")) == .edited && Self.shown(editor) == "two three|")
        #expect(editor.handle(.text("w")) == .nothing)
        #expect(editor.search?.query == "Tw" && editor.search?.isFound == true)
        #expect(editor.handle(.control("r")) == .edited && Self.shown(editor) == "one two|")
        #expect(editor.handle(.text("x")) == .refused && editor.search?.isFound == false)
        #expect(editor.handle(.backspace) == .edited && Self.shown(editor) == "two three|", "from the latest again")
        var ended = editor
        #expect(ended.handle(.escape) == .edited && Self.shown(ended) == "draf|t" && ended.search == nil)
        ended = editor
        #expect(ended.handle(.control("c")) == .edited && Self.shown(ended) == "draf|t", "it ends the search alone")
        #expect(ended.handle(.control("c")) == .edited && ended.isEmpty)
        #expect(ended.handle(.control("c")) == .interrupt)
        ended = editor
        #expect(ended.handle(.home) == .nothing && Self.shown(ended) == "|two three" && ended.search == nil)
        ended = editor
        #expect(ended.handle(.enter) == .submit("two three") && ended.search == nil)
        ended = editor
        _ = ended.exchange(LineEditor.Draft())
        #expect(ended.search == nil && ended.isEmpty)
        ended = editor
        #expect(ended.handle(.paste("o t")) == .nothing && ended.search?.query == "Two t")
    }

    @Test("text that is full takes no more")
    func full() {
        var editor = LineEditor()
        #expect(editor.handle(.paste(String(repeating: "a", count: LineEditor.longestText))) == .edited)
        #expect(editor.handle(.text("b")) == .full)
        #expect(editor.handle(.backspace) == .edited)
        #expect(editor.handle(.text("é")) == .full)
        #expect(editor.handle(.text("b")) == .edited)
    }
}

import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Safe text")
struct SafeTextTests {
    /// Texts that do harm in a terminal that shows them as they are.
    static let hostile: [String] = {
        var texts: [String] = []
        let controls = Array(0x00...0x1F) + Array(0x7F...0x9F) + [0x2028, 0x2029]
        for value in controls { texts.append("a" + scalar(value) + "b") }
        let formats =
            [
                0xAD, 0x34F, 0x61C, 0x115F, 0x17B4, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x3164, 0xFE00,
                0xFE0F, 0xFEFF,
            ]
            + [0xFFA0, 0xFFF0, 0xFFF9, 0xFFFA, 0xFFFB, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0x1D173, 0x1BCA0, 0xE0FFF]
            + Array(0x202A...0x202E) + Array(0x2060...0x206F)
        for value in formats { texts.append("a" + scalar(value) + "b") }
        for value in [0xE000, 0xF8FF, 0xFDD0, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF, 0xF0000, 0x378, 0x50000] {
            texts.append("a" + scalar(value) + "b")
        }
        texts += [
            "\u{1B}[2J", "\u{1B}]0;title\u{7}", "\u{1B}]52;c;aGk=\u{1B}\\", "\u{1B}P$q\"p\u{1B}\\", "\u{1B}_x\u{1B}\\",
            "\u{1B}c",
            "\u{1B}[6n", "\u{1B}[5i", "\u{1B}[?1049h", "\u{1B}[?7l", "\u{1B}(0", "\u{1B}#8", "\u{9B}31m",
            "\u{9D}0;x\u{9C}",
            "\u{1B}]8;;http://x\u{1B}\\y\u{1B}]8;;\u{1B}\\", "\u{1B}[31;1;5mred", "\u{1B}\u{1B}[A", "\u{1B}",
            "\u{E}\u{F}",
            "\u{8}\u{8}\u{8}gone", "\rBob: fake", "\nBob: fake", "x\r\n\r\ny", "\u{B}\u{C}", "\u{5}",
            "\u{202E}evil\u{202C}",
            "\u{2067}a\u{2069}", "a" + String(repeating: "\u{301}", count: 500),
            String(repeating: "\u{20DD}", count: 50),
            "\u{301}\u{302}x", "a\u{200D}\u{200D}\u{200D}\u{200D}\u{200D}\u{200D}b",
            String(repeating: "👩\u{200D}", count: 300),
            String(repeating: "\u{200B}", count: 1_000), "", " ", "\u{3000}", "\u{A0}\u{A0}",
            String(repeating: "日", count: 500),
            String(repeating: "🇩", count: 99), "é\u{1B}[0m日\u{1B}[0m", "\u{85}\u{85}", "\u{0}", "e\u{301}\u{1B}\u{301}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "\u{FFF9}a\u{FFFA}b\u{FFFB}",
        ]
        return texts
    }()

    static func scalar(_ value: Int) -> String { Unicode.Scalar(UInt32(value)).map { String(Character($0)) } ?? "" }

    /// Returns the scalars that no safe text may contain. A line feed is one of them unless `lineFeeds` is true.
    static func offences(in text: String, lineFeeds: Bool) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: !lineFeeds
            case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029, 0xFFF9...0xFFFB: true
            case 0x200C, 0x200D, 0xFE0F: !lineFeeds
            default:
                scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .control
                    || scalar.properties.generalCategory == .privateUse
                    || scalar.properties.generalCategory == .unassigned
            }
        }
    }

    @Test("the corpus is large enough")
    func size() {
        #expect(Set(Self.hostile.map { Array($0.unicodeScalars) }).count >= 150)
    }

    @Test("nothing harmful of a peer comes out of a message, a line or a name", arguments: hostile)
    func harmless(text: String) {
        for text in [text, "Bob" + text, text + "Bob", text + text] {
            #expect(Self.offences(in: SafeText.message(text), lineFeeds: true) == [])
            #expect(Self.offences(in: SafeText.line(text), lineFeeds: false) == [])
            if let name = SafeText.name(text) {
                #expect(Self.offences(in: name, lineFeeds: false) == [])
                #expect(DisplayWidth.of(name) <= SafeText.nameColumns && !name.isEmpty)
                #expect(name.first != " " && name.last != " ")
            }
            #expect(SafeText.message(SafeText.message(text)) == SafeText.message(text))
        }
    }

    // S-5
    @Test("no sequence of a peer reaches the terminal through any line of the chat", arguments: hostile)
    func lines(text: String) {
        let label = TerminalSafetyTests.labels(text).other
        var delivery = Delivery(text: text, recipients: 1)
        delivery.fail(label, why: .silence)
        let lines =
            [
                ChatLines.message(from: label, text: text),
                ChatLines.presence(PresenceLine(labels: [label], change: .online)),
                ChatLines.notice(text), ChatLines.error(text), ChatLines.person(label, presence: text),
                ChatLines.reachedNobody(text: text), ChatLines.openWarning(chat: text),
            ] + [delivery.line].compactMap(\.self)
        for line in lines { #expect(Self.offences(in: line.plain, lineFeeds: true) == []) }
        var stage = Stage(columns: 40, rows: 400, decorated: true)
        stage.draw(lines)
        // Blanks at the end of a row can't be seen on a screen.
        let begins = ["*", "!", "  ", label.name]
        for row in stage.terminal.screen.dropLast() {
            #expect(row.isEmpty || begins.contains { row.hasPrefix($0) }, "\(row)")
        }
        stage.prompt = Prompt(chat: text, isOpen: true).text(columns: 40)
        stage.indicator = IndicatorText.text(names: [SafeText.name(text) ?? "", "Bob"])
        // The user's own pasted text is harmless as well.
        _ = stage.editor.handle(.paste(text))
        stage.draw(lines)
        #expect(stage.terminal.notUnderstood == [])
    }

    @Test(
        "messages",
        arguments: [
            ("plain", "plain"), ("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f\ng", "a\nb\nc\nd\ne\nf\ng"), ("\r\n\r\n", "\n\n"),
            ("\n\r", "\n\n"),
            ("\u{1B}[31m", "\\x1b[31m"), ("\u{0}\u{7}\u{7F}\u{9B}", "\\x00\\x07\\x7f\\x9b"), ("a\tb", "a    b"),
            ("a\u{202E}b\u{200F}c", "abc"), ("a\u{200B}b\u{FEFF}c\u{AD}d", "abcd"), ("👨‍👩‍👧 ❤\u{FE0F}", "👨‍👩‍👧 ❤\u{FE0F}"),
            ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("\u{E000}\u{FFFF}\u{378}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("a" + String(repeating: "\u{301}", count: 9), "a" + String(repeating: "\u{301}", count: 4)),
            ("👍🏽🏽🏽", "👍🏽"), ("a🏽 🏽1🏽", "a 1"), ("\u{1100}\u{1161}\u{11A8}", "\u{1100}\u{1161}\u{11A8}"),
            ("가" + String(repeating: "\u{11A8}", count: 9), "가" + String(repeating: "\u{11A8}", count: 4)),
            ("ｶ" + String(repeating: "\u{FF9E}", count: 9), "ｶ" + String(repeating: "\u{FF9E}", count: 4)),
            ("\u{301}a", "a"), ("a\n\u{301}b", "a\nb"), ("日本 e\u{301} नमस्ते", "日本 e\u{301} नमस्ते"),
        ])
    func messages(text: String, safe: String) {
        #expect(Array(SafeText.message(text).unicodeScalars) == Array(safe.unicodeScalars))
    }

    @Test("lines keep to one line")
    func oneLine() {
        #expect(SafeText.line("a\r\nb\nc\u{2028}d\te") == "a\\x0ab\\x0ac\\x0ad\\x09e")
    }

    @Test(
        "R19: names that can be shown, and those that can't",
        arguments: [
            ("Alice", "Alice"), ("  Alice \u{A0}\u{3000} B.  ", "Alice B."), ("日本", "日本"), ("7", "7"),
            ("O'Neill 🦊", "O'Neill 🦊"),
            ("A\u{200B}l\u{202E}ice", "Alice"), ("\u{301}Al", "Al"), ("Al \u{301}x", "Al x"), ("", nil), ("   ", nil),
            ("\u{200B}", nil), ("---", nil),
            ("🦊", nil), ("Al\u{1B}ice", nil), ("Al\nice", nil), ("Al\tice", nil), ("Al\u{85}ice", nil),
            ("Al\u{2028}ice", nil),
            ("\u{0}", nil), (String(repeating: "x", count: 40), String(repeating: "x", count: 32)),
            (String(repeating: "日", count: 40), String(repeating: "日", count: 16)),
            (String(repeating: "-", count: 32) + "a", nil), ("\u{E000}", nil),
        ] as [(String, String?)])
    func names(text: String, shown: String?) {
        #expect(SafeText.name(text) == shown)
    }

    @Test("a chain of joined pictures ends")
    func chain() {
        let safe = SafeText.message(String(repeating: "👩\u{200D}", count: 100))
        #expect(safe.allSatisfy { $0.unicodeScalars.count <= 2 * SafeText.joinedPerPicture })
    }
}

import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Safe text")
struct SafeTextTests {
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

    @Test("nothing harmful of a peer comes out of a message, a line or a name", arguments: HostileTexts.all)
    func harmless(_ row: HostileTexts.Row) {
        let text = row.text
        let isLong = text.utf8.count > 4_096
        for text in isLong ? [text] : [text, "Bob" + text, text + "Bob", text + text] {
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

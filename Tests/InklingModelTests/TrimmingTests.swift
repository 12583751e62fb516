import InklingModel
import Testing

@Suite("Trimming")
struct TrimmingTests {
    @Test(
        "white space at the ends goes, and nothing else",
        arguments: [
            ("a", "a"), (" a b\t", "a b"), ("\r\n a \u{3000}\n", "a"), ("\u{A0}\u{2003}é\u{2028}", "é"), ("", ""),
            (" \t\n", ""), ("a\u{301} ", "a\u{301}"), (" \u{301}a", "\u{301}a"), ("\u{200B}a", "\u{200B}a"),
        ])
    func ends(_ text: String, _ trimmed: String) {
        #expect(Array(text.trimmed.unicodeScalars) == Array(trimmed.unicodeScalars))
        #expect(Array("x\(text)x".dropFirst().dropLast().trimmed.unicodeScalars) == Array(trimmed.unicodeScalars))
    }
}

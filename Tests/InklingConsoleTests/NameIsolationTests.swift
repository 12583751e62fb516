import InklingConsole
import InklingText
import Testing

@Suite("Isolated names")
struct NameIsolationTests {
    private static let hebrew = "\u{5D3}\u{5D5}\u{5D3}"
    private static let isolated = "\u{2068}" + hebrew + "\u{2069}"

    private static func label(_ name: String) -> Labels.Label {
        var labels = Labels(ownName: "Alice")
        labels.update(Labels.Person(user: "mfrg2", name: name))
        return labels.label(of: "mfrg2")
    }

    @Test("a name is isolated in a line that has a right-to-left letter in it or beside it, and in no other")
    func lines() {
        #expect(ChatLines.message(from: Self.label(Self.hebrew), text: "1 2").text == Self.isolated + ": 1 2")
        #expect(
            ChatLines.message(from: Self.label("Bob"), text: Self.hebrew).text == "\u{2068}Bob\u{2069}: " + Self.hebrew)
        #expect(ChatLines.message(from: Self.label("Bob"), text: "1 2").text == "Bob: 1 2")
        let presence = PresenceLine(labels: [Self.label("Bob"), Self.label(Self.hebrew)], change: .online)
        #expect(
            ChatLines.presence(presence).text == "* \u{2068}Bob\u{2069} and \(Self.isolated) are here")
        #expect(presence.text == "Bob and \(Self.hebrew) are here", "what is not a line of the prompt has no isolates")
    }

    @Test("isolates have no width, and are not in output that is no terminal with UTF-8")
    func screens() {
        let line = ChatLines.message(from: Self.label(Self.hebrew), text: "1 2")
        #expect(DisplayWidth.of(line.text) == 8)
        #expect(line.plain == Self.hebrew + ": 1 2" && line.plainRows(columns: 40) == [Self.hebrew + ": 1 2"])
        for isolatesNames in [true, false] {
            var screen = Screen(columns: 40, rows: 10, decorated: false, isolatesNames: isolatesNames)
            let bytes = screen.draw(
                appending: [line], indicator: Self.isolated + " is typing...", prompt: "> ", editor: LineEditor())
            let drawn = String(decoding: bytes, as: UTF8.self).unicodeScalars
            #expect(drawn.count { $0 == "\u{2068}" } == (isolatesNames ? 2 : 0))
            #expect(drawn.count { $0 == "\u{2069}" } == (isolatesNames ? 2 : 0))
        }
    }

    @Test("a peer's isolates don't reach a line, and every isolate ends in it")
    func hostile() {
        let label = Self.label("\u{2069}\u{2068}" + Self.hebrew + "\u{2067}")
        #expect(ChatLines.message(from: label, text: "\u{2068}1\u{2066}").text.hasSuffix(": 1"))
        #expect(NameIsolation.line("\u{2069}a\u{2068}b") == "a\u{2068}b\u{2069}")
        #expect(NameIsolation.line("\u{202E}\u{2068}a\u{1B}\u{2069}") == "\u{2068}a\\x1b\u{2069}")
    }

    @Test("a name that was copied with its isolates is found")
    func find() {
        var labels = Labels(ownName: "Alice")
        labels.update(Labels.Person(user: "mfrg2", name: Self.hebrew))
        #expect(labels.find(Self.isolated) == .one("mfrg2"))
    }
}

import InklingService
import InklingModel
import Testing

/// The commands in lines of input, and the lines that are refused (J-1, J-4).
@Suite("Commands of the JSON interface")
struct JSONCommandTests {
    /// Returns the text of a `compose` whose `text` member is written as this JSON.
    private static func text(_ written: String) -> String? {
        let line = Array(#"{"do":"compose","text":\#(written)}"#.utf8)
        if case .success(.compose(let text, "kitchen")) = command(line) { return text }
        return nil
    }

    private static func command(_ line: [UInt8]) -> Result<ServiceRequest, NodeError> {
        JSONRequest(line, openChat: "kitchen").asked.map(\.request)
    }

    private static func refusal(_ line: [UInt8]) -> String? {
        if case .failure(.other("bad-command", let text)) = command(line) { text } else { nil }
    }

    // J-4
    @Test(
        "members that a command does not know may have any value, as deep as it is nested",
        arguments: [
            "null", "true", "false", "0", "-0", "12", "-1.50", "1e5", "1E+05", "0.5e-3", #""""#, #""\ud83d\ude00\/""#,
            "[]", "{}", "[1,[],{}]", #"{"a":{"b":[null,{"c":"d"}]},"e":1}"#, " [ 1 , 2 ] ", "\t{ \"a\" : 1 } ",
        ])
    func unknownMembers(_ value: String) {
        #expect(Self.refusal(Array(#"{"x":\#(value),"do":"who"}"#.utf8)) == nil)
        #expect(Self.refusal(Array(#" { "do" : "who" , "x" : \#(value) } "#.utf8)) == nil)
    }

    // A-3
    @Test(
        "a program that is attached passes an edit on without a parser if it is valid and in its usual form",
        arguments: [
            (#"{"do":"compose","text":""}"#, true), (#"{"do":"compose","text":"a, {b}: ü👩‍👩‍👧"}"#, true),
            (#" { "do" : "compose" ,\#t"text": "a" }"#, true),
            (#"{"do":"compose","text":"a\"}"#, false), (#"{"do":"compose","text":"\u0061"}"#, false),
            ("{\"do\":\"compose\",\"text\":\"\u{1}\"}", false), (#"{"do":"compose","text":"a"}}"#, false),
            (#"{"do":"compose","text":"a""#, false), (#"{"do":"compose","text":"a}"#, false),
            (#"{"do":"compose","text":"a","id":1}"#, false), (#"{"do":"compose","text":"a","chat":"b"}"#, false),
            (#"{"do":"compose","text":1}"#, false), (#"{"do":"compose"}"#, false),
            (#"{"do":"composer","text":""}"#, false),
            (#"{"do":"send","text":"a"}"#, false), ("", false), ("{", false),
        ])
    func passedEdits(_ line: String, isPassed: Bool) {
        #expect(RelayedLine.isEdit(Array(line.utf8)) == isPassed)
        guard isPassed else { return }
        guard case .success(.compose) = Self.command(Array(line.utf8)) else {
            Issue.record("no edit: \(line)")
            return
        }
    }

    // J-1
    @Test("a program that is attached passes no edit on that is not UTF-8")
    func passedUTF8() {
        let (before, after) = (Array(#"{"do":"compose","text":""#.utf8), Array(#""}"#.utf8))
        #expect(RelayedLine.isEdit(before + "é".utf8 + after))
        for text: [UInt8] in [[0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] {
            #expect(!RelayedLine.isEdit(before + text + after))
        }
    }

    // J-4
    @Test("a value that no command looks at may be nested as deep as a line is long")
    func depth() {
        let count = 400_000
        let arrays = String(repeating: "[", count: count) + String(repeating: "]", count: count)
        #expect(Self.refusal(Array(#"{"x":\#(arrays),"do":"who"}"#.utf8)) == nil)
        #expect(Self.refusal(Array(#"{"x":\#(arrays)],"do":"who"}"#.utf8)) != nil)
        #expect(Self.refusal(Array(String(repeating: #"{"x":"#, count: count).utf8)) != nil)
    }

    // J-4
    @Test(
        "a line is no object because of a value that no command looks at",
        arguments: [
            "01", "1.", "-", ".5", "+1", "1e", "1e+", "1-2", "0x10", "NaN", "tru", "truee", "nul", #""\q""#,
            #""\u12g4""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "\"\t\"", "\"\u{0}\"", "\"", "'a'", "[1,]",
            "[,1]", "[1 2]", #"{"a":1,}"#, #"{"a"}"#, #"{a:1}"#, "[1}", #"{"a":1]"#, "[", "", "/**/1",
        ])
    func malformedValues(_ value: String) {
        for line in [#"{"x":\#(value),"do":"who"}"#, #"{"do":"who","x":\#(value)}"#] {
            #expect(Self.refusal(Array(line.utf8))?.hasPrefix("the line is not valid JSON: ") == true)
        }
    }

    // J-1, J-4
    @Test(
        "a line is no object for what is around one",
        arguments: [
            #"{"do":"who",}"#, #"{"do":"who"}}"#, #"{"do":"who"} x"#, #"{"do":"who""#, #"{"do":"who""x":1}"#, "{,}",
            #"{"do":"who"}{"do":"who"}"#, "{\"do\":\"who\"}\u{0}", "{\"do\":\"who\"}\u{C}",
        ])
    func malformedObjects(_ line: String) {
        #expect(Self.refusal(Array(line.utf8))?.hasPrefix("the line is not valid JSON: see its byte ") == true)
    }

    // J-1
    @Test("a line in UTF-16 or UTF-32, or behind a byte order mark, is no object")
    func otherEncodings() {
        let line = #"{"do":"who"}"#.utf8
        let refused = "the line is not valid JSON: see its byte 2"
        #expect(Self.refusal(line.flatMap { [$0, 0] }) == refused)
        #expect(Self.refusal(line.flatMap { [$0, 0, 0, 0] }) == refused)
        #expect(Self.refusal(line.flatMap { [0, $0] }) == "the line is not a JSON object")
        #expect(Self.refusal([0xEF, 0xBB, 0xBF] + line) == "the line is not a JSON object")
        #expect(Self.refusal([0xFF, 0xFE] + line) == "the line is not UTF-8")
    }

    @Test("a refusal names the byte that can't be there, or the end")
    func position() {
        #expect(Self.refusal(Array(#"{"do":"who","x":tru}"#.utf8)) == "the line is not valid JSON: see its byte 20")
        #expect(Self.refusal(Array(#"{"do":"#.utf8)) == "the line is not valid JSON: see its byte 7")
        #expect(Self.refusal(Array("[]".utf8)) == "the line is not a JSON object")
    }

    @Test("escapes are read, and all else stays as it is")
    func texts() {
        #expect(Self.text(#""a\"\\\/\b\f\n\r\t\u00E9\ud83d\ude00é😀\u0000""#) == "a\"\\/\u{8}\u{C}\n\r\té😀é😀\u{0}")
        #expect(Self.text("\"cafe\u{301}\"")?.unicodeScalars.count == 5)
        #expect(Self.text("\"\u{7F}\u{FEFF}\"") == "\u{7F}\u{FEFF}")
    }

    // Found by fuzzing: Foundation removes the mark.
    @Test("a byte order mark in a string is a character like any other, at its beginning too")
    func byteOrderMark() {
        #expect(Self.text("\"\u{FEFF}den\"") == "\u{FEFF}den")
        #expect(Self.text(#""\ufeffden""#) == "\u{FEFF}den")
    }

    @Test("of two members of a name the first counts, in escapes too")
    func twice() {
        let line = #"{"\u0064o":"compose","do":"quit","text":"a","text":"b"}"#
        guard case .success(.compose("a", "kitchen")) = Self.command(Array(line.utf8)) else {
            Issue.record("another command")
            return
        }
    }

    // J-4
    @Test("a member that is no string is refused, and so is null")
    func notStrings() {
        for value in ["null", "1", "true", "[]", "{}"] {
            let line = #"{"do":"join","chat":"kitchen","secret":\#(value)}"#
            #expect(Self.refusal(Array(line.utf8)) == "\"secret\" must be a string")
        }
        #expect(Self.refusal(Array(#"{"chat":"kitchen"}"#.utf8)) == "\"do\" is missing")
        #expect(Self.refusal(Array(#"{"do":"join"}"#.utf8)) == "\"chat\" is missing")
    }

    @Test("a refusal stays short, however long the command that it repeats")
    func shortRefusal() throws {
        let name = "e" + String(repeating: "\u{301}", count: 10_000)
        let refusal = try #require(Self.refusal(Array(#"{"do":"\#(name)"}"#.utf8)))
        #expect(refusal.hasPrefix("there is no command \"") && refusal.utf8.count < 300)
    }

    // J-6
    @Test("the tag of a send is known, even of one that is refused")
    func tag() {
        #expect(JSONRequest(Array(#"{"do":"send","tag":"7","text":1}"#.utf8), openChat: nil).tag == "7")
        #expect(JSONRequest(Array(#"{"do":"send","tag":7}"#.utf8), openChat: nil).tag == nil)
        #expect(JSONRequest(Array(#"{"do":"compose","tag":"7"}"#.utf8), openChat: nil).tag == nil)
        #expect(JSONRequest(Array(#"{"do":"send","tag":"7""#.utf8), openChat: nil).tag == nil)
    }
}

import InklingConsole
import Testing

@Suite("Key decoder")
struct KeyDecoderTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let bytes: String
        let keys: [Key]
        var testDescription: String { String(reflecting: bytes) }
    }

    static let rows: [Row] = [
        Row(bytes: "aé日😀", keys: [.text("a"), .text("é"), .text("日"), .text("😀")]),
        Row(bytes: "\r\n\t\u{7F}\u{8}", keys: [.enter, .enter, .tab, .backspace, .backspace]),
        Row(bytes: "\u{1}\u{1A}\u{0}\u{1C}", keys: [.control("a"), .control("z"), .control("@"), .control("\\")]),
        Row(bytes: "\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", keys: [.up, .down, .right, .left]),
        Row(bytes: "\u{1B}OA\u{1B}OD\u{1B}OH\u{1B}OF\u{1B}OM", keys: [.up, .left, .home, .end, .enter]),
        Row(
            bytes: "\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~",
            keys: [.home, .end, .home, .end, .home, .end]),
        Row(bytes: "\u{1B}[3~\u{1B}[3;5~\u{1B}[2~", keys: [.delete, .alt("d"), .unknown]),
        Row(bytes: "\u{1B}[1;5C\u{1B}[1;3D\u{1B}[1;2C", keys: [.wordRight, .wordLeft, .right]),
        Row(bytes: "\u{1B}b\u{1B}f\u{1B}\u{7F}\u{1B}\r", keys: [.alt("b"), .alt("f"), .altBackspace, .altEnter]),
        Row(bytes: "\u{1B}[Z\u{1B}[15~\u{1B}[[Ax", keys: [.backTab, .unknown, .unknown, .text("x")]),
        Row(bytes: "\u{1B}[13;2u\u{1B}[13u\u{1B}[127;5u", keys: [.altEnter, .enter, .altBackspace]),
        Row(bytes: "\u{1B}\u{1B}[A", keys: [.escape, .up]),
        Row(bytes: "\u{1B}[200~one\rtwo\u{1B}[A\u{1B}[201~x", keys: [.paste("one\rtwo\u{1B}[A"), .text("x")]),
        Row(bytes: "\u{1B}[200~\u{1B}[20\u{1B}[201~", keys: [.paste("\u{1B}[20")]),
        Row(bytes: "\u{1B}[200~\u{1B}[201~", keys: [.paste("")]),
        Row(bytes: "\u{9B}A\u{85}", keys: [.unknown, .text("A"), .unknown]),
        Row(bytes: "\u{1B}[" + String(repeating: "1;", count: 100) + "Ax", keys: [.unknown, .text("x")]),
        Row(bytes: "\u{1B}[1\u{1}", keys: [.control("a")]),
        Row(
            bytes: "\u{1B}[1;-9223372036854775808A\u{1B}[-9223372036854775808;9223372036854775807~x",
            keys: [.up, .unknown, .text("x")]),
    ]

    @Test("the same keys come out wherever the bytes are cut", arguments: rows)
    func splits(_ row: Row) {
        let bytes = Array(row.bytes.utf8)
        for cut in 0...bytes.count {
            var decoder = KeyDecoder()
            #expect(decoder.feed(bytes[..<cut]) + decoder.feed(bytes[cut...]) == row.keys, "cut at \(cut)")
        }
        var decoder = KeyDecoder()
        #expect(bytes.flatMap { decoder.feed([$0]) } == row.keys, "byte by byte")
        #expect(!decoder.isWaiting)
    }

    @Test("an Escape that nothing follows is the key itself")
    func loneEscape() {
        var decoder = KeyDecoder()
        #expect(decoder.feed([0x1B]) == [])
        #expect(decoder.isWaiting)
        #expect(decoder.flush() == [.escape])
        #expect(!decoder.isWaiting)
        #expect(decoder.feed(Array("\u{1B}[".utf8)) == [])
        #expect(decoder.flush() == [.alt("[")])
        #expect(decoder.feed(Array("\u{1B}O".utf8)) == [])
        #expect(decoder.flush() == [.alt("O")])
        #expect(decoder.feed(Array("x".utf8)) == [.text("x")])
    }

    @Test("a paste whose end never comes can be ended, and keys work again")
    func endPaste() {
        var decoder = KeyDecoder()
        #expect(decoder.endPaste() == [])
        #expect(decoder.feed(Array("\u{1B}[200~abc\u{1B}[20".utf8)) == [])
        #expect(decoder.isPasting)
        #expect(decoder.endPaste() == [.paste("abc\u{1B}[20")])
        #expect(!decoder.isPasting)
        #expect(decoder.feed([0x03]) == [.control("c")])
    }

    @Test("a flush in the middle of a paste or of a character changes nothing")
    func flushInside() {
        var decoder = KeyDecoder()
        #expect(decoder.feed(Array("\u{1B}[200~a\u{1B}".utf8)) + decoder.flush() == [])
        #expect(decoder.feed(Array("[201~".utf8)) == [.paste("a")])
        #expect(decoder.feed([0xC3]) + decoder.flush() == [])
        #expect(decoder.feed([0xA9]) == [.text("é")])
    }

    @Test(
        "bytes that are no UTF-8 become replacement characters, and what follows is read",
        arguments: [[0xFF], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0x80], [0xC0], [0xED, 0xA0, 0x80], [0xF5]]
            as [[UInt8]])
    func invalid(bytes: [UInt8]) {
        var decoder = KeyDecoder()
        let keys = decoder.feed(bytes + [0x61])
        #expect(keys.last == .text("a"))
        #expect(keys.dropLast().allSatisfy { $0 == .text("\u{FFFD}") })
        #expect(keys.count >= 2)
    }

    @Test("no pair or triple of bytes makes it stop reading")
    func survives() {
        let special: [UInt8] = [0x00, 0x1B, 0x5B, 0x4F, 0x32, 0x3B, 0x7E, 0x7F, 0x80, 0xC3, 0xE2, 0xF0, 0xFF, 0x41]
        for first in special {
            for second in special {
                for third in special {
                    var decoder = KeyDecoder()
                    _ = decoder.feed([first, second, third])
                    _ = decoder.flush()
                    // Ends any sequence or paste that has begun.
                    _ = decoder.feed(Array("\u{1B}[201~~~".utf8))
                    #expect(decoder.feed([0x61]) == [.text("a")])
                }
            }
        }
    }

    @Test("a paste is cut at its limit and still ends")
    func longPaste() {
        var decoder = KeyDecoder()
        let text = [UInt8](repeating: 0x61, count: KeyDecoder.pasteLimit + 100)
        let keys = decoder.feed(Array("\u{1B}[200~".utf8) + text + Array("\u{1B}[201~b".utf8))
        #expect(keys == [.paste(String(repeating: "a", count: KeyDecoder.pasteLimit)), .text("b")])
    }
}

import Foundation
import InklingModel
import Testing

@Suite("Normal forms")
struct NormalFormTests {
    static let texts = [
        "", "plain", "caf\u{E9}", "cafe\u{301}", "\u{212B}", "\u{1100}\u{1161}\u{11A8}", "ﬁ", "Ｂｏｂ",
        "a\u{316}\u{301}", "a\u{301}\u{316}", "\u{958}", "\u{2126}", "①²", "ſ", "日本", "👨‍👩‍👧", "\u{0}x\u{301}", "\u{1D15E}",
        "q\u{323}\u{307}", "\u{1E9B}\u{323}", "\u{FB1D}", "\u{F900}", "\u{378}\u{301}", "\u{10FFFF}",
        String(repeating: "e\u{301}", count: 40_000),
    ]

    // W-2
    @Test("NFC and NFKC are what Foundation makes of a text too", arguments: texts)
    func asFoundation(_ text: String) {
        #expect(
            Array(NormalForm.canonical(text).unicodeScalars)
                == Array(text.precomposedStringWithCanonicalMapping.unicodeScalars))
        #expect(
            Array(NormalForm.compatible(text).unicodeScalars)
                == Array(text.precomposedStringWithCompatibilityMapping.unicodeScalars))
    }

    // Foundation composes the low halves of scalars beyond the first plane with marks, and no Hangul syllable with a
    // final consonant. For these the test follows the standard.
    @Test("so is each assigned scalar by itself, and before a mark")
    func everyScalar() {
        var different: [UInt32] = []
        for value in UInt32(0x80)...0x2FFFF {
            guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned,
                scalar.properties.age.map({ $0.major < 15 }) == true
            else { continue }
            for text in [String(scalar)] + (value <= 0xFFFF ? [String(scalar) + "\u{301}"] : []) {
                let isSame =
                    NormalForm.canonical(text).unicodeScalars.elementsEqual(
                        text.precomposedStringWithCanonicalMapping.unicodeScalars)
                    && NormalForm.compatible(text).unicodeScalars.elementsEqual(
                        text.precomposedStringWithCompatibilityMapping.unicodeScalars)
                if !isSame { different.append(value) }
            }
        }
        #expect(different == [])
    }

    @Test(
        "what Foundation does not compose as the standard has it",
        arguments: [
            ("\u{AC00}\u{11A8}", "\u{AC01}"), ("\u{10041}\u{301}", "\u{10041}\u{301}"),
            ("\u{21F00}\u{301}", "\u{21F00}\u{301}"), ("\u{11099}\u{110BA}", "\u{1109A}"),
        ])
    func standard(_ text: String, _ composed: String) {
        #expect(Array(NormalForm.canonical(text).unicodeScalars) == Array(composed.unicodeScalars))
        #expect(Array(NormalForm.compatible(text).unicodeScalars) == Array(composed.unicodeScalars))
    }

    @Test(
        "blanks around a text are left out, and line ends where that is said",
        arguments: [
            "", " ", "\t x\u{3000}", "\n x \r\n", "\u{200B}x\u{2028}", " \u{301}x ", "a b", "\u{85}x\u{A0}",
            "\u{B}x\u{C}",
        ])
    func trimmed(_ text: String) {
        #expect(
            Array(Blanks.trimmed(text).unicodeScalars)
                == Array(text.trimmingCharacters(in: .whitespaces).unicodeScalars))
        #expect(
            Array(Blanks.trimmed(text, lineEnds: true).unicodeScalars)
                == Array(text.trimmingCharacters(in: .whitespacesAndNewlines).unicodeScalars))
    }
}

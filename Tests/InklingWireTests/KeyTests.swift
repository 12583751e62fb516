import InklingWire
import Testing

/// A text, and the error of its reader; nil for a good text.
struct TextRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String
    let error: TextError?

    init(_ testDescription: String, _ text: String, _ error: TextError?) {
        self.testDescription = testDescription
        self.text = text
        self.error = error
    }
}

/// The 32 bytes of a number near p = 2²⁵⁵ − 19, least significant first, and whether it is a canonical key.
struct KeyRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let low: UInt8
    let middle: UInt8
    let high: UInt8
    let isValid: Bool

    var bytes: [UInt8] { [low] + Array(repeating: middle, count: 30) + [high] }

    init(_ testDescription: String, _ low: UInt8, _ middle: UInt8, _ high: UInt8, _ isValid: Bool) {
        self.testDescription = testDescription
        self.low = low
        self.middle = middle
        self.high = high
        self.isValid = isValid
    }
}

@Suite("Keys")
struct KeyTests {
    @Test("S-6: keys and secrets come from the given generator alone")
    func determinism() {
        var first = SeededGenerator(seed: 5)
        var second = SeededGenerator(seed: 5)
        let pair = KeyPair(using: &first)
        #expect(pair == KeyPair(using: &second))
        #expect(ChatSecret(using: &first) == ChatSecret(using: &second))
        #expect(KeyPair(using: &first) != pair)
    }

    @Test(
        "W-3: a key is canonical below 2^255 - 19 and not zero",
        arguments: [
            KeyRow("zero", 0, 0, 0, false),
            KeyRow("one", 1, 0, 0, true),
            KeyRow("p - 1", 0xEC, 0xFF, 0x7F, true),
            KeyRow("p", 0xED, 0xFF, 0x7F, false),
            KeyRow("p + 18, the last below 2^255", 0xFF, 0xFF, 0x7F, false),
            KeyRow("a low byte as in p, and less above", 0xFF, 0xFE, 0x7F, true),
            KeyRow("a high byte one less than in p", 0xFF, 0xFF, 0x7E, true),
            KeyRow("the top bit alone", 0, 0, 0x80, false),
            KeyRow("one and the top bit", 1, 0, 0x80, false),
            KeyRow("all ones", 0xFF, 0xFF, 0xFF, false),
        ])
    func canonical(_ row: KeyRow) {
        #expect(PublicKey(row.bytes)?.bytes == (row.isValid ? row.bytes : nil))
    }

    @Test("L-1: keys are ordered by their bytes")
    func order() throws {
        var generator = SeededGenerator(seed: 3)
        let keys = (0..<50).map { _ in KeyPair(using: &generator).publicKey }
        for (left, right) in zip(keys, keys.dropFirst()) {
            #expect((left < right) == left.bytes.lexicographicallyPrecedes(right.bytes))
            #expect(!(left < left))
        }
        for index in 0..<32 {
            var more = [UInt8](repeating: 1, count: 32)
            more[index] = 2
            let one = try #require(PublicKey(Array(repeating: 1, count: 32)))
            let two = try #require(PublicKey(more))
            #expect(one < two)
            #expect(Set([one, two]).count == 2)
        }
    }

    @Test(
        "W-5: a user ID is 16 characters of lower-case base32",
        arguments: [
            TextRow("letters and digits", "abcdefgz234567aa", nil),
            TextRow("an upper-case letter", "Abcdefgz234567aa", .alphabet),
            TextRow("a digit outside base32", "abcdefgz134567aa", .alphabet),
            TextRow("15 characters", "abcdefgz234567a", .length),
            TextRow("17 characters", "abcdefgz234567aaa", .length),
        ])
    func userID(_ row: TextRow) {
        #expect(UserID(row.text)?.description == (row.error == nil ? row.text : nil))
    }
}

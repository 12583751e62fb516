import InklingTestSupport
import InklingWire
import Testing

/// A text, and whether it is the canonical one of something.
struct TextRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String
    let isValid: Bool

    init(_ testDescription: String, _ text: String, _ isValid: Bool) {
        self.testDescription = testDescription
        self.text = text
        self.isValid = isValid
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
    private static let zeroes = String(repeating: "A", count: 42)

    @Test("a private key has the public key that RFC 7748 gives it, and comes back as it was")
    func keyPair() throws {
        let secret = try unhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
        let pair = try #require(KeyPair(privateKey: secret))
        #expect(
            hex(pair.publicKey.bytes) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        #expect(pair.privateKey == secret)
        #expect(KeyPair(privateKey: Array(secret.dropLast())) == nil)
        #expect(KeyPair(privateKey: secret + [0]) == nil)
    }

    @Test("the same seed makes the same keys and secrets")
    func determinism() {
        var first = SeededGenerator(seed: 5)
        var second = SeededGenerator(seed: 5)
        #expect(KeyPair(using: &first).privateKey == KeyPair(using: &second).privateKey)
        #expect(ChatSecret(using: &first) == ChatSecret(using: &second))
        #expect(KeyPair(using: &first).privateKey != KeyPair(using: &first).privateKey)
    }

    @Test(
        "W-3: a key is canonical below 2^255 - 19 and is not zero",
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
        #expect((PublicKey(row.bytes) != nil) == row.isValid)
        #expect(PublicKey(row.bytes)?.bytes == (row.isValid ? row.bytes : nil))
        let chat = ChatKeys(openName: "a")
        #expect((chat.unmasked(row.bytes, nonce: 0) != nil) == row.isValid)
    }

    @Test("a key has 32 bytes", arguments: [0, 1, 31, 33, 64])
    func keySize(_ count: Int) {
        #expect(PublicKey(Array(repeating: 1, count: count)) == nil)
        #expect(ChatKeys(openName: "a").unmasked(Array(repeating: 1, count: count), nonce: 0) == nil)
    }

    @Test("the order of keys is that of their bytes")
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
        "W-6: a key in text is 43 characters of base64url with its spare bits zero",
        arguments: [
            TextRow("the key 1", "AQ" + zeroes.dropFirst(1), true),
            TextRow("spare bits that are not zero", "AQ" + zeroes.dropFirst(2) + "B", false),
            TextRow("all 6-bit values around the ends of the alphabet", "AZaz09-_" + zeroes.dropFirst(7), true),
            TextRow("padding", "AQ" + zeroes.dropFirst(1) + "=", false),
            TextRow("a character less", "AQ" + zeroes.dropFirst(2), false),
            TextRow("a character more", "AQ" + zeroes, false),
            TextRow("the other base64's plus", "AQ+" + zeroes.dropFirst(2), false),
            TextRow("the other base64's slash", "AQ/" + zeroes.dropFirst(2), false),
            TextRow("a space", "AQ " + zeroes.dropFirst(2), false),
            TextRow("a letter of another script", "АQ" + zeroes.dropFirst(2), false),
            TextRow("the key 0", zeroes + "A", false),
            TextRow("a number beyond p", String(repeating: "_", count: 42) + "8", false),
            TextRow("nothing", "", false),
        ])
    func base64url(_ row: TextRow) {
        #expect((PublicKey(base64url: row.text) != nil) == row.isValid)
        #expect(PublicKey(base64url: row.text)?.base64url == (row.isValid ? row.text : nil))
    }

    @Test(
        "W-5: a user ID is 16 characters of lower-case base32",
        arguments: [
            TextRow("letters and digits", "abcdefgz234567aa", true),
            TextRow("an upper-case letter", "Abcdefgz234567aa", false),
            TextRow("a digit that base32 has not", "abcdefgz134567aa", false),
            TextRow("15 characters", "abcdefgz234567a", false),
            TextRow("17 characters", "abcdefgz234567aaa", false),
        ])
    func userID(_ row: TextRow) {
        #expect((UserID(row.text) != nil) == row.isValid)
        #expect(UserID(row.text)?.description == (row.isValid ? row.text : nil))
    }

    @Test(
        "W-7: a secret in text is 26 characters of lower-case base32 with its spare bits zero",
        arguments: [
            TextRow("zero", String(repeating: "a", count: 26), true),
            TextRow("all ones", String(repeating: "7", count: 25) + "4", true),
            TextRow("the lower spare bit set", String(repeating: "a", count: 25) + "b", false),
            TextRow("the higher spare bit set", String(repeating: "a", count: 25) + "c", false),
            TextRow("an upper-case letter", "A" + String(repeating: "a", count: 25), false),
            TextRow("25 characters", String(repeating: "a", count: 25), false),
            TextRow("27 characters", String(repeating: "a", count: 27), false),
            TextRow("a passphrase", "correct horse battery stap", false),
        ])
    func secret(_ row: TextRow) {
        #expect((ChatSecret(base32: row.text) != nil) == row.isValid)
        #expect(ChatSecret(base32: row.text)?.base32 == (row.isValid ? row.text : nil))
        #expect(ChatSecret(base32: row.text)?.bytes.count == (row.isValid ? 16 : nil))
    }

    @Test(
        "D-1: a chat's tag in text is 16 lower-case hex digits",
        arguments: [
            TextRow("digits and letters", "0123456789abcdef", true),
            TextRow("an upper-case letter", "0123456789abcdeF", false),
            TextRow("15 digits", "0123456789abcde", false),
            TextRow("17 digits", "0123456789abcdef0", false),
            TextRow("a sign", "-123456789abcdef", false),
        ])
    func tag(_ row: TextRow) {
        #expect((ChatTag(hex: row.text) != nil) == row.isValid)
        #expect(ChatTag(hex: row.text)?.hex == (row.isValid ? row.text : nil))
    }
}

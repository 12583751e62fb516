import InklingTestSupport
import InklingWire
import Testing

@Suite("What is derived for a chat")
struct ChatTests {
    private var generator = SeededGenerator(seed: 11)

    @Test("W-8: an open chat's tag and key come of its name, and are not one another's")
    func open() {
        let chat = ChatKeys(openName: "garden")
        #expect(chat.isOpen)
        #expect(chat == ChatKeys(openName: "garden"))
        #expect(chat.preSharedKey.count == 32)
        #expect(chat.tag != ChatKeys(openName: "Garden").tag)
        #expect(chat.preSharedKey != ChatKeys(openName: "garden ").preSharedKey)
        #expect(!chat.preSharedKey.starts(with: chat.tag.value.bigEndianBytes))
    }

    @Test("W-9: a secret chat's tag and key come of its secret alone, and differ with each bit of it")
    func secret() throws {
        let secret = [UInt8](repeating: 0, count: 16)
        let chats = try ([secret] + bitFlips(of: secret).map(\.bytes)).map {
            ChatKeys(secret: try #require(ChatSecret($0)))
        }
        #expect(Set(chats.map(\.tag)).count == 129)
        #expect(Set(chats.map(\.preSharedKey)).count == 129)
        #expect(chats.allSatisfy { !$0.isOpen && $0.preSharedKey.count == 32 })
        #expect(ChatSecret(Array(repeating: 0, count: 15)) == nil)
        #expect(ChatSecret(Array(repeating: 0, count: 17)) == nil)
    }

    @Test("W-10: a key is masked in a secret chat, differently under each nonce, and plain in an open one")
    mutating func mask() {
        let key = KeyPair(using: &generator).publicKey
        let open = ChatKeys(openName: "garden")
        #expect(open.masked(key, nonce: 0) == key.bytes)
        #expect(open.masked(key, nonce: 7) == key.bytes)
        #expect(open.unmasked(key.bytes, nonce: 7) == key, "a nonce in an open chat is ignored")

        let chat = ChatKeys(secret: ChatSecret(using: &generator))
        let one = chat.masked(key, nonce: 1)
        let two = chat.masked(key, nonce: 2)
        #expect(one != key.bytes && two != key.bytes && one != two)
        #expect(chat.unmasked(one, nonce: 1) == key)
        #expect(chat.unmasked(one, nonce: 2) != key)
        #expect(ChatKeys(secret: ChatSecret(using: &generator)).unmasked(one, nonce: 1) != key)
    }
}

/// A TXT record as its strings, and what it is to the members of an open chat.
struct RecordRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let strings: [String]
    let error: ServiceRecordError?

    init(_ testDescription: String, _ strings: [String], _ error: ServiceRecordError?) {
        self.testDescription = testDescription
        self.strings = strings
        self.error = error
    }

    var bytes: [UInt8] { strings.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } }
}

@Suite("The TXT record")
struct ServiceRecordTests {
    private static let key = "AQ" + String(repeating: "A", count: 41)
    private static let other = "Ag" + String(repeating: "A", count: 41)
    private let open = ChatKeys(openName: "garden")
    private var generator = SeededGenerator(seed: 12)

    @Test("D-3, S-1: it says txtvers=1, the key and in a secret chat the nonce, in this order")
    mutating func encode() throws {
        let key = KeyPair(using: &generator).publicKey
        let plain = ServiceRecord.encode(key: key, nonce: 5, for: open)
        #expect(String(decoding: plain, as: UTF8.self) == "\u{9}txtvers=1" + "\u{2D}k=" + key.base64url)
        #expect(try ServiceRecord.parse(plain, for: open) == key)

        let chat = ChatKeys(secret: ChatSecret(using: &generator))
        let masked = ServiceRecord.encode(key: key, nonce: 0xAB, for: chat)
        #expect(String(decoding: masked, as: UTF8.self).hasSuffix("\u{12}n=00000000000000ab"))
        #expect(try ServiceRecord.parse(masked, for: chat) == key)
        #expect(!masked.contains(subsequence: Array(key.base64url.utf8)))
        #expect(masked.count == 10 + 46 + 19, "nothing else is published")
        #expect(masked.count <= Limits.maximumTXTSizeSent)
    }

    @Test(
        "D-5, D-6: it is read as RFC 6763 says, and one without a valid key names no peer",
        arguments: [
            RecordRow("the usual record", ["txtvers=1", "k=" + key], nil),
            RecordRow("another order, and unknown keys", ["zz=9", "k=" + key, "flag", "txtvers=1"], nil),
            RecordRow("names in upper case", ["TXTVERS=1", "K=" + key], nil),
            RecordRow("a second key, which does not count", ["txtvers=1", "k=" + key, "k=" + other], nil),
            RecordRow("a first key that is bad", ["txtvers=1", "k=", "k=" + key], .key),
            RecordRow("a first key without a value", ["txtvers=1", "k", "K=" + key], .key),
            RecordRow("empty strings and a string without a name", ["", "=x", "txtvers=1", "", "k=" + key], nil),
            RecordRow("a nonce, which an open chat ignores", ["txtvers=1", "k=" + key, "n=zz"], nil),
            RecordRow("nothing", [], .version),
            RecordRow("one empty string", [""], .version),
            RecordRow("no version", ["k=" + key], .version),
            RecordRow("another version", ["txtvers=2", "k=" + key], .version),
            RecordRow("a version with a zero before it", ["txtvers=01", "k=" + key], .version),
            RecordRow("no key", ["txtvers=1"], .key),
            RecordRow("a key with padding", ["txtvers=1", "k=" + key + "="], .key),
            RecordRow("a key that is zero", ["txtvers=1", "k=" + String(repeating: "A", count: 43)], .key),
            RecordRow("a number beyond p", ["txtvers=1", "k=" + String(repeating: "_", count: 42) + "8"], .key),
        ])
    func parse(_ row: RecordRow) throws {
        guard let error = row.error else {
            #expect(try ServiceRecord.parse(row.bytes, for: open).base64url == Self.key)
            return
        }
        #expect(throws: error) { try ServiceRecord.parse(row.bytes, for: open) }
    }

    @Test("in a secret chat the nonce is 16 lower-case hex digits, and it takes the right one to read the key")
    mutating func nonce() throws {
        let chat = ChatKeys(secret: ChatSecret(using: &generator))
        let key = KeyPair(using: &generator).publicKey
        let text = ServiceRecord.encode(key: key, nonce: 0xABCD_EF01_2345_6789, for: chat)
        let strings = ["txtvers=1", String(decoding: text[10..<56].dropFirst(), as: UTF8.self)]
        let good = RecordRow("", strings + ["n=abcdef0123456789"], nil)
        #expect(try ServiceRecord.parse(good.bytes, for: chat) == key)
        for bad in ["n=ABCDEF0123456789", "n=abcdef012345678", "n=abcdef01234567890", "n=", "n", "m=abcdef0123456789"] {
            let row = RecordRow("", strings + [bad], .nonce)
            #expect(throws: ServiceRecordError.nonce) { try ServiceRecord.parse(row.bytes, for: chat) }
        }
        let wrong = RecordRow("", strings + ["n=abcdef012345678a"], nil)
        #expect((try? ServiceRecord.parse(wrong.bytes, for: chat)) != key)
    }

    @Test("one whose strings reach beyond its end is refused, wherever it is cut")
    mutating func truncations() {
        let key = KeyPair(using: &generator).publicKey
        let whole = ServiceRecord.encode(key: key, nonce: 0, for: open)
        for count in whole.indices {
            let error: ServiceRecordError = count == 0 ? .version : count == 10 ? .key : .format
            #expect(throws: error, "\(count) bytes") {
                try ServiceRecord.parse(Array(whole.prefix(count)), for: open)
            }
        }
    }

    @Test("with one bit flipped it never traps and never names the same key by another text")
    mutating func flippedBits() {
        let key = KeyPair(using: &generator).publicKey
        let chat = ChatKeys(secret: ChatSecret(using: &generator))
        for flip in bitFlips(of: ServiceRecord.encode(key: key, nonce: 9, for: chat)) {
            let parsed = try? ServiceRecord.parse(flip.bytes, for: chat)
            // The case of a name means nothing: bit 5 of a letter.
            let isName = (1..<8).contains(flip.byte) || flip.byte == 11 || flip.byte == 57
            #expect(parsed != key || (isName && flip.mask == 0x20), "bit \(flip.mask) of byte \(flip.byte)")
        }
    }

    @Test("1,300 bytes are read, and one more is too long")
    func size() throws {
        var strings = ["txtvers=1", "k=" + Self.key]
        strings += Array(repeating: "x=" + String(repeating: "y", count: 252), count: 4)
        let row = RecordRow("", strings, nil)
        let filler = 1_300 - row.bytes.count - 1
        #expect((0...255).contains(filler))
        let whole = row.bytes + [UInt8(filler)] + Array(repeating: 0x7A, count: filler)
        #expect(whole.count == 1_300)
        #expect(try ServiceRecord.parse(whole, for: open).base64url == Self.key)
        #expect(throws: ServiceRecordError.length) { try ServiceRecord.parse(whole + [0], for: open) }
    }
}

extension Array where Element: Equatable {
    fileprivate func contains(subsequence: [Element]) -> Bool {
        indices.contains { self[$0...].starts(with: subsequence) }
    }
}

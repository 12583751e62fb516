import InklingWire
import Testing

@Suite("Chats")
struct ChatTests {
    private func name(_ text: String) throws -> ChatName { try ChatName(text) }

    @Test("W-2: a name has 1 to 64 bytes in NFC")
    func nameSizes() throws {
        #expect(throws: ChatNameError.length) { try ChatName("") }
        #expect(throws: ChatNameError.length) { try ChatName(String(repeating: "a", count: 65)) }
        #expect(try ChatName(String(repeating: "e\u{301}", count: 32)).text.utf8.count == 64)
        #expect(Array(try ChatName("Zoe\u{308}").text.utf8) == Array("Zo\u{EB}".utf8))
    }

    @Test(
        "W-2: no control, format or separator character but the space",
        arguments: [
            "\u{0}", "\n", "\u{7F}", "\u{9F}", "\u{AD}", "\u{200D}", "\u{2028}", "\u{2029}", "\u{A0}", "\u{3000}",
        ])
    func characters(_ character: String) throws {
        #expect(throws: ChatNameError.character) { try ChatName("a" + character + "b") }
        #expect(throws: Never.self) { try ChatName(" a b 🥞 ") }
    }

    @Test("W-35: a name does not begin as an invite does, in letters of either case")
    func invites() throws {
        for text in ["inkling:", "InKlInG:x", "inkling:\u{301}"] {
            #expect(throws: ChatNameError.invite) { try ChatName(text) }
        }
        for text in ["inkling", "inkling;x", " inkling:x", "xinkling:", "\u{29}nkling:", "inklin\u{27}:"] {
            #expect(throws: Never.self) { try ChatName(text) }
        }
    }

    @Test("W-34: the reader says which part of an invite is bad")
    func inviteErrors() throws {
        let secret = String(repeating: "a", count: 26)
        let rows: [(String, InviteError)] = [
            ("inkling", .scheme), ("inkling:a", .separator), ("inkling:a%#" + secret, .escape),
            ("inkling:a%4", .separator), ("inkling:%ED%A0%80#" + secret, .escape),
            ("inkling:#" + secret, .name(.length)), ("inkling:inkling%3Ab#" + secret, .name(.invite)),
            ("inkling:a#", .secret(.length)), ("inkling:a#@", .secret(.length)), ("inkling:a#b#c", .secret(.length)),
            ("inkling:a#\(secret)@", .owner(.length)), ("inkling:a#\(secret)@@", .owner(.length)),
        ]
        for (text, error) in rows {
            #expect(throws: error, "\(text)") { try Invite(text) }
        }
    }

    @Test("W-8, W-9: each name, secret and owner makes another chat, and none shares a key")
    func chats() throws {
        var generator = SeededGenerator(seed: 11)
        let bytes = [UInt8](repeating: 0, count: 16)
        let secrets = try ([bytes] + bitFlips(of: bytes).map(\.bytes)).map { try #require(ChatSecret($0)) }
        var chats = try ["garden", "Garden", "garden "].map { ChatKeys(openName: try name($0)) }
        chats += secrets.map { ChatKeys(secret: $0) }
        chats += (0..<3).map { _ in ChatKeys(secret: secrets[0], owner: KeyPair(using: &generator).publicKey) }
        #expect(Set(chats).count == 135)
        #expect(Set(chats.map(\.preSharedKey) + chats.map(\.prologueKey)).count == 270, "W-36")
        #expect(ChatSecret(bytes + [0]) == nil)
        #expect(ChatKeys(secret: secrets[0]) == chats[3])
    }

    @Test("W-36, W-37: an ask and an instance name fit one chat, and neither check serves as the other")
    func checks() throws {
        let chat = ChatKeys(openName: try name("garden"))
        let other = ChatKeys(openName: try name("Garden"))
        let ask = chat.ask(token: 7)
        #expect(chat.fits(ask))
        #expect(!other.fits(ask))
        for bit in 0..<64 {
            #expect(!chat.fits(Ask(token: 7, check: ask.check ^ 1 << bit)))
            #expect(!chat.fits(Ask(token: 7 ^ 1 << bit, check: ask.check)))
        }
        let instance = chat.instanceName(nonce: 7)
        #expect(try chat.nonce(ofInstance: instance) == 7)
        #expect(throws: InstanceNameError.check) { try other.nonce(ofInstance: instance) }
        #expect(instance.utf8.count == 26)
        #expect(try chat.nonce(ofInstance: instance.uppercased() + "\u{301} (2)") == 7, "D-21")
    }

    @Test("W-10: seals hide the key, and two of one key differ by their nonce")
    func seals() throws {
        var generator = SeededGenerator(seed: 12)
        let key = KeyPair(using: &generator).publicKey
        let chat = ChatKeys(openName: try name("garden"))
        let seals = [
            chat.instanceKey(of: key, nonce: 1), chat.instanceKey(of: key, nonce: 2),
            chat.tell(token: 1, nonce: 1, key: key).sealedKey, chat.tell(token: 1, nonce: 2, key: key).sealedKey,
            chat.tell(token: 2, nonce: 1, key: key).sealedKey,
        ]
        #expect(Set(seals.map { $0.prefix(32) }).count == 5)
        #expect(seals.allSatisfy { $0.count == 48 && $0.prefix(32) != key.bytes[...] })
        #expect(throws: SealedKeyError.seal) { try chat.open(instanceKey: [], nonce: 1) }
    }
}

@Suite("The TXT record")
struct ServiceRecordTests {
    private let chat: ChatKeys
    private let key: PublicKey

    init() throws {
        var generator = SeededGenerator(seed: 13)
        chat = ChatKeys(secret: ChatSecret(using: &generator))
        key = KeyPair(using: &generator).publicKey
    }

    @Test("D-3, S-1: it says txtvers=2 and then k, and nothing else")
    func encode() throws {
        let record = ServiceRecord.encode(key: key, nonce: 5, for: chat)
        #expect(String(decoding: record.prefix(13), as: UTF8.self) == "\u{9}txtvers=2\u{42}k=")
        #expect(record.count == 10 + 1 + 66)
        #expect(try ServiceRecord.parse(record, nonce: 5, for: chat) == key)
        #expect(throws: ServiceRecordError.seal) { try ServiceRecord.parse(record, nonce: 6, for: chat) }
    }

    @Test("D-5: a record whose strings reach beyond its end is refused, wherever it is cut")
    func truncations() {
        let whole = ServiceRecord.encode(key: key, nonce: 0, for: chat)
        for count in whole.indices {
            let error: ServiceRecordError = count == 0 ? .version : count == 10 ? .text : .format
            #expect(throws: error, "\(count) bytes") {
                try ServiceRecord.parse(Array(whole.prefix(count)), nonce: 0, for: chat)
            }
        }
    }

    @Test("D-6: a record with one bit flipped gives no key, except in the case of a TXT key")
    func flippedBits() {
        for flip in bitFlips(of: ServiceRecord.encode(key: key, nonce: 9, for: chat)) {
            let parsed = try? ServiceRecord.parse(flip.bytes, nonce: 9, for: chat)
            let isName = (1..<8).contains(flip.byte) || flip.byte == 11
            #expect((parsed == key) == (isName && flip.mask == 0x20), "bit \(flip.mask) of byte \(flip.byte)")
        }
    }
}

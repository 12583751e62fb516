import InklingWire
import Testing

@Suite("The TXT record")
struct ServiceRecordTests {
    private let chat: ChatKeys
    private let key: PublicKey

    init() throws {
        var generator = SeededGenerator(seed: 13)
        chat = ChatKeys(secret: ChatSecret(using: &generator))
        key = KeyPair(using: &generator).publicKey
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

import InklingWire
import Testing

@Suite("Cookies")
struct CookieTests {
    private let address = [UInt8](repeating: 0xFD, count: 16)
    private let initiation = Initiation(senderIndex: 7, check: 1, noise: (0..<108).map { UInt8($0) })

    private func key(_ seed: UInt64) -> CookieKey {
        var generator = SeededGenerator(seed: seed)
        return CookieKey(using: &generator)
    }

    private func answered(_ key: CookieKey) -> Initiation {
        var answered = initiation
        answered.cookie = key.cookie(for: initiation, address: address, port: 4_000)
        return answered
    }

    @Test("L-9: an initiation with the cookie of its retry fits, whether or not it carried one before")
    func fits() {
        let key = key(1)
        let answered = answered(key)
        #expect(key.fits(answered, address: address, port: 4_000))
        #expect(key.cookie(for: answered, address: address, port: 4_000) == answered.cookie)
        #expect(!key.fits(initiation, address: address, port: 4_000))
    }

    @Test("L-11: a cookie is worthless for another address, port, index or ephemeral key, and under another key")
    func mismatches() {
        let key = key(1)
        let answered = answered(key)
        for flip in bitFlips(of: address) {
            #expect(!key.fits(answered, address: flip.bytes, port: 4_000))
        }
        #expect(!key.fits(answered, address: address, port: 4_001))
        #expect(!key.fits(answered, address: address, port: 4_000 ^ 0x100))
        #expect(!self.key(2).fits(answered, address: address, port: 4_000))
        let index = Initiation(senderIndex: 8, check: 1, noise: answered.noise, cookie: answered.cookie)
        #expect(!key.fits(index, address: address, port: 4_000))
        for flip in bitFlips(of: answered.noise).prefix(32 * 8) {
            let other = Initiation(senderIndex: 7, check: 1, noise: flip.bytes, cookie: answered.cookie)
            #expect(!key.fits(other, address: address, port: 4_000))
        }
    }

    @Test("L-11: a cookie with one bit flipped is worthless")
    func flippedBits() throws {
        let key = key(1)
        var answered = answered(key)
        for flip in bitFlips(of: try #require(answered.cookie)) {
            answered.cookie = flip.bytes
            #expect(!key.fits(answered, address: address, port: 4_000))
        }
    }
}

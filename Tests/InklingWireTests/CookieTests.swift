import InklingTestSupport
import InklingWire
import Testing

@Suite("Cookies")
struct CookieTests {
    private let address = [UInt8](repeating: 0xFD, count: 16)
    private let initiation = Initiation(
        senderIndex: 7, tag: ChatTag(1), noise: (0..<96).map { UInt8($0) })

    private func secret(_ seed: UInt64) -> CookieSecret {
        var generator = SeededGenerator(seed: seed)
        return CookieSecret(using: &generator)
    }

    private func answered(_ secret: CookieSecret) -> Initiation {
        var answered = initiation
        answered.cookie = secret.cookie(for: initiation, address: address, port: 4_000)
        return answered
    }

    @Test("an initiation with the cookie of its retry is taken, whether or not it carried one before")
    func matches() {
        let secret = secret(1)
        let answered = answered(secret)
        #expect(secret.matches(answered, address: address, port: 4_000))
        #expect(secret.cookie(for: answered, address: address, port: 4_000) == answered.cookie)
        #expect(!secret.matches(initiation, address: address, port: 4_000))
    }

    @Test("L-11: a cookie is worthless from another address or port, for another index or ephemeral key, or later")
    func mismatches() {
        let secret = secret(1)
        let answered = answered(secret)
        for flip in bitFlips(of: address) {
            #expect(!secret.matches(answered, address: flip.bytes, port: 4_000))
        }
        #expect(!secret.matches(answered, address: address, port: 4_001))
        #expect(!self.secret(2).matches(answered, address: address, port: 4_000))
        let index = Initiation(
            senderIndex: 8, tag: answered.tag, noise: answered.noise, cookie: answered.cookie)
        #expect(!secret.matches(index, address: address, port: 4_000))
        for flip in bitFlips(of: answered.noise).prefix(32 * 8) {
            let other = Initiation(
                senderIndex: 7, tag: answered.tag, noise: flip.bytes, cookie: answered.cookie)
            #expect(!secret.matches(other, address: address, port: 4_000))
        }
    }

    @Test("a cookie with one bit flipped is worthless")
    func flippedBits() throws {
        let secret = secret(1)
        var answered = answered(secret)
        for flip in bitFlips(of: try #require(answered.cookie)) {
            answered.cookie = flip.bytes
            #expect(!secret.matches(answered, address: address, port: 4_000))
        }
    }

    @Test("S-3: no reply to what is not authenticated is longer than what it answers")
    func sizes() {
        let noise = [UInt8](repeating: 0, count: Response.noiseSize)
        let request = initiation.encode().count
        #expect(Response(receiverIndex: 1, noise: noise).encode().count <= request)
        #expect(Retry(receiverIndex: 1, cookie: Array(repeating: 0, count: 16)).encode().count <= request)
        let tell = Tell(token: 1, nonce: 1, key: Array(repeating: 0, count: 32))
        #expect(tell.encode().count <= Ask(tag: ChatTag(1), token: 1).encode().count)
    }
}

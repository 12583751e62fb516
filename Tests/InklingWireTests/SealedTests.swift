import InklingTestSupport
import InklingWire
import Testing

@Suite("Sealed datagrams")
struct SealedTests {
    /// A datagram of the initiator as it is on the network.
    private func seal(_ content: [UInt8], _ key: CipherKey, index: UInt32, counter: UInt32) -> [UInt8] {
        let header = SealedDatagram.header(receiverIndex: index, counter: counter)
        return SealedDatagram(
            receiverIndex: index, counter: counter,
            ciphertext: key.seal(content, counter: UInt64(counter), associatedData: header)
        ).encode()
    }

    private func open(_ bytes: [UInt8], _ key: CipherKey) throws -> [UInt8]? {
        guard case .sealed(let sealed) = try Datagram.parse(bytes) else { return nil }
        return try key.open(sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
    }

    @Test("W-19: what one side seals the other opens, in both directions and for every size")
    func roundTrip() throws {
        let keys = try Pair().shake()
        for size in [2, 3, 63, 64, 65, 1_175] {
            let content = SeededGenerator.content(size)
            let there = seal(content, keys.initiator.send, index: 1, counter: 0)
            #expect(there.count == size + 25)
            #expect(try open(there, keys.responder.receive) == content)
            let back = seal(content, keys.responder.send, index: 1, counter: 0)
            #expect(try open(back, keys.initiator.receive) == content)
            #expect(there != back)
        }
    }

    @Test("W-19, W-23: with any one bit flipped, header and counter included, it does not open")
    func flippedBits() throws {
        let keys = try Pair().shake()
        let bytes = seal([0x02, 0x01, 0x06, 0, 1], keys.initiator.send, index: 0xA1B2_C3D4, counter: 77)
        #expect(try open(bytes, keys.responder.receive) != nil)
        for flip in bitFlips(of: bytes) {
            #expect((try? open(flip.bytes, keys.responder.receive)) == nil, "bit \(flip.mask) of byte \(flip.byte)")
        }
    }

    @Test("cut short it does not open")
    func truncations() throws {
        let keys = try Pair().shake()
        let bytes = seal(SeededGenerator.content(40), keys.initiator.send, index: 1, counter: 1)
        for count in bytes.indices {
            #expect((try? open(Array(bytes.prefix(count)), keys.responder.receive)) == nil)
        }
        for count in 0..<16 {
            #expect(throws: NoiseError.length) {
                try keys.responder.receive.open(Array(repeating: 0, count: count), counter: 0, associatedData: [])
            }
        }
    }

    @Test("the sender can't open its own datagram: a reflected one is not from the peer")
    func reflection() throws {
        let keys = try Pair().shake()
        let bytes = seal([0x08, 0x00], keys.initiator.send, index: 1, counter: 0)
        #expect(throws: NoiseError.authentication) { try open(bytes, keys.initiator.receive) }
    }

    @Test(
        "W-19, W-20: the counter is the nonce up to the last will's",
        arguments: [0, 1, 0xFF, 0x100, UInt32(1) << 31, .max - 2, .max])
    func counters(_ counter: UInt32) throws {
        let keys = try Pair().shake()
        let bytes = seal([0x08, 0x03], keys.initiator.send, index: 1, counter: counter)
        #expect(try open(bytes, keys.responder.receive) == [0x08, 0x03])
        guard case .sealed(let sealed) = try Datagram.parse(bytes) else { return }
        #expect(throws: NoiseError.authentication) {
            try keys.responder.receive.open(
                sealed.ciphertext, counter: UInt64(counter ^ 1), associatedData: sealed.header)
        }
    }

    @Test("W-19: the nonce is four zero bytes and the counter little-endian, as RFC 8439 has its example")
    func knownAnswer() throws {
        // Poly1305 and ChaCha20 of RFC 8439, A.5: its nonce is 00000000 0102030405060708.
        let key = CipherKey(
            bytes: try unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0"))
        let ciphertext = try unhex(
            "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0bdb7b73c"
                + "321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c8559797a06ef4f0ef61c186"
                + "324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e"
                + "af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a0bb2316053fa76991955ebd63159434ecebb4e466dae"
                + "5a1073a6727627097a1049e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b"
                + "eead9d67890cbb22392336fea1851f38")
        let plaintext = try key.open(
            ciphertext, counter: 0x0807_0605_0403_0201, associatedData: unhex("f33388860000000000004e91"))
        #expect(String(decoding: plaintext, as: UTF8.self).hasPrefix("Internet-Drafts are draft documents"))
    }
}

extension SeededGenerator {
    /// Any content of a size.
    fileprivate static func content(_ size: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(size))
        return generator.bytes(size)
    }
}

import InklingWire
import Testing

@Suite("Sealed datagrams")
struct SealedTests {
    /// An unknown frame whose plaintext has a size from 3 on.
    private func content(_ size: Int) -> [Frame] {
        var generator = SeededGenerator(seed: UInt64(size))
        return size == 2 ? [.typing(Status())] : [.unknown(type: 0x77, body: generator.bytes(size - 3))]
    }

    private func sealed(_ bytes: [UInt8]) throws -> SealedDatagram {
        guard case .sealed(let sealed) = try Datagram.parse(bytes) else { throw Missing() }
        return sealed
    }

    @Test("W-19: each side opens what the other sealed, in both directions and for every size")
    func roundTrip() throws {
        let keys = try Pair().shake()
        for size in [2, 3, 63, 64, 65, 1_175] {
            let frames = content(size)
            let there = keys.initiator.seal(frames, receiverIndex: 1, counter: 0)
            #expect(there.encode().count == size + 25)
            #expect(try Frames.parse(keys.responder.open(sealed(there.encode()))) == frames)
            let back = keys.responder.seal(frames, receiverIndex: 1, counter: 0)
            #expect(try Frames.parse(keys.initiator.open(back)) == frames)
            #expect(there != back)
        }
    }

    @Test("W-19, W-23: a datagram with any one bit flipped does not open, its header included")
    func flippedBits() throws {
        let keys = try Pair().shake()
        let bytes = keys.initiator.seal(
            [.typing(Status()), .ping(1)], receiverIndex: 0xA1B2_C3D4, counter: 77
        ).encode()
        #expect(throws: Never.self) { try keys.responder.open(sealed(bytes)) }
        for flip in bitFlips(of: bytes) {
            #expect(throws: (any Error).self, "bit \(flip.mask) of byte \(flip.byte)") {
                try keys.responder.open(sealed(flip.bytes))
            }
        }
    }

    @Test("W-23: a cut datagram does not open")
    func truncations() throws {
        let keys = try Pair().shake()
        let bytes = keys.initiator.seal(content(40), receiverIndex: 1, counter: 1).encode()
        for count in bytes.indices {
            #expect(throws: (any Error).self) { try keys.responder.open(sealed(Array(bytes.prefix(count)))) }
        }
        for count in 0..<16 {
            #expect(throws: NoiseError.length) {
                try keys.responder.receive.open(Array(repeating: 0, count: count), counter: 0, associatedData: [])
            }
        }
    }

    @Test("W-19: the sender can't open its own datagram, so a reflected one is not from the peer")
    func reflection() throws {
        let keys = try Pair().shake()
        let datagram = keys.initiator.seal([.bye(.quit)], receiverIndex: 1, counter: 0)
        #expect(throws: NoiseError.authentication) { try keys.initiator.open(datagram) }
    }

    @Test("W-19, W-20: the counter is the nonce", arguments: [0, 1, 0xFF, 0x100, 0x8000_0000, 0xFFFF_FFFD] as [UInt32])
    func counters(_ counter: UInt32) throws {
        let keys = try Pair().shake()
        let datagram = keys.initiator.seal([.bye(.quit)], receiverIndex: 1, counter: counter)
        #expect(try keys.responder.open(datagram) == [0x08, 0x00])
        let other = SealedDatagram(receiverIndex: 1, counter: counter ^ 1, ciphertext: datagram.ciphertext)
        #expect(throws: NoiseError.authentication) { try keys.responder.open(other) }
        #expect(throws: NoiseError.authentication) {
            try keys.responder.receive.open(
                datagram.ciphertext, counter: UInt64(counter ^ 1), associatedData: datagram.header)
        }
    }

    @Test("W-21, L-33: the last will is a bye of reason 3 under the counter 2^32 − 1")
    func lastWill() throws {
        let keys = try Pair().shake()
        let will = keys.initiator.sealLastWill(receiverIndex: 9)
        #expect(will.receiverIndex == 9)
        #expect(will.counter == 0xFFFF_FFFF)
        #expect(try keys.responder.open(will) == [0x08, 0x03])
    }

    @Test("W-19: the nonce is four zero bytes and the counter little-endian, as in RFC 8439")
    func knownAnswer() throws {
        // RFC 8439, A.5, with the nonce 00000000 0102030405060708.
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

import InklingWire
import Testing

/// An encoding of a point whose order divides 8: X25519 with it is all zero for every private key.
struct LowOrderPoint: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: [UInt8]

    /// The seven encodings below 2²⁵⁵, and the same with the top bit set, which X25519 ignores.
    static var all: [LowOrderPoint] {
        get throws {
            let full = String(repeating: "ff", count: 30)
            let zeroes = String(repeating: "00", count: 30)
            let points = [
                ("0", zeroes + "0000"),
                ("1", "01" + zeroes + "00"),
                ("a point of order 8", "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
                ("another point of order 8", "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
                ("p - 1", "ec" + full + "7f"),
                ("p", "ed" + full + "7f"),
                ("p + 1", "ee" + full + "7f"),
            ]
            return try points.flatMap { name, hex in
                let plain = try unhex(hex)
                var high = plain
                high[31] |= 0x80
                return [
                    LowOrderPoint(testDescription: name, bytes: plain),
                    LowOrderPoint(testDescription: name + " with the top bit set", bytes: high),
                ]
            }
        }
    }
}

@Suite("Low-order points")
struct LowOrderTests {
    @Test("W-4: as the ephemeral key of message 1 it is refused", arguments: try LowOrderPoint.all)
    func messageOne(_ point: LowOrderPoint) throws {
        let pair = Pair()
        let (_, first) = try pair.initiate()
        #expect(throws: NoiseError.invalidKey) {
            try NoiseResponder.read(
                identity: pair.responder, prologue: pair.prologue, message: point.bytes + first.dropFirst(32))
        }
    }

    @Test("W-4: as the ephemeral key of message 2 it is refused", arguments: try LowOrderPoint.all)
    func messageTwo(_ point: LowOrderPoint) throws {
        let pair = Pair()
        let (handshake, first) = try pair.initiate()
        let (second, _) = try pair.reply(to: first)
        #expect(throws: NoiseError.invalidKey) {
            try handshake.finish(point.bytes + second.dropFirst(32))
        }
    }

    @Test("W-4: as a published key it is no key, or no handshake begins with it", arguments: try LowOrderPoint.all)
    func publishedKey(_ point: LowOrderPoint) throws {
        guard let key = PublicKey(point.bytes) else { return }
        let pair = Pair()
        #expect(throws: NoiseError.invalidKey) {
            try NoiseInitiator.initiate(
                identity: pair.initiator, ephemeral: pair.initiatorEphemeral, remote: key,
                preSharedKey: pair.preSharedKey, prologue: pair.prologue)
        }
    }
}

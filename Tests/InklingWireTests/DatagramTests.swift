import InklingWire
import Testing

/// A datagram of each kind, and the lengths to which its bytes can be cut and still be a datagram.
struct DatagramSample: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let datagram: Datagram
    let size: Int
    var otherSizes: Range<Int> = 0..<0

    private static func counting(_ count: Int, from first: UInt8) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }

    static let all: [DatagramSample] = {
        let check: UInt64 = 0x0123_4567_89AB_CDEF
        let noise = counting(108, from: 7)
        return [
            DatagramSample(
                testDescription: "an initiation",
                datagram: .initiation(Initiation(senderIndex: 0xDEAD_BEEF, check: check, noise: noise)), size: 121),
            DatagramSample(
                testDescription: "an initiation with a cookie",
                datagram: .initiation(
                    Initiation(senderIndex: 0, check: check, noise: noise, cookie: counting(16, from: 200))),
                size: 137, otherSizes: 121..<122),
            DatagramSample(
                testDescription: "a response",
                datagram: .response(Response(receiverIndex: .max, noise: counting(64, from: 9))), size: 69),
            DatagramSample(
                testDescription: "the shortest sealed datagram",
                datagram: .sealed(
                    SealedDatagram(receiverIndex: 1, counter: 2, ciphertext: counting(18, from: 100))),
                size: 27),
            DatagramSample(
                testDescription: "the longest sealed datagram",
                datagram: .sealed(
                    SealedDatagram(receiverIndex: 1, counter: .max, ciphertext: counting(1_191, from: 1))),
                size: 1_200, otherSizes: 27..<1_200),
            DatagramSample(
                testDescription: "a retry",
                datagram: .retry(Retry(receiverIndex: 0x0102_0304, cookie: counting(16, from: 50))), size: 21),
            DatagramSample(
                testDescription: "an ask", datagram: .ask(Ask(token: 0xCAFE_F00D_0000_0001, check: check)), size: 65),
            DatagramSample(
                testDescription: "a tell",
                datagram: .tell(Tell(token: 0xCAFE_F00D, nonce: check, sealedKey: counting(48, from: 3))), size: 65),
        ]
    }()
}

@Suite("Datagrams")
struct DatagramTests {
    @Test("W-13: a cut datagram is malformed, or a datagram of that length", arguments: DatagramSample.all)
    func truncations(_ sample: DatagramSample) throws {
        let bytes = sample.datagram.encode()
        for count in bytes.indices {
            let cut = Array(bytes.prefix(count))
            if sample.otherSizes.contains(count) {
                let datagram = try Datagram.parse(cut)
                #expect(datagram != sample.datagram)
                #expect(datagram.encode() == cut)
            } else {
                #expect(throws: count == 0 ? DatagramError.empty : .length) { try Datagram.parse(cut) }
            }
        }
    }

    @Test("W-1: a datagram with one bit flipped is refused, or is another", arguments: DatagramSample.all)
    func flippedBits(_ sample: DatagramSample) {
        for flip in bitFlips(of: sample.datagram.encode()) {
            guard let datagram = try? Datagram.parse(flip.bytes) else { continue }
            #expect(datagram != sample.datagram)
            #expect(datagram.encode() == flip.bytes)
        }
    }
}

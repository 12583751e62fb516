import InklingWire
import Testing

/// A datagram of each kind, and the lengths that its bytes may be cut to and still be a datagram.
struct DatagramSample: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let datagram: Datagram
    let size: Int
    var otherSizes: Range<Int> = 0..<0

    private static func counting(_ count: Int, from first: UInt8) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }

    static let all: [DatagramSample] = {
        let tag = ChatTag(0x0123_4567_89AB_CDEF)
        let noise = counting(96, from: 7)
        return [
            DatagramSample(
                testDescription: "an initiation",
                datagram: .initiation(Initiation(senderIndex: 0xDEAD_BEEF, tag: tag, noise: noise)), size: 109),
            DatagramSample(
                testDescription: "an initiation with a cookie",
                datagram: .initiation(
                    Initiation(senderIndex: 0, tag: tag, noise: noise, cookie: counting(16, from: 200))),
                size: 125, otherSizes: 109..<110),
            DatagramSample(
                testDescription: "a response",
                datagram: .response(Response(receiverIndex: .max, noise: counting(52, from: 9))), size: 57),
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
                testDescription: "an ask", datagram: .ask(Ask(tag: tag, token: 0xCAFE_F00D)), size: 45),
            DatagramSample(
                testDescription: "a tell",
                datagram: .tell(Tell(token: 0xCAFE_F00D, nonce: 0x1122_3344_5566_7788, key: counting(32, from: 3))),
                size: 45),
        ]
    }()
}

@Suite("Datagrams")
struct DatagramTests {
    @Test("W-1, W-13: it has its size and comes back from its bytes", arguments: DatagramSample.all)
    func roundTrip(_ sample: DatagramSample) throws {
        let bytes = sample.datagram.encode()
        #expect(bytes.count == sample.size)
        #expect(bytes[0] >> 4 == 1)
        #expect(try Datagram.parse(bytes) == sample.datagram)
    }

    @Test("W-13: cut short it is malformed, or a datagram of that length", arguments: DatagramSample.all)
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

    @Test("W-13: with bytes behind it, it is malformed", arguments: DatagramSample.all)
    func trailingBytes(_ sample: DatagramSample) throws {
        let bytes = sample.datagram.encode()
        for count in [1, 2, 15, 17, 1_000, 70_000] where !isWhole(sample, bytes.count + count) {
            #expect(throws: DatagramError.length) { try Datagram.parse(bytes + Array(repeating: 0, count: count)) }
        }
    }

    private func isWhole(_ sample: DatagramSample, _ count: Int) -> Bool {
        guard case .sealed = sample.datagram else { return false }
        return count <= 1_200
    }

    @Test("with one bit flipped it is refused, or says something else", arguments: DatagramSample.all)
    func flippedBits(_ sample: DatagramSample) {
        for flip in bitFlips(of: sample.datagram.encode()) {
            guard let datagram = try? Datagram.parse(flip.bytes) else { continue }
            #expect(datagram != sample.datagram)
            #expect(datagram.encode() == flip.bytes)
        }
    }

    @Test("W-12: every first byte but six is of another version or kind")
    func firstBytes() {
        for first in UInt8.min ... .max {
            let error: DatagramError
            switch first {
            case 0x11...0x16: error = .length
            case 0x10...0x1F: error = .kind
            default: error = .version
            }
            #expect(throws: error) { try Datagram.parse([first]) }
            #expect(throws: error) { try Datagram.parse([first] + Array(repeating: 1, count: 2_000)) }
        }
    }

    @Test("W-13: a sealed datagram has 27 to 1,200 bytes", arguments: [26, 27, 1_200, 1_201])
    func sealedSizes(_ size: Int) throws {
        let bytes = [0x13] + [UInt8](repeating: 5, count: size - 1)
        if (27...1_200).contains(size) {
            #expect(try Datagram.parse(bytes).encode() == bytes)
        } else {
            #expect(throws: DatagramError.length) { try Datagram.parse(bytes) }
        }
    }

    @Test(
        "W-14: an ask is as long as its answer, and refused when its padding is not zero",
        arguments: 13..<45)
    func padding(_ index: Int) throws {
        var bytes = Ask(tag: ChatTag(1), token: 2).encode()
        #expect(bytes.count == Tell(token: 2, nonce: 0, key: Array(repeating: 0, count: 32)).encode().count)
        bytes[index] = 0x80
        #expect(throws: DatagramError.padding) { try Datagram.parse(bytes) }
    }

    @Test("W-17, W-19: headers are what stands before Noise message and ciphertext; the prologue ends with one")
    func headers() {
        var initiation = Initiation(senderIndex: 9, tag: ChatTag(8), noise: Array(repeating: 7, count: 96))
        #expect(initiation.header == Array(initiation.encode().prefix(13)))
        #expect(initiation.prologue == Array("inkling/1".utf8) + [0] + initiation.header)
        let prologue = initiation.prologue
        initiation.cookie = Array(repeating: 1, count: 16)
        #expect(initiation.prologue == prologue, "a retry changes nothing that Noise sees")

        let sealed = SealedDatagram(receiverIndex: 3, counter: 4, ciphertext: Array(repeating: 2, count: 18))
        #expect(sealed.header == Array(sealed.encode().prefix(9)))
        #expect(sealed.header == SealedDatagram.header(receiverIndex: 3, counter: 4))
    }
}

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
    @Test("W-1, W-13: a datagram has its size and comes back from its bytes", arguments: DatagramSample.all)
    func roundTrip(_ sample: DatagramSample) throws {
        let bytes = sample.datagram.encode()
        #expect(bytes.count == sample.size)
        #expect(bytes[0] == 0x20 | sample.datagram.kind.rawValue)
        #expect(try Datagram.parse(bytes) == sample.datagram)
    }

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

    @Test("W-13: a datagram with bytes behind it is malformed", arguments: DatagramSample.all)
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

    @Test("W-1: a datagram with one bit flipped is refused, or is another", arguments: DatagramSample.all)
    func flippedBits(_ sample: DatagramSample) {
        for flip in bitFlips(of: sample.datagram.encode()) {
            guard let datagram = try? Datagram.parse(flip.bytes) else { continue }
            #expect(datagram != sample.datagram)
            #expect(datagram.encode() == flip.bytes)
        }
    }

    @Test("W-12: each first byte but six is of another version or kind")
    func firstBytes() {
        for first in UInt8.min ... .max {
            let error: DatagramError =
                switch first {
                case 0x21...0x26: .length
                case 0x20...0x2F: .kind
                default: .version
                }
            #expect(throws: error) { try Datagram.parse([first]) }
            #expect(throws: error) { try Datagram.parse([first] + Array(repeating: 1, count: 2_000)) }
        }
    }

    @Test("W-14: an ask is as long as its answer, and refused when one of its zeros is not", arguments: 17..<65)
    func zeros(_ index: Int) throws {
        var bytes = Ask(token: 2, check: 1).encode()
        #expect(bytes.count == Tell(token: 2, nonce: 0, sealedKey: Array(repeating: 0, count: 48)).encode().count)
        bytes[index] = 0x80
        #expect(throws: DatagramError.zeros) { try Datagram.parse(bytes) }
    }

    @Test("W-19: the associated data is the 9 bytes before the ciphertext")
    func header() {
        let sealed = SealedDatagram(receiverIndex: 3, counter: 4, ciphertext: Array(repeating: 2, count: 18))
        #expect(sealed.header == Array(sealed.encode().prefix(9)))
        #expect(sealed.size == sealed.encode().count)
    }

    @Test("W-36: a check fits one index, Noise message and chat, with any cookie")
    func checks() {
        let chat = Pair(seed: 1).chat
        let noise = [UInt8](repeating: 7, count: 108)
        var initiation = chat.initiation(senderIndex: 9, noise: noise)
        #expect(chat.fits(initiation))
        #expect(!Pair(seed: 2).chat.fits(initiation))
        #expect(!chat.fits(Initiation(senderIndex: 8, check: initiation.check, noise: noise)))
        for flip in bitFlips(of: noise) {
            #expect(!chat.fits(Initiation(senderIndex: 9, check: initiation.check, noise: flip.bytes)))
        }
        initiation.cookie = Array(repeating: 1, count: 16)
        #expect(chat.fits(initiation), "a retry changes no check")
        #expect(chat.prologue(senderIndex: 9).count == 47)
    }

    @Test("S-3: no reply to an unauthenticated datagram is longer than that datagram")
    func sizes() {
        let request = Initiation(senderIndex: 0, check: 0, noise: Array(repeating: 0, count: 108)).encode().count
        #expect(Response(receiverIndex: 1, noise: Array(repeating: 0, count: 64)).encode().count <= request)
        #expect(Retry(receiverIndex: 1, cookie: Array(repeating: 0, count: 16)).encode().count <= request)
        let tell = Tell(token: 1, nonce: 1, sealedKey: Array(repeating: 0, count: 48))
        #expect(tell.encode().count <= Ask(token: 1, check: 1).encode().count)
    }
}

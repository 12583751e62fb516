import InklingWire
import Testing

/// The plaintext of a sealed datagram with its bytes, and the bits that a receiver ignores.
struct FrameSample: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let frames: [Frame]
    let hex: String
    /// The ignored bits, by the index of their byte.
    var ignored: [Int: UInt8] = [:]
    /// The lengths to which the bytes can be cut and still be frames.
    var otherSizes: Set<Int> = []

    static let single: [FrameSample] = [
        FrameSample(
            testDescription: "a heartbeat",
            frames: [.heartbeat(Heartbeat(status: Status(isAway: true), interval: 10))], hex: "01020a",
            ignored: [1: 0xF8]),
        FrameSample(
            testDescription: "a typing frame", frames: [.typing(Status(isTyping: true, isUnheard: true))], hex: "0205",
            ignored: [1: 0xF8]),
        FrameSample(
            testDescription: "a text",
            frames: [.record(Record(number: .max, type: .text, isLast: false, body: Array("hi".utf8)))],
            hex: "04ffffffff016869", ignored: [5: 0x0C], otherSizes: [7]),
        FrameSample(
            testDescription: "a name", frames: [.record(Record(number: 0, type: .name, body: [0x5A]))],
            hex: "0400000000135a", ignored: [5: 0x0C], otherSizes: [6]),
        FrameSample(
            testDescription: "a record of a later type",
            frames: [.record(Record(number: 7, type: .unknown(13), isFirst: false, isLast: false, body: []))],
            hex: "0400000007d0", ignored: [5: 0x0C]),
        FrameSample(
            testDescription: "an ack", frames: [.ack(Ack(next: 0x0102_0304, bitmap: 0x8001))], hex: "05010203048001"),
        FrameSample(testDescription: "a ping", frames: [.ping(0xBEEF)], hex: "06beef"),
        FrameSample(testDescription: "a pong", frames: [.pong(0xBEEF)], hex: "07beef"),
        FrameSample(testDescription: "a bye that was suspended", frames: [.bye(.suspended)], hex: "0802"),
        // All unassigned reasons mean 0.
        FrameSample(testDescription: "a bye that quit", frames: [.bye(.quit)], hex: "0800", ignored: [1: 0xFC]),
        FrameSample(testDescription: "a forward", frames: [.forward(0x0102_0304)], hex: "0901020304"),
        FrameSample(
            testDescription: "a text ID", frames: [.textID(TextID(run: 1, number: 0x0203, written: 4))],
            hex: "410018" + "0000000000000001" + "0000000000000203" + "0000000000000004"),
        FrameSample(
            testDescription: "an unknown frame", frames: [.unknown(type: 0x40, body: [1, 2, 3])], hex: "400003010203"),
        FrameSample(
            testDescription: "an empty frame of the last type", frames: [.unknown(type: 0xFF, body: [])],
            hex: "ff0000"),
    ]

    static let all: [FrameSample] =
        single + [
            FrameSample(
                testDescription: "a text behind a typing frame",
                frames: [.typing(Status()), .record(Record(number: 6, type: .text, body: Array("ok".utf8)))],
                hex: "0200" + "0400000006036f6b", ignored: [1: 0xF8, 7: 0x0C], otherSizes: [2, 9]),
            FrameSample(
                testDescription: "a pong with a heartbeat",
                frames: [.heartbeat(Heartbeat(status: Status(isTyping: true), interval: 255)), .pong(1)],
                hex: "0101ff070001", ignored: [1: 0xF8], otherSizes: [3]),
            FrameSample(
                testDescription: "unknown frames between others, one type twice",
                frames: [.unknown(type: 0x41, body: []), .ping(2), .unknown(type: 0x41, body: [9]), .bye(.left)],
                hex: "410000" + "060002" + "41000109" + "0801", otherSizes: [3, 6, 10]),
        ]
}

@Suite("Frames")
struct FrameTests {
    @Test("W-24: cut frames are refused as a whole, or are fewer", arguments: FrameSample.all)
    func truncations(_ sample: FrameSample) throws {
        let whole = try unhex(sample.hex)
        for count in whole.indices {
            let cut = Array(whole.prefix(count))
            if sample.otherSizes.contains(count) {
                #expect(try Frames.parse(cut) != sample.frames)
            } else {
                #expect(throws: FrameError.self, "\(count) bytes") { try Frames.parse(cut) }
            }
        }
    }

    @Test("X-1, X-2: a flipped bit is ignored where it is unassigned, and nowhere else", arguments: FrameSample.all)
    func flippedBits(_ sample: FrameSample) throws {
        for flip in try bitFlips(of: unhex(sample.hex)) {
            guard let frames = try? Frames.parse(flip.bytes) else { continue }
            let isIgnored = sample.ignored[flip.byte, default: 0] & flip.mask != 0
            #expect((frames == sample.frames) == isIgnored, "bit \(flip.mask) of byte \(flip.byte)")
            #expect(try Frames.parse(Frames.encode(frames)) == frames)
        }
    }

    @Test(
        "W-26, X-3: an unknown frame before any frame, and behind any but a record, changes no other",
        arguments: FrameSample.single)
    func unknownFrames(_ sample: FrameSample) throws {
        let content = try unhex(sample.hex)
        let skipped = Frame.unknown(type: 0x7A, body: [0, 1, 2])
        #expect(try Frames.parse([0x7A, 0, 3, 0, 1, 2] + content) == [skipped] + sample.frames)
        guard case .record = sample.frames[0] else {
            #expect(try Frames.parse(content + [0x7A, 0, 3, 0, 1, 2]) == sample.frames + [skipped])
            return
        }
    }

    @Test("W-30: frames apply as status, ping, pong, ack, forward, record, bye; unknown ones not at all")
    func order() {
        let record = Frame.record(Record(number: 1, type: .text, body: [0x61]))
        let status = [Frame.typing(Status()), .heartbeat(Heartbeat(status: Status(), interval: 10))]
        let others: [Frame] = [.ping(1), .pong(2), .ack(Ack(next: 3)), .forward(4)]
        for status in status {
            let expected = [status] + others + [record, .bye(.quit)]
            let sent = [.bye(.quit), .unknown(type: 0x5A, body: [])] + others.reversed() + [status, record]
            #expect(Frames.inOrder(sent) == expected)
        }
    }

    @Test("T-2, X-1: a status is three bits; others are ignored and sent as 0", arguments: UInt8.min ... .max)
    func status(_ byte: UInt8) {
        let status = Status(byte: byte)
        #expect(status == Status(isTyping: byte & 1 == 1, isAway: byte & 2 == 2, isUnheard: byte & 4 == 4))
        #expect(status.byte == byte & 7)
    }

    @Test("T-12: an announced interval is taken as 1 to 25.5 s", arguments: UInt8.min ... .max)
    func interval(_ raw: UInt8) {
        let heartbeat = Heartbeat(status: Status(), interval: raw)
        #expect(heartbeat.idleInterval == .milliseconds(max(1_000, 100 * Int(raw))))
        #expect(heartbeat.idleInterval <= Limits.maximumIntervalTaken)
    }

    @Test("M-31: the bitmap of an ack names the 16 records above the expected one")
    func bitmap() {
        let ack = Ack(next: 10, bitmap: 0x8001)
        #expect((UInt32.min..<40).filter(ack.names) == [11, 26])
        #expect(!Ack(next: .max, bitmap: .max).names(0))
        #expect(Ack(next: .max - 1, bitmap: 1).names(.max))
    }
}

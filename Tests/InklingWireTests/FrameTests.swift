import InklingWire
import Testing

/// The content of a sealed datagram with its bytes, and the bits in them that mean nothing.
struct FrameSample: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let frames: [Frame]
    let hex: String
    /// For each byte's place, the bits that a receiver ignores.
    var ignored: [Int: UInt8] = [:]
    /// The lengths that the bytes may be cut to and still be frames.
    var otherSizes: Set<Int> = []

    private static let idle = Status(isTyping: false, isAway: false)
    private static let typing = Status(isTyping: true, isAway: false)

    static let single: [FrameSample] = [
        FrameSample(
            testDescription: "a heartbeat",
            frames: [.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: true), interval: 10))],
            hex: "01020a", ignored: [1: 0xFC]),
        FrameSample(testDescription: "a typing frame", frames: [.typing(typing)], hex: "0201", ignored: [1: 0xFC]),
        FrameSample(
            testDescription: "a hello",
            frames: [
                .hello(
                    Hello(
                        run: 0x0102_0304_0506_0708, stream: 0x0A0B_0C0D, heldStream: 0x1A1B_1C1D, nextRecord: 7,
                        name: "Zoë"))
            ], hex: "0301020304050607080a0b0c0d1a1b1c1d00000007045a6fc3ab"),
        FrameSample(
            testDescription: "a hello without a name",
            frames: [.hello(Hello(run: 0, stream: 1, heldStream: 0, nextRecord: 0, name: ""))],
            hex: "030000000000000000000000010000000000000000" + "00"),
        FrameSample(
            testDescription: "a message",
            frames: [.message(Record(stream: 5, number: 0xFFFF_FFFF, isFirst: true, isLast: false, text: "hi"))],
            hex: "0400000005ffffffff016869", ignored: [9: 0xFC], otherSizes: [11]),
        FrameSample(
            testDescription: "an ack", frames: [.ack(Ack(stream: 1, next: 2, bitmap: 0x8001))],
            hex: "0500000001000000028001"),
        FrameSample(testDescription: "a ping", frames: [.ping(0xBEEF)], hex: "06beef"),
        FrameSample(testDescription: "a pong", frames: [.pong(0xBEEF)], hex: "07beef"),
        FrameSample(
            testDescription: "a bye that was suspended", frames: [.bye(.suspended)], hex: "0802"),
        // Reason 0 and every unknown one mean the same, so flips to 8, 16 and so on change nothing.
        FrameSample(testDescription: "a bye that quit", frames: [.bye(.quit)], hex: "0800", ignored: [1: 0xF8]),
        FrameSample(
            testDescription: "an unknown extension", frames: [.unknown(type: 0x40, body: [1, 2, 3])],
            hex: "400003010203"),
        FrameSample(
            testDescription: "an empty extension of the last type", frames: [.unknown(type: 0xFF, body: [])],
            hex: "ff0000"),
    ]

    static let all: [FrameSample] =
        single + [
            FrameSample(
                testDescription: "a message behind a typing frame",
                frames: [
                    .typing(idle),
                    .message(Record(stream: 5, number: 6, isFirst: true, isLast: true, text: "ok")),
                ], hex: "0200" + "04000000050000000603" + "6f6b", ignored: [1: 0xFC, 11: 0xFC], otherSizes: [2, 13]),
            FrameSample(
                testDescription: "a pong with a heartbeat",
                frames: [.heartbeat(Heartbeat(status: typing, interval: 255)), .pong(1)], hex: "0101ff070001",
                ignored: [1: 0xFC], otherSizes: [3]),
            FrameSample(
                testDescription: "extensions between the others, one type twice",
                frames: [
                    .unknown(type: 0x41, body: []), .ping(2), .unknown(type: 0x41, body: [9]), .bye(.removed),
                ], hex: "410000" + "060002" + "41000109" + "0804", otherSizes: [3, 6, 10]),
        ]
}

/// Bytes that are no frames, and why.
struct BadFrames: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let hex: String
    let reason: FrameError.Reason
    let offset: Int

    init(_ testDescription: String, _ hex: String, _ reason: FrameError.Reason, at offset: Int = 0) {
        self.testDescription = testDescription
        self.hex = hex
        self.reason = reason
        self.offset = offset
    }

    private static let hello = "030000000000000001000000010000000000000000"

    static let all: [BadFrames] = [
        BadFrames("nothing", "", .empty),
        BadFrames("type 0", "0000", .unknownType),
        BadFrames("type 9, the first that is free", "0900", .unknownType),
        BadFrames("type 0x3f, the last without a length", "3f0000", .unknownType),
        BadFrames("an unknown type behind a good frame", "0201" + "0a", .unknownType, at: 2),
        BadFrames("two typing frames", "0201" + "0200", .duplicate, at: 2),
        BadFrames("two pings", "060001" + "060002", .duplicate, at: 3),
        BadFrames("two byes", "0800" + "0800", .duplicate, at: 2),
        BadFrames("two hellos", hello + "00" + hello + "00", .duplicate, at: 22),
        BadFrames("a typing frame behind a heartbeat", "01000a" + "0200", .twoStatuses, at: 3),
        BadFrames("a heartbeat cut off, behind a typing frame", "0201" + "01", .twoStatuses, at: 2),
        BadFrames("a heartbeat behind a typing frame", "0200" + "070001" + "01000a", .twoStatuses, at: 5),
        BadFrames("a byte behind a typing frame", "0201" + "06", .truncated, at: 2),
        BadFrames("an extension without a length", "4000", .truncated),
        BadFrames("an extension longer than the rest", "40000401" + "0203", .truncated),
        BadFrames("an extension of 65,535 bytes", "40ffff00", .truncated),
        BadFrames(
            "a name of 65 bytes", hello + "41" + String(repeating: "61", count: 65), .nameTooLong),
        BadFrames("a name of 255 bytes that are not there", hello + "ff", .nameTooLong),
        BadFrames("a name longer than the rest", hello + "0261", .truncated),
        BadFrames("a name that is no UTF-8", hello + "01ff", .invalidText),
        BadFrames("a name cut in a scalar", hello + "01c3", .invalidText),
        BadFrames("an own stream of 0", "0300000000000000010000000000000000" + "0000000000", .zeroStream),
        BadFrames("a message without text", "04000000050000000603", .emptyMessage),
        BadFrames("a text that is an overlong form", "04000000050000000603c080", .invalidText),
        BadFrames("a text that is a surrogate", "04000000050000000603eda080", .invalidText),
        BadFrames("a text beyond Unicode", "04000000050000000603f4908080", .invalidText),
        BadFrames("a text cut in a scalar", "04000000050000000603f09f9880f09f98", .invalidText),
    ]
}

@Suite("Frames")
struct FrameTests {
    @Test("W-1: they have their bytes and come back from them", arguments: FrameSample.all)
    func roundTrip(_ sample: FrameSample) throws {
        #expect(hex(Frames.encode(sample.frames)) == sample.hex)
        #expect(try Frames.parse(unhex(sample.hex)) == sample.frames)
    }

    @Test("W-24: cut short they are refused as a whole, or are fewer frames", arguments: FrameSample.all)
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

    @Test("with one bit flipped they are refused, or say something else", arguments: FrameSample.all)
    func flippedBits(_ sample: FrameSample) throws {
        for flip in try bitFlips(of: unhex(sample.hex)) {
            guard let frames = try? Frames.parse(flip.bytes) else { continue }
            let isIgnored = sample.ignored[flip.byte, default: 0] & flip.mask != 0
            #expect((frames == sample.frames) == isIgnored, "bit \(flip.mask) of byte \(flip.byte)")
            #expect(try Frames.parse(Frames.encode(frames)) == frames)
        }
    }

    @Test(
        "W-26, X-3: before any frame, and behind any but a message, an unknown extension is skipped",
        arguments: FrameSample.single)
    func extensions(_ sample: FrameSample) throws {
        let content = try unhex(sample.hex)
        let skipped = Frame.unknown(type: 0x7A, body: [0, 1, 2])
        #expect(try Frames.parse([0x7A, 0, 3, 0, 1, 2] + content) == [skipped] + sample.frames)
        guard case .message = sample.frames[0] else {
            #expect(try Frames.parse(content + [0x7A, 0, 3, 0, 1, 2]) == sample.frames + [skipped])
            return
        }
    }

    @Test("W-24 to W-29: what breaks a rule is refused with its reason and place", arguments: BadFrames.all)
    func errors(_ bad: BadFrames) throws {
        let content = try unhex(bad.hex)
        #expect(throws: FrameError(reason: bad.reason, offset: bad.offset)) { try Frames.parse(content) }
    }

    @Test("W-24: an error in the last of many frames drops them all")
    func wholeDatagram() throws {
        let good = try unhex("01010a" + "060001" + "410000")
        #expect(try Frames.parse(good).count == 3)
        #expect(throws: FrameError(reason: .unknownType, offset: 9)) { try Frames.parse(good + [0x09]) }
    }

    @Test("T-2, X-1: a status is two bits, and the others are ignored and sent as 0", arguments: UInt8.min ... .max)
    func status(_ byte: UInt8) {
        let status = Status(byte: byte)
        #expect(status == Status(isTyping: byte & 1 == 1, isAway: byte & 2 == 2))
        #expect(status.byte == byte & 3)
    }

    @Test("T-12: an announced interval is clamped to 1 to 25.5 s", arguments: UInt8.min ... .max)
    func interval(_ raw: UInt8) {
        let heartbeat = Heartbeat(status: Status(byte: 0), interval: raw)
        #expect(heartbeat.idleInterval == .milliseconds(max(1_000, 100 * Int(raw))))
        #expect(heartbeat.idleInterval <= Limits.maximumIdleInterval)
    }

    @Test("X-2: a bye's unknown reason counts as quit", arguments: UInt8.min ... .max)
    func reasons(_ byte: UInt8) {
        #expect(ByeReason(byte: byte) == (ByeReason(rawValue: byte) ?? .quit))
        #expect(byte < 6 || ByeReason(byte: byte) == .quit)
    }

    @Test("W-13, W-28: the longest text of a record fills a datagram behind a typing frame to the byte")
    func longestRecord() throws {
        let text = String(repeating: "a", count: Limits.maximumRecordTextSize)
        let content = Frames.encode([
            .typing(Status(byte: 0)), .message(Record(stream: 1, number: 0, isFirst: true, isLast: true, text: text)),
        ])
        #expect(SealedDatagram.headerSize + content.count + CipherKey.tagSize == Limits.maximumDatagramSize)
        #expect(try Frames.parse(content).count == 2)
    }

    @Test("W-29: a name of 64 bytes is taken, whatever its scalars")
    func longestName() throws {
        for name in [String(repeating: "a", count: 64), String(repeating: "😀", count: 16), "\u{0}\u{1B}[2J"] {
            let hello = Hello(run: 1, stream: 1, heldStream: 0, nextRecord: 0, name: name)
            #expect(try Frames.parse(Frames.encode([.hello(hello)])) == [.hello(hello)])
        }
    }
}

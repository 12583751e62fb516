import InklingWire
import Testing

@Suite("Random bytes")
struct FuzzTests {
    @Test("W-12 to W-14, W-24: 100,000 inputs trap no parser, and a parsed one comes back from its own bytes")
    func parsers() {
        var generator = SeededGenerator(seed: 0x1_4C1)
        let chat = Pair().chat
        let samples = FrameSample.all.compactMap { try? unhex($0.hex) }
        let datagrams = DatagramSample.all.map { $0.datagram.encode() }.filter { $0.count < 200 }
        var parsed = (datagrams: 0, frames: 0)
        for round in 0..<100_000 {
            let random = generator.next()
            var input: [UInt8]
            switch random % 4 {
            case 0: input = generator.bytes(Int(random >> 8 % 48))
            case 1: input = datagrams[Int(random >> 8 % UInt64(datagrams.count))]
            default: input = samples[Int(random >> 8 % UInt64(samples.count))]
            }
            mutate(&input, &generator)
            if round % 3 == 0, let datagram = try? Datagram.parse(input) {
                parsed.datagrams += 1
                if datagram.encode() != input { Issue.record("another datagram than \(hex(input))") }
            }
            if let frames = try? Frames.parse(input) {
                parsed.frames += 1
                if (try? Frames.parse(Frames.encode(frames))) != frames { Issue.record("other frames: \(hex(input))") }
            }
            if round % 5 == 0 { _ = try? ServiceRecord.parse(input, nonce: random, for: chat) }
        }
        #expect(parsed.datagrams > 500 && parsed.frames > 5_000, "the inputs reach beyond the first checks: \(parsed)")
    }

    /// Sets some bytes to small or to any numbers, cuts the end off or doubles it.
    private func mutate(_ input: inout [UInt8], _ generator: inout SeededGenerator) {
        let random = generator.next()
        guard !input.isEmpty else { return }
        for shift in [8, 16, 24].prefix(Int(random % 4)) as ArraySlice<UInt64> {
            let value = UInt8(truncatingIfNeeded: random >> (shift + 24))
            input[Int((random >> shift) % UInt64(input.count))] = random % 8 < 5 ? value % 10 : value
        }
        switch random >> 60 {
        case 0, 1: input.removeLast(Int((random >> 40) % UInt64(input.count)))
        case 2: input += input.suffix(4)
        default: break
        }
    }

    @Test("W-5 to W-7, W-34: a random text that is read is written as it was, or in the canonical form")
    func texts() throws {
        var generator = SeededGenerator(seed: 77)
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567ABCDEF0189-_=é ")
        let punctuation = Array("ab%#@4:é\u{301}")
        func text(_ count: Int, _ characters: Int) -> String {
            String(generator.bytes(count).map { alphabet[Int($0) % characters] })
        }
        for _ in 0..<1_000 {
            let key = text(43, alphabet.count - 3)
            if let read = try? PublicKey(base64url: key) { #expect(read.base64url == key) }
            let secret = text(26, 32)
            if let read = try? ChatSecret(base32: secret) { #expect(read.base32 == secret) }
            let user = text(16, 33)
            if let read = UserID(user) { #expect(read.description == user) }
            let name = String(generator.bytes(6).map { punctuation[Int($0) % punctuation.count] })
            let invite = "inkling:" + name + "#" + text(25, 32) + "a"
            if let read = try? Invite(invite) { #expect(try Invite(read.text) == read) }
        }
    }
}

import InklingTestSupport
import InklingWire
import Testing

@Suite("Random bytes")
struct FuzzTests {
    @Test("100,000 of them trap no parser, and what is taken comes back from its own bytes")
    func parsers() {
        var generator = SeededGenerator(seed: 0x1_4C1)
        let open = ChatKeys(openName: "garden")
        let samples = FrameSample.all.compactMap { try? unhex($0.hex) }
        let datagrams = DatagramSample.all.map { $0.datagram.encode() }.filter { $0.count < 200 }
        var taken = (datagrams: 0, frames: 0)
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
                taken.datagrams += 1
                if datagram.encode() != input { Issue.record("another datagram than \(hex(input))") }
            }
            if let frames = try? Frames.parse(input) {
                taken.frames += 1
                if (try? Frames.parse(Frames.encode(frames))) != frames { Issue.record("other frames: \(hex(input))") }
            }
            if round % 5 == 0 { _ = try? ServiceRecord.parse(input, for: open) }
        }
        #expect(taken.datagrams > 500 && taken.frames > 5_000, "the inputs reach beyond the first checks: \(taken)")
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

    @Test("a random text that is taken is the canonical one")
    func texts() {
        var generator = SeededGenerator(seed: 77)
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567ABCDEF0189-_=é ")
        func text(_ count: Int, _ characters: Int) -> String {
            String(generator.bytes(count).map { alphabet[Int($0) % characters] })
        }
        for _ in 0..<1_000 {
            let key = text(43, alphabet.count - 3)
            if let taken = PublicKey(base64url: key) { #expect(taken.base64url == key) }
            let secret = text(26, 32)
            if let taken = ChatSecret(base32: secret) { #expect(taken.base32 == secret) }
            let user = text(16, 33)
            if let taken = UserID(user) { #expect(taken.description == user) }
            let tag = text(16, 6)
            if let taken = ChatTag(hex: tag) { #expect(taken.hex == tag) }
        }
    }
}

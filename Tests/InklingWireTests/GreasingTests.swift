import InklingWire
import Testing

@Suite("Greasing")
struct GreasingTests {
    private let record = Record(number: 1, type: .text, body: [0x61])

    @Test("X-4: 1 in 100 datagrams gets a frame of a greasing type first, of 0 to 16 bytes")
    func frames() throws {
        var generator = SeededGenerator(seed: 4)
        let frames: [Frame] = [.typing(Status()), .record(record)]
        var bodies: Set<Int> = []
        var types: Set<UInt8> = []
        for _ in 0..<20_000 {
            let greased = Greasing.grease(frames, using: &generator)
            guard greased != frames else { continue }
            guard case .unknown(let type, let body) = greased[0], Array(greased.dropFirst()) == frames else {
                Issue.record("\(greased)")
                continue
            }
            types.insert(type)
            bodies.insert(body.count)
            #expect(try Frames.parse(Frames.encode(greased)) == greased)
            #expect(Frames.inOrder(greased) == frames, "X-3: the frame changes no other")
        }
        #expect(types == [0x5A, 0x9A, 0xDA])
        #expect(bodies == Set(0...16))
        let count = (0..<20_000).count { _ in Greasing.grease(frames, using: &generator) != frames }
        #expect((120...280).contains(count))
    }

    @Test("X-4: byes get no greasing, and full datagrams have no room for it")
    func exceptions() {
        var generator = SeededGenerator(seed: 5)
        let text = [UInt8](repeating: 0x61, count: Limits.maximumRecordTextSize)
        let full: [Frame] = [.typing(Status()), .record(Record(number: 1, type: .text, body: text))]
        for _ in 0..<2_000 {
            #expect(Greasing.grease([.bye(.quit)], using: &generator) == [.bye(.quit)])
            #expect(Greasing.grease(full, using: &generator) == full)
        }
    }

    @Test("X-5: before 1 in 100 messages a record of type 14 with both flags, of 0 to 16 bytes")
    func records() {
        var generator = SeededGenerator(seed: 6)
        let records = (UInt32.min..<20_000).compactMap { Greasing.record(number: $0, using: &generator) }
        #expect((120...280).contains(records.count))
        #expect(records.allSatisfy { $0.type.code == 14 && $0.isFirst && $0.isLast })
        #expect(Set(records.map(\.body.count)) == Set(0...16))
    }
}

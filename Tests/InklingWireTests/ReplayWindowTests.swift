import InklingWire
import Testing

@Suite("The replay window")
struct ReplayWindowTests {
    private static let last = Limits.lastCounter

    @Test("W-20, W-21: 2^32 − 2 and the last will's counter enter no window", arguments: [UInt32.max - 1, .max])
    func reserved(_ counter: UInt32) {
        var window = ReplayWindow()
        window.mark(5)
        #expect(window.mark(counter) == .reserved)
        #expect(window.highest == 5)
        #expect(window.place(of: 4) == .older)
    }

    @Test("W-23: asking for a place marks nothing")
    func check() {
        var window = ReplayWindow()
        window.mark(10)
        for counter: UInt32 in [11, 5_000, Self.last] { _ = window.place(of: counter) }
        #expect(window.highest == 10)
        #expect(window.place(of: 9) == .older)
        #expect(window.place(of: 11) == .newest)
    }

    @Test("W-22: it agrees with a set of everything marked", arguments: 1...8 as ClosedRange<UInt64>)
    func model(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var window = ReplayWindow()
        var marked: Set<UInt32> = []
        var top: UInt32 = seed % 2 == 0 ? 0 : 4_000_000_000
        for _ in 0..<4_000 {
            let random = generator.next()
            let step = UInt32(truncatingIfNeeded: random >> 8)
            let counter: UInt32 =
                switch random % 16 {
                case 0: top + step % 3_000
                case 1: top - min(top, 1_020 + step % 8)
                case 2: top - min(top, step % 3_000)
                case 3...8: top - min(top, step % 1_024)
                default: top + step % 4
                }
            let highest = marked.max()
            let expected: ReplayWindow.Place =
                counter > highest ?? 0 || highest == nil
                ? .newest
                : (highest ?? 0) - counter >= 1_024 ? .tooOld : marked.contains(counter) ? .marked : .older
            #expect(window.mark(counter) == expected, "seed \(seed), counter \(counter)")
            if expected.passes { marked.insert(counter) }
            marked = marked.filter { $0 + 2_048 > counter }
            top = max(top, counter)
            #expect(window.highest == marked.max())
        }
    }
}

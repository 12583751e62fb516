import InklingTestSupport
import InklingWire
import Testing

@Suite("The replay window")
struct ReplayWindowTests {
    /// What the window must say, by remembering everything.
    private struct Model {
        private var seen: Set<UInt64> = []
        private(set) var highest: UInt64?

        func accepts(_ counter: UInt64) -> Bool {
            guard let highest, counter <= highest else { return true }
            return highest - counter < UInt64(Limits.replayWindow) && !seen.contains(counter)
        }

        mutating func mark(_ counter: UInt64) {
            seen.insert(counter)
            highest = max(highest ?? 0, counter)
        }
    }

    @Test("an empty window accepts any counter and has no highest one")
    func empty() {
        let window = ReplayWindow()
        #expect(window.highest == nil)
        for counter in [0, 1, 1_023, 1_024, Limits.highestOrdinaryCounter, .max] {
            #expect(window.accepts(counter))
        }
    }

    @Test(
        "W-22: a counter counts once",
        arguments: [0, 1, 63, 64, 1_023, 1_024, 1_087, 1_088, UInt64(UInt32.max), .max])
    func once(_ counter: UInt64) {
        var window = ReplayWindow()
        window.mark(counter)
        #expect(!window.accepts(counter))
        #expect(window.highest == counter)
    }

    @Test(
        "W-22: the window is 1,024 counters wide, wherever its end lies in a block",
        arguments: [1_025, 1_087, 1_088, 1_089, 5_000, UInt64(UInt32.max), .max])
    func width(_ highest: UInt64) {
        var window = ReplayWindow()
        window.mark(highest)
        #expect(window.accepts(highest - 1))
        #expect(window.accepts(highest - 1_023))
        #expect(!window.accepts(highest - 1_024))
        #expect(!window.accepts(highest - 1_025))
        #expect(!window.accepts(0))
    }

    @Test("W-23: asking changes nothing: what was not authenticated is not marked")
    func check() {
        var window = ReplayWindow()
        window.mark(10)
        for counter: UInt64 in [11, 5_000, .max] { _ = window.accepts(counter) }
        #expect(window.highest == 10)
        #expect(window.accepts(9))
        #expect(window.accepts(11))
    }

    @Test(
        "W-22: a jump beyond the window forgets all marks and revives none",
        arguments: 1_000...1_100 as ClosedRange<UInt64>)
    func jump(_ distance: UInt64) {
        var window = ReplayWindow()
        for counter: UInt64 in 0...200 { window.mark(counter) }
        window.mark(200 + distance)
        for counter: UInt64 in 0...200 { #expect(!window.accepts(counter)) }
        for counter in 201..<(200 + distance) where 200 + distance - counter < 1_024 {
            #expect(window.accepts(counter))
        }
    }

    @Test("marking below the window does not trap and changes nothing")
    func markBelow() {
        var window = ReplayWindow()
        window.mark(5_000)
        window.mark(5_000 - 1_024 - 64)
        window.mark(0)
        #expect(window.highest == 5_000)
        for counter: UInt64 in 3_977..<5_000 { #expect(window.accepts(counter)) }
    }

    @Test("it agrees with a set of everything seen", arguments: 1...8 as ClosedRange<UInt64>)
    func model(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var window = ReplayWindow()
        var model = Model()
        var top = seed % 2 == 0 ? 0 : UInt64(UInt32.max) - 20_000
        for _ in 0..<4_000 {
            let random = generator.next()
            let counter: UInt64
            switch random % 16 {
            case 0: counter = top + random >> 8 % 3_000
            case 1: counter = top - min(top, 1_020 + random >> 8 % 8)
            case 2: counter = top - min(top, random >> 8 % 3_000)
            case 3...8: counter = top - min(top, random >> 8 % 1_024)
            default: counter = top + random >> 8 % 4
            }
            #expect(window.accepts(counter) == model.accepts(counter), "seed \(seed), counter \(counter)")
            if model.accepts(counter) {
                window.mark(counter)
                model.mark(counter)
                top = max(top, counter)
            }
            #expect(window.highest == model.highest)
        }
    }
}

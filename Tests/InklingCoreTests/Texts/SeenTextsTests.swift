import InklingWire
import Testing

@testable import InklingCore

@Suite("The IDs of kept texts")
struct SeenTextsTests {
    private static func id(_ number: UInt64, run: UInt64 = 1) -> TextID {
        TextID(run: run, number: number, written: 0)
    }

    private static func seen(_ numbers: [UInt64]) -> SeenTexts {
        var seen = SeenTexts()
        for number in numbers { seen.insert(id(number)) }
        return seen
    }

    @Test("M-83: of the 64 numbers below the highest each is seen or new; lower ones count as seen")
    func window() {
        let seen = Self.seen([40, 100, 99, 60, 36, 35, 100])
        for number in 1...120 as ClosedRange<UInt64> {
            let isSeen = number < 36 || [36, 40, 60, 99, 100].contains(number)
            #expect(seen.contains(Self.id(number)) == isSeen, "\(number)")
        }
        #expect(!seen.contains(Self.id(100, run: 2)))
    }

    @Test("M-83: the window slides by any step, up to the highest number", arguments: [1, 2, 63, 64, 65, 66, 1_000])
    func step(_ step: UInt64) {
        let seen = Self.seen([1, 1 + step])
        #expect(seen.contains(Self.id(1)) && seen.contains(Self.id(1 + step)) && !seen.contains(Self.id(2 + step)))
        if step > 1 { #expect(!seen.contains(Self.id(step))) }
        #expect(Self.seen([5, .max]).contains(Self.id(.max)))
    }

    @Test("M-85: a text that is still unfinished is new to a node that has each text sent ahead of it")
    func ahead() {
        for lowest in [1, 50] as [UInt64] {
            let ahead = (lowest + 1)..<(lowest + UInt64(Limits.textsSeen))
            #expect(!Self.seen(Array(ahead)).contains(Self.id(lowest)))
            #expect(Self.seen(ahead + [lowest + 65]).contains(Self.id(lowest)))
        }
    }

    @Test("M-83: the run used least recently is forgotten for the 65th")
    func runs() {
        var seen = SeenTexts()
        for run in 1...64 as ClosedRange<UInt64> { seen.insert(Self.id(7, run: run)) }
        seen.insert(Self.id(8, run: 1))
        seen.insert(Self.id(1, run: 65))
        #expect(seen.runs.count == 64 && seen.contains(Self.id(7, run: 1)) && !seen.contains(Self.id(7, run: 2)))
        #expect(SeenTexts(runs: seen.runs) == seen)
    }

    @Test("A-68: the IDs of two chats that became one are those of both, whichever of them saw the higher numbers")
    func union() {
        let pairs: [([UInt64], [UInt64])] = [
            ([40, 100, 99], [36, 101, 150]), ([1], [1, 2]), ([5, 9], [300]), ([], [7]),
        ]
        for (few, many) in pairs {
            for (one, other) in [(few, many), (many, few)] {
                let union = Self.seen(one).union(Self.seen(other))
                for number in 1...310 as ClosedRange<UInt64> {
                    let isSeen = Self.seen(one).contains(Self.id(number)) || Self.seen(other).contains(Self.id(number))
                    #expect(union.contains(Self.id(number)) == isSeen, "\(number)")
                }
            }
        }
        var (one, other) = (SeenTexts(), SeenTexts())
        for run in 1...60 as ClosedRange<UInt64> { one.insert(Self.id(7, run: run)) }
        for run in 61...70 as ClosedRange<UInt64> { other.insert(Self.id(7, run: run)) }
        let union = one.union(other)
        #expect(union.runs.map(\.run) == [67, 68, 69, 70] + Array(1...60))
        #expect(one.union(one) == one)
    }
}

import Testing

/// Checks of the switch that the tests of bad networks use.
@Suite("Switch of bad networks") struct SwitchTests {
    @Test("the same seed gives the same fates, another seed or direction others")
    func repeatable() {
        let faults = Faults(lost: 20, doubled: 20, delayed: 20)
        func fates(seed: UInt64, from source: Int, to target: Int) -> [Fate] {
            var sequence = FaultSequence(seed: seed, from: source, to: target)
            return (0..<1_000).map { _ in sequence.next(faults) }
        }
        let first = fates(seed: 7, from: 1, to: 2)
        #expect(first == fates(seed: 7, from: 1, to: 2))
        #expect(first != fates(seed: 8, from: 1, to: 2))
        #expect(first != fates(seed: 7, from: 2, to: 1))
    }

    @Test("the fate of a frame is the same, whatever the faults were before")
    func independent() {
        let faults = Faults(lost: 20, doubled: 20, delayed: 20)
        var (quiet, stormy) = (FaultSequence(seed: 3, from: 1, to: 2), FaultSequence(seed: 3, from: 1, to: 2))
        for _ in 0..<100 {
            _ = quiet.next(.none)
            _ = stormy.next(Faults(lost: 50, doubled: 50, delayed: 50, delay: 5...9))
        }
        #expect((0..<100).map { _ in quiet.next(faults) } == (0..<100).map { _ in stormy.next(faults) })
    }

    @Test("of 100,000 frames as many are lost, doubled and delayed as was asked for, within half a percent")
    func shares() {
        var sequence = FaultSequence(seed: 5, from: 3, to: 4)
        var counts = FaultCounts()
        var delays: Set<Int> = []
        for _ in 0..<100_000 {
            let fate = sequence.next(Faults(lost: 30, doubled: 10, delayed: 25, delay: 1...200))
            counts.note(fate)
            delays.formUnion(fate.copies)
        }
        #expect((29_500...30_500).contains(counts.lost))
        // The expected number of doubled frames among those not lost. Each copy may also be delayed.
        #expect((6_500...7_500).contains(counts.doubled))
        #expect((18_750...19_750).contains(counts.delayed))
        #expect(delays == Set(0...200))
    }
}

import InklingTestSupport
import Testing

@testable import InklingCore

@Suite("Pace of a node's records")
struct RecordPacerTests {
    /// A pacer whose burst is used up.
    private func spent() -> RecordPacer {
        var pacer = RecordPacer(now: .zero)
        for _ in 0..<2 {
            pacer.begin()
            while pacer.take(.zero) {}
        }
        pacer.begin()
        return pacer
    }

    @Test("64 go out between two reads of the socket (M-13)")
    func input() {
        var pacer = RecordPacer(now: .zero)
        for _ in 0..<2 {
            let taken = (0..<100).count { _ in pacer.take(.zero) }
            #expect(taken == 64)
            pacer.begin()
        }
    }

    @Test("128 go out in a row, then one each half millisecond (M-13)")
    func node() {
        var pacer = spent()
        let early = pacer.take(Instant.zero + .microseconds(499))
        #expect(!early)
        let onTime = pacer.take(Instant.zero + .microseconds(500))
        #expect(onTime)
        let again = pacer.take(Instant.zero + .microseconds(500))
        #expect(!again)
    }

    @Test("each that waits gets the next token, and nobody takes it meanwhile (M-21)")
    func turns() {
        var pacer = spent()
        let turns = (0..<3).map { _ in pacer.reserve(.zero) }
        #expect(turns == [500, 1_000, 1_500].map { Instant.zero + .microseconds($0) })
        for (place, turn) in turns.enumerated() {
            let other = pacer.take(turn)
            #expect(!other, "whoever asks now comes after those that wait")
            let early = pacer.use(turn, Instant.zero + .microseconds(500 * place + 499))
            #expect(early == turn)
            let onTime = pacer.use(turn, turn)
            #expect(onTime == nil)
        }
        let next = pacer.reserve(turns[2])
        #expect(next == Instant.zero + .microseconds(2_000))
    }

    @Test("a turn that is not used is free for others (M-21)")
    func givenBack() {
        var pacer = spent()
        _ = pacer.reserve(.zero)
        pacer.giveBack()
        let taken = pacer.take(Instant.zero + .microseconds(500))
        #expect(taken)
    }

    @Test("turns that are taken late are a burst at most (M-13, M-21)")
    func lateTurns() {
        var pacer = spent()
        let turns = (0..<1_000).map { _ in pacer.reserve(.zero) }
        var used = 0
        // Half a second late.
        for millisecond in 1_000..<1_100 {
            pacer.begin()
            while used < turns.count, pacer.use(turns[used], .at(millisecond)) == nil { used += 1 }
            #expect(used <= 128 + 2 * (millisecond - 1_000))
        }
        #expect(used >= 128 + 2 * 99 - 1)
    }

    @Test("a turn that meets 64 since the socket was read comes 1 ms later (M-13, M-21)")
    func fullInput() {
        var pacer = RecordPacer(now: .zero)
        while pacer.take(.zero) {}
        let turn = pacer.reserve(.zero)
        #expect(turn == .zero, "the rate of the node has room")
        let later = pacer.use(turn, .zero)
        #expect(later == .at(1))
        pacer.begin()
        let now = pacer.use(turn, .at(1))
        #expect(now == nil)
    }
}

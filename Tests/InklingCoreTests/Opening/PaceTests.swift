import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Pace of attempts")
struct PaceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let before: Pace
        let asked: Pace
        let attempted: Pace
        let slowed: Pace
        var testDescription: String { name }
    }

    @Test(
        "what each input makes of a pace, an attempt at 5 s (L-5, D-11)",
        arguments: [
            Row(
                name: "untried", before: .untried, asked: .fast(since: nil, attempts: 1),
                attempted: .fast(since: .at(5_000), attempts: 1), slowed: .slow(attempts: 0)),
            Row(
                name: "asked", before: .fast(since: nil, attempts: 2), asked: .fast(since: nil, attempts: 3),
                attempted: .fast(since: .at(5_000), attempts: 3), slowed: .slow(attempts: 2)),
            Row(
                name: "after a farewell, by hand", before: .afterFarewellByHand,
                asked: .fast(since: nil, attempts: 2), attempted: .fast(since: .at(5_000), attempts: 2),
                slowed: .slow(attempts: 1)),
            Row(
                name: "fast", before: .fast(since: .at(100), attempts: 3), asked: .fast(since: .at(100), attempts: 4),
                attempted: .fast(since: .at(100), attempts: 4), slowed: .slow(attempts: 3)),
            Row(
                name: "slow", before: .slow(attempts: 3), asked: .slow(attempts: 4), attempted: .slow(attempts: 4),
                slowed: .slow(attempts: 3)),
        ])
    func inputs(_ row: Row) {
        var (asked, attempted, slowed) = (row.before, row.before, row.before)
        asked.asked()
        attempted.attempted(.at(5_000))
        slowed.slowDown()
        #expect(asked == row.asked)
        #expect(attempted == row.attempted)
        #expect(slowed == row.slowed)
        #expect(asked.attempts == row.before.attempts + 1)
        #expect(attempted.attempts == row.before.attempts + 1)
        #expect(slowed.attempts == row.before.attempts)
    }

    @Test(
        "the pause after an attempt: none, 1.25 s, 2.5 s from its end, after 90 s a minute from its beginning (L-5)",
        arguments: [
            (name: "none was made", pace: .untried, now: 4_000, since: 4_000, pause: 0),
            (name: "the first", pace: .fast(since: .at(1_000), attempts: 1), now: 4_000, since: 4_000, pause: 0),
            (name: "the second", pace: .fast(since: .at(1_000), attempts: 2), now: 4_000, since: 4_000, pause: 1_250),
            (name: "the third", pace: .fast(since: .at(1_000), attempts: 3), now: 4_000, since: 4_000, pause: 2_500),
            (name: "the tenth", pace: .fast(since: .at(1_000), attempts: 10), now: 4_000, since: 4_000, pause: 2_500),
            (name: "asks alone", pace: .fast(since: nil, attempts: 2), now: 999_999, since: 999_999, pause: 1_250),
            (
                name: "just before 90 s", pace: .fast(since: .at(1_000), attempts: 9), now: 90_999, since: 90_999,
                pause: 2_500
            ),
            (name: "at 90 s", pace: .fast(since: .at(1_000), attempts: 9), now: 91_000, since: 1_500, pause: 60_000),
            (name: "slow", pace: .slow(attempts: 1), now: 4_000, since: 1_500, pause: 60_000),
        ] as [(name: String, pace: Pace, now: Int, since: Int, pause: Int)])
    func pause(_ row: (name: String, pace: Pace, now: Int, since: Int, pause: Int)) {
        let pause = row.pace.pause(afterAttemptAt: .at(1_500), .at(row.now))
        #expect(pause.since == .at(row.since))
        #expect(pause.duration == .milliseconds(row.pause))
    }

    @Test(
        "the pause after an ask doubles from 300 ms, then it is 5 s (D-11)",
        arguments: zip(0...6, [300, 600, 1_200, 2_400, 5_000, 5_000, 5_000]))
    func pauseAfterAsk(_ attempts: Int, milliseconds: Int) {
        #expect(Pace.fast(since: nil, attempts: attempts).pauseAfterAsk == .milliseconds(milliseconds))
        #expect(Pace.fast(since: .zero, attempts: attempts).pauseAfterAsk == .milliseconds(milliseconds))
        #expect(Pace.slow(attempts: attempts).pauseAfterAsk == .milliseconds(milliseconds))
    }
}

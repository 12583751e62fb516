import InklingWire
import Testing

@testable import InklingCore

@Suite("failures of sent messages")
struct SenderFailureTests {
    /// Runs deadlines and sends all permitted records, without any ack, until messages fail.
    ///
    /// - Returns: The failed messages, and the seconds that passed.
    private func stall(_ trial: inout SenderTrial) -> (failed: [UInt64], seconds: Double) {
        let start = trial.now
        for _ in 0..<10_000 where trial.sender.nextDeadline != nil {
            let failed = trial.runDeadline()
            if !failed.isEmpty { return (failed, (trial.now - start) / .seconds(1)) }
            trial.send()
            _ = trial.sender.nextForward(trial.now)
        }
        return ([], 0)
    }

    @Test("M-19: the 60 s have a deadline also while nothing is in flight")
    func sixtySecondsAlone() {
        var trial = SenderTrial()
        trial.sender.enqueue(1, text: [UInt8](repeating: 0x61, count: 9_000), now: trial.now)
        trial.send()
        trial.ack(5)
        #expect(trial.timer == 60_000)
        trial.wait(10)
        trial.sender.goDown(now: trial.now)
        #expect(trial.timer == nil)
        trial.wait(10)
        trial.sender.comeUp(now: trial.now)
        #expect(trial.timer == 50_000)
        let failed = trial.runDeadline()
        #expect(failed == [1])
    }

    @Test("M-19, M-37: a later failure keeps the forward, and a failed name is sent anew")
    func secondStall() {
        var trial = SenderTrial()
        trial.enqueue(1...1)
        trial.sender.rename("Bob", now: trial.now)
        trial.send()
        _ = stall(&trial)
        trial.enqueue(2...2)
        let number = trial.sender.nextForward(trial.now)
        let (failed, seconds) = stall(&trial)
        #expect(number == 4)
        #expect(failed == [2])
        #expect(seconds == 30)
        trial.runDeadline()
        let kept = trial.sender.nextForward(trial.now)
        #expect(kept == 4)
        trial.ack(4)
        let records = trial.sendRecords()
        #expect(records.map(\.type) == [.name])
        #expect(records.map(\.text) == ["Bob"])
    }

    @Test("M-14: text counts until it is acknowledged, and each unfinished message with 256 bytes more")
    func queue() {
        var trial = SenderTrial()
        let text = [UInt8](repeating: 0x61, count: 65_536)
        for message in 1...63 as ClosedRange<UInt64> { trial.sender.enqueue(message, text: text, now: trial.now) }
        let left = 4 * 1_024 * 1_024 - 63 * 65_792
        #expect(trial.sender.queuedBytes == 63 * 65_792)
        #expect(trial.sender.room(for: left - 256, now: trial.now) == .fits)
        #expect(trial.sender.room(for: left - 255, now: trial.now) == .full)
        trial.send()
        trial.ack(2)
        #expect(trial.sender.queuedBytes == 63 * 65_792 - 1_167)
        #expect(trial.sender.room(for: left - 255, now: trial.now) == .fits)
    }

    @Test("M-30, M-44: the oldest message is older than 5 s, without the time for which the link was down")
    func overdue() {
        var trial = SenderTrial()
        let text = [UInt8](repeating: 0x61, count: 65_536)
        trial.enqueue(1...1)
        for message in 2...64 as ClosedRange<UInt64> { trial.sender.enqueue(message, text: text, now: trial.now) }
        trial.wait(5)
        #expect(trial.sender.room(for: 65_536, now: trial.now) == .full)
        trial.sender.goDown(now: trial.now)
        trial.wait(100)
        #expect(trial.sender.room(for: 65_536, now: trial.now) == .full)
        trial.sender.comeUp(now: trial.now)
        trial.send()
        trial.wait(0.001)
        #expect(trial.sender.room(for: 65_536, now: trial.now) == .overdue)
        // Message 2 is the oldest from now on. Its first record was sent when the link came up.
        trial.ack(2)
        #expect(trial.sender.room(for: 65_536, now: trial.now) == .full)
        trial.wait(5)
        #expect(trial.sender.room(for: 65_536, now: trial.now) == .overdue)
    }
}

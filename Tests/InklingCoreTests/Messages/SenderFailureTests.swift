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

    @Test("M-19: all waiting messages fail 30 s after the last ack of something new")
    func thirtySeconds() {
        var trial = SenderTrial()
        trial.enqueue(1...20)
        trial.send()
        trial.wait(10)
        trial.ack(2, naming: [4])
        trial.send()
        // If an ack only names a record in its bitmap, that is not a new acknowledgement.
        trial.wait(1)
        trial.ack(2, naming: [3, 4])
        let (failed, seconds) = stall(&trial)
        #expect(failed == Array(2...20))
        #expect(seconds == 29)
        #expect(trial.sender.queuedBytes == 0)
        #expect(trial.sender.unfinished == [])
    }

    @Test("M-19: the 30 s run only while something is in flight, and stand still while the link is down")
    func idle() {
        var trial = SenderTrial()
        trial.wait(100)
        trial.enqueue(1...1)
        trial.wait(100)
        let idle = trial.sender.advance(trial.now)
        #expect(idle == [], "the rates held the record back")
        trial.send()
        trial.wait(20)
        trial.sender.goDown(now: trial.now)
        trial.wait(50)
        trial.sender.comeUp(now: trial.now)
        trial.send()
        let (failed, seconds) = stall(&trial)
        #expect(failed == [1])
        #expect(seconds == 10)
    }

    @Test("M-19: all waiting messages fail 60 s after the first transmission of the oldest")
    func sixtySeconds() {
        var trial = SenderTrial()
        trial.enqueue(1...1)
        trial.sender.enqueue(2, text: [UInt8](repeating: 0x61, count: 40_000), now: trial.now)
        trial.send()
        var failed: [UInt64] = []
        let start = trial.now
        var next: UInt32 = 1
        for _ in 0..<20 where failed.isEmpty {
            trial.wait(4)
            next += 1
            trial.ack(next)
            failed = trial.sender.advance(trial.now)
            trial.send()
        }
        #expect(failed == [2])
        #expect((trial.now - start) / .seconds(1) == 60, "message 2 began with message 1")
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

    @Test("M-37: a forward names one above the next unused number; new records wait for its ack and begin there")
    func forward() {
        var trial = SenderTrial()
        trial.enqueue(1...2)
        trial.send()
        _ = stall(&trial)
        let first = trial.sender.nextForward(trial.now)
        let again = trial.sender.nextForward(trial.now)
        #expect(first == 4)
        #expect(again == nil)
        trial.enqueue(3...3)
        #expect(!trial.sender.wantsToSend)
        trial.runDeadline()
        let repeated = trial.sender.nextForward(trial.now)
        #expect(repeated == 4)
        trial.sender.goDown(now: trial.now)
        let down = trial.sender.nextForward(trial.now)
        #expect(down == nil)
        trial.sender.comeUp(now: trial.now)
        let up = trial.sender.nextForward(trial.now)
        #expect(up == 4)
        // The peer received records 1 and 2, but not the forward.
        let before = trial.ack(3)
        #expect(before == .taken(delivered: []))
        #expect(!trial.sender.wantsToSend)
        trial.ack(4)
        let records = trial.send()
        #expect(records == [4])
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

    @Test("M-18: a link knows the messages that fail when it is forgotten, oldest first")
    func unfinished() {
        var trial = SenderTrial()
        trial.enqueue(1...8)
        trial.sender.enqueue(9, text: [UInt8](repeating: 0x61, count: 5_000), now: trial.now)
        trial.send()
        trial.ack(3)
        trial.send()
        #expect(trial.sender.unfinished == Array(3...9))
    }

    @Test("L-69: a new state fails messages of which a record was sent, keeps the others, and begins with the name")
    func newState() {
        var trial = SenderTrial()
        trial.sender.enqueue(1, text: [UInt8](repeating: 0x61, count: 9_000), now: trial.now)
        trial.enqueue(2...3)
        trial.send()
        trial.sender.rename("Bob", now: trial.now)
        let failed = trial.sender.restart(now: trial.now)
        #expect(failed == [1])
        #expect(trial.sender.roundTrip == nil)
        #expect(!trial.sender.isUp)
        #expect(trial.sender.unfinished == [2, 3])
        #expect(trial.sender.queuedBytes == 2 * (6 + 256))
        trial.sender.comeUp(now: trial.now)
        let unnamed = trial.sendRecords()
        #expect(unnamed.map(\.text) == ["Bob"])
        trial.sender.peerWasNamed(now: trial.now)
        let records = trial.send()
        #expect(records == [1, 2])
        // In the new state, the counters begin at 0.
        let delivered = trial.sender.receive(Ack(next: 3), counter: 0, isTimely: true, now: trial.now)
        #expect(delivered == .taken(delivered: [2, 3]))
    }

    @Test("L-94: an ack that goes back or beyond what was sent is impossible and changes nothing")
    func impossible() {
        var trial = SenderTrial()
        trial.enqueue(1...4)
        trial.send()
        trial.ack(3)
        let back = trial.ack(2)
        #expect(back == .impossible)
        let beyond = trial.ack(6)
        #expect(beyond == .impossible)
        let old = trial.sender.receive(Ack(next: 1), counter: 0, isTimely: true, now: trial.now)
        #expect(old == .taken(delivered: []), "an older datagram")
        let named = trial.ack(3, naming: [9])
        #expect(named == .taken(delivered: []), "a bitmap may name what was not sent")
        #expect(trial.sender.unfinished == [3, 4])
        _ = stall(&trial)
        let number = trial.sender.nextForward(trial.now) ?? 0
        let skipped = trial.ack(number - 1)
        #expect(skipped == .taken(delivered: []))
        let over = trial.ack(number + 1)
        #expect(over == .impossible)
    }
}

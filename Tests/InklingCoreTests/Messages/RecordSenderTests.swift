import InklingWire
import Testing

@testable import InklingCore

@Suite("order and window of sent records")
struct RecordSenderTests {
    @Test(
        "M-1: a message is cut at scalar boundaries, and its flags name the first and the last record",
        arguments: [
            ("a", 1, [1]), ("a", 1_167, [1_167]), ("a", 1_168, [1_167, 1]), ("€", 390, [1_167, 3]),
            ("😀", 292, [1_164, 4]), ("é", 584, [1_166, 2]),
        ])
    func cut(character: String, count: Int, sizes: [Int]) {
        var trial = SenderTrial()
        let text = String(repeating: character, count: count)
        trial.sender.enqueue(1, text: Array(text.utf8), now: trial.now)
        let records = trial.sendRecords()
        #expect(records.map(\.body.count) == sizes)
        #expect(records.map(\.text).joined() == text)
        #expect(records.map(\.isFirst) == sizes.indices.map { $0 == 0 })
        #expect(records.map(\.isLast) == sizes.indices.map { $0 == sizes.count - 1 })
    }

    @Test("M-24: the name goes at once as record 0 of a new state, also within a second after another")
    func nameOfNewState() {
        var trial = SenderTrial()
        trial.sender.rename("Bob", now: trial.now)
        trial.send()
        _ = trial.sender.restart(now: trial.now)
        trial.sender.comeUp(now: trial.now)
        let records = trial.sendRecords()
        #expect(records.map(\.text) == ["Bob"])
        #expect(records.map(\.number) == [0])
    }

    @Test("X-5, M-27: a greasing record goes once, before the next message and never within one")
    func greasing() {
        var trial = SenderTrial()
        trial.sender.grease([1, 2])
        #expect(!trial.sender.wantsToSend)
        trial.sender.enqueue(1, text: [UInt8](repeating: 0x61, count: 2_000), now: trial.now)
        var records = trial.sendRecords()
        trial.ack(4)
        trial.sender.enqueue(2, text: [UInt8](repeating: 0x61, count: 7_000), now: trial.now)
        records += trial.sendRecords()
        trial.sender.grease([3])
        trial.enqueue(3...3)
        trial.ack(9)
        records += trial.sendRecords()
        let types = [.unknown(14)] + [RecordType](repeating: .text, count: 8) + [.unknown(14), .text]
        #expect(records.map(\.type) == types)
        #expect(records[0].body == [1, 2])
    }

    @Test("M-34: the window is 4 at first, grows by one with each ack of something new up to 16, and is 4 on coming up")
    func window() {
        var trial = SenderTrial()
        trial.enqueue(1...400)
        let first = trial.send()
        #expect(first == [1, 2, 3, 4])
        for window in 5...16 {
            let next = trial.sender.window.base + 1
            trial.ack(next)
            trial.ack(next)
            trial.send()
            #expect(trial.sender.window.inFlight == window)
        }
        trial.ack(trial.sender.window.base + 1)
        trial.send()
        #expect(trial.sender.window.inFlight == 16)
        let lowest = trial.sender.window.base
        trial.sender.goDown(now: trial.now)
        #expect(!trial.sender.wantsToSend)
        #expect(trial.sender.nextDeadline == nil)
        trial.wait(3)
        trial.sender.comeUp(now: trial.now)
        let again = trial.send()
        #expect(again == Array(lowest...(lowest + 3)), "M-29: from the lowest on")
    }

    @Test("M-12: a record goes again at once when three later ones are acknowledged or named, not when two are")
    func overtaken() {
        var trial = SenderTrial()
        trial.enqueue(1...4)
        trial.send()
        trial.ack(1, naming: [2])
        trial.ack(1, naming: [2, 3])
        let early = trial.send()
        trial.ack(1, naming: [2, 3, 4])
        let again = trial.send()
        #expect(early == [])
        #expect(again == [1])
        // These three records were sent before the repeat of record 1, so they do not overtake the repeat.
        trial.ack(1, naming: [2, 3, 4])
        let twice = trial.send()
        #expect(twice == [])
    }

    @Test("M-12, M-34: the window does not hold back repeats, which stay in flight until they go")
    func manyOvertaken() {
        var trial = SenderTrial()
        trial.enqueue(1...100)
        trial.send()
        trial.grow(to: 16)
        for _ in 0..<20 {
            trial.ack(trial.sender.window.base + 1)
            trial.send()
        }
        let low = trial.sender.window.base
        trial.ack(low, naming: [low + 13, low + 14, low + 15])
        #expect(trial.sender.window.inFlight == 13)
        let again = trial.send()
        #expect(again == Array(low...low + 12))
        trial.ack(low + 13, naming: [low + 13, low + 14, low + 15].filter { $0 > low + 13 })
        let rest = trial.send()
        // Half of 16, and one more because the ack acknowledged a new record. The newest ack no longer names record 13,
        // and later ones overtook it.
        #expect(trial.sender.window.inFlight == 9)
        #expect(rest == Array(low + 13...low + 13) + Array(low + 16...low + 23))
    }

    @Test("M-12: acknowledged repeats of lower records overtake a higher record as well")
    func overtakenByRepeats() {
        var trial = SenderTrial()
        trial.enqueue(1...4)
        trial.send()
        trial.ack(1, naming: [4])
        trial.runDeadline()
        // The sender repeats records 1, 2 and 3, one after the other. The newest bitmap no longer contains record 4.
        var sent = trial.send()
        for next in [2, 3, 4] as [UInt32] {
            trial.ack(next)
            if next < 4 { sent += trial.send() }
        }
        #expect(sent == [1, 2, 3])
        trial.enqueue(5...6)
        let rest = trial.send()
        #expect(rest == [4, 5], "record 4 was overtaken by 1, 2 and 3")
        trial.ack(4)
        let twice = trial.send()
        #expect(twice == [], "nothing went out after its repeat but record 5")
    }
}

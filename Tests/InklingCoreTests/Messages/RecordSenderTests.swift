import InklingWire
import Testing

@testable import InklingCore

@Suite("order and window of sent records")
struct RecordSenderTests {
    @Test("M-24, L-85: record 0 is the name, and nothing else goes before the peer's name came")
    func name() {
        var sender = RecordSender(name: "Zoë", isOnLink: true)
        sender.enqueue(1, text: [0x61], now: .zero)
        #expect(!sender.wantsToSend, "the link is down (M-29)")
        sender.comeUp(now: .zero)
        let first = sender.nextRecord(.zero)
        #expect(first == Record(number: 0, type: .name, body: Array("Zoë".utf8)))
        #expect(!sender.wantsToSend)
        sender.peerWasNamed(now: .zero)
        let second = sender.nextRecord(.zero)
        #expect(second == Record(number: 1, type: .text, body: [0x61]))
    }

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

    @Test("M-24, M-27: a name goes once a second, never within a message, and the latest name counts")
    func rename() {
        var trial = SenderTrial()
        trial.sender.rename("A", now: trial.now)
        let first = trial.sendRecords()
        #expect(first.map(\.text) == ["A"])
        trial.sender.rename("B", now: trial.now)
        trial.sender.rename("C", now: trial.now)
        trial.ack(2)
        #expect(!trial.sender.wantsToSend)
        #expect(trial.timer == 1_000)
        trial.wait(0.9)
        // The message needs six records. The window permits the first five.
        trial.sender.enqueue(1, text: [UInt8](repeating: 0x61, count: 7_000), now: trial.now)
        trial.enqueue(2...2)
        let before = trial.send()
        trial.wait(0.1)
        _ = trial.sender.advance(trial.now)
        trial.ack(7)
        let after = trial.sendRecords()
        #expect(before == [2, 3, 4, 5, 6])
        #expect(after.map(\.type) == [.text, .name, .text])
        #expect(after.dropFirst().map(\.text) == ["C", "text 2"])
        trial.ack(10)
        trial.wait(2)
        trial.sender.rename("C", now: trial.now)
        #expect(!trial.sender.wantsToSend, "the name is the same")
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

    @Test("M-35: the window halves once for all that was sent before, and is 1 when the timer runs out")
    func halving() {
        var trial = SenderTrial()
        trial.enqueue(1...100)
        trial.send()
        trial.grow(to: 12)
        let low = trial.sender.window.base
        // The peer lacks two of the twelve records.
        let named = (low + 1..<low + 12).filter { $0 != low + 4 }
        trial.ack(low, naming: named)
        let again = trial.send()
        #expect(again.prefix(2) == [low, low + 4])
        // The window was 13, and its half is 6.
        #expect(trial.sender.window.inFlight == 6)
        trial.ack(low + 4, naming: (low + 5..<low + 16).filter { $0 != low + 12 })
        let later = trial.send()
        #expect(later.contains(low + 12), "sent after the halving and overtaken")
        #expect(trial.sender.window.inFlight > 3, "not halved again")
        trial.runDeadline()
        #expect(trial.sender.window.inFlight == 0)
        trial.send()
        #expect(trial.sender.window.inFlight == 1)
    }

    @Test("M-33: when the timer runs out the lowest goes again, and the others follow unless the newest ack names them")
    func timeout() {
        var trial = SenderTrial()
        trial.enqueue(1...5)
        trial.send()
        trial.ack(1, naming: [3])
        trial.send()
        trial.runDeadline()
        let lowest = trial.send()
        #expect(lowest == [1])
        trial.ack(2, naming: [3])
        let others = trial.send()
        #expect(others == [2, 4])
        trial.ack(5)
        let last = trial.send()
        #expect(last == [5])
    }

    @Test("M-31: a record that the newest bitmap does not name any more goes again; an older ack changes nothing")
    func newestBitmap() {
        var trial = SenderTrial()
        trial.enqueue(1...3)
        trial.send()
        trial.ack(1, naming: [2, 3])
        #expect(trial.sender.window.inFlight == 1)
        let old = trial.sender.receive(Ack(next: 1, bitmap: 0), counter: 1, isTimely: true, now: trial.now)
        #expect(old == .taken(delivered: []))
        #expect(trial.sender.window.inFlight == 1)
        let taken = trial.ack(2, naming: [3])
        #expect(taken == .taken(delivered: [1]))
        trial.ack(2)
        #expect(trial.sender.window.inFlight == 2)
        trial.runDeadline()
        trial.ack(3)
        let last = trial.send()
        #expect(last == [3])
    }
}

import InklingWire
import Testing

@testable import InklingCore

/// A receiver with room for all texts, unless a test removes the room.
struct ReceiverTrial {
    var receiver = RecordReceiver()
    var now = Instant.zero
    var hasRoom = true
    private(set) var demands: [TextDemand] = []

    init(isNamed: Bool = true) {
        receiver.comeUp(now: now)
        if isNamed { receive(0, .name, "Alice") }
        demands = []
    }

    @discardableResult
    mutating func receive(
        _ number: UInt32, _ type: RecordType = .text, _ body: String = "x", first: Bool = true, last: Bool = true
    ) -> [RecordEvent] {
        let record = Record(number: number, type: type, isFirst: first, isLast: last, body: Array(body.utf8))
        let (hasRoom, instant) = (hasRoom, now)
        var asked: [TextDemand] = []
        let events = receiver.receive(record, now: instant) {
            asked.append($0)
            return hasRoom
        }
        demands += asked
        return events
    }

    @discardableResult
    mutating func forward(_ number: UInt32) -> [RecordEvent] {
        var asked: [TextDemand] = []
        let events = receiver.receive(forward: number, now: now) {
            asked.append($0)
            return true
        }
        demands += asked
        return events
    }

    mutating func advance(_ seconds: Double) {
        now = .seconds(seconds)
        var asked: [TextDemand] = []
        receiver.advance(now) {
            asked.append($0)
            return true
        }
        demands += asked
    }

    /// The expected record, and the held ones in the ack.
    var named: [UInt32] {
        let ack = receiver.ack
        return [ack.next] + (ack.next...ack.next + 17).filter { ack.names($0) }
    }
}

@Suite("received records")
struct RecordReceiverTests {
    @Test("M-26, M-28: other types are acknowledged, and change no message in progress; a successor is handed on")
    func otherTypes() {
        var trial = ReceiverTrial()
        trial.receive(1, .text, "a", last: false)
        trial.hasRoom = false
        let types: [RecordType] = [.unknown(14), .invite, .successor, .unknown(4)]
        for (number, type) in types.enumerated() {
            let events = trial.receive(UInt32(number) + 2, type, "?")
            #expect(events == (type == .successor ? [.successor(Array("?".utf8))] : []))
        }
        let name = trial.receive(6, .name, "Bob")
        #expect(name == [.name("Bob")], "M-27: at its turn it needs no room")
        trial.hasRoom = true
        let message = trial.receive(7, .text, "b", first: false)
        #expect(message == [.message("ab")])
    }

    @Test("L-105: a record contradicts another one under its number that is held or among the last 16 taken")
    func contradiction() {
        func record(_ number: UInt32, _ body: String, last: Bool = true) -> Record {
            Record(number: number, type: .text, isFirst: true, isLast: last, body: Array(body.utf8))
        }
        var trial = ReceiverTrial()
        trial.receive(2, .text, "held")
        #expect(!trial.receiver.contradicts(record(1, "other")), "record 1 has not come")
        for number in [UInt32(2), 1, 2] {
            if number == 1 { trial.receive(1, .text, "held") }
            #expect(!trial.receiver.contradicts(record(number, "held")), "a repeated record")
            #expect(trial.receiver.contradicts(record(number, "other")))
            #expect(trial.receiver.contradicts(record(number, "held", last: false)))
        }
        trial.forward(9)
        for number in 9...24 as ClosedRange<UInt32> {
            #expect(trial.receiver.contradicts(record(2, "other")), "record 2, and \(number - 9) after it")
            trial.receive(number)
        }
        #expect(!trial.receiver.contradicts(record(2, "other")))
        #expect(trial.receiver.contradicts(record(9, "other")))
    }

    @Test("M-39, M-40, M-41: a record without room is answered with an ack that does not name it")
    func noRoom() {
        var trial = ReceiverTrial()
        trial.receive(2, .text, "b")
        trial.hasRoom = false
        trial.receive(3, .text, "c")
        let refused = trial.receive(1, .text, "a", last: false)
        #expect(refused == [])
        #expect(trial.named == [1, 2])
        trial.hasRoom = true
        trial.receive(1, .text, "a", last: false)
        #expect(trial.demands.suffix(3) == [.begin, .drop(1), .end], "record 2 breaks M-1")
    }

    @Test("M-40: a held record without room at its turn is dropped, and later ones stay held")
    func droppedAtTurn() {
        var receiver = RecordReceiver()
        receiver.comeUp(now: .zero)
        func record(_ number: UInt32) -> Record {
            Record(number: number, type: number == 0 ? .name : .text, body: [0x61])
        }
        for number in [2, 3, 0] as [UInt32] { _ = receiver.receive(record(number), now: .zero) { _ in true } }
        /// Returns a closure that grants room for one text.
        func room() -> (TextDemand) -> Bool {
            var texts = 1
            return { demand in
                guard case .deliver = demand else { return true }
                texts -= 1
                return texts >= 0
            }
        }
        let first = receiver.receive(record(1), now: .zero, grant: room())
        #expect(first == [.message("a")])
        #expect(receiver.ack == Ack(next: 2, bitmap: 1))
        #expect(receiver.nextDeadline == .seconds(35))
        let second = receiver.receive(record(2), now: .zero, grant: room())
        #expect(second == [.message("a")])
        #expect(receiver.ack == Ack(next: 3, bitmap: 0))
        #expect(receiver.nextDeadline == nil, "nothing waits any more")
    }

    @Test("M-39: the last record of a message waits for room with the message begun")
    func lastWithoutRoom() {
        var trial = ReceiverTrial()
        trial.receive(1, .text, "a", last: false)
        trial.receive(2, .text, "b", first: false, last: false)
        trial.hasRoom = false
        let refused = trial.receive(3, .text, "c", first: false)
        #expect(refused == [])
        #expect(trial.named == [3])
        trial.hasRoom = true
        let taken = trial.receive(3, .text, "c", first: false)
        #expect(taken == [.message("abc")])
        #expect(trial.demands == [.begin, .deliver(3), .deliver(3), .end])
    }

    @Test("M-43: held records and a begun message are dropped 35 s after the last record; then a forward has to come")
    func pause() {
        var trial = ReceiverTrial()
        trial.receive(1, .text, "a", last: false)
        trial.receive(3, .text, "c")
        trial.now = .seconds(20)
        trial.receive(1, .text, "a")
        trial.advance(54.999)
        #expect(trial.named == [2, 3])
        #expect(trial.receiver.nextDeadline == .seconds(55))
        trial.advance(55)
        #expect(trial.named == [2])
        #expect(trial.demands.suffix(2) == [.end, .drop(1)])
        #expect(trial.receiver.nextDeadline == nil)
        let refused = trial.receive(2, .text, "b", first: false) + trial.receive(3) + trial.receive(2, .name)
        #expect(refused == [])
        #expect(trial.named == [2])
        trial.forward(6)
        let taken = trial.receive(6, .text, "d")
        #expect(taken == [.message("d")])
    }

    @Test("M-43: a begun message or a gap is dropped after 65 s, however many records come", arguments: [true, false])
    func longest(isGap: Bool) {
        var trial = ReceiverTrial()
        trial.receive(isGap ? 2 : 1, .text, "a", last: isGap)
        for second in stride(from: 10.0, to: 65, by: 10) {
            trial.now = .seconds(second)
            trial.receive(0)
        }
        #expect(trial.receiver.nextDeadline == .seconds(65))
        trial.advance(65)
        trial.receive(isGap ? 1 : 2, .text, "b", first: isGap)
        #expect(trial.named == [isGap ? 1 : 2])
    }

    @Test("M-43: a gap that closes while another stays counts anew, and the times stand still while the link is down")
    func moving() {
        var trial = ReceiverTrial()
        trial.receive(2, .text, "b")
        trial.now = .seconds(30)
        trial.receive(4, .text, "d")
        trial.now = .seconds(40)
        trial.receive(0)
        #expect(trial.receiver.nextDeadline == .seconds(65), "the gap is the same")
        trial.receive(1, .text, "a")
        #expect(trial.named == [3, 4])
        trial.now = .seconds(70)
        trial.receive(0)
        #expect(trial.receiver.nextDeadline == .seconds(105))
        trial.receiver.goDown(now: .seconds(80))
        #expect(trial.receiver.nextDeadline == nil)
        trial.receiver.comeUp(now: .seconds(120))
        #expect(trial.receiver.nextDeadline == .seconds(145))
        trial.receive(3, .text, "c")
        #expect(trial.receiver.nextDeadline == nil)
    }
}

import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Records of a link")
struct OutgoingRecordsTests {
    /// Records of stream 60, with so many messages of one record each.
    private func records(held: Bool = true, messages: Int = 0) -> OutgoingRecords {
        var records = OutgoingRecords(stream: 60, now: .zero)
        if held { _ = records.synchronise(held: 60, next: 0, replacement: 61, now: .zero) }
        for message in 0..<messages { records.enqueue(UInt64(message + 1), text: [0x78], now: .zero) }
        return records
    }

    /// Sends and acknowledges what goes out at an instant; the answer is how many that were.
    private func send(_ records: inout OutgoingRecords, _ pacer: inout RecordPacer, now: Instant) -> Int {
        var count = 0
        while let (record, _) = records.next(&pacer, now: now) {
            count += 1
            _ = records.receive(Ack(stream: 60, next: record.number + 1, bitmap: 0), now: now)
        }
        return count
    }

    @Test("records go out once the peer holds the stream, and until another session sends (M-4)")
    func held() {
        var pacer = RecordPacer(now: .zero)
        var records = records(held: false, messages: 2)
        #expect(!records.isHeld)
        #expect(records.next(&pacer, now: .zero) == nil)
        _ = records.synchronise(held: 60, next: 0, replacement: 61, now: .zero)
        #expect(records.isHeld)
        let first = records.next(&pacer, now: .zero)
        #expect(first?.record.number == 0)
        #expect(first?.isRepeat == false)
        records.awaitHello()
        #expect(!records.isHeld)
        #expect(records.next(&pacer, now: .zero) == nil)
        // What was on its way goes out again after that, as a repetition.
        _ = records.synchronise(held: 60, next: 0, replacement: 61, now: .zero)
        let again = records.next(&pacer, now: .zero)
        #expect(again?.record.number == 0)
        #expect(again?.isRepeat == true)
    }

    enum State: String, CaseIterable, Sendable { case empty, queued, sent, acknowledged }

    private func records(_ state: State, held: Bool) -> OutgoingRecords {
        var pacer = RecordPacer(now: .zero)
        var records = records(messages: state == .empty ? 0 : 1)
        if state == .sent || state == .acknowledged { _ = records.next(&pacer, now: .zero) }
        if state == .acknowledged { _ = records.receive(Ack(stream: 60, next: 1, bitmap: 0), now: .zero) }
        if !held { records.awaitHello() }
        return records
    }

    @Test("a peer that holds the stream says what it has (M-6)", arguments: State.allCases, [true, false])
    func synchronise(_ state: State, held: Bool) {
        var records = records(state, held: held)
        let next: UInt32 = state == .sent || state == .acknowledged ? 1 : 0
        let changes = records.synchronise(held: 60, next: next, replacement: 61, now: .zero)
        #expect(changes.delivered == (state == .sent ? [1] : []))
        #expect(changes.failed.isEmpty)
        #expect(records.isHeld)
        #expect(records.stream == 60)
        #expect(records.unfinished == (state == .queued ? [1] : []))
    }

    @Test(
        "a peer that holds another stream makes a new one begin, if any record went out (M-7)",
        arguments: State.allCases, [true, false])
    func synchroniseOther(_ state: State, held: Bool) {
        var records = records(state, held: held)
        let changes = records.synchronise(held: 7, next: 0, replacement: 61, now: .zero)
        let isUsed = state == .sent || state == .acknowledged
        #expect(changes.delivered.isEmpty)
        #expect(changes.failed == (state == .sent ? [1] : []))
        #expect(!records.isHeld)
        #expect(records.stream == (isUsed ? 61 : 60))
        #expect(records.hasNamed(60))
        #expect(records.hasNamed(61) == isUsed)
        #expect(!records.hasNamed(7))
        #expect(records.unfinished == (state == .queued ? [1] : []))
    }

    @Test("a new stream has nothing to send (M-19)", arguments: State.allCases, [true, false])
    func restart(_ state: State, held: Bool) {
        var records = records(state, held: held)
        records.restart(62)
        #expect(records.stream == 62)
        #expect(!records.isHeld)
        #expect(records.unfinished.isEmpty)
        #expect(records.queuedBytes == 0)
        #expect(records.hasNamed(60) && records.hasNamed(62))
    }

    @Test(
        "a stream has stalled when nothing was acknowledged for 30 s (M-19)", arguments: State.allCases, [true, false])
    func stalled(_ state: State, held: Bool) {
        var records = records(state, held: held)
        let before = records.advance(.at(29_999))
        #expect(before == .none)
        let after = records.advance(.at(30_000))
        #expect(after == (state == .queued || state == .sent ? .stalled(failed: [1]) : .none))
    }

    @Test("while our own pace holds a record back and none is in flight, the peer has not stalled (M-19)")
    func ownPace() {
        // 40 s ahead.
        var pacer = spent(turns: 80_000)
        var records = records(messages: 1)
        #expect(records.next(&pacer, now: .zero) == nil)
        for second in [10, 30, 39] {
            let step = records.advance(.at(second * 1_000))
            #expect(step == .none, "\(second) s")
        }
        let turn = records.nextDeadline ?? .zero
        #expect(turn > .at(40_000))
        pacer.begin()
        _ = records.advance(turn)
        #expect(records.next(&pacer, now: turn)?.record.number == 0)
        let before = records.advance(turn + .milliseconds(29_999))
        #expect(before == .none)
        let after = records.advance(turn + .seconds(30))
        #expect(after == .stalled(failed: [1]))
    }

    @Test("a message that is unfinished 60 s after its first record fails with all that wait (M-19)")
    func longDelivery() {
        var pacer = RecordPacer(now: .zero)
        var records = records()
        records.enqueue(1, text: Array(repeating: 0x78, count: 10 * 1_163), now: .zero)
        for second in 0..<60 {
            let now = Instant.at(second * 1_000)
            pacer.begin()
            let step = records.advance(now)
            #expect(step == .none)
            while records.next(&pacer, now: now) != nil {}
            // One each 10 s.
            if second % 10 == 9 {
                _ = records.receive(Ack(stream: 60, next: UInt32(second / 10 + 1), bitmap: 0), now: now)
            }
            if second == 30 { records.enqueue(2, text: [0x78], now: now) }
        }
        let before = records.advance(.at(59_999))
        #expect(before == .none)
        let after = records.advance(.at(60_000))
        #expect(after == .stalled(failed: [1, 2]))
    }

    @Test("each message has 60 s of its own (M-19)")
    func nextDelivery() {
        var pacer = RecordPacer(now: .zero)
        var records = records(messages: 2)
        var number: UInt32 = 0
        for second in stride(from: 0, through: 200, by: 20) {
            let now = Instant.at(second * 1_000)
            pacer.begin()
            let step = records.advance(now)
            #expect(step == .none, "\(second) s")
            while records.next(&pacer, now: now) != nil {}
            number += 1
            _ = records.receive(Ack(stream: 60, next: number, bitmap: 0), now: now)
            records.enqueue(UInt64(number) + 2, text: [0x78], now: now)
        }
    }

    @Test("the oldest message is overdue after 5 s in which the peer was waited for (M-14)")
    func overdue() {
        var pacer = RecordPacer(now: .zero)
        var records = records(messages: 2)
        while records.next(&pacer, now: .zero) != nil {}
        #expect(!records.isOverdue(.at(4_999)))
        #expect(records.isOverdue(.at(5_000)))
        _ = records.receive(Ack(stream: 60, next: 1, bitmap: 0), now: .at(5_500))
        #expect(records.isOverdue(.at(5_500)), "the second went out with the first")
        _ = records.receive(Ack(stream: 60, next: 2, bitmap: 0), now: .at(5_600))
        #expect(!records.isOverdue(.at(20_000)), "nothing waits")
        // One that our pace holds back does not age.
        var late = spent(turns: 80_000)
        records.enqueue(3, text: [0x78], now: .at(20_000))
        #expect(records.next(&late, now: .at(20_000)) == nil)
        #expect(!records.isOverdue(.at(30_000)))
        // One that waits for the peer's hello does.
        var unheld = self.records(held: false, messages: 1)
        _ = unheld.advance(.zero)
        #expect(unheld.isOverdue(.at(5_000)))
    }

    @Test("eight streams are remembered, the oldest goes (M-7)")
    func remembered() {
        var records = records()
        for stream in UInt32(100)..<107 { records.remember(stream) }
        records.remember(60)
        #expect(records.hasNamed(60))
        records.remember(107)
        #expect(!records.hasNamed(60))
        #expect((UInt32(100)...107).filter { !records.hasNamed($0) }.isEmpty)
    }

    @Test("64 go out in a row on a link, then one each 2.5 ms (M-13)")
    func linkPace() {
        var pacer = RecordPacer(now: .zero)
        var records = records(messages: 70)
        #expect(send(&records, &pacer, now: .zero) == 64)
        pacer.begin()
        #expect(send(&records, &pacer, now: .zero) == 0)
        #expect(records.nextDeadline == Instant.zero + .microseconds(2_500))
        let step = records.advance(Instant.zero + .microseconds(2_500))
        #expect(step == .none)
        #expect(send(&records, &pacer, now: Instant.zero + .microseconds(2_500)) == 1)
    }

    /// A pacer of which nothing is left, so many turns in the future included.
    private func spent(turns: Int = 0) -> RecordPacer {
        var pacer = RecordPacer(now: .zero)
        for _ in 0..<2 {
            pacer.begin()
            while pacer.take(.zero) {}
        }
        pacer.begin()
        for _ in 0..<turns { _ = pacer.reserve(.zero) }
        return pacer
    }

    @Test("with 64 since the socket was read a record waits 1 ms, and costs nothing (M-13)")
    func inputPace() {
        var pacer = RecordPacer(now: .zero)
        while pacer.take(.zero) {}
        var records = records(messages: 70)
        for _ in 0..<10 { #expect(send(&records, &pacer, now: .zero) == 0) }
        #expect(records.nextDeadline == .at(1))
        pacer.begin()
        // One with its turn, the others with what is left of the burst.
        #expect(send(&records, &pacer, now: .at(1)) == 64)
    }

    @Test("a record waits for the node's pace, and costs the link nothing (M-13)")
    func nodePace() {
        var pacer = spent()
        var records = records(messages: 70)
        for _ in 0..<10 { #expect(send(&records, &pacer, now: .zero) == 0) }
        #expect(records.nextDeadline == Instant.zero + .microseconds(500))
        records.giveBackTurn(&pacer, isOver: true, now: .zero)
        // The node has its share back before the link could have.
        var fresh = RecordPacer(now: .zero)
        #expect(send(&records, &fresh, now: .zero) == 64)
    }

    @Test("links that wait take turns, whoever is asked first (M-21)")
    func turns() {
        var pacer = spent()
        var links = (0..<4).map { _ in records(messages: 20) }
        var sent: [Int] = []
        for link in links.indices { #expect(send(&links[link], &pacer, now: .zero) == 0) }
        for step in 1...40 {
            pacer.begin()
            let now = Instant.zero + .microseconds(500 * step)
            for link in links.indices {
                _ = links[link].advance(now)
                sent += Array(repeating: link, count: send(&links[link], &pacer, now: now))
            }
        }
        #expect(sent.count >= 36)
        for (place, link) in sent.enumerated() where place >= 4 {
            #expect(link == sent[place - 4], "\(place)")
        }
        #expect(sent.prefix(4) == [0, 1, 2, 3])
    }

    @Test("a turn for which nothing is left to send goes back once it has come (M-21)")
    func unusedTurn() {
        var pacer = spent()
        var records = records(messages: 1)
        #expect(send(&records, &pacer, now: .zero) == 0)
        records.restart(61)
        records.giveBackTurn(&pacer, now: .zero)
        let early = pacer.take(Instant.zero + .microseconds(500))
        #expect(!early, "it has not come yet")
        _ = records.advance(Instant.zero + .microseconds(500))
        records.giveBackTurn(&pacer, now: Instant.zero + .microseconds(500))
        let taken = pacer.take(Instant.zero + .microseconds(500))
        #expect(taken)
    }

    @Test("what was not acknowledged in time goes out again")
    func lost() {
        var pacer = RecordPacer(now: .zero)
        var records = records(messages: 1)
        _ = records.next(&pacer, now: .zero)
        #expect(records.nextDeadline == .at(500))
        _ = records.advance(.at(499))
        #expect(records.next(&pacer, now: .at(499)) == nil)
        _ = records.advance(.at(500))
        #expect(records.next(&pacer, now: .at(500))?.isRepeat == true)
    }
}

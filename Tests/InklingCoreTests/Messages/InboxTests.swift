import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Inbox")
struct InboxTests {
    private static let links = (1...9).map { LinkID(value: $0) }
    private static let block = 65_536

    /// Gives a link as many messages of 64 KiB as it may hold.
    ///
    /// - Returns: Their numbers.
    private func fill(_ inbox: inout Inbox, _ link: LinkID, from number: UInt64 = 1) -> [UInt64] {
        var next = number
        while inbox.admits(Inbox.cost(of: Self.block), of: link) {
            inbox.add(next, size: Self.block, of: link)
            next += 1
        }
        return Array(number..<next)
    }

    @Test("8 MiB are held at most, each message counted with 256 bytes more (M-20)")
    func bound() {
        var inbox = Inbox()
        for (place, link) in Self.links.enumerated() { _ = fill(&inbox, link, from: UInt64(place) * 1_000) }
        #expect(inbox.size <= 8 * 1_024 * 1_024)
        #expect(inbox.size > 7 * 1_024 * 1_024)
        #expect(inbox.size % 65_792 == 0)
    }

    @Test("those who hold the most are held back first (M-20)")
    func largestFirst() {
        var inbox = Inbox()
        let most = fill(&inbox, Self.links[0]).count
        #expect(most * 65_792 <= 6 * 1_024 * 1_024, "three quarters")
        #expect(most * 65_792 > 5 * 1_024 * 1_024)
        let other = inbox.admits(65_792, of: Self.links[1])
        #expect(other, "whoever is quiet has room")
        for (place, link) in Self.links.dropFirst().enumerated() {
            _ = fill(&inbox, link, from: 1_000 * UInt64(place + 1))
        }
        let tenth = inbox.admits(Inbox.cost(of: 1_000), of: LinkID(value: 99))
        #expect(tenth, "also after nine")
    }

    @Test("room that is kept for what is being put together counts (M-20)")
    func joining() {
        var inbox = Inbox()
        for number in 0..<1_000 where inbox.admits(65_792, of: LinkID(value: UInt64(number))) {
            inbox.setJoining(65_792, of: LinkID(value: UInt64(number)))
        }
        #expect(inbox.size <= 8 * 1_024 * 1_024)
        #expect(inbox.size > 7 * 1_024 * 1_024)
        for number in 0..<1_000 { inbox.setJoining(0, of: LinkID(value: UInt64(number))) }
        #expect(inbox.size == 0)
    }

    @Test("the links that were held back are told once half is free again (M-20)")
    func release() {
        var inbox = Inbox()
        let first = fill(&inbox, Self.links[0])
        let second = fill(&inbox, Self.links[1], from: 1_000)
        var released: [LinkID] = []
        for number in first + second where released.isEmpty {
            #expect(inbox.size > 4 * 1_024 * 1_024)
            released = inbox.release()
            #expect(released.isEmpty)
            inbox.take(number)
            inbox.take(number)
            if inbox.size <= 4 * 1_024 * 1_024 { released = inbox.release() }
        }
        #expect(released == [Self.links[0], Self.links[1]])
        released = inbox.release()
        #expect(released.isEmpty, "once")
        for number in first + second { inbox.take(number) }
        #expect(inbox.size == 0)
    }
}

@Suite("Records that come")
struct ReceiveStreamTests {
    private static let longest = 65_792

    private func stream() -> ReceiveStream {
        var stream = ReceiveStream()
        stream.hold(70)
        return stream
    }

    private func record(_ number: UInt32, _ flags: String = "FL", _ text: String = "x") -> Record {
        Record(
            stream: 70, number: number, isFirst: flags.contains("F"), isLast: flags.contains("L"), text: text)
    }

    @Test("without room a message is refused from its first record on, and nothing beyond it is named (M-20, M-15)")
    func refused() {
        var stream = stream()
        let taken = stream.receive(record(0), now: .zero) { _ in true }
        #expect(taken == ["x"])
        for number in UInt32(1)..<17 {
            let refused = stream.receive(record(number), now: .zero) { $0 != 257 || number > 1 }
            #expect(refused == [], "\(number)")
            #expect(stream.ack == Ack(stream: 70, next: 1, bitmap: 0))
        }
        #expect(stream.joining == 0)
        let again = stream.receive(record(1), now: .zero) { _ in true }
        #expect(again == ["x"])
        let beyond = stream.receive(record(3), now: .zero) { _ in true }
        #expect(beyond == [])
        #expect(stream.ack == Ack(stream: 70, next: 2, bitmap: 1), "it is taken up again")
    }

    @Test("a message whose first record was taken is taken whole (M-20)")
    func whole() {
        var stream = stream()
        var asked: [Int] = []
        let first = stream.receive(record(0, "F"), now: .zero) {
            asked.append($0)
            return true
        }
        #expect(first == [])
        #expect(asked == [Self.longest], "as much as it may need")
        #expect(stream.joining == Self.longest)
        let middle = stream.receive(record(1, ""), now: .zero) { _ in false }
        #expect(middle == [])
        let last = stream.receive(record(2, "L"), now: .zero) { _ in false }
        #expect(last == ["xxx"])
        #expect(stream.joining == 0)
        let next = stream.receive(record(3), now: .zero) { _ in false }
        #expect(next == [])
        #expect(stream.ack.next == 3)
    }

    @Test("whatever an ack named has its room, so that it is shown when the gap closes (M-17, M-20)")
    func named() {
        var stream = stream()
        for number in UInt32(1)..<16 {
            let cost = stream.joining
            _ = stream.receive(record(number), now: .zero) { cost + $0 <= 10_000 }
        }
        #expect(stream.joining <= 10_000)
        let named = stream.ack.bitmap.nonzeroBitCount
        #expect(named == 15, "257 bytes each")
        let refused = stream.receive(record(0), now: .zero) { _ in false }
        #expect(refused == [])
        #expect(stream.ack.next == 0)
        let closed = stream.receive(record(0), now: .zero) { _ in true }
        #expect(closed?.count == 16)
        #expect(stream.joining == 0)
    }

    @Test("a record that breaks M-1 is acknowledged and dropped also without room (M-2, M-20)")
    func broken() {
        var stream = stream()
        _ = stream.receive(record(0, ""), now: .zero) { _ in false }
        #expect(stream.ack.next == 1)
        _ = stream.receive(record(1, "F"), now: .zero) { _ in true }
        _ = stream.receive(record(2, "F"), now: .zero) { _ in false }
        #expect(stream.ack.next == 3)
        #expect(stream.joining == 0)
    }

    @Test("a message of which no record comes for 35 s is given up, and its stream is taken no further (M-20)")
    func abandoned() {
        var stream = stream()
        _ = stream.receive(record(0, "F"), now: .zero) { _ in true }
        // One that came before is a sign as well.
        _ = stream.receive(record(0, "F"), now: .at(20_000)) { _ in true }
        #expect(stream.nextDeadline == .at(55_000))
        stream.advance(.at(54_999))
        #expect(stream.joining == Self.longest)
        stream.advance(.at(55_000))
        #expect(stream.joining == 0)
        let late = stream.receive(record(1, "L"), now: .at(55_001)) { _ in true }
        #expect(late == [])
        #expect(stream.ack.next == 1, "nor is it acknowledged: its sender would report it as delivered")
        stream.hold(71)
        let other = Record(stream: 71, number: 0, isFirst: true, isLast: true, text: "y")
        let next = stream.receive(other, now: .at(56_000)) { _ in true }
        #expect(next == ["y"])
    }

    @Test("one of which a record comes now and then is given up after 65 s (M-20, M-19)")
    func slow() {
        var stream = stream()
        _ = stream.receive(record(0, "F"), now: .zero) { _ in true }
        for number in UInt32(1)...3 {
            _ = stream.receive(record(number, ""), now: .at(Int(number) * 20_000)) { _ in true }
        }
        #expect(stream.nextDeadline == .at(65_000))
        stream.advance(.at(65_000))
        #expect(stream.joining == 0)
    }
}

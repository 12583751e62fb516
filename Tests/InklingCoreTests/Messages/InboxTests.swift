import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Inbox")
struct InboxTests {
    private static let links = (1...9).map { LinkID(value: $0) }
    private static let block = 65_536
    private static let message = 65_792
    private static let pool = 8 * 1_024 * 1_024

    private func tenant(
        _ standing: Standing = .verified, source: UInt32? = nil, secretChat: ChatTag? = nil
    ) -> Inbox.Tenant {
        Inbox.Tenant(
            standing: standing, source: source.map { .host(high: 0, low: UInt64($0), scope: 0) },
            secretChat: secretChat)
    }

    private func number(_ link: Int) -> LinkID { LinkID(value: UInt64(link)) }

    /// Gives a link as many messages of 64 KiB as it may hold.
    ///
    /// - Returns: Their numbers.
    private func fill(
        _ inbox: inout Inbox, _ link: LinkID, _ tenant: Inbox.Tenant, from number: UInt64 = 1
    ) -> [UInt64] {
        var next = number
        while inbox.admits(Inbox.Pending(texts: Self.message), of: link, tenant) {
            inbox.add(next, size: Self.block, of: link, tenant)
            next += 1
        }
        return Array(number..<next)
    }

    /// Gives each of some links room for a message, as far as there is room.
    ///
    /// - Returns: How many links have it.
    private func reserve(_ inbox: inout Inbox, _ links: Range<Int>, _ tenant: (Int) -> Inbox.Tenant) -> Int {
        links.count { link in
            let whole = Inbox.Pending(reassembly: Self.message)
            guard inbox.admits(whole, of: number(link), tenant(link)) else { return false }
            inbox.setPending(whole, of: number(link), tenant(link))
            return true
        }
    }

    @Test("8 MiB of texts are held at most, each message counted with 256 bytes more (M-20)")
    func bound() {
        var inbox = Inbox()
        for (place, link) in Self.links.enumerated() {
            _ = fill(&inbox, link, tenant(), from: UInt64(place) * 1_000)
        }
        #expect(inbox.size <= Self.pool)
        #expect(inbox.size > 7 * 1_024 * 1_024)
        #expect(inbox.size % Self.message == 0)
    }

    @Test("those who hold the most are held back first (M-20)")
    func largestFirst() {
        var inbox = Inbox()
        let most = fill(&inbox, Self.links[0], tenant()).count
        #expect(most * Self.message <= 6 * 1_024 * 1_024, "three quarters")
        #expect(most * Self.message > 5 * 1_024 * 1_024)
        let other = inbox.admits(Inbox.Pending(texts: Self.message), of: Self.links[1], tenant())
        #expect(other, "whoever is quiet has room")
        for (place, link) in Self.links.dropFirst().enumerated() {
            _ = fill(&inbox, link, tenant(), from: 1_000 * UInt64(place + 1))
        }
        let tenth = inbox.admits(Inbox.Pending(texts: Inbox.cost(of: 1_000)), of: LinkID(value: 99), tenant())
        #expect(tenth, "also after nine")
    }

    @Test("room for messages that are not whole takes none from the texts, nor they from it (M-20)")
    func separatePools() {
        var inbox = Inbox()
        let reserved = reserve(&inbox, 0..<1_000) { _ in tenant() }
        #expect(reserved == Self.pool / Self.message)
        let whole = Inbox.Pending(reassembly: Self.message)
        let another = inbox.admits(whole, of: number(2_000), tenant())
        #expect(!another)
        let short = inbox.admits(Inbox.Pending(texts: 257), of: number(2_000), tenant())
        #expect(short, "a message of one record")
        for link in 0..<1_000 { inbox.remove(number(link)) }
        #expect(inbox.size == 0)
        _ = fill(&inbox, number(1), tenant())
        let joined = inbox.admits(whole, of: number(2_000), tenant())
        #expect(joined)
    }

    @Test("a quarter of each pool is for verified people, and strangers get half at most (M-20, R36)")
    func ranks() {
        for isTexts in [false, true] {
            var inbox = Inbox()
            func hold(_ links: Range<Int>, _ standing: Standing) -> Int {
                links.count { link in
                    let tenant = tenant(standing, source: UInt32(link))
                    guard isTexts else { return reserve(&inbox, link..<link + 1) { _ in tenant } == 1 }
                    guard inbox.admits(Inbox.Pending(texts: Self.message), of: number(link), tenant) else {
                        return false
                    }
                    inbox.add(UInt64(link), size: Self.block, of: number(link), tenant)
                    return true
                }
            }
            let strangers = hold(0..<500, .stranger)
            #expect(strangers == Self.pool / 2 / Self.message)
            let met = hold(500..<1_000, .met)
            #expect(strangers + met == Self.pool / 4 * 3 / Self.message)
            let verified = hold(1_000..<1_500, .verified)
            #expect(strangers + met + verified >= Self.pool / Self.message - 1)
        }
    }

    @Test("five sources leave room for other strangers, and a secret chat leaves room for other chats (M-20)")
    func shares() {
        var inbox = Inbox()
        let flood = reserve(&inbox, 0..<500) { tenant(.stranger, source: UInt32($0 % 5)) }
        #expect(flood == 5 * (Self.pool / 16 / Self.message))
        let honest = reserve(&inbox, 500..<510) { tenant(.stranger, source: UInt32($0)) }
        #expect(honest == 10)
        let chats = [ChatTag(1), ChatTag(2)]
        let member = reserve(&inbox, 1_000..<1_127) { tenant(.met, source: UInt32($0), secretChat: chats[0]) }
        #expect(member == Self.pool / 4 / Self.message)
        let others = reserve(&inbox, 2_000..<2_010) { tenant(.met, source: UInt32($0), secretChat: chats[1]) }
        #expect(others == 10)
    }

    @Test("a link that moves, or whose user is verified, counts in its new shares (M-20)")
    func moved() {
        var inbox = Inbox()
        let link = Self.links[0]
        let numbers = fill(&inbox, link, tenant(.stranger, source: 1))
        #expect(numbers.count == Self.pool / 16 / Self.message)
        let verified = inbox.admits(Inbox.Pending(texts: Self.message), of: link, tenant(.verified, source: 1))
        #expect(verified)
        let neighbour = inbox.admits(
            Inbox.Pending(texts: Self.message), of: Self.links[1], tenant(.stranger, source: 1))
        #expect(neighbour, "its texts are no longer strangers'")
        for number in numbers { inbox.take(number) }
        #expect(inbox.size == 0)
    }

    @Test("a link that was held back is released once its shares are half free again (M-20)")
    func release() {
        var inbox = Inbox()
        let first = fill(&inbox, Self.links[0], tenant())
        let second = fill(&inbox, Self.links[1], tenant(), from: 1_000)
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
        let stranger = tenant(.stranger, source: 1)
        let few = fill(&inbox, Self.links[2], stranger)
        released = inbox.release()
        #expect(released.isEmpty, "the share of the source counts, not the pool alone")
        for number in few.dropFirst(3) { inbox.take(number) }
        released = inbox.release()
        #expect(released == [Self.links[2]])
    }

    @Test("a link that ended gives back its room, and is not released (M-20)")
    func ended() {
        var inbox = Inbox()
        let stranger = tenant(.stranger, source: 1)
        _ = reserve(&inbox, 0..<20) { _ in stranger }
        for link in 0..<20 { inbox.remove(number(link)) }
        #expect(inbox.size == 0)
        let released = inbox.release()
        #expect(released.isEmpty)
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
            let refused = stream.receive(record(number), now: .zero) { $0.texts != 257 || number > 1 }
            #expect(refused == [], "\(number)")
            #expect(stream.ack == Ack(stream: 70, next: 1, bitmap: 0))
        }
        #expect(stream.pending == Inbox.Pending())
        let again = stream.receive(record(1), now: .zero) { _ in true }
        #expect(again == ["x"])
        let beyond = stream.receive(record(3), now: .zero) { _ in true }
        #expect(beyond == [])
        #expect(stream.ack == Ack(stream: 70, next: 2, bitmap: 1), "it is taken up again")
    }

    @Test("a message whose first record was taken is taken whole (M-20)")
    func whole() {
        var stream = stream()
        var asked: [Inbox.Pending] = []
        let first = stream.receive(record(0, "F"), now: .zero) {
            asked.append($0)
            return true
        }
        #expect(first == [])
        #expect(asked == [Inbox.Pending(reassembly: Self.longest)], "as much as it may need")
        #expect(stream.pending.reassembly == Self.longest)
        let middle = stream.receive(record(1, ""), now: .zero) { $0 == Inbox.Pending(reassembly: Self.longest) }
        #expect(middle == [])
        let early = stream.receive(record(2, "L"), now: .zero) { $0.texts == 0 }
        #expect(early == [])
        #expect(stream.ack.next == 2, "its text has to have room too")
        let last = stream.receive(record(2, "L"), now: .zero) {
            $0 == Inbox.Pending(reassembly: Self.longest, texts: 259)
        }
        #expect(last == ["xxx"])
        #expect(stream.pending == Inbox.Pending())
        let next = stream.receive(record(3), now: .zero) { _ in false }
        #expect(next == [])
        #expect(stream.ack.next == 3)
    }

    @Test("whatever an ack named has its room, so that it is shown when the gap closes (M-17, M-20)")
    func named() {
        var stream = stream()
        for number in UInt32(1)..<16 {
            _ = stream.receive(record(number), now: .zero) { $0.texts <= 10_000 }
        }
        #expect(stream.pending == Inbox.Pending(texts: 15 * 257 + 1_163 + 256), "and the record that is missing")
        let named = stream.ack.bitmap.nonzeroBitCount
        #expect(named == 15, "257 bytes each")
        let refused = stream.receive(record(0), now: .zero) { _ in false }
        #expect(refused == [])
        #expect(stream.ack.next == 0)
        let closed = stream.receive(record(0), now: .zero) { _ in true }
        #expect(closed?.count == 16)
        #expect(stream.pending == Inbox.Pending())
    }

    @Test("a record that breaks M-1 is acknowledged and dropped also without room (M-2, M-20)")
    func broken() {
        var stream = stream()
        _ = stream.receive(record(0, ""), now: .zero) { _ in false }
        #expect(stream.ack.next == 1)
        _ = stream.receive(record(1, "F"), now: .zero) { _ in true }
        _ = stream.receive(record(2, "F"), now: .zero) { _ in false }
        #expect(stream.ack.next == 3)
        #expect(stream.pending == Inbox.Pending())
    }

    @Test("records beyond the expected one have the link's one place among those that are not whole (M-20)")
    func oneReservation() {
        var stream = stream()
        let one = Inbox.Pending(reassembly: Self.longest)
        for (number, flags) in [(UInt32(2), "F"), (4, ""), (6, "F"), (9, "F")] {
            let taken = stream.receive(record(number, flags), now: .zero) { $0 == one }
            #expect(taken == [])
            #expect(stream.pending == one, "\(number)")
        }
        let refused = stream.receive(record(3, "L"), now: .zero) { $0.texts == 0 }
        #expect(refused == [])
        #expect(stream.ack.bitmap == 0b1_0010_1010)
    }

    @Test("a record beyond that begins a message, or goes on with one, is not named without room for it (M-20)")
    func chainBeyond() {
        for flags in ["F", "", "L"] {
            var stream = stream()
            _ = stream.receive(record(1, flags), now: .zero) { $0.reassembly == 0 }
            #expect(stream.ack.bitmap == 0, "\(flags)")
        }
    }

    @Test("what waits for a record that never comes is given up after 35 s, or after 65 s (M-20)")
    func gapAbandoned() {
        var stream = stream()
        _ = stream.receive(record(3, "F"), now: .zero) { _ in true }
        #expect(stream.nextDeadline == .at(35_000))
        for second in 1...3 { _ = stream.receive(record(3, "F"), now: .at(second * 20_000)) { _ in true } }
        #expect(stream.nextDeadline == .at(65_000))
        stream.advance(.at(65_000))
        #expect(stream.pending == Inbox.Pending())
        #expect(stream.nextDeadline == nil)
        let late = stream.receive(record(0), now: .at(65_001)) { _ in true }
        #expect(late == [])
        #expect(stream.ack == Ack(stream: 70, next: 0, bitmap: 0))
    }

    @Test("the time of a gap runs from when it is the first one, so a stream that goes on is not given up (M-20)")
    func movingGap() {
        var stream = stream()
        for step in 0..<100 {
            let now = Instant.at(step * 1_000)
            _ = stream.receive(record(UInt32(2 * step + 1)), now: now) { _ in true }
            _ = stream.receive(record(UInt32(2 * step + 3)), now: now) { _ in true }
            stream.advance(now)
            let messages = stream.receive(record(UInt32(2 * step)), now: now) { _ in true }
            #expect(messages?.count == 2, "\(step)")
        }
    }

    @Test("a message of which no record comes for 35 s is given up, and its stream is taken no further (M-20)")
    func abandoned() {
        var stream = stream()
        _ = stream.receive(record(0, "F"), now: .zero) { _ in true }
        // One that came before is a sign as well.
        _ = stream.receive(record(0, "F"), now: .at(20_000)) { _ in true }
        #expect(stream.nextDeadline == .at(55_000))
        stream.advance(.at(54_999))
        #expect(stream.pending.reassembly == Self.longest)
        stream.advance(.at(55_000))
        #expect(stream.pending == Inbox.Pending())
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
        #expect(stream.pending == Inbox.Pending())
    }
}

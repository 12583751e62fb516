import InklingWire
import Testing

@testable import InklingCore

@Suite("pace of records")
struct RecordPacerTests {
    /// Sends for a number of seconds on links that always have a record. The socket is read before each turn.
    ///
    /// - Returns: The times and links of the records.
    private func send(
        _ pacer: inout RecordPacer<Int>, links: [Int], from start: Double = 0, seconds: Double
    ) -> [(Double, Int)] {
        var sent: [(Double, Int)] = []
        var now = Instant.seconds(start)
        let end = Instant.seconds(start + seconds)
        for link in links { pacer.request(link) }
        for _ in 0..<100_000 where now < end {
            pacer.socketWasRead()
            while sent.count < 100_000, let link = pacer.nextLink(now) {
                sent.append((now.seconds, link))
                pacer.sent(link, now: now)
                pacer.request(link)
            }
            now = pacer.nextDeadline(now) ?? end
        }
        return sent
    }

    @Test("M-13: 64 records go out between two reads of the socket, also empty ones")
    func reads() {
        var pacer = RecordPacer<Int>(now: .zero)
        func burst() -> Int {
            var count = 0
            while count < 999, let link = pacer.nextLink(.zero) {
                pacer.sent(link, now: .zero)
                pacer.request(link)
                count += 1
            }
            return count
        }
        for link in 0..<4 { pacer.request(link) }
        let first = burst()
        let without = burst()
        #expect(first == 64)
        #expect(without == 0)
        #expect(pacer.nextDeadline(.zero) == .seconds(0.001))
        pacer.socketWasRead()
        let second = burst()
        #expect(second == 64)
    }

    @Test("M-21: asking twice keeps the place, an unused turn costs nothing, and a forgotten link has none")
    func places() {
        var pacer = RecordPacer<Int>(now: .zero)
        for link in [3, 1, 2, 3, 1] { pacer.request(link) }
        pacer.remove(1)
        let first = pacer.nextLink(.zero)
        let second = pacer.nextLink(.zero)
        let third = pacer.nextLink(.zero)
        #expect(first == 3)
        #expect(second == 2)
        #expect(third == nil)
        #expect(pacer.nextDeadline(.zero) == nil)
        let sent = send(&pacer, links: [2], seconds: 0.001)
        #expect(sent.count == 64)
    }

    @Test("M-13: a link that waits for its own rate holds back no other")
    func resting() {
        var pacer = RecordPacer<Int>(now: .zero)
        _ = send(&pacer, links: [1], seconds: 0.001)
        pacer.request(2)
        pacer.socketWasRead()
        let other = pacer.nextLink(.seconds(0.001))
        #expect(other == 2)
        pacer.remove(1)
        #expect(pacer.nextDeadline(.seconds(0.001)) == nil)
    }
}

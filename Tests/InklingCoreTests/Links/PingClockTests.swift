import InklingTestSupport
import Testing

@testable import InklingCore

@Suite("Pings in flight")
struct PingClockTests {
    @Test("a pong tells the round trip, the second and one that answers nothing do not (L-28)")
    func pong() {
        var clock = PingClock()
        clock.pong(0, now: .at(5))
        #expect(clock.roundTrip == nil)
        let first = clock.next(.at(0))
        let second = clock.next(.at(100))
        #expect(first != second)
        clock.pong(first, now: .at(80))
        #expect(clock.roundTrip == .milliseconds(80))
        clock.pong(first, now: .at(999))
        clock.pong(second &+ 1, now: .at(999))
        #expect(clock.roundTrip == .milliseconds(80))
    }

    @Test("an eighth of each further round trip counts")
    func smoothed() {
        var clock = PingClock()
        for sample in [80, 160, 0] {
            let token = clock.next(.zero)
            clock.pong(token, now: .at(sample))
        }
        // 80, then 70 + 20, then 78.75 + 0.
        #expect(clock.roundTrip == .microseconds(78_750))
    }

    @Test("with sixteen in flight the next one makes the earlier ones forgotten (L-28)")
    func full() {
        var clock = PingClock()
        let tokens = (0..<16).map { _ in clock.next(.zero) }
        var kept = clock
        kept.pong(tokens[0], now: .at(40))
        #expect(kept.roundTrip == .milliseconds(40))
        let last = clock.next(.zero)
        for token in tokens { clock.pong(token, now: .at(40)) }
        #expect(clock.roundTrip == nil)
        clock.pong(last, now: .at(30))
        #expect(clock.roundTrip == .milliseconds(30))
    }

    @Test("after the last token the first one comes again")
    func wrap() {
        var clock = PingClock()
        let first = clock.next(.zero)
        for _ in 0..<65_535 { _ = clock.next(.zero) }
        #expect(clock.next(.at(10)) == first)
        clock.pong(first, now: .at(30))
        #expect(clock.roundTrip == .milliseconds(20))
    }
}

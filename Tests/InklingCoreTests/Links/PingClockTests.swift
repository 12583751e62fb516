import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Pings in flight")
struct PingClockTests {
    private let here = VirtualLAN.address(100)
    private let there = VirtualLAN.address(101)

    /// Pings that go out one after the other, with random tokens.
    private struct Sender {
        var clock = PingClock()
        var effects: Effects

        init(seed: UInt64 = 1) { effects = Effects(random: SeededGenerator(seed: seed)) }

        mutating func ping(to addresses: Address..., at milliseconds: Int = 0) -> UInt16 {
            clock.next(to: addresses, &effects, now: .at(milliseconds))
        }
    }

    @Test("a pong tells the round trip, the second and one that answers nothing do not (L-28)")
    func pong() {
        var sender = Sender()
        let before = sender.clock.pong(0, from: here, now: .at(5))
        #expect(before == .unexpected)
        #expect(sender.clock.roundTrip == nil)
        let first = sender.ping(to: here)
        let second = sender.ping(to: here, at: 100)
        #expect(first != second)
        let answer = sender.clock.pong(first, from: here, now: .at(80))
        #expect(answer == .confirmed)
        #expect(sender.clock.roundTrip == .milliseconds(80))
        let again = sender.clock.pong(first, from: here, now: .at(999))
        let other = sender.clock.pong(~second, from: here, now: .at(999))
        #expect(again == .unexpected && other == .unexpected)
        #expect(sender.clock.roundTrip == .milliseconds(80))
    }

    @Test("an eighth of each further round trip counts")
    func smoothed() {
        var sender = Sender()
        for sample in [80, 160, 0] {
            let token = sender.ping(to: here)
            _ = sender.clock.pong(token, from: here, now: .at(sample))
        }
        // 80, then 70 + 20, then 78.75 + 0.
        #expect(sender.clock.roundTrip == .microseconds(78_750))
    }

    @Test("with 32 in flight the next one makes the oldest forgotten (L-28)")
    func full() {
        var sender = Sender()
        let tokens = (0..<33).map { _ in sender.ping(to: here) }
        let oldest = sender.clock.pong(tokens[0], from: here, now: .at(40))
        #expect(oldest == .unexpected)
        for token in tokens.dropFirst() {
            let answer = sender.clock.pong(token, from: here, now: .at(40))
            #expect(answer == .confirmed)
        }
    }

    @Test("a pong is awaited for less than 3 s (L-28, L-51)", arguments: [2_999, 3_000])
    func late(_ at: Int) {
        var sender = Sender()
        let token = sender.ping(to: here)
        let answer = sender.clock.pong(token, from: here, now: .at(at))
        #expect(answer == (at < 3_000 ? .confirmed : .unexpected))
        #expect((sender.clock.roundTrip == nil) == (at == 3_000))
    }

    @Test("a pong confirms the addresses that its ping went to, and no other (L-51)")
    func confirms() {
        var sender = Sender()
        let one = sender.ping(to: here)
        let both = sender.ping(to: here, there)
        let elsewhere = sender.clock.pong(one, from: there, now: .at(1))
        #expect(elsewhere == .answered)
        let confirmed = sender.clock.pong(both, from: there, now: .at(1))
        #expect(confirmed == .confirmed)
        // Once the checks are over, the round trip is all that a pong tells.
        let last = sender.ping(to: there)
        sender.clock.endChecks()
        let late = sender.clock.pong(last, from: there, now: .at(2))
        #expect(late == .answered)
        let next = sender.ping(to: there)
        let anew = sender.clock.pong(next, from: there, now: .at(2))
        #expect(anew == .confirmed)
    }

    @Test("tokens are drawn at random, and none that is in flight again (L-28)")
    func random() {
        var sender = Sender(seed: 1)
        var other = Sender(seed: 2)
        let tokens = (0..<32).map { _ in sender.ping(to: here) }
        #expect(Set(tokens).count == 32)
        #expect(tokens != (0..<32).map { _ in other.ping(to: here) })
        #expect(!zip(tokens, tokens.dropFirst()).contains { $1 == $0 &+ 1 })
        // A generator that repeats itself.
        var stuck = Sender()
        stuck.effects = Effects(random: Repeating(numbers: [7, 7, 8, 7, 8, 9]))
        #expect((0..<3).map { _ in stuck.ping(to: here) } == [7, 8, 9])
    }

    private struct Repeating: RandomNumberGenerator {
        var numbers: [UInt64]
        mutating func next() -> UInt64 { numbers.isEmpty ? 0 : numbers.removeFirst() }
    }
}

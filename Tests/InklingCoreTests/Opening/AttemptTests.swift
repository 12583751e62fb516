import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("One attempt to open")
struct AttemptTests {
    private func attempt(seed: UInt64 = 1) throws -> Attempt {
        var effects = Parts.effects(seed: seed)
        return try Parts.attempt(7, &effects)
    }

    /// When its further transmissions are due.
    private func transmissions(_ attempt: Attempt) -> [Instant] {
        var attempt = attempt
        var instants: [Instant] = []
        while attempt.nextDeadline < .at(3_000), instants.count < 10 {
            instants.append(attempt.nextDeadline)
            attempt.takeTransmission()
        }
        return instants
    }

    @Test("four transmissions follow, each a quarter earlier or later at most (L-4)", arguments: 1...20)
    func jitter(_ seed: Int) throws {
        let attempt = try attempt(seed: UInt64(seed))
        #expect(attempt.index == 7)
        let instants = transmissions(attempt)
        #expect(instants.count == 4)
        for (instant, (before, pause)) in zip(instants, zip([.zero] + instants, [300, 300, 600, 1_200])) {
            let part = (instant - before).nanoseconds * 100 / (Int64(pause) * 1_000_000)
            #expect((75...125).contains(part))
        }
    }

    @Test("the jitter is not the same each time")
    func varies() throws {
        let firsts = try (1...20).map { try attempt(seed: $0).nextDeadline }
        #expect(Set(firsts).count > 5)
    }

    @Test("nothing is due before each transmission, then it is, after 3 s the end (L-4)")
    func steps() throws {
        var attempt = try attempt()
        for instant in transmissions(attempt) {
            #expect(attempt.step(Instant(nanoseconds: instant.nanoseconds - 1)) == .none)
            #expect(attempt.step(instant) == .transmit)
            #expect(attempt.step(.at(2_999)) == .transmit)
            #expect(attempt.step(.at(3_000)) == .fail)
            attempt.takeTransmission()
        }
        #expect(attempt.nextDeadline == .at(3_000))
        for now in [0, 2_999] { #expect(attempt.step(.at(now)) == .none) }
        #expect(attempt.step(.at(3_000)) == .fail)
        // Without any left neither taking nor putting one off does anything.
        attempt.takeTransmission()
        attempt.putOff(until: .at(1))
        #expect(attempt.nextDeadline == .at(3_000))
        #expect(attempt.step(.at(2_999)) == .none)
    }

    @Test("a transmission that is put off is due then, and no other moves (L-6)")
    func putOff() throws {
        var attempt = try attempt()
        let instants = transmissions(attempt)
        attempt.putOff(until: instants[0] + .milliseconds(50))
        #expect(attempt.step(instants[0]) == .none)
        #expect(attempt.step(instants[0] + .milliseconds(50)) == .transmit)
        attempt.takeTransmission()
        #expect(attempt.nextDeadline == instants[1])
    }

    @Test("nothing put off outlives the attempt")
    func putOffTooLate() throws {
        var attempt = try attempt()
        attempt.putOff(until: .at(3_500))
        #expect(attempt.nextDeadline == .at(3_000))
        #expect(attempt.step(.at(3_000)) == .fail)
    }

    @Test("a retry is obeyed once for each transmission and address (L-13)")
    func retries() throws {
        var attempt = try attempt()
        func obeyed() -> [Bool] { [Parts.here, Parts.there, Parts.elsewhere].map(attempt.obeysRetry) }
        #expect(obeyed() == [false, false, false])
        attempt.transmitted(to: [Parts.here, Parts.there])
        #expect(obeyed() == [true, true, false])
        attempt.obeyRetry(from: Parts.here)
        #expect(obeyed() == [false, true, false])
        attempt.takeTransmission()
        #expect(obeyed() == [false, true, false])
        attempt.transmitted(to: [Parts.here, Parts.elsewhere])
        #expect(obeyed() == [true, false, true])
    }

    @Test("an opening's deadline is that of its state", arguments: OpeningState.allCases)
    func deadline(_ state: OpeningState) throws {
        var effects = Parts.effects()
        let opening = try state.opening(7, now: .at(100), &effects)
        switch state {
        case .idle, .greeting: #expect(opening.nextDeadline == nil)
        case .waiting, .resting: #expect(opening.nextDeadline == .at(800))
        case .attempting: #expect(opening.nextDeadline.map { $0 >= .at(325) && $0 <= .at(475) } ?? false)
        }
        #expect(opening.isAttempting == (state == .attempting))
    }
}

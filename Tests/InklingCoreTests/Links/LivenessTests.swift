import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Liveness of a link")
struct LivenessTests {
    struct State: Sendable, CustomTestStringConvertible {
        /// Nil while the peer is heard from.
        let pings: Int?
        var testDescription: String { pings.map { "suspect after \($0) pings" } ?? "alive" }

        static let all = [State(pings: nil)] + (0...10).map { State(pings: $0) }

        /// Heard at 0; suspected at 1,000 if at all, by somebody else.
        var liveness: Liveness {
            var liveness = Liveness(now: .zero)
            guard let pings else { return liveness }
            liveness.doubt(.at(1_000))
            for ping in 0..<pings { #expect(liveness.advance(.at(1_000 + 125 * ping), isBehind: false) == .ping) }
            return liveness
        }

        /// When its next step is due.
        var due: Int { pings.map { 1_000 + 125 * $0 } ?? 1_750 }
    }

    /// How many pings go out until the peer is down, and when that is.
    private func rest(of liveness: Liveness) -> (pings: Int, down: Int) {
        var liveness = liveness
        for pings in 0...20 {
            let now = liveness.nextDeadline
            if liveness.advance(now, isBehind: false) == .down { return (pings, now.milliseconds) }
        }
        return (.max, .max)
    }

    @Test("evidence makes a peer alive in every state (L-26)", arguments: State.all)
    func heard(_ state: State) {
        var liveness = state.liveness
        #expect(liveness.isSuspect == (state.pings != nil))
        #expect(liveness.nextDeadline == .at(state.due))
        liveness.heard(.at(2_500))
        #expect(!liveness.isSuspect)
        #expect(liveness.lastEvidence == .at(2_500))
        #expect(liveness.nextDeadline == .at(4_250))
        #expect(rest(of: liveness) == (10, 5_500))
    }

    @Test(
        "an announced interval moves the silence that is allowed, and no suspicion (T-12, L-26)", arguments: State.all)
    func announced(_ state: State) {
        var liveness = state.liveness
        liveness.announced(.seconds(1))
        #expect(liveness.nextDeadline == .at(state.due))
        liveness.announced(.seconds(4))
        #expect(liveness.announcedInterval == .seconds(4))
        #expect(liveness.isSuspect == (state.pings != nil))
        #expect(liveness.nextDeadline == .at(state.pings == nil ? 7_000 : state.due))
        liveness.heard(.at(3_000))
        #expect(liveness.nextDeadline == .at(10_000))
    }

    @Test("a doubt begins a round of ten pings, unless one is under way (L-29)", arguments: State.all)
    func doubt(_ state: State) {
        var liveness = state.liveness
        liveness.doubt(.at(1_700))
        #expect(liveness.isSuspect)
        #expect(liveness.nextDeadline == .at(state.pings == nil ? 1_700 : state.due))
        #expect(rest(of: liveness) == (10 - (state.pings ?? 0), state.pings == nil ? 2_950 : 2_250))
    }

    @Test("a peer that hears nothing has five pings left, or fewer if it was suspected (L-45)", arguments: State.all)
    func unheard(_ state: State) {
        var liveness = state.liveness
        liveness.unheard(.at(1_700))
        #expect(liveness.nextDeadline == .at(state.pings == nil ? 1_700 : state.due))
        #expect(rest(of: liveness) == (state.pings.map { 10 - $0 } ?? 5, state.pings == nil ? 2_325 : 2_250))
    }

    @Test("after a late timer a whole round begins for who was suspected (L-30)", arguments: State.all)
    func oversleptBeforeSilence(_ state: State) {
        var liveness = state.liveness
        let begins = liveness.overslept(.at(1_749))
        #expect(begins == (state.pings != nil))
        #expect(liveness.nextDeadline == .at(begins ? 1_749 : 1_750))
        #expect(rest(of: liveness).pings == 10)
    }

    @Test("after a late timer a whole round begins for who is due for suspicion (L-30)", arguments: State.all)
    func oversleptAfterSilence(_ state: State) {
        var liveness = state.liveness
        let begins = liveness.overslept(.at(1_750))
        #expect(begins)
        #expect(liveness.isSuspect)
        #expect(liveness.nextDeadline == .at(1_750))
        #expect(rest(of: liveness) == (10, 3_000))
    }

    @Test("nothing happens before it is due", arguments: State.all, [false, true])
    func early(_ state: State, isBehind: Bool) {
        var liveness = state.liveness
        let before = Instant(nanoseconds: liveness.nextDeadline.nanoseconds - 1)
        let step = liveness.advance(before, isBehind: isBehind)
        #expect(step == .none)
        #expect(liveness.nextDeadline == .at(state.due))
        #expect(liveness.isSuspect == (state.pings != nil))
    }

    @Test("a step that is due is a ping, after ten of them the end (L-26)", arguments: State.all)
    func due(_ state: State) {
        var liveness = state.liveness
        let step = liveness.advance(.at(state.due), isBehind: false)
        #expect(step == (state.pings == 10 ? .down : .ping))
        guard step == .ping else { return }
        #expect(liveness.isSuspect)
        #expect(liveness.nextDeadline == .at(state.due + 125))
        #expect(rest(of: liveness).pings == 9 - (state.pings ?? 0))
    }

    @Test("nobody goes down while the socket may hold evidence (L-30)", arguments: State.all)
    func behind(_ state: State) {
        var liveness = state.liveness
        for step in 0..<12 {
            let result = liveness.advance(liveness.nextDeadline, isBehind: true)
            #expect(result == (step < 10 - (state.pings ?? 0) ? .ping : .none), "ten pings, then none")
            #expect(liveness.nextDeadline == .at(state.due + 125 * (step + 1)))
        }
        let end = liveness.advance(liveness.nextDeadline, isBehind: false)
        #expect(end == .down)
    }

    @Test(
        "who had all pings while their answers did not count gets one more, others go on (L-30)", arguments: State.all)
    func caughtUp(_ state: State) {
        var liveness = state.liveness
        #expect(liveness.hasHadAllPings == (state.pings == 10))
        liveness.caughtUp(.at(9_000))
        #expect(liveness.nextDeadline == .at(state.pings == 10 ? 9_000 : state.due))
        guard state.pings == 10 else { return #expect(rest(of: liveness).pings == 10 - (state.pings ?? 0)) }
        #expect(rest(of: liveness) == (1, 9_125))
    }

    @Test("the end comes as late as its computation says", arguments: [1_000, 2_000, 25_500])
    func end(_ interval: Int) {
        var liveness = Liveness(now: .zero)
        liveness.announced(.milliseconds(interval))
        #expect(liveness.nextDeadline == Instant.zero + Liveness.silence(of: .milliseconds(interval)))
        #expect(rest(of: liveness).down == Int(Liveness.end(of: .milliseconds(interval)).nanoseconds / 1_000_000))
    }

    /// Each step comes so many milliseconds late.
    @Test(
        "pings that are late by less than half an interval do not put off each other (L-26, L-27)",
        arguments: [(0, 3_000), (20, 3_040), (62, 3_124), (100, 3_537)])
    func late(by lateness: Int, end: Int) {
        var liveness = Liveness(now: .zero)
        var sent: [Int] = []
        while true {
            let now = liveness.nextDeadline + .milliseconds(lateness)
            let step = liveness.advance(now, isBehind: false)
            if step == .ping { sent.append(now.milliseconds) }
            if step == .down {
                #expect(sent.count == 10 && now.milliseconds == end)
                #expect(now.milliseconds - (sent.last ?? 0) >= 125, "the answer to the last one has its time")
                break
            }
        }
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $1 - $0 >= 62 })
    }
}

import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Exchange of hellos")
struct HelloExchangeTests {
    /// The states, all of a session whose last hello went out at 1,000, if any did.
    enum State: String, CaseIterable, Sendable {
        case fresh, begun, outstanding, ended, sentUnasked

        var exchange: HelloExchange {
            var exchange = HelloExchange()
            switch self {
            case .fresh: break
            case .begun: exchange.begin(.at(900))
            case .outstanding:
                exchange.begin(.at(900))
                exchange.sent(Parts.hello(), now: .at(1_000))
            case .ended:
                exchange.begin(.at(900))
                exchange.sent(Parts.hello(), now: .at(1_000))
                exchange.end()
            case .sentUnasked: exchange.sent(Parts.hello(), now: .at(1_000))
            }
            return exchange
        }

        var nextRepeat: Int? {
            switch self {
            case .fresh, .ended, .sentUnasked: nil
            case .begun: 900
            case .outstanding: 1_250
            }
        }

        var hasSent: Bool {
            switch self {
            case .fresh, .begun: false
            case .outstanding, .ended, .sentUnasked: true
            }
        }
    }

    @Test("a hello is due at once when it begins, in every state (L-16)", arguments: State.allCases)
    func begin(_ state: State) {
        var exchange = state.exchange
        #expect(exchange.nextRepeat == state.nextRepeat.map(Instant.at))
        #expect(exchange.isOutstanding == (state.nextRepeat != nil))
        exchange.begin(.at(1_100))
        #expect(exchange.nextRepeat == .at(1_100))
        #expect(exchange.isOutstanding)
    }

    @Test("none is due when it has ended, in every state", arguments: State.allCases)
    func end(_ state: State) {
        var exchange = state.exchange
        exchange.end()
        #expect(!exchange.isOutstanding)
    }

    @Test("one that went out puts off the next by 250 ms, if one is due (L-16)", arguments: State.allCases)
    func sent(_ state: State) {
        var exchange = state.exchange
        exchange.sent(Parts.hello(name: "new"), now: .at(1_100))
        #expect(exchange.lastSent?.name == "new")
        #expect(exchange.nextRepeat == (state.nextRepeat == nil ? nil : .at(1_350)))
    }

    @Test("one that only repeats waits 200 ms since the last (L-17)", arguments: State.allCases)
    func mayRepeat(_ state: State) {
        let exchange = state.exchange
        #expect(exchange.mayRepeat(.at(1_199)) == !state.hasSent)
        #expect(exchange.mayRepeat(.at(1_200)))
    }

    @Test("the peer's hello ends ours if it holds our stream, else it makes one due (L-16)", arguments: State.allCases)
    func outstanding(_ state: State) {
        var exchange = state.exchange
        _ = exchange.received(isHeld: false, current: Parts.hello(), now: .at(1_100))
        #expect(exchange.nextRepeat == .at(state.nextRepeat ?? 1_350))
        _ = exchange.received(isHeld: true, current: Parts.hello(), now: .at(1_100))
        #expect(!exchange.isOutstanding)
    }

    @Test("the first one of the peer is answered if we have something new to say (L-17)", arguments: State.allCases)
    func first(_ state: State) {
        for elapsed in [0, 199, 200, 5_000] {
            var exchange = state.exchange
            var changed = exchange
            let same = exchange.received(isHeld: true, current: Parts.hello(), now: .at(1_000 + elapsed))
            #expect(same == (state.hasSent ? .none : .sendNow), "\(elapsed)")
            let new = changed.received(isHeld: true, current: Parts.hello(name: "new"), now: .at(1_000 + elapsed))
            #expect(new == .sendNow, "\(elapsed)")
        }
    }

    @Test("a further one is answered if we say something new, or after 200 ms (L-17)", arguments: State.allCases)
    func again(_ state: State) {
        for elapsed in [0, 199, 200, 5_000] {
            var exchange = state.exchange
            _ = exchange.received(isHeld: true, current: Parts.hello(), now: .at(1_000))
            var changed = exchange
            let same = exchange.received(isHeld: true, current: Parts.hello(), now: .at(1_000 + elapsed))
            #expect(same == (state.hasSent && elapsed < 200 ? .none : .sendNow), "\(elapsed)")
            let new = changed.received(isHeld: true, current: Parts.hello(name: "new"), now: .at(1_000 + elapsed))
            #expect(new == .sendNow, "\(elapsed)")
        }
    }

    @Test("twelve are answered as they come, then one a second (L-17)")
    func twelve() {
        var exchange = HelloExchange()
        var answered: [Int] = []
        for now in stride(from: 0, through: 6_000, by: 50) {
            let hello = Parts.hello(name: "\(now)")
            guard exchange.received(isHeld: true, current: hello, now: .at(now)) == .sendNow else { continue }
            exchange.sent(hello, now: .at(now))
            answered.append(now)
        }
        #expect(answered == (0..<12).map { $0 * 50 } + [1_550, 2_550, 3_550, 4_550, 5_550])
    }
}

import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Outbox")
struct OutboxTests {
    private static let (first, second) = (LinkID(value: 1), LinkID(value: 2))

    /// What has become of message 1 with person 1.
    enum State: String, CaseIterable, Sendable { case unknown, onOneLink, onTwoLinks, oneLinkLeft, delivered, failed }

    private func outbox(_ state: State, _ effects: inout Effects) -> Outbox {
        var outbox = Outbox(now: .zero)
        let (one, other) = ((id: Self.first, key: Parts.key(1)), (id: Self.second, key: Parts.key(1)))
        switch state {
        case .unknown: break
        case .onOneLink: _ = outbox.add(over: [one])
        case .onTwoLinks: _ = outbox.add(over: [one, other])
        case .oneLinkLeft:
            _ = outbox.add(over: [one, other])
            outbox.failed(1, to: Parts.person(), over: Self.second, .bye, &effects)
        case .delivered:
            _ = outbox.add(over: [one, other])
            outbox.delivered(1, to: Parts.person(), over: Self.second, &effects)
        case .failed:
            _ = outbox.add(over: [one])
            outbox.failed(1, to: Parts.person(), over: Self.first, .bye, &effects)
        }
        _ = effects.drain()
        effects.counters = Counters()
        return outbox
    }

    @Test("a message that is acknowledged is told as delivered once", arguments: State.allCases)
    func delivered(_ state: State) {
        var effects = Parts.effects()
        var outbox = outbox(state, &effects)
        outbox.delivered(1, to: Parts.person(), over: Self.first, &effects)
        let isNews = [.onOneLink, .onTwoLinks, .oneLinkLeft].contains(state)
        #expect(effects.drain() == (isNews ? [.delivered(message: 1, Parts.chat, Parts.key(1))] : []))
        #expect(effects.counters.messagesDelivered == (isNews ? 1 : 0))
        #expect(effects.counters.messagesFailed == 0)
        #expect(outbox.count == 0)
        // Whatever comes of it after that is nothing new.
        outbox.delivered(1, to: Parts.person(), over: Self.second, &effects)
        outbox.failed(1, to: Parts.person(), over: Self.second, .silence, &effects)
        #expect(effects.drain().isEmpty)
    }

    @Test("a message has failed when no link is left over which it could be delivered", arguments: State.allCases)
    func failed(_ state: State) {
        var effects = Parts.effects()
        var outbox = outbox(state, &effects)
        outbox.failed(1, to: Parts.person(), over: Self.first, .silence, &effects)
        let isNews = [.onOneLink, .oneLinkLeft].contains(state)
        #expect(effects.drain() == (isNews ? [.failed(message: 1, Parts.chat, Parts.key(1), .silence)] : []))
        #expect(effects.counters.messagesFailed == (isNews ? 1 : 0))
        #expect(effects.counters.messagesDelivered == 0)
        #expect(outbox.count == (state == .onTwoLinks ? 1 : 0))
        outbox.delivered(1, to: Parts.person(), over: Self.second, &effects)
        #expect(effects.drain().count == (state == .onTwoLinks ? 1 : 0))
    }

    @Test("a link over which a message did not go says nothing of it", arguments: State.allCases)
    func otherLink(_ state: State) {
        var effects = Parts.effects()
        var outbox = outbox(state, &effects)
        let count = outbox.count
        for (person, link) in [(1, 9), (2, 1)] {
            outbox.delivered(1, to: Parts.person(person), over: LinkID(value: UInt64(link)), &effects)
            outbox.failed(1, to: Parts.person(person), over: LinkID(value: UInt64(link)), .bye, &effects)
        }
        #expect(effects.drain().isEmpty)
        #expect(outbox.count == count)
    }

    @Test("a message counts its people, not their links, and each has a number of its own")
    func add() {
        var outbox = Outbox(now: .zero)
        let (one, other, device) = (
            (id: Self.first, key: Parts.key(1)), (id: Self.second, key: Parts.key(2)),
            (id: LinkID(value: 3), key: Parts.key(1))
        )
        for (links, recipients) in [([one], 1), ([one, other], 2), ([one, other, device], 2), ([], 0)] {
            #expect(outbox.add(over: links).recipients == recipients)
        }
        #expect(outbox.count == 3)
        #expect(outbox.add(over: []).number == 5)
    }

    @Test("what becomes of a message is told of each person, and the message is kept until the last")
    func people() {
        var effects = Parts.effects()
        var outbox = Outbox(now: .zero)
        _ = outbox.add(over: [(id: Self.first, key: Parts.key(1)), (id: Self.second, key: Parts.key(2))])
        outbox.delivered(1, to: Parts.person(1), over: Self.first, &effects)
        #expect(outbox.count == 1)
        outbox.failed(1, to: Parts.person(2), over: Self.second, .left, &effects)
        #expect(outbox.count == 0)
        #expect(
            effects.drain() == [
                .delivered(message: 1, Parts.chat, Parts.key(1)),
                .failed(message: 1, Parts.chat, Parts.key(2), .left),
            ])
    }
}

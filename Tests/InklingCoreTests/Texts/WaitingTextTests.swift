import InklingWire
import Testing

@testable import InklingCore

@Suite("Texts that wait, over restarts of both ends")
struct WaitingTextTests {
    private let lan = TestLAN()
    private static let id = TextID(run: 77, number: 1, written: 1_000)

    init() {
        for node in [0, 1] { start(node) }
        lan.listAll()
        lan.run(.seconds(3))
    }

    private func start(_ node: Int, identity: Int? = nil, seen: SeenTexts = SeenTexts()) {
        lan.start(node, identity: identity, chats: [])
        lan.with(node) {
            try? $0.join(World.lobby, isSecret: false, keepsTexts: true, seen: [World.key(0): seen], now: $1)
        }
    }

    private func resend(_ text: String = "text", _ id: TextID = id) {
        lan.with(0) { _ = try? $0.resend(text, id, to: World.key(1), in: World.chat, now: $1) }
    }

    private func keepAll(_ node: Int) {
        let numbers = lan.outputs(node).compactMap {
            if case .message(_, _, let number, _, _) = $0 { number } else { nil }
        }
        lan.with(node) { $0.textsKept(numbers, now: $1) }
    }

    private func delivered() -> Int {
        lan.outputs(0).count { if case .delivered = $0 { true } else { false } }
    }

    @Test("M-83, M-84: a kept text whose ack was lost is not shown again, after a restart of either end")
    func restarts() {
        lan.cuts = [[1, 0]]
        resend()
        lan.run(.ms(100))
        keepAll(1)
        let seen = lan.nodes[1]?.endpoint.seenTexts(of: World.key(0), in: World.chat) ?? SeenTexts()
        #expect(lan.messages(at: 1) == ["text"] && seen.contains(Self.id) && delivered() == 0)
        lan.kill(0)
        lan.cuts = []
        lan.run(.ms(50))
        start(0)
        lan.listAll()
        lan.run(.seconds(3))
        resend()
        lan.run(.seconds(2))
        #expect(lan.messages(at: 1) == ["text"] && delivered() == 1)
        lan.kill(1)
        start(1, seen: seen)
        lan.listAll()
        lan.run(.seconds(3))
        resend()
        lan.run(.seconds(2))
        #expect(lan.messages(at: 1).isEmpty && delivered() == 2)
    }

    @Test("M-82: a text that was put out and not kept comes again after a restart")
    func notKept() {
        resend()
        lan.run(.ms(100))
        #expect(lan.messages(at: 1) == ["text"] && delivered() == 0)
        lan.kill(1)
        start(1)
        lan.listAll()
        lan.run(.seconds(3))
        resend()
        lan.run(.seconds(1))
        keepAll(1)
        lan.run(.seconds(1))
        #expect(lan.messages(at: 1) == ["text"] && delivered() == 1)
    }

    @Test("M-86: a further device of the recipient gets what is unfinished, and one outcome results")
    func furtherDevice() {
        // A link that was up for less than 10 s would be forgotten at once (L-84).
        lan.run(.seconds(12))
        lan.kill(1)
        resend("one", TextID(run: 77, number: 1, written: 0))
        resend("two", TextID(run: 77, number: 2, written: 0))
        let before = lan.now
        start(2, identity: 1)
        lan.listAll()
        lan.run(.seconds(2))
        let reachable = lan.outputs(0, since: before).filter { $0 == .reachable(World.chat, World.key(1)) }
        #expect(reachable.count == 1 && lan.messages(at: 2).isEmpty)
        resend("one", TextID(run: 77, number: 1, written: 0))
        resend("two", TextID(run: 77, number: 2, written: 0))
        lan.run(.seconds(1))
        #expect(lan.messages(at: 2) == ["one", "two"])
        keepAll(2)
        lan.run(.seconds(100))
        #expect(delivered() == 2)
        let failed = lan.outputs(0).filter { if case .failed = $0 { true } else { false } }
        #expect(failed.isEmpty)
    }
}

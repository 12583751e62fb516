import InklingWire
import Testing

@testable import InklingCore

/// Two nodes of one chat that meet, talk and part.
@Suite("A conversation")
struct ConversationTests {
    /// Returns a network with two nodes that have met.
    static func pair(seed: UInt64 = 1, configure: (inout Endpoint.Configuration) -> Void = { _ in }) -> TestLAN {
        let lan = TestLAN(seed: seed)
        lan.start(0, configure: configure)
        lan.start(1, configure: configure)
        lan.listAll()
        lan.run(.seconds(1))
        return lan
    }

    @Test("A message of 65,536 bytes arrives whole, with 20 % loss and reordering (M-2)", arguments: 1...5)
    func longMessage(seed: Int) {
        let lan = Self.pair(seed: UInt64(seed))
        lan.loss = 20
        lan.jitter = .ms(20)
        let text = String(repeating: "abcdefgh", count: 8_192)
        lan.say(0, text)
        lan.run(.seconds(25))
        #expect(lan.messages(at: 1) == [text])
        #expect(lan.counters(0).messagesDelivered == 1)
    }

    @Test("A cut of 10 s costs no message, and both ends keep their state (L-68, L-83, M-29)", arguments: 1...8)
    func cut(seed: Int) {
        let lan = Self.pair(seed: UInt64(seed))
        lan.run(.seconds(12))
        lan.cuts = seed % 2 == 0 ? [[0, 1], [1, 0]] : [[0, 1]]
        lan.run(.seconds(1))
        lan.say(0, "lost?")
        lan.run(.seconds(5))
        lan.say(1, "queued")
        #expect(lan.presence(0, at: 1) == .offline)
        lan.run(.seconds(4))
        let epochs = lan.link(0, to: 1)?.epochs
        lan.cuts = []
        lan.run(.seconds(4))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        #expect(lan.messages(at: 1) == ["lost?"] && lan.messages(at: 0) == ["queued"])
        #expect(lan.link(0, to: 1)?.epochs == epochs)
        #expect(lan.counters(0).messagesDelivered == 1 && lan.counters(0).messagesFailed == 0)
    }
}

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

    @Test("Two listed nodes show each other (L-67, L-80, L-85, T-28)")
    func meet() {
        let lan = Self.pair()
        #expect(lan.presence(0, at: 1) == .online && lan.presence(1, at: 0) == .online)
        #expect(lan.links(0, to: 1).count == 1 && lan.links(1, to: 0).count == 1)
        #expect(lan.nodes[1]?.endpoint.present(in: World.chat).first?.person.name == "Node 0")
    }

    @Test("Typing shows at once, and ends with the message (T-5, T-10, T-14, M-9)")
    func typing() {
        let lan = Self.pair()
        lan.compose(0, "Hel")
        lan.run(.ms(5))
        #expect(lan.typists(at: 1) == [World.key(0)])
        lan.say(0, "Hello")
        lan.run(.ms(5))
        #expect(lan.typists(at: 1).isEmpty && lan.messages(at: 1) == ["Hello"])
        let outputs = lan.outputs(1)
        let end = outputs.lastIndex { if case .typing(_, let people) = $0 { people.isEmpty } else { false } }
        let text = outputs.firstIndex { if case .message = $0 { true } else { false } }
        #expect(end ?? .max < text ?? 0)
        lan.run(.ms(5))
        #expect(lan.counters(0).messagesDelivered == 1)
    }

    @Test("A bye shows a person as offline at once, and the bye has copies (L-32, L-34)")
    func bye() {
        let lan = Self.pair()
        let start = lan.now
        lan.with(0) { $0.quit(now: $1) }
        lan.run(.ms(5))
        #expect(lan.presence(0, at: 1) == .offline)
        lan.run(.ms(200))
        let byes = lan.sent(by: 0, .bye, since: start).map { ($0.at - start).nanoseconds / 1_000_000 }
        #expect(Set(byes) == [0, 30, 120])
        #expect(lan.links(1, to: 0).isEmpty)
    }

    @Test("Idle links get heartbeats once in 0.75 to 1 s (T-11)")
    func heartbeats() {
        let lan = Self.pair()
        let start = lan.now
        lan.run(.seconds(30))
        let times = lan.sent(by: 0, .heartbeat, since: start).map(\.at)
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(times.count >= 29)
        #expect(gaps.allSatisfy { $0 >= .ms(750) && $0 <= .ms(1_000) })
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

    @Test("A peer that is killed goes offline by its last will at once (L-33)")
    func lastWill() {
        let lan = Self.pair()
        lan.with(0) { $0.keepsWills(now: $1) }
        lan.run(.seconds(1))
        lan.kill(0)
        lan.run(.ms(5))
        #expect(lan.presence(0, at: 1) == .offline)
        let reasons = lan.outputs(1).compactMap { output -> PresenceReason? in
            if case .presence(_, _, .offline, let reason) = output { reason } else { nil }
        }
        #expect(reasons == [.will])
    }

    @Test("A peer that is killed without a will goes offline 3.0 s after its last datagram (L-27)")
    func silence() {
        let lan = Self.pair()
        lan.run(.seconds(12))
        let last = lan.sent(by: 0).last?.at ?? .zero
        lan.kill(0)
        lan.run(until: last + .ms(1) + .ms(2_999))
        #expect(lan.presence(0, at: 1) == .online)
        lan.run(until: last + .ms(1) + .ms(3_000))
        #expect(lan.presence(0, at: 1) == .offline)
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

    @Test("A restarted node comes back as another run (L-58, L-31)")
    func restart() {
        let lan = Self.pair()
        lan.run(.seconds(12))
        lan.kill(1)
        lan.start(1)
        lan.list(0, to: 1)
        lan.run(.seconds(5))
        #expect(lan.isUp(0, to: 1) && lan.isUp(1, to: 0))
        lan.say(0, "again")
        lan.run(.ms(100))
        #expect(lan.messages(at: 1) == ["again"])
        lan.run(.seconds(70))
        #expect(lan.links(0, to: 1).count == 1)
    }
}

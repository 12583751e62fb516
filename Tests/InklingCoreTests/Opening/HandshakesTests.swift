import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Sessions without a link")
struct HandshakesTests {
    private func unconfirmed(_ index: UInt32, to identity: Int = 1, now: Int = 0) -> UnconfirmedSession {
        UnconfirmedSession(
            person: Parts.person(identity), initiation: [1] + index.bigEndianBytes,
            response: [2] + index.bigEndianBytes, expires: .at(now + 5_000),
            session: Parts.session(index, now: .at(now)))
    }

    private func greeting(
        _ index: UInt32, to identity: Int = 1, link: LinkID? = nil, role: Session.Role = .responder, now: Int = 0
    ) -> GreetingSession {
        GreetingSession(
            person: Parts.person(identity), presumedLink: link, stream: 500 + index,
            session: Parts.session(index, role: role, now: .at(now)), now: .at(now))
    }

    /// Where an index leads to.
    enum State: String, CaseIterable, Sendable { case nowhere, unconfirmed, greeting }

    private func handshakes(_ state: State) -> Handshakes {
        var handshakes = Handshakes()
        switch state {
        case .nowhere: break
        case .unconfirmed: handshakes.add(unconfirmed(7))
        case .greeting: handshakes.add(greeting(7))
        }
        _ = handshakes.takeTouched()
        return handshakes
    }

    private func state(_ handshakes: Handshakes, _ index: UInt32 = 7) -> State {
        switch handshakes.place(of: index) {
        case .unconfirmed: .unconfirmed
        case .greeting: .greeting
        case nil: .nowhere
        }
    }

    @Test("what is known of a session without a link", arguments: State.allCases)
    func queries(_ state: State) {
        let handshakes = handshakes(state)
        #expect(self.state(handshakes) == state)
        #expect(self.state(handshakes, 8) == .nowhere)
        #expect(handshakes.isInUse(7) == (state != .nowhere))
        #expect(handshakes.chat(of: 7) == (state == .nowhere ? nil : Parts.chat))
        #expect(handshakes.count == (state == .nowhere ? 0 : 1))
        #expect(handshakes.unconfirmedCount == (state == .unconfirmed ? 1 : 0))
        #expect(handshakes.sortedIndices == (state == .nowhere ? [] : [7]))
        let initiation = unconfirmed(7).initiation
        #expect(handshakes.response(to: initiation) == (state == .unconfirmed ? unconfirmed(7).response : nil))
        #expect(handshakes.response(to: initiation + [0]) == nil)
        #expect(handshakes.greetings(of: Parts.person()).count == (state == .greeting ? 1 : 0))
        #expect(handshakes.greetings(of: Parts.person(2)).isEmpty)
    }

    @Test("a session that is removed leads nowhere", arguments: State.allCases)
    func remove(_ state: State) {
        var handshakes = handshakes(state)
        handshakes.remove(7)
        #expect(self.state(handshakes) == .nowhere)
        #expect(handshakes.count == 0)
        #expect(handshakes.response(to: unconfirmed(7).initiation) == nil)
        #expect(handshakes.openingIsLeft(to: Parts.person()) == nil)
        #expect(handshakes.deadline(of: 7) == nil)
        #expect(handshakes.takeTouched() == [7])
        #expect(handshakes.takeTouched().isEmpty)
    }

    @Test("all sessions with some people are removed, and no others")
    func removeAll() {
        var handshakes = Handshakes()
        handshakes.add(unconfirmed(1, to: 1))
        handshakes.add(unconfirmed(2, to: 2))
        handshakes.add(greeting(3, to: 1))
        handshakes.add(greeting(4, to: 2))
        handshakes.removeAll { $0 == Parts.person(1) }
        #expect(handshakes.sortedIndices == [2, 4])
    }

    @Test("what is put back of a session is found again")
    func update() throws {
        var handshakes = handshakes(.unconfirmed)
        handshakes.add(greeting(8))
        _ = handshakes.takeTouched()
        var first = unconfirmed(7)
        first.session.address = Parts.there
        handshakes.update(first)
        var second = greeting(8)
        second.session.address = Parts.elsewhere
        handshakes.update(second)
        guard case .unconfirmed(let unconfirmed) = handshakes.place(of: 7),
            case .greeting(let greeting) = handshakes.place(of: 8)
        else {
            Issue.record("both are still there")
            return
        }
        #expect(unconfirmed.session.address == Parts.there)
        #expect(greeting.session.address == Parts.elsewhere)
        // Only a greeting's deadline changes.
        #expect(handshakes.takeTouched() == [8])
        #expect(handshakes.count == 2)
    }

    @Test("the deadline: its end, or the next hello", arguments: State.allCases)
    func deadline(_ state: State) {
        var handshakes = handshakes(state)
        switch state {
        case .nowhere: #expect(handshakes.deadline(of: 7) == nil)
        case .unconfirmed: #expect(handshakes.deadline(of: 7) == .at(5_000))
        case .greeting:
            #expect(handshakes.deadline(of: 7) == .zero)
            var greeting = greeting(7)
            greeting.session.hello.sent(Parts.hello(), now: .at(100))
            handshakes.update(greeting)
            #expect(handshakes.deadline(of: 7) == .at(350))
            greeting.session.hello.end()
            handshakes.update(greeting)
            #expect(handshakes.deadline(of: 7) == .at(3_000))
        }
    }

    @Test("with 128 unconfirmed sessions the oldest makes room (L-12)")
    func surplus() {
        var handshakes = Handshakes()
        handshakes.add(greeting(1_000, now: 0))
        // The oldest of all is neither the first that came nor the one with the least index.
        for index in UInt32(0)..<128 { handshakes.add(unconfirmed(index, now: index == 50 ? 1 : 10 + Int(index))) }
        #expect(handshakes.unconfirmedCount == 128)
        #expect(handshakes.isInUse(50))
        handshakes.add(unconfirmed(128, now: 500))
        #expect(handshakes.unconfirmedCount == 128)
        #expect(!handshakes.isInUse(50))
        #expect(handshakes.response(to: unconfirmed(50).initiation) == nil)
        #expect(handshakes.response(to: unconfirmed(128).initiation) == unconfirmed(128).response)
        #expect(handshakes.isInUse(1_000))
    }

    @Test("of the oldest of one instant the one with the lowest index makes room")
    func surplusOfOneInstant() {
        var handshakes = Handshakes()
        for index in (UInt32(1)...128).reversed() { handshakes.add(unconfirmed(index)) }
        handshakes.add(unconfirmed(200))
        #expect(handshakes.sortedIndices == Array(2...128) + [200])
    }

    @Test("an opening is left to a peer that began one, until that has had its time (L-14)")
    func openingIsLeft() {
        let person = Parts.person()
        #expect(handshakes(.nowhere).openingIsLeft(to: person) == nil)
        #expect(handshakes(.unconfirmed).openingIsLeft(to: person) == .at(300))
        #expect(handshakes(.greeting).openingIsLeft(to: person) == .at(3_000))
        #expect(handshakes(.greeting).openingIsLeft(to: Parts.person(2)) == nil)
        #expect(handshakes(.greeting).openingIsLeft(to: Parts.person(1, in: Parts.otherChat)) == nil)
        var handshakes = Handshakes()
        handshakes.add(greeting(1, role: .initiator))
        #expect(handshakes.openingIsLeft(to: person) == nil)
        handshakes.add(unconfirmed(2, now: 4_000))
        handshakes.add(greeting(3, now: 50))
        #expect(handshakes.openingIsLeft(to: person) == .at(4_300))
    }

    @Test("a link that comes up is presumed by the greetings that presume none")
    func presume() {
        var handshakes = handshakes(.unconfirmed)
        let (first, second) = (LinkID(value: 1), LinkID(value: 2))
        handshakes.add(greeting(10))
        handshakes.add(greeting(11, link: second))
        handshakes.add(greeting(12, to: 2))
        _ = handshakes.takeTouched()
        let streams = handshakes.presume(first, of: Parts.person())
        #expect(streams == [510])
        #expect(handshakes.greetings(of: Parts.person()).map(\.presumedLink) == [first, second])
        #expect(handshakes.greetings(of: Parts.person(2)).map(\.presumedLink) == [nil])
        #expect(handshakes.takeTouched() == [10])
        let again = handshakes.presume(second, of: Parts.person())
        #expect(again.isEmpty)
    }

    @Test("a link that is over is presumed no more, and the hellos name new streams")
    func loseLink() {
        var effects = Parts.effects()
        var handshakes = handshakes(.unconfirmed)
        let (first, second) = (LinkID(value: 1), LinkID(value: 2))
        handshakes.add(greeting(10, link: first))
        handshakes.add(greeting(11, link: second))
        handshakes.add(greeting(12))
        _ = handshakes.takeTouched()
        handshakes.loseLink(first, of: Parts.person(), &effects)
        let greetings = handshakes.greetings(of: Parts.person())
        #expect(greetings.map(\.presumedLink) == [nil, second, nil])
        #expect(greetings[0].stream != 510 && greetings[0].stream != 0)
        #expect(greetings.dropFirst().map(\.stream) == [511, 512])
        #expect(handshakes.takeTouched() == [10])
    }

    @Test("a greeting's hello is that of its link, or names its own stream and holds none")
    func hello() {
        let surroundings = Parts.surroundings()
        let own = greeting(10).hello(nil, surroundings)
        #expect(own == Hello(run: 5, stream: 510, heldStream: 0, nextRecord: 0, name: "Node"))
        let link = Parts.link(1)
        #expect(greeting(10, link: link.id).hello(link, surroundings) == link.hello(surroundings))
        #expect(link.hello(surroundings).stream == 60)
    }
}

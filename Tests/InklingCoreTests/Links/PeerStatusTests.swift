import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Status of a peer")
struct PeerStatusTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Whether the peer types, by a status of counter 10 on the session of order 2.
        var types = true
        /// The last status of the session before this one, of counter 10.
        var before: Bool?
        /// The order of the session, and the counter.
        var order = 2
        var counter: UInt64 = 11
        let isTyping: Bool
        var hasMessage = false
        var isBehind = false
        let answer: PeerStatus.Answer
        var testDescription: String { name }
    }

    @Test(
        "what a status comes to (T-13, L-30)",
        arguments: [
            Row(name: "a start", types: false, isTyping: true, answer: .applied(.started)),
            Row(name: "a stop when nobody types", types: false, isTyping: false, answer: .applied(.none)),
            Row(name: "typing goes on", isTyping: true, answer: .applied(.none)),
            Row(name: "a stop", isTyping: false, answer: .applied(.ended)),
            Row(name: "a stop with a message", isTyping: false, hasMessage: true, answer: .applied(.ended)),
            Row(
                name: "a start of a newer session", types: false, order: 3, counter: 0, isTyping: true,
                answer: .applied(.started)),
            Row(name: "a stop of a newer session", order: 3, counter: 0, isTyping: false, answer: .applied(.ended)),
            Row(name: "a start that waited", types: false, isTyping: true, isBehind: true, answer: .ignored(.none)),
            Row(name: "typing that waited", isTyping: true, isBehind: true, answer: .ignored(.none)),
            Row(name: "a stop that waited", isTyping: false, isBehind: true, answer: .ignored(.ended)),
            Row(name: "an old start", types: false, counter: 9, isTyping: true, answer: .ignored(.none)),
            Row(name: "the same counter again", types: false, counter: 10, isTyping: true, answer: .ignored(.none)),
            Row(name: "an old stop", counter: 9, isTyping: false, answer: .ignored(.none)),
            Row(
                name: "an old stop with a message, typed since", counter: 9, isTyping: false, hasMessage: true,
                answer: .ignored(.none)),
            Row(
                name: "an old stop with a message, and waited", counter: 9, isTyping: false, hasMessage: true,
                isBehind: true, answer: .ignored(.none)),
            Row(name: "a start of an older session", types: false, order: 1, isTyping: true, answer: .ignored(.none)),
            Row(name: "a stop of an older session", order: 1, isTyping: false, answer: .ignored(.none)),
            Row(
                name: "a stop of an older session with a message", order: 1, isTyping: false, hasMessage: true,
                answer: .ignored(.ended)),
            Row(
                name: "the same, after typing on that session", before: true, order: 1, isTyping: false,
                hasMessage: true, answer: .ignored(.ended)),
            Row(
                name: "the same, before typing on that session", before: true, order: 1, counter: 9,
                isTyping: false, hasMessage: true, answer: .ignored(.none)),
            Row(
                name: "the same, before a stop on that session", before: false, order: 1, counter: 9,
                isTyping: false, hasMessage: true, answer: .ignored(.ended)),
            Row(
                name: "typing of an older session with a message", order: 1, isTyping: true, hasMessage: true,
                answer: .ignored(.none)),
        ])
    func status(_ row: Row) {
        var status = PeerStatus(name: "Hand", now: .zero)
        var newest = Parts.session(2, order: 2)
        let first = Status(isTyping: row.types, isAway: false)
        _ = status.receive(first, of: Parts.opened(10, first), on: &newest, isBehind: false, now: .zero)
        #expect((status.typingSince != nil) == row.types)
        var session = row.order == 2 ? newest : Parts.session(9, order: row.order)
        if let before = row.before { session.note(Status(isTyping: before, isAway: false), counter: 10) }
        let frame = Status(isTyping: row.isTyping, isAway: true)
        let opened = Parts.opened(row.counter, frame, hasMessage: row.hasMessage)
        let answer = status.receive(frame, of: opened, on: &session, isBehind: row.isBehind, now: .at(50))
        #expect(answer == row.answer)
        // Away counts with what is applied alone.
        let isApplied = if case .applied = answer { true } else { false }
        #expect(status.isAway == isApplied)
        #expect(
            session.lastStatus?.counter == (row.order == 2 || row.before != nil ? max(10, row.counter) : row.counter))
        switch row.answer {
        case .applied(.started): #expect(status.typingSince == .at(50))
        case .applied(.ended), .ignored(.ended): #expect(status.typingSince == nil)
        case .applied, .ignored: #expect(status.typingSince == (row.types ? .zero : nil))
        }
        // Only what is applied is evidence that typing goes on.
        let expires = row.isTyping && isApplied ? 3_050 : 3_000
        #expect(status.nextDeadline == (status.typingSince == nil ? nil : .at(expires)))
    }

    @Test("an ignored status of a newer session leaves the place of the newest to others")
    func waitedDoesNotCount() {
        var status = PeerStatus(name: "Hand", now: .zero)
        var (older, newer) = (Parts.session(1, order: 1), Parts.session(2, order: 2))
        let typing = Status(isTyping: true, isAway: false)
        let waited = status.receive(typing, of: Parts.opened(0, typing), on: &newer, isBehind: true, now: .zero)
        let fresh = status.receive(typing, of: Parts.opened(0, typing), on: &older, isBehind: false, now: .zero)
        #expect(waited == .ignored(.none))
        #expect(fresh == .applied(.started))
    }

    @Test("the hello of the newest session gives the name (L-22)")
    func hellos() {
        var status = PeerStatus(name: "Hand", now: .zero)
        for (order, name, counts) in [(2, "two", true), (1, "one", false), (2, "two again", true), (3, "three", true)] {
            let received = status.receive(Parts.hello(name: name), of: Parts.session(1, order: order))
            #expect(received == counts)
            #expect((status.name == name) == counts)
        }
    }

    @Test("hellos and statuses have orders of their own")
    func ordersApart() {
        var status = PeerStatus(name: "Hand", now: .zero)
        _ = status.receive(Parts.hello(), of: Parts.session(2, order: 2))
        var older = Parts.session(1, order: 1)
        let typing = Status(isTyping: true, isAway: false)
        let answer = status.receive(typing, of: Parts.opened(0, typing), on: &older, isBehind: false, now: .zero)
        #expect(answer == .applied(.started))
    }

    @Test("name and presence are news once each time that they change")
    func news() {
        var status = PeerStatus(name: "Hand", now: .zero)
        var session = Parts.session(1, order: 1)
        func isNews() -> [Bool] { [status.isNews(), status.isNews()] }
        #expect(isNews() == [true, false])
        _ = status.receive(Parts.hello(name: "Hand"), of: session)
        #expect(isNews() == [false, false])
        _ = status.receive(Parts.hello(name: "Foot"), of: session)
        #expect(isNews() == [true, false])
        for (counter, isAway) in [(UInt64(0), true), (1, false)] {
            let frame = Status(isTyping: false, isAway: isAway)
            _ = status.receive(frame, of: Parts.opened(counter, frame), on: &session, isBehind: false, now: .zero)
            #expect(isNews() == [true, false])
        }
        let typing = Status(isTyping: true, isAway: false)
        _ = status.receive(typing, of: Parts.opened(2, typing), on: &session, isBehind: false, now: .zero)
        #expect(isNews() == [false, false])
    }

    @Test("typing ends 3 s after the last evidence (T-15)")
    func expiry() {
        var status = PeerStatus(name: "Hand", now: .zero)
        var session = Parts.session(1, order: 1)
        let typing = Status(isTyping: true, isAway: false)
        _ = status.receive(typing, of: Parts.opened(0, typing), on: &session, isBehind: false, now: .zero)
        _ = status.receive(typing, of: Parts.opened(1, typing), on: &session, isBehind: false, now: .at(400))
        let changes = [3_000, 3_399, 3_400, 3_401].map { status.advance(.at($0)) }
        #expect(changes == [.none, .none, .ended, .none])
        #expect(status.nextDeadline == nil)
    }
}

import Testing

@testable import InklingCore

@Suite("outcomes of messages")
struct OutboxTests {
    typealias Messages = Outbox<Int, String>

    private func outcome(_ message: UInt64, _ person: String, _ failure: FailureReason?) -> Messages.Outcome {
        Messages.Outcome(message: message, person: person, failure: failure)
    }

    @Test("M-17: one outcome for each message and person, of whichever link acknowledges first")
    func once() {
        var outbox = Messages()
        let admission = outbox.add(to: [(1, "Bob", .fits), (2, "Bob", .fits), (3, "Carol", .fits)])
        #expect(admission == .accepted(message: 1, over: [1, 2, 3], failed: []))
        let lost = outbox.failed(1, to: "Bob", over: 1, .bye)
        let bob = outbox.delivered(1, to: "Bob", over: 2)
        let again = outbox.delivered(1, to: "Bob", over: 2)
        let late = outbox.failed(1, to: "Bob", over: 1, .silence)
        #expect(lost == nil)
        #expect(bob == outcome(1, "Bob", nil))
        #expect(again == nil)
        #expect(late == nil)
        #expect(outbox.count == 1)
        let carol = outbox.failed(1, to: "Carol", over: 3, .will)
        #expect(carol == outcome(1, "Carol", .will))
        #expect(outbox.count == 0)
    }

    @Test("M-18: the last link of a person to fail gives the reason")
    func lastLink() {
        var outbox = Messages()
        _ = outbox.add(to: [(1, "Bob", .fits), (2, "Bob", .fits)])
        let first = outbox.failed(1, to: "Bob", over: 2, .stalled)
        let second = outbox.failed(1, to: "Bob", over: 1, .silence)
        #expect(first == nil)
        #expect(second == outcome(1, "Bob", .silence))
    }

    @Test("M-36: without a link a message is accepted, and nothing is reported; a link that comes later has no part")
    func nobody() {
        var outbox = Messages()
        let admission = outbox.add(to: [])
        #expect(admission == .accepted(message: 1, over: [], failed: []))
        #expect(outbox.count == 0)
        _ = outbox.add(to: [(1, "Bob", .fits)])
        let later = outbox.delivered(2, to: "Bob", over: 9)
        #expect(later == nil)
    }

    @Test("M-14: a message is refused for all peers if one queue is full")
    func refused() {
        var outbox = Messages()
        let admission = outbox.add(to: [(1, "Bob", .fits), (2, "Carol", .full), (3, "Dave", .overdue)])
        #expect(admission == .refused)
        #expect(outbox.count == 0)
        let next = outbox.add(to: [(1, "Bob", .fits)])
        #expect(next == .accepted(message: 1, over: [1], failed: []))
    }

    @Test("M-30: a message fails for a peer whose queue is overdue, goes to the others, and is refused without them")
    func overdue() {
        var outbox = Messages()
        let admission = outbox.add(to: [
            (1, "Bob", .overdue), (2, "Carol", .fits), (3, "Bob", .overdue), (4, "Dave", .overdue), (5, "Dave", .fits),
        ])
        #expect(admission == .accepted(message: 1, over: [2, 5], failed: [outcome(1, "Bob", .stalled)]))
        let late = outbox.delivered(1, to: "Bob", over: 1)
        #expect(late == nil)
        let dave = outbox.delivered(1, to: "Dave", over: 5)
        #expect(dave == outcome(1, "Dave", nil))
        let alone = outbox.add(to: [(1, "Bob", .overdue), (3, "Bob", .overdue)])
        #expect(alone == .refused)
    }
}

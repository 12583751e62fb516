import Inkling
import InklingModel
import Testing

/// The decisions when to stop waiting for people and for the outcomes of a message, without a node.
@Suite("Who is waited for, and what a message came to")
struct DeliveryDecisionTests {
    @Test("a wait lasts as long as it may for nobody, and half a second after the last who came or went")
    func arrivals() {
        var wait = ArrivalWait(longest: .seconds(5))
        #expect(wait.end == .seconds(5))
        #expect(!wait.take(present: 0, after: .seconds(1)) && wait.end == .seconds(5))
        #expect(wait.take(present: 1, after: .seconds(1)) && wait.end == .milliseconds(1_500))
        #expect(!wait.take(present: 1, after: .milliseconds(1_400)) && wait.end == .milliseconds(1_500))
        #expect(wait.take(present: 2, after: .milliseconds(1_400)) && wait.end == .milliseconds(1_900))
        #expect(wait.take(present: 0, after: .milliseconds(1_800)) && wait.end == .seconds(5))
        #expect(wait.take(present: 3, after: .milliseconds(4_900)) && wait.end == .seconds(5))
    }

    private static func peer(_ number: Int, _ presence: InklingModel.Presence = .online) -> Peer {
        let person = MailboxTests.person(number)
        return Peer(user: person.user, name: person.name, presence: presence, key: MailboxTests.key)
    }

    // R25
    @Test("answers are told apart by message and chat, and a message is done with the last recipient")
    func outcome() {
        let (bob, charlie, gone) = (Self.peer(1), Self.peer(2, .away), Self.peer(3, .offline))
        var delivery = Delivery(7, to: "kitchen", recipients: 2, people: [bob, charlie, gone])
        delivery.take(.delivered(.init(chat: "garden", message: 7, user: bob.user)))
        delivery.take(.delivered(.init(chat: "kitchen", message: 6, user: bob.user)))
        #expect(delivery.result.unanswered == [bob, charlie] && !delivery.isComplete)
        delivery.take(.delivered(.init(chat: "kitchen", message: 7, user: charlie.user)))
        #expect(delivery.result.delivered == [charlie] && delivery.result.unanswered == [bob])
        delivery.take(.failed(.init(chat: "kitchen", message: 7, user: bob.user, why: .silence)))
        #expect(delivery.isComplete && !delivery.result.reachedAll && delivery.result.unanswered.isEmpty)
        #expect(delivery.result.failed.map(\.peer) == [bob] && delivery.result.failed.map(\.why) == [.silence])
    }

    // R25
    @Test("a message that nobody was there for is done at once, and reached nobody")
    func nobody() {
        let delivery = Delivery(1, to: "kitchen", recipients: 0, people: [Self.peer(3, .offline)])
        #expect(delivery.isComplete && !delivery.result.reachedAll && delivery.result.unanswered.isEmpty)
    }
}

import InklingService
import InklingModel
import Testing

/// The last messages of a chat.
@Suite("Last messages")
struct RecentMessagesTests {
    //
    @Test("a front end that attaches later gets received and own messages with their outcomes, in order")
    func conversation() throws {
        let stage = ServiceStage()
        let first = try stage.frontEnd(in: "kitchen")
        stage.node.tell(Somebody.message(7), at: 1.5)
        stage.node.recipients = 2
        first.ask(.send("hello", chat: "kitchen"))
        stage.node.tell(.delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user)))
        stage.node.tell(.failed(.init(chat: "kitchen", message: 1, user: Somebody.carol.user, why: .bye)))
        let second = try stage.frontEnd(in: "kitchen")
        let received = ReceivedMessage(chat: "kitchen", from: Somebody.bob, id: 7, text: "hi")
        let own = OwnMessage(at: 5.5, chat: "kitchen", message: 1, recipients: 2, text: "hello")
        var messages = [
            RecentMessage(at: 1.5, .received(received, isDelayed: false)),
            RecentMessage(
                at: 5.5,
                .own(
                    own, delivered: [Somebody.bob.user],
                    failed: [RecentMessage.Failure(user: Somebody.carol.user, why: .bye)])),
        ]
        for index in messages.indices { messages[index].entry = UInt64(index) + 1 }
        #expect(second.ask(.messages(chat: "kitchen", count: 200)) == .messages(messages))
        #expect(second.ask(.messages(chat: "kitchen", before: 2)) == .messages([messages[0]]))
        #expect(second.ask(.messages(chat: "kitchen", count: 1)) == .messages([messages[1]]))
        #expect(second.ask(.messages(chat: "kitchen", text: "HELLO")) == .messages([messages[1]]))
        #expect(second.ask(.messages(chat: "attic")) == .failed(.unknownChat("attic")))
    }

    //
    @Test("the oldest messages are evicted beyond 200, and beyond 256 KiB")
    func limits() throws {
        let stage = ServiceStage()
        let frontEnd = try stage.frontEnd(in: "kitchen")
        for number in 1...205 {
            stage.node.tell(Somebody.message(number, "\(number)"), at: 1)
        }
        let texts = frontEnd.messages(.messages(chat: "kitchen", count: 200)).map(\.text)
        #expect(texts == (6...205).map(String.init))
        // Each counts 256 bytes more than its text, and each outcome of an own one 32.
        let half = String(repeating: "x", count: 1 << 17 - 256)
        for number in 301...302 {
            stage.node.tell(Somebody.message(number, half), at: 1)
        }
        #expect(frontEnd.messages(.messages(chat: "kitchen", count: 200)).map(\.text) == [half, half])
        stage.node.recipients = 1
        frontEnd.ask(.send(String(repeating: "y", count: 1 << 17 - 288), chat: "kitchen"))
        #expect(
            frontEnd.messages(.messages(chat: "kitchen", count: 200)).count == 2,
            "it takes the place of the oldest")
        stage.node.recipients = 2
        frontEnd.ask(.send(String(repeating: "z", count: 1 << 17 - 288), chat: "kitchen"))
        #expect(
            frontEnd.messages(.messages(chat: "kitchen", count: 200)).count == 1,
            "an outcome more exceeds the limit")
    }
}

import InklingService
import InklingModel
import Testing

/// The messages for which a daemon starts its hook, such as a notification.
@Suite("Messages that nobody looks at")
struct UnseenMessageTests {
    @Test("those are told that come while no front end shows their chat")
    func unseen() throws {
        let stage = ServiceStage(kept: [try Chat("kitchen")])
        var unseen: [MessageID] = []
        stage.service.messageUnseen = { timed, _ in
            if case .message(let message) = timed.event { unseen.append(message.id) }
        }
        stage.node.tell(Somebody.message(1))
        let prompt = try stage.frontEnd(in: "kitchen")
        stage.node.tell(Somebody.message(2))
        let bar = try stage.frontEnd(in: "kitchen", opens: false)
        prompt.service.stop {}
        stage.node.tell(Somebody.message(3))
        #expect(unseen == [1, 3])
        bar.service.stop {}
        #expect(unseen == [1, 3])
    }
}

import InklingWire
import Testing

@testable import InklingCore

@Suite("Taking a successor")
struct SuccessorTests {
    private let chat = OwnedChat()

    @Test("M-90: only the first successor of a chat counts, also if a node stays there")
    func second() {
        let (one, other) = (OwnedChat.successor(3), OwnedChat.successor(4))
        for (first, second) in [(one, other), (other, one)] {
            let chat = OwnedChat()
            chat.start(5, identity: 0, at: World.address(9))
            chat.lan.cuts = [[0, 5], [5, 0]]
            chat.list([0, 1, 5])
            chat.lan.run(.seconds(2))
            chat.move(0, by: first, chosen: [1])
            chat.lan.run(.ms(100))
            chat.move(5, by: second, chosen: [1])
            chat.lan.run(.seconds(1))
            #expect(chat.successors(at: 1) == [first])
            #expect(chat.lan.counters(5).successorsSent == 1 && !chat.linked(at: 5).contains(World.key(1)))
        }
    }

    @Test("M-88: a successor that waits has no effect once the user has left the chat")
    func leftWhileWaiting() {
        let chat = OwnedChat(nodes: [0, 1])
        chat.lan.with(1) { endpoint, now in
            for _ in 0..<8 { endpoint.movePaces.moved(from: OwnedChat.chat, to: OwnedChat.chat, now) }
        }
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.run(.seconds(2))
        #expect(chat.lan.counters(0).successorsSent == 1 && chat.linked(at: 0).isEmpty)
        #expect(chat.successors(at: 1).isEmpty)
        chat.lan.with(1) { try? $0.leave(OwnedChat.chat, now: $1) }
        chat.lan.run(.seconds(20))
        #expect(chat.successors(at: 1).isEmpty)
    }

    @Test("M-65: a node moves no chat that it is not in")
    func errors() {
        #expect(throws: MoveError.unknownChat) {
            try chat.lan.nodes[0]?.endpoint.move(
                OwnedChat.keys(5).id, by: OwnedChat.successor(1), chosen: [], now: chat.lan.now)
        }
    }
}

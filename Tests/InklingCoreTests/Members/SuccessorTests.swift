import InklingWire
import Testing

@testable import InklingCore

@Suite("Taking a successor")
struct SuccessorTests {
    private let chat = OwnedChat()

    @Test("M-62: only the owner's successor is taken; another member's is acknowledged and passed over")
    func anotherMember() {
        chat.lan.with(1) { try? $0.leave(OwnedChat.chat, now: $1) }
        chat.join(1, OwnedChat.first, owner: 1)
        chat.list([0, 1, 2])
        chat.move(1, by: OwnedChat.successor(9, 1, owner: 1), chosen: [0, 2])
        let start = chat.lan.now
        chat.lan.run(.seconds(3))
        #expect(chat.lan.sent(by: 1, .record, since: start).contains { $0.to == World.address(3) })
        #expect(chat.lan.counters(1).successorsSent > 0 && chat.linked(at: 1).isEmpty)
        #expect(chat.successors(at: 0).isEmpty && chat.successors(at: 2).isEmpty)
        #expect(chat.present(at: 2) == [World.key(0)])
    }

    @Test("M-62: a successor in a chat without an owner is passed over")
    func noOwner() {
        let chat = OwnedChat(nodes: [])
        chat.start(0)
        chat.lan.start(1, chats: [OwnedChat.first], isSecret: true)
        chat.list([0, 1])
        chat.lan.run(.seconds(2))
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.run(.seconds(2))
        #expect(chat.lan.counters(0).successorsSent == 1 && chat.successors(at: 1).isEmpty)
    }

    @Test("M-62: a successor that does not rank above the chat is passed over", arguments: [1, 2, 3] as [UInt32])
    func lowerRank(_ generation: UInt32) {
        let chat = OwnedChat(nodes: [])
        let present = OwnedChat.successor(2)
        for node in [0, 1] { chat.lan.start(node, chats: []) }
        // The owner's node forgot the generation.
        chat.join(0, present.keys)
        chat.join(1, present.keys, generation: 2)
        chat.list([0, 1], in: present.keys.id)
        chat.lan.run(.seconds(2))
        let other = OwnedChat.successor(generation, 5)
        chat.move(0, present.keys.id, by: other, chosen: [1])
        chat.lan.run(.seconds(2))
        #expect(chat.lan.counters(0).successorsSent == 1)
        #expect(chat.successors(at: 1) == (other.rank > present.rank ? [other] : []))
        #expect(generation == 2 || (generation == 3) == (other.rank > present.rank))
    }

    @Test("M-62: of two successors of one generation the one with the lower fingerprint wins, in any order")
    func tie() {
        let one = OwnedChat.successor(1, 3)
        let other = OwnedChat.successor(1, 4)
        let (lower, higher) = one.rank > other.rank ? (one, other) : (other, one)
        for (first, second) in [(lower, higher), (higher, lower)] {
            let chat = OwnedChat()
            chat.start(5, identity: 0, at: World.address(9))
            chat.list([0, 1, 5])
            chat.lan.run(.seconds(2))
            chat.move(0, by: first, chosen: [1])
            chat.lan.run(.ms(100))
            chat.move(5, by: second, chosen: [1])
            chat.lan.run(.seconds(1))
            #expect(chat.successors(at: 1) == (first == lower ? [lower] : [higher, lower]))
        }
    }

    @Test("M-60, M-62: a record that is no successor is acknowledged and passed over")
    func malformed() {
        let link = chat.lan.link(1, to: 0, in: OwnedChat.chat)
        #expect(link != nil)
        chat.lan.with(1) { endpoint, _ in
            guard let id = link?.id else { return }
            endpoint.receive(successor: Array(repeating: 0, count: 54), on: id)
            endpoint.receive(successor: [], on: id)
        }
        #expect(chat.successors(at: 1).isEmpty)
    }

    @Test("M-64: a removed key gets no link in the new chat, also when a member gave it the secret")
    func refused() {
        let chat = OwnedChat(nodes: [])
        let next = OwnedChat.successor(1, removed: [2])
        for node in [0, 1, 2] { chat.lan.start(node, chats: []) }
        for node in [0, 1] { chat.join(node, next.keys, generation: 1, refusing: [2]) }
        chat.join(2, next.keys)
        chat.list([0, 1, 2], in: next.keys.id)
        chat.lan.run(.seconds(5))
        #expect(chat.linked(at: 0, in: next.keys.id) == [World.key(1)])
        #expect(chat.linked(at: 1, in: next.keys.id) == [World.key(0)])
        #expect(chat.linked(at: 2, in: next.keys.id).isEmpty)
        #expect(chat.lan.counters(0).drops[.blocked] ?? 0 > 0)
        // The key is refused in that chat alone.
        for node in [0, 2] { chat.join(node, OwnedChat.keys(6)) }
        chat.list([0, 2], in: OwnedChat.keys(6).id)
        chat.lan.run(.seconds(2))
        #expect(chat.linked(at: 0, in: OwnedChat.keys(6).id) == [World.key(2)])
    }

    @Test("M-63, M-70: members follow to a chat of another owner, and then that key alone moves the chat")
    func handOver() {
        let next = OwnedChat.successor(1, owner: 1)
        chat.move(by: next, chosen: [1, 2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 2) == [next])
        for node in [0, 1, 2] { chat.join(node, next.keys, owner: 1, generation: 1) }
        for node in [1, 2] { chat.lan.with(node) { try? $0.leave(OwnedChat.chat, now: $1) } }
        chat.list([0, 1, 2], in: next.keys.id)
        chat.lan.run(.seconds(2))
        #expect(chat.linked(at: 0).isEmpty && chat.present(at: 0, in: next.keys.id).count == 2)
        #expect(throws: MoveError.notOwner) {
            try chat.lan.nodes[0]?.endpoint.move(
                next.keys.id, by: OwnedChat.successor(2), chosen: [], now: chat.lan.now)
        }
        let last = OwnedChat.successor(2, owner: 1, removed: [0])
        chat.move(1, next.keys.id, by: last, chosen: [2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 2) == [next, last] && chat.successors(at: 0).isEmpty)
    }

    @Test("M-65: a node moves no chat that it is not in, and none to itself")
    func errors() {
        #expect(throws: MoveError.unknownChat) {
            try chat.lan.nodes[0]?.endpoint.move(
                OwnedChat.keys(5).id, by: OwnedChat.successor(1), chosen: [], now: chat.lan.now)
        }
        #expect(throws: MoveError.oldSuccessor) {
            try chat.lan.nodes[0]?.endpoint.move(
                OwnedChat.chat, by: OwnedChat.successor(1, 0), chosen: [], now: chat.lan.now)
        }
    }
}

import InklingWire
import Testing

@testable import InklingCore

@Suite("Taking a successor")
struct SuccessorTests {
    private let chat = OwnedChat()

    @Test("M-90: only the owner's successor is taken; another member's is acknowledged and passed over")
    func anotherMember() {
        chat.lan.with(1) { try? $0.leave(OwnedChat.chat, now: $1) }
        chat.join(1, OwnedChat.first, owner: 1)
        chat.list([0, 1, 2])
        chat.move(1, by: OwnedChat.successor(1, owner: 1), chosen: [0, 2])
        let start = chat.lan.now
        chat.lan.run(.seconds(3))
        #expect(chat.lan.sent(by: 1, .record, since: start).contains { $0.to == World.address(3) })
        #expect(chat.lan.counters(1).successorsSent > 0 && chat.linked(at: 1).isEmpty)
        #expect(chat.successors(at: 0).isEmpty && chat.successors(at: 2).isEmpty)
        #expect(chat.present(at: 2) == [World.key(0)])
    }

    @Test("M-90: a successor in a chat without an owner is passed over")
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

    @Test("W-42: the body of one chat's successor leads to another chat in another chat")
    func foreign() {
        // Node 1 owns a club, whose only other member is node 2. Both are also in the chat of node 0.
        let club = OwnedChat.keys(5, owner: 1)
        for node in [1, 2] { chat.join(node, club, owner: 1) }
        chat.list([1, 2], in: club.id)
        chat.lan.run(.seconds(2))
        // A hostile owner repeats the body of the other chat's owner.
        let successor = OwnedChat.successor(1, removed: [3])
        chat.move(1, club.id, by: successor, chosen: [2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 2) == [successor])
        #expect(successor.keys(in: club) != successor.keys(in: OwnedChat.first))
        // The chat of node 0 is as it was, and moves later.
        chat.move(by: successor, chosen: [1, 2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 1) == [successor] && chat.successors(at: 2) == [successor, successor])
    }

    @Test("M-89: a successor that removes its owner leads nowhere")
    func ownerRemoved() {
        chat.move(by: OwnedChat.successor(1, owner: 1, removed: [1]), chosen: [2])
        chat.lan.run(.seconds(2))
        #expect(chat.lan.counters(0).successorsSent == 1 && chat.linked(at: 0).isEmpty)
        #expect(chat.successors(at: 2).isEmpty)
    }

    @Test("M-88: a member follows 8 successors in a row, and each further one 10 s later")
    func flood() {
        let chat = OwnedChat(nodes: [0, 1])
        var former = OwnedChat.first
        var taken: [Instant] = []
        for number in 0..<11 {
            let successor = OwnedChat.successor(number)
            // A hostile owner restores departures that it never made.
            chat.depart(from: former.id, by: successor, chosen: [1])
            chat.lan.run(.ms(200))
            while chat.successors(at: 1).count <= number, chat.lan.now < .zero + .seconds(120) {
                chat.lan.run(.ms(100))
            }
            #expect(chat.successors(at: 1).last == successor)
            taken.append(chat.lan.now)
            let next = successor.keys(in: former)
            chat.join(0, next)
            chat.follow(1, from: former, by: successor)
            chat.list([0, 1], in: next.id)
            chat.lan.run(.ms(500))
            former = next
        }
        #expect(taken[7] - taken[0] < .seconds(10))
        #expect(taken[10] - taken[0] >= .seconds(29) && taken[10] - taken[0] < .seconds(32))
        #expect(zip(taken[8...], taken[9...]).allSatisfy { $1 - $0 > .ms(9_500) })
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

    @Test("M-89, M-90: a record that is no successor is acknowledged and passed over")
    func malformed() {
        let link = chat.lan.link(1, to: 0, in: OwnedChat.chat)
        #expect(link != nil)
        chat.lan.with(1) { endpoint, _ in
            guard let id = link?.id else { return }
            endpoint.receive(successor: Array(repeating: 0, count: 50), on: id, .zero)
            endpoint.receive(successor: [], on: id, .zero)
        }
        #expect(chat.successors(at: 1).isEmpty)
    }

    @Test("M-91: a removed key gets no link in the new chat, also when a member gave it the secret")
    func refused() {
        let chat = OwnedChat(nodes: [])
        let next = OwnedChat.successor(1, removed: [2])
        for node in [0, 1, 2] { chat.lan.start(node, chats: []) }
        let keys = next.keys(in: OwnedChat.first)
        for node in [0, 1] { chat.join(node, keys, refusing: [2]) }
        chat.join(2, keys)
        chat.list([0, 1, 2], in: keys.id)
        chat.lan.run(.seconds(5))
        #expect(chat.linked(at: 0, in: keys.id) == [World.key(1)])
        #expect(chat.linked(at: 1, in: keys.id) == [World.key(0)])
        #expect(chat.linked(at: 2, in: keys.id).isEmpty)
        #expect(chat.lan.counters(0).drops[.blocked] ?? 0 > 0)
        // The key is refused in that chat alone.
        for node in [0, 2] { chat.join(node, OwnedChat.keys(6)) }
        chat.list([0, 2], in: OwnedChat.keys(6).id)
        chat.lan.run(.seconds(2))
        #expect(chat.linked(at: 0, in: OwnedChat.keys(6).id) == [World.key(2)])
    }

    @Test("M-91: in a chat that the node is in already, removed keys lose their links")
    func refusedLater() {
        #expect(chat.present(at: 1) == [World.key(0), World.key(2)].sorted())
        chat.lan.with(1) { $0.refuse([World.key(2)], in: OwnedChat.chat, now: $1) }
        #expect(chat.linked(at: 1) == [World.key(0)] && chat.present(at: 1) == [World.key(0)])
        chat.list([1, 2])
        chat.lan.run(.seconds(70))
        #expect(chat.linked(at: 1) == [World.key(0)] && chat.linked(at: 2) == [World.key(0)])
    }

    @Test("M-89, M-91: members follow to a chat of another owner, and then that key alone moves the chat")
    func handOver() {
        let next = OwnedChat.successor(1, owner: 1)
        let keys = next.keys(in: OwnedChat.first)
        chat.move(by: next, chosen: [1, 2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 2) == [next])
        chat.join(0, keys, owner: 1)
        for node in [1, 2] { chat.follow(node, from: OwnedChat.first, by: next) }
        chat.list([0, 1, 2], in: keys.id)
        chat.lan.run(.seconds(2))
        #expect(chat.linked(at: 0).isEmpty && chat.present(at: 0, in: keys.id).count == 2)
        #expect(throws: MoveError.notOwner) {
            try chat.lan.nodes[0]?.endpoint.move(keys.id, by: OwnedChat.successor(2), chosen: [], now: chat.lan.now)
        }
        let last = OwnedChat.successor(2, owner: 1, removed: [0])
        chat.move(1, keys.id, by: last, chosen: [2])
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 2) == [next, last] && chat.successors(at: 0).isEmpty)
    }

    @Test("M-65: a node moves no chat that it is not in")
    func errors() {
        #expect(throws: MoveError.unknownChat) {
            try chat.lan.nodes[0]?.endpoint.move(
                OwnedChat.keys(5).id, by: OwnedChat.successor(1), chosen: [], now: chat.lan.now)
        }
    }
}

import InklingWire
import Testing

@testable import InklingCore

@Suite("Departed chats")
struct DepartureTests {
    private let chat = OwnedChat()

    @Test("M-65: chosen links get the successor and then a bye, others the bye alone, and everybody vanishes")
    func move() {
        #expect(chat.present(at: 0) == [World.key(1), World.key(2)].sorted())
        let start = chat.lan.now
        chat.move(by: OwnedChat.successor(1, removed: [2]), chosen: [1])
        #expect(chat.present(at: 0).isEmpty)
        #expect(chat.lan.presence(1, at: 0) == .offline && chat.lan.presence(2, at: 0) == .offline)
        chat.lan.run(.seconds(1))
        #expect(chat.successors(at: 1) == [OwnedChat.successor(1, removed: [2])])
        #expect(chat.successors(at: 2).isEmpty)
        #expect(chat.lan.presence(0, at: 1) == .offline && chat.lan.presence(0, at: 2) == .offline)
        #expect(chat.linked(at: 0).isEmpty)
        let byes = chat.lan.sent(by: 0, .bye, since: start)
        #expect(byes.filter { $0.to == World.address(3) }.first?.at == start)
        #expect(byes.filter { $0.to == World.address(2) }.first.map { $0.at > start } == true)
        #expect(chat.lan.sent(by: 0, .record, since: start).count == 1)
    }

    @Test("M-65: a lost successor is sent again by the timer alone")
    func repeats() {
        var records: [Instant] = []
        let start = chat.lan.now
        chat.lan.filter = { sent in
            if sent.node == 0, sent.kind == .record { records.append(sent.at) }
            return sent.node != 0 || sent.kind != .record || sent.at > start + .ms(1_500)
        }
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.run(.seconds(4))
        #expect(chat.successors(at: 1).count == 1)
        #expect(zip(records, records.dropFirst()).allSatisfy { $1 - $0 >= Limits.minimumTimerOnLink })
        #expect(records.count <= 5)
    }

    @Test("M-65: a message begun is finished before the successor, and waiting ones fail with left")
    func messages() {
        chat.lan.with(0) { _ = try? $0.send(String(repeating: "x", count: 20_000), to: OwnedChat.chat, now: $1) }
        chat.lan.with(0) { _ = try? $0.send("second", to: OwnedChat.chat, now: $1) }
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.run(.seconds(5))
        #expect(chat.lan.messages(at: 1).map(\.count) == [20_000])
        #expect(chat.successors(at: 1).count == 1)
        let outputs = chat.lan.outputs(0)
        #expect(outputs.contains(.delivered(message: 1, OwnedChat.chat, World.key(1))))
        #expect(outputs.contains(.failed(message: 2, OwnedChat.chat, World.key(1), .left)))
        #expect(outputs.contains(.failed(message: 1, OwnedChat.chat, World.key(2), .left)))
    }

    @Test("M-65: a chosen key that comes back gets the successor, and a restarted owner gives it too")
    func comesBack() {
        chat.lan.kill(2)
        chat.lan.run(.seconds(70))
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.lan.run(.seconds(300))
        chat.start(2)
        chat.lan.list(2, to: 0, name: "again", in: OwnedChat.chat)
        chat.lan.run(.seconds(2))
        #expect(chat.successors(at: 2).count == 1)
        chat.lan.kill(0)
        chat.lan.kill(1)
        chat.lan.run(.seconds(70))
        chat.start(0)
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.start(1)
        // Discovery still lists the owner's earlier instance, so the member opens first.
        chat.lan.list(0, to: 1, in: OwnedChat.chat)
        chat.lan.run(.seconds(2))
        #expect(chat.successors(at: 1).count == 1)
    }

    @Test("M-66: a run that acknowledged the successor gets no answer for 60 s")
    func served() {
        let chat = OwnedChat(nodes: [0])
        // The member believes in another owner. Its node passes the successor over and stays.
        chat.start(1, claiming: 3)
        chat.list([0, 1])
        chat.lan.run(.seconds(3))
        let start = chat.lan.now
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        func records() -> Int { chat.lan.sent(by: 0, .record, since: start).count }
        for number in 0..<20 {
            chat.lan.list(0, to: 1, name: "again \(number)", in: OwnedChat.chat)
            chat.lan.run(.seconds(2))
        }
        #expect(records() == 1)
        chat.lan.run(.seconds(60))
        chat.lan.list(0, to: 1, name: "later", in: OwnedChat.chat)
        chat.lan.run(.seconds(5))
        #expect(records() > 1 && chat.successors(at: 1).isEmpty)
    }

    @Test("M-65: after 30 s without an ack, and after a lost state, the successor is sent again")
    func stalled() {
        var acks = true
        chat.lan.filter = { $0.node != 1 || $0.kind != .ack || acks }
        acks = false
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.run(.seconds(31))
        #expect(chat.linked(at: 0) == [World.key(1)])
        acks = true
        chat.lan.run(.seconds(3))
        #expect(chat.linked(at: 0).isEmpty)
    }

    @Test("M-66: a departed chat sends no typing and no message, and shows nobody who comes later")
    func silent() {
        chat.lan.cuts = [[0, 1], [1, 0]]
        chat.lan.run(.seconds(4))
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        #expect(throws: CommandError.unknownChat) {
            try chat.lan.nodes[0]?.endpoint.send("x", to: OwnedChat.chat, now: chat.lan.now)
        }
        #expect(throws: CommandError.unknownChat) {
            try chat.lan.nodes[0]?.endpoint.startTyping(in: OwnedChat.chat, now: chat.lan.now)
        }
        let start = chat.lan.now
        chat.lan.cuts = []
        chat.lan.run(.seconds(10))
        #expect(chat.successors(at: 1).count == 1)
        let outputs = chat.lan.outputs(0, since: start + .ms(1))
        #expect(!outputs.contains { if case .presence = $0 { true } else { false } })
        #expect(!outputs.contains { if case .typing = $0 { true } else { false } })
    }

    @Test("M-66: a departed chat answers no ask, and no initiation of a key that is not chosen")
    func unanswered() {
        chat.move(by: OwnedChat.successor(1, removed: [2]), chosen: [1])
        chat.lan.run(.seconds(1))
        let start = chat.lan.now
        chat.start(3)
        chat.lan.with(3) { $0.addPeer(World.address(1), now: $1) }
        chat.lan.list(0, to: 3, in: OwnedChat.chat)
        chat.lan.list(2, to: 0, name: "removed", in: OwnedChat.chat)
        chat.lan.with(2) { $0.addPeer(World.address(1), now: $1) }
        chat.lan.run(.seconds(70))
        #expect(chat.lan.sent(by: 3, .ask).count > 1 && chat.lan.sent(by: 3, .initiation, since: start).count > 1)
        #expect(chat.lan.sent(by: 2, .initiation, since: start).count > 1)
        #expect(chat.lan.sent(by: 0, .tell).isEmpty)
        #expect(!chat.lan.sent(by: 0, since: start).contains { [World.address(3), World.address(4)].contains($0.to) })
    }

    @Test("M-67: a key that is neither chosen nor removed is reported once, and moves if the owner chooses it later")
    func newcomer() {
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        #expect(chat.newcomers(at: 0) == [World.key(2)])
        chat.lan.list(2, to: 0, name: "again", in: OwnedChat.chat)
        chat.lan.run(.seconds(2))
        #expect(chat.newcomers(at: 0) == [World.key(2)] && chat.successors(at: 2).isEmpty)
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.lan.run(.seconds(2))
        #expect(chat.newcomers(at: 0) == [World.key(2)])
        #expect(chat.successors(at: 2).count == 1 && chat.successors(at: 1).count == 1)
    }

    @Test("M-67: forged instances make 32 reports, and a verified key always makes one")
    func newcomers() {
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        var generator = Seeded(21)
        let keys = (0..<40).map { _ in KeyPair(using: &generator).publicKey }
        chat.lan.with(0) { endpoint, now in
            endpoint.setStandings([keys[39]: .verified], now: now)
            for (number, key) in keys.enumerated() {
                endpoint.found("\(number)", chat: OwnedChat.chat, key: key, addresses: [World.address(9)], now: now)
            }
        }
        #expect(chat.newcomers(at: 0) == Array(keys.prefix(32)) + [keys[39]])
        #expect(!chat.lan.sent(by: 0, .initiation).contains { $0.to == World.address(9) })
    }

    @Test("M-68: a later successor replaces the earlier one, and a key no longer chosen gets nothing")
    func inARow() {
        chat.lan.kill(2)
        chat.lan.run(.seconds(70))
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.move(by: OwnedChat.successor(2, removed: [2]), chosen: [1])
        chat.lan.run(.seconds(2))
        #expect(chat.successors(at: 1).last == OwnedChat.successor(2, removed: [2]))
        chat.start(2)
        chat.list([0, 2])
        chat.lan.run(.seconds(5))
        #expect(chat.successors(at: 2).isEmpty && !chat.linked(at: 0).contains(World.key(2)))
        #expect(throws: MoveError.oldSuccessor) {
            try chat.lan.nodes[0]?.endpoint.move(
                OwnedChat.chat, by: OwnedChat.successor(1), chosen: [], now: chat.lan.now)
        }
    }

    @Test("M-69: another device of the owner gets the successor, over a link that shows nobody")
    func ownDevice() {
        chat.start(5, identity: 0, at: World.address(9))
        chat.list([0, 1, 2, 5])
        chat.lan.run(.seconds(3))
        #expect(!chat.linked(at: 0).contains(World.key(0)) && !chat.linked(at: 5).contains(World.key(0)))
        chat.move(by: OwnedChat.successor(1), chosen: [0, 1, 2])
        chat.lan.run(.seconds(3))
        #expect(chat.successors(at: 5) == [OwnedChat.successor(1)])
        #expect(
            !chat.lan.outputs(5).contains {
                if case .presence(_, let person, _, _) = $0 { person.key == World.key(0) } else { false }
            })
    }

    @Test("M-69: a node's own initiation that comes back to it makes nothing")
    func reflection() throws {
        chat.start(5, identity: 0, at: World.address(9))
        chat.move(by: OwnedChat.successor(1), chosen: [0])
        chat.lan.run(.seconds(1))
        chat.lan.kill(5)
        chat.lan.list(1, to: 0, name: "own", in: OwnedChat.chat)
        chat.lan.with(0) {
            $0.found("own device", chat: OwnedChat.chat, key: World.key(0), addresses: [World.address(9)], now: $1)
        }
        chat.lan.run(.seconds(1))
        let own = try #require(chat.lan.sent(by: 0, .initiation).last { $0.to == World.address(9) })
        let start = chat.lan.now
        chat.lan.inject(own.bytes, from: World.address(9), to: 0)
        #expect(chat.lan.sent(by: 0, .response, since: start).isEmpty)
        #expect(chat.lan.counters(0).drops[.ownIdentity] == 1)
    }
}

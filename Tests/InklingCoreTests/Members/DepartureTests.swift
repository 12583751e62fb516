import InklingWire
import Testing

@testable import InklingCore

@Suite("Departed chats")
struct DepartureTests {
    private let chat = OwnedChat()

    @Test("M-92: a run that acknowledged the successor gets no answer for 60 s")
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

    @Test("M-95: a key that is neither chosen nor removed is reported once, and moves if the owner chooses it later")
    func newcomer() {
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        #expect(chat.newcomers(at: 0) == [World.key(2)])
        chat.lan.list(2, to: 0, name: "again", in: OwnedChat.chat)
        chat.lan.run(.seconds(2))
        #expect(chat.newcomers(at: 0) == [World.key(2)] && chat.successors(at: 2).isEmpty)
        chat.depart(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.lan.run(.seconds(2))
        #expect(chat.newcomers(at: 0) == [World.key(2)])
        #expect(chat.successors(at: 2).count == 1 && chat.successors(at: 1).count == 1)
    }

    @Test("M-95: strangers make 32 reports, and a key met or verified always makes one", arguments: [39, 0])
    func newcomers(_ known: Int) {
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        var generator = Seeded(21)
        let keys = (0..<41).map { _ in KeyPair(using: &generator).publicKey }
        chat.lan.with(0) { endpoint, now in
            endpoint.setStandings([keys[known]: .verified, keys[40]: .met], now: now)
            for (number, key) in keys.enumerated() {
                endpoint.found("\(number)", chat: OwnedChat.chat, key: key, addresses: [World.address(9)], now: now)
            }
        }
        let strangers = keys.indices.filter { $0 != known && $0 != 40 }.prefix(32)
        #expect(chat.newcomers(at: 0) == (strangers + [known, 40]).sorted().map { keys[$0] })
        #expect(!chat.lan.sent(by: 0, .initiation).contains { $0.to == World.address(9) })
    }

    @Test("M-88: an owner's chain moves 8 times in a row, and then once in 10 s; a restored departure costs nothing")
    func rate() {
        var keys = OwnedChat.first
        var refused: [Instant] = []
        func move(_ number: Int) {
            let successor = OwnedChat.successor(number)
            chat.lan.with(0) { endpoint, now in
                do throws(MoveError) {
                    let mayMove = endpoint.mayMove(keys.id, now: now)
                    #expect(mayMove || number >= 8)
                    try endpoint.move(keys.id, by: successor, chosen: [], now: now)
                    keys = successor.keys(in: keys)
                    try? endpoint.join(keys, isSecret: true, owner: World.key(0), now: now)
                } catch {
                    #expect(error == .tooOften)
                    refused.append(now)
                }
            }
        }
        for number in 0..<8 { move(number) }
        #expect(refused.isEmpty)
        move(8)
        chat.lan.run(.ms(9_900))
        move(8)
        #expect(refused.count == 2)
        chat.lan.run(.ms(200))
        move(8)
        move(9)
        #expect(refused.count == 3)
        chat.lan.run(.seconds(85))
        for number in 9..<17 { move(number) }
        move(17)
        #expect(refused.count == 4)
        // Another chat of the same owner moves all the same.
        chat.join(0, OwnedChat.keys(6))
        let isFree = chat.lan.nodes[0]?.endpoint.mayMove(OwnedChat.keys(6).id, now: chat.lan.now)
        #expect(isFree == true)
        chat.depart(by: OwnedChat.successor(0), chosen: [1])
        #expect(chat.lan.nodes[0]?.endpoint.mayMove(OwnedChat.keys(6).id, now: chat.lan.now) == true)
    }

    @Test("M-94: another device of the owner gets the successor, over a link that shows nobody")
    func ownDevice() {
        chat.start(5, identity: 0, at: World.address(9))
        chat.list([0, 1, 2, 5])
        chat.lan.run(.seconds(3))
        #expect(!chat.linked(at: 0).contains(World.key(0)) && !chat.linked(at: 5).contains(World.key(0)))
        chat.move(by: OwnedChat.successor(1), chosen: [1, 2])
        chat.lan.run(.seconds(3))
        #expect(chat.successors(at: 5) == [OwnedChat.successor(1)])
        #expect(
            !chat.lan.outputs(5).contains {
                if case .presence(_, let person, _, _) = $0 { person.key == World.key(0) } else { false }
            })
    }

    @Test("M-92: a text and an invite to a departed chat get no ack, and fail by the bye")
    func noTexts() {
        var givesSuccessor = false
        chat.lan.filter = { $0.node != 0 || $0.kind != .record || givesSuccessor }
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        chat.lan.with(1) { _ = try? $0.send("late", to: OwnedChat.chat, now: $1) }
        chat.lan.with(1) { _ = try? $0.invite(World.key(0), to: nil, in: OwnedChat.chat, now: $1) }
        chat.lan.with(1) { $0.rename("Later", now: $1) }
        chat.lan.run(.seconds(2))
        func outcomes() -> [FailureReason?] {
            chat.lan.outputs(1).compactMap {
                switch $0 {
                case .failed(_, _, let key, let reason) where key == World.key(0): reason
                case .delivered(_, _, let key) where key == World.key(0): .some(nil)
                default: nil
                }
            }
        }
        #expect(outcomes().isEmpty)
        givesSuccessor = true
        chat.lan.run(.seconds(2))
        #expect(outcomes() == [.bye, .bye] && chat.successors(at: 1) == [OwnedChat.successor(1)])
        #expect(chat.lan.messages(at: 0).isEmpty)
        #expect(!chat.lan.outputs(0).contains { if case .invite = $0 { true } else { false } })
    }

    @Test("T-29: when a chat moves, failed messages come first, then typing, then presence", arguments: [1, 2])
    func moveOrder(_ member: Int) {
        chat.lan.filter = { $0.kind != .ack }
        chat.lan.with(member) { try? $0.compose("x", in: OwnedChat.chat, now: $1) }
        chat.lan.run(.ms(10))
        // More than a window, so that the last message has not begun.
        for _ in 0..<8 { chat.lan.with(0) { _ = try? $0.send("lost", to: OwnedChat.chat, now: $1) } }
        let start = chat.lan.outputs(0).count
        chat.move(by: OwnedChat.successor(1), chosen: [1])
        var kinds: [String] = []
        for output in chat.lan.outputs(0).dropFirst(start) {
            switch output {
            case .failed(_, _, let key, _) where key == World.key(member): kinds.append("failed")
            case .typing: kinds.append("typing")
            case .presence(_, let person, _, _) where person.key == World.key(member): kinds.append("presence")
            default: continue
            }
        }
        #expect(kinds.first == "failed" && Array(kinds.suffix(2)) == ["typing", "presence"])
    }

    @Test("M-94: two devices of an owner that both moved a chat report the other's successor once, and follow neither")
    func split() {
        chat.start(5, identity: 0, at: World.address(9))
        chat.lan.cuts = [[0, 5], [5, 0]]
        chat.list([0, 1, 2, 5])
        chat.move(0, by: OwnedChat.successor(1), chosen: [1])
        chat.move(5, by: OwnedChat.successor(2), chosen: [2])
        chat.lan.run(.seconds(3))
        chat.lan.cuts = []
        chat.lan.run(.seconds(200))
        #expect(chat.others(at: 0) == [OwnedChat.chat] && chat.others(at: 5) == [OwnedChat.chat])
        #expect(chat.successors(at: 0).isEmpty && chat.successors(at: 5).isEmpty)
    }

    @Test("M-94: a node's own initiation that comes back to it makes nothing")
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

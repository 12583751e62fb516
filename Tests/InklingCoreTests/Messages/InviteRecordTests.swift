import InklingWire
import Testing

@testable import InklingCore

/// Invites as records, on their way between nodes.
@Suite("Invite records")
struct InviteRecordTests {
    /// Three nodes in one chat that see each other.
    private static func lan(loss: Int = 0) -> TestLAN {
        let lan = TestLAN()
        for id in 0..<3 { lan.start(id) }
        lan.listAll()
        lan.run(.seconds(5))
        lan.loss = loss
        return lan
    }

    private static func invite(owner: PublicKey? = nil) -> Invite {
        var generator = Seeded(11)
        guard let name = try? ChatName("team") else { preconditionFailure("a name") }
        return Invite(name: name, secret: ChatSecret(using: &generator), owner: owner)
    }

    private static func invites(at id: Int, _ lan: TestLAN) -> [Invite?] {
        lan.outputs(id).compactMap { if case .invite(_, _, let invite) = $0 { .some(invite) } else { nil } }
    }

    @Test("Invites and knocks reach one person, once and between the messages, at 30 % loss too (M-45)")
    func arrives() {
        let lan = Self.lan(loss: 30)
        let start = lan.now
        lan.say(0, "before")
        var number: UInt64?
        lan.with(0) { number = try? $0.invite(World.key(1), to: Self.invite(), in: World.chat, now: $1) }
        lan.with(0) { _ = try? $0.invite(World.key(1), to: nil, in: World.chat, now: $1) }
        lan.say(0, "after")
        lan.run(.seconds(20))
        let order = lan.outputs(1, since: start).compactMap { output in
            switch output {
            case .message(_, _, _, let text, _): text
            case .invite(_, let person, let invite): "\(person.name): \(invite?.text ?? "knock")"
            default: nil
            }
        }
        #expect(order == ["before", "Node 0: \(Self.invite().text)", "Node 0: knock", "after"])
        #expect(Self.invites(at: 2, lan).isEmpty)
        let outcomes = lan.outputs(0).filter { output in
            if case .delivered(let message, _, World.key(1)) = output { message == number } else { false }
        }
        #expect(outcomes.count == 1)
    }

    @Test("An invite to an absent person is refused; without an ack the invite fails as a message does (M-45, M-18)")
    func fails() {
        let lan = Self.lan()
        lan.with(0) { endpoint, now in
            #expect(throws: CommandError.unknownPerson) {
                try endpoint.invite(World.key(5), to: nil, in: World.chat, now: now)
            }
        }
        lan.cuts = [[0, 1]]
        var number: UInt64?
        lan.with(0) { number = try? $0.invite(World.key(1), to: Self.invite(), in: World.chat, now: $1) }
        lan.run(.seconds(90))
        let failures = lan.outputs(0).filter { output in
            if case .failed(let message, _, World.key(1), _) = output { message == number } else { false }
        }
        #expect(failures.count == 1)
    }

    @Test("Only the owner invites to a chat with an owner (M-46)")
    func owner() {
        let lan = Self.lan()
        for owner in [World.key(1), World.key(0)] {
            lan.with(0) { _ = try? $0.invite(World.key(1), to: Self.invite(owner: owner), in: World.chat, now: $1) }
        }
        lan.run(.seconds(1))
        #expect(Self.invites(at: 1, lan) == [Self.invite(owner: World.key(0))])
    }

    @Test("An invite that is not valid, or came before the name, is passed over and acknowledged (M-46)")
    func passedOver() {
        var receiver = RecordReceiver()
        receiver.comeUp(now: .zero)
        var number: UInt32 = 0
        func receive(_ type: RecordType, _ text: String) -> [RecordEvent] {
            defer { number += 1 }
            let record = Record(number: number, type: type, body: Array(text.utf8))
            return receiver.receive(record, now: .zero) { _ in true }
        }
        #expect(receive(.invite, "").isEmpty)
        #expect(receive(.invite, Self.invite().text).isEmpty)
        #expect(receive(.name, "Bob") == [.name("Bob")])
        for text in [" ", "kitchen", "inkling:team", "inkling:team#aaaa", Self.invite().text + " "] {
            #expect(receive(.invite, text).isEmpty, "\(text)")
        }
        #expect(receive(.invite, "") == [.invite(nil)])
        #expect(receive(.invite, Self.invite().text) == [.invite(Self.invite())])
        #expect(receive(.text, "text") == [.message("text")])
        #expect(receiver.ack == Ack(next: number, bitmap: 0))
    }
}

/// Chats of two keys.
@Suite("Talks")
struct TalkTests {
    @Test("In a talk only the two keys have a link, also if a third one has the secret (W-41, L-104)")
    func onlyTwo() throws {
        let secret = try #require(ChatSecret(talkOf: World.identities[0], with: World.key(1)))
        #expect(ChatSecret(talkOf: World.identities[1], with: World.key(0)) == secret)
        #expect(ChatSecret(talkOf: World.identities[2], with: World.key(1)) != secret)
        let talk = ChatKeys(secret: secret)
        let lan = TestLAN()
        for id in 0..<3 { lan.start(id, chats: []) }
        for (id, other) in [(0, 1), (1, 0)] {
            lan.with(id) { try? $0.join(talk, isSecret: true, talkWith: World.key(other), now: $1) }
        }
        lan.with(2) { try? $0.join(talk, isSecret: true, now: $1) }
        for id in 0..<3 { for other in 0..<3 where other != id { lan.list(other, to: id, in: talk.id) } }
        lan.run(.seconds(20))
        #expect(lan.link(0, to: 1, in: talk.id)?.isShown == true)
        #expect(lan.link(1, to: 0, in: talk.id)?.isShown == true)
        for id in 0..<2 { #expect(lan.links(id, to: 2, in: talk.id).isEmpty) }
        #expect(lan.links(2, to: 0, in: talk.id).isEmpty && lan.links(2, to: 1, in: talk.id).isEmpty)
        #expect(lan.sent(by: 0, .initiation).allSatisfy { $0.to == World.address(2) })
        // The same keys as any other chat admit the third one.
        lan.with(0) { endpoint, now in
            try? endpoint.leave(talk.id, now: now)
            try? endpoint.join(talk, isSecret: true, now: now)
        }
        lan.list(2, to: 0, in: talk.id)
        lan.run(.seconds(90))
        #expect(lan.link(0, to: 2, in: talk.id)?.isShown == true)
    }
}

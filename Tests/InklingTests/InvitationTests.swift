import Inkling
import InklingModel
import InklingWire
import Testing

@Suite("Invitations")
struct InvitationTests {
    private static let keys: [PublicKey] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<20).map { _ in KeyPair(using: &generator).publicKey }
    }()

    private static func chat(_ name: String) throws -> Chat {
        var generator = SystemRandomNumberGenerator()
        return try Chat(name, secret: Secret(using: &generator))
    }

    /// Adds an invitation, and returns the numbers of the invitation and of the one that it replaced.
    private static func add(
        _ invitations: inout Invitations, to chat: Chat, of key: PublicKey, isKnown: Bool
    ) -> (added: Int, replaced: Int?)? {
        invitations.add(to: chat, of: key, isKnown: isKnown) { number in
            Invitation(
                number: number, chat: "lobby", sender: Person(user: key.userID, name: "x"), key: key, isVerified: false,
                name: chat.name, owner: nil)
        }.map { ($0.added.number, $0.replaced?.number) }
    }

    @Test("ten invitations are open, three of strangers; a friend's replaces the oldest of a stranger (M-48)")
    func room() throws {
        var invitations = Invitations()
        let chats = try (0..<20).map { try Self.chat("chat \($0)") }
        for index in 0..<5 {
            let added = Self.add(&invitations, to: chats[index], of: Self.keys[index], isKnown: false)
            #expect((added != nil) == (index < 3))
        }
        for index in 5..<12 {
            let added = Self.add(&invitations, to: chats[index], of: Self.keys[index], isKnown: true)
            #expect(added != nil && added?.replaced == nil)
        }
        #expect(invitations.all.count == 10)
        for number in 1...3 {
            let added = Self.add(&invitations, to: chats[12 + number], of: Self.keys[12 + number], isKnown: true)
            #expect(added?.replaced == number)
        }
        #expect(Self.add(&invitations, to: chats[19], of: Self.keys[19], isKnown: true) == nil)
        #expect(Self.add(&invitations, to: chats[19], of: Self.keys[19], isKnown: false) == nil)
        #expect(invitations.all.map(\.number) == Array(4...13))
    }
}

/// The conformance cases of M-47 and prove the rules of invitations. These are the calls of a program.
@Suite("Invitations between nodes")
struct InvitationsBetweenNodesTests {
    private static func invitation(to node: Node) async -> Invitation? {
        for await timed in await node.events() {
            if case .notice(.invited(let invitation)) = timed.event { return invitation }
        }
        return nil
    }

    @Test("a program invites, accepts under another name, and talks; both who call end in one talk (W-41)")
    func calls() async throws {
        try await NodeTests.withPair { alice, bob in
            let team = try Chat("team", secret: .random())
            try await alice.join(team)
            #expect(try await alice.invite(bob.key, to: "team").via == "lobby")
            let invitation = try #require(await Self.invitation(to: bob))
            #expect(invitation.name == "team" && invitation.sender.user == alice.user && invitation.chat == "lobby")
            #expect(await bob.invitations == [invitation])
            await #expect(throws: NodeError.unknownInvitation(7)) { try await bob.accept(7) }
            let chat = try await bob.accept(invitation.number, name: "work")
            #expect(chat.chat.keys == team.keys && chat.name == "work")
            #expect(await bob.invitations.isEmpty)
            let talk = try await alice.talk(with: bob.key)
            #expect(talk.name == "@Bob" && talk.chat.partner == bob.key && talk.chat.invite == nil)
            let knock = try #require(await Self.invitation(to: bob))
            #expect(knock.name == nil && knock.key == alice.key)
            let other = try await bob.talk(with: alice.key)
            #expect(other.name == "@Alice" && other.chat.keys == talk.chat.keys)
        }
    }
}

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

    @Test("a repeated invitation changes nothing; each ends by its number, its chat or its sender (M-47)")
    func ends() throws {
        var invitations = Invitations()
        let (team, work) = (try Self.chat("team"), try Self.chat("work"))
        #expect(Self.add(&invitations, to: team, of: Self.keys[0], isKnown: true)?.added == 1)
        #expect(Self.add(&invitations, to: team, of: Self.keys[0], isKnown: true) == nil)
        #expect(Self.add(&invitations, to: team, of: Self.keys[1], isKnown: true)?.added == 2)
        #expect(Self.add(&invitations, to: work, of: Self.keys[0], isKnown: true)?.added == 3)
        #expect(invitations.chat(of: 3) == work)
        #expect(invitations.remove(to: team.keys.id) == [1, 2])
        #expect(Self.add(&invitations, to: team, of: Self.keys[0], isKnown: true)?.added == 4)
        #expect(invitations.remove(of: Self.keys[0].userID) == [3, 4])
        #expect(Self.add(&invitations, to: team, of: Self.keys[1], isKnown: true)?.added == 5)
        #expect(invitations.remove(5) && !invitations.remove(5))
        #expect(invitations.all.isEmpty)
    }
}

/// Invitations and talks between nodes of this process, on loopback.
@Suite("Invitations between nodes")
struct InvitationsBetweenNodesTests {
    private static func configuration(_ name: String, peers: [UInt16] = []) -> Configuration {
        var configuration = Configuration(name: name)
        configuration.isEphemeral = true
        configuration.discovery = false
        configuration.lastWill = false
        configuration.bindAddress = "127.0.0.1"
        configuration.peers = peers.map { "127.0.0.1:\($0)" }
        return configuration
    }

    /// Runs `body` with Alice and Bob, who see each other in the lobby.
    private static func withTwo(_ body: (_ alice: Node, _ bob: Node) async throws -> Void) async throws {
        let alice = try await Node.start(configuration("Alice"), logger: NodeTests.quiet)
        let bob = try await Node.start(configuration("Bob", peers: [alice.port]), logger: NodeTests.quiet)
        for node in [alice, bob] { try await node.join("lobby") }
        for (node, other) in [(alice, bob), (bob, alice)] {
            for await people in await node.presence(in: "lobby") {
                if people.contains(where: { $0.user == other.user && $0.presence == .online }) { break }
            }
        }
        do {
            try await body(alice, bob)
        } catch {
            Issue.record(error)
        }
        await alice.stop()
        await bob.stop()
    }

    private static func invitation(to node: Node) async -> Invitation? {
        for await timed in await node.events() {
            if case .notice(.invited(let invitation)) = timed.event { return invitation }
        }
        return nil
    }

    @Test("an invite joins nothing until its user accepts, perhaps under another name (M-47, A-41)")
    func invite() async throws {
        try await Self.withTwo { alice, bob in
            var generator = SystemRandomNumberGenerator()
            let team = try Chat("team", secret: Secret(using: &generator))
            await #expect(throws: NodeError.noInvite("lobby", .open)) { try await alice.invite(bob.key, to: "lobby") }
            try await alice.join(team)
            await #expect(throws: NodeError.unknownPeer(alice.key.description)) {
                try await alice.invite(alice.key, to: "team")
            }
            let (_, via) = try await alice.invite(bob.key, to: "team")
            #expect(via == "lobby")
            let invitation = try #require(await Self.invitation(to: bob))
            #expect(invitation.name == "team" && invitation.sender.user == alice.user && invitation.chat == "lobby")
            #expect(await bob.chats.map(\.name) == ["lobby"])
            #expect(await bob.invitations == [invitation])
            await #expect(throws: NodeError.unknownInvitation(7)) { try await bob.accept(7) }
            await #expect(throws: NodeError.chatExists("lobby")) {
                try await bob.accept(invitation.number, name: "lobby")
            }
            #expect(await bob.invitations == [invitation], "it stays after an error")
            let chat = try await bob.accept(invitation.number, name: "work")
            #expect(chat.chat.keys == team.keys && chat.name == "work")
            #expect(await bob.invitations.isEmpty)
            for await people in await alice.presence(in: "team") where people.contains(where: { $0.user == bob.user }) {
                break
            }
            await #expect(throws: NodeError.alreadyThere(bob.user, chat: "team")) {
                try await alice.invite(bob.key, to: "team")
            }
        }
    }

    @Test("only the owner invites to a chat with an owner; a block ends invitations")
    func owner() async throws {
        try await Self.withTwo { alice, bob in
            var generator = SystemRandomNumberGenerator()
            let secret = Secret(using: &generator)
            try await alice.join(Chat("theirs", secret: secret, owner: bob.key))
            await #expect(throws: NodeError.noInvite("theirs", .owner)) {
                try await alice.invite(bob.key, to: "theirs")
            }
            try await alice.join(Chat("mine", secret: secret, owner: alice.key))
            _ = try await alice.invite(bob.key, to: "mine")
            let invitation = try #require(await Self.invitation(to: bob))
            #expect(invitation.owner == alice.key)
            await bob.block(alice.user)
            #expect(await bob.invitations.isEmpty)
        }
    }

    @Test("two who call each other end in one talk, and nobody can be invited there (W-41, A-39)")
    func talk() async throws {
        try await Self.withTwo { alice, bob in
            let talk = try await alice.talk(with: bob.key)
            #expect(talk.name == "@Bob" && talk.chat.partner == bob.key && talk.chat.invite == nil)
            let knock = try #require(await Self.invitation(to: bob))
            #expect(knock.name == nil && knock.key == alice.key)
            await #expect(throws: NodeError.noInvite("@Bob", .talk)) { try await alice.invite(bob.key, to: "@Bob") }
            let other = try await bob.talk(with: alice.key)
            #expect(other.name == "@Alice" && other.chat.keys == talk.chat.keys)
            #expect(await bob.invitations.isEmpty, "the talk has been joined")
            for await people in await alice.presence(in: "@Bob") where people.contains(where: { $0.user == bob.user }) {
                break
            }
            await #expect(throws: NodeError.unknownPeer(alice.key.description)) {
                try await alice.talk(with: alice.key)
            }
        }
    }
}

import Foundation
import InklingModel
import InklingWire
import ProcessSupport
import Testing

@testable import Inkling

/// Moves of a chat between nodes of this process, on loopback.
@Suite("Moves between nodes", .serialized, .timeLimit(.minutes(3)))
struct NodeMoveTests {
    /// A person whose node can start again with the same identity and port.
    private final class Someone {
        let name: String
        let folder: TemporaryFolder
        var port: UInt16 = 0
        private(set) var node: Node
        private(set) var events: NodeEvents
        /// The clocks of the machine; nil for those of the real one.
        private let clocks: Clocks?

        init(_ name: String, peers: [Someone] = [], clocks: Clocks? = nil) async throws {
            self.name = name
            self.clocks = clocks
            folder = try TemporaryFolder()
            node = try await Self.start(name, folder, 0, peers, clocks)
            events = await node.events()
            port = node.port
        }

        var key: PublicKey { node.key }

        func stop() async { await node.stop() }

        func restart(peers: [Someone] = []) async throws {
            node = try await Self.start(name, folder, port, peers, clocks)
            events = await node.events()
        }

        private static func start(
            _ name: String, _ folder: TemporaryFolder, _ port: UInt16, _ peers: [Someone], _ clocks: Clocks?
        ) async throws -> Node {
            var configuration = Configuration(name: name)
            configuration.stateDirectory = folder.path
            configuration.discovery = false
            configuration.lastWill = false
            configuration.bindAddress = "127.0.0.1"
            configuration.port = port
            configuration.peers = peers.map { "127.0.0.1:\($0.port)" }
            if let clocks { configuration.clocks = { clocks.reading } }
            return try await Node.start(configuration, logger: NodeTests.quiet)
        }

        /// Waits until others are online in a chat.
        func sees(_ others: Someone..., in chat: String = "team") async {
            for await people in await node.presence(in: chat) {
                let online = people.filter { $0.presence == .online }.map(\.key)
                if Set(online) == Set(others.map(\.key)) { return }
            }
        }

        /// Returns the next notice that fits.
        func notice<Value>(_ fits: (Notice) -> Value?) async -> Value? {
            for await timed in events {
                if case .notice(let notice) = timed.event, let value = fits(notice) { return value }
            }
            return nil
        }

        /// Returns the chat of the next move.
        func moved() async -> Chat? {
            await notice { if case .moved(let chat) = $0 { chat } else { nil } }
        }
    }

    /// Returns whether a file of the state has a chat's secret, in removed rows too.
    private static func isOnDisk(_ chat: Chat, in folder: TemporaryFolder) throws -> Bool {
        let secret = Data(try #require(chat.secret).text.utf8)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).contains {
            guard $0.hasPrefix("state.") else { return false }
            return try Data(contentsOf: URL(filePath: "\(folder.path)/\($0)")).range(of: secret) != nil
        }
    }

    private static func team(of owner: Someone) throws -> Chat {
        try Chat("team", secret: .random(), owner: owner.key)
    }

    /// Runs `body` with three members of a chat of Alice's. Alice has the addresses of the others, who have each other's.
    private static func withThree(
        _ body: (_ alice: Someone, _ bob: Someone, _ carol: Someone, _ team: Chat) async throws -> Void
    ) async throws {
        let bob = try await Someone("Bob")
        let carol = try await Someone("Carol", peers: [bob])
        let alice = try await Someone("Alice", peers: [bob, carol])
        let team = try team(of: alice)
        for person in [alice, bob, carol] { try await person.node.join(team) }
        await alice.sees(bob, carol)
        await bob.sees(alice, carol)
        await carol.sees(alice, bob)
        do {
            try await body(alice, bob, carol, team)
        } catch {
            Issue.record(error)
        }
        for person in [alice, bob, carol] { await person.stop() }
    }

    //
    @Test("those chosen follow under the same name, and a removed member stays alone")
    func remove() async throws {
        try await Self.withThree { alice, bob, carol, team in
            let chat = try await alice.node.move("team", choosing: [carol.key], removing: [bob.key])
            #expect(chat.name == "team" && chat.owner == alice.key && chat.secret != team.secret)
            #expect(await alice.moved() == chat)
            #expect(await carol.moved() == chat)
            await alice.sees(carol)
            await carol.sees(alice)
            await bob.sees()
            for person in [alice, carol] { #expect(await person.node.chats == [chat]) }
            #expect(await bob.node.chats == [team])
            for person in [alice, carol] {
                await #expect(throws: NodeError.chatExists("team")) { try await person.node.join(team) }
                await #expect(throws: NodeError.chatExists("old")) { try await person.node.join(team.named("old")) }
            }
            await #expect(throws: NodeError.notOwner("team")) { try await carol.node.move("team", choosing: []) }
            await #expect(throws: NodeError.removed(bob.node.user, chat: "team")) {
                try await alice.node.admit(bob.key, to: "team")
            }
            //
            await #expect(throws: NodeError.removed(bob.node.user, chat: "team")) {
                try await alice.node.invite(bob.key, to: "team")
            }
            await #expect(throws: NodeError.notOwner("team")) { try await bob.node.move("team", choosing: []) }
            let (_, recipients) = try await carol.node.send("here", to: "team")
            #expect(recipients == 1)
            // Even with the new secret, Bob's key opens nothing there (M-91).
            try await bob.node.leave("team")
            try await bob.node.join(chat)
            try await Task.sleep(for: .seconds(1))
            await alice.sees(carol)
            await carol.sees(alice)
            _ = try await alice.node.move("team", choosing: [bob.key, carol.key])
            await #expect(throws: NodeError.unknownPeer(bob.key.description), "the chat refuses Bob no longer") {
                try await alice.node.invite(bob.key, to: "team")
            }
        }
    }

    //
    @Test("those who moved are known in the new chat before they show there, and a removed member is not")
    func known() async throws {
        try await Self.withThree { alice, bob, carol, _ in
            let next = try await alice.node.move("team", choosing: [carol.key], removing: [bob.key])
            let stored = StateContents(in: alice.folder.path)
            #expect(stored.moves.departures.count == 1, "both are written in one act")
            #expect(stored.people[carol.key]?.chats[next.storedName] != nil)
            #expect(stored.people[bob.key]?.chats[next.storedName] == nil)
            _ = await carol.moved()
            for (person, other) in [(alice, carol), (carol, alice)] {
                #expect(await person.node.peer(bob.node.user, in: "team") == nil)
                #expect(await person.node.peer(other.node.user, in: "team")?.name == other.name)
            }
            await carol.stop()
            await alice.sees()
            let chat = try #require(await alice.node.chats.first)
            await alice.stop()
            try await alice.restart()
            try await alice.node.join(chat)
            #expect(await alice.node.peer(carol.node.user, in: "team")?.presence == .offline)
            #expect(await alice.node.peer(bob.node.user, in: "team") == nil)
        }
    }

    //
    @Test("a member who was away follows later, also after the owner's restart; the old invite means the new chat then")
    func away() async throws {
        try await Self.withThree { alice, bob, carol, team in
            await carol.stop()
            await alice.sees(bob)
            let chat = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(await bob.moved() == chat)
            await alice.stop()
            try await alice.restart(peers: [bob, carol])
            #expect(await alice.node.present(team) == chat)
            #expect(await alice.node.departedChats == [team.keys.id])
            #expect(try await alice.node.join(team).chat == chat)
            try await carol.restart(peers: [bob])
            try await carol.node.join(team)
            #expect(await carol.moved() == chat)
            await carol.sees(alice, bob)
            await carol.stop()
            #expect(try Self.isOnDisk(chat, in: carol.folder))
            try await carol.restart(peers: [bob])
            #expect(try await carol.node.join(team.named("old")).chat == chat.named("old"))
            // The user leaves the new chat, and the node forgets its secret.
            try await carol.node.leave("old")
            await #expect(throws: NodeError.chatMoved("team")) { try await carol.node.join(team) }
            await carol.stop()
            #expect(try !Self.isOnDisk(chat, in: carol.folder))
            #expect(StateContents(in: alice.folder.path).moves.present(team) == chat)
            // A new invite brings the user back, and then the old one does too.
            try await carol.restart(peers: [bob])
            await #expect(throws: NodeError.chatMoved("team")) { try await carol.node.join(team) }
            try await carol.node.join(chat)
            await carol.sees(alice, bob)
            await carol.stop()
            try await carol.restart(peers: [bob])
            #expect(try await carol.node.join(team).chat == chat)
        }
    }

    // M-65, R52
    @Test("a departure ends after 30 days that passed, over restarts with a wrong clock, and without its count")
    func departureEnds() async throws {
        let clocks = Clocks()
        let alice = try await Someone("Alice", clocks: clocks)
        try await alice.node.join(try Self.team(of: alice))
        clocks.pass(.seconds(40 * 86_400))
        _ = try await alice.node.move("team", choosing: [])
        await alice.stop()
        clocks.reboot(ahead: 6 * 365 * 86_400)
        clocks.pass(.seconds(30 * 86_400 - 100))
        try await alice.restart()
        #expect(await alice.node.departedChats.count == 1)
        await alice.stop()
        // Without the count, the departure ends no earlier, and at most 30 days later.
        var state = StateContents(in: alice.folder.path)
        #expect(state.age != nil && state.moves.departures.count == 1)
        state.age = nil
        state.write(in: alice.folder.path)
        try await alice.restart()
        #expect(await alice.node.departedChats.count == 1)
        await alice.stop()
        clocks.pass(.seconds(30 * 86_400))
        try await alice.restart()
        #expect(await alice.node.departedChats.isEmpty)
        await alice.stop()
    }

    // M-88, A-42
    @Test("of 20 quick moves the user makes eight, the others are refused, and nobody present is stranded")
    func tooOften() async throws {
        try await Self.withThree { alice, bob, carol, team in
            // Members without discovery ask the owner by the address that their users named.
            for person in [bob, carol] {
                await person.stop()
                try await person.restart(peers: [alice, bob])
                try await person.node.join(team)
            }
            await alice.sees(bob, carol)
            await bob.sees(alice, carol)
            await carol.sees(alice, bob)
            var newest = team
            for index in 0..<20 {
                do throws(NodeError) {
                    newest = try await alice.node.move("team", choosing: [bob.key, carol.key])
                    #expect(index < 8)
                } catch {
                    #expect(error == .movedTooOften("team") && index >= 8)
                }
            }
            for person in [alice, bob, carol] {
                // Of the notices that nobody has read, the last one alone is kept.
                while let chat = await person.moved(), chat != newest {}
                #expect(await person.node.chats == [newest])
            }
            await alice.sees(bob, carol)
            #expect(await alice.node.departedChats.count == 8)
        }
    }

    // M-91, A-68
    @Test("a member who is in the new chat already stays there, and then refuses the removed keys for good")
    func inBoth() async throws {
        try await Self.withThree { alice, bob, carol, team in
            await carol.stop()
            await alice.sees(bob)
            let chat = try await alice.node.move("team", choosing: [carol.key], removing: [bob.key])
            await bob.stop()
            try await bob.restart()
            try await bob.node.join(chat)
            let named = try chat.named("b")
            try await carol.restart(peers: [bob])
            // The invite says nothing of the removed keys.
            try await carol.node.join(named)
            await carol.sees(alice, bob, in: "b")
            try await carol.node.join(team)
            #expect(await carol.moved() == chat)
            await carol.sees(alice, in: "b")
            #expect(await carol.node.chats == [named, team])
            await #expect(throws: NodeError.chatMoved("team")) { try await carol.node.send("lost", to: "team") }
            let (_, recipients) = try await carol.node.send("here", to: "b")
            #expect(recipients == 1)
            try await carol.node.leave("team")
            await carol.stop()
            try await carol.restart(peers: [bob])
            #expect(try await carol.node.join(team.named("b")).chat == named)
            await carol.sees(alice, in: "b")
            try await Task.sleep(for: .seconds(1))
            await carol.sees(alice, in: "b")
        }
    }

    // M-91
    @Test("a member who comes from an earlier chat to one that moved goes on to the newest, or nowhere if they left it")
    func earlierChat() async throws {
        try await Self.withThree { alice, bob, carol, team in
            await carol.stop()
            await alice.sees(bob)
            let second = try await alice.node.move("team", choosing: [bob.key, carol.key])
            try await carol.restart(peers: [bob])
            try await carol.node.join(second.named("b"))
            await carol.sees(alice, bob, in: "b")
            let third = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(try await carol.moved() == third.named("b"))
            await carol.stop()
            try await carol.restart(peers: [bob])
            try await carol.node.join(team)
            #expect(await carol.moved() == third)
            #expect(await carol.node.chats == [third])
            await carol.sees(alice, bob)
            try await carol.node.leave("team")
            for invite in [team, second] {
                await #expect(throws: NodeError.chatMoved("team")) { try await carol.node.join(invite) }
            }
        }
    }

    // W-42, M-90
    @Test("the owner of one chat who hands it to the owner of another changes nothing there")
    func foreign() async throws {
        try await Self.withThree { alice, bob, carol, team in
            let club = try Chat("club", secret: .random(), owner: carol.key)
            for person in [alice, carol] { try await person.node.join(club) }
            await alice.sees(carol, in: "club")
            _ = try await carol.node.move("club", choosing: [alice.key], removing: [bob.key], owner: alice.key)
            let moved = await alice.moved()
            #expect(moved?.name == "club" && moved?.owner == alice.key)
            #expect(await alice.node.chats.first == team)
            await alice.sees(bob, carol)
            await bob.sees(alice, carol)
        }
    }

    /// Puts a member's disk under the control of a test.
    private static func disk(under bob: Someone, _ alice: Someone, _ carol: Someone, _ team: Chat) async throws
        -> FaultyDisk
    {
        await bob.stop()
        let disk = FaultyDisk(under: bob.folder.path)
        try await bob.restart()
        try await bob.node.join(team)
        await bob.sees(alice, carol)
        return disk
    }

    //
    @Test("a member who stops while the disk writes a move is in the new chat at the next start")
    func stopsDuringMove() async throws {
        try await Self.withThree { alice, bob, carol, team in
            let disk = try await Self.disk(under: bob, alice, carol, team)
            #expect(await bob.node.keeps(KeptChats([team])) == nil)
            disk.set { $0.holdsFlushes = true }
            let next = try await alice.node.move("team", choosing: [bob.key, carol.key])
            while await !bob.node.isWritingMove { try await Task.sleep(for: .milliseconds(5)) }
            let node = bob.node
            async let stopped: Void = node.stop()
            while await !bob.node.isStopped { try await Task.sleep(for: .milliseconds(5)) }
            disk.set { $0.holdsFlushes = false }
            await stopped
            #expect(StateContents(in: bob.folder.path).chats.chats == [next])
            try await bob.restart()
            #expect(await bob.node.present(team) == next)
            #expect(await bob.node.logID(of: next) == team.logID)
        }
    }

    //
    @Test("a move that found no room on the disk is there with the next chat kept, or at the end")
    func writesMoveLater() async throws {
        try await Self.withThree { alice, bob, carol, team in
            let disk = try await Self.disk(under: bob, alice, carol, team)
            disk.set { $0.isFull = true }
            let second = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(await bob.moved() == second)
            disk.set { $0.isFull = false }
            #expect(await bob.node.keeps(KeptChats([second])) == nil)
            #expect(StateContents(in: bob.folder.path).moves.present(team) == second)
            disk.set { $0.isFull = true }
            let third = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(await bob.moved() == third)
            disk.set { $0.isFull = false }
            await bob.stop()
            #expect(StateContents(in: bob.folder.path).moves.present(team) == third)
        }
    }

    //
    @Test("damaged moves cost no start and no move; an unusable state stops the owner alone")
    func damagedFiles() async throws {
        try await Self.withThree { alice, bob, carol, team in
            let second = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(await carol.moved() == second)
            await alice.stop()
            await carol.stop()
            for person in [alice, carol] {
                try Database("\(person.folder.path)/state.db", StateTables.schema).run(
                    "UPDATE records SET sum = x'00' WHERE kind = ?", .integer(StateTables.Kind.chain.rawValue))
                try FileManager.default.removeItem(atPath: "\(person.folder.path)/state.copy.db")
            }
            try await alice.restart(peers: [bob, carol])
            let code = await alice.notice { if case .other(let code, _) = $0 { code } else { nil } }
            #expect(code == "state-damaged")
            #expect(await alice.node.present(team) == team, "the chain is lost")
            try await alice.node.join(second)
            await alice.sees(bob)
            try await carol.restart(peers: [bob])
            try await carol.node.join(second)
            await alice.sees(bob, carol)
            let third = try await alice.node.move("team", choosing: [bob.key, carol.key])
            #expect(await carol.moved() == third)
            await alice.stop()
            try KnownPeersTests.makeNewer(alice.folder)
            try await alice.restart(peers: [bob, carol])
            try await alice.node.join(third)
            let error = await #expect(throws: NodeError.self) { try await alice.node.move("team", choosing: [bob.key]) }
            guard case .notKept = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(await alice.node.chats == [third])
        }
    }
}

extension Node {
    fileprivate var isWritingMove: Bool { moving.write != nil }

    fileprivate func keeps(_ chats: KeptChats) async -> String? {
        await withCheckedContinuation { continuation in
            keep(chats, leaving: nil) { continuation.resume(returning: $0) }
        }
    }
}

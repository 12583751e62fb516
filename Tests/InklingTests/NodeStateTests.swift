import Glibc
import InklingCore
import InklingModel
import InklingWire
import NIOCore
import ProcessSupport
import Testing

@testable import Inkling

/// The chats that a node keeps for its service, and those that the user leaves.
@Suite("Kept and left chats", .serialized, .timeLimit(.minutes(2)))
struct NodeStateTests: FileStage {
    private let folder: TemporaryFolder
    private let team: Chat
    private let next: Chat

    init() throws {
        folder = try TemporaryFolder("state")
        let owner = try SomeText.key(9)
        team = try Chat("team", secret: Secret("ccccccccccccccccccccccccca"), owner: owner)
        next = try Chat("team", secret: Secret("ddddddddddddddddddddddddda"), owner: owner)
    }

    /// A state whose team has moved to the next chat.
    private func moved() throws -> StateContents {
        var contents = StateContents()
        let place = Moves.Place(
            fingerprint: next.keys.fingerprint, owner: try SomeText.key(9), removed: [], secret: next.secret?.wire)
        contents.moves = Moves([
            Moves.Chain(
                id: Moves.Chain.newID(), turn: 1, left: [team.keys.fingerprint], place: place, log: team.logID,
                ownLog: nil, departures: [])
        ])
        return contents
    }

    private var found: StateContents { StateContents(in: folder.path) }

    private func start() async throws -> TextNode { try await TextNode("Alice", in: folder.path, chat: Chat("open")) }

    private func keep(_ chats: [Chat], leaving left: Chat? = nil, _ node: TextNode) async throws {
        let done = node.loop.makePromise(of: String?.self)
        try await node.run { $0.keep(KeptChats(chats), leaving: left) { done.succeed($0) } }
        #expect(try await done.futureResult.get() == nil)
    }

    /// Calls back when all changes are on disk.
    private func written(_ node: TextNode) async throws {
        let done = node.loop.makePromise(of: Void.self)
        try await node.run { node in node.node.onLoop { $0.afterState { done.succeed() } } }
        try await done.futureResult.get()
    }

    //
    @Test("a private chat is kept with its name, in one write; an open one without")
    func names() async throws {
        let node = try await start()
        try await keep([team, Chat("garden")], node)
        #expect(found.chats.chats.count == 2 && found.names.privateNames == ["team"] && found.names.openNames.isEmpty)
        #expect(try await node.run { $0.chatNames.privateNames } == ["team"])
        try await node.stop()
    }

    //
    @Test("of 257 names of open chats the disk has the latest 256")
    func manyNames() async throws {
        var contents = StateContents()
        for number in 1...ChatNames.openLimit { contents.names.add("garden \(number)", isOpen: true) }
        contents.write(in: folder.path)
        let node = try await start()
        try await node.run { node in node.remember(try Chat("garden 257")) { _ in } }
        try await written(node)
        let key = StateTables.Key(.openName, Array("garden 1".utf8))
        let rows = try Database("\(folder.path)/state.db", StateTables.schema, isReadOnly: true).integer(
            "SELECT count(*) FROM records WHERE kind = ? AND id = ?", .integer(key.kind.rawValue), .bytes(key.id))
        #expect(rows == 0 && found.names.openNames.count == 256 && found.names.openNames.last == "garden 257")
        try await node.stop()
    }

    //
    @Test("a leave that was cut short drops the secret at the next start, and the logs stay listed until they ended")
    func leaves() async throws {
        var contents = try moved()
        contents.chats = KeptChats([next])
        contents.write(in: folder.path)
        var node = try await start()
        #expect(try await node.run { $0.kept.chats } == [next])
        try await keep([], leaving: next, node)
        #expect(found.chats.chats.isEmpty && found.ending == [team.logID])
        try await node.stop()
        node = try await start()
        let present = try await node.run { [team] in $0.present(team) }
        #expect(try await node.run { $0.endingLogs } == [team.logID] && present == nil)
        try await written(node)
        #expect(found.moves.chains.first?.place.secret == nil && found.ending == [team.logID])
        // The history is still there.
        try await node.run { [team] node in
            node.setHasHistory { $0 == team.logID }
            node.finishLeaving(team)
        }
        try await written(node)
        #expect(found.ending == [team.logID])
        try await node.run { [team] node in
            node.setHasHistory { _ in false }
            node.finishLeaving(team)
        }
        try await written(node)
        #expect(found.ending.isEmpty)
        try await node.stop()
    }

    //
    @Test("a chat in which the node stays after a leave keeps its logs")
    func stays() async throws {
        let node = try await start()
        try await node.run { [team] node in
            node.setHasHistory { $0 == team.logID }
            _ = try node.node.onLoop { node in Result { () throws(NodeError) in try node.join(team) } }.get()
        }
        try await keep([], leaving: team, node)
        #expect(found.ending == [team.logID])
        try await node.run { [team] in $0.finishLeaving(team) }
        try await written(node)
        #expect(found.ending.isEmpty)
        try await node.stop()
    }

    @Test("a chat that the user left and keeps again does not end, even after a kill between")
    func comesBack() async throws {
        var node = try await start()
        try await keep([], leaving: team, node)
        #expect(found.ending == [team.logID])
        try await keep([team], node)
        #expect(found.ending.isEmpty && found.chats.chats == [team])
        try await node.stop()
        var contents = found
        contents.ending = [team.logID]
        contents.write(in: folder.path)
        node = try await start()
        #expect(try await node.run { $0.endingLogs }.isEmpty)
        try await node.stop()
    }

    //
    @Test("of two kept chats that became one, that stays which was kept as the chat it is")
    func becameOne() async throws {
        let club = try Chat("club", secret: next.secret ?? .random(), owner: next.owner)
        var contents = try moved()
        contents.chats = KeptChats([team, club])
        contents.write(in: folder.path)
        let node = try await start()
        #expect(try await node.run { $0.kept.chats } == [club])
        try await node.stop()
    }

    //
    @Test("a move takes its own kept chat along, and no other one of that name")
    func takesAlong() throws {
        var contents = StateContents()
        contents.chats = KeptChats([team], holds: ["team": false])
        contents.write(in: folder.path)
        let other = try Chat("team", secret: .random())
        for (former, expected) in [(other, team), (team, next)] {
            let tables = StateTables(in: folder.path, isHeld: true)
            let job = StateTables.Job { [next] tables throws(Database.Failure) in
                try tables.replace(former, by: next)
            }
            #expect(tables.run([job]) == [nil])
            #expect(found.chats == KeptChats([expected], holds: ["team": false]))
        }
    }

    //
    @Test("a left chat stays listed while texts of it are on disk")
    func leavesTexts() async throws {
        let stage = try await TextStage(in: folder)
        try await stage.append([SomeText.waiting(1)], to: TextLogID(digits: team.logID))
        try await stage.end()
        let node = try await start()
        try await keep([], leaving: team, node)
        try await node.run { [team] in $0.finishLeaving(team) }
        try await written(node)
        #expect(found.ending == [team.logID])
        try await node.stop()
    }

    // R40
    @Test("the first write of the age renews the copy, and so does each day")
    func renewsDaily() async throws {
        let copy = "\(folder.path)/\(StateTables.copyName)"
        let node = try await start()
        try await written(node)
        for count in 0...48 {
            unlink(copy)
            try await node.run { node in node.node.onLoop { $0.keepAge(after: count) } }
            try await written(node)
            #expect((access(copy, F_OK) == 0) == [0, 24, 48].contains(count), "\(count)")
        }
        try await node.stop()
    }

    // R23, R52
    @Test("after damage, the node writes the people whom the copy lacks, and the age is no lower than theirs")
    func damageLater() async throws {
        var contents = StateContents()
        var random = SystemRandomNumberGenerator()
        let (alice, bob, days) = (try SomeText.key(1), try SomeText.key(2), Age.zero + .seconds(100 * 86_400))
        _ = contents.people.met(
            alice, name: "Carol", chat: "0123456789abcdef", at: MeetingTime(wall: 10, age: days), using: &random)
        contents.write(in: folder.path)
        let node = try await start()
        #expect(try await node.run { node in node.node.onLoop { $0.age() } } >= days)
        try await written(node)
        let saved = node.loop.makePromise(of: Void.self)
        try await node.run { node in
            node.node.onLoop { node in
                var random = SystemRandomNumberGenerator()
                _ = node.knownPeers.met(
                    bob, name: "Bob", chat: "0123456789abcdef", at: MeetingTime(wall: 20, age: days), using: &random)
                node.saveKnownPeers { saved.succeed() }
            }
        }
        try await saved.futureResult.get()
        #expect(found.people.count == 2)
        let path = "\(folder.path)/\(StateTables.fileName)"
        var content = bytes(path)
        for place in content.indices where place >= 4_096 || 24..<28 ~= place { content[place] ^= 0xAA }
        put(content, at: path)
        try await keep([team], node)
        #expect(access("\(folder.path)/\(StateTables.damagedName)", F_OK) == 0 && found.people.count == 1)
        try await node.stop()
        #expect(found.people.count == 2 && found.chats.chats == [team])
    }
}

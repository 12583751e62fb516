import Glibc
import InklingCore
import InklingModel
import InklingWire
import ProcessSupport
import Testing

@testable import Inkling

/// The files of builds before `state.db`, which are read once.
@Suite("State of earlier builds", .timeLimit(.minutes(5)))
struct EarlierStateTests: FileStage {
    private static let stub = "{\"version\":1000}\n"
    private static let names = ["age.json", "chat-names.json", "kept-chats.json", "known-peers.json", "moves.json"]

    private static func people(_ version: Int) throws -> String {
        let (alice, bob) = (try SomeText.key(1), try SomeText.key(2))
        func person(_ key: PublicKey, _ name: String, _ verified: Bool, _ blocked: Bool) -> String {
            let decisions =
                version == 1
                ? "\"verified\":\(verified),\"blocked\":\(blocked),\"decided\":5"
                : "\"verified\":{\"is\":\(verified),\"number\":3},\"blocked\":{\"is\":\(blocked),\"number\":4},\"days\":2,"
                    + "\"dayBegan\":6,\"togetherMilliseconds\":700"
            return "{\"key\":\"\(key.base64url)\",\"user\":\"\(key.userID)\",\"names\":[\"\(name)\"],"
                + "\"named\":{\"\(name.lowercased())\":10},\"firstSeen\":10,\"lastSeen\":20,"
                + "\"chats\":{\"0123456789abcdef\":20},\(decisions)}"
        }
        return "{\"version\":\(version),\"peers\":[\(person(alice, "Alice", true, false)),"
            + "\(person(bob, "Bob", false, true))]}"
    }

    private static let secret = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

    private static func chats() throws -> String {
        let owner = try SomeText.key(9)
        return
            "{\"version\":1,\"chats\":[{\"chat\":\"team\",\"secret\":\"\(secret)\",\"owner\":\"\(owner)\",\"hold\":false},"
            + "{\"chat\":\"kitchen\"}]}"
    }

    private static let chatNames = #"{"version":1,"private":["club"],"open":["garden"]}"#

    private static func moves() throws -> Moves {
        let owner = try SomeText.key(9)
        let club = try Chat("club", secret: Secret("ccccccccccccccccccccccccca"), owner: owner)
        let seed = try #require(SuccessorSeed([UInt8](repeating: 3, count: Limits.secretSize)))
        var moves = Moves()
        moves.depart(
            from: club, for: Successor(seed: seed, owner: owner, removed: []), choosing: [owner],
            until: Age.zero + .seconds(2_592_000))
        return moves
    }

    private static let age = AgeCounter(
        age: Age.zero + .seconds(77), boot: "b", sinceBoot: 5, anchor: nil, hasGap: false)

    private func fill(_ folder: TemporaryFolder, version: Int = 2, without missing: String = "") throws -> Moves {
        let moves = try Self.moves()
        mkdir("\(folder.path)/moves", 0o700)
        for chain in moves.chains { put(chain.encoded(), at: "\(folder.path)/moves/\(chain.id).json") }
        let files = [
            "known-peers.json": try Self.people(version), "kept-chats.json": try Self.chats(),
            "chat-names.json": Self.chatNames, "age.json": String(decoding: Self.age.encoded(), as: UTF8.self),
        ]
        for (name, text) in files where name != missing { try folder.write(text, to: name) }
        return moves
    }

    private func expect(_ found: StateContents, _ moves: Moves, _ what: String = "") throws {
        let (alice, bob) = (try SomeText.key(1), try SomeText.key(2))
        #expect(found.people.count == 2, "\(what)")
        #expect(found.people[alice]?.isVerified == true && found.people[bob]?.isBlocked == true, "\(what)")
        #expect(found.people[alice]?.names == ["Alice"] && found.people[alice]?.lastSeen == 20, "\(what)")
        #expect(
            found.chats.chats.map(\.name) == ["team", "kitchen"] && found.chats.holds == ["team": false], "\(what)")
        #expect(found.chats.chats.first?.secret?.text == Self.secret, "\(what)")
        #expect(Set(found.names.privateNames) == ["club", "team"] && found.names.openNames == ["garden"], "\(what)")
        #expect(found.moves == moves && found.age == Self.age, "\(what)")
    }

    // R23, A-19, A-33, A-45
    @Test("the files of 0.1, 0.2 and 0.3 are read once, and refuse an earlier program afterwards", arguments: [1, 2])
    func reads(_ version: Int) throws {
        let folder = try TemporaryFolder("state")
        let moves = try fill(folder, version: version)
        let people = try Self.people(version)
        try expect(StateTables(in: folder.path, isHeld: false).contents, moves, "a look")
        #expect(folder.text("known-peers.json") == people, "a look changes nothing")
        let tables = StateTables(in: folder.path, isHeld: true)
        try expect(tables.contents, moves)
        #expect(tables.takeFaults().isEmpty && tables.namesFault == nil)
        for name in Self.names where name != "moves.json" { #expect(folder.text(name) == Self.stub, "\(name)") }
        let chains = paths(in: "\(folder.path)/moves")
        #expect(chains.count == 1 && bytes(chains.first ?? "") == Array(Self.stub.utf8))
        let again = StateTables(in: folder.path, isHeld: true)
        try expect(again.contents, moves, "again")
        #expect(again.takeFaults().isEmpty)
    }

    @Test("no death of the disk during the import loses anything")
    func dyingDisk() throws {
        var deaths = 0
        for last in 0... {
            let folder = try TemporaryFolder("state")
            let moves = try fill(folder)
            let disk = FaultyDisk(under: folder.path)
            disk.set { $0.lastChange = last }
            let tables = StateTables(in: folder.path, isHeld: true)
            let isDead = disk.isDead
            disk.set { $0.lastChange = nil }
            // A disk without writes can still be read.
            try expect(tables.contents, moves, "\(last), dead")
            let again = StateTables(in: folder.path, isHeld: true)
            try expect(again.contents, moves, "\(last)")
            #expect(again.refusal == nil && again.takeFaults().isEmpty, "\(last)")
            guard isDead else { break }
            deaths += 1
        }
        #expect(deaths > 8)
    }

    @Test("a kill while the files are replaced brings back nothing that changed since, and the next start goes on")
    func replaces() throws {
        for count in 0...4 {
            let folder = try TemporaryFolder("state")
            let moves = try fill(folder)
            let tables = StateTables(in: folder.path, isHeld: true)
            let mark = StateTables.Key(mark: .replacesEarlier)
            #expect(
                tables.run([
                    StateTables.Job { tables throws(Database.Failure) in
                        try tables.put(mark, [1])
                        try tables.remove(StateTables.Key(.chat, Array("kitchen".utf8)))
                    }
                ]) == [nil])
            // Some files are not replaced yet.
            let other = try TemporaryFolder("state")
            _ = try fill(other)
            for name in Self.names.filter({ other.text($0) != nil }).prefix(count) {
                try folder.write(try #require(other.text(name)), to: name)
            }
            let again = StateTables(in: folder.path, isHeld: true)
            #expect(again.contents.chats.chats.map(\.name) == ["team"] && again.contents.moves == moves)
            for name in Self.names where name != "moves.json" { #expect(folder.text(name) == Self.stub, "\(name)") }
            #expect(again.takeFaults().isEmpty)
        }
    }

    // A-33
    @Test("a damaged file is set aside and told, and the others are read", arguments: Array(names.dropFirst()))
    func damaged(_ name: String) throws {
        let folder = try TemporaryFolder("state")
        let moves = try fill(folder)
        try folder.write("{\"version\":1", to: name)
        let tables = StateTables(in: folder.path, isHeld: true)
        let aside = "\(name.dropLast(5)).damaged.json"
        #expect(tables.takeFaults() == [.earlier(path: "\(folder.path)/\(aside)")])
        #expect(folder.text(aside) == "{\"version\":1" && folder.text(name) == Self.stub)
        #expect(tables.contents.chats.chats.isEmpty == (name == "kept-chats.json"))
        #expect((tables.contents.people.count == 0) == (name == "known-peers.json"))
        #expect(tables.contents.moves == moves)
        // A bare name could be that of a private chat.
        let lacksNames = ["kept-chats.json", "chat-names.json"].contains(name)
        for isHeld in [true, false] {
            #expect((StateTables(in: folder.path, isHeld: isHeld).namesFault != nil) == lacksNames)
        }
    }

    @Test("a file that can't be read now stops the import, and nothing changes")
    func unreadable() throws {
        let folder = try TemporaryFolder("state")
        let moves = try fill(folder)
        let (chats, people) = ("\(folder.path)/kept-chats.json", try Self.people(2))
        rename(chats, "\(folder.path)/elsewhere")
        symlink("elsewhere", chats)
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.refusal?.contains("kept-chats.json") == true && tables.namesFault != nil)
        #expect(tables.takeFaults().map(\.code) == ["state-unusable"])
        #expect(folder.text(StateTables.fileName) == nil && folder.text("known-peers.json") == people)
        unlink(chats)
        rename("\(folder.path)/elsewhere", chats)
        try expect(StateTables(in: folder.path, isHeld: true).contents, moves)
    }

    // R40
    @Test("if the database is gone after the import, the user is told, and names count as lost")
    func gone() throws {
        let folder = try TemporaryFolder("state")
        _ = try fill(folder)
        _ = StateTables(in: folder.path, isHeld: true)
        for path in paths(in: folder.path) where path.contains("state.") { unlink(path) }
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.takeFaults() == [.missing(path: "\(folder.path)/\(StateTables.fileName)")])
        #expect(tables.namesFault != nil && StateTables(in: folder.path, isHeld: true).namesFault != nil)
    }

    @Test("files that come back after the import change nothing, and each start names them")
    func putBack() throws {
        let folder = try TemporaryFolder("state")
        let moves = try fill(folder)
        let chain = "moves/\(String(repeating: "1", count: 32)).json"
        let backup = try #require(folder.text("kept-chats.json"))
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.takeFaults().isEmpty)
        let leave = StateTables.Job { t throws(Database.Failure) in
            try t.remove(StateTables.Key(.chat, Array("kitchen".utf8)))
        }
        #expect(tables.run([leave]) == [nil])
        try folder.write(backup, to: "kept-chats.json")
        try folder.write("{}", to: chain)
        for isTold in [true, true, false] {
            if !isTold { for name in ["kept-chats.json", chain] { unlink("\(folder.path)/\(name)") } }
            let again = StateTables(in: folder.path, isHeld: true)
            let fault = StateFault.putBack(["kept-chats.json", chain], directory: folder.path)
            #expect(again.takeFaults() == (isTold ? [fault] : []))
            #expect(again.contents.chats.chats.map(\.name) == ["team"] && again.contents.moves == moves)
        }
    }
}

import Foundation
import InklingModel
import InklingWire
import ProcessSupport
import Testing

@testable import Inkling

/// The memory of moves, and its records.
@Suite("Moves")
struct MovesTests {
    private static let keys: [PublicKey] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<50).map { _ in KeyPair(using: &generator).publicKey }
    }()
    private static let me = keys[0]

    private static func chat(_ name: String = "team", owner: PublicKey = me) throws -> Chat {
        try Chat(name, secret: .random(), owner: owner)
    }

    private static func successor(owner: PublicKey = me, removed: [PublicKey] = []) -> Successor {
        var generator = SystemRandomNumberGenerator()
        return Successor(seed: SuccessorSeed(using: &generator), owner: owner, removed: removed)
    }

    private static func chat(of successor: Successor, after former: Chat) throws -> Chat {
        try Chat(former.name, secret: Secret(wire: successor.secret(in: former.keys)), owner: successor.owner)
    }

    /// Follows the owner of a chat, and returns the new chat.
    @discardableResult
    private static func follow(
        _ moves: inout Moves, from chat: Chat, owner: PublicKey = me, removed: [PublicKey] = [], ownLog: String? = nil
    ) throws -> Chat {
        let successor = successor(owner: owner, removed: removed)
        moves.follow(successor, from: chat, ownLog: ownLog)
        return try Self.chat(of: successor, after: chat)
    }

    /// Departs from a chat, and returns the new chat.
    @discardableResult
    private static func depart(
        _ moves: inout Moves, from chat: Chat, choosing chosen: Set<PublicKey> = [me], removed: [PublicKey] = [],
        until: Int64 = 100
    ) throws -> Chat {
        let successor = successor(removed: removed)
        moves.depart(from: chat, for: successor, choosing: chosen, until: try #require(Age(milliseconds: until)))
        return try Self.chat(of: successor, after: chat)
    }

    @Test("a chat that the node left leads to the newest one of its chain, with its removed keys (M-91)")
    func chain() throws {
        var moves = Moves()
        let first = try Self.chat()
        #expect(!moves.hasLeft(first) && moves.present(first) == first && moves.logID(of: first) == first.logID)
        let middle = try Self.follow(&moves, from: first, removed: [Self.keys[5]])
        #expect(moves.hasLeft(first) && !moves.hasLeft(middle) && moves.present(first) == middle)
        #expect(moves.place(of: middle)?.removed == [Self.keys[5]])
        let last = try Self.follow(&moves, from: middle, removed: [Self.keys[6]])
        #expect(moves.hasLeft(first) && moves.hasLeft(middle) && !moves.hasLeft(last))
        #expect(moves.present(first) == last && moves.present(middle) == last && moves.present(last) == last)
        #expect(moves.place(of: last)?.removed == [Self.keys[6]] && moves.place(of: middle) == nil)
        #expect([middle, last].allSatisfy { moves.logID(of: $0) == first.logID }, "one history for the whole chain")
        #expect(moves.present(try last.named("other"))?.name == "other")
        #expect(moves.chains.count == 1)
        let stranger = try Self.chat()
        #expect(moves.present(stranger) == stranger && moves.place(of: stranger) == nil)
    }

    @Test("after the user left, the node forgets the secret, and knows it again once the user is back (A-45)")
    func leaving() throws {
        var moves = Moves()
        let first = try Self.chat()
        let last = try Self.follow(&moves, from: first, removed: [Self.keys[5]])
        let isOld = moves.leave(first)
        #expect(!isOld, "not the chat that the node is in")
        let (isFirst, isSecond) = (moves.leave(last), moves.leave(last))
        #expect(isFirst && !isSecond)
        #expect(moves.hasLeft(first) && moves.present(first) == nil && moves.present(last) == last)
        #expect(moves.place(of: last)?.removed == [Self.keys[5]], "the removed keys hold for a later invite too")
        let text = String(decoding: moves.chains[0].encoded(), as: UTF8.self)
        #expect(!text.contains(last.secret?.text ?? ""))
        let (isBack, isAgain) = (moves.enter(last), moves.enter(last))
        #expect(isBack && !isAgain && moves.present(first) == last)
    }

    @Test("each departed chat keeps its successor and loses the keys that a later move does not choose (M-93)")
    func departures() throws {
        var moves = Moves()
        let first = try Self.chat()
        let all: Set = [Self.me, Self.keys[1], Self.keys[2]]
        let middle = try Self.depart(&moves, from: first, choosing: all, removed: [Self.keys[5]], until: 100)
        #expect(moves.hasLeft(first) && moves.departures.count == 1)
        let others: Set = [Self.me, Self.keys[1], Self.keys[7]]
        let last = try Self.depart(
            &moves, from: middle, choosing: others, removed: [Self.keys[5], Self.keys[2]], until: 200)
        let (early, late) = (moves.departures[0], moves.departures[1])
        #expect(try Self.chat(of: early.successor, after: first) == middle)
        #expect(try Self.chat(of: late.successor, after: middle) == last)
        #expect(early.chosen == [Self.me, Self.keys[1]].sorted() && late.chosen == others.sorted())
        #expect([early, late].map(\.until.milliseconds) == [100, 200], "each ends after its own 30 days")
        #expect([early, late].map(\.refused) == [[], [Self.keys[5]]])
        #expect(moves.departures(to: last).count == 2 && moves.departures(to: middle).isEmpty)
        #expect([2, 5].allSatisfy { moves.removes(Self.keys[$0], onTheWayTo: last) })
        #expect([1, 7, 9].allSatisfy { !moves.removes(Self.keys[$0], onTheWayTo: last) })
        moves.admit(Self.keys[9], to: last)
        moves.admit(Self.keys[9], to: last)
        #expect(moves.departures.map(\.chosen) == [early, late].map { ($0.chosen + [Self.keys[9]]).sorted() })
        #expect(moves.nextEnd?.milliseconds == 100)
        let ends = try [99, 100].map { moves.endDepartures(at: try #require(Age(milliseconds: $0))) }
        #expect(ends == [false, true])
        #expect(moves.departures.map(\.until.milliseconds) == [200] && moves.hasLeft(first))
        let oldest = [moves.endOldestDeparture(), moves.endOldestDeparture()]
        #expect(oldest == [true, false] && moves.nextEnd == nil)
    }

    @Test("a chain keeps eight departures, and the chain with most of them makes room for others (A-42)")
    func mostDepartures() throws {
        var moves = Moves()
        let other = try Self.chat("other")
        try Self.depart(&moves, from: other, until: -1)
        var newest = try Self.chat()
        for index in 0..<10 { newest = try Self.depart(&moves, from: newest, until: Int64(index)) }
        #expect(moves.departures(to: newest).map(\.until.milliseconds) == (2..<10).map(Int64.init))
        #expect(moves.departures.count == 9 && moves.chains.count == 2)
        for _ in 0..<7 { _ = moves.endOldestDeparture(keeping: 1) }
        #expect(moves.departures.map(\.until.milliseconds) == [-1, 9])
        // Both have one. The departure of the last move stays.
        _ = moves.endOldestDeparture(keeping: 1)
        #expect(moves.departures.map(\.until.milliseconds) == [9])
        let isEnded = moves.endOldestDeparture(keeping: 1)
        #expect(!isEnded)
    }

    @Test("the successor refuses those removed before and now, but no chosen key, and at most 32 (M-89)")
    func removed() throws {
        var moves = Moves()
        let first = try Self.chat()
        let early = Array(Self.keys[10..<40])
        #expect(moves.removed(from: first, adding: early, choosing: [Self.me]) == early)
        let next = try Self.follow(&moves, from: first, removed: early)
        let now = Array(Self.keys[40..<45])
        #expect(
            moves.removed(from: next, adding: now, choosing: [Self.me]) == Array((early + now).suffix(32)))
        #expect(
            moves.removed(from: next, adding: [Self.me, early[0]], choosing: [Self.me, early[1]])
                == Array(early[2...]) + [early[0]])
    }

    @Test("an owner's 1,100 moves cost no other chat its chain, and write a few KiB each (A-45)")
    func floodOfMoves() throws {
        let folder = try TemporaryFolder()
        var moves = Moves()
        var others: [(Chat, Chat)] = []
        for index in 0..<5 {
            let chat = try Self.chat("chat \(index)")
            others.append((chat, try Self.follow(&moves, from: chat)))
        }
        Self.write(moves, in: folder)
        let tables = StateTables(in: folder.path, isHeld: true)
        let removed = Array(Self.keys[10..<42])
        var newest = try Self.chat("hostile", owner: Self.keys[1])
        var chain: [Chat] = []
        for number in 0..<1_100 {
            let before = moves.records
            chain.append(newest)
            newest = try Self.follow(&moves, from: newest, owner: Self.keys[1], removed: removed)
            let changed = moves.records.filter { before[$0.key] != $0.value }
            #expect(changed.count == 1 && changed.values.allSatisfy { $0.count < 8_192 })
            guard number % 100 == 99 else { continue }
            let rows = try tables.database.integer("SELECT total_changes()")
            let records = moves.records
            let job = StateTables.Job(isDecision: false) { tables throws(Database.Failure) in
                try tables.replace(.chain, by: records)
            }
            #expect(tables.run([job]) == [nil])
            // The chain, and the number of the transaction.
            #expect(try tables.database.integer("SELECT total_changes()") == rows + 2)
        }
        let found = StateContents(in: folder.path).moves
        #expect(found == moves && found.chains.count == 6)
        for (former, now) in others { #expect(found.present(former) == now) }
        #expect(chain.suffix(64).allSatisfy { moves.present($0) == newest })
        #expect(!moves.hasLeft(chain[1_100 - 65]))
    }

    private static func write(_ moves: Moves, in folder: TemporaryFolder) {
        var state = StateContents()
        state.moves = moves
        state.write(in: folder.path)
    }

    @Test("of over 1,024 chains whose newest chat the user left the oldest is forgotten, and no other chain")
    func mostChains() throws {
        var moves = Moves()
        let chats = try (0..<1_030).map { try Self.chat("chat \($0)") }
        for (index, chat) in chats.enumerated() {
            let next = try Self.follow(&moves, from: chat)
            if index >= 5 { _ = moves.leave(next) }
        }
        #expect(moves.chains.count == 1_029 && !moves.hasLeft(chats[5]))
        #expect((chats.prefix(5) + chats.suffix(1_024)).allSatisfy { moves.hasLeft($0) })
    }

    @Test("a chain that leads to a chat with a history of its own ends there, and keeps both apart (A-68)")
    func ownHistory() throws {
        var moves = Moves()
        let first = try Self.chat("old")
        let successor = Self.successor(removed: [Self.keys[5]])
        let joined = try Self.chat(of: successor, after: first).named("new")
        moves.follow(successor, from: first, ownLog: joined.logID)
        #expect(moves.logID(of: joined) == joined.logID && moves.logID(of: first) == first.logID)
        #expect(moves.place(of: joined)?.removed == [Self.keys[5]])
        let last = try Self.follow(&moves, from: joined)
        #expect(moves.logID(of: last) == joined.logID && moves.logID(of: first) == first.logID)
        #expect(moves.present(first) == (try last.named("old")) && moves.present(joined) == last)
        _ = moves.leave(last)
        #expect(moves.present(first) == nil && moves.hasLeft(first))
        let texts = moves.chains.map { String(decoding: $0.encoded(), as: UTF8.self) }
        #expect(texts.allSatisfy { !$0.contains("\"secret\"") }, "no secret of a chat that the node left")
    }

    @Test("an earlier chat that leads into a chain leads to its newest chat, and shares its departures")
    func lateBeginning() throws {
        var moves = Moves()
        let first = try Self.chat()
        let successor = Self.successor()
        let second = try Self.chat(of: successor, after: first)
        let third = try Self.depart(&moves, from: second)
        moves.follow(successor, from: first)
        #expect(moves.present(first) == third && moves.present(second) == third && moves.chains.count == 2)
        let fourth = try Self.depart(&moves, from: third)
        #expect(moves.present(first) == fourth && moves.departures(to: fourth).count == 2)
    }

    // MARK: On disk

    private static func example() throws -> Moves {
        var moves = Moves()
        let first = try Self.chat("küche")
        let second = try Self.depart(
            &moves, from: first, choosing: [Self.me, Self.keys[1]], removed: [Self.keys[5]], until: 1_800_000_000_500)
        try Self.follow(&moves, from: second, owner: Self.keys[1], ownLog: second.logID)
        let other = try Self.follow(&moves, from: try Self.chat("other"))
        _ = moves.leave(other)
        return moves
    }

    @Test("all moves are read as they were written")
    func files() throws {
        let folder = try TemporaryFolder()
        var moves = try Self.example()
        Self.write(moves, in: folder)
        #expect(StateContents(in: folder.path).moves == moves)
        _ = moves.endDepartures(at: try #require(Age(milliseconds: 2_000_000_000_000)))
        Self.write(moves, in: folder)
        #expect(StateContents(in: folder.path).moves == moves)
    }

    @Test("without a copy, a damaged record costs its own chain, and the user reads that", arguments: [false, true])
    func damagedRecord(_ hasCopy: Bool) throws {
        let folder = try TemporaryFolder()
        var moves = Moves()
        let chats = try (0..<3).map { try Self.chat("chat \($0)") }
        for chat in chats { try Self.follow(&moves, from: chat) }
        Self.write(moves, in: folder)
        let path = "\(folder.path)/\(StateTables.fileName)"
        try Database(path, StateTables.schema).run(
            "UPDATE records SET content = x'7B7D' WHERE kind = ? AND id = ?",
            .integer(StateTables.Kind.chain.rawValue), .bytes(moves.chains[1].key))
        let copy = "\(folder.path)/\(StateTables.copyName)"
        if !hasCopy { try FileManager.default.removeItem(atPath: copy) }
        let tables = StateTables(in: folder.path, isHeld: true)
        let aside = "\(folder.path)/\(StateTables.damagedName)"
        #expect(tables.takeFaults() == [.damaged(path: path, aside: aside, copy: hasCopy ? copy : nil)])
        var later = tables.contents.moves
        #expect(chats.map { later.hasLeft($0) } == [true, hasCopy, true] && tables.refusal == nil)
        if hasCopy { #expect(later == moves) } else { try Self.follow(&later, from: chats[1]) }
        Self.write(later, in: folder)
        #expect(StateContents(in: folder.path).moves == later)
    }

    @Test("a chain's record is refused whole if it is damaged or a later version's")
    func damage() throws {
        let chain = try #require(try Self.example().chains.first)
        let text = String(decoding: chain.encoded(), as: UTF8.self)
        #expect(try Moves.Chain(Array(text.utf8), id: chain.id) == chain)
        let me = Self.me.description
        let changes: [(String, String)] = [
            ("\"version\":1", "\"version\":0"), ("\"version\":1", "\"vision\":1"), ("\"left\":[", "\"left\":[3,"),
            (me, String(me.dropLast())), (me, String(repeating: "A", count: 43)),
            ("\"turn\":", "\"turn\":-"), ("\"turn\":", "\"turn\":99999999999999999"),
            ("\"until\":1800000000500", "\"until\":0.5"), ("\"until\":1800000000500", "\"until\":1e300"),
            ("\"name\":\"küche\"", "\"name\":\"\""), ("\"log\":\"", "\"log\":\"../"),
            ("\"ownLog\":\"", "\"ownLog\":\"../"), ("\"left\":[\"", "\"left\":[\"A"), ("\"seed\":\"", "\"seed\":\"A"),
            ("\"removed\":[\"", "\"removed\":[\"\(me)\",\""),
        ]
        for (from, to) in changes {
            let changed = text.replacing(from, with: to, maxReplacements: from.hasPrefix("\"removed") ? 2 : 1)
            #expect(changed != text, "\(from)")
            #expect(throws: Moves.Chain.Fault.damaged, "\(to)") {
                try Moves.Chain(Array(changed.utf8), id: chain.id)
            }
        }
        for end in [0, 1, text.utf8.count / 2, text.utf8.count - 2] {
            #expect(throws: Moves.Chain.Fault.damaged) {
                try Moves.Chain(Array(text.utf8.prefix(end)), id: chain.id)
            }
        }
        let newer = text.replacing("\"version\":1", with: "\"version\":2")
        #expect(throws: Moves.Chain.Fault.newer) { try Moves.Chain(Array(newer.utf8), id: chain.id) }
        let more = text.replacing("\"left\":[", with: "\"left\":[" + String(repeating: "\"A\",", count: 64))
        #expect(throws: Moves.Chain.Fault.damaged) { try Moves.Chain(Array(more.utf8), id: chain.id) }
    }

    // MARK: The files of earlier builds

    @Test("a folder of chains is taken over once; a damaged one costs itself alone, is told, and stays beside")
    func earlierFolder() throws {
        let folder = try TemporaryFolder()
        let moves = try Self.example()
        mkdir("\(folder.path)/moves", 0o700)
        for chain in moves.chains {
            try folder.write(String(decoding: chain.encoded(), as: UTF8.self), to: "moves/\(chain.id).json")
        }
        // The rest of a killed write and foreign files change nothing.
        try folder.write("{", to: "moves/\(moves.chains[0].id).new")
        try folder.write("{", to: "moves/notes.json")
        let name = "moves/\(String(repeating: "a", count: 32))"
        try folder.write("{\"version\":1}", to: "\(name).json")
        #expect(StateContents(in: folder.path).moves == moves)
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.contents.moves == moves)
        #expect(tables.takeFaults() == [.earlier(path: "\(folder.path)/\(name).damaged.json")])
        #expect(folder.text("\(name).damaged.json") == "{\"version\":1}")
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/moves")
        let stub = String(repeating: "0", count: 32)
        #expect(files.filter { $0.count == 37 } == ["\(stub).json"])
        #expect(throws: Moves.Chain.Fault.newer, "an earlier program leaves it alone") {
            try Moves.Chain(Array((folder.text("moves/\(stub).json") ?? "").utf8), id: stub)
        }
        let again = StateTables(in: folder.path, isHeld: true)
        #expect(again.contents.moves == moves && again.takeFaults().isEmpty)
    }

    @Test("a folder that can't be read is told, and nothing is written")
    func unusableFolder() throws {
        let folder = try TemporaryFolder()
        try folder.write("x", to: "moves")
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.refusal?.contains("\(folder.path)/moves") == true && tables.takeFaults().count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["moves"])
        #expect(folder.text("moves") == "x")
    }

    @Test("a moves.json of an earlier build is read as far as it fits, once")
    func earlierFile() throws {
        let folder = try TemporaryFolder()
        let chats = try (0..<4).map { try Self.chat("chat \($0)") }
        func mark(_ chat: Chat) -> String { TextEncoding.base64url.encode(chat.keys.fingerprint.bytes) }
        func move(_ former: Chat, _ next: Chat) -> String {
            """
            {"chat":{"fingerprint":"\(mark(next))","generation":2,"owner":"\(Self.me)","removed":["\(Self.keys[5])"],\
            "secret":"\(next.secret?.text ?? "")"},"former":"\(mark(former))","log":"\(chats[0].logID)"}
            """
        }
        let departure = #"{"name":"x","secret":"y","generation":0}"#
        let text = """
            {"departures":[\(departure)],"moves":[\(move(chats[0], chats[2])),7,\(move(chats[1], chats[2])),\
            {"former":"?"}],"version":1}
            """
        try folder.write(text, to: "moves.json")
        let tables = StateTables(in: folder.path, isHeld: true)
        let moves = tables.contents.moves
        #expect(tables.takeFaults().isEmpty && moves.departures.isEmpty)
        for chat in chats.prefix(2) { #expect(moves.present(chat) == (try chats[2].named(chat.name))) }
        #expect(moves.place(of: chats[2])?.removed == [Self.keys[5]] && !moves.hasLeft(chats[3]))
        #expect(folder.text("moves.json") == "{\"version\":1000}\n")
        #expect(StateTables(in: folder.path, isHeld: true).contents.moves == moves)
        // A kill came between the writes of the chains and the removal of the one file.
        let both = try TemporaryFolder()
        mkdir("\(both.path)/moves", 0o700)
        for chain in moves.chains {
            try both.write(String(decoding: chain.encoded(), as: UTF8.self), to: "moves/\(chain.id).json")
        }
        try both.write(text, to: "moves.json")
        #expect(StateTables(in: both.path, isHeld: true).contents.moves == moves)
        for damaged in ["", "{}", "[1", "{\"moves\":7}"] {
            let other = try TemporaryFolder()
            try other.write(damaged, to: "moves.json")
            let opened = StateTables(in: other.path, isHeld: true)
            #expect(opened.contents.moves == Moves() && opened.refusal == nil, "\(damaged)")
            let aside = "\(other.path)/moves.damaged.json"
            #expect(opened.takeFaults() == [.earlier(path: aside)] && other.text("moves.damaged.json") == damaged)
        }
    }
}

import Foundation
import Inkling
import InklingModel
import InklingWire
import ProcessSupport
import Testing

/// The memory of moves, and its file.
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

    private static func chat(of successor: Successor, in former: Chat) throws -> Chat {
        try Chat(former.name, secret: Secret(wire: successor.secret(in: former.keys)), owner: successor.owner)
    }

    @Test("a chat that the node left leads to the newest one, through all moves (M-91)")
    func chain() throws {
        var moves = Moves()
        let first = try Self.chat()
        let (second, third) = (Self.successor(removed: [Self.keys[5]]), Self.successor(removed: [Self.keys[6]]))
        #expect(!moves.hasLeft(first) && moves.present(first) == first && moves.logID(of: first) == first.logID)
        moves.follow(second, from: first)
        let middle = try Self.chat(of: second, in: first)
        #expect(moves.hasLeft(first) && !moves.hasLeft(middle) && moves.present(first) == middle)
        #expect(moves.place(of: middle)?.removed == [Self.keys[5]])
        moves.follow(third, from: middle)
        let last = try Self.chat(of: third, in: middle)
        #expect(moves.hasLeft(first) && moves.hasLeft(middle) && !moves.hasLeft(last))
        #expect(moves.present(first) == last && moves.present(middle) == last && moves.present(last) == last)
        #expect(moves.place(of: last)?.removed == [Self.keys[6]] && moves.place(of: middle) == nil)
        #expect([middle, last].allSatisfy { moves.logID(of: $0) == first.logID }, "one history for the whole chain")
        #expect(moves.present(try last.named("other"))?.name == "other")
        let stranger = try Self.chat()
        #expect(moves.present(stranger) == stranger && moves.place(of: stranger) == nil)
    }

    @Test("after the user left, the node forgets the secret and still knows the chats that led there (A-45)")
    func leaving() throws {
        var moves = Moves()
        let first = try Self.chat()
        let second = Self.successor(removed: [Self.keys[5]])
        moves.follow(second, from: first)
        let last = try Self.chat(of: second, in: first)
        let isOld = moves.leave(first)
        #expect(!isOld, "not the chat that the node is in")
        let (isFirst, isSecond) = (moves.leave(last), moves.leave(last))
        #expect(isFirst && !isSecond)
        #expect(moves.hasLeft(first) && moves.present(first) == nil)
        #expect(moves.place(of: last)?.removed == [Self.keys[5]], "removed keys stay removed")
        let text = String(decoding: moves.encoded(), as: UTF8.self)
        #expect(!text.contains(second.secret(in: first.keys).base32))
    }

    @Test("a departure is kept with its successor, and each later move narrows its chosen keys (M-65, M-93)")
    func departures() throws {
        var moves = Moves()
        let first = try Self.chat()
        let second = Self.successor(removed: [Self.keys[5]])
        moves.depart(from: first, for: second, choosing: [Self.me, Self.keys[1], Self.keys[2]], until: 100)
        let middle = try Self.chat(of: second, in: first)
        #expect(moves.hasLeft(first) && moves.departures.count == 1)
        let third = Self.successor(removed: [Self.keys[5], Self.keys[2]])
        moves.depart(from: middle, for: third, choosing: [Self.me, Self.keys[1]], until: 200)
        let last = try Self.chat(of: third, in: middle)
        #expect(moves.departures.map(\.successor) == [second, third])
        #expect(moves.departures.map(\.chosen) == Array(repeating: [Self.me, Self.keys[1]].sorted(), count: 2))
        #expect(moves.departures.map(\.until) == [100, 200], "each ends after its own 30 days")
        #expect(moves.departures.map(\.refused) == [[], [Self.keys[5]]])
        #expect(moves.departures(to: last).count == 2 && moves.departures(to: middle).isEmpty)
        moves.admit(Self.keys[9], to: last)
        moves.admit(Self.keys[9], to: last)
        #expect(moves.departures.allSatisfy { $0.chosen == [Self.me, Self.keys[1], Self.keys[9]].sorted() })
        #expect(moves.nextEnd == 100)
        let ends = [moves.endDepartures(at: 99), moves.endDepartures(at: 100)]
        #expect(ends == [false, true])
        #expect(moves.departures.map(\.until) == [200] && moves.hasLeft(first))
        let oldest = [moves.endOldestDeparture(), moves.endOldestDeparture()]
        #expect(oldest == [true, false] && moves.nextEnd == nil)
    }

    @Test("a ninth departure ends the oldest, and another chat's successor stays (A-42)")
    func mostDepartures() throws {
        var moves = Moves()
        let chats = try (0..<9).map { try Self.chat("chat \($0)") }
        for (index, chat) in chats.enumerated() {
            moves.depart(from: chat, for: Self.successor(), choosing: [Self.me], until: Double(index))
        }
        #expect(moves.departures.map(\.name) == chats.dropFirst().map(\.name))
        #expect(Set(moves.departures.map(\.successor.seed)).count == 8)
        #expect(moves.hasLeft(chats[0]))
    }

    @Test("the successor refuses those removed before and now, but no chosen key, and at most 32 (M-89)")
    func removed() throws {
        var moves = Moves()
        let first = try Self.chat()
        let early = Array(Self.keys[10..<40])
        #expect(moves.removed(from: first, adding: early, choosing: [Self.me]) == early)
        let second = Self.successor(removed: early)
        moves.follow(second, from: first)
        let next = try Self.chat(of: second, in: first)
        let now = Array(Self.keys[40..<45])
        #expect(
            moves.removed(from: next, adding: now, choosing: [Self.me]) == Array((early + now).suffix(32)))
        #expect(
            moves.removed(from: next, adding: [Self.me, early[0]], choosing: [Self.me, early[1]])
                == Array(early[2...]) + [early[0]])
    }

    @Test("of over 1,024 moves the oldest is forgotten, and first one whose newest chat the user left")
    func mostMoves() throws {
        var moves = Moves()
        let chats = try (0..<1_026).map { try Self.chat("chat \($0)") }
        var successors: [Successor] = []
        for chat in chats.prefix(1_024) {
            successors.append(Self.successor())
            moves.follow(successors[successors.count - 1], from: chat)
        }
        _ = moves.leave(try Self.chat(of: successors[500], in: chats[500]))
        moves.follow(Self.successor(), from: chats[1_024])
        #expect(moves.moves.count == 1_024 && !moves.hasLeft(chats[500]) && moves.hasLeft(chats[0]))
        moves.follow(Self.successor(), from: chats[1_025])
        #expect(moves.moves.count == 1_024 && !moves.hasLeft(chats[0]) && moves.hasLeft(chats[1]))
        let folder = try TemporaryFolder()
        let file = MovesFile(in: folder.path)
        #expect(file.write(moves) == nil)
        #expect(file.read() == .moves(moves))
    }

    // MARK: The file

    private static func example() throws -> Moves {
        var moves = Moves()
        let first = try Self.chat("küche")
        let second = Self.successor(removed: [Self.keys[5]])
        moves.depart(from: first, for: second, choosing: [Self.me, Self.keys[1]], until: 1_800_000_000.5)
        moves.follow(Self.successor(owner: Self.keys[1]), from: try Self.chat(of: second, in: first))
        let (left, other) = (Self.successor(), try Self.chat("other"))
        moves.follow(left, from: other)
        _ = moves.leave(try Self.chat(of: left, in: other))
        return moves
    }

    @Test("the file is only the user's, and reads as it was written")
    func file() throws {
        let folder = try TemporaryFolder()
        let file = MovesFile(in: folder.path)
        #expect(file.read() == .missing)
        let moves = try Self.example()
        #expect(file.write(moves) == nil)
        #expect(file.read() == .moves(moves) && folder.mode("moves.json") == 0o600)
        #expect(try Moves(Moves().encoded()) == Moves())
    }

    @Test("a damaged file is refused whole, and a later version's is left alone")
    func damage() throws {
        let text = String(decoding: try Self.example().encoded(), as: UTF8.self)
        let me = Self.me.description
        let changes: [(String, String)] = [
            ("\"version\":1", "\"version\":0"), ("\"version\":1", "\"vision\":1"), ("\"moves\":[", "\"moves\":[3,"),
            (me, String(me.dropLast())), (me, String(repeating: "A", count: 43)),
            ("\"seed\":\"", "\"seed\":\"A"),
            ("\"until\":1800000000.5", "\"until\":-1"), ("\"until\":1800000000.5", "\"until\":1e300"),
            ("\"name\":\"küche\"", "\"name\":\"\""), ("\"log\":\"", "\"log\":\"../"),
            ("\"former\":\"", "\"former\":\"A"),
        ]
        for (from, to) in changes {
            let changed = text.replacing(from, with: to, maxReplacements: 1)
            #expect(changed != text, "\(from)")
            #expect(throws: Moves.Fault.damaged, "\(to)") { try Moves(Array(changed.utf8)) }
        }
        for end in [0, 1, text.utf8.count / 2, text.utf8.count - 2] {
            #expect(throws: Moves.Fault.damaged) { try Moves(Array(text.utf8.prefix(end))) }
        }
        let newer = text.replacing("\"version\":1", with: "\"version\":2")
        #expect(throws: Moves.Fault.newer) { try Moves(Array(newer.utf8)) }
    }

    @Test("a file with more entries than the limits is damaged")
    func tooMany() throws {
        var moves = Moves()
        for _ in 0..<8 {
            moves.depart(from: try Self.chat(), for: Self.successor(), choosing: [Self.me], until: 100)
        }
        let text = String(decoding: moves.encoded(), as: UTF8.self)
        #expect(try Moves(Array(text.utf8)) == moves)
        let start = try #require(text.range(of: "\"departures\":[")?.upperBound)
        let end = try #require(text.range(of: "},{\"chosen\"")?.lowerBound)
        let ninth = text.replacingCharacters(in: start..<start, with: text[start..<end] + "},")
        #expect(throws: Moves.Fault.damaged) { try Moves(Array(ninth.utf8)) }
    }
}

import Foundation
import InklingWire
import Testing

@testable import Inkling

@Suite("Decisions about people")
struct KnownPeersDecisionTests {
    private static func key(_ number: Int) throws -> PublicKey { try KnownPeersTests.key(number) }

    @Test("verifying and blocking make an entry, with the name by which somebody is shown")
    func entry() throws {
        var table = KnownPeersTable()
        table.verify(try Self.key(1), at: 10)
        table.block(try Self.key(2), name: "Bob", at: 20)
        table.restart()
        let unnamed = try #require(table[try Self.key(1)])
        #expect(unnamed.isVerified && unnamed.names == [])
        let bob = try #require(table[try Self.key(2)])
        #expect(bob.isBlocked && bob.names == ["Bob"] && bob.firstSeen == 20 && bob.days.count == 0)
        #expect(table.peers.blocked == [bob.key])
        table.block(bob.key, name: "Robert", at: 20)
        #expect(table[bob.key]?.names == ["Bob"])
    }

    @Test("the later decision holds, wherever the clock was set between the two")
    func clock() throws {
        var (table, bob) = (KnownPeersTable(), try Self.key(1))
        table.met(bob, name: "Bob", at: 1_000)
        table.block(bob, false, at: 1_000)
        table.block(bob, at: 500)
        table.restart()
        #expect(table[bob]?.isBlocked == true)
        table.block(bob, false, at: 400)
        table.restart()
        #expect(table[bob]?.isBlocked == false)
    }

    @Test("a verification undoes no block, nor the other way round")
    func independent() throws {
        var (table, bob) = (KnownPeersTable(), try Self.key(1))
        table.block(bob, at: 1_001)
        table.verify(bob, at: 1_002)
        table.restart()
        #expect(table[bob]?.isBlocked == true && table[bob]?.isVerified == true)
        table.verify(bob, false)
        table.restart()
        #expect(table[bob]?.isBlocked == true && table[bob]?.isVerified == false)
    }

    @Test("of a damaged state and its copy, the newer one's decisions hold, but a block in either")
    func merged() throws {
        let keys = try (1...3).map { try Self.key($0) }
        var older = KnownPeersTable()
        for key in keys { older.met(key, at: 0) }
        var newer = older
        older.block(keys[0])
        older.verify(keys[1])
        newer.block(keys[2])
        newer.verify(keys[0])
        func records(_ table: KnownPeersTable) -> StateTables.Records {
            var state = StateContents()
            state.people = table.peers
            return state.records
        }
        let merged = StateContents(StateTables.merged(records(newer), records(older))) { _ in }.people
        #expect(keys.map { merged[$0]?.isBlocked } == [true, false, true])
        #expect(keys.map { merged[$0]?.isVerified } == [true, false, false])
    }

    @Test("a number at its end goes no further")
    func lastNumber() throws {
        let last = KnownPeersLimits.counts.upperBound - 1
        var (table, bob) = (KnownPeersTable(), try Self.key(1))
        table.met(bob, at: 0, for: .seconds(700))
        var entry = try #require(table[bob])
        (entry.kept, entry.days) = (last, DaysMet(count: last, began: .zero))
        entry.together = .milliseconds(Int64(last))
        table.peers = KnownPeers([entry])
        table.met(bob, at: 100_000, for: .seconds(700))
        table.met(try Self.key(2), at: 0, for: .seconds(700))
        #expect(try table[bob]?.days.count == last && table[Self.key(2)]?.kept == last)
        table.restart()
    }

    @Test("somebody with the longest of names, in all chats, with all addresses, is read as written")
    func longest() throws {
        var (table, key) = (KnownPeersTable(), try Self.key(1))
        // Each name is eleven times as long after folding.
        for end in "abcd" {
            table.met(key, name: "\(String(repeating: "\u{FDFA}", count: 21))\(end)", at: 1.5e9 + 0.123456)
        }
        for number in 0..<31 {
            table.seen(key, chat: "0123456789abcde\(number)", at: 1.5e9 + 0.123456)
            let addresses = (0..<Limits.rememberedAddressesPerKey).map { "[fe80::\($0)%interface123456]:65535" }
            table.peers.setAddresses(addresses, of: key, in: "0123456789abcde\(number)")
        }
        #expect(table[key]?.names.count == 4 && table[key]?.chats.count == 32 && table[key]?.addresses.count == 31)
        table.restart()
    }

    // MARK: - The file of release 0.1

    @Test("a file of release 0.1 is taken over without loss, once")
    func firstVersion() throws {
        let directory = try TemporaryFolder()
        let keys = try (1...4).map { try Self.key($0) }
        func person(_ key: PublicKey, _ rest: String) -> String {
            "{\"key\":\"\(key.base64url)\",\"user\":\"\(key.userID)\",\(rest)}"
        }
        let people = [
            person(
                keys[0],
                """
                "blocked":false,"chats":{"a":10,"b":20},"decided":30.5,"firstSeen":10,"lastSeen":20,\
                "named":{"al":10,"alice":15.25},"names":["Alice","Al"],"verified":true
                """),
            person(
                keys[1],
                """
                "blocked":true,"chats":{},"decided":31,"firstSeen":1,"lastSeen":1,"names":["Bob \\u001b\\"é"],\
                "verified":false
                """),
            person(
                keys[2],
                """
                "blocked":false,"chats":{"a":90000},"decided":0,"firstSeen":3600,"lastSeen":90000,"named":{},\
                "names":[],"verified":false
                """),
            person(
                keys[3],
                """
                "blocked":false,"chats":{"a":89999},"decided":40,"firstSeen":3600,"lastSeen":89999,"named":{"d":3600},\
                "names":["D"],"verified":false
                """),
        ]
        let text = "{\"peers\":[\(people.joined(separator: ","))],\"version\":1}\n"
        try directory.write(text, to: "known-peers.json")
        let peers = StateTables(in: directory.path, isHeld: true).contents.people
        let entries = peers.all
        #expect(entries.map(\.key) == keys.sorted())
        #expect(entries.map(\.names) == [["Alice", "Al"], ["Bob \u{1b}\"é"], [], ["D"]])
        #expect(entries[0].named == ["al": 10, "allce": 15.25] && entries[0].chats == ["a": 10, "b": 20])
        #expect(entries.map(\.firstSeen) == [10, 1, 3_600, 3_600])
        #expect(entries.map(\.lastSeen) == [20, 1, 90_000, 89_999])
        #expect(entries.map(\.isVerified) == [true, false, false, false])
        #expect(entries.map(\.isBlocked) == [false, true, false, false])
        #expect(entries.map(\.days.count) == [1, 1, 2, 1])
        #expect(entries.map(\.part) == [.decided, .decided, .kept, .kept])
        #expect(peers.preferred == [keys[0], keys[2]])

        #expect(directory.text("known-peers.json") == "{\"version\":1000}\n", "an earlier program refuses it")
        #expect(StateContents(in: directory.path).people == peers)
        // A file that an earlier program's backup brings back changes nothing.
        var table = KnownPeersTable(peers)
        table.verify(keys[0], false)
        table.block(keys[1], false)
        var state = StateContents()
        state.people = table.peers
        state.write(in: directory.path)
        try directory.write(text, to: "known-peers.json")
        #expect(StateTables(in: directory.path, isHeld: true).contents.people == table.peers)

        for (from, to) in [("31", "-1"), ("\"verified\":true", "\"verified\":1"), (keys[0].base64url, "x")] {
            let damaged = text.replacingOccurrences(of: from, with: to)
            #expect(damaged != text && KnownPeers(earlier: Array(damaged.utf8)) == nil, "\(to)")
        }
    }

    @Test("all of the 1,000 people whom release 0.1 could know have a place", arguments: [false, true])
    func fullFirstVersion(_ cameBack: Bool) throws {
        let directory = try TemporaryFolder()
        let people = try (0..<1_000).map { number in
            """
            {"key":"\(try Self.key(number).base64url)","user":"","names":["n\(number)"],"firstSeen":0,\
            "lastSeen":\(cameBack ? 90_000 + number : number),"chats":{},"verified":false,"blocked":false,"decided":0}
            """
        }
        try directory.write("{\"version\":1,\"peers\":[\(people.joined(separator: ","))]}", to: "known-peers.json")
        let peers = StateTables(in: directory.path, isHeld: true).contents.people
        #expect(peers.count == 1_000 && peers.all.count { $0.part == .kept } == 768)
        // The people on probation are those who were not seen for longest.
        #expect(try (0..<232).allSatisfy { peers[try Self.key($0)]?.part == .probation })
        #expect(StateContents(in: directory.path).people == peers)
    }
}

import Foundation
import InklingWire
import Testing

import Inkling

@Suite("Decisions about people")
struct KnownPeersDecisionTests {
    private static func key(_ number: Int) throws -> PublicKey { try KnownPeersTests.key(number) }

    /// Merges two tables in both orders, which must give equal results.
    private static func merged(_ one: KnownPeersTable, _ other: KnownPeersTable) -> KnownPeersTable {
        var (left, right) = (one, other)
        left.merge(other)
        right.merge(one)
        #expect(left == right)
        left.merge(other)
        #expect(left == right, "a second merge changes nothing")
        return left
    }

    @Test("verifying and blocking make an entry, with the name by which somebody is shown")
    func entry() throws {
        var table = KnownPeersTable()
        table.verify(try Self.key(1), at: 10)
        table.block(try Self.key(2), name: "Bob", at: 20)
        try table.restart()
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
        var (first, bob) = (KnownPeersTable(), try Self.key(1))
        first.met(bob, name: "Bob", at: 1_000)
        first.block(bob, false, at: 1_000)
        var second = first
        second.block(bob, at: 500)
        #expect(Self.merged(first, second)[bob]?.isBlocked == true)
        second.block(bob, false, at: 400)
        #expect(Self.merged(first, second)[bob]?.blocked == Decision(false, number: 3))
    }

    @Test("a verification elsewhere undoes no block, nor the other way round")
    func independent() throws {
        var (first, bob) = (KnownPeersTable(), try Self.key(1))
        first.met(bob, name: "Bob", at: 1_000)
        var second = first
        first.block(bob, at: 1_001)
        for _ in 0..<3 { second.verify(bob, at: 1_002) }
        let both = Self.merged(first, second)
        #expect(both[bob]?.isBlocked == true && both[bob]?.isVerified == true)
        second.verify(bob, false)
        let after = Self.merged(both, second)
        #expect(after[bob]?.isBlocked == true && after[bob]?.isVerified == false)
    }

    @Test("if neither is later, blocked and not verified hold", arguments: [false, true])
    func tie(_ areWritten: Bool) throws {
        var (first, bob) = (KnownPeersTable(), try Self.key(1))
        first.met(bob, at: 0)
        var second = first
        first.block(bob)
        first.verify(bob)
        second.block(bob, false)
        second.verify(bob, false)
        if areWritten {
            try first.restart()
            try second.restart()
        }
        let both = Self.merged(first, second)
        #expect(both[bob]?.isBlocked == true && both[bob]?.isVerified == false)
    }

    @Test("a number at its end goes no further")
    func lastNumber() throws {
        let last = KnownPeersLimits.counts.upperBound - 1
        var (table, bob) = (KnownPeersTable(), try Self.key(1))
        table.block(bob)
        table.met(bob, at: 0, for: .seconds(700))
        var text = String(decoding: table.peers.encoded(), as: UTF8.self)
        for member in ["\"number\":1", "\"kept\":1", "\"days\":1", "\"togetherMilliseconds\":700000"] {
            #expect(text.contains(member))
            let name = member.prefix { $0 != ":" }
            text = text.replacingOccurrences(of: member, with: "\(name):\(last)")
        }
        guard case .peers(let peers) = KnownPeers.read(Array(text.utf8)) else {
            Issue.record("it is damaged")
            return
        }
        table.peers = peers
        table.block(bob, false)
        table.met(bob, at: 100_000, for: .seconds(700))
        table.met(try Self.key(2), at: 0, for: .seconds(700))
        #expect(table[bob]?.blocked == Decision(false, number: last))
        try table.restart()
    }

    // MARK: - Two processes

    @Test("what the user decides last holds, though the other process decided more often")
    func stale() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        var (first, second) = (KnownPeersTable(), KnownPeersTable())
        let bob = try Self.key(1)
        first.met(bob, name: "Bob", at: 10)
        second.merge(first)
        for isBlocked in [true, false, true, false] { first.block(bob, isBlocked) }
        _ = try file.saved(first.peers)
        second.block(bob)
        let all = try file.saved(second.peers)
        #expect(all[bob]?.blocked == Decision(true, number: 5) && file.read() == .peers(all))
        // The second process has learned the number of the decision. The first then makes a later decision, which the
        // second accepts.
        second.merge(KnownPeersTable(all))
        first.block(bob, false)
        let later = try file.saved(first.peers)
        #expect(later[bob]?.blocked == Decision(false, number: 6))
        let last = try file.saved(second.peers)
        #expect(last[bob]?.isBlocked == false)
        // If a process saves a table that it got earlier, the old decision does not come back.
        let third = try file.saved(all)
        #expect(third[bob]?.isBlocked == false)
    }

    @Test("eight processes that save at the same time lose nothing of each other")
    func concurrent() async throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        let keys = try (0..<160).map { try Self.key($0) }
        // Separate threads, because a wait for the lock must not block the threads of the tests.
        let threads = (0..<8).map { process in
            Thread {
                var table = KnownPeersTable()
                for index in 0..<20 {
                    table.block(keys[process * 20 + index])
                    // On a busy machine one of the eight processes may time out. A real node also retries.
                    var saving = file.save(table.peers)
                    while saving == .busy { saving = file.save(table.peers) }
                    guard case .saved = saving else {
                        Issue.record("it was not saved: \(saving)")
                        return
                    }
                }
            }
        }
        for thread in threads { thread.start() }
        while !threads.allSatisfy(\.isFinished) { try await Task.sleep(for: .milliseconds(20)) }
        let all = try KnownPeersFile(directory: directory.path).people()
        #expect(all.blocked == keys.sorted())
    }

    @Test("while another process holds the directory nothing is written or moved, and what is there can be read")
    func busy() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path, patience: .milliseconds(50))
        var table = KnownPeersTable()
        table.met(try Self.key(1), name: "Alice", at: 10)
        #expect(file.save(table.peers) == .saved(table.peers))
        let before = directory.text(KnownPeersFile.name)
        let other = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(other, LOCK_EX) == 0)
        #expect(file.read() == .peers(table.peers))
        table.met(try Self.key(2), name: "Bob", at: 10)
        #expect(file.save(table.peers) == .busy)
        #expect(directory.text(KnownPeersFile.name) == before)
        try directory.write("{\"version\":2,", to: KnownPeersFile.name)
        #expect(file.read() == .unreadable(reason: "it is damaged, and another program is using it"))
        #expect(directory.text(KnownPeersFile.name) == "{\"version\":2,")
        close(other)
        #expect(file.read() == .damaged)
        #expect(file.save(table.peers) == .saved(table.peers))
    }

    @Test("more people than a file that is read can hold are not written")
    func tooMany() throws {
        let directory = try TemporaryFolder()
        var table = KnownPeersTable()
        table.block(try Self.key(1))
        let count = table.peers.encoded().count
        let file = KnownPeersFile(directory: directory.path, maximumBytes: count)
        #expect(file.save(table.peers) == .saved(table.peers))
        var more = table
        more.block(try Self.key(2))
        #expect(file.save(more.peers) == .failed(reason: "they are too many"))
        #expect(file.read() == .peers(table.peers))
    }

    @Test("1,024 people with the longest of names and in all chats fit into the file, beside 2,000 who are blocked")
    func longest() throws {
        var table = KnownPeersTable()
        // Each name is eleven times as long after folding.
        for end in "abcd" {
            table.met(try Self.key(1), name: "\(String(repeating: "\u{FDFA}", count: 21))\(end)", at: 1.5e9 + 0.123456)
        }
        for number in 0..<32 { table.seen(try Self.key(1), chat: "0123456789abcde\(number)", at: 1.5e9 + 0.123456) }
        #expect(table.peers.encoded().count * (1_024 + 2_000) <= KnownPeersLimits.fileBytes)
    }

    // MARK: - The file of release 0.1

    @Test("a file of release 0.1 is read without loss, and written as version 2")
    func firstVersion() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
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
        try directory.write(text, to: KnownPeersFile.name)
        let peers = try file.people()
        let entries = peers.all
        #expect(entries.map(\.key) == keys.sorted())
        #expect(entries.map(\.names) == [["Alice", "Al"], ["Bob \u{1b}\"é"], [], ["D"]])
        #expect(entries[0].named == ["al": 10, "allce": 15.25] && entries[0].chats == ["a": 10, "b": 20])
        #expect(entries.map(\.firstSeen) == [10, 1, 3_600, 3_600])
        #expect(entries.map(\.lastSeen) == [20, 1, 90_000, 89_999])
        // Reading an old file drops the times of decisions. From now on, numbers order them.
        let (set, none) = (Decision(true, number: 1), Decision())
        #expect(entries.map(\.verified) == [set, none, none, none])
        #expect(entries.map(\.blocked) == [none, set, none, none])
        #expect(entries.map(\.days.count) == [1, 1, 2, 1])
        #expect(entries.map(\.part) == [.decided, .decided, .kept, .kept])
        #expect(peers.preferred == [keys[0], keys[2]])

        #expect(file.save(KnownPeers()) == .saved(peers) && file.read() == .peers(peers))
        #expect(directory.text(KnownPeersFile.name)?.hasSuffix("\"version\":2}\n") == true)
        // New decisions count as later than those in the old file.
        var table = KnownPeersTable(peers)
        table.verify(keys[0], false)
        table.block(keys[1], false)
        try directory.write(text, to: KnownPeersFile.name)
        let after = try file.saved(table.peers)
        #expect(!after.all.contains { $0.isVerified || $0.isBlocked })

        for (from, to) in [("31", "-1"), ("\"verified\":true", "\"verified\":1"), (keys[0].base64url, "x")] {
            let damaged = text.replacingOccurrences(of: from, with: to)
            #expect(damaged != text && KnownPeers.read(Array(damaged.utf8)) == .damaged, "\(to)")
        }
    }

    @Test("all of the 1,000 people whom release 0.1 could know have a place", arguments: [false, true])
    func fullFirstVersion(_ cameBack: Bool) throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        let people = try (0..<1_000).map { number in
            """
            {"key":"\(try Self.key(number).base64url)","user":"","names":["n\(number)"],"firstSeen":0,\
            "lastSeen":\(cameBack ? 90_000 + number : number),"chats":{},"verified":false,"blocked":false,"decided":0}
            """
        }
        try directory.write(
            "{\"version\":1,\"peers\":[\(people.joined(separator: ","))]}", to: KnownPeersFile.name)
        let peers = try file.people()
        #expect(peers.count == 1_000 && peers.all.count { $0.part == .kept } == 768)
        // The people on probation are those who were not seen for longest.
        #expect(try (0..<232).allSatisfy { peers[try Self.key($0)]?.part == .probation })
        #expect(file.save(peers) == .saved(peers) && file.save(KnownPeers()) == .saved(peers))
    }
}

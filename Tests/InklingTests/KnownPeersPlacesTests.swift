import InklingCore
import InklingWire
import Testing

@testable import Inkling

@Suite("Who stays known")
struct KnownPeersPlacesTests {
    private static func key(_ number: Int) throws -> PublicKey { try KnownPeersTests.key(number) }
    private static let day: Double = 86_400
    /// The lowest key number of friends. Strangers have lower numbers.
    private static let friends = 50_000

    /// Returns a full table of friends, each met on `days` days. Friends with higher numbers were present for longer.
    private static func friends(days: Int = 2) throws -> KnownPeersTable {
        var table = KnownPeersTable()
        for number in 0..<768 {
            let friend = try key(friends + number)
            for day in 0..<days { table.met(friend, at: Double(day) * Self.day, for: .seconds(1_000 + number)) }
        }
        return table
    }

    // MARK: Probation

    @Test(
        "after 5,000 throwaway keys somebody who was there for a quarter of an hour is still known by name",
        arguments: [(seed: 1, seconds: 0), (seed: 2, seconds: 0), (seed: 3, seconds: 60)])
    func flush(_ seed: UInt64, _ seconds: Int) throws {
        var table = KnownPeersTable(seed: seed)
        let alice = try Self.key(Self.friends)
        table.met(alice, name: "Alice", at: 0, for: .seconds(900))
        for number in 0..<5_000 {
            let time = 1_000 + Double(number)
            table.met(try Self.key(number), name: "x\(number)", at: time, for: .seconds(seconds))
        }
        #expect(table.met(try Self.key(Self.friends + 1), name: "Alice", at: 9_000) == [alice])
        #expect(table.peers.count == 257 && table[alice]?.part == .kept)
    }

    @Test("of 256 on probation one goes at random for each who comes, but never who has just come")
    func randomEviction() throws {
        func survivors(seed: UInt64) throws -> [Int] {
            var table = KnownPeersTable(seed: seed)
            for number in 0..<512 {
                table.met(try Self.key(number), at: Double(number))
                #expect(table[try Self.key(number)] != nil)
                #expect(table.peers.count == min(number + 1, 256))
            }
            return try (0..<512).filter { table[try Self.key($0)] != nil }
        }
        let first = try survivors(seed: 1)
        #expect(try survivors(seed: 1) == first, "equal generators draw the same")
        #expect(try survivors(seed: 2) != first)
        // The expected rest of the first people is (255/256)^256 of them, about 94.
        let early = first.count { $0 < 256 }
        #expect(early > 60 && early < 130, "\(early)")
    }

    @Test(
        "ten minutes together or a second day end the probation, and neither less nor a few meetings do",
        arguments: [
            ("no time at all", [(0, 0)], KnownPeers.Part.probation),
            ("a moment less than ten minutes", [(0, 599_999)], .probation),
            ("ten minutes", [(0, 600_000)], .kept),
            ("ten minutes in all", [(0, 200_000), (1_000, 200_000), (2_000, 200_000)], .kept),
            ("many meetings on one day", (0..<80).map { (1_000 * $0, 1_000) }, .probation),
            ("a moment less than 24 h", [(0, 0), (86_399, 0)], .probation),
            ("a second day", [(0, 0), (86_400, 0)], .kept),
        ] as [(String, [(time: Int, milliseconds: Int)], KnownPeers.Part)])
    func proof(_ name: String, _ meetings: [(time: Int, milliseconds: Int)], _ part: KnownPeers.Part) throws {
        var table = KnownPeersTable()
        let key = try Self.key(1)
        for meeting in meetings {
            table.met(key, at: Double(meeting.time), for: .milliseconds(meeting.milliseconds))
            table.restart()
        }
        #expect(table[key]?.part == part)
        let milliseconds = meetings.reduce(0) { $0 + $1.milliseconds }
        #expect(table[key]?.together == .milliseconds(milliseconds))
    }

    // MARK: The kept ones

    @Test("768 are kept, and of these the lowest rank goes: days met, then time together")
    func rank() throws {
        var table = try Self.friends()
        // `once` was met on one day only, but for longer than all others.
        let (once, often) = (try Self.key(1), try Self.key(2))
        let (lowest, next) = (try Self.key(Self.friends), try Self.key(Self.friends + 1))
        table.met(once, at: 0, for: .seconds(100_000))
        #expect(table[once]?.part == .kept && table[lowest] == nil, "the least time of two days")
        for day in 0..<3 { table.met(often, at: Double(day) * Self.day) }
        #expect(table[once] == nil, "one day is less than two, however long it was")
        #expect(table[often]?.part == .kept && table[next] != nil)
        table.met(try Self.key(3), at: 0, for: .seconds(600))
        #expect(table[next] == nil && table[often] != nil)
        #expect(table.peers.count == 768)
    }

    @Test("a full table takes in a new friend after ten minutes, who stays through a restart")
    func newFriend() throws {
        var table = try Self.friends(days: 3)
        let (first, second, lowest) = (try Self.key(1), try Self.key(2), try Self.key(Self.friends))
        table.met(first, at: 0, for: .seconds(600))
        #expect(table[first]?.part == .kept && table[lowest] == nil)
        table.restart()
        // The next new friend does not evict another old friend.
        table.met(second, at: 0, for: .seconds(600))
        #expect(table[second]?.part == .kept && table[first] == nil)
        #expect(table[try Self.key(Self.friends + 1)] != nil && table.peers.count == 768)
    }

    @Test("strangers who stay for a minute push out nobody who is kept")
    func minutes() throws {
        let friends = try Self.friends()
        var table = friends
        for number in 0..<2_000 { table.met(try Self.key(number), at: Double(number), for: .seconds(60)) }
        #expect(table.peers.count == 768 + 256)
        #expect(friends.peers.all.allSatisfy { table[$0.key] == $0 })
    }

    @Test("verified and blocked people never go, and take nobody's place")
    func decided() throws {
        var table = try Self.friends()
        for number in 0..<300 {
            table.verify(try Self.key(10_000 + number))
            table.block(try Self.key(20_000 + number))
        }
        for number in 0..<1_000 { table.met(try Self.key(number), at: 0, for: .seconds(number < 500 ? 600 : 0)) }
        #expect(table.peers.count == 600 + 768 + 256)
        for number in 0..<300 {
            #expect(table[try Self.key(10_000 + number)]?.isVerified == true)
            #expect(table[try Self.key(20_000 + number)]?.isBlocked == true)
        }
        table.restart()
        // People who are no longer verified or blocked compete for places like others.
        table.verify(try Self.key(10_000), false)
        #expect(table[try Self.key(10_000)]?.part == .probation && table.peers.count == 599 + 768 + 256)
        let friend = try #require(table.peers.all.first { $0.part == .kept }).key
        table.block(friend)
        #expect(table[friend]?.part == .decided)
        table.block(friend, false)
        #expect(table[friend]?.part == .kept)
    }

    // MARK: Time together

    @Test("time counts once, however often it is counted, and also after somebody was forgotten meanwhile")
    func stay() throws {
        var table = KnownPeersTable()
        let alice = try Self.key(Self.friends)
        table.met(alice, name: "Alice", at: 0)
        var stay = Stay(name: "Alice", chat: "a", at: .zero)
        for milliseconds in [300_000, 300_000, 299_000, 300_001] {
            table.count(&stay, with: alice, at: .milliseconds(milliseconds))
        }
        #expect(table[alice]?.together == .milliseconds(300_001))

        var strangers = 0
        while table[alice] != nil {
            table.met(try Self.key(strangers), name: "Alice", at: 400)
            strangers += 1
        }
        table.count(&stay, with: alice, at: .milliseconds(599_999))
        #expect(table[alice] == nil)
        table.count(&stay, with: alice, at: .seconds(600))
        let entry = try #require(table[alice])
        #expect(entry.part == .kept && entry.together == .seconds(600) && entry.names == ["Alice"])
        #expect(entry.firstSeen == 0 && entry.lastSeen == 600 && entry.chats == ["a": 600])
        #expect(table.peers.namesakes(of: alice, name: "Alice").isEmpty, "she had the name before the strangers")
    }

    // MARK: Days

    @Test(
        "a day counts when somebody is noticed at least 24 h after the last one that counted began",
        arguments: [
            ("once", [0], 1),
            ("all day long", [0, 40_000, 86_399], 1),
            ("every 23 h", [0, 82_800, 165_600, 248_400], 2),
            ("every 24 h", [0, 86_400, 172_800, 259_200], 4),
            ("after a year", [0, 31_536_000], 2),
            ("a clock that was set back", [1_000_000, 500_000, 586_399], 1),
            ("24 h after a clock was set back", [1_000_000, 500_000, 586_400], 2),
            ("a clock that was far ahead once", [0, 4_000_000_000, 1_000, 87_399], 2),
            ("24 h after a clock was far ahead", [0, 4_000_000_000, 1_000, 87_400], 3),
            ("a clock that goes back and forth", [100_000, 20_000, 100_000, 20_000, 100_000], 1),
        ] as [(String, [Double], UInt64)])
    func days(_ name: String, _ times: [Double], _ expected: UInt64) throws {
        var table = KnownPeersTable()
        let key = try Self.key(1)
        for (index, time) in times.enumerated() {
            // A day counts both when a person arrives and while the person stays.
            if index % 2 == 0 { table.met(key, at: time) } else { table.seen(key, at: time) }
            table.restart()
        }
        #expect(table[key]?.days.count == expected)
    }

    // T-25
    @Test("a clock that is set while the node runs neither adds a day nor holds one back")
    func clockOfRun() throws {
        var table = KnownPeersTable()
        let key = try Self.key(1)
        for (wall, steady) in [(0, 0), (4e9, 1), (4e9 + 90_000, 2), (0, 3), (0, 86_399)] as [(Double, Double)] {
            table.met(key, at: wall, steady: steady)
        }
        #expect(table[key]?.days.count == 1 && table[key]?.part == .probation)
        table.met(key, at: 0, steady: 86_400)
        #expect(table[key]?.days.count == 2)
    }

    //
    @Test("when somebody was last in a chat is known by the age too, over a restart and a move (R52)")
    func ages() throws {
        var (table, key) = (KnownPeersTable(), try Self.key(1))
        table.met(key, chat: "a", at: 4e9, steady: 1_000)
        table.met(key, chat: "b", at: 5, steady: 2_000)
        table.restart()
        #expect(table[key]?.ages == ["a": KnownPeersTable.age(1_000), "b": KnownPeersTable.age(2_000)])
        table.peers.carry([key], from: "a", to: "next")
        table.restart()
        #expect(table[key]?.ages["next"] == KnownPeersTable.age(1_000))
    }

    // MARK: Whom to prefer

    @Test("preferred are the verified and those met on two days, but no blocked ones, and a long stay is not enough")
    func preferred() throws {
        var table = KnownPeersTable()
        let keys = try (0..<5).map { try Self.key($0) }
        table.met(keys[0], at: 0, for: .seconds(80_000))
        table.met(keys[1], at: 0)
        table.met(keys[1], at: Self.day)
        table.verify(keys[2])
        table.met(keys[3], at: 0)
        table.met(keys[3], at: Self.day)
        #expect(table.peers.preferred == [keys[1], keys[2], keys[3]])
        table.block(keys[3])
        table.verify(keys[4])
        table.block(keys[4])
        #expect(table.peers.preferred == [keys[1], keys[2]])
        table.restart()
        #expect(table.peers.preferred == [keys[1], keys[2]])
        table.verify(keys[2], false)
        table.block(keys[3], false)
        #expect(table.peers.preferred == [keys[1], keys[3]])
        // Forgotten people are no longer preferred.
        var full = try Self.friends(days: 3)
        for key in [keys[1], keys[3]] { for day in 0..<2 { full.met(key, at: Double(day) * Self.day) } }
        #expect(!full.peers.preferred.contains(keys[1]) && full[keys[1]] == nil)
        #expect(full.peers.preferred == Set(full.peers.all.filter(\.isPreferred).map(\.key)))
    }

    // MARK: Times for people

    @Test("a time that lies in the future gives way as soon as somebody is met again, also after a restart")
    func future() throws {
        var (table, key) = (KnownPeersTable(), try Self.key(1))
        table.met(key, name: "Al", at: 4e9)
        table.restart()
        table.met(key, name: "Alice", at: 1_000)
        table.restart()
        #expect(table[key]?.lastSeen == 1_000 && table[key]?.chats == ["a": 1_000])
        #expect(table[key]?.names == ["Alice", "Al"])
    }

    @Test("of 32 chats the one where somebody is stays, also with a clock that was set back")
    func chats() throws {
        var (table, key) = (KnownPeersTable(), try Self.key(1))
        for number in 0..<32 { table.met(key, chat: "c\(number)", at: 5_000 + Double(number)) }
        table.met(key, chat: "d", at: 100, steady: 6_000)
        #expect(table[key]?.chats.count == 32 && table[key]?.chats["d"] == 100)
    }

    @Test("whoever had a name first had it first, wherever the clock has been set since")
    func firstName() throws {
        var table = KnownPeersTable()
        let (alice, other) = (try Self.key(1), try Self.key(2))
        table.met(alice, name: "Alice", at: 1_000)
        #expect(table.met(other, name: "Alice", at: 10) == [alice])
        #expect(table.peers.namesakes(of: other, name: "Alice") == [alice])
        #expect(table.peers.namesakes(of: alice, name: "Alice").isEmpty)
        // The test uses the latest time that a file can hold.
        var last = KnownPeersTable()
        last.met(alice, name: "Alice", at: .infinity)
        last.met(other, name: "Alice", at: 10)
        last.restart()
    }
}

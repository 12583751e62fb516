import InklingCore
import InklingWire
import SeededRandom
import Testing

@testable import Inkling

/// A table with its generator and its two clocks. The clocks agree unless a test changes one.
struct KnownPeersTable: Equatable {
    var peers: KnownPeers
    var random: SeededGenerator

    init(_ peers: KnownPeers = KnownPeers(), seed: UInt64 = 1) {
        self.peers = peers
        random = SeededGenerator(seed: seed)
    }

    static func age(_ seconds: Double) -> Age { Age.zero + .seconds(min(seconds, 1e11)) }

    static func == (left: KnownPeersTable, right: KnownPeersTable) -> Bool { left.peers == right.peers }

    subscript(key: PublicKey) -> KnownPeers.Entry? { peers[key] }

    @discardableResult
    mutating func met(
        _ key: PublicKey, name: String = "", chat: String = "a", at time: Double, steady: Double? = nil
    ) -> [PublicKey] {
        let time = MeetingTime(wall: time, age: Self.age(steady ?? time))
        return peers.met(key, name: name, chat: chat, at: time, using: &random)
    }

    mutating func seen(_ key: PublicKey, chat: String = "a", at time: Double) {
        peers.seen(key, chat: chat, at: MeetingTime(wall: time, age: Self.age(time)), using: &random)
    }

    /// Records that a person arrives, stays for a time and leaves.
    @discardableResult
    mutating func met(_ key: PublicKey, name: String = "", at time: Double, for length: Duration) -> [PublicKey] {
        let others = met(key, name: name, at: time)
        var stay = Stay(name: name, chat: "a", at: .zero)
        count(&stay, with: key, from: time, at: length)
        return others
    }

    /// Records that a person who arrived at `start` is still present after a time.
    mutating func count(_ stay: inout Stay, with key: PublicKey, from start: Double = 0, at length: Duration) {
        let time = start + length / .seconds(1)
        peers.count(
            &stay, with: key, now: .zero + length, at: MeetingTime(wall: time, age: Self.age(time)), using: &random)
    }

    mutating func verify(_ key: PublicKey, _ isVerified: Bool = true, at time: Double = 0) {
        peers.setVerified(isVerified, key, at: MeetingTime(wall: time, age: Self.age(time)), using: &random)
    }

    mutating func block(_ key: PublicKey, _ isBlocked: Bool = true, name: String? = nil, at time: Double = 0) {
        peers.setBlocked(isBlocked, key, name: name, at: MeetingTime(wall: time, age: Self.age(time)), using: &random)
    }

    /// Makes the table again from its records, like a restart.
    mutating func restart() {
        let read = KnownPeers(peers.all.compactMap { KnownPeers.Entry($0.key.bytes, $0.bytes) })
        #expect(read == peers && read.preferred == peers.preferred)
        peers = read
    }
}

extension StateContents {
    /// Reads the state in a directory, which a node may hold.
    init(in directory: String) { self = StateTables(in: directory, isHeld: false).contents }

    /// Writes this into a directory that no node holds, as a decision of the user.
    func write(in directory: String) {
        let tables = StateTables(in: directory, isHeld: true)
        let records = records
        let failures = tables.run([
            StateTables.Job { tables throws(Database.Failure) in
                for kind in StateTables.Kind.allCases where kind != .mark {
                    for key in try tables.keys(kind) where records[key] == nil { try tables.remove(key) }
                }
                for (key, content) in records { try tables.put(key, content) }
            }
        ])
        #expect(failures == [nil])
    }
}

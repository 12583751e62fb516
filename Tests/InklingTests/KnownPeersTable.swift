import InklingCore
import InklingWire
import SeededRandom
import Testing

import Inkling

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

    mutating func merge(_ other: KnownPeersTable, at now: Double = 1_000_000_000) {
        peers.merge(other.peers, at: now, using: &random)
    }

    /// Writes the table and reads it again, like a restart.
    mutating func restart() throws {
        guard case .peers(let read) = KnownPeers.read(peers.encoded(), using: &random) else {
            Issue.record("the table can't be read")
            return
        }
        #expect(read == peers)
        peers = read
    }
}

extension KnownPeers {
    static func read(_ bytes: [UInt8]) -> Reading {
        var random = SeededGenerator(seed: 1)
        return read(bytes, using: &random)
    }
}

extension KnownPeersFile {
    func read() -> Reading {
        var random = SeededGenerator(seed: 1)
        return read(using: &random)
    }

    func save(_ peers: KnownPeers, seed: UInt64 = 1) -> Saving {
        var random = SeededGenerator(seed: seed)
        return save(peers, at: 1_000_000_000, using: &random)
    }

    /// Saves people, and returns those who are in the file then.
    func saved(_ peers: KnownPeers) throws -> KnownPeers {
        let saved: KnownPeers? = if case .saved(let all) = save(peers) { all } else { nil }
        return try #require(saved)
    }

    /// Returns the people in the file.
    func people() throws -> KnownPeers {
        let people: KnownPeers? = if case .peers(let all) = read() { all } else { nil }
        return try #require(people)
    }
}

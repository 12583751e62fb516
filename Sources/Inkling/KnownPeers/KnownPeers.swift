import Foundation
import InklingWire

/// The limits of what is remembered of people. They are this program's own: no peer notices them.
package enum KnownPeersLimits {
    /// People. When there are more, those not seen for longest go, verified and blocked ones last.
    package static let peers = 1_000
    /// Names kept of a key; the oldest goes.
    package static let names = 4
    /// Chats in which a key was seen; the one longest ago goes.
    package static let chats = 32
    /// Longer files are not read.
    package static let fileBytes = 4 << 20
    /// Seconds since 1970 up to the end of the year 9999: a file with other times is damaged.
    package static let times: Range<Double> = 0..<253_402_300_800
    /// How long changes may wait to be written.
    package static let saveDelay = Duration.seconds(3)
}

/// The people this user's nodes have met. Nodes that share a state directory each have such a table, and
/// ``merge(_:)`` brings them together, in any order.
package struct KnownPeers: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let key: PublicKey
        /// The last one first.
        package fileprivate(set) var names: [String]
        /// When the key first came under each of them, by their folded forms.
        package fileprivate(set) var named: [String: Double] = [:]
        package fileprivate(set) var firstSeen: Double
        package fileprivate(set) var lastSeen: Double
        /// When the key was last there, by the tags of the chats. A tag reveals nothing about a chat's name.
        package fileprivate(set) var chats: [String: Double]
        package fileprivate(set) var isVerified = false
        package fileprivate(set) var isBlocked = false
        /// When the user last verified, blocked, or took that back; 0 if never.
        package fileprivate(set) var decided: Double = 0

        package var known: KnownPeer {
            KnownPeer(
                user: key.userID, key: key.base64url, names: names, namedSince: since(names.first ?? ""),
                firstSeen: firstSeen, lastSeen: lastSeen, isVerified: isVerified, isBlocked: isBlocked)
        }

        /// Since when the key has come under a name.
        fileprivate func since(_ name: String) -> Double { since(folded: KnownPeers.folded(name)) }

        fileprivate func since(folded name: String) -> Double { named[name] ?? firstSeen }
    }

    private var entries: [PublicKey: Entry] = [:]
    /// Who has come under a name, by its folded form.
    private var holders: [String: Set<PublicKey>] = [:]

    package init() {}

    // MARK: Changes

    /// Somebody is there, under a name.
    ///
    /// - Returns: The others who are known under that name, in the order of their keys, if this key is not known
    ///   under it yet. Blocked ones don't count: nobody takes the newcomer for them.
    package mutating func met(_ key: PublicKey, name: String, chat: String, at time: Double) -> [PublicKey] {
        var entry = entries[key] ?? Entry(key: key, names: [], firstSeen: time, lastSeen: time, chats: [:])
        let folded = Self.folded(name)
        let isNew = !entry.names.contains { Self.folded($0) == folded }
        let others = isNew ? holders(of: folded, but: key).sorted() : []
        entry.names = Self.limited([name] + entry.names)
        if isNew { entry.named[folded] = time }
        entry.lastSeen = max(entry.lastSeen, time)
        entry.chats[chat] = max(entry.chats[chat] ?? 0, time)
        put(entry)
        trim()
        return others
    }

    /// Somebody who was met was still there at that time.
    package mutating func seen(_ key: PublicKey, chat: String, at time: Double) {
        guard var entry = entries[key] else { return }
        entry.lastSeen = max(entry.lastSeen, time)
        entry.chats[chat] = max(entry.chats[chat] ?? 0, time)
        put(entry)
    }

    /// Returns whether the key is known.
    @discardableResult
    package mutating func setVerified(_ isVerified: Bool, _ key: PublicKey, at time: Double) -> Bool {
        guard entries[key] != nil else { return false }
        entries[key]?.isVerified = isVerified
        entries[key]?.decided = time
        return true
    }

    /// Returns whether the key is known.
    @discardableResult
    package mutating func setBlocked(_ isBlocked: Bool, _ key: PublicKey, at time: Double) -> Bool {
        guard entries[key] != nil else { return false }
        entries[key]?.isBlocked = isBlocked
        entries[key]?.decided = time
        return true
    }

    /// Takes in what another table knows. What the user decided last holds.
    package mutating func merge(_ other: KnownPeers) {
        for (key, theirs) in other.entries {
            guard var ours = entries[key] else {
                put(theirs)
                continue
            }
            let isOlder = (ours.lastSeen, ours.names.first ?? "") < (theirs.lastSeen, theirs.names.first ?? "")
            ours.names = Self.limited(isOlder ? theirs.names + ours.names : ours.names + theirs.names)
            ours.named.merge(theirs.named) { min($0, $1) }
            ours.firstSeen = min(ours.firstSeen, theirs.firstSeen)
            ours.lastSeen = max(ours.lastSeen, theirs.lastSeen)
            ours.chats.merge(theirs.chats) { max($0, $1) }
            if ours.decided < theirs.decided {
                ours.isVerified = theirs.isVerified
                ours.isBlocked = theirs.isBlocked
                ours.decided = theirs.decided
            }
            put(ours)
        }
        trim()
    }

    // MARK: Questions

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }
    /// In the order of their keys.
    package var all: [Entry] { entries.values.sorted { $0.key < $1.key } }
    package var blocked: [PublicKey] { all.filter(\.isBlocked).map(\.key) }

    package subscript(key: PublicKey) -> Entry? { entries[key] }

    /// Those who were seen in a chat, by its tag.
    package func seen(in chat: String) -> [(entry: Entry, time: Double)] {
        all.compactMap { entry in entry.chats[chat].map { (entry, $0) } }
    }

    /// The people that somebody with that name might be mistaken for, in the order of their keys: those who had it
    /// before, and those who are verified. Whoever had it first is taken for nobody else.
    package func namesakes(of key: PublicKey, name: String) -> [PublicKey] {
        // Folding takes its time, and a whole crowd may hold the name.
        let folded = Self.folded(name)
        let since = entries[key]?.since(folded: folded) ?? .infinity
        return holders(of: folded, but: key).filter { other in
            entries[other].map { $0.isVerified || $0.since(folded: folded) <= since } ?? false
        }.sorted()
    }

    // MARK: Helpers

    /// The others who are known under a name, given in its folded form, without blocked ones, in any order.
    private func holders(of folded: String, but key: PublicKey) -> [PublicKey] {
        guard !folded.isEmpty else { return [] }
        return (holders[folded] ?? []).filter { $0 != key && entries[$0]?.isBlocked == false }
    }

    private mutating func put(_ entry: Entry) {
        var entry = entry
        let kept = Set(entry.names.map(Self.folded))
        entry.named = entry.named.filter { kept.contains($0.key) }
        if entry.chats.count > KnownPeersLimits.chats {
            let newest = entry.chats.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            entry.chats = Dictionary(uniqueKeysWithValues: newest.prefix(KnownPeersLimits.chats).map { ($0, $1) })
        }
        let before = entries[entry.key]?.names ?? []
        if before != entry.names {
            for name in before { drop(entry.key, from: name) }
            for name in entry.names { holders[Self.folded(name), default: []].insert(entry.key) }
        }
        entries[entry.key] = entry
    }

    private mutating func remove(_ key: PublicKey) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        for name in entry.names { drop(key, from: name) }
    }

    private mutating func drop(_ key: PublicKey, from name: String) {
        let folded = Self.folded(name)
        holders[folded]?.remove(key)
        if holders[folded]?.isEmpty == true { holders[folded] = nil }
    }

    private mutating func trim() {
        guard entries.count > KnownPeersLimits.peers else { return }
        let order = all.sorted { left, right in
            let (leftStays, rightStays) = (left.isVerified || left.isBlocked, right.isVerified || right.isBlocked)
            return leftStays == rightStays ? left.lastSeen < right.lastSeen : rightStays
        }
        for entry in order.prefix(entries.count - KnownPeersLimits.peers) { remove(entry.key) }
    }

    private static func limited(_ names: [String]) -> [String] {
        var kept: [String] = []
        for name in names where !kept.contains(name) { kept.append(name) }
        return Array(kept.prefix(KnownPeersLimits.names))
    }

    /// Names that a person would take for the same have the same.
    fileprivate static func folded(_ name: String) -> String {
        name.precomposedStringWithCompatibilityMapping.lowercased().trimmingCharacters(in: .whitespaces)
    }
}

// MARK: - The form on disk

extension KnownPeers {
    private static let version = 1

    package enum Reading: Equatable {
        case peers(KnownPeers)
        case newer
        case damaged
    }

    private struct Version: Decodable {
        let version: Int
    }

    private struct File: Codable {
        var version: Int
        var peers: [Record]
    }

    private struct Record: Codable {
        var key: String
        /// For whoever reads the file.
        var user: String
        var names: [String]
        var named: [String: Double]?
        var firstSeen, lastSeen: Double
        var chats: [String: Double]
        var verified, blocked: Bool
        var decided: Double
    }

    /// JSON with sorted members: equal tables have equal bytes.
    package func encoded() -> [UInt8] {
        let records = all.map { entry in
            Record(
                key: entry.key.base64url, user: entry.key.userID.description, names: entry.names,
                named: entry.named, firstSeen: entry.firstSeen, lastSeen: entry.lastSeen, chats: entry.chats,
                verified: entry.isVerified, blocked: entry.isBlocked, decided: entry.decided)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers: there is nothing that could fail.
        let data = (try? encoder.encode(File(version: Self.version, peers: records))) ?? Data()
        return Array(data) + [UInt8(ascii: "\n")]
    }

    private static func isTime(_ seconds: Double) -> Bool { KnownPeersLimits.times.contains(seconds) }

    /// Reads all or nothing.
    package static func read(_ bytes: [UInt8]) -> Reading {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            return .damaged
        }
        guard version == Self.version else { return .newer }
        guard let file = try? JSONDecoder().decode(File.self, from: data) else { return .damaged }
        var peers = KnownPeers()
        for record in file.peers {
            guard let key = PublicKey(base64url: record.key), peers.entries[key] == nil,
                record.names.allSatisfy({ $0.utf8.count <= Limits.maximumNameSize }),
                ([record.firstSeen, record.lastSeen, record.decided] + record.chats.values).allSatisfy(isTime),
                (record.named ?? [:]).values.allSatisfy(isTime)
            else { return .damaged }
            peers.put(
                Entry(
                    key: key, names: limited(record.names), named: record.named ?? [:], firstSeen: record.firstSeen,
                    lastSeen: record.lastSeen,
                    chats: record.chats, isVerified: record.verified, isBlocked: record.blocked,
                    decided: record.decided))
        }
        peers.trim()
        return .peers(peers)
    }
}

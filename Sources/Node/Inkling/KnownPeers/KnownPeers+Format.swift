import FoundationEssentials
import InklingWire

/// The form on disk: JSON, of version 2.
///
/// The members of a person:
/// - `key`, `user`: the static key in base64url, and its user ID for human readers of the file
/// - `names`, `named`: the names, the last one first; the first use of each, by its folded form
/// - `firstSeen`, `lastSeen`, `chats`: seconds since 1970; `chats` by the stored names of the chats
/// - `ages`: by the stored names of the chats, when the key was last present, in milliseconds of the age
/// - `addresses`: by the stored names of the chats, the last two addresses of links (D-19); not for strangers
/// - `days`, `dayBegan`: the number of days met; when the last of these began, in seconds of the age
/// - `togetherMilliseconds`: the time that they were there while a node of this user was
/// - `kept`: a number that is higher for people kept later; only for people not on probation
/// - `verified`, `blocked`: the decision (`is`), and its `number`, which only grows
///
/// Version 1, of release 0.1, had `verified` and `blocked` as Booleans, with one time, `decided`, for both, and none of
/// `days`, `dayBegan`, `togetherMilliseconds` and `kept`. A program of that release leaves a file of version 2 alone.
extension KnownPeers {
    private static let version = 2

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
        struct Decided: Codable {
            var `is`: Bool
            var number: UInt64
        }

        var key, user: String
        var names: [String]
        var named: [String: Double]
        var firstSeen, lastSeen: Double
        var chats: [String: Double]
        /// Nil in files of releases before 0.3.
        var ages: [String: Int64]?
        /// Nil in files of releases before 0.3.
        var addresses: [String: [String]]?
        var days: UInt64
        var dayBegan: Double
        var togetherMilliseconds: UInt64
        var kept: UInt64?
        var verified, blocked: Decided
    }

    private struct FirstFile: Decodable {
        var peers: [FirstRecord]
    }

    private struct FirstRecord: Decodable {
        var key: String
        var names: [String]
        var named: [String: Double]?
        var firstSeen, lastSeen: Double
        var chats: [String: Double]
        var verified, blocked: Bool
        var decided: Double
    }

    /// Returns JSON with sorted members, so that equal tables have equal bytes.
    package func encoded() -> [UInt8] {
        let records = all.map { entry in
            Record(
                key: entry.key.base64url, user: entry.key.userID.description, names: entry.names, named: entry.named,
                firstSeen: entry.firstSeen, lastSeen: entry.lastSeen, chats: entry.chats,
                ages: entry.ages.isEmpty ? nil : entry.ages.mapValues(\.milliseconds),
                addresses: entry.addresses.isEmpty ? nil : entry.addresses, days: entry.days.count,
                dayBegan: max(entry.days.began, .zero).seconds,
                togetherMilliseconds: UInt64(entry.together.milliseconds),
                kept: entry.kept,
                verified: .init(is: entry.verified.isSet, number: entry.verified.number),
                blocked: .init(is: entry.blocked.isSet, number: entry.blocked.number))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers can always be encoded.
        let data = (try? encoder.encode(File(version: Self.version, peers: records))) ?? Data()
        return Array(data) + [UInt8(ascii: "\n")]
    }

    /// Reads the whole file. If one entry is damaged, reads none.
    package static func read(_ bytes: [UInt8], using generator: inout some RandomNumberGenerator) -> Reading {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            return .damaged
        }
        let read: [Entry]?
        switch version {
        case 1: read = (try? JSONDecoder().decode(FirstFile.self, from: data)).flatMap { upgraded($0.peers) }
        case 2: read = (try? JSONDecoder().decode(File.self, from: data)).flatMap { entries($0.peers) }
        default: return .newer
        }
        guard let read else { return .damaged }
        var peers = KnownPeers()
        for entry in read {
            guard peers[entry.key] == nil else { return .damaged }
            peers.put(entry)
        }
        peers.trim(using: &generator)
        return .peers(peers)
    }

    /// Returns the entries; nil if one of them is damaged.
    private static func entries(_ records: [Record]) -> [Entry]? {
        var entries: [Entry] = []
        for record in records {
            let counts = [
                record.days, record.togetherMilliseconds, record.kept ?? 0, record.verified.number,
                record.blocked.number,
            ]
            guard
                var entry = entry(
                    record.key, record.names, record.named, record.firstSeen, record.lastSeen, record.chats),
                isTime(record.dayBegan), counts.allSatisfy(KnownPeersLimits.counts.contains)
            else { return nil }
            for (chat, age) in record.ages ?? [:] where entry.chats[chat] != nil {
                guard let age = Age(milliseconds: age) else { return nil }
                entry.ages[chat] = age
            }
            // An address needs a chat. A text that is not an address is ignored later.
            entry.addresses = (record.addresses ?? [:]).filter { entry.chats[$0.key] != nil }
                .mapValues { Array($0.prefix(Limits.rememberedAddressesPerKey)) }
            entry.days = DaysMet(count: record.days, began: Age.zero + .seconds(record.dayBegan))
            entry.together = .milliseconds(record.togetherMilliseconds)
            entry.kept = record.kept
            entry.verified = Decision(record.verified.is, number: record.verified.number)
            entry.blocked = Decision(record.blocked.is, number: record.blocked.number)
            entries.append(entry)
        }
        return entries
    }

    /// Returns the entries of release 0.1; nil if one of them is damaged. That release kept at most 1,000 people, so
    /// both parts together hold all of them. The table keeps people met on two days, and then those seen last.
    private static func upgraded(_ records: [FirstRecord]) -> [Entry]? {
        var entries: [Entry] = []
        for record in records {
            guard
                var entry = entry(
                    record.key, record.names, record.named ?? [:], record.firstSeen, record.lastSeen, record.chats),
                isTime(record.decided)
            else { return nil }
            let cameBack = record.lastSeen - record.firstSeen >= KnownPeersLimits.day / .seconds(1)
            entry.days = DaysMet(count: cameBack ? 2 : 1)
            entry.verified = Decision(record.verified, number: record.verified ? 1 : 0)
            entry.blocked = Decision(record.blocked, number: record.blocked ? 1 : 0)
            entries.append(entry)
        }
        let order = entries.indices.filter { entries[$0].part != .decided }.sorted { left, right in
            let (left, right) = (entries[left], entries[right])
            return (right.days.count, right.lastSeen, right.key) < (left.days.count, left.lastSeen, left.key)
        }
        for index in order.prefix(KnownPeersLimits.kept) { entries[index].kept = 0 }
        return entries
    }

    /// Returns the members that both versions share; nil if they are damaged.
    private static func entry(
        _ key: String, _ names: [String], _ named: [String: Double], _ firstSeen: Double, _ lastSeen: Double,
        _ chats: [String: Double]
    ) -> Entry? {
        guard let key = try? PublicKey(base64url: key),
            names.allSatisfy({ $0.utf8.count <= Limits.maximumDisplayNameSize }),
            ([firstSeen, lastSeen] + named.values + chats.values).allSatisfy(isTime)
        else { return nil }
        // Release 0.1 folded names differently.
        let refolded = Dictionary(named.map { (folded($0.key), $0.value) }) { min($0, $1) }
        var entry = Entry(
            key: key, names: limited(names), named: refolded, firstSeen: firstSeen, lastSeen: lastSeen, chats: chats)
        entry.limitChats()
        return entry
    }

    private static func isTime(_ seconds: Double) -> Bool { KnownPeersLimits.times.contains(seconds) }
}

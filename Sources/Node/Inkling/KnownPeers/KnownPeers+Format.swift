import FoundationEssentials
import InklingWire

/// The files of builds before `state.db`: JSON, of version 2.
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
    private struct Version: Decodable {
        let version: Int
    }

    private struct File: Decodable {
        var peers: [Record]
    }

    private struct Record: Decodable {
        struct Decided: Decodable {
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

    /// Reads the file of an earlier build. If one entry is damaged, or the version is unknown, reads none.
    package init?(earlier bytes: [UInt8]) {
        let data = Data(bytes)
        let version = (try? JSONDecoder().decode(Version.self, from: data))?.version
        let read: [Entry]?
        switch version {
        case 1: read = (try? JSONDecoder().decode(FirstFile.self, from: data)).flatMap { Self.upgraded($0.peers) }
        case 2: read = (try? JSONDecoder().decode(File.self, from: data)).flatMap { Self.entries($0.peers) }
        default: return nil
        }
        guard let read, Set(read.map(\.key)).count == read.count else { return nil }
        self.init(read)
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
            (entry.isVerified, entry.isBlocked) = (record.verified.is, record.blocked.is)
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
            (entry.isVerified, entry.isBlocked) = (record.verified, record.blocked)
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
        let names = limited(names)
        let present = Set(names.map(folded))
        var entry = Entry(
            key: key, names: names, named: refolded.filter { present.contains($0.key) }, firstSeen: firstSeen,
            lastSeen: lastSeen, chats: chats)
        entry.limitChats()
        return entry
    }

    private static func isTime(_ seconds: Double) -> Bool { KnownPeersLimits.times.contains(seconds) }
}

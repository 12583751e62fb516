import InklingCore
import InklingModel
import InklingWire

/// The people that this user's nodes have met.
///
/// One attacker can make keys and be met under thousands of names. So the table has two parts, as a segmented cache
/// has. Newly met people are on probation, where the table evicts a random one. The table keeps people who were there
/// for ten minutes in all, or on a second day. Of these it evicts the lowest rank: days met, then time together. The
/// person kept last stays at any rank, so that a full table accepts new friends. People the user verified or blocked
/// are in neither part, and are never evicted.
package struct KnownPeers: Sendable {
    package struct Entry: Equatable, Sendable {
        package let key: PublicKey
        /// The names of the key, the latest first.
        package internal(set) var names: [String]
        /// The time when the key first used each name, by the folded form of the name.
        package internal(set) var named: [String: Double] = [:]
        package internal(set) var firstSeen: Double
        package internal(set) var lastSeen: Double
        /// The time when the key was last present in each chat, by the stored name of the chat.
        package internal(set) var chats: [String: Double] = [:]
        /// The age at which the key was last present in each chat, by the stored name of the chat. Earlier builds recorded
        /// none.
        package internal(set) var ages: [String: Age] = [:]
        /// The last addresses of links with the key in each chat, the latest first, by the stored name of the chat
        /// (D-19).
        package internal(set) var addresses: [String: [String]] = [:]
        package internal(set) var days = DaysMet()
        /// The total time for which the person and a node of this user were present together, in any chat, in whole
        /// milliseconds.
        package internal(set) var together = Duration.zero
        /// A number that grows with each person that the table begins to keep; nil for a person on probation.
        package internal(set) var kept: UInt64?
        /// Whether the user verified the person, and whether the user blocked them.
        package internal(set) var isVerified = false
        package internal(set) var isBlocked = false

        /// Whether the node prefers the person to strangers. The user has verified the person, or met them on two days
        /// at least 24 h apart. Never true for blocked people.
        package var isPreferred: Bool { !isBlocked && (isVerified || days.count >= 2) }

        package var part: Part {
            if isVerified || isBlocked { return .decided }
            return kept == nil ? .probation : .kept
        }

        package var known: KnownPeer {
            KnownPeer(
                user: key.userID, key: key, names: names, namedSince: Timestamp(rawValue: since(names.first ?? "")),
                firstSeen: Timestamp(rawValue: firstSeen), lastSeen: Timestamp(rawValue: lastSeen),
                isVerified: isVerified, isBlocked: isBlocked)
        }

        /// Returns the time since when the key has used a name.
        func since(_ name: String) -> Double { named[KnownPeers.folded(name)] ?? firstSeen }

        /// Returns whether the table evicts this person before another one. The order uses no clock. Between equals,
        /// the keys decide.
        func ranksBelow(_ other: Entry) -> Bool {
            (days.count, together, key) < (other.days.count, other.together, other.key)
        }

        var hasProved: Bool { days.count >= 2 || together >= KnownPeersLimits.provingTime }

        /// Records that the person was present.
        mutating func note(_ time: MeetingTime, in chat: String) {
            lastSeen = time.wall
            chats[chat] = time.wall
            ages[chat] = time.age
            days.note(time)
            limitChats()
        }

        /// Drops the oldest chats.
        mutating func limitChats() {
            guard chats.count > KnownPeersLimits.chats else { return }
            let oldest = chats.map { (ages[$0.key] ?? .zero, $0.value, $0.key) }.sorted(by: <)
            for (_, _, chat) in oldest.prefix(chats.count - KnownPeersLimits.chats) {
                chats[chat] = nil
                ages[chat] = nil
                addresses[chat] = nil
            }
        }
    }

    /// The part of the table that holds a person.
    package enum Part: Equatable, Sendable {
        case probation, kept
        /// The user verified or blocked the person.
        case decided
    }

    /// How well the user knows each person that the node prefers to strangers; see ``Entry/isPreferred``.
    package private(set) var standings: [PublicKey: Standing] = [:]
    /// The keys of ``standings``.
    package var preferred: Set<PublicKey> { Set(standings.keys) }
    private(set) var entries: [PublicKey: Entry] = [:]
    /// The names of all people; nil until ``prepare()``.
    private var names: KnownNames?
    /// The keys of people on probation. The order depends only on past events, so that equal generators make the same
    /// choices.
    private var probation: [PublicKey] = []
    private var kept: Set<PublicKey> = []
    private var lastKept: UInt64 = 0
    /// The people whose entries the disk lacks.
    package private(set) var changes: Set<PublicKey> = []

    package init() {}

    /// Makes a table of people that are on disk.
    package init(_ people: [Entry]) {
        entries.reserveCapacity(people.count)
        for entry in people { put(entry) }
        probation.sort()
        changes = []
    }

    // MARK: Names

    /// Makes the table know who has which name, which can take 100 ms. Otherwise the first question about a name does.
    mutating func prepare() {
        if names == nil { names = KnownNames(entries.mapValues(\.names)) }
    }

    /// Prepares the table with what a thread computed for ``all`` people of a moment before.
    mutating func prepare(_ known: KnownNames, of before: [PublicKey: [String]]) {
        guard names == nil else { return }
        names = known
        for key in before.keys where entries[key] == nil { names?.remove(key) }
        for (key, entry) in entries where before[key] != entry.names { names?.set(entry.names, of: key) }
    }

    // MARK: Changes

    /// Records that a person is present under a name.
    ///
    /// - Returns: If this key has not used the name before, the other people known under it, in the order of their
    ///   keys. Blocked people are left out, because nobody mistakes the newcomer for them.
    package mutating func met(
        _ key: PublicKey, name: String, chat: String, at time: MeetingTime,
        using generator: inout some RandomNumberGenerator
    ) -> [PublicKey] {
        var entry = entries[key] ?? Entry(key: key, names: [], firstSeen: time.wall, lastSeen: time.wall)
        let others = take(name, for: &entry, at: time.wall)
        entry.note(time, in: chat)
        promote(&entry)
        put(entry)
        trim(sparing: key, using: &generator)
        return others
    }

    /// Records that a person met before was still present at that time.
    package mutating func seen(
        _ key: PublicKey, chat: String, at time: MeetingTime, using generator: inout some RandomNumberGenerator
    ) {
        guard var entry = entries[key] else { return }
        entry.note(time, in: chat)
        promote(&entry)
        put(entry)
        trim(sparing: key, using: &generator)
    }

    /// Counts the part of a stay that was not counted yet. If the table has forgotten the person, a long enough stay
    /// adds the person again.
    package mutating func count(
        _ stay: inout Stay, with key: PublicKey, now: Instant, at time: MeetingTime,
        using generator: inout some RandomNumberGenerator
    ) {
        var entry: Entry
        if let known = entries[key] {
            entry = known
        } else {
            stay.startOver()
            let length = stay.length(at: now)
            guard length >= KnownPeersLimits.provingTime else { return }
            let came = max(time.wall - Double(length.milliseconds) / 1_000, KnownPeersLimits.times.lowerBound)
            entry = Entry(key: key, names: [stay.name], firstSeen: came, lastSeen: time.wall)
            entry.note(time, in: stay.chat)
        }
        let longest = Duration.milliseconds(KnownPeersLimits.counts.upperBound - 1)
        entry.together = min(entry.together + stay.take(at: now), longest)
        promote(&entry)
        put(entry)
        trim(sparing: key, using: &generator)
    }

    /// Records whether the user has verified a person, who need not have been met.
    ///
    /// - Parameter name: The name to record if the person is not known yet.
    package mutating func setVerified(
        _ isVerified: Bool, _ key: PublicKey, name: String? = nil, at time: MeetingTime,
        using generator: inout some RandomNumberGenerator
    ) {
        decide(\.isVerified, isVerified, key, name, time, &generator)
    }

    /// Records whether the user blocks a person, who need not have been met.
    ///
    /// - Parameter name: The name to record if the person is not known yet.
    package mutating func setBlocked(
        _ isBlocked: Bool, _ key: PublicKey, name: String? = nil, at time: MeetingTime,
        using generator: inout some RandomNumberGenerator
    ) {
        decide(\.isBlocked, isBlocked, key, name, time, &generator)
    }

    private mutating func decide(
        _ kind: WritableKeyPath<Entry, Bool>, _ isSet: Bool, _ key: PublicKey, _ name: String?,
        _ time: MeetingTime, _ generator: inout some RandomNumberGenerator
    ) {
        var entry: Entry
        if let known = entries[key] {
            entry = known
        } else {
            entry = Entry(key: key, names: [], firstSeen: time.wall, lastSeen: time.wall)
            if let name { _ = take(name, for: &entry, at: time.wall) }
        }
        entry[keyPath: kind] = isSet
        promote(&entry)
        put(entry)
        trim(sparing: key, using: &generator)
    }

    /// Records the last addresses of links with a person met in a chat, the latest first (D-19).
    package mutating func setAddresses(_ addresses: [String], of key: PublicKey, in chat: String) {
        guard var entry = entries[key], entry.chats[chat] != nil, entry.addresses[chat] != addresses else { return }
        entry.addresses[chat] = addresses
        put(entry)
    }

    /// Removes and returns the people that changed since the last call, with their entries; nil for those that the table
    /// forgot.
    mutating func takeChanges() -> [PublicKey: Entry?] {
        defer { changes = [] }
        return Dictionary(uniqueKeysWithValues: changes.map { ($0, entries[$0]) })
    }

    /// Records that the disk lacks the present entries of these people.
    mutating func noteChanges(of people: some Sequence<PublicKey>) { changes.formUnion(people) }

    // MARK: Questions

    package var count: Int { entries.count }
    /// All people, in the order of their keys.
    package var all: [Entry] { entries.values.sorted { $0.key < $1.key } }
    package var verified: [PublicKey] { entries.values.lazy.filter(\.isVerified).map(\.key).sorted() }
    package var blocked: [PublicKey] { entries.values.lazy.filter(\.isBlocked).map(\.key).sorted() }
    var allNames: [PublicKey: [String]] { entries.mapValues(\.names) }
    /// The latest age at which anybody was present.
    var latestAge: Age? { entries.values.lazy.compactMap { $0.ages.values.max() }.max() }

    package subscript(key: PublicKey) -> Entry? { entries[key] }

    /// Returns the people who were seen in a chat, by its stored name.
    package func seen(in chat: String) -> [(entry: Entry, time: Double)] {
        entries.values.compactMap { entry in entry.chats[chat].map { (entry, $0) } }.sorted {
            $0.entry.key < $1.entry.key
        }
    }

    /// Returns the people for whom readers could mistake a person with this name: verified people, and those who had
    /// the name before. They are in the order of their keys.
    package mutating func namesakes(of key: PublicKey, name: String) -> [PublicKey] {
        prepare()
        // A likeness takes time to compute, and many people may have the name.
        let likeness = NameLikeness(of: name, withParts: false)
        let since = since(likeness, of: key) ?? .infinity
        return holders(of: likeness, but: key).filter { other in
            entries[other]?.isVerified == true || self.since(likeness, of: other).map { $0 <= since } ?? false
        }.sorted()
    }

    /// Returns the first of several people in the order of their keys, verified ones before the others; 8 at most.
    func likeliest(of keys: [PublicKey]) -> [Entry] {
        let verified = keys.lazy.filter { self.entries[$0]?.isVerified == true }.prefix(KnownPeersLimits.namesakes)
        let others = keys.lazy.filter { self.entries[$0]?.isVerified == false }
        return (Array(verified) + others.prefix(KnownPeersLimits.namesakes - verified.count))
            .compactMap { entries[$0] }
    }

    /// Returns the person that the user knows best: a verified one, or the highest rank.
    package func bestKnown(of keys: [PublicKey]) -> Entry? {
        keys.compactMap { entries[$0] }.max { left, right in
            left.isVerified == right.isVerified ? left.ranksBelow(right) : right.isVerified
        }
    }

    // MARK: Places

    /// Keeps a person who has been present for long enough.
    private mutating func promote(_ entry: inout Entry) {
        guard entry.kept == nil, entry.hasProved else { return }
        entry.kept = min(lastKept + 1, KnownPeersLimits.counts.upperBound - 1)
    }

    mutating func put(_ entry: Entry) {
        var entry = entry
        if names != nil, entries[entry.key]?.names != entry.names || entries[entry.key]?.named != entry.named {
            names?.set(entry.names, of: entry.key)
            let present = names?[entry.key] ?? []
            entry.named = entry.named.filter { name, _ in present.contains { $0.whole == name } }
        }
        changes.insert(entry.key)
        let before = entries.updateValue(entry, forKey: entry.key)
        if before?.part != entry.part {
            leave(before?.part, entry.key)
            switch entry.part {
            case .probation: probation.append(entry.key)
            case .kept: kept.insert(entry.key)
            case .decided: break
            }
        }
        lastKept = max(lastKept, entry.kept ?? 0)
        standings[entry.key] = entry.isPreferred ? (entry.isVerified ? .verified : .met) : nil
    }

    private mutating func remove(_ key: PublicKey) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        changes.insert(key)
        names?.remove(key)
        leave(entry.part, key)
        standings[key] = nil
    }

    private mutating func leave(_ part: Part?, _ key: PublicKey) {
        switch part {
        case .probation: probation.removeAll { $0 == key }
        case .kept: kept.remove(key)
        case .decided, nil: break
        }
    }

    /// Evicts people beyond the limits.
    ///
    /// - Parameter newcomer: The person just added, who is never evicted.
    mutating func trim(
        sparing newcomer: PublicKey? = nil, using generator: inout some RandomNumberGenerator
    ) {
        while probation.count > KnownPeersLimits.probation {
            guard let gone = probation.filter({ $0 != newcomer }).randomElement(using: &generator) else { break }
            remove(gone)
        }
        guard kept.count > KnownPeersLimits.kept else { return }
        let people = kept.compactMap { entries[$0] }
        // Without this exception, a full table could evict a newly kept person at once. So no new person could ever stay.
        let last = people.max { ($0.kept ?? 0, $0.key) < ($1.kept ?? 0, $1.key) }?.key
        let lowest = people.filter { $0.key != last && $0.key != newcomer }.sorted { $0.ranksBelow($1) }
        for entry in lowest.prefix(kept.count - KnownPeersLimits.kept) { remove(entry.key) }
    }

    // MARK: Helpers

    /// Adds a name. If it is new to the key, returns the other people known under it.
    private mutating func take(_ name: String, for entry: inout Entry, at time: Double) -> [PublicKey] {
        prepare()
        let likeness = NameLikeness(of: name, withParts: false)
        let isNew = !(names?[entry.key] ?? []).contains { $0.whole == likeness.whole && $0.isAlike(likeness) }
        let others = isNew ? holders(of: likeness, but: entry.key).sorted() : []
        entry.names = Self.limited([name] + entry.names)
        if isNew {
            // The current holders of the name had it first, even if the clock was changed since.
            let before = others.compactMap { since(likeness, of: $0)?.nextUp }.max() ?? time
            entry.named[likeness.whole] = min(max(time, before), KnownPeersLimits.times.upperBound.nextDown)
        }
        return others
    }

    /// Returns the time when a key first used a name like this one; nil for an unknown key.
    private func since(_ likeness: NameLikeness, of key: PublicKey) -> Double? {
        guard let entry = entries[key] else { return nil }
        let alike = (names?[key] ?? []).filter { $0.isAlike(likeness) }
        return alike.compactMap { entry.named[$0.whole] }.min() ?? entry.firstSeen
    }

    /// Returns the other people known under a name, without blocked ones, in any order.
    private func holders(of likeness: NameLikeness, but key: PublicKey) -> [PublicKey] {
        (names?.holders(of: likeness) ?? []).filter { $0 != key && entries[$0]?.isBlocked == false }
    }

    static func limited(_ names: [String]) -> [String] {
        var kept: [String] = []
        for name in names where !kept.contains(name) { kept.append(name) }
        return Array(kept.prefix(KnownPeersLimits.names))
    }

    /// Returns the form by which the file knows a name. Folding it again changes nothing.
    static func folded(_ name: String) -> String { NameLikeness(of: name, withParts: false).whole }
}

extension KnownPeers: Equatable {
    /// Returns whether two tables have equal entries.
    package static func == (left: KnownPeers, right: KnownPeers) -> Bool { left.entries == right.entries }
}

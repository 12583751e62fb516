import InklingWire

/// The last addresses of links with preferred people. The node opens to them independently of discovery (D-19, D-23).
struct RememberedAddresses: Sendable {
    struct Entry: Sendable {
        /// At most two addresses, the latest first.
        var addresses: [Address]
        /// The time of the next attempt; nil while the person has an up link.
        var nextAttempt: Instant?
        /// The time until which the node does not open to the addresses, after a bye.
        var restsUntil: Instant?
        /// Whether the next attempt was already postponed in favour of the opening's.
        var wasPutOff = false
        let order: UInt64
    }

    private var entries = Table<PersonID, Entry>()
    private var newest: UInt64 = 0

    subscript(person: PersonID) -> Entry? { entries.find(person) }

    var people: [PersonID] { entries.sortedIDs }

    func deadline(of person: PersonID) -> Instant? { entries.find(person)?.nextAttempt }

    mutating func takeTouched() -> [PersonID] { entries.takeTouched() }

    /// Remembers the addresses of a person's link.
    mutating func remember(
        _ person: PersonID, at addresses: [Address], _ links: LinkTable, _ surroundings: Surroundings
    ) {
        if let entry = entries.find(person) {
            guard entry.addresses.first != addresses.first else { return }
            let all = addresses + entry.addresses.filter { !addresses.contains($0) }
            entries[person].addresses = Array(all.prefix(Limits.rememberedAddressesPerKey))
            return
        }
        guard makeRoom(for: person, links, surroundings) else { return }
        newest += 1
        entries.insert(
            Entry(addresses: Array(addresses.prefix(Limits.rememberedAddressesPerKey)), order: newest), for: person)
    }

    /// Makes room for a person (D-19). The method evicts an entry of the lowest rank that is not above the new
    /// person's. Among these, entries without a link go first, then the oldest.
    private mutating func makeRoom(
        for person: PersonID, _ links: LinkTable, _ surroundings: Surroundings
    ) -> Bool {
        guard entries.count >= Limits.rememberedKeys else { return true }
        func rank(_ other: PersonID) -> (Standing, Int, UInt64) {
            (surroundings.standing(of: other), links.hasLink(to: other) ? 1 : 0, entries[other].order)
        }
        guard let victim = entries.sortedIDs.min(by: { rank($0) < rank($1) }),
            rank(victim).0 <= surroundings.standing(of: person)
        else { return false }
        entries.remove(victim)
        return true
    }

    /// Plans the next attempt, after the end of a rest.
    mutating func plan(_ person: PersonID, at instant: Instant?) {
        guard let entry = entries.find(person) else { return }
        entries[person].nextAttempt = instant.map { max($0, entry.restsUntil ?? $0) }
    }

    /// Postpones the next attempt once, in favour of the opening's attempt (D-23).
    mutating func putOff(_ person: PersonID, until instant: Instant) -> Bool {
        guard let entry = entries.find(person), !entry.wasPutOff else { return false }
        entries[person].wasPutOff = true
        entries[person].nextAttempt = instant
        return true
    }

    /// Records that an attempt begins. The next one follows 5 s later (D-23).
    mutating func began(_ person: PersonID, now: Instant) {
        entries[person].wasPutOff = false
        entries[person].nextAttempt = now + Limits.rememberedInterval
    }

    mutating func rest(_ person: PersonID, now: Instant) {
        guard entries.contains(person) else { return }
        entries[person].restsUntil = now + Limits.shortRest
    }

    mutating func endRests() {
        for person in entries.sortedIDs { entries[person].restsUntil = nil }
    }

    /// Forgets the addresses of people who have become strangers.
    mutating func forgetStrangers(_ surroundings: Surroundings) {
        for person in entries.sortedIDs where !surroundings.isPreferred(person) { entries.remove(person) }
    }

    mutating func removeAll(of chat: ChatID) {
        for person in entries.sortedIDs where person.chat == chat { entries.remove(person) }
    }
}

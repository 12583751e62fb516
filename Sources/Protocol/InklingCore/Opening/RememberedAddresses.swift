import InklingWire

/// The last addresses of links with preferred people. The node opens to them independently of discovery (D-19, D-23).
struct RememberedAddresses: Sendable {
    struct Entry: Sendable {
        /// At most two, the last first.
        var addresses: [Address]
        /// When the next attempt begins; nil while an up link makes it needless.
        var nextAttempt: Instant?
        /// Until when nothing is opened there, after a bye.
        var restsUntil: Instant?
        /// Whether the next attempt was put off already for the opening's.
        var wasPutOff = false
        let order: UInt64
    }

    private var entries = Table<PersonID, Entry>()
    private var newest: UInt64 = 0

    subscript(person: PersonID) -> Entry? { entries.find(person) }

    var people: [PersonID] { entries.sortedIDs }

    func deadline(of person: PersonID) -> Instant? { entries.find(person)?.nextAttempt }

    mutating func takeTouched() -> [PersonID] { entries.takeTouched() }

    /// Remembers where a person's link leads.
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

    /// Forgets, of too many, the lowest rank, one without a link first, then the oldest; none of a higher rank (D-19).
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

    /// Plans the next attempt; a rest puts it off.
    mutating func plan(_ person: PersonID, at instant: Instant?) {
        guard let entry = entries.find(person) else { return }
        entries[person].nextAttempt = instant.map { max($0, entry.restsUntil ?? $0) }
    }

    /// The next attempt waits once for the opening's (D-23).
    mutating func putOff(_ person: PersonID, until instant: Instant) -> Bool {
        guard let entry = entries.find(person), !entry.wasPutOff else { return false }
        entries[person].wasPutOff = true
        entries[person].nextAttempt = instant
        return true
    }

    /// An attempt begins; the next follows 5 s later (D-23).
    mutating func began(_ person: PersonID, now: Instant) {
        entries[person].wasPutOff = false
        entries[person].nextAttempt = now + Limits.rememberedInterval
    }

    mutating func rest(_ person: PersonID, now: Instant) {
        guard entries.contains(person) else { return }
        entries[person].restsUntil = now + Limits.restByHand
    }

    mutating func endRests() {
        for person in entries.sortedIDs { entries[person].restsUntil = nil }
    }

    /// Forgets the addresses of people who are strangers now.
    mutating func forgetStrangers(_ surroundings: Surroundings) {
        for person in entries.sortedIDs where !surroundings.isPreferred(person) { entries.remove(person) }
    }

    mutating func removeAll(of chat: ChatID) {
        for person in entries.sortedIDs where person.chat == chat { entries.remove(person) }
    }
}

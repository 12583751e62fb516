import InklingWire

/// The last addresses of links with people whom the user knows: whatever discovery says, they are opened to (D-19).
extension PeerDirectory {
    func remembered(_ person: PersonID) -> PeerSource? {
        sources.id(of: .remembered(person.key), in: person.chat).map { sources[$0] }
    }

    // MARK: Remembering

    /// A link was made or has moved: remembers where, if its key is no stranger's.
    mutating func noteAddress(of link: Link, _ links: LinkTable, _ surroundings: Surroundings) {
        let person = link.personID
        guard surroundings.isPreferred(person) else { return }
        if let source = remembered(person) {
            guard source.addresses.first != link.address else { return }
            let others = source.addresses.filter { $0 != link.address }
            sources[source.id].addresses = Array(([link.address] + others).prefix(Limits.addressesPerRememberedKey))
            return
        }
        guard makeRoomToRemember(person, links, surroundings) else { return }
        _ = sources.add(.remembered(person.key), chat: person.chat, key: person.key, addresses: [link.address])
    }

    /// Remembers where a person was in an earlier run, unless the node knows better.
    mutating func recall(
        _ person: PersonID, at addresses: [Address], _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        let addresses = addresses.filter(\.isUnicast).prefix(Limits.addressesPerRememberedKey)
        guard surroundings.isPreferred(person), !addresses.isEmpty, remembered(person) == nil,
            makeRoomToRemember(person, links, surroundings)
        else { return }
        let id = sources.add(
            .remembered(person.key), chat: person.chat, key: person.key, addresses: Array(addresses))
        start(id, links, surroundings, now: now)
    }

    /// Forgets, of too many, one without a link first, then one of the lowest standing, and of these the oldest; none of a
    /// higher standing than the new one's.
    private mutating func makeRoomToRemember(
        _ person: PersonID, _ links: LinkTable, _ surroundings: Surroundings
    ) -> Bool {
        let all = sources.sortedIDs.filter { sources[$0].isRemembered }
        guard all.count >= Limits.rememberedKeys else { return true }
        func rank(_ id: PeerSourceID) -> (Standing, Int) {
            guard let other = sources[id].person else { return (.stranger, 0) }
            return (surroundings.standing(of: other), links.hasLink(to: other) ? 1 : 0)
        }
        guard let victim = all.min(by: { rank($0) < rank($1) }), rank(victim).0 <= surroundings.standing(of: person)
        else { return false }
        sources.remove(victim)
        return true
    }

    /// Forgets the addresses of keys that the user no longer knows.
    mutating func forgetStrangers(_ surroundings: Surroundings) {
        for id in sources.sortedIDs
        where sources[id].isRemembered && !(sources[id].person.map(surroundings.isPreferred) ?? false) {
            sources.remove(id)
        }
    }

    /// A link ended: its addresses are opened to again, after a farewell only when the pause is over (L-35).
    mutating func endedRemembered(
        _ link: Link, _ reason: PresenceReason, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        guard let source = remembered(link.personID), !links.hasLink(to: link.personID) else { return }
        switch reason {
        case .silence: start(source.id, links, surroundings, now: now)
        case .bye, .will, .full: rest(source, now: now)
        case .hello, .back, .away, .blocked, .replaced: sources.move(source.id, to: .idle)
        }
    }

    // MARK: Opening

    /// Opens to remembered addresses that are on-link. What L-6 and L-54 allow others does not bound this: the number of
    /// keys does.
    mutating func attemptRemembered(
        _ id: PeerSourceID, _ person: PersonID, _ keys: ChatKeys, _ context: OpeningContext,
        _ effects: inout Effects
    ) {
        let (now, surroundings) = (context.now, context.surroundings)
        guard !context.links.hasLink(to: person), surroundings.admits(person.key) else {
            sources.move(id, to: .idle)
            return
        }
        let addresses = surroundings.usable(sources[id].addresses)
        guard !addresses.isEmpty else {
            sources.move(id, to: .waiting(until: now + Limits.rememberedInterval))
            return
        }
        if surroundings.ownKey > person.key, sources[id].leavesOpening,
            let until = context.handshakes.openingIsLeft(to: person, at: addresses), until > now
        {
            sources.move(id, to: .waiting(until: until))
            return
        }
        // Once: a relay that answers and goes no further could put it off for good.
        if !sources[id].wasPutOff, isUnderWay(to: person, addresses, except: id) {
            sources[id].wasPutOff = true
            sources.move(id, to: .waiting(until: now + Limits.openingDelay))
            return
        }
        sources[id].wasPutOff = false
        initiate(id, person, keys, at: addresses, context, &effects)
    }

    // MARK: Turns

    /// Whether an instance may be opened to now: four of a key at once (D-9).
    func isItsTurn(_ id: PeerSourceID, of person: PersonID) -> Bool {
        guard sources[id].isDiscovered else { return true }
        let underWay = sources.sources(of: person).count {
            $0.id != id && $0.isDiscovered && $0.opening.isUnderWay
        }
        return underWay < Limits.openingsPerKey
    }

    /// Whether an instance leaves its turn to others of its key after an attempt (D-9).
    func hasToTakeTurns(_ source: PeerSource) -> Bool {
        guard source.isDiscovered, let person = source.person else { return false }
        return sources.sources(of: person).count(where: \.isDiscovered) > Limits.openingsPerKey
    }
}

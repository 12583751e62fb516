import InklingWire

/// Where peers may be: what discovery lists, addresses by hand, last known addresses; and which links cover them.
struct PeerDirectory {
    var sources = PeerSourceTable()
    /// The initiations that a node sends (L-6), and those of them to strangers.
    var initiationsSent = SlidingWindow(perSecond: Limits.initiationsSentPerSecond)
    var initiationsToStrangers = SlidingWindow(perSecond: Limits.initiationsToStrangersPerSecond)
    var destinations = Destinations()
    var crowds = Crowds()
    var displaced = DisplacedInstances()
    /// The responses that are opened from addresses that their initiation did not go to (L-49).
    var strayResponses = SlidingWindow(perSecond: Limits.strayResponsesPerSecond)
    private(set) var peersByHand: [Address] = []
    /// The addresses by hand that turned out to be our own identity's, as a notice has said.
    private var toldOneself: Set<Address> = []

    // MARK: Queries

    /// The candidate addresses of the sources that a link covers, in the order of their making.
    func candidates(coveredBy link: Link) -> [Address] {
        sources(coveredBy: link).flatMap(\.addresses)
    }

    func sources(coveredBy link: Link) -> [PeerSource] {
        sources.sources(of: link.personID).filter { $0.link == link.id }
    }

    /// Whether a link covers an address that was added by hand.
    func coversByHand(_ link: Link) -> Bool {
        sources.sources(of: link.personID).contains { $0.isByHand && $0.link == link.id }
    }

    /// Whether an address by hand is of the same host, whatever its port.
    func isHostByHand(_ address: Address) -> Bool {
        peersByHand.contains { $0.high == address.high && $0.low == address.low }
    }

    /// Whether a link was there until it fell silent.
    func isLastKnown(_ address: Address) -> Bool {
        sources.unordered.contains { source in
            if case .lastKnown = source.origin { source.addresses.contains(address) } else { false }
        }
    }

    func hasRekey(of link: Link) -> Bool { sources.id(of: .rekey(link.id), in: link.chat) != nil }

    // MARK: Discovery

    /// Discovery lists an instance of a chat; again whenever its addresses change.
    ///
    /// - Returns: The link whose peer may have moved, and has to be probed (L-41).
    mutating func found(
        _ name: String, chat: ChatTag, key: PublicKey, addresses: [Address], _ links: LinkTable,
        _ surroundings: Surroundings, now: Instant
    ) -> LinkID? {
        if let id = sources.id(of: .discovered(name), in: chat) {
            update(id, key: key, offered: addresses, links, surroundings, now: now)
            return movedLink(of: id, links, surroundings, now: now)
        }
        let person = PersonID(chat: chat, key: key)
        let known = displaced.remove(name, in: chat)
        let instance = DisplacedInstances.Instance(
            name: name, person: person, addresses: addresses,
            pace: known?.person == person ? known?.pace ?? .untried : .untried)
        guard makeRoom(for: person) else {
            displaced.insert(instance)
            return nil
        }
        add(instance, links, surroundings, now: now)
        return nil
    }

    /// Discovery knows a peer under other addresses than that of its link: it may have moved (L-41).
    private mutating func movedLink(
        of id: PeerSourceID, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) -> LinkID? {
        let source = sources[id]
        guard let link = source.link, let person = source.person, !source.addresses.isEmpty else { return nil }
        let address = links[link].address
        guard !source.addresses.contains(address) else { return nil }
        let others = sources.sources(of: person).filter { $0.id != id && !$0.isRemembered }
        guard others.contains(where: { $0.addresses.contains(address) }) else { return link }
        // It is the link of another device, which had that address before.
        sources[id].link = nil
        start(id, links, surroundings, now: now)
        return nil
    }

    /// Discovery no longer lists an instance. That alone ends nothing.
    ///
    /// - Returns: The link that has to be probed.
    mutating func lost(
        _ name: String, chat: ChatTag, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) -> LinkID? {
        guard let id = sources.id(of: .discovered(name), in: chat) else {
            _ = displaced.remove(name, in: chat)
            return nil
        }
        guard let link = sources[id].link else {
            let person = sources[id].person
            sources.remove(id)
            if let person { bringBack(person, links, surroundings, now: now) }
            return nil
        }
        sources[id].isListed = false
        return link
    }

    /// Our networks changed: other candidates may be usable now.
    mutating func review(_ links: LinkTable, _ surroundings: Surroundings, now: Instant) {
        for id in sources.sortedIDs {
            let source = sources[id]
            guard let key = source.key, !source.offered.isEmpty else { continue }
            update(id, key: key, offered: source.offered, links, surroundings, now: now)
            sources[id].isListed = source.isListed
        }
    }

    private mutating func update(
        _ id: PeerSourceID, key: PublicKey, offered: [Address], _ links: LinkTable, _ surroundings: Surroundings,
        now: Instant
    ) {
        let before = sources[id]
        let person = PersonID(chat: before.chat, key: key)
        let addresses = candidates(among: offered, of: person, known: before.addresses, links, surroundings)
        if before.key != key {
            sources.cancelAttempt(id)
            sources.setKey(of: id, to: key)
        }
        sources[id].offered = offered
        sources[id].isListed = true
        sources[id].addresses = addresses
        let isNew = before.addresses != addresses || before.key != key
        guard isNew, sources[id].link == nil else { return }
        switch sources[id].opening {
        case .attempting: return
        case .resting where before.key == key, .greeting where before.key == key: return
        case .idle, .waiting, .resting, .greeting: start(id, links, surroundings, now: now)
        }
    }

    /// Of too many addresses those of live links are kept first, then those that were known.
    func candidates(
        among addresses: [Address], of person: PersonID, known: [Address], _ links: LinkTable,
        _ surroundings: Surroundings
    ) -> [Address] {
        let live = links.links(of: person).map(\.address)
        func rank(_ address: Address) -> Int { live.contains(address) ? 0 : known.contains(address) ? 1 : 2 }
        let usable = Set(
            addresses.filter { $0.isUnicast && surroundings.isOnLink($0) && !surroundings.isOneself($0) })
        return usable.sorted { (rank($0), $0) < (rank($1), $1) }.prefix(Limits.addressesPerInstance).sorted()
    }

    // MARK: By hand

    /// An address is given by hand.
    ///
    /// - Returns: Whether it is new.
    mutating func addPeer(_ address: Address) -> Bool {
        guard !peersByHand.contains(address) else { return false }
        peersByHand.append(address)
        return true
    }

    /// An address by hand is tried in a chat.
    mutating func open(
        byHand address: Address, in chat: ChatTag, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        let id = sources.add(.byHand(address), chat: chat, key: nil, addresses: [address])
        start(id, links, surroundings, now: now)
    }

    /// The source whose ask a tell answers.
    func source(asking token: UInt32, at address: Address) -> PeerSource? {
        sources.unordered.first { $0.askToken == token && $0.addresses == [address] }
    }

    /// Whose an address by hand is.
    enum Told: Equatable {
        /// A peer's; an opening begins unless it was known.
        case peer
        /// Our own node's, or another device's with the same identity. `isNews`: for the first time.
        case oneself(isNews: Bool)
    }

    /// The node at an address by hand sent its key.
    mutating func told(
        _ key: PublicKey, for id: PeerSourceID, at address: Address, _ links: LinkTable,
        _ surroundings: Surroundings, now: Instant
    ) -> Told {
        sources[id].askToken = nil
        guard key != surroundings.ownKey else {
            sources.cancelAttempt(id)
            sources.setKey(of: id, to: nil)
            sources.move(id, to: .waiting(until: now + Limits.slowOpeningInterval))
            // What the user did not name is none of theirs to hear of.
            guard sources[id].isByHand else { return .peer }
            return .oneself(isNews: toldOneself.insert(address).inserted)
        }
        guard key != sources[id].key else { return .peer }
        sources.cancelAttempt(id)
        sources.setKey(of: id, to: key)
        start(id, links, surroundings, now: now)
        return .peer
    }

    // MARK: Links

    /// A session became a link's: that covers the source that opened it, and those with its address.
    ///
    /// - Parameter isSending: Whether the session sends: a handshake for a new session of the link is then done.
    mutating func bind(_ link: Link, opener: PeerSourceID?, at address: Address, isSending: Bool) {
        for source in sources.sources(of: link.personID) {
            sources[source.id].unconfirmed = 0
            let isRekey = source.origin == .rekey(link.id) && isSending
            let isThere = source.isRemembered || source.link == nil && source.addresses.contains(address)
            guard source.id == opener || isRekey || isThere else { continue }
            switch source.origin {
            case .rekey, .lastKnown:
                sources.remove(source.id)
            case .remembered:
                sources.move(source.id, to: .idle)
            case .discovered, .byHand, .crowded:
                sources.move(source.id, to: .idle)
                sources[source.id].pace = .untried
                sources[source.id].link = link.id
            }
        }
    }

    /// A link ended: what becomes of its candidate addresses.
    mutating func ended(
        _ link: Link, _ reason: PresenceReason, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        let bound = sources(coveredBy: link)
        let isLost = reason == .silence
        for source in bound {
            sources[source.id].link = nil
            sources.cancelAttempt(source.id)
            if case .rekey = source.origin {
                sources.remove(source.id)
            } else if !source.isListed {
                sources.remove(source.id)
            } else if isLost {
                start(source.id, links, surroundings, now: now)
            } else if reason == .bye || reason == .will || reason == .full {
                rest(source, now: now)
            } else {
                sources.move(source.id, to: .idle)
            }
        }
        if !bound.isEmpty { bringBack(link.personID, links, surroundings, now: now) }
        endedRemembered(link, reason, links, surroundings, now: now)
        guard isLost, !bound.contains(where: { $0.isListed && $0.addresses.contains(link.address) }) else { return }
        guard !links.hasLink(to: link.personID), now - link.madeAt >= Limits.memorableLinkAge,
            !sources.sources(of: link.personID).contains(where: {
                $0.isRemembered && surroundings.isOnLink(link.address)
            })
        else { return }
        remember(link, links, surroundings, now: now)
    }

    /// The peer of a session without a link said farewell: it is left alone where that session was opened to.
    mutating func farewell(of person: PersonID, opener: PeerSourceID?, at address: Address, now: Instant) {
        for source in sources.sources(of: person)
        where source.link == nil && (source.id == opener || source.addresses.contains(address)) {
            sources.cancelAttempt(source.id)
            rest(source, now: now)
        }
    }

    /// After a farewell the peer is left alone for a while; its own initiation brings it back at once (L-35).
    mutating func rest(_ source: PeerSource, now: Instant) {
        if source.isByHand || source.isRemembered {
            sources[source.id].pace = .afterFarewellByHand
            sources.move(source.id, to: .resting(until: now + Limits.openingPauseAfterByeByHand))
        } else {
            sources[source.id].pace.slowDown()
            sources.move(source.id, to: .resting(until: now + Limits.openingPauseAfterBye))
        }
    }

    /// Keeps the address where a peer was, and tries it as long as attempts are fast (L-35).
    mutating func remember(_ link: Link, _ links: LinkTable, _ surroundings: Surroundings, now: Instant) {
        let remembered = sources.sortedIDs.filter {
            if case .lastKnown = sources[$0].origin { true } else { false }
        }
        if remembered.count >= Limits.rememberedAddresses, let oldest = remembered.first { sources.remove(oldest) }
        let expires = now + Limits.fastOpeningPeriod
        let id = sources.add(
            .lastKnown(expires: expires), chat: link.chat, key: link.key, addresses: [link.address])
        start(id, links, surroundings, now: now)
    }

    /// Begins a new handshake with the peer of a link at an instant, unless one is under way.
    mutating func rekey(_ link: Link, at start: Instant) {
        let id =
            sources.id(of: .rekey(link.id), in: link.chat)
            ?? sources.add(.rekey(link.id), chat: link.chat, key: link.key, addresses: [link.address])
        sources[id].link = link.id
        switch sources[id].opening {
        case .attempting, .greeting: break
        case .idle, .waiting, .resting: sources.move(id, to: .waiting(until: start))
        }
    }

    // MARK: Leaving

    /// Nothing is opened to any more: all of them, of a blocked user, or of a chat that is left.
    mutating func idle(where condition: (PeerSource) -> Bool) {
        for id in sources.sortedIDs where condition(sources[id]) { sources.move(id, to: .idle) }
    }

    mutating func removeAll(of chat: ChatTag) {
        for id in sources.sortedIDs where sources[id].chat == chat { sources.remove(id) }
        displaced.removeAll(of: chat)
    }
}

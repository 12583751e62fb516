import InklingWire

/// The best-known peer at an address. A higher case has a larger share of limited resources (L-10, L-96, L-97, D-25).
enum Acquaintance: Int, Comparable {
    /// No known peer.
    case none
    /// A peer with a live link.
    case linked
    /// A preferred peer with a live link, a candidate of a preferred key, or an address added by hand.
    case preferred
    /// A verified peer with a live link.
    case verified

    static func < (left: Acquaintance, right: Acquaintance) -> Bool { left.rawValue < right.rawValue }
}

/// The known addresses and their best-known peers. The node looks up each datagram's source here without a search.
struct KnownAddresses: Sendable {
    private enum Owner: Hashable {
        case link(LinkID)
        case instance(InstanceID)
        case remembered(PersonID)
    }

    private var owned: [Owner: (addresses: [Address], acquaintance: Acquaintance)] = [:]
    /// The number of owners at each address, by their acquaintance.
    private var counts: [Address: [Acquaintance: Int]] = [:]

    func acquaintance(at address: Address) -> Acquaintance { counts[address]?.keys.max() ?? .none }

    /// Updates the address of a link that was made or moved.
    mutating func update(_ id: LinkID, _ links: LinkTable, _ surroundings: Surroundings) {
        let acquaintance: Acquaintance =
            switch surroundings.standing(of: links[id].personID) {
            case .stranger: .linked
            case .met: .preferred
            case .verified: .verified
            }
        set(.link(id), [links[id].address], acquaintance)
    }

    /// Removes the address of a link that ended.
    mutating func remove(_ id: LinkID) { set(.link(id), [], .none) }

    /// Updates the addresses of an instance whose candidates changed or that was removed.
    mutating func update(_ id: InstanceID, _ instances: InstanceTable, _ surroundings: Surroundings) {
        guard let instance = instances.find(id),
            instance.isByHand || instance.person.map(surroundings.isPreferred) ?? false
        else { return set(.instance(id), [], .none) }
        set(.instance(id), instance.addresses, .preferred)
    }

    /// Updates the remembered addresses of a person.
    mutating func update(_ person: PersonID, _ remembered: RememberedAddresses, _ surroundings: Surroundings) {
        let addresses = surroundings.isPreferred(person) ? remembered[person]?.addresses ?? [] : []
        set(.remembered(person), addresses, .preferred)
    }

    /// Computes all entries again, because the standings have changed.
    mutating func rebuild(_ links: LinkTable, _ directory: PeerDirectory, _ surroundings: Surroundings) {
        self = KnownAddresses()
        for id in links.sortedIDs { update(id, links, surroundings) }
        for id in directory.instances.sortedIDs { update(id, directory.instances, surroundings) }
        for person in directory.remembered.people { update(person, directory.remembered, surroundings) }
    }

    private mutating func set(_ owner: Owner, _ addresses: [Address], _ acquaintance: Acquaintance) {
        let before = owned[owner]
        guard before?.addresses ?? [] != addresses || before?.acquaintance ?? .none != acquaintance else { return }
        owned[owner] = addresses.isEmpty ? nil : (addresses, acquaintance)
        if let before {
            for address in before.addresses { count(address, before.acquaintance, -1) }
        }
        for address in addresses { count(address, acquaintance, 1) }
    }

    private mutating func count(_ address: Address, _ acquaintance: Acquaintance, _ change: Int) {
        var known = counts[address] ?? [:]
        let count = known[acquaintance, default: 0] + change
        known[acquaintance] = count > 0 ? count : nil
        counts[address] = known.isEmpty ? nil : known
    }
}

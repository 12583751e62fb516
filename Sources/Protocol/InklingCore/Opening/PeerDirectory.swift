import InklingWire

/// The possible addresses of peers: listed by discovery, added by hand, last addresses of ended links, and remembered
/// addresses.
struct PeerDirectory: Sendable {
    /// The most last addresses of ended links that the node keeps.
    private static let departedCapacity = 64

    var instances = InstanceTable()
    var crowds = Crowds()
    var displaced = DisplacedInstances()
    var remembered = RememberedAddresses()
    private(set) var peersByHand: [Address] = []
    /// The addresses added by hand that belong to this node's own identity and that a notice has reported (D-14).
    private var toldOneself: Set<Address> = []
    /// The last addresses of peers whose links a bye ended, and the time until which such peers may return from there
    /// (D-16).
    private(set) var departed: [(address: Address, until: Instant)] = []

    // MARK: Covering

    /// Returns whether an up or suspect link covers an instance.
    func isCovered(_ instance: Instance, _ links: LinkTable) -> Bool {
        guard let person = instance.person else { return false }
        return links.ids(of: person).contains { !links[$0].isDown && covers(links[$0], instance) }
    }

    /// Returns whether a link would cover an instance of its person if the link were up.
    func covers(_ link: Link, _ instance: Instance) -> Bool {
        instance.links.contains(link.id) || instance.addresses.contains(link.address)
    }

    /// Returns the number of a person's instances that no link covers.
    func uncoveredCount(of person: PersonID, _ links: LinkTable) -> Int {
        instances.instances(of: person).count { !isCovered($0, links) }
    }

    func instances(coveredBy link: Link) -> [Instance] {
        instances.instances(of: link.personID).filter { covers(link, $0) }
    }

    /// Returns the candidates of the instances that a link covers, oldest instance first.
    func candidates(coveredBy link: Link) -> [Address] { instances(coveredBy: link).flatMap(\.addresses) }

    /// Returns whether a link covers an address that was added by hand.
    func coversByHand(_ link: Link) -> Bool { instances(coveredBy: link).contains(where: \.isByHand) }

    /// Marks the instances at certain addresses as covered by a link. The link came up, or got a session while up.
    mutating func cover(_ link: Link, at addresses: [Address]) {
        for instance in instances.instances(of: link.personID) {
            guard instance.addresses.contains(where: addresses.contains), !instance.links.contains(link.id) else {
                continue
            }
            instances[instance.id].links.insert(link.id)
        }
    }

    /// Removes the cover of a link that went down or was forgotten. Instances that discovery no longer lists are then
    /// forgotten.
    mutating func uncover(_ link: Link, _ links: LinkTable, _ surroundings: Surroundings) {
        for instance in instances.instances(of: link.personID) {
            if instance.links.contains(link.id) { instances[instance.id].links.remove(link.id) }
            if !instance.isListed, !isCovered(instances[instance.id], links) { instances.remove(instance.id) }
        }
        bringBack(link.personID, links, surroundings)
    }

    // MARK: Where to open

    /// Returns the addresses for an opening: the candidates of uncovered instances that do not rest, and the addresses
    /// of down links. Addresses of up links are left out (L-2, L-3).
    func destinations(
        for person: PersonID, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) -> [Address] {
        var addresses: [Address] = []
        for instance in instances.instances(of: person)
        where !instance.isResting(now) && !isCovered(instance, links) {
            addresses += instance.addresses
        }
        for id in links.ids(of: person) where links[id].isDown { addresses.append(links[id].address) }
        guard !addresses.isEmpty else { return [] }
        var seen = Set(links.liveAddresses(of: person))
        return addresses.filter { !surroundings.isOneself($0) && seen.insert($0).inserted }
    }

    // MARK: Discovery

    /// Applies that discovery lists an instance of a chat, or lists it with other addresses.
    ///
    /// - Returns: Whether the instance has new candidates, and the person to whom it belonged before.
    mutating func found(
        _ name: String, _ person: PersonID, addresses: [Address], _ links: LinkTable, _ surroundings: Surroundings
    ) -> (isNew: Bool, before: PersonID?) {
        if let id = instances.id(of: .discovered(name), in: person.chat) {
            let before = instances[id].person
            guard before == person || hasRoom(for: person) else {
                instances.remove(id)
                displaced.insert(
                    .init(name: name, person: person, addresses: addresses, attempts: 0, failures: 0))
                return (false, before)
            }
            return (update(id, person, offered: addresses, links, surroundings), before)
        }
        let known = displaced.remove(name, in: person.chat)
        let isSame = known?.person == person
        let instance = DisplacedInstances.Instance(
            name: name, person: person, addresses: addresses, attempts: isSame ? known?.attempts ?? 0 : 0,
            failures: isSame ? known?.failures ?? 0 : 0)
        guard makeRoom(for: person, links) else {
            displaced.insert(instance)
            return (false, nil)
        }
        add(instance, links, surroundings)
        return (true, nil)
    }

    private func hasRoom(for person: PersonID) -> Bool {
        instances.instances(of: person).count(where: \.isDiscovered) < Limits.instancesPerKey
    }

    /// Applies that discovery no longer lists an instance. No link ends because of this alone (L-29).
    ///
    /// - Returns: The instance; nil if it was unknown or had found no room.
    mutating func lost(
        _ name: String, chat: ChatID, _ links: LinkTable, _ surroundings: Surroundings
    ) -> Instance? {
        guard let id = instances.id(of: .discovered(name), in: chat) else {
            _ = displaced.remove(name, in: chat)
            return nil
        }
        let instance = instances[id]
        if isCovered(instance, links) {
            instances[id].isListed = false
        } else {
            instances.remove(id)
            if let person = instance.person { bringBack(person, links, surroundings) }
        }
        return instance
    }

    /// Chooses the candidates of all instances again, because this host's networks changed.
    mutating func review(_ links: LinkTable, _ surroundings: Surroundings) {
        for id in instances.sortedIDs {
            guard let person = instances[id].person, instances[id].isDiscovered else { continue }
            let isListed = instances[id].isListed
            _ = update(id, person, offered: instances[id].offered, links, surroundings)
            instances[id].isListed = isListed
        }
    }

    private mutating func update(
        _ id: InstanceID, _ person: PersonID, offered: [Address], _ links: LinkTable, _ surroundings: Surroundings
    ) -> Bool {
        let before = instances[id]
        let addresses = candidates(among: offered, of: person, known: before.addresses, links, surroundings)
        instances.setKey(of: id, to: person.key)
        instances[id].offered = offered
        instances[id].isListed = true
        instances[id].addresses = addresses
        return before.key != person.key || !Set(addresses).isSubset(of: before.addresses)
    }

    /// Returns at most eight candidates: on-link unicast addresses that are not the node's own. Addresses of links and
    /// already known ones come first (D-8, D-9).
    func candidates(
        among addresses: [Address], of person: PersonID, known: [Address], _ links: LinkTable,
        _ surroundings: Surroundings
    ) -> [Address] {
        let live = links.links(of: person).map(\.address)
        func rank(_ address: Address) -> Int { live.contains(address) ? 0 : known.contains(address) ? 1 : 2 }
        let usable = Set(surroundings.usable(addresses))
        return usable.sorted { (rank($0), $0) < (rank($1), $1) }.prefix(Limits.candidatesPerInstance).sorted()
    }

    // MARK: By hand

    /// Adds an address by hand.
    ///
    /// - Returns: Whether the address is new.
    mutating func addPeer(_ address: Address) -> Bool {
        guard !peersByHand.contains(address) else { return false }
        peersByHand.append(address)
        return true
    }

    /// Returns whether an address added by hand has the same host, with any port (D-16).
    func isHostByHand(_ address: Address) -> Bool {
        peersByHand.contains { $0.high == address.high && $0.low == address.low }
    }

    /// Begins to ask an address for its key in a chat. The address was added by hand or is crowded.
    mutating func ask(_ origin: Instance.Origin, _ address: Address, in chat: ChatID, now: Instant) {
        let id = instances.add(origin, chat: chat, key: nil, addresses: [address])
        instances[id].nextAsk = now
    }

    /// Returns the instance whose latest ask a tell answers (D-12).
    func instance(asking token: UInt64, at address: Address) -> Instance? {
        instances.unordered.first { $0.askToken == token && $0.addresses == [address] }
    }

    /// Records that an address added by hand belongs to this node's own identity (D-14).
    ///
    /// - Returns: Whether the fact is new.
    mutating func noteOneself(_ address: Address) -> Bool { toldOneself.insert(address).inserted }

    // MARK: Byes

    /// Rests the instances of a link that a bye ends: those that it covered, and those with its address (L-35).
    ///
    /// - Parameter longest: The rest of instances from discovery (L-106).
    mutating func rest(_ link: Link, atMost longest: Duration = Limits.rest, now: Instant) {
        departed.removeAll { $0.until <= now || $0.address == link.address }
        departed.append((link.address, now + Limits.rest))
        if departed.count > PeerDirectory.departedCapacity { departed.removeFirst() }
        for instance in instances.instances(of: link.personID)
        where instance.addresses.contains(link.address) || !link.isDown && instance.links.contains(link.id) {
            let pause = instance.isByHand ? Limits.shortRest : longest
            instances[instance.id].restsUntil = now + pause
        }
        remembered.rest(link.personID, now: now)
    }

    /// Returns whether a peer that said bye had an address (D-16).
    func hasDeparted(_ address: Address, now: Instant) -> Bool {
        departed.contains { $0.address == address && now < $0.until }
    }

    /// Keeps the last address of a link that this node ends by suspension. After its return, the node opens to the
    /// address for 90 s (L-88).
    mutating func keepLast(_ person: PersonID, at address: Address, until expires: Instant) {
        _ = instances.add(.last(address, expires: expires), chat: person.chat, key: person.key, addresses: [address])
    }

    /// Returns whether a link that this node ended by suspension had an address (D-16).
    func isLast(_ address: Address) -> Bool {
        instances.unordered.contains { if case .last(address, _) = $0.origin { true } else { false } }
    }

    /// Ends the rests of all instances (L-88).
    mutating func endRests() {
        for id in instances.sortedIDs where instances[id].restsUntil != nil { instances[id].restsUntil = nil }
        remembered.endRests()
    }

    mutating func removeAll(of chat: ChatID) {
        for id in instances.sortedIDs where instances[id].chat == chat { instances.remove(id) }
        displaced.removeAll(of: chat)
        remembered.removeAll(of: chat)
    }
}

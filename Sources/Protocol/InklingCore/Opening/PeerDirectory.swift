import InklingWire

/// The possible addresses of peers: listed by discovery, added by hand, last addresses of ended links, and remembered
/// addresses.
struct PeerDirectory: Sendable {
    var instances = InstanceTable()
    var crowds = Crowds()
    var displaced = DisplacedInstances()
    private(set) var peersByHand: [Address] = []
    /// The addresses added by hand that belong to this node's own identity and that a notice has reported (D-14).
    private var toldOneself: Set<Address> = []
    /// The last addresses of peers whose links a bye ended, and the time until which such peers may return from there
    /// (D-16).
    private(set) var departed: [(address: Address, until: Instant)] = []

    // MARK: Covering

    /// Returns whether an up or suspect link covers an instance. Any such link of the key covers remembered addresses.
    func isCovered(_ instance: Instance, _ links: LinkTable) -> Bool {
        guard let person = instance.person else { return false }
        return links.ids(of: person).contains {
            !links[$0].isDown && (instance.isRemembered || covers(links[$0], instance))
        }
    }

    /// Returns whether a link would cover an instance of its person if the link were up.
    func covers(_ link: Link, _ instance: Instance) -> Bool {
        !instance.isRemembered && (instance.links.contains(link.id) || instance.addresses.contains(link.address))
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
        for instance in instances.instances(of: link.personID)
        where !instance.links.contains(link.id) && instance.addresses.contains(where: addresses.contains) {
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

    /// The addresses for an opening (L-2). Those of up links are left out.
    struct Targets {
        /// The candidates of uncovered instances that do not rest, and the addresses of down links.
        var listed: [Address] = []
        /// The remembered addresses of a person without an up link (D-23). A departed chat has none (M-92).
        var remembered: [Address] = []

        var isEmpty: Bool { listed.isEmpty && remembered.isEmpty }
    }

    func targets(
        of person: PersonID, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) -> Targets {
        var (listed, remembered): ([Address], [Address]) = ([], [])
        for instance in instances.instances(of: person)
        where !instance.isResting(now) && !isCovered(instance, links) {
            if !instance.isRemembered {
                listed += instance.addresses
            } else if surroundings.departures[person.chat] == nil {
                remembered += surroundings.usable(instance.addresses)
            }
        }
        // A link that a session has just joined may come up by itself.
        for id in links.ids(of: person) where links[id].isDown && !links[id].sessions.hasJoined(shortlyBefore: now) {
            listed.append(links[id].address)
        }
        guard !(listed.isEmpty && remembered.isEmpty) else { return Targets() }
        var seen = Set(links.liveAddresses(of: person))
        func unseen(_ addresses: [Address]) -> [Address] {
            addresses.filter { !surroundings.isOneself($0) && seen.insert($0).inserted }
        }
        remembered = unseen(remembered)
        return Targets(listed: unseen(listed), remembered: remembered)
    }

    // MARK: Discovery

    /// Applies that discovery lists an instance of a chat, or lists it with other addresses.
    ///
    /// - Returns: Whether that is news (L-102), and the person to whom the instance belonged before.
    mutating func found(
        _ name: String, _ person: PersonID, addresses: [Address], _ links: LinkTable, _ surroundings: Surroundings
    ) -> (isNew: Bool, before: PersonID?) {
        if let id = instances.id(of: .discovered(name), in: person.chat) {
            let before = instances[id].person
            guard before == person || makeRoom(for: person, links) else {
                instances.remove(id)
                displaced.insert(.init(name: name, person: person, addresses: addresses, attempts: 0))
                return (false, before)
            }
            return (update(id, person, offered: addresses, links, surroundings), before)
        }
        let known = displaced.remove(name, in: person.chat)
        let isSame = known?.person == person
        let instance = DisplacedInstances.Instance(
            name: name, person: person, addresses: addresses, attempts: isSame ? known?.attempts ?? 0 : 0)
        guard makeRoom(for: person, links) else {
            displaced.insert(instance)
            return (false, nil)
        }
        add(instance, links, surroundings)
        return (true, nil)
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

    /// Removes an address that was added by hand.
    mutating func removePeer(_ address: Address) {
        peersByHand.removeAll { $0 == address }
        toldOneself.remove(address)
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

    /// Returns the instance one of whose last two asks a tell answers (D-12).
    func instance(asking token: UInt64, at address: Address) -> Instance? {
        instances.unordered.first { $0.askTokens.contains(token) && $0.addresses == [address] }
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
        if departed.count > Limits.addressesAfterByes { departed.removeFirst() }
        for instance in instances.instances(of: link.personID)
        where instance.addresses.contains(link.address) || !link.isDown && instance.links.contains(link.id) {
            let pause = instance.isByHand || instance.isRemembered ? Limits.shortRest : longest
            instances[instance.id].restsUntil = now + pause
        }
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
    }

    mutating func removeAll(of chat: ChatID) {
        for id in instances.sortedIDs where instances[id].chat == chat { instances.remove(id) }
        displaced.removeAll(of: chat)
    }
}

/// The service names that the browser lists, and their chats. A node resolves only names of its own chats (D-4).
///
/// The node tries names one after another. So forged names cost no more than ``Limits/namesTried`` a second (D-25).
package struct ListedNames {
    private struct Name {
        /// The number of address families for which each interface lists the name.
        var families: [UInt32: Int]
        var chat: ChatID?
        var isWaiting: Bool
    }

    /// The most names that the node remembers. Above it, a random name without a chat is forgotten.
    package static let capacity = 8_192
    /// The length of a period. Any second overlaps at most two periods.
    private static let period = Duration.seconds(1)
    private static let perPeriod = Limits.namesTried / 2

    private var names: [String: Name] = [:]
    /// The names that belong to no chat, or were not tried yet.
    private var strangers = RandomTable<String, Void>()
    /// The names to try, the next one last. The browser may have removed some of them.
    private var waiting: [String] = []
    private var chats: [ChatKeys] = []
    private var periodEnd: Instant?
    private var triedInPeriod = 0
    private var random: any RandomNumberGenerator & Sendable

    /// Makes an empty list.
    ///
    /// - Parameter random: The generator that chooses the names to forget.
    package init(random: any RandomNumberGenerator & Sendable) { self.random = random }

    /// Begins to recognise names of a chat. All names without a chat are tried again.
    package mutating func join(_ chat: ChatKeys) {
        chats.append(chat)
        for name in names.keys.sorted() where names[name]?.chat == nil { wait(name) }
    }

    /// No longer recognises names of a chat.
    package mutating func leave(_ chat: ChatID) {
        chats.removeAll { $0.id == chat }
        for (name, entry) in names where entry.chat == chat {
            names[name]?.chat = nil
            strangers[name] = ()
        }
    }

    /// Records that the browser lists a name on an interface, for one more address family.
    ///
    /// - Returns: The chat of the name, or nil while unknown. A later ``next(_:)`` may return it.
    package mutating func added(_ name: String, on interface: UInt32) -> ChatID? {
        if names[name] == nil {
            if names.count >= ListedNames.capacity { forgetOne() }
            names[name] = Name(families: [:], chat: nil, isWaiting: false)
            strangers[name] = ()
            wait(name)
        }
        names[name]?.families[interface, default: 0] += 1
        return names[name]?.chat
    }

    /// Records that the browser no longer lists a name on an interface, for one address family.
    ///
    /// - Returns: The chat of the name, or nil if unknown.
    package mutating func removed(_ name: String, on interface: UInt32) -> ChatID? {
        guard var entry = names[name] else { return nil }
        let families = (entry.families[interface] ?? 0) - 1
        entry.families[interface] = families > 0 ? families : nil
        names[name] = entry.families.isEmpty ? nil : entry
        if entry.families.isEmpty { strangers[name] = nil }
        return entry.chat
    }

    /// Removes all names, because the browsers have ended.
    package mutating func removeAll() {
        names = [:]
        strangers = RandomTable()
        waiting = []
    }

    /// Tries waiting names, and returns the next one that belongs to a chat. `interfaces` contains each interface as
    /// often as the interface lists the name. Returns nil without such a name, or at the limit.
    package mutating func next(_ now: Instant) -> (name: String, chat: ChatID, interfaces: [UInt32])? {
        if let end = periodEnd, end <= now { (periodEnd, triedInPeriod) = (nil, 0) }
        while triedInPeriod < ListedNames.perPeriod, let name = waiting.popLast() {
            guard var entry = names[name], entry.isWaiting else { continue }
            entry.isWaiting = false
            triedInPeriod += 1
            periodEnd = periodEnd ?? now + ListedNames.period
            entry.chat = chats.first { (try? $0.nonce(ofInstance: name)) != nil }?.id
            names[name] = entry
            guard let chat = entry.chat else { continue }
            strangers[name] = nil
            let interfaces = entry.families.flatMap { Array(repeating: $0.key, count: $0.value) }
            return (name, chat, interfaces.sorted())
        }
        return nil
    }

    /// The time when ``next(_:)`` can try more names; nil if no name waits.
    package var nextDeadline: Instant? { waiting.isEmpty ? nil : periodEnd }

    private mutating func wait(_ name: String) {
        guard names[name]?.isWaiting == false else { return }
        names[name]?.isWaiting = true
        // The newest name is tried first, so that a flood of names does not delay a friend's new name.
        waiting.append(name)
        guard waiting.count > 2 * ListedNames.capacity else { return }
        waiting.removeAll { names[$0]?.isWaiting != true }
    }

    private mutating func forgetOne() {
        guard let name = strangers.randomKey(using: &random) else { return }
        strangers[name] = nil
        names[name] = nil
    }
}

/// The instances that discovery lists but that found no room among the instances of their key (D-22), the oldest first.
struct DisplacedInstances: Sendable {
    struct Instance: Sendable {
        let name: String
        let person: PersonID
        /// The addresses that discovery lists.
        let addresses: [Address]
        let attempts: Int
    }

    private var instances: [Instance] = []

    var count: Int { instances.count }

    /// Adds an instance. Above the limit, the oldest is forgotten.
    mutating func insert(_ instance: Instance) {
        instances.append(instance)
        if instances.count > Limits.instancesWithoutRoom { instances.removeFirst() }
    }

    mutating func remove(_ name: String, in chat: ChatID) -> Instance? {
        instances.firstIndex { $0.name == name && $0.person.chat == chat }.map { instances.remove(at: $0) }
    }

    mutating func removeFirst(of person: PersonID) -> Instance? {
        instances.firstIndex { $0.person == person }.map { instances.remove(at: $0) }
    }

    mutating func removeAll(of chat: ChatID) { instances.removeAll { $0.person.chat == chat } }
}

/// The limited room for the instances of a key.
extension PeerDirectory {
    /// Adds an instance that discovery lists. The caller has checked that there is room.
    mutating func add(_ instance: DisplacedInstances.Instance, _ links: LinkTable, _ surroundings: Surroundings) {
        let person = instance.person
        let candidates = candidates(among: instance.addresses, of: person, known: [], links, surroundings)
        let id = instances.add(.discovered(instance.name), chat: person.chat, key: person.key, addresses: candidates)
        instances[id].offered = instance.addresses
        instances[id].attempts = instance.attempts
    }

    /// Brings back an instance that had found no room, after another instance of the person was removed (D-22).
    mutating func bringBack(_ person: PersonID, _ links: LinkTable, _ surroundings: Surroundings) {
        guard instances.instances(of: person).count(where: \.isDiscovered) < Limits.instancesPerKey,
            let instance = displaced.removeFirst(of: person)
        else { return }
        add(instance, links, surroundings)
    }

    /// Makes room for one more discovered instance of a key (D-22). The method evicts the instance with the most
    /// attempts; among equals, the one known longest. Covered instances and those without an attempt stay.
    ///
    /// - Returns: Whether there is room.
    mutating func makeRoom(for person: PersonID, _ links: LinkTable) -> Bool {
        let others = instances.instances(of: person).filter(\.isDiscovered)
        guard others.count >= Limits.instancesPerKey else { return true }
        let victim = others.filter { $0.attempts > 0 && !isCovered($0, links) }
            .max { ($0.attempts, $1.id) < ($1.attempts, $0.id) }
        guard let victim else { return false }
        if case .discovered(let name) = victim.origin {
            displaced.insert(
                .init(name: name, person: person, addresses: victim.offered, attempts: victim.attempts))
        }
        instances.remove(victim.id)
        return true
    }
}

/// The last addresses of links with preferred people, which need no discovery (D-19).
extension PeerDirectory {
    /// Returns the remembered addresses of a person, the latest first.
    func remembered(of person: PersonID) -> [Address] {
        instances.id(of: .remembered(person.key), in: person.chat).map { instances[$0].addresses } ?? []
    }

    /// Remembers addresses of a person's links, the latest first.
    mutating func remember(
        _ person: PersonID, at addresses: [Address], _ links: LinkTable, _ surroundings: Surroundings
    ) {
        let known = remembered(of: person)
        guard known.first != addresses.first else { return }
        let all = Array((addresses + known.filter { !addresses.contains($0) }).prefix(Limits.rememberedAddressesPerKey))
        if let id = instances.id(of: .remembered(person.key), in: person.chat) {
            instances[id].addresses = all
        } else if makeRoomToRemember(person, links, surroundings) {
            _ = instances.add(.remembered(person.key), chat: person.chat, key: person.key, addresses: all)
        }
    }

    /// Makes room for a person. The method forgets a person of the lowest rank that is not above the new one's. Among
    /// these, people without a link go first, then the oldest.
    private mutating func makeRoomToRemember(
        _ person: PersonID, _ links: LinkTable, _ surroundings: Surroundings
    ) -> Bool {
        let others = instances.unordered.filter(\.isRemembered)
        guard others.count >= Limits.rememberedKeys else { return true }
        func rank(_ other: Instance) -> (Standing, Int, InstanceID) {
            let person = PersonID(chat: other.chat, key: other.key ?? surroundings.ownKey)
            return (surroundings.standing(of: person), links.hasLink(to: person) ? 1 : 0, other.id)
        }
        guard let victim = others.min(by: { rank($0) < rank($1) }), rank(victim).0 <= surroundings.standing(of: person)
        else { return false }
        instances.remove(victim.id)
        return true
    }

    /// Forgets the addresses of people who have become strangers.
    mutating func forgetStrangers(_ surroundings: Surroundings) {
        for id in instances.sortedIDs where instances[id].isRemembered {
            if let person = instances[id].person, !surroundings.isPreferred(person) { instances.remove(id) }
        }
    }
}

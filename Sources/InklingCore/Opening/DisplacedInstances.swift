import InklingWire

/// The instances that discovery lists and that have no room among those of their key (D-9), the oldest first.
struct DisplacedInstances {
    struct Instance {
        let name: String
        let person: PersonID
        /// As discovery lists them.
        let addresses: [Address]
        /// How far attempts with it went, at which they continue.
        let pace: Pace
    }

    private var instances: [Instance] = []

    /// Adds an instance; of too many, forgets the oldest.
    mutating func insert(_ instance: Instance) {
        instances.append(instance)
        if instances.count > Limits.displacedInstances { instances.removeFirst() }
    }

    mutating func remove(_ name: String, in chat: ChatTag) -> Instance? {
        instances.firstIndex { $0.name == name && $0.person.chat == chat }.map { instances.remove(at: $0) }
    }

    mutating func removeFirst(of person: PersonID) -> Instance? {
        instances.firstIndex { $0.person == person }.map { instances.remove(at: $0) }
    }

    mutating func removeAll(of chat: ChatTag) { instances.removeAll { $0.person.chat == chat } }
}

/// The places for the instances of a key.
extension PeerDirectory {
    /// Takes an instance that discovery lists; there is room for it.
    mutating func add(
        _ instance: DisplacedInstances.Instance, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        let person = instance.person
        let candidates = candidates(among: instance.addresses, of: person, known: [], links, surroundings)
        let id = sources.add(
            .discovered(instance.name), chat: person.chat, key: person.key, addresses: candidates)
        sources[id].offered = instance.addresses
        start(id, links, surroundings, now: now)
        sources[id].pace = instance.pace
    }

    /// An instance of a person went: one that had no room takes its place (D-9).
    mutating func bringBack(
        _ person: PersonID, _ links: LinkTable, _ surroundings: Surroundings, now: Instant
    ) {
        guard sources.sources(of: person).count(where: \.isDiscovered) < Limits.instancesPerKey,
            let instance = displaced.removeFirst(of: person)
        else { return }
        add(instance, links, surroundings, now: now)
    }

    /// Makes room for one more discovered instance of a key in a chat: the one with the most attempts that no live link
    /// covers is forgotten, and of several the oldest (D-9).
    mutating func makeRoom(for person: PersonID) -> Bool {
        let others = sources.sources(of: person).filter(\.isDiscovered)
        guard others.count >= Limits.instancesPerKey else { return true }
        let victim = others.filter { $0.link == nil && !$0.opening.isUnderWay && $0.pace.attempts > 0 }
            .max { ($0.pace.attempts, $1.id) < ($1.pace.attempts, $0.id) }
        guard let victim else { return false }
        if case .discovered(let name) = victim.origin {
            displaced.insert(
                .init(name: name, person: person, addresses: victim.offered, pace: victim.pace))
        }
        sources.remove(victim.id)
        return true
    }
}

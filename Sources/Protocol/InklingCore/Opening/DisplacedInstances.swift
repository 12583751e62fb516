import InklingWire

/// The instances that discovery lists but that found no room among the instances of their key (D-22), the oldest first.
struct DisplacedInstances: Sendable {
    struct Instance: Sendable {
        let name: String
        let person: PersonID
        /// The addresses that discovery lists.
        let addresses: [Address]
        let attempts: Int
        let failures: Int
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
        instances[id].failures = instance.failures
    }

    /// Brings back an instance that had found no room, after another instance of the person was removed (D-22).
    mutating func bringBack(_ person: PersonID, _ links: LinkTable, _ surroundings: Surroundings) {
        guard instances.instances(of: person).count(where: \.isDiscovered) < Limits.instancesPerKey,
            let instance = displaced.removeFirst(of: person)
        else { return }
        add(instance, links, surroundings)
    }

    /// Makes room for one more discovered instance of a key (D-22). The method evicts the instance with the most failed
    /// attempts; among equals, the one known longest. Covered instances and those without an attempt stay.
    ///
    /// - Returns: Whether there is room.
    mutating func makeRoom(for person: PersonID, _ links: LinkTable) -> Bool {
        let others = instances.instances(of: person).filter(\.isDiscovered)
        guard others.count >= Limits.instancesPerKey else { return true }
        let victim = others.filter { $0.attempts > 0 && !isCovered($0, links) }
            .max { ($0.failures, $1.id) < ($1.failures, $0.id) }
        guard let victim else { return false }
        if case .discovered(let name) = victim.origin {
            displaced.insert(
                .init(
                    name: name, person: person, addresses: victim.offered, attempts: victim.attempts,
                    failures: victim.failures))
        }
        instances.remove(victim.id)
        return true
    }
}

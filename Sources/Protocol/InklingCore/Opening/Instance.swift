import InklingWire

/// A possible place of a peer in one chat.
struct Instance: Sendable {
    /// The way in which the node learned of the instance.
    enum Origin: Hashable, Sendable {
        /// A service instance that discovery lists, by its name.
        case discovered(String)
        /// An address added by hand.
        case byHand(Address)
        /// An address at which discovery lists so many keys that the node does not open to each (D-17).
        case crowded(Address)
        /// The last address of a link that a suspension ended. The instance is forgotten at `expires` (L-88).
        case last(Address, expires: Instant)
        /// The last two addresses of links with a preferred key, the latest first (D-19).
        case remembered(PublicKey)
    }

    let id: InstanceID
    let chat: ChatID
    let origin: Origin
    /// The peer's static key; nil for an address that has not told its key.
    fileprivate(set) var key: PublicKey?
    /// The candidate addresses.
    var addresses: [Address]
    /// All addresses that discovery lists. A change of this host's networks changes which of them are usable.
    var offered: [Address] = []
    /// Whether discovery still lists the instance.
    var isListed = true
    /// The number of attempts at the instance's candidates (D-22).
    var attempts = 0
    /// The time until which the node does not open to the instance, after a bye (L-35).
    var restsUntil: Instant?
    /// The links that came up at a candidate, or that got a session from there.
    var links: Set<LinkID> = []
    /// The tokens of the last two asks, the latest first, until a tell serves one (D-12).
    var askTokens: [UInt64] = []
    var askPace = AskPace()
    /// The time of the next ask; nil once the key is known.
    var nextAsk: Instant?

    fileprivate init(id: InstanceID, chat: ChatID, origin: Origin, key: PublicKey?, addresses: [Address]) {
        self.id = id
        self.chat = chat
        self.origin = origin
        self.key = key
        self.addresses = addresses
    }

    var person: PersonID? { key.map { PersonID(chat: chat, key: $0) } }

    var nextDeadline: Instant? {
        let next = earliest(nextAsk, restsUntil)
        guard case .last(_, let expires) = origin else { return next }
        return earliest(next, or: expires)
    }

    var isByHand: Bool { if case .byHand = origin { true } else { false } }
    var isDiscovered: Bool { if case .discovered = origin { true } else { false } }
    var isCrowded: Bool { if case .crowded = origin { true } else { false } }
    var isRemembered: Bool { if case .remembered = origin { true } else { false } }
    /// Whether the node asks the instance's address for its key (D-11, D-17).
    var isAsked: Bool { isByHand || isCrowded }

    func isResting(_ now: Instant) -> Bool { restsUntil.map { now < $0 } ?? false }
}

/// The instances of a node, with indices by name, person and chat.
struct InstanceTable: Sendable {
    private struct OriginKey: Hashable, Sendable {
        let chat: ChatID
        let origin: Instance.Origin
    }

    private var instances = Table<InstanceID, Instance>()
    private var byOrigin: [OriginKey: InstanceID] = [:]
    private var byPerson = Index<PersonID, InstanceID>()
    private var newest: UInt64 = 0

    // MARK: Queries

    var count: Int { instances.count }
    var sortedIDs: [InstanceID] { instances.sortedIDs }
    /// The instances in no particular order, for queries whose result does not depend on the order.
    var unordered: [Instance] { instances.unorderedValues }

    /// An instance that is known to exist. Changes happen in place.
    #if DEBUG
        // See LinkTable.
        subscript(id: InstanceID) -> Instance {
            get { instances[id] }
            _modify { yield &instances[id] }
        }
    #else
        subscript(id: InstanceID) -> Instance {
            _read { yield instances[id] }
            _modify { yield &instances[id] }
        }
    #endif

    func find(_ id: InstanceID) -> Instance? { instances.find(id) }

    func id(of origin: Instance.Origin, in chat: ChatID) -> InstanceID? {
        byOrigin[OriginKey(chat: chat, origin: origin)]
    }

    /// Returns the instances of one person in one chat, oldest first.
    func instances(of person: PersonID) -> [Instance] { byPerson[person].map { instances[$0] } }

    mutating func takeTouched() -> Touched<InstanceID> { instances.takeTouched() }

    // MARK: Changes

    mutating func add(
        _ origin: Instance.Origin, chat: ChatID, key: PublicKey?, addresses: [Address]
    ) -> InstanceID {
        newest += 1
        let id = InstanceID(value: newest)
        let instance = Instance(id: id, chat: chat, origin: origin, key: key, addresses: addresses)
        instances.insert(instance, for: id)
        byOrigin[OriginKey(chat: chat, origin: origin)] = id
        if let person = instance.person { byPerson.insert(id, for: person) }
        return id
    }

    mutating func remove(_ id: InstanceID) {
        guard let instance = instances.remove(id) else { return }
        let key = OriginKey(chat: instance.chat, origin: instance.origin)
        if byOrigin[key] == id { byOrigin[key] = nil }
        if let person = instance.person { byPerson.remove(id, for: person) }
    }

    /// Changes the key of an instance, or removes it (D-9, D-12). The node forgets everything else about the instance.
    mutating func setKey(of id: InstanceID, to key: PublicKey?) {
        guard instances[id].key != key else { return }
        if let person = instances[id].person { byPerson.remove(id, for: person) }
        instances[id].key = key
        instances[id].links = []
        instances[id].attempts = 0
        instances[id].restsUntil = nil
        if let person = instances[id].person { byPerson.insert(id, for: person) }
    }
}

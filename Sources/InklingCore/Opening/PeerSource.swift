import InklingWire

/// A set of candidate addresses of one peer in one chat, and how far opening a link to it has come.
struct PeerSource {
    /// Where the addresses come from.
    enum Origin: Hashable {
        /// A service instance that discovery lists, by its name.
        case discovered(String)
        /// An address given by hand.
        case byHand(Address)
        /// An address at which too many keys are listed to open to each (D-17).
        case crowded(Address)
        /// Where a peer was before it fell silent; forgotten at the given instant.
        case lastKnown(expires: Instant)
        /// The last addresses of links with a key that is no stranger's (D-19).
        case remembered(PublicKey)
        /// A live link whose session is due for a new handshake. Its opening is like any other: attempts, pauses, cookies.
        case rekey(LinkID)
    }

    let id: PeerSourceID
    let chat: ChatTag
    let origin: Origin
    /// The peer's static key; nil for a peer by hand that has not sent it.
    fileprivate(set) var key: PublicKey?
    fileprivate(set) var opening = Opening.idle
    var addresses: [Address]
    /// All that discovery offered, usable or not: what is usable changes with our own networks.
    var offered: [Address] = []
    var pace = Pace.untried
    /// False once discovery no longer lists it.
    var isListed = true
    /// The live link that covers it.
    var link: LinkID?
    /// How many initiations of that peer were answered in a row with a session that nobody confirmed, as far as it
    /// counts: those of somebody who replays recorded ones stay unconfirmed (L-55).
    var unconfirmed = 0
    /// Whether the next attempt was put off already for another one that shares an address (D-19).
    var wasPutOff = false
    /// The token of the ask in flight, for an address that is asked.
    var askToken: UInt32?

    fileprivate init(id: PeerSourceID, chat: ChatTag, origin: Origin, key: PublicKey?, addresses: [Address]) {
        self.id = id
        self.chat = chat
        self.origin = origin
        self.key = key
        self.addresses = addresses
    }

    var nextDeadline: Instant? {
        guard case .lastKnown(let expires) = origin else { return opening.nextDeadline }
        return earliest(opening.nextDeadline, or: expires)
    }

    /// Whether the larger key still leaves the opening to its peer's initiations (L-55).
    var leavesOpening: Bool { unconfirmed <= Limits.unconfirmedTurns }

    var person: PersonID? { key.map { PersonID(chat: chat, key: $0) } }

    var isByHand: Bool {
        if case .byHand = origin { true } else { false }
    }

    /// Whether its address is asked for the key (D-11, D-17).
    var isAsked: Bool {
        switch origin {
        case .byHand, .crowded: true
        case .discovered, .lastKnown, .remembered, .rekey: false
        }
    }

    var isRemembered: Bool {
        if case .remembered = origin { true } else { false }
    }

    var isDiscovered: Bool {
        if case .discovered = origin { true } else { false }
    }
}

/// The sources of a node, and what leads to them: origin, person, and the index of a pending handshake.
struct PeerSourceTable {
    private struct OriginKey: Hashable {
        let chat: ChatTag
        let origin: PeerSource.Origin
    }

    private var sources = Table<PeerSourceID, PeerSource>()
    private var byOrigin: [OriginKey: PeerSourceID] = [:]
    private var byPerson = Index<PersonID, PeerSourceID>()
    /// By our index of a handshake that waits for its response.
    private var byAttempt: [UInt32: PeerSourceID] = [:]
    private var newest: UInt64 = 0

    // MARK: Queries

    var count: Int { sources.count }
    var sortedIDs: [PeerSourceID] { sources.sortedIDs }
    /// The sources in no particular order, for questions whose answer does not depend on it.
    var unordered: [PeerSource] { sources.unorderedValues }
    var attemptCount: Int { byAttempt.count }
    /// How many of the sources with a handshake that waits for its response meet a condition.
    func countAttempting(where condition: (PeerSource) -> Bool) -> Int {
        byAttempt.values.count { condition(sources[$0]) }
    }

    /// Of these sources the one with the most attempts, and of several the one made first.
    func mostAttempted(where condition: (PeerSource) -> Bool) -> PeerSourceID? {
        byAttempt.values.filter { condition(sources[$0]) }
            .max { (sources[$0].pace.attempts, $1) < (sources[$1].pace.attempts, $0) }
    }

    /// A source that is known to exist; changed in place.
    subscript(id: PeerSourceID) -> PeerSource {
        _read { yield sources[id] }
        _modify { yield &sources[id] }
    }

    func find(_ id: PeerSourceID) -> PeerSource? { sources.find(id) }

    func id(of origin: PeerSource.Origin, in chat: ChatTag) -> PeerSourceID? {
        byOrigin[OriginKey(chat: chat, origin: origin)]
    }

    func id(ofAttempt index: UInt32) -> PeerSourceID? { byAttempt[index] }

    /// The sources of one person in one chat, in the order of their making.
    func sources(of person: PersonID) -> [PeerSource] { byPerson[person].map { sources[$0] } }

    mutating func takeTouched() -> [PeerSourceID] { sources.takeTouched() }

    // MARK: Changes

    mutating func add(
        _ origin: PeerSource.Origin, chat: ChatTag, key: PublicKey?, addresses: [Address]
    ) -> PeerSourceID {
        newest += 1
        let id = PeerSourceID(value: newest)
        let source = PeerSource(id: id, chat: chat, origin: origin, key: key, addresses: addresses)
        sources.insert(source, for: id)
        byOrigin[OriginKey(chat: chat, origin: origin)] = id
        if let person = source.person { byPerson.insert(id, for: person) }
        return id
    }

    mutating func remove(_ id: PeerSourceID) {
        cancelAttempt(id)
        guard let source = sources.remove(id) else { return }
        let key = OriginKey(chat: source.chat, origin: source.origin)
        if byOrigin[key] == id { byOrigin[key] = nil }
        if let person = source.person { byPerson.remove(id, for: person) }
    }

    /// A source turned out to be another person's, or not known to be anybody's yet: no link covers it any more.
    mutating func setKey(of id: PeerSourceID, to key: PublicKey?) {
        guard sources[id].key != key else { return }
        if let person = sources[id].person { byPerson.remove(id, for: person) }
        sources[id].key = key
        sources[id].link = nil
        if let person = sources[id].person { byPerson.insert(id, for: person) }
    }

    /// Changes the state of an opening; a handshake that was under way is given up.
    mutating func move(_ id: PeerSourceID, to opening: Opening) {
        if case .attempting(let attempt) = sources[id].opening { byAttempt[attempt.index] = nil }
        if case .attempting(let attempt) = opening { byAttempt[attempt.index] = id }
        sources[id].opening = opening
    }

    /// Gives up a handshake that waits for its response, if there is one.
    mutating func cancelAttempt(_ id: PeerSourceID) {
        if let source = sources.find(id), source.opening.isAttempting { move(id, to: .idle) }
    }
}

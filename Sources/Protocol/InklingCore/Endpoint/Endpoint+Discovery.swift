import InklingWire

/// Possible addresses of peers, from discovery and added by hand.
extension Endpoint {
    /// Applies that discovery lists an instance of a chat, or lists it with other addresses.
    ///
    /// - Parameters:
    ///   - name: The instance's name.
    ///   - key: The static key in its TXT record.
    ///   - addresses: All listed addresses. The node ignores addresses that are not on-link and unicast, and its own
    ///     (D-8).
    package mutating func found(
        _ name: String, chat: ChatID, key: PublicKey, addresses: [Address], now: Instant
    ) {
        begin(now)
        defer { finish() }
        let person = PersonID(chat: chat, key: key)
        // An owner's other devices matter once the owner departs (M-94).
        guard chats.contains(chat), key != surroundings.ownKey || key == chats[chat].owner else { return }
        meet(person)
        let (isNew, before) = directory.found(name, person, addresses: addresses, links, surroundings)
        if let before, before != person {
            directory.bringBack(before, links, surroundings)
            review(before, now)
        }
        doubtLinks(coveredBy: name, person, now)
        if isNew { hasNews(of: person, now) }
    }

    /// Pings the links that cover an instance whose candidates do not include their address: the peer may have moved
    /// (L-41).
    private mutating func doubtLinks(coveredBy name: String, _ person: PersonID, _ now: Instant) {
        guard let id = directory.instances.id(of: .discovered(name), in: person.chat) else { return }
        let instance = directory.instances[id]
        for link in links.ids(of: person) where instance.links.contains(link) {
            if !instance.addresses.contains(links[link].address) { probe(link, now) }
        }
    }

    /// Applies that discovery no longer lists an instance. The node pings the peer, but ends no link (L-29).
    package mutating func lost(_ name: String, chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        guard let instance = directory.lost(name, chat: chat, links, surroundings), let person = instance.person
        else { return }
        for id in links.ids(of: person) where directory.covers(links[id], instance) { probe(id, now) }
        review(person, now)
    }

    /// Pings the peers at an address after an ICMP error or another hint. Each peer gets at most one such ping a second
    /// (L-29).
    package mutating func doubt(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.sortedIDs where links[id].address == address { probe(id, now) }
    }

    /// Adds the address of a peer by hand. The node asks the address for its key in every chat (D-11).
    package mutating func addPeer(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        guard address.isUnicast, !directory.peersByHand.contains(address) else { return }
        guard !surroundings.isOneself(address) else { return effects.tell(.peerIsOneself(address)) }
        guard directory.addPeer(address) else { return }
        for chat in chats.sortedIDs { directory.ask(.byHand(address), address, in: chat, now: now) }
    }

    /// Removes an address by hand, which its host no longer has (D-24). Links stay.
    package mutating func removePeer(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        directory.removePeer(address)
        for id in directory.instances.sortedIDs where directory.instances[id].origin == .byHand(address) {
            removeInstance(id, now)
        }
    }

    /// Returns whether an up or suspect link leads to an address by hand.
    package func hasLink(byHand address: Address) -> Bool {
        directory.instances.unordered.contains { $0.origin == .byHand(address) && directory.isCovered($0, links) }
    }

    // MARK: Time

    mutating func advance(instance id: InstanceID, _ now: Instant) {
        guard let instance = directory.instances.find(id) else { return }
        if case .last(_, let expires) = instance.origin, expires <= now { return removeInstance(id, now) }
        if let until = instance.restsUntil, until <= now {
            directory.instances[id].restsUntil = nil
            if let person = instance.person { hasNews(of: person, now) }
        }
        guard let due = instance.nextAsk, due <= now else { return }
        guard !surroundings.isSuspended else { return directory.instances[id].nextAsk = now + Limits.askInterval }
        if case .crowded(let address) = instance.origin, !directory.crowds.isCrowded(address, in: instance.chat) {
            return removeInstance(id, now)
        }
        ask(id)
        let pause = directory.instances[id].askPace.asked(now)
        directory.instances[id].nextAsk = effects.instant(after: now, pause, percent: Opening.jitter)
    }

    mutating func removeInstance(_ id: InstanceID, _ now: Instant) {
        let person = directory.instances.find(id)?.person
        directory.instances.remove(id)
        if let person { review(person, now) }
    }

    // MARK: Asks and tells

    /// Sends an ask to an instance's address, for the key of its node (D-11).
    mutating func ask(_ id: InstanceID) {
        guard let address = directory.instances[id].addresses.first,
            let keys = chats.find(directory.instances[id].chat)?.keys
        else { return }
        let token = effects.number()
        directory.instances[id].askTokens = [token] + directory.instances[id].askTokens.prefix(1)
        effects.send(Datagram.ask(keys.ask(token: token)).encode(), to: address, .ask)
    }

    /// Answers an ask if it matches a chat and the limits permit (D-13, D-25).
    mutating func receive(_ ask: Ask, from address: Address, isFar: Bool) {
        guard admission.admitsAsk(now: lastInput) else { return effects.drop(.answerLimit) }
        guard let chat = chats.sortedIDs.first(where: { chats[$0].keys.fits(ask) }) else {
            return effects.drop(.unknownChat)
        }
        let isKnown = knownAddresses.acquaintance(at: address) > .none && !isFar
        guard admission.admitsTell(isKnown: isKnown, now: lastInput) else { return effects.drop(.answerLimit) }
        let tell = chats[chat].keys.tell(token: ask.token, nonce: effects.number(), key: surroundings.ownKey)
        effects.send(Datagram.tell(tell).encode(), to: address, .tell)
    }

    /// Applies a tell, which answers an ask (D-12).
    mutating func receive(_ tell: Tell, from address: Address, _ now: Instant) {
        guard let instance = directory.instance(asking: tell.token, at: address),
            let keys = chats.find(instance.chat)?.keys
        else { return effects.drop(.unexpected) }
        guard let key = try? keys.open(tell) else { return effects.drop(.malformed) }
        initiations.answered(from: address, &effects)
        directory.instances[instance.id].askTokens = []
        if key == surroundings.ownKey { return toldOwnKey(by: instance, at: address, now) }
        directory.instances[instance.id].nextAsk = nil
        guard key != instance.key else { return }
        directory.instances.setKey(of: instance.id, to: key)
        if let before = instance.person { review(before, now) }
        guard let person = directory.instances[instance.id].person else { return }
        meet(person)
        hasNews(of: person, now)
    }

    /// Handles an address whose node has our own identity. The node makes no link, and asks the address once a minute
    /// (D-14).
    private mutating func toldOwnKey(by instance: Instance, at address: Address, _ now: Instant) {
        directory.instances.setKey(of: instance.id, to: nil)
        directory.instances[instance.id].nextAsk = now + Limits.ownKeyAskInterval
        if let person = instance.person { review(person, now) }
        // A notice is only for addresses that the user added.
        guard instance.isByHand, directory.noteOneself(address) else { return }
        effects.tell(.peerIsOneself(address))
    }
}

/// The state that all parts of a node share: its identity, settings, networks and activity. Only commands and a late
/// timer change this state.
struct Surroundings: Sendable {
    /// Whether a node takes part in its chats.
    enum Activity: Equatable {
        case running
        /// A timer of this node was late, and the datagrams in the socket may be old (L-30). `read` counts the
        /// datagrams read since.
        case catchingUp(read: Int)
        /// The user suspended the program, or the program ends: the node receives and opens nothing.
        ///
        /// `isBehind`: Whether a timer was late in the meantime, so that the node must catch up next.
        case suspended(isBehind: Bool)

        /// Begins catching up, because a timer of this node was late.
        mutating func fallBehind() {
            switch self {
            case .running, .catchingUp: self = .catchingUp(read: 0)
            case .suspended: self = .suspended(isBehind: true)
            }
        }

        /// Counts a datagram that was read.
        ///
        /// - Returns: Whether the datagram is new, because the limit of possibly old ones was reached.
        mutating func read() -> Bool {
            guard case .catchingUp(let read) = self else { return false }
            guard read < Limits.datagramsCaughtUp else {
                self = .running
                return true
            }
            self = .catchingUp(read: read + 1)
            return false
        }

        /// Ends catching up, because the socket was read until it was empty.
        mutating func catchUp() {
            switch self {
            case .running, .catchingUp: self = .running
            case .suspended: self = .suspended(isBehind: false)
            }
        }

        mutating func suspend() {
            switch self {
            case .running: self = .suspended(isBehind: false)
            case .catchingUp: self = .suspended(isBehind: true)
            case .suspended: break
            }
        }

        mutating func resume() {
            guard case .suspended(let isBehind) = self else { return }
            self = isBehind ? .catchingUp(read: 0) : .running
        }
    }

    let configuration: Endpoint.Configuration
    let ownKey: PublicKey
    /// The display name: NFC, 1 to 64 bytes of UTF-8.
    var name: String
    var activity = Activity.running
    /// Whether the user is away.
    var isAway = false
    /// Whether a helper process keeps last wills (L-33).
    var keepsWills = false
    var blocked: Set<UserID> = []
    /// The keys that the owner of a chat has removed (M-91).
    var refused: [ChatID: Set<PublicKey>] = [:]
    /// The chats that this node, as their owner, has left for a successor (M-65).
    var departures: [ChatID: Departure] = [:]
    /// How well the user knows each person. All people not listed are strangers.
    var standings: [PublicKey: Standing] = [:]
    /// The chats of the node that have a secret.
    var secretChats: Set<ChatID> = []
    /// The other keys of the node's talks.
    var talks: [ChatID: PublicKey] = [:]
    var networks: [LocalNetwork] = []
    /// The source addresses of this host besides the addresses in ``networks``.
    var ownAddresses = OwnAddresses()
    var ownPort: UInt16 = 0

    init(configuration: Endpoint.Configuration) {
        self.configuration = configuration
        ownKey = configuration.identity.publicKey
        name = configuration.name
    }

    var isSuspended: Bool {
        if case .suspended = activity { true } else { false }
    }

    /// Whether received datagrams may have waited in the socket for long.
    var isBehind: Bool {
        switch activity {
        case .running: false
        case .catchingUp: true
        case .suspended(let isBehind): isBehind
        }
    }

    func isBlocked(_ key: PublicKey) -> Bool { !blocked.isEmpty && blocked.contains(key.userID) }

    func isOnLink(_ address: Address) -> Bool { networks.contains { $0.contains(address) } }

    /// Returns whether an address is this node's socket: an address of this host with the node's own port.
    func isOneself(_ address: Address) -> Bool { address.port == ownPort && isOnOwnNetwork(address) }

    /// Returns whether programs of this host can send from an address.
    func isOwnHost(_ address: Address) -> Bool { isOnOwnNetwork(address) || ownAddresses.contains(address) }

    private func isOnOwnNetwork(_ address: Address) -> Bool {
        networks.contains { $0.address.high == address.high && $0.address.low == address.low }
    }

    /// Returns whether the system knows that a socket of the node's own user has an address.
    func isOwnUsers(_ address: Address) -> Bool { isOwnHost(address) && configuration.isOwnUsers(address) }

    /// Returns the addresses that are unicast, on-link and not this node's own (D-8).
    func usable(_ addresses: [Address]) -> [Address] {
        addresses.filter { $0.isUnicast && isOnLink($0) && !isOneself($0) }
    }

    /// Returns when this node may begin a handshake with a key. The node with the larger key lets the other begin first
    /// (L-1).
    func turn(with key: PublicKey, _ now: Instant) -> Instant { ownKey < key ? now : now + Limits.largerKeyWait }
}

/// The addresses from which programs of a host can send, on all of its interfaces, even those that the node does not
/// use.
package struct OwnAddresses: Equatable, Sendable {
    private struct Key: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private var addresses: Set<Key> = []
    /// The ranges that the host treats as its own, such as 127.0.0.0/8.
    private var ranges: Set<LocalNetwork> = []

    /// Makes a set of ranges.
    ///
    /// - Parameter networks: Ranges of the host's addresses. A single address has a prefix of 128 bits.
    package init(_ networks: [LocalNetwork] = []) {
        for network in networks { insert(network) }
    }

    /// Returns whether a datagram from `address` can come from this host, regardless of port and scope.
    package func contains(_ address: Address) -> Bool {
        if address.isLoopback || addresses.contains(Key(high: address.high, low: address.low)) { return true }
        return ranges.contains { $0.covers(address) }
    }

    /// Adds a range, or a single address with a prefix of 128 bits.
    package mutating func insert(_ network: LocalNetwork) {
        if network.prefixLength == 128 {
            addresses.insert(Key(high: network.address.high, low: network.address.low))
        } else {
            ranges.insert(network)
        }
    }
}

extension LocalNetwork {
    /// Returns whether `other` has the same leading bits. Link-local addresses count too.
    fileprivate func covers(_ other: Address) -> Bool {
        let high: UInt64 = prefixLength >= 64 ? ~0 : ~(~0 >> UInt64(prefixLength))
        let low: UInt64 = prefixLength <= 64 ? 0 : ~(prefixLength == 128 ? 0 : ~0 >> UInt64(prefixLength - 64))
        return (other.high ^ address.high) & high == 0 && (other.low ^ address.low) & low == 0
    }
}

import InklingWire

/// The limits on a node's work for strangers (L-8 to L-11, L-92, L-96, L-97, D-25).
struct AdmissionControl: Sendable {
    private var beforeChecks = SlidingWindow(perSecond: Limits.initiationsBeforeChecks)
    private var load = SlidingWindow(perSecond: Limits.loadInitiations)
    private var retries = SlidingWindow(perSecond: Limits.retries)
    private var retriesToKnown = SlidingWindow(perSecond: Limits.retriesToKnown)
    private var openedOfUnknown = SlidingWindow(perSecond: Limits.cookieInitiationsFromUnknown)
    private var answers = SlidingWindow(perSecond: Limits.answers)
    private var answersToUnpreferred = SlidingWindow(perSecond: Limits.answersToUnpreferred)
    private var answersToUnknown = SlidingWindow(perSecond: Limits.answersToUnknown)
    private var cookiesBySource = ForgetfulTable<Source, TokenBucket>(capacity: Limits.cookieSources)
    private var asksTried = SlidingWindow(perSecond: Limits.asksTried)
    private var tells = SlidingWindow(perSecond: Limits.asksAnswered)
    private var tellsToUnknown = SlidingWindow(perSecond: Limits.asksAnsweredOfUnknown)
    private var datagramsBySource = ForgetfulTable<Source, TokenBucket>(capacity: Limits.links)
    private var suspectPings = SlidingWindow(perSecond: Limits.suspectPings)
    private var suspectPingsToStrangers = SlidingWindow(perSecond: Limits.suspectPingsToStrangers)
    private var key: CookieKey
    private var previousKey: CookieKey
    private var keySince: Instant

    /// The time for which a key makes cookies. A node accepts the key's cookies for as long again (L-11).
    private static let keyLifetime = Limits.cookieLifetime / 2

    init(now: Instant, _ effects: inout Effects) {
        key = effects.cookieKey()
        previousKey = effects.cookieKey()
        keySince = now
    }

    // MARK: Initiations

    /// Returns whether an initiation has a valid cookie for its source.
    mutating func hasValidCookie(
        _ initiation: Initiation, from address: Address, _ effects: inout Effects, now: Instant
    ) -> Bool {
        rotateKey(&effects, now: now)
        return [key, previousKey].contains { $0.fits(initiation, address: address.bytes, port: address.port) }
    }

    /// Counts an initiation. Returns whether the node may check it without a valid cookie (L-8, step 3).
    mutating func admitsCheck(now: Instant) -> Bool { !beforeChecks.count(now) }

    /// The decision on an initiation of one of the node's chats (L-8, step 5).
    enum Screening: Equatable {
        case open
        /// The node sends a retry: the initiator must repeat the initiation with a cookie.
        case retry
        case drop(DropReason)
    }

    /// Decides whether the node opens an initiation of one of its chats.
    ///
    /// - Parameters:
    ///   - acquaintance: The acquaintance at the initiation's source address.
    ///   - isFar: Whether the initiation came with a known hop limit below 255 (L-92).
    mutating func screen(
        hasCookie: Bool, from address: Address, _ acquaintance: Acquaintance, unconfirmedSessions: Int, isFar: Bool,
        _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) -> Screening {
        let isOverRate = load.count(now)
        let needsCookie = isOverRate || isFar || unconfirmedSessions >= Limits.loadUnconfirmedSessions
        guard hasCookie else { return needsCookie ? .retry : .open }
        if acquaintance < .verified, let source = surroundings.source(of: address) {
            guard takeCookie(of: source, &effects, now) else { return .drop(.sourceLimit) }
        }
        return acquaintance > .none || openedOfUnknown.take(now) ? .open : .drop(.answerLimit)
    }

    /// Returns the cookie for a retry; nil if the node has reached its limit of retries (L-96).
    mutating func retry(
        _ initiation: Initiation, to address: Address, _ acquaintance: Acquaintance, now: Instant
    ) -> [UInt8]? {
        guard acquaintance > .none && retriesToKnown.take(now) || retries.take(now) else { return nil }
        return key.cookie(for: initiation, address: address.bytes, port: address.port)
    }

    /// Returns whether the node may answer an initiation that it opened. If so, the answer counts against the limits
    /// (L-10).
    mutating func admitsAnswer(to acquaintance: Acquaintance, now: Instant) -> Bool {
        if acquaintance < .preferred, !answersToUnpreferred.hasRoom(now) { return false }
        if acquaintance < .linked, !answersToUnknown.hasRoom(now) { return false }
        guard answers.take(now) else { return false }
        if acquaintance < .preferred { _ = answersToUnpreferred.take(now) }
        if acquaintance < .linked { _ = answersToUnknown.take(now) }
        return true
    }

    /// Changes the key when its time is over. The previous key's cookies stay valid (L-11).
    private mutating func rotateKey(_ effects: inout Effects, now: Instant) {
        let age = now - keySince
        guard age >= AdmissionControl.keyLifetime else { return }
        let isRecent = age < AdmissionControl.keyLifetime * 2
        previousKey = isRecent ? key : effects.cookieKey()
        key = effects.cookieKey()
        // The new key's time starts when the old key's time ended, even if the change is late. So no key counts for
        // over 240 s.
        keySince = isRecent ? keySince + AdmissionControl.keyLifetime : now
    }

    private mutating func takeCookie(of source: Source, _ effects: inout Effects, _ now: Instant) -> Bool {
        var bucket =
            cookiesBySource[source]
            ?? TokenBucket(
                perSecond: Limits.cookieInitiationsPerSource,
                burst: source == .otherUsers
                    ? Limits.cookieInitiationsOfHostBurst : Limits.cookieInitiationsPerSourceBurst,
                now: now)
        defer { cookiesBySource.set(bucket, for: source, &effects) }
        return bucket.take(now)
    }

    // MARK: Asks

    /// Returns whether the node may try to match one more ask with its chats (D-25).
    mutating func admitsAsk(now: Instant) -> Bool { asksTried.take(now) }

    /// Returns whether the node may answer an ask. Half of the tells are kept for known addresses on this network
    /// (D-25).
    mutating func admitsTell(isKnown: Bool, now: Instant) -> Bool {
        if !isKnown, !tellsToUnknown.hasRoom(now) { return false }
        guard tells.take(now) else { return false }
        if !isKnown { _ = tellsToUnknown.take(now) }
        return true
    }

    // MARK: Links

    /// Counts a datagram against the limit of all links of its source (L-25). The node's own user is not limited.
    ///
    /// - Returns: Whether the limit permits the datagram.
    mutating func takesDatagram(of source: Source?, _ effects: inout Effects, now: Instant) -> Bool {
        guard let source else { return true }
        var bucket =
            datagramsBySource[source]
            ?? TokenBucket(
                perSecond: Limits.datagramsPerSource, burst: Limits.datagramsPerSourceBurst, now: now)
        defer { datagramsBySource.set(bucket, for: source, &effects) }
        return bucket.take(now)
    }

    /// Counts the datagrams of one ping to a suspect link (L-76).
    ///
    /// - Returns: Whether the limit permits all of them. If not, none counts.
    mutating func takesPing(_ count: Int, isStranger: Bool, now: Instant) -> Bool {
        guard suspectPings.hasRoom(now, for: count) else { return false }
        guard !isStranger || suspectPingsToStrangers.hasRoom(now, for: count) else { return false }
        for _ in 0..<count {
            _ = suspectPings.take(now)
            if isStranger { _ = suspectPingsToStrangers.take(now) }
        }
        return true
    }
}

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

    /// Computes all entries again, because the standings have changed.
    mutating func rebuild(_ links: LinkTable, _ directory: PeerDirectory, _ surroundings: Surroundings) {
        self = KnownAddresses()
        for id in links.sortedIDs { update(id, links, surroundings) }
        for id in directory.instances.sortedIDs { update(id, directory.instances, surroundings) }
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

/// The rules for a full node: which new links it makes, and which links it evicts for them (L-39, L-52, L-53, L-99).
extension LinkTable {
    enum Room: Equatable {
        case free
        /// There is room if the node evicts this link.
        case inPlace(of: LinkID)
        case none
    }

    /// The properties of a link on which its eviction depends.
    private struct Tenant {
        let id: LinkID
        let isDown: Bool
        let standing: Standing
        let source: Source?
        let chat: ChatID
    }

    /// Returns whether the node has room for another link with a person.
    ///
    /// - Parameters:
    ///   - address: The peer's address.
    ///   - chatCount: The number of chats that the node is in.
    func room(
        for person: PersonID, at address: Address, chatCount: Int, _ surroundings: Surroundings
    ) -> Room {
        let standing = surroundings.standing(of: person)
        let source = surroundings.source(of: address)
        let isCounted = source != nil && standing < .verified
        let own = ids(of: person)
        let oldestDown = own.first { self[$0].isDown }
        guard own.count < Limits.linksPerKey else { return oldestDown.map { .inPlace(of: $0) } ?? .none }
        guard isCounted || count >= Limits.links else { return .free }
        let tenants = unordered.map { link in
            Tenant(
                id: link.id, isDown: link.isDown, standing: surroundings.standing(of: link.personID),
                source: surroundings.source(of: link), chat: link.chat)
        }
        if isCounted {
            let there = tenants.filter { $0.source == source && $0.standing < .verified }
            let limit = source == .otherUsers ? Limits.linksOfOtherUsers : Limits.linksPerSource
            if there.count >= limit {
                let down = own.first { id in self[id].isDown && there.contains { $0.id == id } }
                if let down { return .inPlace(of: down) }
                return LinkTable.lower(than: standing, among: there) ?? .none
            }
        }
        guard count >= Limits.links else { return .free }
        if let oldestDown { return .inPlace(of: oldestDown) }
        if let room = LinkTable.lower(than: standing, among: tenants) { return room }
        guard standing < .verified else { return .none }
        let equals = tenants.filter { $0.standing == standing }
        return inSource(source, among: equals) ?? inChat(person.chat, chatCount, among: equals) ?? .none
    }

    /// Returns a link of the lowest standing if that is below `standing`: the newest down link, or else the newest link
    /// (L-52).
    private static func lower(than standing: Standing, among tenants: [Tenant]) -> Room? {
        guard let lowest = tenants.map(\.standing).min(), lowest < standing else { return nil }
        return newest(tenants.filter { $0.standing == lowest })
    }

    /// Returns the newest link of the source that has the most of these links. The source must have some more
    /// than `source` (L-99).
    private func inSource(_ source: Source?, among tenants: [Tenant]) -> Room? {
        var groups: [Source: [Tenant]] = [:]
        for tenant in tenants {
            if let source = tenant.source { groups[source, default: []].append(tenant) }
        }
        let own = source.flatMap { groups[$0]?.count } ?? 0
        guard let largest = LinkTable.largest(groups.values), largest.count >= own + Limits.moreLinksOfFullestSource
        else { return nil }
        return LinkTable.newest(largest)
    }

    /// Returns the newest link of the chat that most exceeds its share, provided that `chat` is below its own share.
    private func inChat(_ chat: ChatID, _ chatCount: Int, among tenants: [Tenant]) -> Room? {
        let share = Limits.links / max(chatCount, 1)
        guard ids(in: chat).count < share else { return nil }
        let crowded = tenants.filter { ids(in: $0.chat).count > share }
        let most = crowded.map { ids(in: $0.chat).count }.max()
        return LinkTable.newest(crowded.filter { ids(in: $0.chat).count == most })
    }

    /// Returns the largest group. Among equal groups, the group with the newest link wins, so that the order of groups
    /// has no effect.
    private static func largest(_ groups: some Collection<[Tenant]>) -> [Tenant]? {
        func rank(_ group: [Tenant]) -> (Int, LinkID) {
            (group.count, group.map(\.id).max() ?? LinkID(value: 0))
        }
        return groups.max { rank($0) < rank($1) }
    }

    /// Returns the newest down link, or the newest link if none is down.
    private static func newest(_ tenants: [Tenant]) -> Room? {
        let down = tenants.filter(\.isDown)
        return (down.isEmpty ? tenants : down).map(\.id).max().map { .inPlace(of: $0) }
    }
}

/// The origin of datagrams for limits on each source. A source ignores the port.
enum Source: Hashable {
    /// A host on the link, by its whole address, because all hosts there share one prefix.
    case host(high: UInt64, low: UInt64, scope: UInt32)
    /// An origin beyond the link: an IPv4 address, or the first 64 bits of an IPv6 address.
    case network(high: UInt64, low: UInt64)
    /// All other users of this host, at any of its addresses (L-53).
    case otherUsers
}

extension Surroundings {
    func standing(of person: PersonID) -> Standing {
        let own = standings.isEmpty ? .stranger : standings[person.key] ?? .stranger
        return max(own, secretChats.contains(person.chat) ? .met : .stranger)
    }

    /// How well the user knows a person. Of people whom the user knows equally well, members of secret chats come first.
    struct Rank: Comparable {
        let standing: Standing
        let isMember: Bool

        static func < (left: Rank, right: Rank) -> Bool {
            left.standing == right.standing ? !left.isMember && right.isMember : left.standing < right.standing
        }
    }

    func rank(of person: PersonID) -> Rank {
        Rank(standing: standings[person.key] ?? .stranger, isMember: secretChats.contains(person.chat))
    }

    /// Returns whether a node prefers a person to strangers.
    func isPreferred(_ person: PersonID) -> Bool { standing(of: person) > .stranger }

    /// Returns the source of an address; nil for sockets of the node's own user, which have no limit (L-53).
    func source(of address: Address) -> Source? { source(of: address, isOwnUsers: isOwnUsers(address)) }

    /// Returns the source of an address.
    ///
    /// - Parameter isOwnUsers: Whether the system knows that a socket of the node's own user has that address.
    func source(of address: Address, isOwnUsers: Bool) -> Source? {
        if isOwnHost(address) {
            return isOwnUsers ? nil : .otherUsers
        }
        return isOnLink(address)
            ? .host(high: address.high, low: address.low, scope: address.scope)
            : .network(high: address.high, low: address.ipv4 == nil ? 0 : address.low)
    }

    func source(of link: Link) -> Source? { source(of: link.address, isOwnUsers: link.isOwnUsers) }
}

/// A table with a maximum number of entries. When the table is full, a new entry replaces a random one. So it accepts
/// everybody, and nobody can choose which entry it evicts.
struct ForgetfulTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var values: [Key: Value] = [:]
    private var keys: [Key] = []

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    var count: Int { keys.count }

    subscript(key: Key) -> Value? { values[key] }

    mutating func set(_ value: Value, for key: Key, _ effects: inout Effects) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        guard keys.count >= capacity else { return keys.append(key) }
        let place = Int(effects.number() % UInt64(keys.count))
        values[keys[place]] = nil
        keys[place] = key
    }

    /// Removes an entry. The last entry moves to its place.
    mutating func remove(_ key: Key) {
        guard values.removeValue(forKey: key) != nil, let place = keys.firstIndex(of: key) else { return }
        keys.swapAt(place, keys.count - 1)
        keys.removeLast()
    }
}

import InklingCore

/// The instances that discovery knows of, what is looked up about them and when, and what is to be reported.
///
/// It performs nothing itself: it is told what the browser and the lookups answered, says which lookups to begin
/// (``nextLookup(now:)``), which are still wanted (``inFlight``), when to come back (``nextDeadline``), and what to
/// report (``takeEvents()``).
package struct InstanceTable {
    package typealias Instant = ContinuousClock.Instant

    /// One registration of one node, by the names that DNS-SD knows it under.
    package struct Instance: Hashable, Comparable {
        package let subtype: String
        package let name: String

        package init(subtype: String, name: String) {
            self.subtype = subtype
            self.name = name
        }

        package static func < (left: Self, right: Self) -> Bool {
            (left.subtype, left.name) < (right.subtype, right.name)
        }
    }

    /// An instance as seen on one interface.
    package struct Sighting: Hashable {
        package let instance: Instance
        package let interface: UInt32

        package init(instance: Instance, interface: UInt32) {
            self.instance = instance
            self.interface = interface
        }
    }

    package enum Family: Hashable {
        case ipv4
        case ipv6
    }

    package enum Question: Hashable {
        /// Host, port and TXT record of the instance.
        case service
        /// The addresses of its host.
        case addresses(Family, host: String)
    }

    /// One resolve or query that was begun; the number tells it from earlier ones with the same question.
    package struct Lookup: Hashable {
        package let number: UInt64
        package let sighting: Sighting
        package let question: Question
    }

    /// The lookups under way and when they time out. A lookup that is not in here any more is to be ended.
    package private(set) var inFlight: [Lookup: Instant] = [:]

    private var instances: [Instance: [UInt32: Entry]] = [:]
    private var sightingCount = 0
    private var reported: [Instance: Offer] = [:]
    private var changed: Set<Instance> = []
    private var ownInstances: Set<Instance> = []
    private var acceptedInterfaces: Set<UInt32> = []
    private var isSuspended = false
    private var sweepTime: Instant?
    private var lastNumber: UInt64 = 0
    private var lastTurn: UInt64 = 0
    /// Sightings that had to make room, each with the number of address families that the browser lists it for.
    private var displaced: [Sighting: Int] = [:]
    private var nextReturn: Instant?
    /// Of the instances that were never looked up, the newest and one at random take turns.
    private var takesNewest = true
    private var random: any RandomNumberGenerator & Sendable

    /// - Parameter random: Decides which instance of many is looked up next, and which makes room.
    package init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

    // MARK: - What the browser says

    /// The instance was added on the interface, for one more address family.
    package mutating func added(_ sighting: Sighting, now: Instant) {
        guard var entry = self[sighting] else {
            if let families = displaced[sighting] {
                displaced[sighting] = min(families + 1, 2)
                return
            }
            guard sightingCount < DiscoveryLimits.sightings || displaceOne(now: now) else { return }
            self[sighting] = Entry(families: 1, turn: takeTurn(), known: nil, progress: .due(now, attempt: 0))
            return
        }
        switch entry.families {
        case 0:
            entry.families = 1
            entry.turn = takeTurn()
            cancel(entry.progress)
            entry.progress = .due(now, attempt: 0)
        case 1:
            entry.families = 2
            if case .settled = entry.progress, !(entry.known?.hasBothFamilies ?? false) {
                entry.turn = takeTurn()
                entry.progress = .due(now, attempt: 0)
            }
        default:
            break
        }
        self[sighting] = entry
    }

    /// The instance was removed on the interface, for one address family.
    package mutating func removed(_ sighting: Sighting, now: Instant) {
        if let families = displaced[sighting] {
            displaced[sighting] = families > 1 ? families - 1 : nil
            return
        }
        guard var entry = self[sighting], entry.families > 0 else { return }
        entry.families -= 1
        self[sighting] = entry.families > 0 ? entry : nil
        if entry.families == 0 {
            cancel(entry.progress)
            changed.insert(sighting.instance)
            bringBackOne(now: now)
        }
    }

    /// Whether the browser lists the instance now, on whatever interface.
    package func isListed(_ instance: Instance) -> Bool {
        (instances[instance]?.values.contains { $0.families > 0 } ?? false)
            || displaced.keys.contains { $0.instance == instance }
    }

    /// How many sightings are known, and looked up in their turn.
    package var knownCount: Int { sightingCount }

    /// Whether a sighting is known: listed, and not one that gave way.
    package func isKnown(_ sighting: Sighting) -> Bool { self[sighting] != nil }

    // MARK: - What the lookups answer

    /// Answers a lookup of ``Question/service``. A port of 0, a TXT record too long or a host that is not of the network
    /// link (D-18) makes it a failure.
    package mutating func resolved(_ lookup: Lookup, host: String, port: UInt16, txt: [UInt8], now: Instant) {
        guard inFlight[lookup] != nil, lookup.question == .service else { return }
        guard port != 0, txt.count <= DiscoveryLimits.txtBytes, InstanceTable.isLocal(host) else {
            return failed(lookup, now: now)
        }
        inFlight[lookup] = nil
        guard var entry = self[lookup.sighting], case .resolving(_, let attempt) = entry.progress else { return }
        entry.progress = .searching(Search(host: host, port: port, txt: txt, attempt: attempt))
        self[lookup.sighting] = entry
    }

    /// Answers a lookup of ``Question/addresses(_:host:)`` with one address, whose port has no meaning.
    package mutating func answered(_ lookup: Lookup, with address: Address, added: Bool, now: Instant) {
        guard let deadline = inFlight[lookup], var entry = self[lookup.sighting],
            case .searching(var search) = entry.progress
        else { return }
        let isOnLink = !address.isLinkLocalOfOtherScope(than: lookup.sighting.interface)
        let full = Address(high: address.high, low: address.low, port: search.port, scope: address.scope)
        if added, isOnLink, full.isUnicast, search.addresses.count < 2 * DiscoveryLimits.addresses {
            search.addresses.insert(full)
            inFlight[lookup] = min(deadline, now + DiscoveryLimits.quietTime)
            if let sibling = search.asked.first(where: { $0 != lookup }), let deadline = inFlight[sibling] {
                inFlight[sibling] = min(deadline, now + DiscoveryLimits.siblingTime)
            }
        } else if !added {
            search.addresses.remove(full)
        }
        entry.progress = .searching(search)
        self[lookup.sighting] = entry
        changed.insert(lookup.sighting.instance)
    }

    /// The lookup could not be begun, answered an error, or timed out.
    package mutating func failed(_ lookup: Lookup, now: Instant) {
        guard inFlight.removeValue(forKey: lookup) != nil, var entry = self[lookup.sighting] else { return }
        switch entry.progress {
        case .resolving(_, let attempt):
            entry.turn = takeTurn()
            entry.progress = .due(now + DiscoveryLimits.retryPause(afterAttempt: attempt), attempt: attempt)
        case .searching(var search):
            search.end(lookup)
            if !search.isOver {
                entry.progress = .searching(search)
            } else if search.addresses.isEmpty {
                entry.turn = takeTurn()
                let pause = DiscoveryLimits.retryPause(afterAttempt: search.attempt)
                entry.progress = .due(now + pause, attempt: search.attempt)
            } else {
                entry.known = Offer(txt: search.txt, addresses: search.addresses)
                entry.progress = .settled(now)
            }
            changed.insert(lookup.sighting.instance)
        case .due, .settled:
            break
        }
        self[lookup.sighting] = entry
    }

    // MARK: - What is wanted

    /// Looks the instance up again wherever it is listed, unless that is being done or was done a moment ago.
    package mutating func refresh(_ instance: Instance, now: Instant) {
        for interface in (instances[instance] ?? [:]).keys.sorted() {
            let sighting = Sighting(instance: instance, interface: interface)
            guard var entry = self[sighting] else { continue }
            switch entry.progress {
            case .settled(let time) where now >= time + DiscoveryLimits.refreshTime:
                entry.turn = takeTurn()
                entry.progress = .due(now, attempt: 0)
            case .due(let time, let attempt) where time > now:
                entry.progress = .due(now, attempt: attempt)
            case .due, .settled, .resolving, .searching:
                continue
            }
            self[sighting] = entry
        }
    }

    /// Looks all instances up again, as ``refresh(_:now:)`` does one.
    package mutating func refreshAll(now: Instant) {
        for instance in instances.keys.sorted() { refresh(instance, now: now) }
    }

    /// Sets the own instances: they are neither looked up nor reported.
    package mutating func setOwnInstances(_ instances: Set<Instance>, now: Instant) {
        let different = instances.symmetricDifference(ownInstances)
        ownInstances = instances
        for instance in different.sorted() {
            restart(instance, now: now) { _ in true }
        }
    }

    /// Sets the indices of the interfaces whose sightings count.
    package mutating func setAcceptedInterfaces(_ interfaces: Set<UInt32>, now: Instant) {
        let different = interfaces.symmetricDifference(acceptedInterfaces)
        acceptedInterfaces = interfaces
        guard !different.isEmpty else { return }
        for instance in instances.keys.sorted() {
            restart(instance, now: now) { different.contains($0) }
        }
    }

    /// Forgets all about a subtype, without an event.
    package mutating func forget(subtype: String) {
        for (instance, entries) in instances where instance.subtype == subtype {
            for entry in entries.values { cancel(entry.progress) }
            sightingCount -= entries.count
            instances[instance] = nil
        }
        displaced = displaced.filter { $0.key.instance.subtype != subtype }
        reported = reported.filter { $0.key.subtype != subtype }
        changed = changed.filter { $0.subtype != subtype }
        ownInstances = ownInstances.filter { $0.subtype != subtype }
    }

    // MARK: - Outages

    /// All references are gone: lookups end, and no instance is listed until it is added again. What was reported
    /// stays as it is.
    package mutating func suspend(now: Instant) {
        isSuspended = true
        sweepTime = nil
        inFlight = [:]
        displaced = [:]
        for (instance, entries) in instances {
            instances[instance] = entries.mapValues { entry in
                var entry = entry
                entry.families = 0
                entry.progress = .due(now, attempt: 0)
                return entry
            }
        }
    }

    /// Browsing goes on. What is not listed again within ``DiscoveryLimits/keepTime`` is lost.
    package mutating func resume(now: Instant) {
        guard isSuspended else { return }
        isSuspended = false
        sweepTime = now + DiscoveryLimits.keepTime
    }

    // MARK: - What to do

    /// Lets the lookups time out, and the instances from before an outage, whose time is over at `now`.
    package mutating func advance(to now: Instant) {
        let over = inFlight.filter { $0.value <= now }.keys.sorted { $0.number < $1.number }
        for lookup in over { failed(lookup, now: now) }
        if let time = nextReturn, time <= now {
            nextReturn = now + DiscoveryLimits.returnTime
            // Not the one that gives way now.
            if let waiting = displaced.randomElement(using: &random), displaceInVain() {
                bringBack(waiting.key, now: now)
            }
        }
        if displaced.isEmpty { nextReturn = nil }
        guard let time = sweepTime, time <= now else { return }
        sweepTime = nil
        for (instance, entries) in instances {
            for (interface, entry) in entries where entry.families == 0 {
                self[Sighting(instance: instance, interface: interface)] = nil
                changed.insert(instance)
            }
        }
    }

    /// The next lookup to begin now, which is in flight from here on; nil if there is none or no room for it.
    ///
    /// What was begun is finished first; then come those never tried, the newest and one at random in turns, so that
    /// neither a crowd of old ones nor one of new ones keeps somebody out; then the others by the number of tries.
    package mutating func nextLookup(now: Instant) -> Lookup? {
        guard !isSuspended, inFlight.count < DiscoveryLimits.lookups else { return nil }
        var best: (rank: Int, turn: UInt64, sighting: Sighting, question: Question)?
        var untried: [(turn: UInt64, sighting: Sighting)] = []
        for (instance, entries) in instances where !ownInstances.contains(instance) {
            for (interface, entry) in entries where acceptedInterfaces.contains(interface) {
                guard let (rank, question) = entry.wish(now: now) else { continue }
                let sighting = Sighting(instance: instance, interface: interface)
                if rank == Entry.untriedRank { untried.append((entry.turn, sighting)) }
                if let best, (best.rank, best.turn) <= (rank, entry.turn) { continue }
                best = (rank, entry.turn, sighting, question)
            }
        }
        if best?.rank == Entry.untriedRank, let chosen = turn(among: untried) { best?.sighting = chosen }
        guard let best, var entry = self[best.sighting] else { return nil }
        lastNumber += 1
        let lookup = Lookup(number: lastNumber, sighting: best.sighting, question: best.question)
        let isSiblingAnswered = entry.begin(lookup)
        inFlight[lookup] = now + (isSiblingAnswered ? DiscoveryLimits.siblingTime : DiscoveryLimits.lookupTime)
        self[best.sighting] = entry
        return lookup
    }

    /// When ``advance(to:)`` and ``nextLookup(now:)`` have something to do next, if nothing else happens.
    package var nextDeadline: Instant? {
        var deadline = ([sweepTime, nextReturn].compactMap { $0 } + inFlight.values).min()
        guard !isSuspended, inFlight.count < DiscoveryLimits.lookups else { return deadline }
        for (instance, entries) in instances where !ownInstances.contains(instance) {
            for (interface, entry) in entries where acceptedInterfaces.contains(interface) {
                guard entry.families > 0, case .due(let time, _) = entry.progress else { continue }
                deadline = min(deadline ?? time, time)
            }
        }
        return deadline
    }

    /// What changed since the last call, in the order of subtypes and names.
    package mutating func takeEvents() -> [DiscoveryEvent] {
        defer { changed = [] }
        return changed.sorted().compactMap { instance in
            let entries = ownInstances.contains(instance) ? [:] : instances[instance] ?? [:]
            let visible = entries.filter { acceptedInterfaces.contains($0.key) }
            guard !visible.isEmpty else {
                guard reported.removeValue(forKey: instance) != nil else { return nil }
                return .lost(subtype: instance.subtype, instance: instance.name)
            }
            let offers = visible.sorted { $0.key < $1.key }.compactMap(\.value.offer)
            guard let offer = Offer.merged(offers, before: reported[instance]), offer != reported[instance] else {
                return nil
            }
            reported[instance] = offer
            return .found(
                subtype: instance.subtype, instance: instance.name, txt: offer.txt,
                addresses: offer.ranked)
        }
    }

    // MARK: - Helpers

    private subscript(sighting: Sighting) -> Entry? {
        get { instances[sighting.instance]?[sighting.interface] }
        set {
            var entries = instances[sighting.instance] ?? [:]
            let before = entries.count
            entries[sighting.interface] = newValue
            sightingCount += entries.count - before
            instances[sighting.instance] = entries.isEmpty ? nil : entries
        }
    }

    private mutating func takeTurn() -> UInt64 {
        lastTurn += 1
        return lastTurn
    }

    /// Begins the lookups of an instance again on the interfaces that `isConcerned` picks.
    private mutating func restart(_ instance: Instance, now: Instant, where isConcerned: (UInt32) -> Bool) {
        for (interface, entry) in instances[instance] ?? [:] where isConcerned(interface) {
            var entry = entry
            cancel(entry.progress)
            entry.progress = .due(now, attempt: 0)
            self[Sighting(instance: instance, interface: interface)] = entry
            changed.insert(instance)
        }
    }

    private mutating func cancel(_ progress: Entry.Progress) {
        switch progress {
        case .due, .settled: break
        case .resolving(let lookup, _): inFlight[lookup] = nil
        case .searching(let search): for lookup in search.asked { inFlight[lookup] = nil }
        }
    }

    /// Which of those that were never looked up is next.
    private mutating func turn(among untried: [(turn: UInt64, sighting: Sighting)]) -> Sighting? {
        defer { takesNewest.toggle() }
        if takesNewest { return untried.max { $0.turn < $1.turn }?.sighting }
        return untried.randomElement(using: &random)?.sighting
    }

    /// Whether a host is one of the network link, by its name in multicast DNS.
    private static func isLocal(_ host: String) -> Bool {
        let name = host.lowercased()
        return name.hasSuffix(".local") || name.hasSuffix(".local.")
    }

    // MARK: - Room

    /// Makes room for one more sighting: the one most often tried in vain gives way or, where all have answered or are
    /// still to be tried, one at random. False if there are none but our own.
    private mutating func displaceOne(now: Instant) -> Bool {
        guard !displaceInVain() else { return keepReturning(now) }
        // Own instances are few: one of the others comes up soon, if there is one.
        for _ in 0..<16 {
            guard let (instance, entries) = instances.randomElement(using: &random), !ownInstances.contains(instance),
                let interface = entries.keys.randomElement(using: &random)
            else { continue }
            displace(Sighting(instance: instance, interface: interface))
            return keepReturning(now)
        }
        return false
    }

    private mutating func keepReturning(_ now: Instant) -> Bool {
        nextReturn = nextReturn ?? now + DiscoveryLimits.returnTime
        return true
    }

    /// The sighting that was most often tried in vain makes room; false if there is none.
    private mutating func displaceInVain() -> Bool {
        var worst: (attempt: Int, turn: UInt64, sighting: Sighting)?
        for (instance, entries) in instances where !ownInstances.contains(instance) {
            for (interface, entry) in entries where entry.known == nil {
                guard case .due(_, let attempt) = entry.progress, attempt > 0 else { continue }
                if let worst, (worst.attempt, UInt64.max - worst.turn) >= (attempt, UInt64.max - entry.turn) {
                    continue
                }
                worst = (attempt, entry.turn, Sighting(instance: instance, interface: interface))
            }
        }
        guard let worst else { return false }
        displace(worst.sighting)
        return true
    }

    private mutating func displace(_ sighting: Sighting) {
        guard let entry = self[sighting] else { return }
        cancel(entry.progress)
        self[sighting] = nil
        changed.insert(sighting.instance)
        guard entry.families > 0 else { return }
        if displaced.count >= DiscoveryLimits.displacedSightings,
            let forgotten = displaced.keys.randomElement(using: &random)
        {
            displaced[forgotten] = nil
        }
        displaced[sighting] = entry.families
    }

    /// One of those that made room, at random, is known again.
    private mutating func bringBackOne(now: Instant) {
        guard sightingCount < DiscoveryLimits.sightings, let waiting = displaced.randomElement(using: &random) else {
            return
        }
        bringBack(waiting.key, now: now)
    }

    private mutating func bringBack(_ sighting: Sighting, now: Instant) {
        guard let families = displaced.removeValue(forKey: sighting) else { return }
        self[sighting] = Entry(families: families, turn: takeTurn(), known: nil, progress: .due(now, attempt: 0))
    }
}

extension Address {
    /// Whether this is a link-local address that is not one of the interface with this index.
    fileprivate func isLinkLocalOfOtherScope(than interface: UInt32) -> Bool {
        isIPv6LinkLocal && (scope != interface || scope == 0)
    }
}

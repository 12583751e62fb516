import InklingCore

/// The instances that discovery knows of, their lookups, and the changes to report.
///
/// The table performs nothing itself. The loop passes in the answers of the browser and the lookups. The table returns
/// the lookups to begin (``nextLookup(now:)``), those still wanted (``inFlight``), the time of its next step
/// (``nextDeadline()``), and the changes (``takeEvents()``).
package struct InstanceTable {
    package typealias Instant = ContinuousClock.Instant

    /// One registration of one node, by the names that DNS-SD knows it under.
    package struct Instance: Hashable, Comparable {
        package let chat: ChatID
        package let name: String

        package init(chat: ChatID, name: String) {
            self.chat = chat
            self.name = name
        }

        package static func < (left: Self, right: Self) -> Bool {
            (left.chat, left.name) < (right.chat, right.name)
        }
    }

    /// An instance on one interface.
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
        /// The addresses of the instance's host.
        case addresses(Family, host: String)
    }

    /// One resolve or query that was begun. The number distinguishes it from earlier ones with the same question.
    package struct Lookup: Hashable {
        package let number: UInt64
        package let sighting: Sighting
        package let question: Question
    }

    /// The lookups under way and when they time out. The loop ends a lookup that is not in here any more.
    package internal(set) var inFlight: [Lookup: Instant] = [:]

    private var instances: [Instance: [UInt32: Entry]] = [:]
    /// The sightings in ``instances``.
    private(set) var sightings = RandomTable<Sighting, Void>()
    private var reported: [Instance: Offer] = [:]
    var changed: Set<Instance> = []
    private(set) var ownInstances: Set<Instance> = []
    private var acceptedInterfaces: Set<UInt32> = []
    private var isSuspended = false
    private var sweepTime: Instant?
    private var lastNumber: UInt64 = 0
    private var lastTurn: UInt64 = 0
    /// The evicted sightings, each with the number of address families for which the browser lists it.
    var displaced = RandomTable<Sighting, Int>()
    var nextReturn: Instant?
    private var queue = LookupQueue()
    private var budget = LookupBudget()
    /// The sightings whose host has an address family not asked for yet, with their turns.
    private var searching: [Sighting: UInt64] = [:]
    var random: any RandomNumberGenerator & Sendable

    /// Makes an empty table.
    ///
    /// - Parameter random: The generator that chooses the next of many lookups, and the sightings to evict.
    package init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

    // MARK: - Answers of the browser

    /// Records that the browser added an instance on an interface, for one more address family.
    package mutating func added(_ sighting: Sighting, now: Instant) {
        guard var entry = self[sighting] else {
            if let families = displaced[sighting] {
                displaced[sighting] = min(families + 1, 2)
                return
            }
            guard sightings.count < DiscoveryLimits.sightings || displaceOne(now: now) else { return }
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

    /// Records that the browser removed an instance on an interface, for one address family.
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

    /// Returns whether the browser lists the instance now on an accepted interface.
    package func isListed(_ instance: Instance) -> Bool {
        (instances[instance]?.values.contains { $0.families > 0 } ?? false)
            || acceptedInterfaces.contains { displaced[Sighting(instance: instance, interface: $0)] != nil }
    }

    /// The number of known sightings. The table looks each of them up in turn.
    package var knownCount: Int { sightings.count }

    /// Returns whether a sighting is known: listed, and not evicted.
    package func isKnown(_ sighting: Sighting) -> Bool { self[sighting] != nil }

    // MARK: - Wanted instances

    /// Looks the instance up again wherever it is listed, unless a lookup is under way or ended a moment ago.
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

    /// Looks all instances up again, as ``refresh(_:now:)`` does for one.
    package mutating func refreshAll(now: Instant) {
        for instance in instances.keys.sorted() { refresh(instance, now: now) }
    }

    /// Sets the node's own instances. The table neither looks them up nor reports them.
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

    /// Forgets a chat, without an event.
    package mutating func forget(_ chat: ChatID) {
        for (instance, entries) in instances where instance.chat == chat {
            for (interface, entry) in entries {
                cancel(entry.progress)
                self[Sighting(instance: instance, interface: interface)] = nil
            }
        }
        displaced.removeAll { $0.instance.chat == chat }
        reported = reported.filter { $0.key.chat != chat }
        changed = changed.filter { $0.chat != chat }
        ownInstances = ownInstances.filter { $0.chat != chat }
    }

    // MARK: - Outages

    /// Handles the loss of all references: lookups end, and no instance is listed until the browser adds it again.
    /// Earlier reports stay valid.
    package mutating func suspend(now: Instant) {
        isSuspended = true
        sweepTime = nil
        inFlight = [:]
        displaced = RandomTable()
        searching = [:]
        for (instance, entries) in instances {
            instances[instance] = entries.mapValues { entry in
                var entry = entry
                entry.families = 0
                entry.progress = .due(now, attempt: 0)
                return entry
            }
        }
    }

    /// Handles the restart of browsing. Instances that the browser does not list again within
    /// ``DiscoveryLimits/keepTime`` are lost.
    package mutating func resume(now: Instant) {
        guard isSuspended else { return }
        isSuspended = false
        sweepTime = now + DiscoveryLimits.keepTime
    }

    // MARK: - Next steps

    /// Times out lookups, and drops the instances from before an outage once their time is over.
    package mutating func advance(to now: Instant) {
        let over = inFlight.filter { $0.value <= now }.keys.sorted { $0.number < $1.number }
        for lookup in over { failed(lookup, now: now) }
        if let time = nextReturn, time <= now {
            nextReturn = now + DiscoveryLimits.returnTime
            // Drawn before the eviction, because the sighting to evict now must not return at once.
            if let waiting = displaced.randomKey(using: &random), displaceInVain() { bringBack(waiting, now: now) }
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

    /// Returns the next lookup to begin now, which is in flight from then on; nil if there is none or no room for it.
    ///
    /// Searches under way come first. Then come the sightings in the order of ``LookupQueue``.
    package mutating func nextLookup(now: Instant) -> Lookup? {
        guard !isSuspended, inFlight.count < DiscoveryLimits.lookups, budget.isOpen(now) else { return nil }
        guard let sighting = nextSearch() ?? nextDue(now), var entry = self[sighting],
            let question = entry.wish(now: now)
        else { return nil }
        budget.take(now)
        lastNumber += 1
        let lookup = Lookup(number: lastNumber, sighting: sighting, question: question)
        let isSiblingAnswered = entry.begin(lookup)
        inFlight[lookup] = now + (isSiblingAnswered ? DiscoveryLimits.siblingTime : DiscoveryLimits.lookupTime)
        self[sighting] = entry
        return lookup
    }

    private func nextSearch() -> Sighting? {
        searching.filter { isWanted($0.key) }.min { $0.value < $1.value }?.key
    }

    private mutating func nextDue(_ now: Instant) -> Sighting? {
        withQueue { queue, table in queue.next(now, using: &table.random, holds: table.holds)?.sighting }
    }

    /// Returns the time at which ``advance(to:)`` or ``nextLookup(now:)`` next has work to do, if nothing else happens.
    package mutating func nextDeadline() -> Instant? {
        let deadline = ([sweepTime, nextReturn].compactMap { $0 } + inFlight.values).min()
        guard !isSuspended, inFlight.count < DiscoveryLimits.lookups else { return deadline }
        // A lookup waits for the budget too.
        let search = nextSearch() == nil ? nil : budget.opening
        let due = withQueue { queue, table in queue.nextDeadline(holds: table.holds) }
            .map { max($0, budget.opening ?? $0) }
        return [deadline, search, due].compactMap(\.self).min()
    }

    /// Returns the changes since the last call, ordered by chat and name.
    package mutating func takeEvents() -> [DiscoveryEvent] {
        defer { changed = [] }
        return changed.sorted().compactMap { instance in
            let entries = ownInstances.contains(instance) ? [:] : instances[instance] ?? [:]
            let visible = entries.filter { acceptedInterfaces.contains($0.key) }
            guard !visible.isEmpty else {
                guard reported.removeValue(forKey: instance) != nil else { return nil }
                return .lost(instance.chat, instance: instance.name)
            }
            let offers = visible.sorted { $0.key < $1.key }.compactMap(\.value.offer)
            guard let offer = Offer.merged(offers, before: reported[instance]), offer != reported[instance] else {
                return nil
            }
            reported[instance] = offer
            return .found(
                instance.chat, instance: instance.name, txt: offer.txt,
                addresses: offer.ranked)
        }
    }

    // MARK: - Helpers

    subscript(sighting: Sighting) -> Entry? {
        get { instances[sighting.instance]?[sighting.interface] }
        set {
            var entries = instances[sighting.instance] ?? [:]
            let before = entries[sighting.interface]
            entries[sighting.interface] = newValue
            instances[sighting.instance] = entries.isEmpty ? nil : entries
            sightings[sighting] = newValue.map { _ in () }
            enqueue(newValue, before: before, at: sighting)
        }
    }

    /// Records the lookup that an entry waits for from now on.
    private mutating func enqueue(_ entry: Entry?, before: Entry?, at sighting: Sighting) {
        let isSearching = if case .searching(let search)? = entry?.progress { search.nextFamily != nil } else { false }
        searching[sighting] = isSearching ? entry?.turn : nil
        guard let entry, let ticket = entry.ticket(of: sighting), ticket != before?.ticket(of: sighting) else { return }
        queue.add(ticket, hasAnswered: entry.known != nil)
        let count = sightings.count
        withQueue { queue, table in queue.compact(count: count, holds: table.holds) }
    }

    /// Changes the queue while `body` can ask the rest of the table.
    mutating func withQueue<Result>(_ body: (inout LookupQueue, inout Self) -> Result) -> Result {
        var queue = queue
        self.queue = LookupQueue()
        defer { self.queue = queue }
        return body(&queue, &self)
    }

    /// Returns whether a ticket is still the current one of its sighting.
    func holds(_ ticket: LookupQueue.Ticket) -> Bool {
        isWanted(ticket.sighting) && self[ticket.sighting]?.ticket(of: ticket.sighting) == ticket
    }

    private func isWanted(_ sighting: Sighting) -> Bool {
        acceptedInterfaces.contains(sighting.interface) && !ownInstances.contains(sighting.instance)
    }

    mutating func takeTurn() -> UInt64 {
        lastTurn += 1
        return lastTurn
    }

    /// Restarts the lookups of an instance on the interfaces that `isConcerned` picks.
    private mutating func restart(_ instance: Instance, now: Instant, where isConcerned: (UInt32) -> Bool) {
        for (interface, entry) in instances[instance] ?? [:] where isConcerned(interface) {
            var entry = entry
            cancel(entry.progress)
            // The queue may have dropped the earlier ticket while nobody wanted it.
            entry.turn = takeTurn()
            entry.progress = .due(now, attempt: 0)
            self[Sighting(instance: instance, interface: interface)] = entry
            changed.insert(instance)
        }
    }

    mutating func cancel(_ progress: Entry.Progress) {
        switch progress {
        case .due, .settled: break
        case .resolving(let lookup, _): inFlight[lookup] = nil
        case .searching(let search): for lookup in search.asked { inFlight[lookup] = nil }
        }
    }
}

import InklingWire

/// The times of a node's attempts to make links with a key in a chat, or to bring links up (L-5).
struct Opening: Sendable {
    /// The time of the next attempt.
    private(set) var nextDeadline: Instant
    /// The number of attempts since the last news.
    private(set) var attempts = 0
    /// The time when the first of these attempts began.
    private var since: Instant

    /// The range within which jitter varies a delay, in percent (L-4, L-5).
    static let jitter = (100 - Limits.openingJitterPercent)...(100 + Limits.openingJitterPercent)

    /// An opening whose first attempt begins at `instant`.
    init(at instant: Instant) { (nextDeadline, since) = (instant, instant) }

    /// An opening whose first attempt is under way since `instant` (L-102).
    init(underWaySince instant: Instant) {
        (nextDeadline, since) = (instant + Limits.attempt, instant)
        attempts = 1
    }

    mutating func wait(until instant: Instant) { nextDeadline = instant }

    /// Counts an attempt that begins now, and plans the next one.
    mutating func began(_ effects: inout Effects, now: Instant) {
        if attempts == 0 { since = now }
        let pause = Limits.pauses[min(attempts, Limits.pauses.count - 1)]
        attempts += 1
        nextDeadline = effects.instant(after: now + Limits.attempt, pause, percent: Opening.jitter)
        guard nextDeadline - since >= Limits.fastPeriod else { return }
        nextDeadline = effects.instant(after: now, Limits.slowInterval, percent: Opening.jitter)
    }
}

/// The pace of asks to an address whose key is unknown: the times of attempts for 90 s, and then every 5 s (D-11).
struct AskPace: Sendable {
    private var asks = 0
    private var since: Instant?

    /// Returns the pause after an ask that is sent now.
    mutating func asked(_ now: Instant) -> Duration {
        let first = since ?? now
        since = first
        guard now - first < Limits.fastPeriod else { return Limits.askInterval }
        let times = Limits.transmissions
        let (attempt, place) = asks.quotientAndRemainder(dividingBy: times.count)
        asks += 1
        if place + 1 < times.count { return times[place + 1] - times[place] }
        return Limits.attempt - times[place] + Limits.pauses[min(attempt, Limits.pauses.count - 1)]
    }
}

/// A handshake that waits for its response (L-4).
struct Attempt: Sendable {
    /// The reason for the attempt.
    enum Purpose: Equatable, Sendable {
        /// The opening of the person's key.
        case opening
        /// The person's remembered addresses (D-23).
        case remembered
        /// A new session of a link (L-37, L-42).
        case link(LinkID)
        /// A response with other epochs (L-65, L-66).
        case followUp
    }

    let person: PersonID
    let purpose: Purpose
    /// This node's epoch in the initiation (L-64).
    let epoch: UInt32
    /// Whether the attempt may use the initiations that the node keeps for favoured people (L-6).
    let isFavoured: Bool
    /// The attempt's own candidates. An opening looks up its candidates at each transmission instead.
    let candidates: [Address]
    let handshake: PendingHandshake
    let startedAt: Instant
    /// The times of the following transmissions, the next first.
    private var transmissions: [Instant]
    /// The first address of the first transmission.
    private(set) var firstDestination: Address?
    /// The destinations of the last transmission from which the node has not accepted a retry yet (L-13).
    private var unansweredAddresses: Set<Address> = []
    /// The number of further responses that the node opens, by destination of a transmission (L-49).
    private var responsesLeft: [Address: Int] = [:]

    init(
        _ person: PersonID, _ purpose: Purpose, epoch: UInt32, isFavoured: Bool, candidates: [Address],
        _ handshake: PendingHandshake, _ effects: inout Effects, now: Instant
    ) {
        self.person = person
        self.purpose = purpose
        self.epoch = epoch
        self.isFavoured = isFavoured
        self.candidates = candidates
        self.handshake = handshake
        startedAt = now
        transmissions = []
        var before = Duration.zero
        var last = now
        for offset in Limits.transmissions {
            last = effects.instant(after: last, offset - before, percent: Opening.jitter)
            before = offset
            transmissions.append(last)
        }
    }

    var initiation: Initiation { handshake.initiation }
    var index: UInt32 { initiation.senderIndex }
    var nextDeadline: Instant { earliest(transmissions.first, or: startedAt + Limits.attempt) }

    /// The action that is due.
    enum Step: Equatable { case none, transmit, fail }

    func step(_ now: Instant) -> Step {
        if startedAt + Limits.attempt <= now { return .fail }
        guard let next = transmissions.first, next <= now else { return .none }
        return .transmit
    }

    /// Postpones a transmission that is due, because the node has reached its limit of initiations.
    mutating func putOff(until later: Instant) {
        if !transmissions.isEmpty { transmissions[0] = later }
    }

    /// Records that a due transmission went out.
    mutating func transmitted(to addresses: [Address]) {
        if !transmissions.isEmpty { transmissions.removeFirst() }
        firstDestination = firstDestination ?? addresses.first
        unansweredAddresses = Set(addresses)
        for address in addresses { responsesLeft[address, default: 0] += Limits.responsesPerTransmission }
    }

    /// Returns whether the node would accept a retry from an address.
    func obeysRetry(from address: Address) -> Bool { unansweredAddresses.contains(address) }

    /// Records an accepted retry from an address. Each transmission allows one.
    mutating func obeyRetry(from address: Address) {
        unansweredAddresses.remove(address)
        responsesLeft[address, default: 0] += Limits.responsesPerTransmission
    }

    /// Returns whether a transmission went to an address.
    func wasSent(to address: Address) -> Bool { responsesLeft[address] != nil }

    /// Returns whether the node may open a response from a destination of the attempt. If so, the response counts
    /// (L-49).
    mutating func takeResponse(from address: Address) -> Bool {
        guard let left = responsesLeft[address], left > 0 else { return false }
        responsesLeft[address] = left - 1
        return true
    }
}

/// A responder's session on which no sealed datagram has opened yet (L-12). Such a session changes nothing else.
struct UnconfirmedSession: Sendable {
    let person: PersonID
    /// The peer's run, and the epochs of the handshake.
    let run: UInt64
    let epochs: EpochPair
    /// The bytes of the initiation without its cookie, and of this node's response.
    let initiation: [UInt8]
    let response: [UInt8]
    let createdAt: Instant
    var session: Session

    var expiry: Instant { createdAt + Limits.unconfirmedSession }
}

/// The handshakes that have not led to a link: pending ones of this node, and unconfirmed sessions from others.
struct Handshakes: Sendable {
    private var attempts = Table<UInt32, Attempt>()
    private var attemptsByPerson = Index<PersonID, UInt32>()
    private var unconfirmed: [UInt32: UnconfirmedSession] = [:]
    /// The unconfirmed sessions, by the bytes of their initiations.
    private var byInitiation: [[UInt8]: UInt32] = [:]
    private var touched = Touched<UInt32>()

    // MARK: Queries

    var count: Int { attempts.count + unconfirmed.count }
    var unconfirmedCount: Int { unconfirmed.count }

    func isInUse(_ index: UInt32) -> Bool { unconfirmed[index] != nil || attempts.contains(index) }

    func unconfirmed(_ index: UInt32) -> UnconfirmedSession? { unconfirmed[index] }

    /// Returns the response to a repeated initiation whose session is still unconfirmed (L-8, step 2). The cookie makes
    /// no difference.
    func response(to initiation: [UInt8]) -> [UInt8]? {
        guard !byInitiation.isEmpty else { return nil }
        return byInitiation[Handshakes.body(of: initiation)].flatMap { unconfirmed[$0]?.response }
    }

    /// Returns the bytes of an initiation without its cookie.
    static func body(of initiation: [UInt8]) -> [UInt8] {
        Array(initiation.prefix(1 + 4 + Limits.checkSize + Limits.noiseMessage1Size))
    }

    func attempt(_ index: UInt32) -> Attempt? { attempts.find(index) }

    /// Returns the pending handshakes with a person, by their index.
    func attempts(with person: PersonID) -> [Attempt] { attemptsByPerson[person].map { attempts[$0] } }

    /// Returns whether a handshake with a person is under way.
    func hasAny(with person: PersonID) -> Bool {
        !attemptsByPerson[person].isEmpty || unconfirmed.values.contains { $0.person == person }
    }

    func chat(of index: UInt32) -> ChatID? { unconfirmed[index]?.person.chat ?? attempts.find(index)?.person.chat }

    func deadline(of index: UInt32) -> Instant? { attempts.find(index)?.nextDeadline ?? unconfirmed[index]?.expiry }

    /// Returns the pending attempt with a person that has this purpose.
    func attempt(with person: PersonID, _ purpose: Attempt.Purpose) -> Attempt? {
        attempts(with: person).first { $0.purpose == purpose }
    }

    /// Returns whether one more attempt may be pending (L-6, D-23).
    func hasRoom(isFavoured: Bool) -> Bool {
        guard attempts.count >= Limits.pendingInitiationsOfStrangers else { return true }
        let counted = attempts.unorderedValues.filter { $0.purpose != .remembered }
        guard counted.count < Limits.pendingInitiations else { return false }
        return isFavoured || counted.count { !$0.isFavoured } < Limits.pendingInitiationsOfStrangers
    }

    /// Returns the openings' attempts that a first attempt may replace. A stranger may replace only a stranger's
    /// attempt (L-98).
    func replaceable(isFavoured: Bool) -> [Attempt] {
        attempts.unorderedValues.filter { $0.purpose == .opening && (isFavoured || !$0.isFavoured) }
    }

    /// Returns the handshakes that were added, changed or removed since the last call.
    mutating func takeTouched() -> Touched<UInt32> {
        for index in attempts.takeTouched() { touched.insert(index) }
        return touched.take()
    }

    // MARK: Changes

    mutating func add(_ attempt: Attempt) {
        attempts.insert(attempt, for: attempt.index)
        attemptsByPerson.insert(attempt.index, for: attempt.person)
    }

    mutating func update(_ attempt: Attempt) {
        if attempts.contains(attempt.index) { attempts[attempt.index] = attempt }
    }

    /// Adds the session of an answered initiation. Above the limit, the oldest session is dropped (L-12).
    mutating func add(_ session: UnconfirmedSession) {
        if unconfirmed.count >= Limits.unconfirmedSessions {
            let oldest = unconfirmed.values.min {
                ($0.createdAt, $0.session.localIndex) < ($1.createdAt, $1.session.localIndex)
            }
            if let oldest { remove(oldest.session.localIndex) }
        }
        let index = session.session.localIndex
        unconfirmed[index] = session
        byInitiation[session.initiation] = index
        touched.insert(index)
    }

    /// Removes an attempt or an unconfirmed session.
    mutating func remove(_ index: UInt32) {
        if let attempt = attempts.remove(index) {
            attemptsByPerson.remove(index, for: attempt.person)
        } else if let session = unconfirmed.removeValue(forKey: index) {
            byInitiation[session.initiation] = nil
            touched.insert(index)
        }
    }

    /// Removes all handshakes with people for whom `condition` is true (L-87).
    mutating func removeAll(where condition: (PersonID) -> Bool) {
        for index in attempts.sortedIDs where condition(attempts[index].person) { remove(index) }
        for (index, session) in unconfirmed where condition(session.person) { remove(index) }
    }
}

/// The limits of initiations that a node sends, and of stray responses that it opens (L-6, L-49, L-54).
struct InitiationLimits: Sendable {
    private var sent = SlidingWindow(perSecond: Limits.initiationsSent)
    private var sentToStrangers = SlidingWindow(perSecond: Limits.initiationsSentToStrangers)
    private var strayResponses = SlidingWindow(perSecond: Limits.responsesFromElsewhere)
    private var destinations = Destinations()

    /// Returns whether a transmission to at least one of the addresses may go out now.
    func hasRoom(for addresses: [Address], isFavoured: Bool, now: Instant) -> Bool {
        sent.hasRoom(now) && (isFavoured || sentToStrangers.hasRoom(now))
            && addresses.contains { destinations.admits($0, isFavoured, now) }
    }

    /// Counts a transmission to the addresses that may get an initiation now. If the limits do not permit all of these,
    /// none counts.
    ///
    /// - Returns: The destinations; nil if the transmission must wait.
    mutating func take(
        _ addresses: [Address], isFavoured: Bool, _ effects: inout Effects, now: Instant
    ) -> [Address]? {
        let reachable = addresses.filter { destinations.admits($0, isFavoured, now) }
        guard !reachable.isEmpty, sent.hasRoom(now, for: reachable.count),
            isFavoured || sentToStrangers.hasRoom(now, for: reachable.count)
        else { return nil }
        for address in reachable {
            _ = sent.take(now)
            if !isFavoured { _ = sentToStrangers.take(now) }
            destinations.take(address, isFavoured, &effects, now: now)
        }
        return reachable
    }

    /// Returns whether the node may open a response from an address to which it sent no initiation (L-49).
    mutating func takesStrayResponse(now: Instant) -> Bool { strayResponses.take(now) }

    /// Records that an address answered, with a valid response, an accepted tell, or evidence (L-54).
    mutating func answered(from address: Address, _ effects: inout Effects) {
        destinations.answered(address, &effects)
    }
}

/// The addresses at which discovery lists so many keys that most must be forged. Only the node at such an address can
/// tell which key is right (D-17).
struct Crowds: Sendable {
    private struct Place: Hashable {
        let chat: ChatID
        let address: Address
    }

    private var listed: [InstanceID: (key: PublicKey, places: [Place])] = [:]
    /// The number of instances that list each key at an address.
    private var keys: [Place: [PublicKey: Int]] = [:]
    private var newAsks = SlidingWindow(perSecond: Limits.addressesAskedBegun)

    /// Updates the keys of an instance that was found, changed or removed.
    mutating func update(_ id: InstanceID, _ instances: InstanceTable) {
        let source = instances.find(id).flatMap { $0.isDiscovered ? $0 : nil }
        let places = source.map { source in source.addresses.map { Place(chat: source.chat, address: $0) } } ?? []
        let key = source?.key
        let before = listed[id]
        guard before?.key != key || before?.places ?? [] != places else { return }
        if let before {
            for place in before.places { count(before.key, at: place, -1) }
        }
        listed[id] = key.map { ($0, places) }
        guard let key else { return }
        for place in places { count(key, at: place, 1) }
    }

    func isCrowded(_ address: Address, in chat: ChatID) -> Bool {
        guard !keys.isEmpty else { return false }
        return keys[Place(chat: chat, address: address)]?.count ?? 0 > Limits.keysPerAddress
    }

    /// Returns whether a live link leads to one of the keys listed at an address.
    func hasLink(_ address: Address, in chat: ChatID, _ links: LinkTable) -> Bool {
        guard let keys = keys[Place(chat: chat, address: address)]?.keys else { return false }
        return keys.contains { links.liveAddresses(of: PersonID(chat: chat, key: $0)).contains(address) }
    }

    /// Returns whether the node may begin to ask one more address.
    mutating func admitsAsk(_ now: Instant) -> Bool { newAsks.take(now) }

    private mutating func count(_ key: PublicKey, at place: Place, _ change: Int) {
        let count = keys[place, default: [:]][key, default: 0] + change
        keys[place, default: [:]][key] = count > 0 ? count : nil
        if keys[place]?.isEmpty == true { keys[place] = nil }
    }
}

/// The limit of initiations to each address. Without it, forged service instances could turn all nodes against one host
/// that has no node (L-54).
struct Destinations: Sendable {
    private var unanswered = ForgetfulTable<Address, TokenBucket>(capacity: Limits.addressesRemembered)
    private var answered = ForgetfulTable<Address, Bool>(capacity: Limits.addressesRemembered)

    /// Returns whether an initiation may go to an address now. Only `take` counts an initiation.
    func admits(_ address: Address, _ isFavoured: Bool, _ now: Instant) -> Bool {
        guard answered[address] == nil, var bucket = unanswered[address] else { return true }
        return bucket.take(now, leaving: Destinations.reserve(isFavoured))
    }

    /// Counts an initiation to an address.
    mutating func take(_ address: Address, _ isFavoured: Bool, _ effects: inout Effects, now: Instant) {
        guard answered[address] == nil else { return }
        var bucket =
            unanswered[address]
            ?? TokenBucket(
                perSecond: Limits.initiationsToSilent, burst: Limits.initiationsToSilentBurst,
                now: now)
        _ = bucket.take(now, leaving: Destinations.reserve(isFavoured))
        unanswered.set(bucket, for: address, &effects)
    }

    /// Records that an address answered, with a valid response, an accepted tell, or evidence.
    mutating func answered(_ address: Address, _ effects: inout Effects) {
        unanswered.remove(address)
        answered.set(true, for: address, &effects)
    }

    private static func reserve(_ isFavoured: Bool) -> Int { isFavoured ? 0 : Limits.initiationsToSilentKept }
}

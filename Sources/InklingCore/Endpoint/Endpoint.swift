import InklingWire

/// The protocol as a deterministic state machine: one node's identity, chats, links and deadlines.
///
/// Inputs are its mutating methods; each carries `now`, which never decreases, and first runs the deadlines that have
/// passed. After an input the owner drains `nextOutput()` before it suspends, and comes back at `nextDeadline`. It
/// performs no I/O and reads no clock; its randomness comes from the generator handed to the initialiser, so that two
/// runs with the same inputs are equal to the byte.
package struct Endpoint: Sendable {
    /// What does not change while a node runs.
    package struct Configuration: Sendable {
        /// The identity's static key pair.
        package var identity: KeyPair
        /// A random number for this start of the node.
        package var run: UInt64
        /// The display name: NFC, 1 to 64 bytes of UTF-8.
        package var name: String
        /// Whether the own typing is announced (R9).
        package var sendsTyping: Bool

        package init(identity: KeyPair, run: UInt64, name: String, sendsTyping: Bool = true) {
            self.identity = identity
            self.run = run
            self.name = name
            self.sendsTyping = sendsTyping
        }
    }

    /// One chat that this node is in.
    struct ChatState {
        let keys: ChatKeys
        var announcer = TypingAnnouncer()
        /// The content of the input field, to tell an edit from a repetition. It never leaves the node.
        var draft = ""
        /// The links over which somebody types.
        var typingLinks: Set<LinkID> = []
        /// Since when each person types, on whichever device.
        var typingSince: [PublicKey: Instant] = [:]
        /// Who was last told to be typing.
        var shownTyping: [Person] = []
    }

    /// A message of ours that somebody has not acknowledged whole.
    struct OutgoingMessage {
        let chat: ChatTag
        /// For each person the links over which it may still be delivered.
        var waiting: [PublicKey: Set<LinkID>]
    }

    /// A datagram whose bytes are ready, to be sent later: the copies of a farewell.
    struct Farewell {
        let at: Instant
        let bytes: [UInt8]
        let address: Address
    }

    let configuration: Configuration
    /// Whether somebody keeps last wills (L-33).
    var makesWills = false
    let ownKey: PublicKey
    var random: any RandomNumberGenerator & Sendable

    var chats = Table<ChatTag, ChatState>()
    var links = Table<LinkID, Link>()
    var sessions = Table<UInt32, Session>()
    var instances = Table<InstanceID, Instance>()
    var indices = Indices()
    /// Our indices of handshakes that wait for a response.
    var pendingIndices: [UInt32: InstanceID] = [:]
    /// Initiations that were answered and whose session is unconfirmed, by all their bytes.
    var answeredInitiations: [[UInt8]: UInt32] = [:]
    /// The last presence that was told, and under which name.
    var people: [PersonID: (presence: Presence, name: String)] = [:]
    var outgoingMessages: [UInt64: OutgoingMessage] = [:]
    var farewells: [Farewell] = []
    var blocked: Set<UserID> = []
    var peersByHand: [Address] = []
    var networks: [LocalNetwork] = []
    var ownPort: UInt16 = 0
    /// The addresses by hand that turned out to be our own identity's, and were told so.
    var toldOneself: Set<Address> = []
    var isAway = false
    var isSuspended = false
    /// Our own timer was late, and what the socket still holds is old.
    var isCatchingUp = false

    var deadlines = Deadlines()
    /// When the node last had anything to do.
    private var lastInput: Instant
    var outputs: [Output] = []
    private var outputHead = 0
    /// Counters since the start.
    package internal(set) var counters = Counters()

    var lastLink: UInt64 = 0
    var lastInstance: UInt64 = 0
    var lastOrder: UInt64 = 0
    var lastMessageSent: UInt64 = 0
    var lastMessageReceived: UInt64 = 0
    var recordsThisInput = 0

    var limiters: Limiters

    package init(
        configuration: Configuration, now: Instant, random: any RandomNumberGenerator & Sendable
    ) {
        self.configuration = configuration
        ownKey = configuration.identity.publicKey
        self.random = random
        lastInput = now
        limiters = Limiters(now: now, random: &self.random)
    }

    // MARK: Outputs

    /// The next thing to do, in order; nil when all was drained.
    package mutating func nextOutput() -> Output? {
        guard outputHead < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            outputHead = 0
            return nil
        }
        defer { outputHead += 1 }
        return outputs[outputHead]
    }

    /// The identity's static public key.
    package var publicKey: PublicKey { ownKey }

    /// When `advance(to:)` has to be called at the latest; nil while there is nothing to wait for. A node in a chat has
    /// something to do in each second, if only to notice that it was stopped (L-46).
    package var nextDeadline: Instant? {
        guard !isSuspended, !chats.isEmpty else { return deadlines.earliest }
        return earliest(deadlines.earliest, lastInput + Limits.longestRest)
    }

    // MARK: Time

    /// Runs the deadlines that have passed.
    package mutating func advance(to now: Instant) {
        begin(now)
        finish()
    }

    /// The socket was read until it was empty: what comes from here on is new.
    package mutating func socketDrained(now: Instant) {
        begin(now)
        isCatchingUp = false
        finish()
    }

    /// Whether the owner has to say when the socket is empty.
    package var wantsSocketDrained: Bool { isCatchingUp }

    /// Every input starts here.
    mutating func begin(_ now: Instant) {
        recordsThisInput = 0
        if let nextDeadline, now - nextDeadline > Limits.lateTimer { fallBehind(now) }
        lastInput = now
        while let timer = deadlines.popDue(now) {
            switch timer {
            case .node: sendFarewells(now)
            case .chat(let tag): advanceChat(tag, now)
            case .instance(let id): advanceInstance(id, now)
            case .session(let index): advanceSession(index, now)
            case .link(let id): advanceLink(id, now)
            }
            updateDeadlines()
            register(timer)
        }
    }

    /// Every input ends here.
    mutating func finish() { updateDeadlines() }

    private mutating func updateDeadlines() {
        for tag in chats.takeTouched() { register(.chat(tag)) }
        for id in instances.takeTouched() { register(.instance(id)) }
        for index in sessions.takeTouched() { register(.session(index)) }
        for id in links.takeTouched() { register(.link(id)) }
    }

    private mutating func register(_ timer: Timer) {
        let deadline: Instant? =
            switch timer {
            case .node: farewells.first?.at
            case .chat(let tag): chats[tag]?.announcer.nextDeadline
            case .instance(let id): instances[id]?.nextDeadline
            case .session(let index): sessions[index]?.nextDeadline
            case .link(let id): links[id]?.nextDeadline
            }
        deadlines.set(timer, to: deadline)
    }

    /// Our own timer came more than 500 ms late: nobody is declared down for what we did not hear. Peers that may have
    /// declared us down answer no ping: with them a new handshake begins, as with new instances (L-42).
    private mutating func fallBehind(_ now: Instant) {
        counters.lateTimers += 1
        isCatchingUp = true
        // After which we are down to others.
        let silence =
            idleInterval * Limits.suspicionQuarterIntervals / 4 + Limits.pingInterval * Limits.suspicionPings
        for id in links.sortedIDs {
            guard let link = links[id] else { continue }
            switch link.liveness {
            case .alive where link.suspectAt > now: continue
            case .alive, .suspect: links[id]?.liveness = .suspect(pings: 0, next: now)
            }
            guard now - link.lastEvidence >= silence else { continue }
            renew(id, at: turn(with: link.key, now))
        }
        // Before anything is sealed on them.
        for index in sessions.sortedIDs {
            guard let session = sessions[index], case .linked(let id) = session.phase else { continue }
            if session.createdAt + Limits.sessionLifetime <= now { outlived(index, of: id, now) }
        }
        updateDeadlines()
    }

    // MARK: Small things that all parts use

    mutating func drop(_ reason: DropReason) { counters.drops[reason, default: 0] += 1 }

    mutating func emit(_ bytes: [UInt8], to address: Address, as kind: DatagramKind) {
        counters.sent[kind, default: 0] += 1
        counters.bytesSent += bytes.count
        outputs.append(.send(bytes, to: address, kind))
    }

    mutating func randomInstant(after now: Instant, _ duration: Duration, percent: ClosedRange<Int>) -> Instant {
        now + duration * (percent.lowerBound + Int(random.next() % UInt64(percent.count))) / 100
    }

    /// A number for a session or handshake of ours that is not in use.
    mutating func freshIndex() -> UInt32 {
        while true {
            let index = UInt32(truncatingIfNeeded: random.next())
            if sessions[index] == nil && pendingIndices[index] == nil { return index }
        }
    }

    /// A stream identifier: not 0, and not `previous`.
    mutating func freshStream(after previous: UInt32 = 0) -> UInt32 {
        while true {
            let stream = UInt32(truncatingIfNeeded: random.next())
            if stream != 0 && stream != previous { return stream }
        }
    }

    func isOnLink(_ address: Address) -> Bool { networks.contains { $0.contains(address) } }

    /// Whether it is an address of this host together with our own port.
    func isOneself(_ address: Address) -> Bool {
        address.port == ownPort
            && networks.contains { $0.address.high == address.high && $0.address.low == address.low }
    }
}

/// The limits of a node on what strangers can make it do.
struct Limiters: Sendable {
    var initiationsSent = SlidingWindow(perSecond: Limits.initiationsSentPerSecond)
    var initiationLoad = SlidingWindow(perSecond: Limits.loadInitiationsPerSecond)
    var initiationsAnswered = SlidingWindow(perSecond: Limits.initiationsAnsweredPerSecond)
    var initiationsOfStrangers = SlidingWindow(perSecond: Limits.initiationsAnsweredPerSecond / 2)
    var initiationsBySource: [Address: TokenBucket] = [:]
    var asksAnswered = SlidingWindow(perSecond: Limits.asksAnsweredPerSecond)
    var records: TokenBucket
    var cookieSecret: CookieSecret
    var previousCookieSecret: CookieSecret
    var cookieSecretSince: Instant

    init(now: Instant, random: inout any RandomNumberGenerator & Sendable) {
        records = TokenBucket(
            perSecond: Limits.recordsPerSecondPerNode, burst: Limits.recordBurstPerNode, now: now)
        cookieSecret = CookieSecret(using: &random)
        previousCookieSecret = CookieSecret(using: &random)
        cookieSecretSince = now
    }

    /// Changes the secret of the cookies when its time is over; the one before still counts.
    mutating func rotateCookieSecret(_ now: Instant, random: inout any RandomNumberGenerator & Sendable) {
        let age = now - cookieSecretSince
        guard age >= Limits.cookieSecretLifetime else { return }
        previousCookieSecret = age < Limits.cookieSecretLifetime * 2 ? cookieSecret : CookieSecret(using: &random)
        cookieSecret = CookieSecret(using: &random)
        // Counted from when the one before was due to change, so that no secret counts for longer than 240 s.
        let isRecent = age < Limits.cookieSecretLifetime * 2
        cookieSecretSince = isRecent ? cookieSecretSince + Limits.cookieSecretLifetime : now
    }

    /// Takes a token of that source; the table of sources stays bounded.
    mutating func takeInitiation(of source: Address, _ now: Instant) -> Bool {
        let host = Address(high: source.high, low: source.low, port: 0, scope: source.scope)
        if initiationsBySource[host] == nil, initiationsBySource.count >= 1_024 {
            initiationsBySource = initiationsBySource.filter { !$0.value.isFull(now) }
            guard initiationsBySource.count < 1_024 else { return false }
        }
        var bucket =
            initiationsBySource[host]
            ?? TokenBucket(
                perSecond: Limits.cookieInitiationsPerSecondPerSource, burst: Limits.cookieInitiationBurstPerSource,
                now: now)
        defer { initiationsBySource[host] = bucket }
        return bucket.take(now)
    }
}

import InklingWire

/// The protocol as a deterministic state machine: one node's identity, chats, links and deadlines.
///
/// Inputs are the mutating methods. Each has the parameter `now`, which never decreases, and first runs the deadlines
/// that have passed (T-18). After an input, the owner drains `nextOutput()` before it suspends, and comes back at
/// `nextDeadline`. An endpoint performs no I/O and reads no clock. All random numbers come from the initialiser's
/// generator. Two runs with equal inputs are therefore equal to the byte.
package struct Endpoint: Sendable {
    /// The settings of a node. Only the name can change.
    package struct Configuration: Sendable {
        /// The identity's static key pair.
        package var identity: KeyPair
        /// The display name: NFC, at most 64 bytes of UTF-8.
        package var name: String
        /// Whether the node announces this user's typing.
        package var sendsTyping: Bool
        /// Whether the node accepts initiations and asks from beyond the networks of the host (D-16).
        package var acceptsRouted: Bool
        /// Whether the node adds reserved frames at random, as a node under test does.
        package var isGreasing: Bool
        /// Returns whether the system knows that a socket at an address of this host belongs to the node's own user
        /// (L-78).
        package var isOwnUsers: @Sendable (Address) -> Bool

        package init(
            identity: KeyPair, name: String, sendsTyping: Bool = true, acceptsRouted: Bool = false,
            isGreasing: Bool = false, isOwnUsers: @escaping @Sendable (Address) -> Bool = { _ in false }
        ) {
            self.identity = identity
            self.name = name
            self.sendsTyping = sendsTyping
            self.acceptsRouted = acceptsRouted
            self.isGreasing = isGreasing
            self.isOwnUsers = isOwnUsers
        }
    }

    /// One chat that this node is in.
    struct ChatState: Sendable {
        let keys: ChatKeys
        /// The key that may move the chat; nil in a chat without an owner.
        let owner: PublicKey?
        /// The successor that the node takes there as a member.
        var following = Following.none
        var announcer = TypingAnnouncer()
        /// The current text of the input field, to tell an edit from a repetition. The text never leaves the node
        /// (T-1).
        var draft = ""
    }

    var surroundings: Surroundings
    var effects: Effects
    var chats = Table<ChatID, ChatState>()
    /// The runs and epochs of all chats since the start, including chats that the node has left (L-58).
    var epochs: [ChatID: Epochs] = [:]
    var admission: AdmissionControl
    var knownAddresses = KnownAddresses()
    var directory = PeerDirectory()
    var openings = Table<PersonID, Opening>()
    var initiations = InitiationLimits()
    var handshakes = Handshakes()
    var links = LinkTable()
    var roster = Roster()
    var movePaces = MovePaces()
    var outbox = Outbox<LinkID, PersonID>()
    var pacer: RecordPacer<LinkID>
    var pools = TextPools<LinkID, Source, ChatID>()
    /// The links and sizes of received messages that the user has not taken, by number.
    var untaken: [UInt64: (link: LinkID, size: Int)] = [:]
    var texts = KeptTexts()
    /// The number of the last received message.
    var lastMessage: UInt64 = 0
    var farewells = Farewells()
    /// The last addresses of links that a suspension ended (L-88).
    var lastLinks: [(person: PersonID, address: Address)] = []
    private var deadlines = Deadlines()
    /// The time of the last input.
    private(set) var lastInput: Instant

    package init(
        configuration: Configuration, now: Instant, random: any RandomNumberGenerator & Sendable
    ) {
        surroundings = Surroundings(configuration: configuration)
        effects = Effects(random: random)
        admission = AdmissionControl(now: now, &effects)
        pacer = RecordPacer(now: now)
        lastInput = now
    }

    /// Returns a number among those of received messages that no other message gets, for a text of an earlier run.
    package mutating func reserveMessageNumber() -> UInt64 {
        lastMessage += 1
        return lastMessage
    }

    // MARK: Outputs

    /// Returns the next output, in order; nil when all outputs were drained.
    package mutating func nextOutput() -> Output? { effects.next() }

    /// Counters since the start.
    package var counters: Counters { _read { yield effects.counters } }

    /// The identity's static public key.
    package var publicKey: PublicKey { surroundings.ownKey }

    // MARK: Time

    /// The latest time for the next `advance(to:)`; nil if the node waits for nothing. A node in a chat has a deadline
    /// within each second. So it notices when it was stopped (L-46).
    package var nextDeadline: Instant? {
        guard !surroundings.isSuspended, !chats.isEmpty else { return deadlines.earliest }
        return earliest(deadlines.earliest, or: lastInput + Limits.longestTimer)
    }

    /// Returns the latest time for the next `advance(to:)`, and whether any person is shown as typing. Timers stand
    /// still while a machine is suspended. So an owner should read the clock more often while a person is shown.
    ///
    /// The method changes nothing. Because it is mutating, an owner that is an object need not copy the whole endpoint
    /// for this query.
    package mutating func nextWake() -> (deadline: Instant?, isTypingShown: Bool) {
        (nextDeadline, roster.isTypingShown)
    }

    /// Runs the deadlines that have passed.
    package mutating func advance(to now: Instant) {
        begin(now)
        finish()
    }

    /// Ends catching up, because the owner has read the socket until it was empty. Each later arrival counts as new
    /// (L-30).
    package mutating func socketDrained(now: Instant) {
        begin(now)
        pacer.socketWasRead()
        let wasBehind = surroundings.isBehind
        surroundings.activity.catchUp()
        if wasBehind { caughtUp(now) }
        finish()
    }

    /// Whether the owner must call `socketDrained(now:)` when the socket is empty. For the reason why the property is
    /// mutating, see ``nextWake()``.
    package var wantsSocketDrained: Bool {
        mutating get { surroundings.isBehind || pacer.nextDeadline(lastInput) != nil }
    }

    /// Begins an input: notices a late timer, then runs the deadlines that have passed.
    mutating func begin(_ now: Instant) {
        let (due, last) = (nextDeadline, lastInput)
        lastInput = now
        if let due, now - due > Limits.lateTimer { fallBehind(sinceLast: now - last, now) }
        while let timer = deadlines.popDue(now) {
            run(timer, now)
            finish()
            register(timer)
        }
    }

    private mutating func run(_ timer: Timer, _ now: Instant) {
        switch timer {
        case .node: farewells.advance(&effects, now: now)
        case .chat(let chat): advance(chat: chat, now)
        case .instance(let id): advance(instance: id, now)
        case .opening(let person): advance(opening: person, now)
        case .remembered(let person): advance(remembered: person, now)
        case .handshake(let index): advance(handshake: index, now)
        case .link(let id): advance(link: id, now)
        case .reports(let chat): roster.advance(chat, links, &effects, now: now)
        }
    }

    /// Ends an input: updates changed deadlines, and sends records.
    mutating func finish() {
        for id in links.takeTouched() { settle(id) }
        for id in pools.release() where links.find(id)?.isDown == false { acknowledge(id) }
        sendRecords(lastInput)
        for id in links.takeTouched() { register(.link(id)) }
        for chat in chats.takeTouched() { register(.chat(chat)) }
        for id in directory.instances.takeTouched() {
            register(.instance(id))
            knownAddresses.update(id, directory.instances, surroundings)
            directory.crowds.update(id, directory.instances)
        }
        for person in directory.remembered.takeTouched() {
            register(.remembered(person))
            knownAddresses.update(person, directory.remembered, surroundings)
        }
        for person in openings.takeTouched() { register(.opening(person)) }
        for index in handshakes.takeTouched() { register(.handshake(index)) }
        for chat in roster.takeTouched() { register(.reports(chat)) }
        register(.node)
    }

    /// Updates the state that depends on a changed link.
    private mutating func settle(_ id: LinkID) {
        guard links.contains(id) else {
            knownAddresses.remove(id)
            return register(.link(id))
        }
        let isMoved = links[id].isAddressNew
        if isMoved {
            links[id].isAddressNew = false
            knownAddresses.update(id, links, surroundings)
        }
        if links[id].sender.isSuccessorDelivered { return served(id, lastInput) }
        if links[id].isExhausted { return forget(id, .lostState, .replaced, lastInput) }
        requestRecords(id, lastInput)
        guard isMoved, let link = links.find(id), !link.isDown else { return }
        initiations.answered(from: link.address, &effects)
        remember(link)
    }

    private mutating func register(_ timer: Timer) {
        let deadline: Instant? =
            switch timer {
            case .node: earliest(farewells.nextDeadline, pacer.nextDeadline(lastInput))
            case .chat(let chat):
                earliest(chats.find(chat)?.announcer.nextDeadline, chats.find(chat)?.following.nextDeadline)
            case .instance(let id): directory.instances.find(id)?.nextDeadline
            case .opening(let person): openings.find(person)?.nextDeadline
            case .remembered(let person): directory.remembered.deadline(of: person)
            case .handshake(let index): handshakes.deadline(of: index)
            case .link(let id): links.deadline(of: id)
            case .reports(let chat): roster.nextDeadline(in: chat)
            }
        // A deadline in the past becomes due now, because its timer must not look late (L-30).
        deadlines.set(timer, to: deadline.map { max($0, lastInput) })
    }

    private mutating func advance(chat: ChatID, _ now: Instant) {
        guard chats.contains(chat) else { return }
        for emission in chats[chat].announcer.advance(now) { announce(emission, in: chat, now) }
        follow(chat, now)
    }

    private mutating func advance(handshake index: UInt32, _ now: Instant) {
        if let session = handshakes.unconfirmed(index) {
            if session.expiry <= now { handshakes.remove(index) }
        } else {
            advance(attempt: index, now)
        }
    }

    // MARK: Datagrams

    /// Receives a datagram.
    ///
    /// - Parameters:
    ///   - bytes: Its UDP payload.
    ///   - address: Its source.
    ///   - hopLimit: Its hop limit, or time to live; nil if unknown (L-92).
    ///   - overNamedTunnel: Whether it came over a point-to-point interface that the user chose by name (D-16).
    package mutating func receive(
        _ bytes: [UInt8], from address: Address, hopLimit: Int? = nil, overNamedTunnel: Bool = false, now: Instant
    ) {
        begin(now)
        defer { finish() }
        pacer.socketWasRead()
        effects.counters.bytesReceived += bytes.count
        if surroundings.activity.read() { caughtUp(now) }
        guard !surroundings.isSuspended else { return effects.drop(.suspended) }
        guard address.isUnicast else { return effects.drop(.notUnicast) }
        guard let datagram = try? Datagram.parse(bytes) else { return effects.drop(.malformed) }
        effects.counters.received.count(datagram.kind)
        switch datagram {
        case .initiation, .ask:
            guard overNamedTunnel || admits(address) else { return effects.drop(.offLink) }
        case .response, .sealed, .retry, .tell: break
        }
        let isFar = hopLimit.map { $0 < Limits.hopLimit } ?? false
        switch datagram {
        case .initiation(let initiation): receive(initiation, bytes: bytes, from: address, isFar: isFar, now)
        case .response(let response): receive(response, from: address, now)
        case .sealed(let sealed): receive(sealed, from: address, now)
        case .retry(let retry): receive(retry, from: address, now)
        case .ask(let ask): receive(ask, from: address, isFar: isFar)
        case .tell(let tell): receive(tell, from: address, now)
        }
    }

    /// Returns whether the node accepts initiations and asks from an address (D-16).
    private func admits(_ address: Address) -> Bool {
        surroundings.isOnLink(address) || surroundings.configuration.acceptsRouted
            || directory.isHostByHand(address) || directory.isLast(address)
            || directory.hasDeparted(address, now: lastInput) || links.unordered.contains { $0.address == address }
    }
}

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
        case .handshake(let index): advance(handshake: index, now)
        case .link(let id): advance(link: id, now)
        case .reports(let chat): roster.advance(chat, links, &effects, now: now)
        }
    }

    /// Ends an input: updates changed deadlines, and sends records.
    mutating func finish() {
        for id in links.takeTouched() { settle(id) }
        for id in pools.release() where links.contains(id) && !links[id].isDown { acknowledge(id) }
        sendRecords(lastInput)
        for id in links.takeTouched() { register(.link(id)) }
        for chat in chats.takeTouched() { register(.chat(chat)) }
        for id in directory.instances.takeTouched() {
            register(.instance(id))
            knownAddresses.update(id, directory.instances, surroundings)
            directory.crowds.update(id, directory.instances)
        }
        for person in openings.takeTouched() { register(.opening(person)) }
        for index in handshakes.takeTouched() { register(.handshake(index)) }
        for chat in roster.takeTouched() { register(.reports(chat)) }
        register(.node)
    }

    /// Updates the state that depends on a changed link.
    private mutating func settle(_ id: LinkID) {
        let state = links.inspect(id) { link in
            (isMoved: link.isAddressNew, isServed: link.sender.isSuccessorDelivered, isExhausted: link.isExhausted)
        }
        guard let (isMoved, isServed, isExhausted) = state else {
            knownAddresses.remove(id)
            return register(.link(id))
        }
        if isMoved {
            links[id].isAddressNew = false
            knownAddresses.update(id, links, surroundings)
        }
        if isServed { return served(id, lastInput) }
        if isExhausted { return forget(id, .lostState, .replaced, lastInput) }
        requestRecords(id, lastInput)
        if isMoved { settleMove(id) }
    }

    private mutating func settleMove(_ id: LinkID) {
        guard let link = links.find(id), !link.isDown else { return }
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

    /// Whether the node is suspended, or has quit.
    package var isSuspended: Bool { surroundings.isSuspended }

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

/// The queries of the user and the app.
extension Endpoint {
    // MARK: People

    /// The state of a person with an up link.
    package struct PersonState: Sendable, Hashable {
        package let person: Person
        package let presence: Presence
        package let since: Instant
        package let roundTrip: Duration?
        package let addresses: [Address]
    }

    /// Returns the people of a chat who are shown as online or away, ordered by key.
    package func present(in chat: ChatID) -> [PersonState] {
        let shown = links.ids(in: chat).filter { links[$0].isShown }
        return Set(shown.map { links[$0].key }).sorted().map { key in
            let id = PersonID(chat: chat, key: key)
            let theirs = links.links(of: id).filter(\.isShown)
            return PersonState(
                person: Person(key: key, name: roster.name(of: id, links)), presence: links.shown(of: id).presence,
                since: theirs.map(\.madeAt).min() ?? .zero, roundTrip: theirs.compactMap(\.roundTrip).min(),
                addresses: theirs.map(\.address))
        }
    }

    /// Returns the smoothed round trip to a person in a chat; nil if none was measured.
    package func roundTrip(to key: PublicKey, in chat: ChatID) -> Duration? {
        links.links(of: PersonID(chat: chat, key: key)).compactMap(\.roundTrip).min()
    }

    /// Returns the people who are typing in a chat, in the order of the list (T-20).
    package func typing(in chat: ChatID) -> [Person] { roster.typing(in: chat) }

    /// How well the user knows each person, from the last ``setStandings(_:now:)``.
    package var standings: [PublicKey: Standing] { surroundings.standings }

    /// Returns the last two addresses of links with a person in a chat, the latest first; empty for strangers (D-19).
    package func lastAddresses(of key: PublicKey, in chat: ChatID) -> [Address] {
        directory.remembered(of: PersonID(chat: chat, key: key))
    }

    /// Returns the secret of the talk with a person (W-41); nil for the own key, and for a key that makes it
    /// predictable (W-4).
    package func talkSecret(with key: PublicKey) -> ChatSecret? {
        key == publicKey ? nil : ChatSecret(talkOf: surroundings.configuration.identity, with: key)
    }

    /// Returns the key of each link in a chat, down and hidden ones included, the oldest link first.
    package func linkedKeys(in chat: ChatID) -> [PublicKey] { links.ids(in: chat).map { links[$0].key } }

    // MARK: Tables

    /// The numbers of links, sessions, instances and unfinished messages that the node holds.
    package var tableSizes: (links: Int, sessions: Int, instances: Int, messages: Int) {
        (links.count, links.sessionCount + handshakes.count, directory.instances.count, outbox.count)
    }

    /// The number of up or suspect links (T-24).
    package var liveLinks: Int { links.liveCount }

    /// The counted bytes of incomplete messages and of texts that the user has not taken (M-20).
    package var heldText: Int { pools.size }

    /// Returns the chat of one of this node's sessions, by its local index; nil if there is no such session.
    package func chat(ofSession index: UInt32) -> ChatID? {
        links.link(ofSession: index).map { links[$0].chat } ?? handshakes.chat(of: index)
    }
}

/// A person in a chat. The name comes from the peer's name record and is unsafe to print.
package struct Person: Hashable, Sendable {
    package let key: PublicKey
    package let name: String

    package init(key: PublicKey, name: String) {
        self.key = key
        self.name = name
    }
}

/// The purpose of an outgoing datagram: its kind on the wire, or for a sealed one the frame that caused it.
package enum DatagramKind: String, CaseIterable, Sendable, Hashable {
    case initiation, response, retry, ask, tell
    case heartbeat, typing, record, ack, forward, ping, pong, bye
}

/// The core's requests and reports to its owner, in order.
package enum Output: Equatable, Sendable {
    /// The owner sends these bytes as one datagram.
    case send([UInt8], to: Address, DatagramKind)
    /// The new list of all people who are typing in a chat, in the order in which to name them.
    case typing(ChatID, [Person])
    /// A person's presence changed.
    case presence(ChatID, Person, Presence, PresenceReason)
    /// A complete message arrived, in order. `number` counts the messages that this node received. The owner calls
    /// ``Endpoint/messageTaken(_:now:)`` when its user has taken the message. With an ID, the owner first calls
    /// ``Endpoint/textsKept(_:now:)`` when text and ID are on its disk.
    case message(ChatID, from: Person, number: UInt64, text: String, id: TextID?)
    /// The person invites this user to a chat, or knocks for a talk if there is no invite (M-46, M-47).
    case invite(ChatID, from: Person, Invite?)
    /// A link with the person begins to take messages or is up again, in a chat whose texts the owner keeps. The owner
    /// now sends what is unfinished for the person (M-86), before anything else.
    case reachable(ChatID, PublicKey)
    /// No link with the person is up any more, in a chat whose texts the owner keeps. From now on the unfinished texts
    /// for the person wait: those without an outcome stay in the queues of links that may come up again.
    case unreachable(ChatID, PublicKey)
    /// The person's last link ended by a bye with the reason *left*: the person left the chat, or blocked this node's
    /// user. The outcomes of messages and the person's presence follow.
    case left(ChatID, PublicKey)
    /// The person acknowledged one of this node's messages completely.
    case delivered(message: UInt64, ChatID, PublicKey)
    /// One of this node's messages may not have reached the person.
    case failed(message: UInt64, ChatID, PublicKey, FailureReason)
    /// The owner keeps this datagram, in place of the session's previous one. A helper sends it if the node dies
    /// without a bye.
    case keepWill(session: UInt32, [UInt8], to: Address)
    /// The owner drops the session's last will, because the session has ended.
    case dropWill(session: UInt32)
    /// The owner of a chat names the chat that follows it. The owner of the endpoint joins the new chat, and leaves the
    /// old one (M-91). Each chat has one such output at most.
    case successor(ChatID, from: PublicKey, Successor)
    /// A key that is neither chosen nor removed shows in a chat that this node departed from (M-95).
    case newcomer(ChatID, PublicKey)
    /// Another device of this identity has moved a chat that this node departed from, to another chat (M-94).
    case otherSuccessor(ChatID)
    /// The address added by hand belongs to this node itself, or to another device of its identity.
    case peerIsOneself(Address)
}

/// The reason why a command did nothing.
package enum CommandError: Error, Equatable, Sendable {
    case unknownChat
    case chatExists
    case tooManyChats
    case messageEmpty
    case messageTooLong(bytes: Int)
    case queueFull(PublicKey)
    /// The person has no link in the chat that takes messages.
    case unknownPerson
}

/// The reason why the node dropped a datagram.
package enum DropReason: String, CaseIterable, Sendable, Hashable {
    case malformed, unknownChat, unknownIndex, replayed, unauthenticated, frames, notUnicast
    case ownIdentity, blocked, cookie, answerLimit, responseLimit, sourceLimit, linkLimit, peerLimit, unexpected,
        suspended, offLink
}

/// The number of events of each kind. A search among few kinds takes less than hashing.
package struct Tally<Kind: Hashable & Sendable>: Equatable, Sendable {
    private var kinds: [Kind] = []
    private var numbers: [Int] = []

    package var counts: [Kind: Int] { Dictionary(uniqueKeysWithValues: zip(kinds, numbers)) }

    mutating func count(_ kind: Kind) {
        if let place = kinds.firstIndex(of: kind) { return numbers[place] += 1 }
        kinds.append(kind)
        numbers.append(1)
    }
}

/// Counters of a node since its start.
package struct Counters: Equatable, Sendable {
    package var received = Tally<Datagram.Kind>()
    package var sent = Tally<DatagramKind>()
    package var bytesReceived = 0
    package var bytesSent = 0
    package var drops: [DropReason: Int] = [:]
    package var staleClears = 0
    package var typingStartsSent = 0
    package var typingStartsReceived = 0
    package var typingStartsLimited = 0
    package var messagesSent = 0
    package var messagesReceived = 0
    package var messagesPrecededByTyping = 0
    /// The repeated first records of texts with an ID.
    package var textsRetransmitted = 0
    /// The texts that came again with an ID that the node had seen (M-83).
    package var textsRepeated = 0
    package var messagesDelivered = 0
    package var messagesFailed = 0
    package var recordsSent = 0
    package var retransmissions = 0
    /// The transmissions of successor records (M-65).
    package var successorsSent = 0
    package var handshakesCompleted = 0
    package var linksMade = 0
    package var linksDown = 0
    package var linksForgotten = 0
    package var lateTimers = 0
}

import InklingWire

/// The protocol as a deterministic state machine: one node's identity, chats, links and deadlines.
///
/// Inputs are its mutating methods; each carries `now`, which never decreases, and first runs the deadlines that have
/// passed. After an input the owner drains `nextOutput()` before it suspends, and comes back at `nextDeadline`. It
/// performs no I/O and reads no clock; its randomness comes from the generator handed to the initialiser, so that two
/// runs with the same inputs are equal to the byte.
///
/// It routes: each input goes to the part that it is for, and what that part answers to the parts that it concerns.
package struct Endpoint: Sendable {
    /// What a node starts with. All but the name stays as it is.
    package struct Configuration: Sendable {
        /// The identity's static key pair.
        package var identity: KeyPair
        /// A random number for this start of the node.
        package var run: UInt64
        /// The display name: NFC, 1 to 64 bytes of UTF-8.
        package var name: String
        /// Whether this user's typing is announced (R9).
        package var sendsTyping: Bool
        /// Whether initiations and asks are taken from beyond the networks of the host (D-16).
        package var acceptsRouted: Bool
        /// Tells whether the socket at an address of this host is known to belong to the node's own user (L-53).
        package var isOwnUsers: @Sendable (Address) -> Bool

        package init(
            identity: KeyPair, run: UInt64, name: String, sendsTyping: Bool = true, acceptsRouted: Bool = false,
            isOwnUsers: @escaping @Sendable (Address) -> Bool = { _ in false }
        ) {
            self.identity = identity
            self.run = run
            self.name = name
            self.sendsTyping = sendsTyping
            self.acceptsRouted = acceptsRouted
            self.isOwnUsers = isOwnUsers
        }
    }

    /// One chat that this node is in.
    struct ChatState {
        let keys: ChatKeys
        var announcer = TypingAnnouncer()
        /// The content of the input field, to tell an edit from a repetition. It never leaves the node.
        var draft = ""
    }

    var surroundings: Surroundings
    var effects: Effects
    var chats = Table<ChatTag, ChatState>()
    var admission: AdmissionControl
    var knownAddresses = KnownAddresses()
    var directory = PeerDirectory()
    var handshakes = Handshakes()
    var links = LinkTable()
    var roster = Roster()
    var outbox: Outbox
    var inbox = Inbox()
    var farewells = Farewells()
    var renaming = Renaming.settled(last: nil)
    private var deadlines = Deadlines()
    /// When the node last had anything to do.
    private var lastInput: Instant

    package init(
        configuration: Configuration, now: Instant, random: any RandomNumberGenerator & Sendable
    ) {
        surroundings = Surroundings(configuration: configuration)
        effects = Effects(random: random)
        admission = AdmissionControl(now: now, &effects)
        outbox = Outbox(now: now)
        lastInput = now
    }

    // MARK: Outputs

    /// The next thing to do, in order; nil when all was drained.
    package mutating func nextOutput() -> Output? { effects.next() }

    /// Counters since the start.
    package var counters: Counters { _read { yield effects.counters } }

    /// The identity's static public key.
    package var publicKey: PublicKey { surroundings.ownKey }

    // MARK: Time

    /// When `advance(to:)` has to be called at the latest; nil while there is nothing to wait for. A node in a chat has
    /// something to do in each second, if only to notice that it was stopped (L-46).
    package var nextDeadline: Instant? {
        guard !surroundings.isSuspended, !chats.isEmpty else { return deadlines.earliest }
        return earliest(deadlines.earliest, or: lastInput + Limits.longestRest)
    }

    /// When `advance(to:)` has to be called at the latest, and whether anybody is shown as typing: for them the owner looks
    /// at the time more often if its timers stand still in suspend.
    ///
    /// It changes nothing; an owner that is an object would have the whole endpoint copied for any other question of this
    /// size.
    package mutating func nextWake() -> (deadline: Instant?, isTypingShown: Bool) {
        (nextDeadline, roster.isTypingShown)
    }

    /// Runs the deadlines that have passed.
    package mutating func advance(to now: Instant) {
        begin(now)
        finish()
    }

    /// The socket was read until it was empty: what arrives from here on is new.
    package mutating func socketDrained(now: Instant) {
        begin(now)
        let wasBehind = surroundings.isBehind
        surroundings.activity.catchUp()
        if wasBehind { caughtUp(now) }
        finish()
    }

    /// What is read from now on is new.
    private mutating func caughtUp(_ now: Instant) {
        for id in links.sortedIDs where links.find(id)?.liveness.hasHadAllPings == true {
            links[id].liveness.caughtUp(now)
        }
    }

    /// Whether the owner has to say when the socket is empty.
    package var wantsSocketDrained: Bool { surroundings.isBehind }

    /// Every input starts here.
    mutating func begin(_ now: Instant) {
        outbox.pacer.begin()
        let due = nextDeadline
        lastInput = now
        if let due, now - due > Limits.lateTimer { fallBehind(now) }
        while let timer = deadlines.popDue(now) {
            switch timer {
            case .node:
                farewells.advance(&effects, now: now)
                advanceRenaming(now)
            case .chat(let tag): advance(chat: tag, now)
            case .source(let id): advance(source: id, now)
            case .session(let index): advance(session: index, now)
            case .link(let id): advance(link: id, now)
            case .reports(let tag): roster.advance(tag, links, &effects, now: now)
            }
            finish()
            register(timer)
        }
    }

    /// Every input ends here: deadlines that may have changed are looked at again.
    mutating func finish() {
        for tag in chats.takeTouched() { register(.chat(tag)) }
        for id in directory.sources.takeTouched() {
            register(.source(id))
            knownAddresses.update(id, directory.sources, surroundings)
            directory.crowds.update(id, directory.sources)
        }
        for index in handshakes.takeTouched() { register(.session(index)) }
        for index in links.takeTouchedSessions() { register(.session(index)) }
        for id in links.takeTouched() {
            register(.link(id))
            if knownAddresses.update(id, links, surroundings) {
                directory.answered(from: links[id].address, &effects)
                directory.noteAddress(of: links[id], links, surroundings)
            }
            if let link = links.find(id) { inbox.update(link.pendingTexts, of: id) } else { inbox.remove(id) }
            for (index, deadline) in links.sessionDeadlines(of: id) { deadlines.set(.session(index), to: deadline) }
        }
        if !farewells.isEmpty || renaming.due != nil { register(.node) }
        for tag in roster.takeTouched() { register(.reports(tag)) }
        let released = inbox.release()
        guard !released.isEmpty else { return }
        for id in released { links[id].acknowledge(surroundings, &effects, now: lastInput) }
        finish()
    }

    private mutating func register(_ timer: Timer) {
        let deadline: Instant? =
            switch timer {
            case .node: earliest(farewells.nextDeadline, renaming.due)
            case .chat(let tag): chats.find(tag)?.announcer.nextDeadline
            case .source(let id): directory.sources.find(id)?.nextDeadline
            case .session(let index): links.deadline(ofSession: index) ?? handshakes.deadline(of: index)
            case .link(let id): links.deadline(of: id)
            case .reports(let tag): roster.nextDeadline(in: tag)
            }
        deadlines.set(timer, to: deadline)
    }

    /// Our own timer came more than 500 ms late: nobody is declared down for what we did not hear. Peers that may have
    /// declared us down answer no ping: with them a new handshake begins, as with new instances (L-30, L-42).
    private mutating func fallBehind(_ now: Instant) {
        effects.counters.lateTimers += 1
        surroundings.activity.fallBehind()
        let silence = Liveness.end(of: idleInterval)
        for id in links.sortedIDs where links[id].liveness.overslept(now) {
            let link = links[id]
            guard now - link.liveness.lastEvidence >= silence else { continue }
            links[id].awaitRecovery(now)
            directory.rekey(link, at: surroundings.turn(with: link.key, now))
        }
        // Before anything is sealed on them.
        for (index, id) in links.outlivedSessions(now) where links.link(ofSession: index) == id {
            outlived(index, of: id, now)
        }
        finish()
    }

    mutating func advance(chat tag: ChatTag, _ now: Instant) {
        guard chats.contains(tag) else { return }
        for emission in chats[tag].announcer.advance(now) { announce(emission, in: tag, now) }
    }

    private mutating func advance(source id: PeerSourceID, _ now: Instant) {
        guard let source = directory.sources.find(id) else { return }
        let context = PeerDirectory.OpeningContext(
            keys: chats.find(source.chat)?.keys, links: links, handshakes: handshakes, surroundings: surroundings,
            now: now)
        directory.advance(id, context, &effects)
    }

    private mutating func advance(session index: UInt32, _ now: Instant) {
        guard let chat = chat(ofSession: index) else { return }
        // This may come late: what is over by now must not be said again.
        advance(chat: chat, now)
        if let id = links.link(ofSession: index) {
            advance(session: index, of: id, now)
            return
        }
        switch handshakes.place(of: index) {
        case .unconfirmed(let unconfirmed):
            if unconfirmed.expires <= now { handshakes.remove(index) }
        case .greeting(let greeting):
            if greeting.expires <= now {
                handshakes.remove(index)
                if let opener = greeting.session.opener { attemptFailed(opener, now) }
            } else if let next = greeting.session.hello.nextRepeat, next <= now {
                sendHello(on: greeting, now)
            }
        case nil: return
        }
    }

    // MARK: Datagrams

    /// A datagram came.
    ///
    /// - Parameters:
    ///   - bytes: Its UDP payload.
    ///   - address: Where it came from.
    ///   - overNamedTunnel: Whether it came over a point-to-point interface that the user chose by name (D-16).
    package mutating func receive(
        _ bytes: [UInt8], from address: Address, overNamedTunnel: Bool = false, now: Instant
    ) {
        begin(now)
        defer { finish() }
        effects.counters.bytesReceived += bytes.count
        if surroundings.activity.read() { caughtUp(now) }
        guard !surroundings.isSuspended else { return effects.drop(.suspended) }
        guard address.isUnicast else { return effects.drop(.notUnicast) }
        guard let datagram = try? Datagram.parse(bytes) else { return effects.drop(.malformed) }
        effects.counters.received[datagram.kind, default: 0] += 1
        switch datagram {
        case .initiation, .ask:
            guard overNamedTunnel || admits(address) else { return effects.drop(.offLink) }
        case .response, .sealed, .retry, .tell: break
        }
        switch datagram {
        case .initiation(let initiation): receive(initiation, bytes: bytes, from: address, now)
        case .response(let response): receive(response, from: address, now)
        case .sealed(let sealed): receive(sealed, from: address, now)
        case .retry(let retry): directory.receive(retry, from: address, surroundings, &effects, now: now)
        case .ask(let ask): receive(ask, from: address, now)
        case .tell(let tell): receive(tell, from: address, now)
        }
    }

    /// Whether somebody at that address may ask for our key and open to us: everybody on the host's networks, and beyond
    /// them hosts named by hand and those that a link leads to, or led to until it fell silent (D-16).
    private func admits(_ address: Address) -> Bool {
        surroundings.isOnLink(address) || surroundings.configuration.acceptsRouted
            || directory.isHostByHand(address) || directory.isLastKnown(address)
            || links.unordered.contains { $0.address == address }
    }

    // MARK: Discovery

    /// Discovery lists an instance of a chat; again whenever its addresses change.
    ///
    /// - Parameters:
    ///   - name: The instance's name.
    ///   - key: The static key of its TXT record, unmasked.
    ///   - addresses: All candidate addresses. Those that are not on-link and unicast are left out, as are ours.
    package mutating func found(
        _ name: String, chat: ChatTag, key: PublicKey, addresses: [Address], now: Instant
    ) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat), key != surroundings.ownKey else { return }
        let moved = directory.found(
            name, chat: chat, key: key, addresses: addresses, links, surroundings, now: now)
        if let moved { links[moved].probe(directory, surroundings, &effects, now: now) }
    }

    /// Discovery no longer lists an instance. That alone ends nothing: the peer is probed (L-29).
    package mutating func lost(_ name: String, chat: ChatTag, now: Instant) {
        begin(now)
        defer { finish() }
        guard let link = directory.lost(name, chat: chat, links, surroundings, now: now) else { return }
        links[link].probe(directory, surroundings, &effects, now: now)
    }

    /// An ICMP error or another doubt about an address: the peers there are probed, at most once a second each (L-29).
    package mutating func doubt(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.sortedIDs where links[id].address == address {
            links[id].probe(directory, surroundings, &effects, now: now)
        }
    }

    /// A peer given by hand; it is asked for its key in every chat (D-11).
    package mutating func addPeer(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        guard address.isUnicast, !directory.peersByHand.contains(address) else { return }
        guard !surroundings.isOneself(address) else { return effects.tell(.peerIsOneself(address)) }
        guard directory.addPeer(address) else { return }
        for tag in chats.sortedIDs { directory.open(byHand: address, in: tag, links, surroundings, now: now) }
    }
}

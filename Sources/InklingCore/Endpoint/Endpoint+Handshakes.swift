import InklingWire

/// Handshakes: initiations and asks answered, responses and tells taken, and the sessions that come of them.
extension Endpoint {
    // MARK: Initiations

    /// An initiation came: the steps of L-8, in their order.
    mutating func receive(_ initiation: Initiation, bytes: [UInt8], from address: Address, _ now: Instant) {
        guard let keys = chats.find(initiation.tag)?.keys else { return effects.drop(.unknownChat) }
        if let response = handshakes.response(to: bytes) { return effects.send(response, to: address, .response) }
        let acquaintance = knownAddresses.acquaintance(at: address)
        let screening = admission.screen(
            initiation, from: address, acquaintance, unconfirmedSessions: handshakes.unconfirmedCount, surroundings,
            &effects, now: now)
        switch screening {
        case .open: break
        case .drop(let reason): return effects.drop(reason)
        case .retry(let cookie, let hadCookie):
            if hadCookie { effects.drop(.cookie) }
            let retry = Datagram.retry(Retry(receiverIndex: initiation.senderIndex, cookie: cookie))
            return effects.send(retry.encode(), to: address, .retry)
        }
        guard
            let received = try? NoiseResponder.read(
                identity: surroundings.configuration.identity, prologue: initiation.prologue,
                message: initiation.noise),
            received.payload.isEmpty
        else { return effects.drop(.unauthenticated) }
        guard received.remote != surroundings.ownKey else { return effects.drop(.ownIdentity) }
        guard !surroundings.isBlocked(received.remote) else { return effects.drop(.blocked) }
        let person = PersonID(chat: initiation.tag, key: received.remote)
        guard links.hasLink(to: person) || room(for: person, at: address) != .none else {
            return effects.drop(.linkLimit)
        }
        guard admission.admitsAnswer(to: acquaintance, now: now) else { return effects.drop(.answerLimit) }
        answer(initiation, received, bytes: bytes, to: person, keys, from: address, now)
    }

    private mutating func answer(
        _ initiation: Initiation, _ received: NoiseResponder, bytes: [UInt8], to person: PersonID, _ keys: ChatKeys,
        from address: Address, _ now: Instant
    ) {
        let index = directory.freshIndex(links, handshakes, &effects)
        let payload = (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * UInt32($0))) }
        let ephemeral = effects.keyPair()
        guard
            let (message, transport) = try? received.reply(
                ephemeral: ephemeral, preSharedKey: keys.preSharedKey, payload: payload)
        else { return effects.drop(.unauthenticated) }
        if surroundings.ownKey > person.key {
            directory.giveWay(to: person, at: address, now: now)
        }
        let response = Response(receiverIndex: initiation.senderIndex, noise: message).encode()
        let session = Session(
            localIndex: index, remoteIndex: initiation.senderIndex, role: .responder, keys: transport, opener: nil,
            address: address, now: now)
        handshakes.add(
            UnconfirmedSession(
                person: person, initiation: bytes, response: response, expires: now + Limits.unconfirmedLifetime,
                session: session))
        effects.send(response, to: address, .response)
    }

    // MARK: Responses

    mutating func receive(_ response: Response, from address: Address, _ now: Instant) {
        switch directory.receive(response, from: address, now: now) {
        case .drop(let reason): effects.drop(reason)
        case .completed(let completion): greet(completion, from: address, now)
        }
    }

    /// A handshake of ours is complete: hellos begin on its session.
    private mutating func greet(_ completion: PeerDirectory.Completion, from address: Address, _ now: Instant) {
        let source = completion.source
        effects.counters.handshakesCompleted += 1
        directory.answered(from: address, &effects)
        var session = Session(
            localIndex: completion.localIndex, remoteIndex: completion.remoteIndex, role: .initiator,
            keys: completion.keys, opener: source.id,
            address: completion.destinations.contains(address) ? address : source.addresses.first ?? address,
            now: now)
        session.order = effects.nextOrder()
        let presumed: LinkID? =
            if case .rekey(let link) = source.origin { link } else { links.lastHeard(of: completion.person) }
        let greeting = greeting(session, with: completion.person, presumed: presumed, now)
        handshakes.add(greeting)
        sendHello(on: greeting, now)
    }

    /// A complete session that awaits the peer's hello.
    ///
    /// - Parameter presumed: The link that it most likely belongs to; its streams go into our hello.
    private mutating func greeting(
        _ session: Session, with person: PersonID, presumed: LinkID?, _ now: Instant
    ) -> GreetingSession {
        let stream = presumed.map { links[$0].outgoing.stream } ?? effects.stream()
        return GreetingSession(person: person, presumedLink: presumed, stream: stream, session: session, now: now)
    }

    /// Sends hello and heartbeat on a session that awaits the peer's hello (L-16).
    mutating func sendHello(on greeting: GreetingSession, _ now: Instant) {
        var greeting = greeting
        let hello = greeting.hello(greeting.presumedLink.map { links[$0] }, surroundings)
        greeting.session.sendHello(hello, heartbeat(in: greeting.person.chat), &effects, now: now)
        handshakes.update(greeting)
    }

    /// No response came, or no hello on the session that came of it.
    mutating func attemptFailed(_ source: PeerSourceID, _ now: Instant) {
        directory.failed(source, links, handshakes, &effects, now: now)
    }

    // MARK: Sealed datagrams on sessions without a link

    mutating func receive(
        _ sealed: SealedDatagram, on unconfirmed: UnconfirmedSession, from address: Address, _ now: Instant
    ) {
        var unconfirmed = unconfirmed
        switch unconfirmed.session.receive(sealed, now: now) {
        case .dropped(let reason):
            handshakes.update(unconfirmed)
            effects.drop(reason)
        case .lastWill:
            farewell(on: unconfirmed.session, of: unconfirmed.person, .lastWill, now)
        case .opened(let opened):
            let greeting = confirm(unconfirmed, from: address, now)
            receive(opened, on: greeting, from: address, now)
        }
    }

    mutating func receive(
        _ sealed: SealedDatagram, on greeting: GreetingSession, from address: Address, _ now: Instant
    ) {
        var greeting = greeting
        switch greeting.session.receive(sealed, now: now) {
        case .dropped(let reason):
            handshakes.update(greeting)
            effects.drop(reason)
        case .lastWill:
            farewell(on: greeting.session, of: greeting.person, .lastWill, now)
        case .opened(let opened):
            receive(opened, on: greeting, from: address, now)
        }
    }

    /// The first datagram that opens on a responder's session completes it.
    private mutating func confirm(
        _ unconfirmed: UnconfirmedSession, from address: Address, _ now: Instant
    ) -> GreetingSession {
        let person = unconfirmed.person
        handshakes.remove(unconfirmed.session.localIndex)
        effects.counters.handshakesCompleted += 1
        var session = unconfirmed.session
        session.order = effects.nextOrder()
        directory.confirmed(person)
        directory.abandon(person, at: address, until: now + Limits.helloTimeout)
        let greeting = greeting(session, with: person, presumed: links.lastHeard(of: person), now)
        handshakes.add(greeting)
        return greeting
    }

    /// What opened on a session that awaits the peer's hello: the hello binds it to a link; without it nothing but a
    /// bye counts (L-20).
    private mutating func receive(
        _ opened: Session.Opened, on greeting: GreetingSession, from address: Address, _ now: Instant
    ) {
        var greeting = greeting
        if let hello = opened.hello, greeting.session.notesHello(opened.counter) {
            switch bind(greeting, by: hello, now) {
            case .bound(let id):
                return apply(opened, on: greeting.session.localIndex, of: id, from: address, isFirst: true, now)
            case .surplus:
                if opened.bye == nil { effects.drop(.unexpected) }
                return
            case .noRoom:
                greeting.isRefused = true
                effects.drop(.linkLimit)
            }
        }
        if let status = opened.status { greeting.session.note(status, counter: opened.counter) }
        handshakes.update(greeting)
        if let reason = opened.bye {
            farewell(on: greeting.session, of: greeting.person, reason, now)
        } else {
            effects.drop(.unexpected)
        }
    }

    /// The peer said bye on a session that belongs to no link.
    private mutating func farewell(on session: Session, of person: PersonID, _ reason: ByeReason, _ now: Instant) {
        handshakes.remove(session.localIndex)
        if reason == .unheard {
            if let opener = session.opener { attemptFailed(opener, now) }
        } else {
            directory.farewell(of: person, opener: session.opener, at: session.address, now: now)
        }
    }

    // MARK: Asks and tells

    mutating func receive(_ ask: Ask, from address: Address, _ now: Instant) {
        guard let keys = chats.find(ask.tag)?.keys else { return effects.drop(.unknownChat) }
        let acquaintance = knownAddresses.acquaintance(at: address)
        guard admission.admitsTell(to: acquaintance, now: now) else { return effects.drop(.answerLimit) }
        let nonce = keys.isOpen ? 0 : effects.number()
        let tell = Tell(token: ask.token, nonce: nonce, key: keys.masked(surroundings.ownKey, nonce: nonce))
        effects.send(Datagram.tell(tell).encode(), to: address, .tell)
    }

    mutating func receive(_ tell: Tell, from address: Address, _ now: Instant) {
        guard let source = directory.source(asking: tell.token, at: address),
            let keys = chats.find(source.chat)?.keys
        else { return effects.drop(.unexpected) }
        guard let key = keys.unmasked(tell.key, nonce: tell.nonce) else { return effects.drop(.malformed) }
        directory.answered(from: address, &effects)
        switch directory.told(key, for: source.id, at: address, links, surroundings, now: now) {
        case .peer, .oneself(isNews: false): return
        case .oneself(isNews: true): effects.tell(.peerIsOneself(address))
        }
    }
}

import InklingWire

/// Handshakes: answers to initiations, received responses, and the sessions that result.
extension Endpoint {
    // MARK: Initiations

    /// Handles an initiation by the steps of L-8, in order. The form and the source have been checked before.
    mutating func receive(
        _ initiation: Initiation, bytes: [UInt8], from address: Address, isFar: Bool, _ now: Instant
    ) {
        if let response = handshakes.response(to: bytes) { return effects.send(response, to: address, .response) }
        let acquaintance = knownAddresses.acquaintance(at: address)
        var hasCookie: Bool?
        if !admission.admitsCheck(now: now) {
            let isValid = admission.hasValidCookie(initiation, from: address, &effects, now: now)
            guard isValid else { return retry(initiation, to: address, acquaintance, now) }
            hasCookie = true
        }
        guard let chat = chats.sortedIDs.first(where: { chats[$0].keys.fits(initiation) }) else {
            return effects.drop(.unknownChat)
        }
        let isValid = hasCookie ?? admission.hasValidCookie(initiation, from: address, &effects, now: now)
        let screening = admission.screen(
            hasCookie: isValid, from: address, acquaintance, unconfirmedSessions: handshakes.unconfirmedCount,
            isFar: isFar, surroundings, &effects, now: now)
        switch screening {
        case .open: break
        case .drop(let reason): return effects.drop(reason)
        case .retry: return retry(initiation, to: address, acquaintance, now)
        }
        let received: ReceivedHandshake
        do {
            received = try ReceivedHandshake(
                initiation, chat: chats[chat].keys, identity: surroundings.configuration.identity,
                takesOwnKey: chats[chat].owner == surroundings.ownKey)
        } catch {
            return effects.drop(error == .ownKey ? .ownIdentity : .unauthenticated)
        }
        if let reason = refusal(of: received, in: chat) { return effects.drop(reason) }
        answer(received, in: chat, bytes: bytes, from: address, acquaintance, now)
    }

    private mutating func retry(
        _ initiation: Initiation, to address: Address, _ acquaintance: Acquaintance, _ now: Instant
    ) {
        if initiation.cookie != nil { effects.drop(.cookie) }
        guard let cookie = admission.retry(initiation, to: address, acquaintance, now: now) else {
            return effects.drop(.answerLimit)
        }
        let retry = Retry(receiverIndex: initiation.senderIndex, cookie: cookie)
        effects.send(Datagram.retry(retry).encode(), to: address, .retry)
    }

    /// Performs steps 8 and 9 of L-8, and sends the response (L-62).
    private mutating func answer(
        _ received: ReceivedHandshake, in chat: ChatID, bytes: [UInt8], from address: Address,
        _ acquaintance: Acquaintance, _ now: Instant
    ) {
        let person = PersonID(chat: chat, key: received.remote)
        let link = links.link(to: person, run: received.peer.run)
        let own = EpochRules.answer(
            link: link.map { links[$0].epochs }, keyEpoch: epoch(of: person), epoch: received.peer.epoch)
        guard let own else { return effects.drop(.unexpected) }
        guard link != nil || room(for: person, at: address) != .none else { return effects.drop(.linkLimit) }
        guard admission.admitsAnswer(to: acquaintance, now: now) else { return effects.drop(.answerLimit) }
        let index = freshIndex()
        guard
            let (response, keys) = try? received.respond(
                ephemeral: effects.keyPair(), index: index, own: RunAndEpoch(run: run(in: chat), epoch: own))
        else { return effects.drop(.unauthenticated) }
        let session = Session(
            localIndex: index, remoteIndex: response.receiverIndex, role: .responder, keys: keys, address: address,
            now: now)
        let encoded = Datagram.response(response).encode()
        handshakes.add(
            UnconfirmedSession(
                person: person, run: received.peer.run, epochs: EpochPair(own: own, peer: received.peer.epoch),
                initiation: Handshakes.body(of: bytes), response: encoded, createdAt: now, session: session))
        effects.send(encoded, to: address, .response)
    }

    /// Confirms a responder's session by the first datagram that opened on it. The session then joins a link (L-67),
    /// unless the frames contain a bye (L-34).
    mutating func confirm(
        _ unconfirmed: UnconfirmedSession, _ sealed: SealedDatagram, _ plaintext: [UInt8], from address: Address,
        _ now: Instant
    ) {
        let frames = try? Frames.parse(plaintext, counter: sealed.counter)
        // A last will is a bye. Any other plaintext under the last will's counter leaves the session unconfirmed
        // (W-21).
        guard frames != nil || sealed.counter != Limits.lastWillCounter else { return effects.drop(.frames) }
        handshakes.remove(unconfirmed.session.localIndex)
        let person = unconfirmed.person
        let link = links.link(to: person, run: unconfirmed.run)
        for case .bye(let reason) in frames ?? [] {
            if let link, links[link].epochs == unconfirmed.epochs { endByBye(link, reason, now) }
            return
        }
        effects.counters.handshakesCompleted += 1
        let joining = EpochRules.join(link: link.map { links[$0].epochs }, unconfirmed.epochs)
        let joined = join(
            unconfirmed.session.joining(at: now), joining, to: link, of: person, run: unconfirmed.run,
            unconfirmed.epochs, now)
        guard let joined else { return }
        receive(sealed, from: address, now)
        peerOpened(person, unconfirmed.session.localIndex, joined, now)
    }

    // MARK: Responses

    /// Handles a response. A valid response completes its handshake; any other leaves it unchanged (L-7). The node
    /// opens only a limited number of responses (L-49).
    mutating func receive(_ response: Response, from address: Address, _ now: Instant) {
        guard var attempt = handshakes.attempt(response.receiverIndex) else { return effects.drop(.unknownIndex) }
        if attempt.wasSent(to: address) {
            guard attempt.takeResponse(from: address) else { return effects.drop(.responseLimit) }
            handshakes.update(attempt)
        } else {
            guard initiations.takesStrayResponse(now: now) else { return effects.drop(.responseLimit) }
        }
        guard let (index, peer, keys) = try? attempt.handshake.complete(response) else {
            return effects.drop(.unauthenticated)
        }
        handshakes.remove(attempt.index)
        effects.counters.handshakesCompleted += 1
        initiations.answered(from: address, &effects)
        let person = attempt.person
        let link = links.link(to: person, run: peer.run)
        let destination = attempt.wasSent(to: address) ? address : attempt.firstDestination ?? address
        let decision = EpochRules.response(
            link: link.map { (links[$0].epochs, links[$0].isDown) }, keyEpoch: epoch(of: person), named: attempt.epoch,
            peer: peer.epoch, isFollowUp: attempt.isFollowUp)
        switch decision {
        case .drop: attemptFailed(attempt, now)
        case .forget: if let link { forget(link, .lostState, .replaced, now) }
        case .handshake(let epoch): followUp(attempt, epoch: epoch, isForLink: link != nil, at: destination, now)
        case .joining(let joining):
            let session = Session(
                localIndex: attempt.index, remoteIndex: index, role: .initiator, keys: keys, address: destination,
                now: now)
            let pair = EpochPair(own: attempt.epoch, peer: peer.epoch)
            let uncovered = directory.uncoveredCount(of: person, links)
            guard let id = join(session, joining, to: link, of: person, run: peer.run, pair, now) else {
                return attemptFailed(attempt, now)
            }
            let covers = directory.uncoveredCount(of: person, links) < uncovered
            if attempt.isOfOpening { openingJoined(person, attempt.index, id, covers: covers, now) }
        }
    }

    /// Adds a session to a link, by the decision on its epochs, if the link has room (L-68, L-77).
    ///
    /// - Returns: The link; nil if the session was dropped.
    private mutating func join(
        _ session: Session, _ joining: EpochRules.Joining, to link: LinkID?, of person: PersonID, run: UInt64,
        _ pair: EpochPair, _ now: Instant
    ) -> LinkID? {
        let id: LinkID
        switch (joining, link) {
        case (.join, let link?):
            guard links[link].sessions.hasRoom(now) else {
                effects.drop(.unexpected)
                return nil
            }
            id = link
        case (.replace, let link?):
            replace(link, by: pair, now)
            id = link
        case (.make, _):
            guard let made = make(person, run: run, pair, at: session.address, now) else { return nil }
            id = made
        case (.drop, _), (.join, nil), (.replace, nil):
            effects.drop(.unexpected)
            return nil
        }
        join(session, to: id, now)
        return id
    }

    /// Begins a handshake with another epoch at once, at the address of the response that requires it (L-65, L-66).
    private mutating func followUp(
        _ attempt: Attempt, epoch: UInt32, isForLink: Bool, at address: Address, _ now: Instant
    ) {
        let index = begin(
            attempt.person, .followUp(ofOpening: attempt.isOfOpening), epoch: epoch,
            isFavoured: attempt.isFavoured || isForLink, at: [address], now)
        guard let index else { return attemptFailed(attempt, now) }
        if attempt.isOfOpening, openings.contains(attempt.person) { openings[attempt.person].goOn(with: index) }
        advance(attempt: index, now)
    }

    /// Handles a retry: sends the same initiation with the retry's cookie, to that address alone (L-13).
    mutating func receive(_ retry: Retry, from address: Address, _ now: Instant) {
        guard var attempt = handshakes.attempt(retry.receiverIndex), attempt.obeysRetry(from: address) else {
            return effects.drop(.unexpected)
        }
        let isFavoured = attempt.isFavoured
        guard
            attempt.isRemembered
                || initiations.take([address], isFavoured: isFavoured, &effects, now: now) != nil
        else { return effects.drop(.unexpected) }
        attempt.obeyRetry(from: address)
        handshakes.update(attempt)
        var initiation = attempt.initiation
        initiation.cookie = retry.cookie
        effects.send(Datagram.initiation(initiation).encode(), to: address, .initiation)
    }

    // MARK: Beginning

    /// Begins a handshake. Its first transmission is due now.
    ///
    /// - Returns: The index of the handshake; nil if no shared secret with that key is possible (W-4).
    mutating func begin(
        _ person: PersonID, _ purpose: Attempt.Purpose, epoch: UInt32, isFavoured: Bool, at candidates: [Address],
        _ now: Instant
    ) -> UInt32? {
        guard let keys = chats.find(person.chat)?.keys else { return nil }
        let index = freshIndex()
        guard
            let handshake = try? PendingHandshake(
                chat: keys, identity: surroundings.configuration.identity, ephemeral: effects.keyPair(),
                remote: person.key, senderIndex: index, own: RunAndEpoch(run: run(in: person.chat), epoch: epoch))
        else { return nil }
        handshakes.add(
            Attempt(
                person, purpose, epoch: epoch, isFavoured: isFavoured, candidates: candidates, handshake, &effects,
                now: now))
        return index
    }

    /// Returns a random index that the node does not use (W-16).
    private mutating func freshIndex() -> UInt32 {
        while true {
            let index = effects.index()
            if !handshakes.isInUse(index), links.link(ofSession: index) == nil { return index }
        }
    }

    // MARK: Runs and epochs

    /// Returns the node's run in a chat (L-58).
    func run(in chat: ChatID) -> UInt64 { epochs[chat]?.run ?? 0 }

    /// Returns the node's own epoch for a person's key. From now on the node uses this epoch with the key (L-59).
    mutating func epoch(of person: PersonID) -> UInt32 {
        if (epochs[person.chat]?.count ?? 0) > Endpoint.epochsKept {
            let (links, handshakes) = (links, handshakes)
            epochs[person.chat]?.drop { key in
                let other = PersonID(chat: person.chat, key: key)
                return !links.hasLink(to: other) && !handshakes.hasAny(with: other)
            }
        }
        return epochs[person.chat, default: Epochs(run: 0)].epoch(of: person.key)
    }

    /// The number of keys in a chat whose epochs a node keeps. Above it, the node drops the epochs of unused keys.
    private static let epochsKept = 4_096

    /// Returns this node's epoch for an initiation of an opening (L-64).
    mutating func openingEpoch(of person: PersonID) -> UInt32 {
        links.ids(of: person).last { links[$0].isDown }.map { links[$0].epochs.own } ?? epoch(of: person)
    }
}

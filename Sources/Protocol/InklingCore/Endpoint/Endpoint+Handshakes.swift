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
        let isJoined = join(
            unconfirmed.session.joining(at: now), joining, to: link, of: person, run: unconfirmed.run,
            unconfirmed.epochs, now)
        if isJoined { receive(sealed, from: address, now) }
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
            peer: peer.epoch, isFollowUp: attempt.purpose == .followUp)
        switch decision {
        case .drop: effects.drop(.unexpected)
        case .forget: if let link { forget(link, .lostState, .replaced, now) }
        case .handshake(let epoch): followUp(attempt, epoch: epoch, isForLink: link != nil, at: destination, now)
        case .joining(let joining):
            let session = Session(
                localIndex: attempt.index, remoteIndex: index, role: .initiator, keys: keys, address: destination,
                isFromAddress: destination == address, now: now)
            let pair = EpochPair(own: attempt.epoch, peer: peer.epoch)
            _ = join(session, joining, to: link, of: person, run: peer.run, pair, now)
        }
    }

    /// Adds a session to a link, by the decision on its epochs, if the link has room (L-68, L-77).
    ///
    /// - Returns: Whether the session joined; otherwise it was dropped.
    private mutating func join(
        _ session: Session, _ joining: EpochRules.Joining, to link: LinkID?, of person: PersonID, run: UInt64,
        _ pair: EpochPair, _ now: Instant
    ) -> Bool {
        let id: LinkID
        switch (joining, link) {
        case (.join, let link?):
            guard links[link].sessions.hasRoom(now) else {
                effects.drop(.unexpected)
                return false
            }
            id = link
        case (.replace, let link?):
            replace(link, by: pair, now)
            id = link
        case (.make, _):
            guard let made = make(person, run: run, pair, at: session.address, now) else { return false }
            id = made
        case (.drop, _), (.join, nil), (.replace, nil):
            effects.drop(.unexpected)
            return false
        }
        join(session, to: id, now)
        review(person, now)
        return true
    }

    /// Begins a handshake with another epoch at once, at the address of the response that requires it (L-65, L-66).
    private mutating func followUp(
        _ attempt: Attempt, epoch: UInt32, isForLink: Bool, at address: Address, _ now: Instant
    ) {
        let index = begin(
            attempt.person, .followUp, epoch: epoch, isFavoured: attempt.isFavoured || isForLink, at: [address], now)
        if let index { advance(attempt: index, now) }
    }

    /// Handles a retry: sends the same initiation with the retry's cookie, to that address alone (L-13).
    mutating func receive(_ retry: Retry, from address: Address, _ now: Instant) {
        guard var attempt = handshakes.attempt(retry.receiverIndex), attempt.obeysRetry(from: address) else {
            return effects.drop(.unexpected)
        }
        let isFavoured = attempt.isFavoured
        guard
            attempt.purpose == .remembered
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

/// Openings: the attempts of a node to make links, or to bring them up.
extension Endpoint {
    // MARK: Beginning and ending

    /// Begins or ends a person's opening after its targets changed without news.
    mutating func review(_ person: PersonID, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        if openings.find(person) == nil { hasNews(of: person, now) }
    }

    /// Begins a person's opening again (L-102). An attempt under way counts as the first, and takes in new targets.
    ///
    /// - Parameter instant: The time of the first attempt; nil for this node's turn (L-1).
    mutating func hasNews(of person: PersonID, at instant: Instant? = nil, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        let opening = handshakes.attempt(with: person, .opening).map { Opening(underWaySince: $0.startedAt) }
        openings.insert(opening ?? Opening(at: instant ?? surroundings.turn(with: person.key, now)), for: person)
    }

    mutating func stopOpening(with person: PersonID) {
        guard openings.contains(person) else { return }
        for purpose in [Attempt.Purpose.opening, .remembered] {
            if let attempt = handshakes.attempt(with: person, purpose) { handshakes.remove(attempt.index) }
        }
        openings.remove(person)
    }

    private func hasToOpen(to person: PersonID, _ now: Instant) -> Bool {
        !surroundings.isSuspended && chats.contains(person.chat) && surroundings.admits(person)
            && (links.ids(of: person).contains { links[$0].isDown }
                || !directory.targets(of: person, links, surroundings, now: now).isEmpty)
    }

    // MARK: Links

    /// Handles a link that went down or was forgotten.
    mutating func linkEnded(_ link: Link, _ now: Instant) {
        directory.uncover(link, links, surroundings)
        hasNews(of: link.personID, now)
    }

    // MARK: Time

    mutating func advance(opening person: PersonID, _ now: Instant) {
        guard let opening = openings.find(person), opening.nextDeadline <= now else { return }
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        // An attempt may end at this instant.
        for attempt in handshakes.attempts(with: person) { advance(attempt: attempt.index, now) }
        let epoch = openingEpoch(of: person)
        let remembered = directory.targets(of: person, links, surroundings, now: now).remembered
        if !remembered.isEmpty, handshakes.attempt(with: person, .remembered) == nil,
            let index = begin(person, .remembered, epoch: epoch, isFavoured: true, at: remembered, now)
        {
            advance(attempt: index, now)
        }
        let listed = openable(person, now)
        let isFavoured = isFavoured(person)
        guard !listed.isEmpty || !remembered.isEmpty else {
            return openings[person].wait(until: now + Endpoint.emptyDelay)
        }
        var index: UInt32?
        if !listed.isEmpty {
            guard initiations.hasRoom(for: listed, isFavoured: isFavoured, now: now),
                makePendingRoom(isFavoured: isFavoured, isFirst: opening.attempts == 0)
            else { return openings[person].wait(until: now + Endpoint.pendingDelay) }
            index = begin(person, .opening, epoch: epoch, isFavoured: isFavoured, at: [], now)
            guard index != nil else { return forgetToldKey(of: person, now) }
        }
        openings[person].began(&effects, now: now)
        for instance in directory.instances.instances(of: person)
        where !instance.isResting(now) && !directory.isCovered(instance, links) {
            directory.instances[instance.id].attempts += 1
            // A tell has just given the key of a first attempt (D-24).
            if instance.isAsked, opening.attempts > 0 { ask(instance.id) }
        }
        if let index { advance(attempt: index, now) }
    }

    /// The delay of an opening while all of its addresses are crowded, or are those of links that may come up.
    private static let emptyDelay = Duration.seconds(1)
    /// The delay of an opening when too many handshakes are pending, or the node has reached its limit of initiations.
    private static let pendingDelay = Duration.milliseconds(250)
    /// The delay of a transmission when the node has reached its limit of initiations.
    private static let transmissionDelay = Duration.milliseconds(50)

    /// Forgets a key that a tell gave and that allows no shared secret (W-4). The node asks the address again.
    private mutating func forgetToldKey(of person: PersonID, _ now: Instant) {
        stopOpening(with: person)
        for instance in directory.instances.instances(of: person) where instance.isAsked {
            directory.instances.setKey(of: instance.id, to: nil)
            directory.instances[instance.id].nextAsk = now + Limits.askInterval
        }
    }

    /// Returns whether the node keeps some of its initiations for a person (L-6).
    private func isFavoured(_ person: PersonID) -> Bool {
        surroundings.isPreferred(person) || directory.instances.instances(of: person).contains(where: \.isByHand)
    }

    /// Makes room among the pending handshakes for a first attempt. The opening with the most attempts must give up its
    /// current attempt (L-98).
    ///
    /// - Returns: Whether there is room.
    private mutating func makePendingRoom(isFavoured: Bool, isFirst: Bool) -> Bool {
        if handshakes.hasRoom(isFavoured: isFavoured) { return true }
        guard isFirst else { return false }
        func attempts(_ attempt: Attempt) -> Int { openings.find(attempt.person)?.attempts ?? 0 }
        let victim = handshakes.replaceable(isFavoured: isFavoured).filter { attempts($0) > 1 }
            .max { (attempts($0), $1.person) < (attempts($1), $0.person) }
        guard let victim else { return false }
        handshakes.remove(victim.index)
        return true
    }

    // MARK: Attempts

    mutating func advance(attempt index: UInt32, _ now: Instant) {
        guard var attempt = handshakes.attempt(index) else { return }
        switch attempt.step(now) {
        case .none: return
        case .fail: handshakes.remove(index)
        case .transmit:
            let addresses = attempt.purpose == .opening ? openable(attempt.person, now) : attempt.candidates
            let reachable =
                attempt.purpose == .remembered
                ? addresses : initiations.take(addresses, isFavoured: attempt.isFavoured, &effects, now: now)
            guard let reachable else {
                attempt.putOff(until: now + Endpoint.transmissionDelay)
                return handshakes.update(attempt)
            }
            attempt.transmitted(to: reachable)
            handshakes.update(attempt)
            let bytes = Datagram.initiation(attempt.initiation).encode()
            for address in reachable { effects.send(bytes, to: address, .initiation) }
        }
    }

    /// Returns the addresses for an opening's initiations. For a stranger, the node leaves out addresses at which too
    /// many keys are listed (L-2, D-17).
    private mutating func openable(_ person: PersonID, _ now: Instant) -> [Address] {
        let addresses = directory.targets(of: person, links, surroundings, now: now).listed
        guard !surroundings.isPreferred(person) else { return addresses }
        let crowded = addresses.filter { isCrowded($0, for: person) }
        for address in crowded where !directory.crowds.hasLink(address, in: person.chat, links) {
            askCrowd(at: address, in: person.chat, now)
        }
        return crowded.isEmpty ? addresses : addresses.filter { !crowded.contains($0) }
    }

    /// Returns whether an address lists too many keys and has not told this person's key.
    private func isCrowded(_ address: Address, for person: PersonID) -> Bool {
        guard directory.crowds.isCrowded(address, in: person.chat) else { return false }
        return !directory.instances.instances(of: person).contains { $0.isAsked && $0.addresses.contains(address) }
    }

    /// Begins to ask a crowded address for its key. At the limit, the new address replaces a random one (D-26).
    private mutating func askCrowd(at address: Address, in chat: ChatID, _ now: Instant) {
        guard directory.instances.id(of: .crowded(address), in: chat) == nil, directory.crowds.admitsAsk(now) else {
            return
        }
        let others = directory.instances.sortedIDs.filter { directory.instances[$0].isCrowded }
        if others.count >= Limits.addressesAsked {
            let idle = others.filter { !directory.isCovered(directory.instances[$0], links) }
            guard !idle.isEmpty else { return }
            removeInstance(idle[Int(effects.number() % UInt64(idle.count))], now)
        }
        directory.ask(.crowded(address), address, in: chat, now: now)
    }

    // MARK: Handshakes for links

    /// Plans the handshake for a new session to replace the sending one (L-37).
    mutating func planRekey(_ id: LinkID, _ now: Instant) {
        guard let sending = links[id].sessions.sendingPlace else { return links[id].nextRekey = nil }
        let spread = (Limits.rekeyAtLatest - Limits.rekeyAfter).nanoseconds
        let extra = Duration.nanoseconds(Int64(effects.number() % UInt64(max(spread, 1))))
        links[id].nextRekey = max(links[id].sessions[sending].joinedAt + Limits.rekeyAfter + extra, now)
    }

    /// Begins a handshake for a new session of a link, unless one is pending (L-37, L-42).
    mutating func rekey(_ id: LinkID, isEverywhere: Bool, _ now: Instant) {
        let person = links[id].personID
        guard !handshakes.attempts(with: person).contains(where: { $0.purpose == .link(id) }),
            handshakes.hasRoom(isFavoured: true)
        else { return links[id].nextRekey = now + Endpoint.pendingDelay }
        links[id].nextRekey = now + Limits.rekeyRepeat
        let addresses = addresses(of: id, isEverywhere ? .everywhere : .address)
        let index = begin(
            person, .link(id), epoch: links[id].epochs.own, isFavoured: true, at: addresses, now)
        if let index { advance(attempt: index, now) }
    }

    // MARK: Remembered addresses

    /// Remembers the address of a preferred person's link (D-19).
    mutating func remember(_ link: Link) {
        guard surroundings.isPreferred(link.personID) else { return }
        directory.remember(link.personID, at: [link.address], links, surroundings)
    }
}

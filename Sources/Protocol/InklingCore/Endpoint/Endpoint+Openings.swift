import InklingWire

/// Openings: the attempts of a node to make links, or to bring them up.
extension Endpoint {
    // MARK: Beginning and ending

    /// Begins or ends a person's opening after a change of its possible addresses.
    mutating func review(_ person: PersonID, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        if openings.find(person) == nil { restartOpening(with: person, now) }
    }

    /// Restarts an opening because of new candidates. A running attempt continues, counts as the first, and includes
    /// the new candidates (L-102).
    mutating func hasNewCandidates(_ person: PersonID, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        guard openings.find(person)?.isUnderWay == true else { return restartOpening(with: person, now) }
        openings[person].continueAsFirst()
    }

    /// Restarts an opening with its first attempt, at this node's turn (L-1).
    mutating func restartOpening(with person: PersonID, _ now: Instant) {
        cancelAttempt(of: person)
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        openings.insert(Opening(at: surroundings.turn(with: person.key, now)), for: person)
    }

    /// Restarts all openings with the first attempt. Resting instances stay at rest (L-40, L-42).
    mutating func restartOpenings(_ now: Instant) {
        for person in openings.sortedIDs { restartOpening(with: person, now) }
    }

    mutating func stopOpening(with person: PersonID) {
        guard openings.contains(person) else { return }
        cancelAttempt(of: person)
        openings.remove(person)
    }

    private mutating func cancelAttempt(of person: PersonID) {
        if let index = openings.find(person)?.pending { handshakes.remove(index) }
    }

    private func hasToOpen(to person: PersonID, _ now: Instant) -> Bool {
        !surroundings.isSuspended && chats.contains(person.chat) && surroundings.admits(person)
            && !directory.destinations(for: person, links, surroundings, now: now).isEmpty
    }

    // MARK: Links

    /// Handles a link that came up. The opening's attempt succeeded, and the next attempt begins at once if uncovered
    /// instances remain (L-91).
    mutating func cameUp(_ link: Link, _ now: Instant) {
        directory.remembered.plan(link.personID, at: nil)
        guard let opening = openings.find(link.personID) else { return }
        guard case .joined = opening.state else { return review(link.personID, now) }
        succeeded(link.personID, now)
    }

    private mutating func succeeded(_ person: PersonID, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        openings.insert(Opening(at: now), for: person)
    }

    mutating func wentDown(_ link: Link, _ now: Instant) {
        directory.uncover(link, links, surroundings)
        hasNewCandidates(link.personID, now)
        planRemembered(link.personID, now)
    }

    /// Handles a link that was forgotten: restarts its opening with the first attempt (L-87).
    mutating func wasForgotten(_ link: Link, _ now: Instant) {
        directory.uncover(link, links, surroundings)
        restartOpening(with: link.personID, now)
        planRemembered(link.personID, now)
    }

    /// Handles a session that a peer's handshake added to a down link. This node waits 3 s for the link to come up, and
    /// then opens too.
    mutating func peerOpened(_ person: PersonID, _ index: UInt32, _ id: LinkID, _ now: Instant) {
        guard links.find(id)?.isDown == true, openings.find(person)?.isUnderWay != true else { return }
        if openings.find(person) == nil { openings.insert(Opening(at: now), for: person) }
        openings[person].join(index, now: now)
    }

    /// Handles a session that this opening's attempt added to a link. The link must come up within 3 s (L-91).
    ///
    /// - Parameter covers: Whether the session covers an instance that was uncovered before.
    mutating func openingJoined(
        _ person: PersonID, _ index: UInt32, _ id: LinkID, covers: Bool, _ now: Instant
    ) {
        guard openings.contains(person) else { return }
        if links[id].isDown {
            openings[person].join(index, now: now)
        } else if covers {
            succeeded(person, now)
        } else if hasToOpen(to: person, now) {
            openings[person].failed(&effects, now: now)
        } else {
            stopOpening(with: person)
        }
    }

    // MARK: Time

    mutating func advance(opening person: PersonID, _ now: Instant) {
        guard let opening = openings.find(person) else { return }
        switch opening.state {
        case .attempting: return
        case .joined(let index, let until):
            guard until <= now else { return }
            if let id = links.link(ofSession: index) { countFailure(of: person, at: [links[id].address]) }
            openings[person].failed(&effects, now: now)
        case .waiting(let until):
            if until <= now { attempt(person, isFirst: opening.attempts == 0, now) }
        }
    }

    private mutating func attempt(_ person: PersonID, isFirst: Bool, _ now: Instant) {
        guard hasToOpen(to: person, now) else { return stopOpening(with: person) }
        let addresses = openable(person, now)
        guard !addresses.isEmpty else { return openings[person].wait(until: now + Endpoint.crowdedDelay) }
        let isFavoured = isFavoured(person)
        guard initiations.hasRoom(for: addresses, isFavoured: isFavoured, now: now),
            makePendingRoom(isFavoured: isFavoured, isFirst: isFirst, now)
        else { return openings[person].wait(until: now + Endpoint.pendingDelay) }
        let epoch = openingEpoch(of: person)
        guard let index = begin(person, .opening, epoch: epoch, isFavoured: isFavoured, at: [], now) else {
            return forgetToldKey(of: person, now)
        }
        openings[person].begin(index, now: now)
        for instance in directory.instances.instances(of: person)
        where !instance.isResting(now) && !directory.isCovered(instance, links) {
            directory.instances[instance.id].attempts += 1
            if instance.isAsked { ask(instance.id) }
        }
        advance(attempt: index, now)
    }

    /// The delay of an opening while all of its addresses are crowded.
    private static let crowdedDelay = Duration.seconds(1)
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
    private mutating func makePendingRoom(isFavoured: Bool, isFirst: Bool, _ now: Instant) -> Bool {
        if handshakes.hasRoom(isFavoured: isFavoured) { return true }
        guard isFirst else { return false }
        func attempts(_ attempt: Attempt) -> Int { openings.find(attempt.person)?.attempts ?? 0 }
        let victim = handshakes.replaceable(isFavoured: isFavoured).filter { attempts($0) > 1 }
            .max { (attempts($0), $1.person) < (attempts($1), $0.person) }
        guard let victim else { return false }
        attemptFailed(victim, now)
        return true
    }

    // MARK: Attempts

    mutating func advance(attempt index: UInt32, _ now: Instant) {
        guard var attempt = handshakes.attempt(index) else { return }
        switch attempt.step(now) {
        case .none: return
        case .fail: attemptFailed(attempt, now)
        case .transmit:
            let addresses = attempt.purpose == .opening ? openable(attempt.person, now) : attempt.candidates
            let reachable =
                attempt.isRemembered
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

    /// Handles an attempt without a valid response, or whose response led to no link.
    mutating func attemptFailed(_ attempt: Attempt, _ now: Instant) {
        handshakes.remove(attempt.index)
        guard attempt.isOfOpening, let opening = openings.find(attempt.person) else { return }
        // The attempt of a received response is already removed here.
        guard opening.pending == attempt.index || opening.pending == nil else { return }
        countFailure(of: attempt.person, at: attempt.destinations)
        guard hasToOpen(to: attempt.person, now) else { return stopOpening(with: attempt.person) }
        openings[attempt.person].failed(&effects, now: now)
    }

    /// Counts a failed attempt for each instance to which it sent initiations (D-22).
    private mutating func countFailure(of person: PersonID, at destinations: Set<Address>) {
        for instance in directory.instances.instances(of: person)
        where instance.addresses.contains(where: destinations.contains) && !directory.isCovered(instance, links) {
            directory.instances[instance.id].failures += 1
        }
    }

    /// Returns the addresses for an opening's initiations. For a stranger, the node leaves out addresses at which too
    /// many keys are listed (L-2, D-17).
    private mutating func openable(_ person: PersonID, _ now: Instant) -> [Address] {
        let addresses = directory.destinations(for: person, links, surroundings, now: now)
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
        directory.remembered.remember(link.personID, at: [link.address], links, surroundings)
    }

    /// Plans attempts at a person's remembered addresses, unless the person has an up link (D-23). In a chat that it
    /// departed from, the node waits for the person to show (M-92).
    mutating func planRemembered(_ person: PersonID, _ now: Instant) {
        let isNeeded = !links.hasLiveLink(to: person) && surroundings.departures[person.chat] == nil
        directory.remembered.plan(person, at: isNeeded ? surroundings.turn(with: person.key, now) : nil)
    }

    mutating func advance(remembered person: PersonID, _ now: Instant) {
        guard let entry = directory.remembered[person], let due = entry.nextAttempt, due <= now else { return }
        guard !surroundings.isSuspended, chats.contains(person.chat), surroundings.admits(person),
            !links.hasLiveLink(to: person)
        else { return directory.remembered.plan(person, at: nil) }
        let addresses = surroundings.usable(entry.addresses)
        guard !addresses.isEmpty else {
            return directory.remembered.plan(person, at: now + Limits.rememberedInterval)
        }
        let opening = openings.find(person)?.pending.flatMap { handshakes.attempt($0) }
        if let opening, addresses.allSatisfy(opening.wasSent),
            directory.remembered.putOff(person, until: now + Limits.largerKeyWait)
        {
            return
        }
        directory.remembered.began(person, now: now)
        let index = begin(
            person, .remembered, epoch: openingEpoch(of: person), isFavoured: true, at: addresses, now)
        if let index { advance(attempt: index, now) }
    }
}

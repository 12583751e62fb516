import InklingWire

/// Opening links: initiations and asks out, responses and retries in.
extension PeerDirectory {
    // MARK: Beginning

    /// Begins opening from the first attempt, unless a live link covers the source.
    mutating func start(_ id: PeerSourceID, _ links: LinkTable, _ surroundings: Surroundings, now: Instant) {
        guard !surroundings.isSuspended else { return }
        sources[id].pace = .untried
        sources[id].wasPutOff = false
        guard let person = sources[id].person else {
            sources.move(id, to: .waiting(until: now))
            return
        }
        guard surroundings.admits(person.key), !sources[id].addresses.isEmpty else {
            sources.move(id, to: .idle)
            return
        }
        if sources[id].isRemembered, links.hasLink(to: person) {
            sources.move(id, to: .idle)
            return
        }
        if let link = links.link(to: person, at: sources[id].addresses) {
            sources[id].link = link
            sources.move(id, to: .idle)
            return
        }
        sources.move(id, to: .waiting(until: surroundings.turn(with: person.key, now)))
    }

    /// Opens to all of them: after a suspension, or to those of a user who is no longer blocked.
    mutating func startAll(
        where condition: (PeerSource) -> Bool = { _ in true }, _ links: LinkTable, _ surroundings: Surroundings,
        now: Instant
    ) {
        for id in sources.sortedIDs where condition(sources[id]) { start(id, links, surroundings, now: now) }
    }

    /// Restarts all openings that were tried already and go on, with the first attempt (L-40).
    mutating func restartUnderWay(_ links: LinkTable, _ surroundings: Surroundings, now: Instant) {
        for id in sources.sortedIDs where sources[id].link == nil && sources[id].pace.attempts > 0 {
            switch sources[id].opening {
            case .waiting, .attempting: start(id, links, surroundings, now: now)
            case .idle, .resting, .greeting: continue
            }
        }
    }

    // MARK: Time

    /// What an opening depends on besides the directory itself.
    struct OpeningContext {
        /// The keys of the source's chat; nil when the node has left it.
        let keys: ChatKeys?
        let links: LinkTable
        let handshakes: Handshakes
        let surroundings: Surroundings
        let now: Instant
    }

    /// Runs what is due of a source.
    mutating func advance(_ id: PeerSourceID, _ context: OpeningContext, _ effects: inout Effects) {
        guard let source = sources.find(id) else { return }
        let now = context.now
        if case .lastKnown(let expires) = source.origin, expires <= now {
            sources.remove(id)
            return
        }
        switch source.opening {
        case .idle, .greeting:
            return
        case .waiting(let until), .resting(let until):
            if until <= now { attempt(id, context, &effects) }
        case .attempting(var attempt):
            switch attempt.step(now) {
            case .none: return
            case .fail: failed(id, context.links, context.handshakes, &effects, now: now)
            case .transmit:
                let favoured = isFavoured(source, context.surroundings)
                let candidates =
                    source.isRemembered
                    ? context.surroundings.usable(source.addresses)
                    : source.person.map { uncrowded(source.addresses, of: id, $0, context, &effects) } ?? []
                if let addresses = takeInitiations(candidates, of: source, favoured, &effects, now: now) {
                    attempt.takeTransmission()
                    transmit(attempt, of: id, to: addresses, &effects)
                } else {
                    attempt.putOff(until: now + Limits.transmissionDelay)
                    sources.move(id, to: .attempting(attempt))
                }
            }
        }
    }

    // MARK: Attempts

    /// What keeps an attempt from beginning.
    private enum Obstacle {
        /// Nothing: the first transmission goes to those addresses.
        case none(at: [Address])
        /// A live link covers the source.
        case covered(LinkID)
        /// It may begin then.
        case wait(until: Instant)
    }

    /// Whether some of what may be sent is kept for it: forged instances, which are strangers', can't use it up (L-6).
    private func isFavoured(_ source: PeerSource, _ surroundings: Surroundings) -> Bool {
        switch source.origin {
        case .byHand, .rekey, .remembered: true
        case .discovered, .lastKnown, .crowded: source.person.map(surroundings.isPreferred) ?? false
        }
    }

    private mutating func attempt(_ id: PeerSourceID, _ context: OpeningContext, _ effects: inout Effects) {
        guard let keys = context.keys, !context.surroundings.isSuspended else {
            sources.move(id, to: .idle)
            return
        }
        if case .crowded(let address) = sources[id].origin, !wantsAsk(address, in: sources[id].chat, context.links) {
            sources.remove(id)
            return
        }
        guard let person = sources[id].person else {
            askAgain(id, &effects, now: context.now)
            return
        }
        if sources[id].isRemembered { return attemptRemembered(id, person, keys, context, &effects) }
        let all = addresses(of: id, context.links)
        let addresses = uncrowded(all, of: id, person, context, &effects)
        guard !addresses.isEmpty || all.isEmpty else {
            sources.move(id, to: .waiting(until: context.now + Limits.displacedOpeningDelay))
            return
        }
        switch obstacle(to: id, at: addresses, person, context, &effects) {
        case .covered(let link):
            sources[id].link = link
            sources.move(id, to: .idle)
        case .wait(let until):
            sources.move(id, to: .waiting(until: until))
        case .none(let reachable):
            sources[id].addresses = all
            initiate(id, person, keys, at: reachable, context, &effects)
        }
    }

    /// Where to send initiations: for a new session of a link to its address, and to all candidates if it is suspect.
    private func addresses(of id: PeerSourceID, _ links: LinkTable) -> [Address] {
        guard case .rekey(let link) = sources[id].origin else { return sources[id].addresses }
        return links[link].liveness.isSuspect ? links[link].addresses(self) : [links[link].address]
    }

    private mutating func obstacle(
        to id: PeerSourceID, at addresses: [Address], _ person: PersonID, _ context: OpeningContext,
        _ effects: inout Effects
    ) -> Obstacle {
        let now = context.now
        let isRekey = if case .rekey = sources[id].origin { true } else { false }
        if !isRekey, let link = context.links.link(to: person, at: addresses) { return .covered(link) }
        if context.surroundings.ownKey > person.key, sources[id].leavesOpening,
            let until = context.handshakes.openingIsLeft(to: person), until > now
        {
            return .wait(until: until)
        }
        if isUnderWay(to: person, addresses, except: id) { return .wait(until: now + Limits.openingDelay) }
        guard isItsTurn(id, of: person) else {
            // Varied, so that none of those that wait comes too late each time.
            return .wait(until: effects.instant(after: now, Limits.openingDelay, percent: Pace.jitter))
        }
        let favoured = isFavoured(sources[id], context.surroundings)
        guard makePendingRoom(for: id, favoured, context.surroundings, now),
            let reachable = takeInitiations(addresses, of: sources[id], favoured, &effects, now: now)
        else { return .wait(until: now + Limits.crowdedOpeningDelay) }
        return .none(at: reachable)
    }

    /// Whether a handshake with that person at one of those addresses was begun for another source: two at once would
    /// leave it to chance which of their sessions each side takes for the later one (L-3).
    func isUnderWay(to person: PersonID, _ addresses: [Address], except id: PeerSourceID) -> Bool {
        sources.sources(of: person).contains { other in
            guard other.id != id else { return false }
            switch other.opening {
            case .attempting, .greeting: return other.addresses.contains { addresses.contains($0) }
            case .idle, .waiting, .resting: return false
            }
        }
    }

    /// With too many pending the most often tried gives way to one never tried, of strangers only to another (L-6).
    private mutating func makePendingRoom(
        for id: PeerSourceID, _ isFavoured: Bool, _ surroundings: Surroundings, _ now: Instant
    ) -> Bool {
        guard sources.attemptCount >= Limits.pendingInitiationsToStrangers else { return true }
        // Thousands of forged instances ask: without a look at what the pending ones hold, as far as that is possible.
        let isFull = sources.attemptCount >= Limits.pendingInitiations
        let isRefused =
            isFull
            || !isFavoured
                && sources.countAttempting { !self.isFavoured($0, surroundings) }
                    >= Limits.pendingInitiationsToStrangers
        guard isRefused else { return true }
        guard sources[id].pace.attempts == 0 else { return false }
        let victim = sources.mostAttempted {
            $0.pace.attempts > 1 && (isFavoured || !self.isFavoured($0, surroundings))
        }
        guard let victim else { return false }
        sources.move(victim, to: .waiting(until: now + Limits.displacedOpeningDelay))
        return true
    }

    /// Takes what a transmission costs of the initiations that may be sent (L-6), to those of the addresses that may
    /// get one now (L-54); all of it or nothing. Remembered addresses have a bound of their own (D-19).
    ///
    /// - Returns: Where it goes; nil if it has to wait.
    private mutating func takeInitiations(
        _ addresses: [Address], of source: PeerSource, _ isFavoured: Bool, _ effects: inout Effects, now: Instant
    ) -> [Address]? {
        if source.isRemembered { return addresses }
        let reachable = addresses.filter { destinations.admits($0, isFavoured, now) }
        guard !reachable.isEmpty else { return nil }
        var (all, strangers) = (initiationsSent, initiationsToStrangers)
        for _ in reachable {
            guard isFavoured || strangers.take(now), all.take(now) else { return nil }
        }
        (initiationsSent, initiationsToStrangers) = (all, strangers)
        for address in reachable { destinations.take(address, isFavoured, &effects, now: now) }
        return reachable
    }

    /// Something came from an address that only somebody who is there can send.
    mutating func answered(from address: Address, _ effects: inout Effects) {
        destinations.answered(address, &effects)
    }

    mutating func initiate(
        _ id: PeerSourceID, _ person: PersonID, _ keys: ChatKeys, at addresses: [Address], _ context: OpeningContext,
        _ effects: inout Effects
    ) {
        let now = context.now
        if sources[id].isAsked { ask(id, &effects) }
        let index = freshIndex(context.links, context.handshakes, &effects)
        let ephemeral = effects.keyPair()
        let prologue = Initiation.prologue(senderIndex: index, tag: person.chat)
        guard
            let (handshake, message) = try? NoiseInitiator.initiate(
                identity: context.surroundings.configuration.identity, ephemeral: ephemeral, remote: person.key,
                preSharedKey: keys.preSharedKey, prologue: prologue)
        else {
            // Its key is a point of low order: no handshake with it can be secret. Its sender may have forged it.
            if sources[id].isAsked {
                sources.setKey(of: id, to: nil)
                sources.move(id, to: .waiting(until: now + Limits.openingPauseAfterByeByHand))
            } else {
                sources.move(id, to: .idle)
            }
            return
        }
        sources[id].pace.attempted(now)
        let initiation = Initiation(senderIndex: index, tag: person.chat, noise: message)
        transmit(Attempt(initiation, handshake, now: now, &effects), of: id, to: addresses, &effects)
    }

    /// A number for a session or handshake of ours that is not in use.
    func freshIndex(_ links: LinkTable, _ handshakes: Handshakes, _ effects: inout Effects) -> UInt32 {
        while true {
            let index = effects.token()
            let isInUse = handshakes.isInUse(index) || links.link(ofSession: index) != nil
            if !isInUse && sources.id(ofAttempt: index) == nil { return index }
        }
    }

    private mutating func transmit(
        _ attempt: Attempt, of id: PeerSourceID, to addresses: [Address], _ effects: inout Effects
    ) {
        var attempt = attempt
        attempt.transmitted(to: addresses)
        sources.move(id, to: .attempting(attempt))
        let bytes = attempt.initiation.encode()
        for address in addresses { effects.send(bytes, to: address, .initiation) }
    }

    /// No response, or no hello on the session that came of it.
    mutating func failed(
        _ id: PeerSourceID, _ links: LinkTable, _ handshakes: Handshakes, _ effects: inout Effects, now: Instant
    ) {
        guard let source = sources.find(id) else { return }
        let began: Instant
        switch source.opening {
        case .attempting(let attempt):
            began = attempt.startedAt
        case .greeting(let index, let since):
            guard !handshakes.isInUse(index), links.link(ofSession: index) == nil else { return }
            began = since
        case .idle, .waiting, .resting:
            return
        }
        guard source.isListed || source.link != nil else {
            sources.remove(id)
            return
        }
        if case .rekey = source.origin {
            sources.move(id, to: .waiting(until: began + Limits.rekeyRepeat))
            return
        }
        if source.isRemembered {
            sources.move(id, to: .waiting(until: began + Limits.rememberedInterval))
            return
        }
        let pause = source.pace.pause(afterAttemptAt: began, now, leavingRoom: hasToTakeTurns(source))
        sources.move(id, to: .waiting(until: effects.instant(after: pause.since, pause.duration, percent: Pace.jitter)))
    }

    /// A handshake that the peer began takes the place of our own that are pending: all that have its address among
    /// their candidates, else the only one for that key and chat (L-14).
    mutating func abandon(
        _ person: PersonID, at address: Address, until later: Instant,
        where condition: (PeerSource) -> Bool = { _ in true }
    ) {
        let pending = sources.sources(of: person).filter {
            $0.opening.isAttempting && (!$0.isRemembered || $0.addresses.contains(address))
        }
        let there = pending.filter { $0.addresses.contains(address) }
        for source in there.isEmpty && pending.count == 1 ? pending : there where condition(source) {
            sources.move(source.id, to: .waiting(until: later))
        }
    }

    /// The node with the larger key answered an initiation: it gives way to it, unless too many before it were nobody's
    /// who could confirm them (L-14, L-55).
    mutating func giveWay(to person: PersonID, at address: Address, now: Instant) {
        for source in sources.sources(of: person) {
            sources[source.id].unconfirmed = min(source.unconfirmed, Limits.unconfirmedTurns) + 1
        }
        abandon(person, at: address, until: now + Limits.unconfirmedLifetime, where: \.leavesOpening)
    }

    /// A session that the peer began was confirmed: its initiations are its own.
    mutating func confirmed(_ person: PersonID) {
        for source in sources.sources(of: person) where source.leavesOpening { sources[source.id].unconfirmed = 0 }
    }

    // MARK: Crowds

    /// Whether an address where many keys are listed has to say which is its own.
    private func wantsAsk(_ address: Address, in chat: ChatTag, _ links: LinkTable) -> Bool {
        crowds.isCrowded(address, in: chat) && !crowds.hasLink(address, in: chat, links)
    }

    /// Those of an instance's addresses at which not too many keys are listed; the others are asked (D-17).
    private mutating func uncrowded(
        _ addresses: [Address], of id: PeerSourceID, _ person: PersonID, _ context: OpeningContext,
        _ effects: inout Effects
    ) -> [Address] {
        guard sources[id].isDiscovered, !context.surroundings.isPreferred(person) else { return addresses }
        let crowded = addresses.filter { crowds.isCrowded($0, in: person.chat) }
        for address in crowded where wantsAsk(address, in: person.chat, context.links) {
            askCrowd(at: address, in: person.chat, &effects, now: context.now)
        }
        return crowded.isEmpty ? addresses : addresses.filter { !crowded.contains($0) }
    }

    /// Begins to ask an address, which another one may have to give way to.
    private mutating func askCrowd(
        at address: Address, in chat: ChatTag, _ effects: inout Effects, now: Instant
    ) {
        guard sources.id(of: .crowded(address), in: chat) == nil, crowds.admitsAsk(now) else { return }
        let others = sources.sortedIDs.filter { if case .crowded = sources[$0].origin { true } else { false } }
        if others.count >= Limits.crowdedAddresses {
            let idle = others.filter { sources[$0].link == nil }
            guard !idle.isEmpty else { return }
            sources.remove(idle[Int(effects.number() % UInt64(idle.count))])
        }
        let id = sources.add(.crowded(address), chat: chat, key: nil, addresses: [address])
        sources.move(id, to: .waiting(until: now))
    }

    // MARK: Asks

    /// Asks an address by hand whose it is (D-11).
    private mutating func ask(_ id: PeerSourceID, _ effects: inout Effects) {
        guard let address = sources[id].addresses.first else { return }
        let token = effects.token()
        sources[id].askToken = token
        effects.send(Datagram.ask(Ask(tag: sources[id].chat, token: token)).encode(), to: address, .ask)
    }

    private mutating func askAgain(_ id: PeerSourceID, _ effects: inout Effects, now: Instant) {
        ask(id, &effects)
        let pause = sources[id].pace.pauseAfterAsk
        sources[id].pace.asked()
        sources.move(id, to: .waiting(until: effects.instant(after: now, pause, percent: Pace.jitter)))
    }

    // MARK: Responses and retries

    /// A handshake of ours that is complete.
    struct Completion {
        let source: PeerSource
        let person: PersonID
        let localIndex: UInt32
        let remoteIndex: UInt32
        let keys: TransportKeys
        /// All addresses that its initiation went to.
        let destinations: Set<Address>
    }

    /// What a response comes to.
    enum ResponseAnswer {
        case drop(DropReason)
        case completed(Completion)
    }

    /// A response came: it completes a handshake, or leaves it as it was (L-7). Too many are not even opened (L-49).
    mutating func receive(_ response: Response, from address: Address, now: Instant) -> ResponseAnswer {
        guard let id = sources.id(ofAttempt: response.receiverIndex), let person = sources[id].person,
            case .attempting(var attempt) = sources[id].opening
        else { return .drop(.unknownIndex) }
        if attempt.wasSent(to: address) {
            guard attempt.takeResponse(from: address) else { return .drop(.responseLimit) }
            sources.move(id, to: .attempting(attempt))
        } else {
            guard strayResponses.take(now) else { return .drop(.responseLimit) }
        }
        guard let (payload, keys) = try? attempt.handshake.finish(response.noise), payload.count == 4 else {
            return .drop(.unauthenticated)
        }
        let source = sources[id]
        sources.move(id, to: .greeting(attempt.index, since: attempt.startedAt))
        let remoteIndex = payload.reduce(0) { $0 << 8 | UInt32($1) }
        return .completed(
            Completion(
                source: source, person: person, localIndex: attempt.index, remoteIndex: remoteIndex, keys: keys,
                destinations: attempt.destinations))
    }

    /// A retry came: the same initiation goes out with its cookie, to that address alone (L-13).
    mutating func receive(
        _ retry: Retry, from address: Address, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        guard let id = sources.id(ofAttempt: retry.receiverIndex),
            case .attempting(var attempt) = sources[id].opening, attempt.obeysRetry(from: address),
            takeInitiations([address], of: sources[id], isFavoured(sources[id], surroundings), &effects, now: now)
                != nil
        else {
            effects.drop(.unexpected)
            return
        }
        attempt.obeyRetry(from: address)
        sources.move(id, to: .attempting(attempt))
        let initiation = Initiation(
            senderIndex: attempt.index, tag: attempt.initiation.tag, noise: attempt.initiation.noise,
            cookie: retry.cookie)
        effects.send(initiation.encode(), to: address, .initiation)
    }
}

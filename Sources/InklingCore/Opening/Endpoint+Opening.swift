import InklingWire

/// Opening links: candidate addresses in, initiations out, responses and retries in.
extension Endpoint {
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
        guard chats[chat] != nil, key != ownKey else { return }
        if let id = instanceID(.discovered(name), chat: chat) {
            update(id, key: key, offered: addresses, now)
            probeIfMoved(id, now)
        } else if makeRoom(for: key, in: chat) {
            let candidates = candidates(among: addresses, of: key, in: chat, known: [])
            let id = addInstance(.discovered(name), chat: chat, key: key, addresses: candidates)
            instances[id]?.offered = addresses
            startOpening(id, now)
        }
    }

    /// Discovery knows a peer under other addresses than that of its link: it may have moved (L-41).
    private mutating func probeIfMoved(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id], let link = instance.link, let address = links[link]?.address,
            !instance.addresses.isEmpty, !instance.addresses.contains(address), let person = instance.personID
        else { return }
        if instances(of: person).contains(where: { $0.id != id && $0.addresses.contains(address) }) {
            // It is the link of another device, which had that address before.
            instances[id]?.link = nil
            startOpening(id, now)
        } else {
            probe(link, now)
        }
    }

    /// Begins anew all openings that were tried already and go on, with the first attempt.
    mutating func reopenAll(_ now: Instant) {
        for id in instances.sortedIDs {
            guard let instance = instances[id], instance.link == nil, instance.attempts > 0 else { continue }
            switch instance.opening {
            case .waiting, .pending: startOpening(id, now)
            case .idle, .resting, .greeting: continue
            }
        }
    }

    /// The own networks changed: other candidates may be usable now.
    mutating func reviewCandidates(_ now: Instant) {
        for id in instances.sortedIDs {
            guard let instance = instances[id], let key = instance.key, !instance.offered.isEmpty else { continue }
            let isListed = instance.isListed
            update(id, key: key, offered: instance.offered, now)
            instances[id]?.isListed = isListed
        }
    }

    /// Of too many addresses those of live links are kept first, then those that were known.
    private func candidates(
        among addresses: [Address], of key: PublicKey, in chat: ChatTag, known: [Address]
    ) -> [Address] {
        let live = links(of: PersonID(chat: chat, key: key)).map(\.address)
        func rank(_ address: Address) -> Int { live.contains(address) ? 0 : known.contains(address) ? 1 : 2 }
        let usable = Set(addresses.filter { $0.isUnicast && isOnLink($0) && !isOneself($0) })
        return usable.sorted { (rank($0), $0) < (rank($1), $1) }.prefix(Limits.addressesPerInstance).sorted()
    }

    /// Discovery no longer lists an instance. That alone ends nothing: the peer is probed.
    package mutating func lost(_ name: String, chat: ChatTag, now: Instant) {
        begin(now)
        defer { finish() }
        guard let id = instanceID(.discovered(name), chat: chat), let instance = instances[id] else { return }
        guard let link = instance.link else {
            removeInstance(id)
            return
        }
        instances[id]?.isListed = false
        probe(link, now)
    }

    /// An ICMP error or another doubt about an address: the peers there are probed, at most once a second each.
    package mutating func doubt(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.sortedIDs where links[id]?.address == address { probe(id, now) }
    }

    /// A peer given by hand; it is asked for its key in every chat.
    package mutating func addPeer(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        guard address.isUnicast, !peersByHand.contains(address) else { return }
        guard !isOneself(address) else {
            outputs.append(.peerIsOneself(address))
            return
        }
        peersByHand.append(address)
        for tag in chats.sortedIDs { addPeerByHand(address, to: tag, now) }
    }

    mutating func addPeerByHand(_ address: Address, to chat: ChatTag, _ now: Instant) {
        startOpening(addInstance(.byHand(address), chat: chat, key: nil, addresses: [address]), now)
    }

    // MARK: Instances

    mutating func addInstance(
        _ source: Instance.Source, chat: ChatTag, key: PublicKey?, addresses: [Address]
    ) -> InstanceID {
        lastInstance += 1
        let id = InstanceID(value: lastInstance)
        add(Instance(id: id, chat: chat, source: source, key: key, addresses: addresses))
        return id
    }

    /// At most four discovered instances a key and chat; one without a live link gives way, the oldest first.
    private mutating func makeRoom(for key: PublicKey, in chat: ChatTag) -> Bool {
        let others = instances(of: PersonID(chat: chat, key: key)).filter { other in
            if case .discovered = other.source { true } else { false }
        }
        guard others.count >= Limits.instancesPerKey else { return true }
        guard let victim = others.first(where: { $0.link == nil }) else { return false }
        removeInstance(victim.id)
        return true
    }

    private mutating func update(_ id: InstanceID, key: PublicKey, offered: [Address], _ now: Instant) {
        guard let instance = instances[id] else { return }
        let addresses = candidates(among: offered, of: key, in: instance.chat, known: instance.addresses)
        instances[id]?.offered = offered
        if instance.key != key {
            cancelPending(id)
            setKey(of: id, to: key)
        }
        instances[id]?.isListed = true
        let isNew = instance.addresses != addresses || instance.key != key
        instances[id]?.addresses = addresses
        guard isNew, instances[id]?.link == nil else { return }
        switch instances[id]?.opening {
        case .pending: return
        case .resting where instance.key == key, .greeting where instance.key == key: return
        case .idle, .waiting, .resting, .greeting, nil: startOpening(id, now)
        }
    }

    mutating func removeInstance(_ id: InstanceID) {
        cancelPending(id)
        if let instance = instances[id] { forget(instance) }
    }

    mutating func cancelPending(_ id: InstanceID) {
        guard case .pending(let pending) = instances[id]?.opening else { return }
        pendingIndices[pending.initiation.senderIndex] = nil
        instances[id]?.opening = .idle
    }

    /// Begins opening from the first attempt, unless a live link covers the instance.
    mutating func startOpening(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id], !isSuspended else { return }
        instances[id]?.attempts = 0
        instances[id]?.firstAttempt = nil
        guard let key = instance.key else {
            instances[id]?.opening = .waiting(until: now)
            return
        }
        cancelPending(id)
        guard key != ownKey, !blocked.contains(key.userID), !instance.addresses.isEmpty else {
            instances[id]?.opening = .idle
            return
        }
        if let link = liveLink(of: key, in: instance.chat, at: instance.addresses) {
            instances[id]?.link = link
            instances[id]?.opening = .idle
            return
        }
        let start = turn(with: key, now)
        instances[id]?.opening = .waiting(until: start)
    }

    /// When a node may begin a handshake with that key: the larger one leaves it to the other for a while (L-1).
    func turn(with key: PublicKey, _ now: Instant) -> Instant { ownKey < key ? now : now + Limits.openingDelay }

    func liveLink(of key: PublicKey, in chat: ChatTag, at addresses: [Address]) -> LinkID? {
        links(of: PersonID(chat: chat, key: key)).first { addresses.contains($0.address) }?.id
    }

    mutating func advanceInstance(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id] else { return }
        if case .lastKnown(let expires) = instance.source, expires <= now {
            removeInstance(id)
            return
        }
        switch instance.opening {
        case .idle, .greeting:
            return
        case .waiting(let until), .resting(let until):
            if until <= now { beginAttempt(id, now) }
        case .pending(var pending):
            if pending.ends <= now {
                attemptFailed(id, now)
            } else if let next = pending.transmissions.first, next <= now {
                if takeInitiations(instance.addresses.count, now) {
                    pending.transmissions.removeFirst()
                    transmit(pending, of: id)
                } else {
                    pending.transmissions[0] = now + .milliseconds(50)
                    instances[id]?.opening = .pending(pending)
                }
            }
        }
    }

    // MARK: Attempts

    /// Whether a handshake with that key at one of those addresses was begun for another instance: two at once would
    /// leave it to chance which of their sessions each side takes for the later one (L-3).
    private func isUnderWay(to key: PublicKey, _ instance: Instance) -> Bool {
        instances(of: PersonID(chat: instance.chat, key: key)).contains { other in
            guard other.id != instance.id else { return false }
            switch other.opening {
            case .pending, .greeting: return other.addresses.contains { instance.addresses.contains($0) }
            case .idle, .waiting, .resting: return false
            }
        }
    }

    /// Until when the larger key leaves the opening to the peer, whose initiation has just come.
    private func openingIsLeft(to key: PublicKey, in chat: ChatTag) -> Instant? {
        guard ownKey > key else { return nil }
        return sessions(of: PersonID(chat: chat, key: key)).compactMap { session -> Instant? in
            guard session.role == .responder else { return nil }
            return switch session.phase {
            case .unconfirmed: session.createdAt + Limits.openingDelay
            case .greeting(let greeting): greeting.expires
            case .linked: nil
            }
        }.max()
    }

    /// Takes what a transmission to so many addresses costs of the initiations that may be sent; all of it or nothing.
    private mutating func takeInitiations(_ count: Int, _ now: Instant) -> Bool {
        var bucket = limiters.initiationsSent
        for _ in 0..<count {
            guard bucket.take(now) else { return false }
        }
        limiters.initiationsSent = bucket
        return true
    }

    private mutating func beginAttempt(_ id: InstanceID, _ now: Instant) {
        guard var instance = instances[id], let keys = chats[instance.chat]?.keys, !isSuspended else {
            instances[id]?.opening = .idle
            return
        }
        guard let key = instance.key else {
            ask(id, now)
            instances[id]?.attempts += 1
            let doublings = min(instance.attempts, Limits.transmissionOffsets.count)
            let delay =
                doublings < Limits.transmissionOffsets.count
                ? Limits.openingDelay * (1 << doublings) : Limits.askInterval
            let until = randomInstant(after: now, delay, percent: openingJitter)
            instances[id]?.opening = .waiting(until: until)
            return
        }
        if case .renewal(let id) = instance.source {
            if let link = links[id] { instance.addresses = link.isSuspect ? addresses(of: link) : [link.address] }
        } else if let link = liveLink(of: key, in: instance.chat, at: instance.addresses) {
            instances[id]?.link = link
            instances[id]?.opening = .idle
            return
        }
        if let until = openingIsLeft(to: key, in: instance.chat), until > now {
            instances[id]?.opening = .waiting(until: until)
            return
        }
        if isUnderWay(to: key, instance) {
            instances[id]?.opening = .waiting(until: now + Limits.openingDelay)
            return
        }
        guard makePendingRoom(for: instance, now), takeInitiations(instance.addresses.count, now) else {
            instances[id]?.opening = .waiting(until: now + .milliseconds(250))
            return
        }
        if instance.isByHand { ask(id, now) }
        let index = freshIndex()
        let ephemeral = KeyPair(using: &random)
        let prologue = Initiation.prologue(senderIndex: index, tag: instance.chat)
        guard
            let (handshake, message) = try? NoiseHandshake.initiate(
                identity: configuration.identity, ephemeral: ephemeral, remote: key,
                preSharedKey: keys.preSharedKey, prologue: prologue)
        else {
            // Its key is a point of low order: no handshake with it can be secret. Whoever told it may have forged it.
            if instance.isByHand { setKey(of: id, to: nil) }
            instances[id]?.opening =
                instance.isByHand ? .waiting(until: now + Limits.openingPauseAfterByeByHand) : .idle
            return
        }
        instance.attempts += 1
        instance.firstAttempt = instance.firstAttempt ?? now
        instance.lastAttempt = now
        let pending = Instance.Pending(
            initiation: Initiation(senderIndex: index, tag: instance.chat, noise: message),
            handshake: handshake, startedAt: now, transmissions: transmissionTimes(now))
        instance.askToken = instances[id]?.askToken
        instances[id] = instance
        pendingIndices[index] = id
        transmit(pending, of: id)
    }

    private var openingJitter: ClosedRange<Int> {
        (100 - Limits.openingJitterPercent)...(100 + Limits.openingJitterPercent)
    }

    private mutating func transmissionTimes(_ now: Instant) -> [Instant] {
        var times: [Instant] = []
        var before = Duration.zero
        var last = now
        for offset in Limits.transmissionOffsets {
            last = randomInstant(after: last, offset - before, percent: openingJitter)
            before = offset
            times.append(last)
        }
        return times
    }

    /// With too many pending the most often tried gives way to one never tried.
    private mutating func makePendingRoom(for instance: Instance, _ now: Instant) -> Bool {
        guard pendingIndices.count >= Limits.pendingInitiations else { return true }
        guard instance.attempts == 0 else { return false }
        let candidates = pendingIndices.values.compactMap { instances[$0] }.filter { $0.attempts > 1 }
        let victim = candidates.max { ($0.attempts, $1.id) < ($1.attempts, $0.id) }
        guard let victim else { return false }
        cancelPending(victim.id)
        instances[victim.id]?.opening = .waiting(until: now + .seconds(1))
        return true
    }

    private mutating func transmit(_ pending: Instance.Pending, of id: InstanceID) {
        let addresses = instances[id]?.addresses ?? []
        var pending = pending
        pending.unansweredAddresses = Set(addresses)
        instances[id]?.opening = .pending(pending)
        let bytes = pending.initiation.encode()
        for address in addresses { emit(bytes, to: address, as: .initiation) }
    }

    /// No response, or no hello on the session that came of it.
    mutating func attemptFailed(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id] else { return }
        switch instance.opening {
        case .pending: cancelPending(id)
        case .greeting(let index) where sessions[index] == nil: break
        case .idle, .waiting, .resting, .greeting: return
        }
        guard instance.isListed || instance.link != nil else {
            removeInstance(id)
            return
        }
        if case .renewal = instance.source {
            instances[id]?.opening = .waiting(until: (instance.lastAttempt ?? now) + Limits.rekeyRepeat)
            return
        }
        let pause = instance.pause(now)
        let until = randomInstant(after: pause.since, pause.duration, percent: openingJitter)
        instances[id]?.opening = .waiting(until: until)
    }

    // MARK: Responses

    mutating func receive(_ response: Response, from address: Address, _ now: Instant) {
        guard let id = pendingIndices[response.receiverIndex], let instance = instances[id], let key = instance.key,
            case .pending(let pending) = instance.opening
        else {
            drop(.unknownIndex)
            return
        }
        guard let (payload, keys) = try? pending.handshake.finish(response.noise), payload.count == 4 else {
            drop(.unauthenticated)
            return
        }
        pendingIndices[response.receiverIndex] = nil
        counters.handshakesCompleted += 1
        let mayUse = instance.isByHand || isOnLink(address) || instance.addresses.contains(address)
        lastOrder += 2
        let presumed = presumedLink(for: instance, key: key)
        let stream = presumed.flatMap { links[$0]?.outgoing.id } ?? freshStream()
        var session = Session(
            localIndex: response.receiverIndex,
            remoteIndex: payload.reduce(0) { $0 << 8 | UInt32($1) }, chat: instance.chat, key: key, role: .initiator,
            keys: keys, createdAt: now, instance: id,
            phase: .greeting(
                .init(expires: now + Limits.helloTimeout, presumedLink: presumed, stream: stream)),
            order: lastOrder, address: mayUse ? address : instance.addresses.first ?? address, lastReceived: now)
        session.hello.begin(now)
        add(session)
        instances[id]?.opening = .greeting(session.localIndex)
        sendHello(on: session.localIndex, now)
    }

    /// The link that a new session most likely belongs to, until the peer's hello says so.
    private func presumedLink(for instance: Instance, key: PublicKey) -> LinkID? {
        if case .renewal(let link) = instance.source { return link }
        return links(of: PersonID(chat: instance.chat, key: key))
            .max { ($0.lastEvidence, $0.id) < ($1.lastEvidence, $1.id) }?.id
    }

    mutating func receive(_ retry: Retry, from address: Address, _ now: Instant) {
        guard let id = pendingIndices[retry.receiverIndex], let instance = instances[id],
            case .pending(var pending) = instance.opening, pending.unansweredAddresses.contains(address),
            takeInitiations(1, now)
        else {
            drop(.unexpected)
            return
        }
        pending.unansweredAddresses.remove(address)
        instances[id]?.opening = .pending(pending)
        let initiation = Initiation(
            senderIndex: pending.initiation.senderIndex, tag: pending.initiation.tag, noise: pending.initiation.noise,
            cookie: retry.cookie)
        emit(initiation.encode(), to: address, as: .initiation)
    }
}

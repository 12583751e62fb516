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
        let usable = addresses.filter { $0.isUnicast && isOnLink($0) && !isOneself($0) }
        let candidates = Array(Set(usable)).sorted().prefix(Limits.addressesPerInstance)
        if let id = instanceID(.discovered(name), chat: chat) {
            update(id, key: key, addresses: Array(candidates), now)
        } else if makeRoom(for: key, in: chat) {
            let id = addInstance(.discovered(name), chat: chat, key: key, addresses: Array(candidates))
            startOpening(id, now)
        }
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
        let id = addInstance(.byHand(address), chat: chat, key: nil, addresses: [address])
        instances[id]?.opening = .waiting(until: now)
    }

    // MARK: Instances

    func instanceID(_ source: Instance.Source, chat: ChatTag) -> InstanceID? {
        instances.unorderedValues.first { $0.chat == chat && $0.source == source }?.id
    }

    mutating func addInstance(
        _ source: Instance.Source, chat: ChatTag, key: PublicKey?, addresses: [Address]
    ) -> InstanceID {
        lastInstance += 1
        let id = InstanceID(value: lastInstance)
        instances[id] = Instance(id: id, chat: chat, source: source, key: key, addresses: addresses)
        return id
    }

    /// At most four discovered instances a key and chat; one without a live link gives way, the oldest first.
    private mutating func makeRoom(for key: PublicKey, in chat: ChatTag) -> Bool {
        let others = instances.sortedIDs.compactMap { instances[$0] }.filter { other in
            guard case .discovered = other.source else { return false }
            return other.chat == chat && other.key == key
        }
        guard others.count >= Limits.instancesPerKey else { return true }
        guard let victim = others.first(where: { $0.link == nil }) else { return false }
        removeInstance(victim.id)
        return true
    }

    private mutating func update(_ id: InstanceID, key: PublicKey, addresses: [Address], _ now: Instant) {
        guard let instance = instances[id] else { return }
        if instance.key != key {
            cancelPending(id)
            instances[id]?.key = key
            instances[id]?.link = nil
        }
        instances[id]?.isListed = true
        let isNew = instance.addresses != addresses || instance.key != key
        instances[id]?.addresses = addresses
        guard isNew, instances[id]?.link == nil else { return }
        if case .pending = instances[id]?.opening { return }
        startOpening(id, now)
    }

    mutating func removeInstance(_ id: InstanceID) {
        cancelPending(id)
        instances[id] = nil
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
        guard key != ownKey, !blocked.contains(key.userID) else {
            instances[id]?.opening = .idle
            return
        }
        if let link = liveLink(of: key, in: instance.chat, at: instance.addresses) {
            instances[id]?.link = link
            instances[id]?.opening = .idle
            return
        }
        let delay: Duration = ownKey < key ? .zero : Limits.openingDelay
        instances[id]?.opening = .waiting(until: now + delay)
    }

    func liveLink(of key: PublicKey, in chat: ChatTag, at addresses: [Address]) -> LinkID? {
        links.unorderedValues
            .filter { $0.key == key && $0.chat == chat && addresses.contains($0.address) }
            .map(\.id).min()
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
        case .waiting(let until):
            if until <= now { beginAttempt(id, now) }
        case .pending(var pending):
            if pending.ends <= now {
                attemptFailed(id, now)
            } else if let next = pending.transmissions.first, next <= now {
                pending.transmissions.removeFirst()
                pending.obeyedRetries = []
                instances[id]?.opening = .pending(pending)
                transmit(pending, to: instance.addresses)
            }
        }
    }

    // MARK: Attempts

    /// Whether the peer is about to complete a handshake of its own with us.
    private func isBeingOpened(by key: PublicKey, in chat: ChatTag) -> Bool {
        sessions.unorderedValues.contains { session in
            guard session.key == key, session.chat == chat, session.role == .responder else { return false }
            if case .linked = session.phase { return false }
            return true
        }
    }

    private mutating func beginAttempt(_ id: InstanceID, _ now: Instant) {
        guard var instance = instances[id], let keys = chats[instance.chat]?.keys, !isSuspended else { return }
        if instance.isByHand { ask(id, now) }
        guard let key = instance.key else {
            instances[id]?.attempts += 1
            let delay = min(Limits.openingDelay * (1 << min(instance.attempts, 5)), Limits.attemptPauses.last ?? .zero)
            let until = randomInstant(after: now, delay, percent: openingJitter)
            instances[id]?.opening = .waiting(until: until)
            return
        }
        if isBeingOpened(by: key, in: instance.chat) {
            instances[id]?.opening = .waiting(until: now + .seconds(1))
            return
        }
        guard makePendingRoom(for: instance, now), limiters.initiationsSent.take(now) else {
            instances[id]?.opening = .waiting(until: now + .milliseconds(250))
            return
        }
        let index = freshIndex()
        let ephemeral = KeyPair(using: &random)
        let prologue = Initiation.prologue(senderIndex: index, tag: instance.chat)
        guard
            let (handshake, message) = try? NoiseHandshake.initiate(
                identity: configuration.identity, ephemeral: ephemeral, remote: key,
                preSharedKey: keys.preSharedKey, prologue: prologue)
        else {
            // Its key is a point of low order: no handshake with it can be secret.
            instances[id]?.opening = .idle
            return
        }
        instance.attempts += 1
        instance.firstAttempt = instance.firstAttempt ?? now
        let pending = Instance.Pending(
            initiation: Initiation(senderIndex: index, tag: instance.chat, noise: message),
            handshake: handshake, startedAt: now, transmissions: transmissionTimes(now))
        instance.opening = .pending(pending)
        instance.askToken = instances[id]?.askToken
        instances[id] = instance
        pendingIndices[index] = id
        transmit(pending, to: instance.addresses)
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

    private mutating func transmit(_ pending: Instance.Pending, to addresses: [Address]) {
        let bytes = pending.initiation.encode()
        for address in addresses { emit(bytes, to: address, as: "initiation") }
    }

    /// No response, or no hello on the session that came of it.
    mutating func attemptFailed(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id] else { return }
        cancelPending(id)
        guard instance.isListed || instance.link != nil else {
            removeInstance(id)
            return
        }
        if case .renewal = instance.source {
            instances[id]?.opening = .waiting(until: now + Limits.rekeyRepeat)
            return
        }
        let until = randomInstant(after: now, instance.pause(now), percent: openingJitter)
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
        sessions[session.localIndex] = session
        instances[id]?.opening = .greeting(session.localIndex)
        sendHello(on: session.localIndex, now)
    }

    /// The link that a new session most likely belongs to, until the peer's hello says so.
    private func presumedLink(for instance: Instance, key: PublicKey) -> LinkID? {
        if case .renewal(let link) = instance.source { return link }
        return links.unorderedValues.filter { $0.key == key && $0.chat == instance.chat }
            .max { ($0.lastEvidence, $0.id) < ($1.lastEvidence, $1.id) }?.id
    }

    mutating func receive(_ retry: Retry, from address: Address, _ now: Instant) {
        guard let id = pendingIndices[retry.receiverIndex], let instance = instances[id],
            case .pending(var pending) = instance.opening, instance.addresses.contains(address),
            !pending.obeyedRetries.contains(address)
        else {
            drop(.unexpected)
            return
        }
        pending.obeyedRetries.insert(address)
        instances[id]?.opening = .pending(pending)
        let initiation = Initiation(
            senderIndex: pending.initiation.senderIndex, tag: pending.initiation.tag, noise: pending.initiation.noise,
            cookie: retry.cookie)
        emit(initiation.encode(), to: address, as: "initiation")
    }

    // MARK: Ask and tell

    private mutating func ask(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id], let address = instance.addresses.first else { return }
        let token = UInt32.random(in: .min ... .max, using: &random)
        instances[id]?.askToken = token
        emit(Datagram.ask(Ask(tag: instance.chat, token: token)).encode(), to: address, as: "ask")
    }

    mutating func receive(_ tell: Tell, from address: Address, _ now: Instant) {
        let asked = instances.unorderedValues.first { $0.askToken == tell.token && $0.addresses == [address] }
        guard let instance = asked, let keys = chats[instance.chat]?.keys else {
            drop(.unexpected)
            return
        }
        guard let key = keys.unmasked(tell.key, nonce: tell.nonce) else {
            drop(.malformed)
            return
        }
        instances[instance.id]?.askToken = nil
        guard key != ownKey else {
            cancelPending(instance.id)
            instances[instance.id]?.key = nil
            instances[instance.id]?.opening = .waiting(until: now + Limits.slowOpeningInterval)
            outputs.append(.peerIsOneself(address))
            return
        }
        guard key != instance.key else { return }
        cancelPending(instance.id)
        instances[instance.id]?.key = key
        instances[instance.id]?.link = nil
        startOpening(instance.id, now)
    }
}

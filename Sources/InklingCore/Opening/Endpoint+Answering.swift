import InklingWire

/// Answering strangers: initiations and asks in, responses, retries and tells out.
extension Endpoint {
    // MARK: Datagrams

    /// A datagram came.
    ///
    /// - Parameters:
    ///   - bytes: Its UDP payload.
    ///   - address: Where it came from.
    package mutating func receive(_ bytes: [UInt8], from address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        counters.bytesReceived += bytes.count
        guard !isSuspended else {
            drop(.suspended)
            return
        }
        guard address.isUnicast else {
            drop(.notUnicast)
            return
        }
        let datagram: Datagram
        do {
            datagram = try Datagram.parse(bytes)
        } catch {
            drop(.malformed)
            return
        }
        counters.received[datagram.kind, default: 0] += 1
        switch datagram {
        case .initiation(let initiation):
            receive(initiation, bytes: bytes, from: address, now)
        case .response(let response):
            receive(response, from: address, now)
        case .sealed(let sealed):
            receive(sealed, from: address, now)
        case .retry(let retry):
            receive(retry, from: address, now)
        case .ask(let ask):
            receive(ask, from: address, now)
        case .tell(let tell):
            receive(tell, from: address, now)
        }
    }

    // MARK: Initiations

    private mutating func receive(
        _ initiation: Initiation, bytes: [UInt8], from address: Address, _ now: Instant
    ) {
        guard let chat = chats[initiation.tag] else {
            drop(.unknownChat)
            return
        }
        if let index = answeredInitiations[bytes], let session = sessions[index],
            case .unconfirmed(let unconfirmed) = session.phase
        {
            emit(unconfirmed.response, to: address, as: .response)
            return
        }
        guard passesLoad(initiation, from: address, now) else { return }
        guard
            let received = try? NoiseReceived.read(
                identity: configuration.identity, prologue: initiation.prologue, message: initiation.noise),
            received.payload.isEmpty
        else {
            drop(.unauthenticated)
            return
        }
        guard received.remote != ownKey else {
            drop(.ownIdentity)
            return
        }
        guard !blocked.contains(received.remote.userID) else {
            drop(.blocked)
            return
        }
        guard links.count < Limits.linksPerNode || hasLink(to: PersonID(chat: initiation.tag, key: received.remote))
        else {
            drop(.linkLimit)
            return
        }
        guard mayAnswer(address, now) else {
            drop(.answerLimit)
            return
        }
        answer(initiation, received, bytes: bytes, keys: chat.keys, from: address, now)
    }

    private mutating func answer(
        _ initiation: Initiation, _ received: NoiseReceived, bytes: [UInt8], keys: ChatKeys, from address: Address,
        _ now: Instant
    ) {
        let index = freshIndex()
        let payload = (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * UInt32($0))) }
        let ephemeral = KeyPair(using: &random)
        guard
            let (message, transport) = try? received.reply(
                ephemeral: ephemeral, preSharedKey: keys.preSharedKey, payload: payload)
        else {
            drop(.unauthenticated)
            return
        }
        if ownKey > received.remote {
            abandonOpening(to: received.remote, in: initiation.tag, at: address, for: Limits.unconfirmedLifetime, now)
        }
        makeUnconfirmedRoom()
        let response = Response(receiverIndex: initiation.senderIndex, noise: message).encode()
        answeredInitiations[bytes] = index
        let unconfirmed = Session.Unconfirmed(
            initiation: bytes, response: response, expires: now + Limits.unconfirmedLifetime)
        add(
            Session(
                localIndex: index, remoteIndex: initiation.senderIndex, chat: initiation.tag, key: received.remote,
                role: .responder, keys: transport, createdAt: now, instance: nil, phase: .unconfirmed(unconfirmed),
                address: address, lastReceived: now))
        emit(response, to: address, as: .response)
    }

    /// A handshake that the peer began takes the place of our own that are pending: all that have its address among
    /// their candidates, else the only one for that key and chat (L-14).
    mutating func abandonOpening(
        to key: PublicKey, in chat: ChatTag, at address: Address, for duration: Duration, _ now: Instant
    ) {
        let pending = instances(of: PersonID(chat: chat, key: key)).filter(\.isPending)
        let there = pending.filter { $0.addresses.contains(address) }
        for instance in there.isEmpty && pending.count == 1 ? pending : there {
            cancelPending(instance.id)
            instances[instance.id]?.opening = .waiting(until: now + duration)
        }
    }

    /// Full means that the oldest unconfirmed goes first.
    private mutating func makeUnconfirmedRoom() {
        guard answeredInitiations.count >= Limits.unconfirmedSessions else { return }
        let oldest = answeredInitiations.values.compactMap { sessions[$0] }
            .min { ($0.createdAt, $0.localIndex) < ($1.createdAt, $1.localIndex) }
        if let oldest { removeSession(oldest.localIndex) }
    }

    // MARK: Load

    private mutating func passesLoad(_ initiation: Initiation, from address: Address, _ now: Instant) -> Bool {
        let isOverRate = limiters.initiationLoad.count(now)
        let isUnderLoad = isOverRate || answeredInitiations.count >= Limits.loadUnconfirmedSessions
        limiters.rotateCookieSecret(now, random: &random)
        if isValidCookie(of: initiation, from: address) {
            guard limiters.takeInitiation(of: address, now) else {
                drop(.sourceLimit)
                return false
            }
        } else if isUnderLoad {
            if initiation.cookie != nil { drop(.cookie) }
            let cookie = limiters.cookieSecret.cookie(for: initiation, address: address.bytes, port: address.port)
            let retry = Datagram.retry(Retry(receiverIndex: initiation.senderIndex, cookie: cookie))
            emit(retry.encode(), to: address, as: .retry)
            return false
        }
        return true
    }

    private func isValidCookie(of initiation: Initiation, from address: Address) -> Bool {
        guard initiation.cookie != nil else { return false }
        return [limiters.cookieSecret, limiters.previousCookieSecret].contains {
            $0.matches(initiation, address: address.bytes, port: address.port)
        }
    }

    /// Half of the answers are kept for addresses of live links and of instances that were resolved.
    private mutating func mayAnswer(_ address: Address, _ now: Instant) -> Bool {
        guard limiters.initiationsOfStrangers.take(now) || isKnown(address) else { return false }
        return limiters.initiationsAnswered.take(now)
    }

    private func isKnown(_ address: Address) -> Bool {
        links.unorderedValues.contains { $0.address == address }
            || instances.unorderedValues.contains { $0.addresses.contains(address) }
    }

    // MARK: Ask

    private mutating func receive(_ ask: Ask, from address: Address, _ now: Instant) {
        guard let keys = chats[ask.tag]?.keys else {
            drop(.unknownChat)
            return
        }
        guard limiters.asksAnswered.take(now) else {
            drop(.answerLimit)
            return
        }
        let nonce = keys.isOpen ? 0 : random.next()
        let tell = Tell(token: ask.token, nonce: nonce, key: keys.masked(ownKey, nonce: nonce))
        emit(Datagram.tell(tell).encode(), to: address, as: .tell)
    }
}

import InklingWire

/// Sealed datagrams in: what authenticates, what it is evidence of, and what its frames change.
extension Endpoint {
    mutating func receive(_ sealed: SealedDatagram, from address: Address, _ now: Instant) {
        let index = sealed.receiverIndex
        guard let session = sessions[index] else {
            drop(.unknownIndex)
            return
        }
        let counter = UInt64(sealed.counter)
        let isLastWill = counter == Limits.lastWillCounter
        guard isLastWill || (counter <= Limits.highestOrdinaryCounter && session.window.accepts(counter)) else {
            drop(.replayed)
            return
        }
        guard
            let plaintext = try? session.keys.receive.open(
                sealed.ciphertext, counter: counter, associatedData: sealed.header)
        else {
            drop(.unauthenticated)
            return
        }
        let frames: [Frame]
        do {
            frames = try Frames.parse(plaintext)
        } catch {
            if !isLastWill { sessions[index]?.window.mark(counter) }
            drop(.frames)
            return
        }
        if isLastWill {
            guard case .bye? = frames.first, frames.count == 1 else {
                drop(.frames)
                return
            }
            endSession(index, .lastWill, heardBefore: session.lastReceived, now)
            return
        }
        accept(frames, counter: counter, on: index, from: address, now)
    }

    private mutating func accept(
        _ frames: [Frame], counter: UInt64, on index: UInt32, from address: Address, _ now: Instant
    ) {
        guard let session = sessions[index] else { return }
        let isNewest = session.window.highest.map { counter > $0 } ?? true
        sessions[index]?.window.mark(counter)
        sessions[index]?.lastReceived = now
        confirm(index, from: address, now)
        if isNewest { follow(address, on: index) }
        let reason = frames.compactMap { if case .bye(let reason) = $0 { reason } else { nil } }.first
        // Whoever hears nothing is not there for this link.
        let isEvidence = isNewest && reason != .unheard
        let linked = linkID(of: index)
        if let linked, !takes(linked, isEvidence: isEvidence, isBye: reason != nil, now) { return }
        if let hello = frames.compactMap({ if case .hello(let hello) = $0 { hello } else { nil } }).first {
            receive(hello, counter: counter, on: index, now)
        }
        guard let id = linkID(of: index) else {
            noteStatus(frames, counter: counter, on: index)
            if let reason {
                endSession(index, reason, heardBefore: session.lastReceived, now)
            } else {
                drop(.unexpected)
            }
            return
        }
        if linked == nil, !takes(id, isEvidence: isEvidence, isBye: reason != nil, now) { return }
        apply(frames, counter: counter, on: index, link: id, now)
        if let reason { endSession(index, reason, heardBefore: session.lastReceived, now) }
    }

    private func linkID(of index: UInt32) -> LinkID? {
        guard case .linked(let id)? = sessions[index]?.phase else { return nil }
        return id
    }

    /// Counts a datagram of a link, which is evidence even when it is more than the link may send.
    private mutating func takes(_ id: LinkID, isEvidence: Bool, isBye: Bool, _ now: Instant) -> Bool {
        let isWithinLimit = links[id]?.datagrams.take(now) ?? false
        if isEvidence, !isCatchingUp { evidence(of: id, now) }
        guard isWithinLimit || isBye else {
            drop(.peerLimit)
            return false
        }
        return true
    }

    /// The first datagram that opens on a responder's session completes it.
    private mutating func confirm(_ index: UInt32, from address: Address, _ now: Instant) {
        guard let session = sessions[index], case .unconfirmed(let unconfirmed) = session.phase else { return }
        answeredInitiations[unconfirmed.initiation] = nil
        counters.handshakesCompleted += 1
        lastOrder += 2
        sessions[index]?.order = lastOrder
        abandonOpening(to: session.key, in: session.chat, at: address, for: Limits.helloTimeout, now)
        let presumed = links(of: session.personID).max { ($0.lastEvidence, $0.id) < ($1.lastEvidence, $1.id) }
        let stream = presumed?.outgoing.id ?? freshStream()
        sessions[index]?.phase = .greeting(
            .init(expires: now + Limits.helloTimeout, presumedLink: presumed?.id, stream: stream))
        sessions[index]?.hello.begin(now)
    }

    /// The peer's address follows the newest authenticated datagram: unless it was added by hand, from on-link only
    /// to on-link.
    private mutating func follow(_ address: Address, on index: UInt32) {
        guard !isCatchingUp, let session = sessions[index], !isOneself(address) else { return }
        let link: Link? = if let id = linkID(of: index) { links[id] } else { nil }
        let current = link?.address ?? session.address
        guard current != address else { return }
        if !isOnLink(address), isOnLink(current), !isByHand(session) { return }
        sessions[index]?.address = address
        guard let link else { return }
        links[link.id]?.address = address
        sessions[link.sendingSession]?.address = address
        keepWill(of: link.sendingSession)
    }

    private func isByHand(_ session: Session) -> Bool {
        let link = linkID(of: session.localIndex)
        return instances(of: session.personID).contains { instance in
            instance.isByHand && (instance.id == session.instance || (link != nil && instance.link == link))
        }
    }

    private mutating func evidence(of id: LinkID, _ now: Instant) {
        links[id]?.lastEvidence = now
        links[id]?.liveness = .alive
    }

    // MARK: Hello

    private mutating func receive(_ hello: Hello, counter: UInt64, on index: UInt32, _ now: Instant) {
        guard let session = sessions[index], session.lastHelloCounter.map({ counter > $0 }) ?? true else { return }
        sessions[index]?.lastHelloCounter = counter
        guard let id = link(for: hello, of: session, now), let link = links[id] else { return }
        let isGreeting = if case .greeting = session.phase { true } else { false }
        var isAdopted = false
        if isGreeting { attach(index, to: id, hello, now) } else { isAdopted = settle(on: index, of: id, now) }
        guard let session = sessions[index], session.order >= link.newestHelloOrder else { return }
        links[id]?.newestHelloOrder = session.order
        links[id]?.name = hello.name
        let replacement = freshStream(after: link.outgoing.id)
        let changes = links[id]?.outgoing.synchronise(
            held: hello.heldStream, next: hello.nextRecord, replacement: replacement, now: now)
        links[id]?.rememberStream()
        // A hello that holds a stream of a link that is over speaks of a stream of that link: begun, and not for this.
        if hello.heldStream == 0 || links[id]?.ownStreams.contains(hello.heldStream) == true {
            links[id]?.incoming.hold(hello.stream)
        }
        if let changes {
            for message in changes.delivered { delivered(message, over: id) }
            for message in changes.failed { failed(message, over: id, .lostState) }
        }
        // An older session only receives.
        guard links[id]?.sendingSession == index, let current = currentHello(on: index) else { return }
        let isHeld = hello.heldStream == current.stream
        if sessions[index]?.hello.received(isHeld: isHeld, current: current, now: now) == true {
            sendHello(on: index, now)
        }
        // If that hello was late, the peer sees by ours what it has to say again.
        if isAdopted { sessions[index]?.hello.begin(now) }
        pump(id, now)
    }

    /// A hello or a status on an older session: the two sides do not agree on which session sends. What the smaller key
    /// says holds for both, and it says so again (L-43).
    ///
    /// - Returns: Whether that session sends from now on.
    @discardableResult
    private mutating func settle(on index: UInt32, of id: LinkID, _ now: Instant) -> Bool {
        guard !isCatchingUp, let link = links[id], link.sendingSession != index else { return false }
        guard ownKey > link.key else {
            if sessions[link.sendingSession]?.hello.mayRepeat(now) == true { sendHello(on: link.sendingSession, now) }
            return false
        }
        // Whoever sends on the other one lets it be heard of; what was only late changes nothing.
        if let sending = sessions[link.sendingSession] {
            let patience =
                sending.lastHelloCounter == nil
                ? Limits.openingDelay : link.announcedInterval * Limits.suspicionQuarterIntervals / 4
            guard now - sending.lastReceived >= patience else { return false }
        }
        takeUp(index, of: id, now)
        return true
    }

    // MARK: Frames

    private mutating func apply(
        _ frames: [Frame], counter: UInt64, on index: UInt32, link id: LinkID, _ now: Instant
    ) {
        applyStatus(of: frames, counter: counter, on: index, link: id, now)
        for frame in frames {
            switch frame {
            case .ack(let ack):
                for message in links[id]?.outgoing.receive(ack, now: now) ?? [] { delivered(message, over: id) }
                pump(id, now)
            case .message(let record):
                receive(record, over: id, now)
            case .ping(let token):
                reply(to: token, over: id, now)
            case .pong(let token):
                links[id]?.pings.pong(token, now: now)
            case .heartbeat, .typing, .hello, .bye, .unknown:
                continue
            }
        }
    }

    /// Applies the status of a datagram, and tells first who is there, then who types, before anything else of it.
    private mutating func applyStatus(
        of frames: [Frame], counter: UInt64, on index: UInt32, link id: LinkID, _ now: Instant
    ) {
        var isTypingChanged = false
        for frame in frames {
            switch frame {
            case .heartbeat(let heartbeat):
                guard isNew(counter, on: index, link: id) else {
                    isTypingChanged = ends(heartbeat.status, of: frames, counter: counter, on: index, link: id, now)
                    continue
                }
                links[id]?.announcedInterval = heartbeat.idleInterval
                isTypingChanged = apply(heartbeat.status, counter: counter, on: index, link: id, now)
            case .typing(let status):
                guard isNew(counter, on: index, link: id) else {
                    isTypingChanged = ends(status, of: frames, counter: counter, on: index, link: id, now)
                    continue
                }
                isTypingChanged = apply(status, counter: counter, on: index, link: id, now)
            case .hello, .message, .ack, .ping, .pong, .bye, .unknown:
                continue
            }
        }
        noteStatus(frames, counter: counter, on: index)
        guard let link = links[id] else { return }
        if link.sendingSession != index, frames.contains(where: { $0.status != nil }) { settle(on: index, of: id, now) }
        if link.told != Link.Told(name: link.name, isAway: link.isAway) {
            links[id]?.told = Link.Told(name: link.name, isAway: link.isAway)
            tellPresence(link.personID, .hello)
        }
        if isTypingChanged { tellTyping(link.chat, of: id) }
    }

    /// A status that was not applied still makes those before it old (T-13).
    private mutating func noteStatus(_ frames: [Frame], counter: UInt64, on index: UInt32) {
        guard let status = frames.compactMap(\.status).last else { return }
        if let last = sessions[index]?.lastStatus, last.counter > counter { return }
        sessions[index]?.lastStatus = (counter, status.isTyping)
    }

    /// A status that does not count starts nothing, but it still ends typing if it is the newest and has only waited in
    /// the socket for too long (L-30), or if it comes with a message, whichever the session, and the peer has not said
    /// there since that typing goes on (T-13, R4).
    private mutating func ends(
        _ status: Status, of frames: [Frame], counter: UInt64, on index: UInt32, link id: LinkID, _ now: Instant
    ) -> Bool {
        guard !status.isTyping else { return false }
        let hasMessage = frames.contains { if case .message = $0 { true } else { false } }
        let typesOn = sessions[index]?.lastStatus.map { $0.counter > counter && $0.isTyping } ?? false
        var counts = hasMessage && !typesOn
        if isCatchingUp, isNewest(counter, on: index, link: id) { counts = true }
        return counts && links[id]?.typing.apply(isTyping: false, now: now) == .ended
    }

    /// Whether a status counts: nothing is older than it that was read before.
    private func isNew(_ counter: UInt64, on index: UInt32, link id: LinkID) -> Bool {
        if isCatchingUp { return false }
        return isNewest(counter, on: index, link: id)
    }

    /// Whether a status is newer than the last of its session, and no newer session has carried one.
    private func isNewest(_ counter: UInt64, on index: UInt32, link id: LinkID) -> Bool {
        guard let session = sessions[index], let link = links[id] else { return false }
        return session.lastStatus.map({ counter > $0.counter }) ?? true && session.order >= link.newestStatusOrder
    }

    /// - Returns: Whether the peer began or ended typing.
    private mutating func apply(
        _ status: Status, counter: UInt64, on index: UInt32, link id: LinkID, _ now: Instant
    ) -> Bool {
        sessions[index]?.lastStatus = (counter, status.isTyping)
        links[id]?.newestStatusOrder = sessions[index]?.order ?? 0
        links[id]?.isAway = status.isAway
        switch links[id]?.typing.apply(isTyping: status.isTyping, now: now) {
        case .started:
            counters.typingStartsReceived += 1
            links[id]?.typedSinceMessage = true
            return true
        case .ended:
            return true
        case .limited:
            counters.typingStartsLimited += 1
            return false
        case .some(.none), nil:
            return false
        }
    }

    private mutating func receive(_ record: Record, over id: LinkID, _ now: Instant) {
        guard let link = links[id], let messages = links[id]?.incoming.receive(record) else { return }
        for text in messages {
            lastMessageReceived += 1
            counters.messagesReceived += 1
            if links[id]?.typedSinceMessage == true { counters.messagesPrecededByTyping += 1 }
            links[id]?.typedSinceMessage = false
            outputs.append(.message(link.chat, from: link.person, number: lastMessageReceived, text: text))
        }
        if let ack = links[id]?.incoming.ack { send([.ack(ack)], over: id, as: .ack, now) }
    }

    private mutating func reply(to token: UInt16, over id: LinkID, _ now: Instant) {
        guard let link = links[id] else { return }
        send([.heartbeat(heartbeat(in: link.chat)), .pong(token)], over: id, as: .pong, now)
    }
}

extension Frame {
    fileprivate var status: Status? {
        switch self {
        case .heartbeat(let heartbeat): heartbeat.status
        case .typing(let status): status
        case .hello, .message, .ack, .ping, .pong, .bye, .unknown: nil
        }
    }
}

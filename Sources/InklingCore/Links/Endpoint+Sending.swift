import InklingWire

/// Sealed datagrams out: hellos, heartbeats, edges, records, pings and farewells.
extension Endpoint {
    // MARK: Sealing

    /// Seals frames under the session's next counter; nil when its counters are used up.
    private mutating func seal(_ frames: [Frame], on index: UInt32) -> [UInt8]? {
        guard let session = sessions[index], session.canSend else { return nil }
        sessions[index]?.nextCounter = session.nextCounter + 1
        return session.seal(frames, counter: session.nextCounter)
    }

    /// Sends frames over a link. Until the peer has shown that it got our hello, that goes along.
    mutating func send(_ frames: [Frame], over id: LinkID, as kind: DatagramKind, _ now: Instant) {
        guard let link = links[id] else { return }
        let frames = kind == .message ? frames : frames + outstandingHello(on: link.sendingSession, now)
        guard let bytes = seal(frames, on: link.sendingSession) else { return }
        emit(bytes, to: link.address, as: kind)
    }

    /// Our hello, as long as the peer has not shown that it got it on this session.
    private mutating func outstandingHello(on index: UInt32, _ now: Instant) -> [Frame] {
        guard sessions[index]?.hello.isOutstanding == true, let hello = currentHello(on: index) else { return [] }
        sessions[index]?.hello.sent(hello, now: now)
        return [.hello(hello)]
    }

    // MARK: Hello

    /// The hello that this session would carry now.
    func currentHello(on index: UInt32) -> Hello? {
        guard let session = sessions[index] else { return nil }
        let link: Link?
        let stream: UInt32
        switch session.phase {
        case .unconfirmed:
            return nil
        case .greeting(let greeting):
            link = greeting.presumedLink.flatMap { links[$0] }
            stream = link?.outgoing.id ?? greeting.stream
        case .linked(let id):
            guard let linked = links[id] else { return nil }
            link = linked
            stream = linked.outgoing.id
        }
        return Hello(
            run: configuration.run, stream: stream, heldStream: link?.incoming.id ?? 0,
            nextRecord: link?.incoming.next ?? 0, name: configuration.name)
    }

    /// Sends hello and heartbeat on a session.
    mutating func sendHello(on index: UInt32, _ now: Instant) {
        guard let session = sessions[index], let hello = currentHello(on: index),
            let bytes = seal([.heartbeat(heartbeat(in: session.chat)), .hello(hello)], on: index)
        else { return }
        sessions[index]?.hello.sent(hello, now: now)
        emit(bytes, to: session.address, as: .hello)
    }

    mutating func advanceSession(_ index: UInt32, _ now: Instant) {
        guard let chat = sessions[index]?.chat else { return }
        // This may come late: what is over by now must not be said again.
        advanceChat(chat, now)
        guard let session = sessions[index] else { return }
        switch session.phase {
        case .unconfirmed(let unconfirmed):
            if unconfirmed.expires <= now { removeSession(index) }
        case .greeting(let greeting):
            if greeting.expires <= now {
                removeSession(index)
                if let instance = session.instance { attemptFailed(instance, now) }
            } else if let next = session.hello.nextRepeat, next <= now {
                sendHello(on: index, now)
            }
        case .linked(let id):
            if let retirement = session.retirement, retirement <= now {
                retire(index, of: id)
            } else if session.createdAt + Limits.sessionLifetime <= now {
                outlived(index, of: id, now)
            } else if let next = session.hello.nextRepeat, next <= now {
                sendHello(on: index, now)
            }
        }
    }

    // MARK: Status

    func status(in chat: ChatTag) -> Status {
        let isTyping = chats[chat]?.announcer.isAnnounced ?? false
        return Status(isTyping: isTyping && configuration.sendsTyping, isAway: isAway)
    }

    /// The idle interval: 1 s, stretched to links ÷ 50 s, in steps of 100 ms.
    var idleInterval: Duration {
        let tenths = (links.count * 10 + Limits.idleHeartbeatsPerSecond - 1) / Limits.idleHeartbeatsPerSecond
        return min(max(.milliseconds(100 * tenths), Limits.minimumIdleInterval), Limits.maximumIdleInterval)
    }

    func heartbeat(in chat: ChatTag) -> Heartbeat {
        let tenths = idleInterval.nanoseconds / 100_000_000
        return Heartbeat(status: status(in: chat), interval: UInt8(clamping: tenths))
    }

    private mutating func nextHeartbeat(in chat: ChatTag, _ now: Instant) -> Instant {
        if status(in: chat).isTyping { return now + Limits.typingHeartbeatInterval }
        return randomInstant(after: now, idleInterval, percent: Limits.idleJitterPercent)
    }

    mutating func advanceChat(_ tag: ChatTag, _ now: Instant) {
        for emission in chats[tag]?.announcer.advance(now) ?? [] { announce(emission, in: tag, now) }
    }

    /// Sends an edge or a copy of it to all links of the chat but `excluded`, which have it already.
    mutating func announce(
        _ emission: TypingAnnouncer.Emission, in chat: ChatTag, excluding excluded: Set<LinkID> = [], _ now: Instant
    ) {
        guard configuration.sendsTyping else { return }
        let status = status(in: chat)
        if emission == .start { counters.typingStartsSent += 1 }
        for id in linkIDs(in: chat) {
            if emission == .start { links[id]?.nextHeartbeat = now + Limits.typingHeartbeatInterval }
            if !excluded.contains(id) { send([.typing(status)], over: id, as: .typing, now) }
        }
    }

    // MARK: A link's deadlines

    mutating func advanceLink(_ id: LinkID, _ now: Instant) {
        guard let chat = links[id]?.chat else { return }
        advanceChat(chat, now)
        guard let link = links[id] else { return }
        if links[id]?.typing.advance(now) == .ended {
            counters.staleClears += 1
            tellTyping(link.chat, of: id)
        }
        if !advanceLiveness(id, now) { return }
        if link.nextHeartbeat <= now {
            send([.heartbeat(heartbeat(in: link.chat))], over: id, as: .heartbeat, now)
            let next = nextHeartbeat(in: link.chat, now)
            links[id]?.nextHeartbeat = next
            renewIfDue(id, now)
        }
        links[id]?.outgoing.advance(now)
        if link.outgoing.isStalled(now) { giveUpStream(of: id, now) }
        if let resumeAt = link.resumeAt, resumeAt <= now { links[id]?.resumeAt = nil }
        pump(id, now)
    }

    /// - Returns: Whether the link still lives.
    private mutating func advanceLiveness(_ id: LinkID, _ now: Instant) -> Bool {
        guard let link = links[id] else { return false }
        switch link.liveness {
        case .alive:
            if link.suspectAt <= now { ping(id, number: 1, now) }
        case .suspect(let pings, let next):
            guard next <= now else { return true }
            guard pings < Limits.suspicionPings || isCatchingUp else {
                counters.linksLostToSilence += 1
                sayBye(id, .unheard, now)
                removeLink(id, .silence, .silence, now)
                return false
            }
            ping(id, number: min(pings + 1, Limits.suspicionPings), now)
        }
        return true
    }

    private mutating func ping(_ id: LinkID, number: Int, _ now: Instant) {
        links[id]?.liveness = .suspect(pings: number, next: now + Limits.pingInterval)
        sendPing(id, now)
    }

    /// Asks all candidate addresses of the peer at once, with one sealed datagram: the first that arrives counts.
    mutating func sendPing(_ id: LinkID, _ now: Instant) {
        guard let link = links[id], let token = links[id]?.pings.next(now) else { return }
        let frames = [.ping(token)] + outstandingHello(on: link.sendingSession, now)
        guard let bytes = seal(frames, on: link.sendingSession) else { return }
        for address in addresses(of: link) { emit(bytes, to: address, as: .ping) }
    }

    /// Where the peer of a link may be: the address that it was heard from, then the candidates of its instances.
    func addresses(of link: Link) -> [Address] {
        var addresses = [link.address]
        for instance in instances(coveredBy: link) {
            for address in instance.addresses where !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }

    /// Asks whether a peer is there, at most once a second.
    mutating func probe(_ id: LinkID, _ now: Instant) {
        guard let link = links[id], case .alive = link.liveness else { return }
        if let last = link.lastProbe, now - last < Limits.probeInterval { return }
        links[id]?.lastProbe = now
        sendPing(id, now)
    }

    /// A new handshake each hour, or when half of the counters are used.
    private mutating func renewIfDue(_ id: LinkID, _ now: Instant) {
        guard let link = links[id], let session = sessions[link.sendingSession] else { return }
        let age: Duration = session.role == .initiator ? Limits.rekeyAfter : Limits.responderRekeyAfter
        guard now - session.createdAt >= age || session.nextCounter >= Limits.rekeyCounter else { return }
        guard instanceID(.renewal(id), chat: link.chat) == nil else { return }
        renew(id, at: now)
    }

    /// Begins a new handshake with the peer of a link at an instant, unless one is under way.
    mutating func renew(_ id: LinkID, at start: Instant) {
        guard let link = links[id] else { return }
        let instance =
            instanceID(.renewal(id), chat: link.chat)
            ?? addInstance(.renewal(id), chat: link.chat, key: link.key, addresses: [link.address])
        instances[instance]?.link = id
        switch instances[instance]?.opening {
        case .pending, .greeting: break
        case .idle, .waiting, .resting, nil: instances[instance]?.opening = .waiting(until: start)
        }
    }

    // MARK: Records

    /// Sends the records that the window and the pacing let go.
    ///
    /// - Returns: Whether any went out.
    @discardableResult
    mutating func pump(_ id: LinkID, _ now: Instant) -> Bool {
        var hasSent = false
        while let link = links[id], link.outgoing.wantsToSend, sessions[link.sendingSession]?.canSend == true {
            guard recordsThisInput < Limits.recordsPerInput else {
                links[id]?.resumeAt = now + .milliseconds(1)
                break
            }
            var pace = link.records
            guard pace.take(now) else {
                links[id]?.resumeAt = pace.nextToken(now)
                break
            }
            guard limiters.records.take(now) else {
                links[id]?.resumeAt = limiters.records.nextToken(now)
                break
            }
            links[id]?.records = pace
            guard let (record, isRepeat) = links[id]?.outgoing.nextRecord(now) else { break }
            if isRepeat { counters.retransmissions += 1 }
            recordsThisInput += 1
            hasSent = true
            send([.typing(status(in: link.chat)), .message(record)], over: id, as: .message, now)
        }
        return hasSent
    }

    /// The peer lives and acknowledges nothing: what waits for it has failed, and a new stream begins.
    private mutating func giveUpStream(of id: LinkID, _ now: Instant) {
        guard let link = links[id] else { return }
        let stream = freshStream(after: link.outgoing.id)
        links[id]?.outgoing = SendStream(id: stream)
        links[id]?.rememberStream()
        for message in link.outgoing.unfinished { failed(message, over: id, .stalled) }
        sessions[link.sendingSession]?.hello.begin(now)
    }

    // MARK: Last will

    /// Seals the last will of a session, once, and hands it over; again when the peer has moved.
    mutating func keepWill(of index: UInt32) {
        guard makesWills, let session = sessions[index] else { return }
        let will = session.will ?? session.seal([.bye(.lastWill)], counter: Limits.lastWillCounter)
        sessions[index]?.will = will
        outputs.append(.keepWill(session: index, will, to: session.address))
    }

    /// Takes back the last will of a session that sends no more.
    mutating func dropWill(of index: UInt32) {
        guard sessions[index]?.will != nil else { return }
        sessions[index]?.will = nil
        outputs.append(.dropWill(session: index))
    }

    // MARK: Farewells

    /// Says bye on a link that is about to be removed, on all of its sessions: at once, and the copies 30 and 120 ms
    /// later. That nothing is heard is said on the sending one alone (L-44).
    mutating func sayBye(_ id: LinkID, _ reason: ByeReason, _ now: Instant) {
        guard let link = links[id] else { return }
        sayBye(on: link.sendingSession, to: link.address, reason, now)
        guard reason != .unheard else { return }
        for session in sessions(of: link.personID) where session.localIndex != link.sendingSession {
            switch session.phase {
            case .linked(id): sayBye(on: session.localIndex, to: link.address, reason, now)
            case .greeting(let greeting) where greeting.presumedLink == id:
                sayBye(on: session.localIndex, to: session.address, reason, now)
            case .linked, .greeting, .unconfirmed: continue
            }
        }
    }

    private mutating func sayBye(on index: UInt32, to address: Address, _ reason: ByeReason, _ now: Instant) {
        guard let bytes = seal([.bye(reason)], on: index) else { return }
        emit(bytes, to: address, as: .bye)
        for delay in Limits.edgeCopies {
            guard let copy = seal([.bye(reason)], on: index) else { return }
            let farewell = Farewell(at: now + delay, bytes: copy, address: address)
            let place = farewells.lastIndex { $0.at <= farewell.at }.map { $0 + 1 } ?? 0
            farewells.insert(farewell, at: place)
        }
        deadlines.set(.node, to: farewells.first?.at)
    }

    mutating func sendFarewells(_ now: Instant) {
        let due = farewells.prefix { $0.at <= now }
        farewells.removeFirst(due.count)
        for farewell in due { emit(farewell.bytes, to: farewell.address, as: .bye) }
    }
}

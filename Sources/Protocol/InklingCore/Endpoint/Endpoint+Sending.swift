import InklingWire

/// The datagrams that links send.
extension Endpoint {
    // MARK: Our own status

    /// Returns the status that the node announces in a chat (T-2).
    func status(in chat: ChatID) -> Status {
        let isTyping = chats.contains(chat) && chats[chat].announcer.isAnnounced
        return Status(isTyping: isTyping && surroundings.configuration.sendsTyping, isAway: surroundings.isAway)
    }

    /// Returns the status for a link. A down link gets "unheard"; a peer without a name or on a hidden link gets an empty
    /// status (L-44, L-85, M-92).
    func status(of id: LinkID) -> Status {
        if links[id].isDown { return Status(isUnheard: true) }
        return links[id].isNamed && !links[id].isHidden ? status(in: links[id].chat) : Status()
    }

    /// The idle interval: 1 s with up to 50 links, and links ÷ 50 s above, in steps of 100 ms (T-24).
    var idleInterval: Duration {
        let tenths = (links.liveCount * 10 + Limits.idleHeartbeats - 1) / Limits.idleHeartbeats
        return min(max(.milliseconds(100 * tenths), Limits.idleInterval), Limits.maximumIntervalTaken)
    }

    func heartbeat(of id: LinkID) -> Heartbeat {
        Heartbeat(status: status(of: id), interval: UInt8(clamping: idleInterval.nanoseconds / 100_000_000))
    }

    /// Returns the time between heartbeats while typing is announced (T-8, T-23).
    private func typingInterval(of id: LinkID) -> Duration {
        guard links.liveCount > Limits.linksOfTypingHeartbeat, !surroundings.isPreferred(links[id].personID) else {
            return Limits.typingHeartbeat
        }
        let stretched = Duration.milliseconds(1_000 * links.liveCount / Limits.typingHeartbeats)
        return min(stretched, Limits.longestTypingHeartbeat)
    }

    /// Returns the time of the next heartbeat after one that is sent now (T-8, T-11).
    mutating func nextHeartbeat(of id: LinkID, _ now: Instant) -> Instant {
        if status(of: id).isTyping { return now + typingInterval(of: id) }
        return effects.instant(after: now, idleInterval, percent: Limits.idleJitterPercent)
    }

    // MARK: Datagrams

    /// Seals frames as one datagram, and sends it to the link's address or to `addresses`.
    ///
    /// - Parameter session: The index of the session; nil for the sending one (L-70).
    mutating func send(
        _ frames: [Frame], _ kind: DatagramKind, on id: LinkID, session: UInt32? = nil, to addresses: [Address]? = nil
    ) {
        let frames = surroundings.configuration.isGreasing ? effects.greased(frames) : frames
        guard let bytes = links[id].seal(frames, on: session) else { return }
        for case .heartbeat(let beat) in frames where links[id].nextHeartbeat > lastInput + beat.idleInterval {
            // The next heartbeat must follow within the interval that the node announced last (T-24).
            links[id].nextHeartbeat = lastInput + beat.idleInterval
        }
        for address in addresses ?? [links[id].address] { effects.send(bytes, to: address, kind) }
    }

    /// Sends frames to an address that is not the link's. The bytes received from there limit the bytes sent (L-72).
    mutating func sendElsewhere(_ frames: [Frame], _ kind: DatagramKind, on id: LinkID, to address: Address) {
        guard links[id].check.take(SealedDatagram.size(of: frames), to: address),
            let bytes = links[id].seal(frames)
        else { return }
        effects.send(bytes, to: address, kind)
    }

    mutating func sendHeartbeat(_ id: LinkID, _ now: Instant) {
        send([.heartbeat(heartbeat(of: id))], .heartbeat, on: id)
    }

    /// Sends an ack with the next expected record (M-15).
    mutating func acknowledge(_ id: LinkID) { send([.ack(links[id].receiver.ack)], .ack, on: id) }

    // MARK: Pings

    /// Pings a peer with one sealed datagram: at the link's address, and at the candidates of its covered instances
    /// (L-26).
    mutating func ping(_ id: LinkID, _ reach: Liveness.Reach, _ now: Instant) {
        ping(id, at: addresses(of: id, reach), now)
    }

    private mutating func ping(_ id: LinkID, at addresses: [Address], _ now: Instant) {
        let token = links[id].pings.next(to: addresses, &effects, now: now)
        send([.ping(token)], .ping, on: id, to: addresses)
    }

    /// Pings a suspect link if the limit of pings permits (L-76).
    mutating func pingSuspect(_ id: LinkID, _ reach: Liveness.Reach, _ now: Instant) {
        let addresses = addresses(of: id, reach)
        let isStranger = !surroundings.isPreferred(links[id].personID)
        let isWithinLimit = admission.takesPing(addresses.count, isStranger: isStranger, now: now)
        guard isWithinLimit || links[id].liveness.needsPing else { return }
        links[id].liveness.pinged()
        ping(id, at: addresses, now)
    }

    /// Pings a peer that is not suspect because of a hint, at most once a second (L-29).
    mutating func probe(_ id: LinkID, _ now: Instant) {
        guard !links[id].isDown, !links[id].liveness.isSuspect, links[id].hints.take(now) else { return }
        ping(id, .everywhere, now)
    }

    /// Pings a peer on a session that has joined its link (L-74).
    mutating func pingJoined(_ index: UInt32, of id: LinkID, _ now: Instant) {
        let token = links[id].pings.next(to: [links[id].address], &effects, now: now)
        links[id].withSession(index) { $0.pinged(now) }
        send([.heartbeat(heartbeat(of: id)), .ping(token)], .ping, on: id, session: index)
    }

    /// Returns the possible addresses of a link's peer: the link's own, then the candidates of its covered instances.
    func addresses(of id: LinkID, _ reach: Liveness.Reach) -> [Address] {
        var addresses = [links[id].address]
        guard reach == .everywhere else { return addresses }
        for candidate in directory.candidates(coveredBy: links[id]) where !addresses.contains(candidate) {
            addresses.append(candidate)
        }
        return addresses
    }

    /// Moves a link to another address of its peer (L-24).
    mutating func move(_ id: LinkID, to address: Address) {
        links[id].move(to: address, surroundings)
        links[id].handOverWill(surroundings, &effects)
    }

    // MARK: Typing

    /// Sends an edge, or a copy of it, on each named up link except `excluded`. The links in `excluded` have it already
    /// (T-6, L-85).
    mutating func announce(
        _ emission: TypingAnnouncer.Emission, in chat: ChatID, excluding excluded: Set<LinkID> = [], _ now: Instant
    ) {
        guard surroundings.configuration.sendsTyping else { return }
        let status = status(in: chat)
        if emission == .start { effects.counters.typingStartsSent += 1 }
        for id in links.ids(in: chat) where links[id].isShown {
            if emission == .start { links[id].nextHeartbeat = now + typingInterval(of: id) }
            if !excluded.contains(id) { send([.typing(status)], .typing, on: id) }
        }
    }

    // MARK: Records

    /// Asks for a turn for a link that may have records to send.
    mutating func requestRecords(_ id: LinkID, _ now: Instant) {
        while let number = links[id].sender.nextForward(now) { send([.forward(number)], .forward, on: id) }
        if links[id].sender.wantsToSend, !links[id].liveness.isStale { pacer.request(id) }
    }

    /// Sends the records that the rates and windows permit. Each datagram has the status before its record (M-9, M-13).
    ///
    /// - Returns: The links on which a record was sent.
    @discardableResult
    mutating func sendRecords(_ now: Instant) -> Set<LinkID> {
        var sent: Set<LinkID> = []
        while let id = pacer.nextLink(now) {
            guard links.contains(id), !links[id].liveness.isStale else { continue }
            let repeats = links[id].sender.repeats
            guard let record = links[id].sender.nextRecord(now) else { continue }
            pacer.sent(id, now: now)
            effects.counters.recordsSent += 1
            if record.type == .successor { effects.counters.successorsSent += 1 }
            effects.counters.retransmissions += links[id].sender.repeats - repeats
            sent.insert(id)
            var frames = [Frame.typing(status(of: id)), .record(record)]
            if let textID = links[id].sender.window.textID(of: record) {
                frames.insert(.textID(textID), at: 1)
                effects.counters.textsRetransmitted += links[id].sender.repeats - repeats
            }
            send(frames, .record, on: id)
            if links[id].sender.wantsToSend { pacer.request(id) }
        }
        return sent
    }
}

import InklingWire

/// The datagrams that links send.
extension Endpoint {
    // MARK: Our own status

    /// The announced state of a chat (T-2).
    func status(in chat: ChatID) -> Status {
        let isTyping = chats.contains(chat) && chats[chat].announcer.isAnnounced
        return Status(isTyping: isTyping && surroundings.configuration.sendsTyping, isAway: surroundings.isAway)
    }

    /// The status on a link: unheard on a down one, and nothing to a peer that has not named itself (L-44, L-85).
    func status(of id: LinkID) -> Status {
        if links[id].isDown { return Status(isUnheard: true) }
        return links[id].isNamed ? status(in: links[id].chat) : Status()
    }

    /// The idle interval: 1 s, stretched to links ÷ 50 s, in steps of 100 ms (T-24).
    var idleInterval: Duration {
        let tenths = (links.liveCount * 10 + Limits.idleHeartbeats - 1) / Limits.idleHeartbeats
        return min(max(.milliseconds(100 * tenths), Limits.idleInterval), Limits.maximumIntervalTaken)
    }

    func heartbeat(of id: LinkID) -> Heartbeat {
        Heartbeat(status: status(of: id), interval: UInt8(clamping: idleInterval.nanoseconds / 100_000_000))
    }

    /// The time between heartbeats while typing is announced (T-8, T-23).
    private func typingInterval(of id: LinkID) -> Duration {
        guard links.liveCount > Limits.linksOfTypingHeartbeat, !surroundings.isPreferred(links[id].personID) else {
            return Limits.typingHeartbeat
        }
        let stretched = Duration.milliseconds(1_000 * links.liveCount / Limits.typingHeartbeats)
        return min(stretched, Limits.longestTypingHeartbeat)
    }

    /// When the heartbeat after one that goes out now is due (T-8, T-11).
    mutating func nextHeartbeat(of id: LinkID, _ now: Instant) -> Instant {
        if status(of: id).isTyping { return now + typingInterval(of: id) }
        return effects.instant(after: now, idleInterval, percent: Limits.idleJitterPercent)
    }

    // MARK: Datagrams

    /// Seals frames once and sends them to the link's address, or to those addresses.
    ///
    /// - Parameter session: The index of the session; nil for the sending one (L-70).
    mutating func send(
        _ frames: [Frame], _ kind: DatagramKind, on id: LinkID, session: UInt32? = nil, to addresses: [Address]? = nil
    ) {
        let frames = surroundings.configuration.isGreasing ? effects.greased(frames) : frames
        guard let bytes = links[id].seal(frames, on: session) else { return }
        for case .heartbeat(let beat) in frames where links[id].nextHeartbeat > lastInput + beat.idleInterval {
            // No wait is longer than the interval that was announced last (T-24).
            links[id].nextHeartbeat = lastInput + beat.idleInterval
        }
        for address in addresses ?? [links[id].address] { effects.send(bytes, to: address, kind) }
    }

    /// Sends frames to an address that is not the link's, if the bytes that came from there allow it (L-72).
    mutating func sendElsewhere(_ frames: [Frame], _ kind: DatagramKind, on id: LinkID, to address: Address) {
        guard links[id].check.take(SealedDatagram.size(of: frames), to: address),
            let bytes = links[id].seal(frames)
        else { return }
        effects.send(bytes, to: address, kind)
    }

    mutating func sendHeartbeat(_ id: LinkID, _ now: Instant) {
        send([.heartbeat(heartbeat(of: id))], .heartbeat, on: id)
    }

    /// Says which record is expected next (M-15).
    mutating func acknowledge(_ id: LinkID) { send([.ack(links[id].receiver.ack)], .ack, on: id) }

    // MARK: Pings

    /// Pings a peer once, sealed once: at the link's address and the candidates of its covered instances (L-26).
    mutating func ping(_ id: LinkID, _ reach: Liveness.Reach, _ now: Instant) {
        ping(id, at: addresses(of: id, reach), now)
    }

    private mutating func ping(_ id: LinkID, at addresses: [Address], _ now: Instant) {
        let token = links[id].pings.next(to: addresses, &effects, now: now)
        send([.ping(token)], .ping, on: id, to: addresses)
    }

    /// Pings a suspect link, if so many may go out (L-76).
    mutating func pingSuspect(_ id: LinkID, _ reach: Liveness.Reach, _ now: Instant) {
        let addresses = addresses(of: id, reach)
        let isStranger = !surroundings.isPreferred(links[id].personID)
        let isWithinLimit = admission.takesPing(addresses.count, isStranger: isStranger, now: now)
        guard isWithinLimit || links[id].liveness.needsPing else { return }
        links[id].liveness.pinged()
        ping(id, at: addresses, now)
    }

    /// Pings a peer that is not suspect, because of a hint, at most once a second (L-29).
    mutating func probe(_ id: LinkID, _ now: Instant) {
        guard !links[id].isDown, !links[id].liveness.isSuspect, links[id].hints.take(now) else { return }
        ping(id, .everywhere, now)
    }

    /// Pings on a session that has joined (L-74).
    mutating func pingJoined(_ index: UInt32, of id: LinkID, _ now: Instant) {
        let token = links[id].pings.next(to: [links[id].address], &effects, now: now)
        links[id].withSession(index) { $0.pinged(now) }
        send([.heartbeat(heartbeat(of: id)), .ping(token)], .ping, on: id, session: index)
    }

    /// Where the peer of a link may be: its address, then the candidates of the instances that it covers.
    func addresses(of id: LinkID, _ reach: Liveness.Reach) -> [Address] {
        var addresses = [links[id].address]
        guard reach == .everywhere else { return addresses }
        for candidate in directory.candidates(coveredBy: links[id]) where !addresses.contains(candidate) {
            addresses.append(candidate)
        }
        return addresses
    }

    /// Follows a peer to another address (L-24).
    mutating func move(_ id: LinkID, to address: Address) {
        links[id].move(to: address, surroundings)
        links[id].handOverWill(surroundings, &effects)
    }

    // MARK: Typing

    /// Sends an edge or a copy of it on each link that is shown, but `excluded`, which have it already (T-6, L-85).
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

    /// Sends all records that a changed link has and that no limit holds back.
    mutating func requestRecords(_ id: LinkID, _ now: Instant) {
        while let number = links[id].sender.nextForward(now) { send([.forward(number)], .forward, on: id) }
        if links[id].sender.wantsToSend, !links[id].liveness.isStale { pacer.request(id) }
    }

    /// Sends the records that rates and windows let go, each behind the status (M-9, M-13).
    ///
    /// - Returns: The links on which a record left.
    @discardableResult
    mutating func sendRecords(_ now: Instant) -> Set<LinkID> {
        var sent: Set<LinkID> = []
        while let id = pacer.nextLink(now) {
            guard links.contains(id), !links[id].liveness.isStale else { continue }
            let repeats = links[id].sender.repeats
            guard let record = links[id].sender.nextRecord(now) else { continue }
            pacer.sent(id, now: now)
            effects.counters.recordsSent += 1
            effects.counters.retransmissions += links[id].sender.repeats - repeats
            sent.insert(id)
            send([.typing(status(of: id)), .record(record)], .record, on: id)
            if links[id].sender.wantsToSend { pacer.request(id) }
        }
        return sent
    }
}

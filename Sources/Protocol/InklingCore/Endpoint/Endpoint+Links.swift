import InklingWire

/// The life of links: how they are made, come up, go down and end.
extension Endpoint {
    // MARK: Making

    /// Returns whether the node has room for another link with a person (L-39, L-52, L-53).
    func room(for person: PersonID, at address: Address) -> LinkTable.Room {
        links.room(for: person, at: address, chatCount: chats.count, surroundings)
    }

    /// Makes a link if the node has room. A new link is down, and its person is not shown (L-80).
    mutating func make(
        _ person: PersonID, run: UInt64, _ epochs: EpochPair, at address: Address, _ now: Instant
    ) -> LinkID? {
        switch room(for: person, at: address) {
        case .none:
            effects.drop(.linkLimit)
            return nil
        case .free: break
        case .inPlace(let evicted): sayBye(evicted, .quit, .full, .full, now)
        }
        for other in links.ids(of: person) { links[other].liveness.doubt(now) }
        let id = links.nextID()
        links.add(
            Link(id: id, personID: person, run: run, epochs: epochs, at: address, surroundings, now: now))
        links[id].isHidden = surroundings.hides(person)
        if let departure = surroundings.departures[person.chat] {
            _ = links[id].sender.close(with: departure.record, now: now)
        }
        effects.counters.linksMade += 1
        return id
    }

    /// Adds a session to a link (L-67, L-81).
    mutating func join(_ session: Session, to id: LinkID, _ now: Instant) {
        if links[id].isDown { links[id].move(to: session.address, surroundings) }
        if let replaced = links[id].join(session, &effects) { links.own(replaced, nil) }
        links.own(session.localIndex, id)
        if !links[id].isDown, session.isFromAddress { directory.cover(links[id], at: [session.address]) }
        if links[id].sessions.sending?.localIndex == session.localIndex {
            planRekey(id, now)
            links[id].handOverWill(surroundings, &effects)
        }
        pingJoined(session.localIndex, of: id, now)
    }

    /// Replaces the state of a link by a new one (L-69).
    mutating func replace(_ id: LinkID, by epochs: EpochPair, _ now: Instant) {
        let before = links[id]
        for index in before.sessions.indices { links.own(index, nil) }
        if !before.isDown { links.count(isUp: false) }
        let failed = links[id].replace(epochs, &effects, now: now)
        release(id)
        directory.uncover(before, links, surroundings)
        for message in failed { tell(outbox.failed(message, to: before.personID, over: id, .lostState)) }
        reportUnreachable(before)
        if before.isShown { roster.keepShown(before.personID, until: now + Limits.keptShown) }
        reportGone(before, .replaced, now)
    }

    // MARK: Up and down

    /// Brings a down link up, because an awaited pong arrived (L-80, L-82).
    mutating func comeUp(_ id: LinkID, _ now: Instant) {
        links.count(isUp: true)
        links[id].liveness.comeUp(now)
        links[id].unheardCopies = []
        links[id].sender.comeUp(now: now)
        links[id].receiver.comeUp(now: now)
        links[id].nextHeartbeat = nextHeartbeat(of: id, now)
        let link = links[id]
        directory.cover(link, at: [link.address] + link.sessions.all.filter(\.isFromAddress).map(\.address))
        initiations.answered(from: link.address, &effects)
        remember(link)
        sendHeartbeat(id, now)
        if link.isNamed { reportReachable(link) }
        hasNews(of: link.personID, at: now, now)
    }

    /// Takes a link down after too long a silence, or because it has no session left (L-27, L-38).
    mutating func goDown(_ id: LinkID, _ now: Instant) {
        effects.counters.linksDown += 1
        let isSilent = !links[id].sessions.isEmpty
        // Without a session, silence does not show that the person has gone (L-103).
        let reason: PresenceReason = isSilent ? .silence : .replaced
        if !isSilent, links[id].isShown { roster.keepShown(links[id].personID, until: now + Limits.keptShown) }
        guard links[id].liveness.lifetime(now) >= Limits.shortestUp else { return forget(id, .silence, reason, now) }
        let before = links[id]
        links.count(isUp: false)
        links[id].liveness.goDown(now)
        links[id].sender.goDown(now: now)
        links[id].receiver.goDown(now: now)
        links[id].status.endTyping(now)
        links[id].forgetReport()
        links[id].unheardCopies = Limits.copies.map { now + $0 }
        send([.heartbeat(heartbeat(of: id))], .heartbeat, on: id)
        let link = links[id]
        reportUnreachable(before)
        reportGone(link, reason, now)
        linkEnded(link, now)
    }

    // MARK: Ending

    /// Ends a link because of the peer's bye or last will (L-34).
    mutating func endByBye(_ id: LinkID, _ reason: ByeReason, _ now: Instant) {
        directory.rest(links[id], now: now)
        if reason == .left || reason == .removed { reportLeft(links[id]) }
        let isRemoval = reason == .removed && chats[links[id].chat].owner == links[id].key
        switch reason {
        case .lastWill: forget(id, .will, .will, now)
        case .removed where isRemoval: forget(id, .bye, .removed, now)
        case .quit, .left, .suspended, .removed: forget(id, .bye, .bye, now)
        }
    }

    /// Ends a link with a bye (L-32).
    ///
    /// - Parameter rest: The time for which the node opens nothing at the link's addresses, at most; nil for no rest.
    mutating func sayBye(
        _ id: LinkID, _ reason: ByeReason, _ failure: FailureReason, _ presence: PresenceReason,
        rest: Duration? = Limits.rest, _ now: Instant
    ) {
        farewells.say(reason, on: &links[id], &effects, now: now)
        if let rest { directory.rest(links[id], atMost: rest, now: now) }
        forget(id, failure, presence, now)
    }

    /// Forgets a link with its state, sessions and messages, and the pending handshakes of its key. The person's
    /// presence changes accordingly (L-60, L-87).
    mutating func forget(_ id: LinkID, _ failure: FailureReason, _ presence: PresenceReason, _ now: Instant) {
        guard var link = links.remove(id) else { return }
        effects.counters.linksForgotten += 1
        for index in link.sessions.indices { _ = link.removeSession(index, &effects) }
        release(id)
        handshakes.removeAll { $0 == link.personID }
        let isReplaced = failure == .silence && links.hasLink(to: link.personID)
        for message in link.sender.unfinished {
            tell(outbox.failed(message, to: link.personID, over: id, isReplaced ? .replaced : failure))
        }
        reportUnreachable(link)
        reportGone(link, presence, now)
        let hasEpoch = epochs[link.chat]?.forget(link.key) ?? true
        linkEnded(link, now)
        if !hasEpoch { renewRun(in: link.chat, now) }
    }

    /// Frees the link's part of the text pools and of the record rates.
    private mutating func release(_ id: LinkID) {
        pools.remove(id)
        texts.forget(id)
        pacer.remove(id)
    }

    /// Ends all links of a chat that has used up its epochs, and gives the chat a new run. The effect is as if the node
    /// left and joined the chat (L-60).
    private mutating func renewRun(in chat: ChatID, _ now: Instant) {
        for id in links.ids(in: chat) where links.contains(id) {
            sayBye(id, .left, .lostState, .replaced, rest: nil, now)
        }
        handshakes.removeAll { $0.chat == chat }
        epochs[chat] = Epochs(run: effects.number())
        for person in openings.sortedIDs where person.chat == chat { hasNews(of: person, now) }
    }

    // MARK: Time

    mutating func advance(link id: LinkID, _ now: Instant) {
        guard let link = links.find(id) else { return }
        // The timer may be late. The link must not announce typing that should have ended by now.
        if let chat = chats.find(link.chat), chat.announcer.nextDeadline.map({ $0 <= now }) ?? false {
            for emission in chats[link.chat].announcer.advance(now) { announce(emission, in: link.chat, now) }
        }
        if link.isSnapshot(now) { return forget(id, .lostState, .replaced, now) }
        advanceSessions(of: id, now)
        advanceLiveness(of: id, now)
        guard links.contains(id) else { return }
        links[id].advanceReceiver(&pools, surroundings, now: now)
        if links[id].isDown { return advanceDown(id, now) }
        if links[id].status.advance(now) == .ended {
            effects.counters.staleClears += 1
            report(id, now)
        }
        if surroundings.isBehind { links[id].liveness.putOffNameDeadline(now) }
        if !links[id].isNamed, links[id].liveness.nameDeadline <= now {
            return sayBye(id, .quit, .silence, .silence, rest: Limits.shortRest, now)
        }
        if links[id].hints.advance(now), !links[id].liveness.isSuspect { ping(id, .everywhere, now) }
        for message in links[id].sender.advance(now) {
            tell(outbox.failed(message, to: links[id].personID, over: id, .stalled))
        }
        if let due = links[id].nextRekey, due <= now { rekey(id, isEverywhere: links[id].liveness.isStale, now) }
        guard links[id].nextHeartbeat <= now else { return }
        sendHeartbeat(id, now)
        links[id].nextHeartbeat = nextHeartbeat(of: id, now)
    }

    /// Sends the copies of the "unheard" heartbeat that are due (L-44).
    private mutating func advanceDown(_ id: LinkID, _ now: Instant) {
        guard let first = links[id].unheardCopies.first, first <= now else { return }
        links[id].unheardCopies.removeAll { $0 <= now }
        sendHeartbeat(id, now)
    }

    /// Erases expired sessions, and repeats the pings on new ones (L-38, L-74, L-75).
    private mutating func advanceSessions(of id: LinkID, _ now: Instant) {
        let sending = links[id].sessions.sending?.localIndex
        for session in links[id].sessions.all where session.expiry(isSending: session.localIndex == sending) <= now {
            _ = links[id].removeSession(session.localIndex, &effects)
            links.own(session.localIndex, nil)
        }
        if links[id].sessions.sending?.localIndex != sending {
            planRekey(id, now)
            links[id].handOverWill(surroundings, &effects)
        }
        for session in links[id].sessions.all {
            guard let due = session.nextPing, due <= now else { continue }
            if links[id].isDown || !session.isComplete, now - session.joinedAt < Limits.joinPingPeriod {
                pingJoined(session.localIndex, of: id, now)
            } else {
                links[id].withSession(session.localIndex) { $0.stopPings() }
            }
        }
        if links[id].sessions.isEmpty, !links[id].isDown { goDown(id, now) }
    }

    private mutating func advanceLiveness(of id: LinkID, _ now: Instant) {
        guard links.contains(id) else { return }
        switch links[id].liveness.advance(now, isBehind: surroundings.isBehind) {
        case .none: return
        case .ping(let reach): pingSuspect(id, reach, now)
        case .down: goDown(id, now)
        case .forget: forget(id, .silence, .silence, now)
        }
    }

    // MARK: Lateness

    /// Handles a timer of this node that came more than 500 ms late (L-30, L-42, L-89).
    mutating func fallBehind(sinceLast: Duration, _ now: Instant) {
        effects.counters.lateTimers += 1
        let isStop = sinceLast > Limits.stop && !surroundings.isBehind
        surroundings.activity.fallBehind()
        for id in links.sortedIDs {
            links[id].overslept(now)
            guard !links[id].isDown else { continue }
            // The node must not seal on an expired session.
            advanceSessions(of: id, now)
            guard isStop, links.find(id)?.isDown == false else { continue }
            links[id].liveness.stoodStill()
            rekey(id, isEverywhere: true, now)
        }
        if isStop { for person in openings.sortedIDs { hasNews(of: person, now) } }
        finish()
    }

    /// Ends catching up. From now on each datagram counts as new, and a spent round of pings gets one more ping (L-89).
    mutating func caughtUp(_ now: Instant) {
        for id in links.sortedIDs where links[id].liveness.isSpent { links[id].liveness.caughtUp(now) }
    }

    // MARK: Reports

    /// Reports a link's changes after a datagram or a deadline: presence, then typing (T-29).
    mutating func report(_ id: LinkID, _ now: Instant) {
        guard links[id].takeReport() else { return }
        let person = links[id].personID
        // The whole link as an argument would be copied.
        let isTyping = links[id].isShown && links[id].status.isTyping
        let isTypingNews = roster.update(id, of: person, isTyping: isTyping, now: now)
        // A link that goes down or comes up reports that itself, with its reason (L-103).
        if links[id].isNamed, !links[id].isDown {
            roster.tellPresence(of: person, .silence, links, &effects, now: now)
        }
        if isTypingNews { roster.tellTyping(of: person.key, in: person.chat, links, &effects, now: now) }
    }

    /// Reports a link that ended or went down: typing, then presence (T-29).
    mutating func reportGone(_ link: Link, _ reason: PresenceReason, _ now: Instant) {
        if roster.remove(link.id, of: link.personID) {
            roster.tellTyping(of: link.key, in: link.chat, links, &effects, now: now)
        }
        if link.isNamed { roster.tellPresence(of: link.personID, reason, links, &effects, now: now) }
    }

    /// Reports the outcome of a message for a person (M-17).
    mutating func tell(_ outcome: Outbox<LinkID, PersonID>.Outcome?) {
        guard let outcome else { return }
        texts.finished(outcome.message, to: outcome.person)
        let (chat, key) = (outcome.person.chat, outcome.person.key)
        if let failure = outcome.failure {
            effects.counters.messagesFailed += 1
            effects.tell(.failed(message: outcome.message, chat, key, failure))
        } else {
            effects.counters.messagesDelivered += 1
            effects.tell(.delivered(message: outcome.message, chat, key))
        }
    }
}

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
        guard let addresses else { return effects.send(bytes, to: links[id].address, kind) }
        for address in addresses { effects.send(bytes, to: address, kind) }
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
        if links.inspect(id, { $0.sender.wantsToSend && !$0.liveness.isStale }) == true { pacer.request(id) }
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

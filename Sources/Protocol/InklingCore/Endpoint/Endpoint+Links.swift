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
        if !links[id].isDown { directory.cover(links[id], at: [session.address]) }
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
        directory.cover(link, at: [link.address] + link.sessions.all.map(\.address))
        initiations.answered(from: link.address, &effects)
        remember(link)
        sendHeartbeat(id, now)
        if link.isNamed { reportReachable(link) }
        cameUp(link, now)
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
        wentDown(link, now)
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
        wasForgotten(link, now)
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
        for person in openings.sortedIDs where person.chat == chat { restartOpening(with: person, now) }
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
        if let due = links[id].nextRekey, due <= now { rekey(id, isEverywhere: false, now) }
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
        for id in links.sortedIDs where !links[id].isDown {
            links[id].overslept(now)
            // The node must not seal on an expired session.
            advanceSessions(of: id, now)
            guard isStop, links.find(id)?.isDown == false else { continue }
            links[id].liveness.stoodStill()
            rekey(id, isEverywhere: true, now)
        }
        if isStop, !surroundings.isSuspended { restartOpenings(now) }
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
        let isTypingNews = roster.update(links[id], now: now)
        if links[id].isNamed { roster.tellPresence(of: person, .silence, links, &effects, now: now) }
        if isTypingNews { roster.tellTyping(of: person.key, in: person.chat, links, &effects, now: now) }
    }

    /// Reports a link that ended or went down: typing, then presence (T-29).
    mutating func reportGone(_ link: Link, _ reason: PresenceReason, _ now: Instant) {
        if roster.remove(link) {
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

import InklingWire

/// Links: how they are made, which session sends, how they end, and what is told of people.
extension Endpoint {
    // MARK: Making

    /// The link that a hello belongs to, made if it is new; nil when the node has no room for another.
    mutating func link(for hello: Hello, of session: Session, _ now: Instant) -> LinkID? {
        if case .linked(let id) = session.phase { return id }
        let others = links(of: session.personID)
        if let link = others.first(where: { $0.run == hello.run }) { return link.id }
        guard links.count < Limits.linksPerNode else {
            drop(.linkLimit)
            return nil
        }
        for other in others { suspect(other.id, now) }
        lastLink += 1
        let id = LinkID(value: lastLink)
        var stream = freshStream()
        if case .greeting(let greeting) = session.phase, greeting.presumedLink == nil { stream = greeting.stream }
        var link = Link(
            id: id, chat: session.chat, key: session.key, run: hello.run, madeAt: now, name: hello.name,
            address: session.address, sendingSession: session.localIndex,
            typing: ReceivedTyping(now: now), lastEvidence: now,
            nextHeartbeat: randomInstant(after: now, idleInterval, percent: Limits.idleJitterPercent),
            outgoing: SendStream(id: stream),
            datagrams: TokenBucket(
                perSecond: Limits.datagramsPerSecondPerLink, burst: Limits.datagramBurstPerLink, now: now),
            records: TokenBucket(
                perSecond: Limits.recordsPerSecondPerLink, burst: Limits.recordBurstPerLink, now: now))
        if status(in: session.chat).isTyping { link.nextHeartbeat = now + Limits.typingHeartbeatInterval }
        link.rememberStream()
        add(link)
        presume(id, for: session)
        counters.linksMade += 1
        return id
    }

    /// What other handshakes with that peer are still to bring most likely belongs to the new link as well: their hellos
    /// name its stream from now on.
    private mutating func presume(_ id: LinkID, for made: Session) {
        for session in sessions(of: made.personID) where session.localIndex != made.localIndex {
            guard case .greeting(let greeting) = session.phase, greeting.presumedLink == nil else { continue }
            links[id]?.rememberStream(greeting.stream)
            sessions[session.localIndex]?.phase = .greeting(
                .init(expires: greeting.expires, presumedLink: id, stream: greeting.stream))
        }
    }

    /// A new run of a key makes that key's other links answer for themselves.
    private mutating func suspect(_ id: LinkID, _ now: Instant) {
        guard case .alive? = links[id]?.liveness else { return }
        links[id]?.liveness = .suspect(pings: 0, next: now)
    }

    /// A session turned out to belong to a link, by its peer's first hello on it.
    mutating func attach(_ index: UInt32, to id: LinkID, _ hello: Hello, _ now: Instant) {
        guard let session = sessions[index], let link = links[id] else { return }
        if case .greeting(let greeting) = session.phase { links[id]?.rememberStream(greeting.stream) }
        sessions[index]?.phase = .linked(id)
        if link.sendingSession != index {
            if let sending = sessions[link.sendingSession], !isPreferred(session, to: sending, hello, link, now) {
                sessions[index]?.order = min(session.order, sending.order - 1)
                sessions[index]?.supersededAt = now
                sessions[index]?.hello.end()
                links[id]?.olderSessions.insert(index, at: 0)
            } else {
                if let sending = sessions[link.sendingSession], session.order < sending.order {
                    lastOrder += 2
                    sessions[index]?.order = lastOrder
                }
                sendOn(index, of: id, now)
            }
            while let older = links[id]?.olderSessions, older.count > Limits.supersededSessions,
                let oldest = older.first
            {
                retire(oldest, of: id)
            }
        }
        if link.sendingSession == index { keepWill(of: index) }
        bindInstances(to: id, session: index, openedBy: session.instance, address: session.address)
    }

    /// Whether a session that joins a link sends from now on, instead of the one that does (L-21). Both sides have to come
    /// to the same answer, whichever of two crossing handshakes each of them saw complete first.
    private func isPreferred(
        _ new: Session, to sending: Session, _ hello: Hello, _ link: Link, _ now: Instant
    ) -> Bool {
        let isLater = (new.createdAt, new.order) > (sending.createdAt, sending.order)
        let gap = isLater ? new.createdAt - sending.createdAt : sending.createdAt - new.createdAt
        guard new.role != sending.role, gap < Limits.crossingPeriod else { return isLater }
        // The peer that held our stream knows none of this link: it has lost what the other session belonged to.
        let isForeign = !link.ownStreams.contains(hello.heldStream)
        if isForeign, link.outgoing.isHeld, gap >= link.announcedInterval { return isLater }
        // The other one is in use, and this hello was on its way for long.
        let isLate = now - new.createdAt >= link.announcedInterval
        let isInUse = link.outgoing.isHeld && now - sending.lastReceived < link.announcedInterval
        if !isLater, isLate, isInUse { return false }
        return (new.role == .initiator) == (ownKey < link.key)
    }

    /// A session of a link sends from now on, and the one that did only receives.
    mutating func sendOn(_ index: UInt32, of id: LinkID, _ now: Instant) {
        guard let session = sessions[index], let before = links[id]?.sendingSession else { return }
        sessions[before]?.supersededAt = now
        sessions[before]?.hello.end()
        dropWill(of: before)
        sessions[index]?.supersededAt = nil
        if sessions[before] != nil { links[id]?.olderSessions.append(before) }
        links[id]?.sendingSession = index
        links[id]?.address = session.address
        links[id]?.outgoing.awaitHello()
        keepWill(of: index)
    }

    /// Another session than the one that ends takes its place: the one heard of last.
    private mutating func sendOnLastHeard(of id: LinkID, _ now: Instant) {
        let others = (links[id]?.olderSessions ?? []).compactMap { sessions[$0] }.filter { $0.lastHelloCounter != nil }
        let last = others.max { ($0.lastReceived, $0.order) < ($1.lastReceived, $1.order) }
        if let last { takeUp(last.localIndex, of: id, now) }
    }

    /// An older session of a link counts as the newest from now on, and sends; hellos begin there.
    mutating func takeUp(_ index: UInt32, of id: LinkID, _ now: Instant) {
        lastOrder += 2
        sessions[index]?.order = lastOrder
        links[id]?.olderSessions.removeAll { $0 == index }
        sendOn(index, of: id, now)
        sessions[index]?.hello.begin(now)
    }

    private mutating func bindInstances(
        to id: LinkID, session: UInt32, openedBy opener: InstanceID?, address: Address
    ) {
        guard let link = links[id] else { return }
        for candidate in instances(of: link.personID) {
            let isRenewal = candidate.source == .renewal(id) && link.sendingSession == session
            guard
                candidate.id == opener || isRenewal
                    || (candidate.link == nil && candidate.addresses.contains(address))
            else { continue }
            switch candidate.source {
            case .renewal, .lastKnown:
                removeInstance(candidate.id)
            case .discovered, .byHand:
                cancelPending(candidate.id)
                instances[candidate.id]?.opening = .idle
                instances[candidate.id]?.attempts = 0
                instances[candidate.id]?.firstAttempt = nil
                instances[candidate.id]?.link = id
            }
        }
    }

    // MARK: Ending

    mutating func removeSession(_ index: UInt32) {
        dropWill(of: index)
        if case .unconfirmed(let unconfirmed)? = sessions[index]?.phase {
            answeredInitiations[unconfirmed.initiation] = nil
        }
        if let session = sessions[index] { forget(session) }
    }

    /// An older session stops to receive.
    mutating func retire(_ index: UInt32, of id: LinkID) {
        removeSession(index)
        links[id]?.olderSessions.removeAll { $0 == index }
    }

    /// A session is two hours old: without a newer one the link cannot go on. One whose new handshake is under way,
    /// because we slept, stays until silence ends it (L-42).
    mutating func outlived(_ index: UInt32, of id: LinkID, _ now: Instant) {
        if let link = links[id], link.sendingSession == index {
            if instanceID(.renewal(id), chat: link.chat) != nil {
                removeSession(index)
            } else {
                removeLink(id, .silence, .silence, now)
            }
        } else {
            retire(index, of: id)
        }
    }

    /// The peer said bye on a session, or its last will did.
    ///
    /// - Parameter heardBefore: When something came on that session before this.
    mutating func endSession(_ index: UInt32, _ reason: ByeReason, heardBefore: Instant, _ now: Instant) {
        guard let session = sessions[index] else { return }
        guard case .linked(let id) = session.phase, links[id] != nil else {
            removeSession(index)
            if reason == .unheard {
                if let opener = session.instance { attemptFailed(opener, now) }
                return
            }
            for instance in instances(of: session.personID)
            where instance.link == nil
                && (instance.id == session.instance || instance.addresses.contains(session.address))
            {
                cancelPending(instance.id)
                rest(instance, now)
            }
            return
        }
        let hasNewer = links[id]?.sessions.contains { other in
            guard other != index, let other = sessions[other], other.lastHelloCounter != nil else { return false }
            return other.order > session.order || other.lastReceived > heardBefore
        }
        if hasNewer == true {
            // A late farewell of a session that the peer has gone on from.
            if links[id]?.sendingSession == index { sendOnLastHeard(of: id, now) }
            retire(index, of: id)
            return
        }
        if reason == .unheard {
            isUnheard(by: id, now)
            return
        }
        let isLastWill = reason == .lastWill
        removeLink(id, isLastWill ? .will : .bye, isLastWill ? .will : .bye, now)
    }

    /// The peer hears nothing of us, and has given the link up. If that is so by now, a new handshake puts it right;
    /// else nothing that we say arrives, and the link is down on this side too (L-45).
    private mutating func isUnheard(by id: LinkID, _ now: Instant) {
        guard let link = links[id] else { return }
        if case .alive = link.liveness { links[id]?.liveness = .suspect(pings: Limits.pingsSpentUnheard, next: now) }
        renew(id, at: turn(with: link.key, now))
    }

    /// Ends a link: its sessions, its messages, and what is shown of it.
    ///
    /// - Parameters:
    ///   - failure: What is said of messages that were not acknowledged.
    ///   - reason: What is said of the presence, if nothing else of that person is left.
    mutating func removeLink(
        _ id: LinkID, _ failure: FailureReason, _ reason: PresenceReason, _ now: Instant
    ) {
        guard let link = links[id] else { return }
        for index in link.sessions { removeSession(index) }
        for session in sessions(of: link.personID) {
            guard case .greeting(let greeting) = session.phase, greeting.presumedLink == id else { continue }
            let fresh = Session.Greeting(expires: greeting.expires, presumedLink: nil, stream: freshStream())
            sessions[session.localIndex]?.phase = .greeting(fresh)
        }
        forget(link)
        let isReplaced = failure == .silence && hasLink(to: link.personID)
        for message in link.outgoing.unfinished { failed(message, over: link, isReplaced ? .replaced : failure) }
        tellTyping(link.chat, of: id)
        tellPresence(link.personID, reason)
        reopen(after: link, reason, now)
    }

    /// What becomes of the candidate addresses of a link that ended.
    private mutating func reopen(after link: Link, _ reason: PresenceReason, _ now: Instant) {
        let bound = instances(coveredBy: link)
        let isLost = reason == .silence
        for instance in bound {
            instances[instance.id]?.link = nil
            cancelPending(instance.id)
            if case .renewal = instance.source {
                removeInstance(instance.id)
            } else if !instance.isListed {
                removeInstance(instance.id)
            } else if isLost {
                startOpening(instance.id, now)
            } else if reason == .bye || reason == .will {
                rest(instance, now)
            } else {
                instances[instance.id]?.opening = .idle
            }
        }
        guard isLost, !bound.contains(where: { $0.isListed && $0.addresses.contains(link.address) }) else { return }
        guard !hasLink(to: link.personID), now - link.madeAt >= Limits.memorableLinkAge else { return }
        remember(link, now)
    }

    /// After a farewell the peer is left alone for a while; its own initiation brings it back at once.
    private mutating func rest(_ instance: Instance, _ now: Instant) {
        if instance.isByHand {
            instances[instance.id]?.attempts = 1
            instances[instance.id]?.firstAttempt = nil
            instances[instance.id]?.opening = .resting(until: now + Limits.openingPauseAfterByeByHand)
        } else {
            instances[instance.id]?.firstAttempt = now + (.zero - Limits.fastOpeningPeriod)
            instances[instance.id]?.opening = .resting(until: now + Limits.openingPauseAfterBye)
        }
    }

    /// Keeps the address where a peer was, and tries it for as long as attempts are fast.
    mutating func remember(_ link: Link, _ now: Instant) {
        let remembered = instances.sortedIDs.filter {
            if case .lastKnown? = instances[$0]?.source { true } else { false }
        }
        if remembered.count >= Limits.rememberedAddresses, let oldest = remembered.first { removeInstance(oldest) }
        let id = addInstance(
            .lastKnown(expires: now + Limits.fastOpeningPeriod), chat: link.chat, key: link.key,
            addresses: [link.address])
        startOpening(id, now)
    }

    // MARK: What is told

    /// Tells who types in a chat, if that changed: the latest start first, then by name and user ID.
    ///
    /// - Parameter changed: A link that began or ended typing, or is no more.
    mutating func tellTyping(_ chat: ChatTag, of changed: LinkID? = nil) {
        if let changed {
            if links[changed]?.typing.since == nil {
                chats[chat]?.typingLinks.remove(changed)
            } else {
                chats[chat]?.typingLinks.insert(changed)
            }
        }
        guard let state = chats[chat] else { return }
        var starts: [PublicKey: Instant] = [:]
        for link in state.typingLinks.compactMap({ links[$0] }) {
            guard let since = link.typing.since else { continue }
            starts[link.key] = state.typingSince[link.key] ?? min(starts[link.key] ?? since, since)
        }
        chats[chat]?.typingSince = starts
        let typing = starts.map { (since: $0.value, person: Person(key: $0.key, name: name(of: $0.key, in: chat))) }
            .sorted { left, right in
                if left.since != right.since { return left.since > right.since }
                if left.person.name != right.person.name { return left.person.name < right.person.name }
                return left.person.key.userID < right.person.key.userID
            }
            .map(\.person)
        guard typing != state.shownTyping else { return }
        chats[chat]?.shownTyping = typing
        outputs.append(.typing(chat, typing))
    }

    /// The name of a person: that of the link made last.
    func name(of key: PublicKey, in chat: ChatTag) -> String {
        let person = PersonID(chat: chat, key: key)
        let newest = indices.linksOfPerson[person].last.flatMap { links[$0] }
        return newest?.name ?? people[person]?.name ?? ""
    }

    /// Tells a person's presence, if it or the name changed.
    ///
    /// - Parameter reason: Why nothing is left of the person, if nothing is.
    mutating func tellPresence(_ id: PersonID, _ reason: PresenceReason) {
        let own = links(of: id)
        let presence: Presence =
            own.isEmpty ? .offline : own.contains { !$0.isAway } ? .online : .away
        let name = name(of: id.key, in: id.chat)
        let before = people[id]
        guard before?.presence != presence || before?.name != name else { return }
        let person = Person(key: id.key, name: name)
        let why: PresenceReason
        switch (before?.presence ?? .offline, presence) {
        case (_, .offline): why = reason
        case (.offline, .online), (.offline, .away), (.online, .online): why = .hello
        case (.online, .away), (.away, .away): why = .away
        case (.away, .online): why = .back
        }
        people[id] = presence == .offline ? nil : (presence, name)
        guard before != nil || presence != .offline else { return }
        outputs.append(.presence(id.chat, person, presence, why))
        tellTyping(id.chat)
    }

    // MARK: Messages

    mutating func delivered(_ message: UInt64, over id: LinkID) {
        guard let link = links[id], outgoingMessages[message]?.waiting[link.key]?.contains(id) == true else { return }
        outgoingMessages[message]?.waiting[link.key] = nil
        if outgoingMessages[message]?.waiting.isEmpty == true { outgoingMessages[message] = nil }
        counters.messagesDelivered += 1
        outputs.append(.delivered(message: message, link.chat, link.key))
    }

    mutating func failed(_ message: UInt64, over id: LinkID, _ reason: FailureReason) {
        if let link = links[id] { failed(message, over: link, reason) }
    }

    /// A message has failed with a person when no link is left over which it could be acknowledged.
    private mutating func failed(_ message: UInt64, over link: Link, _ reason: FailureReason) {
        guard outgoingMessages[message]?.waiting[link.key]?.remove(link.id) != nil,
            outgoingMessages[message]?.waiting[link.key]?.isEmpty == true
        else { return }
        outgoingMessages[message]?.waiting[link.key] = nil
        if outgoingMessages[message]?.waiting.isEmpty == true { outgoingMessages[message] = nil }
        counters.messagesFailed += 1
        outputs.append(.failed(message: message, link.chat, link.key, reason))
    }
}

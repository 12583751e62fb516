import InklingWire

/// Which session of a link sends, and how sessions join and end.
extension Link {
    // MARK: Joining

    /// A session turned out to belong to this link, by its peer's first hello on it (L-21).
    ///
    /// - Parameter stream: What our hellos on it named as our stream.
    /// - Returns: The session that had to go, if there were too many.
    mutating func join(
        _ session: Session, stream: UInt32, _ hello: Hello, _ surroundings: Surroundings, _ effects: inout Effects,
        now: Instant
    ) -> Session? {
        outgoing.remember(stream)
        var session = session
        if let sending = sessions.sending,
            !isPreferred(session, to: sending, hello, ownKey: surroundings.ownKey, now)
        {
            session.order = session.order.givingWay(to: sending.order)
            session.giveWay(now: now)
            sessions.join(older: session)
        } else {
            if let sending = sessions.sending, session.order < sending.order { session.order = effects.nextOrder() }
            session.takeOver()
            let before = sessions.join(sending: session)
            handOver(from: before, surroundings, &effects, now: now)
        }
        guard var surplus = sessions.removeSurplus() else { return nil }
        surplus.takeBackWill(&effects)
        return surplus
    }

    /// Whether a session that joins a link sends from now on, instead of the one that does (L-21). Both sides have to
    /// come to the same answer, whichever of two crossing handshakes each of them saw complete first.
    private func isPreferred(
        _ new: Session, to sending: Session, _ hello: Hello, ownKey: PublicKey, _ now: Instant
    ) -> Bool {
        let isLater = (new.createdAt, new.order) > (sending.createdAt, sending.order)
        let gap = isLater ? new.createdAt - sending.createdAt : sending.createdAt - new.createdAt
        guard new.role != sending.role, gap < Limits.crossingPeriod else { return isLater }
        let interval = liveness.announcedInterval
        // The peer that held our stream knows none of this link: it has lost what the other session belonged to.
        let isForeign = !outgoing.hasNamed(hello.heldStream)
        if isForeign, outgoing.isHeld, gap >= interval { return isLater }
        // The other session is in use, and this hello was delayed for long.
        let isLate = now - new.createdAt >= interval
        let isInUse = outgoing.isHeld && now - sending.lastReceived < interval
        if !isLater, isLate, isInUse { return false }
        return (new.role == .initiator) == (ownKey < key)
    }

    /// Another session sends from now on.
    ///
    /// - Parameter before: The place of the one that did.
    private mutating func handOver(
        from before: SessionSet.Place?, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        if let before {
            sessions[before].giveWay(now: now)
            sessions[before].takeBackWill(&effects)
        }
        move(to: sessions[.sending].address, surroundings)
        outgoing.awaitHello()
        handOverWill(surroundings, &effects)
    }

    /// The last will of the sending session goes to its keeper (L-33).
    mutating func handOverWill(_ surroundings: Surroundings, _ effects: inout Effects) {
        guard surroundings.keepsWills, sessions.sending != nil else { return }
        sessions[.sending].handOverWill(&effects)
    }

    // MARK: Agreeing

    /// A status came on an older session.
    mutating func settle(
        on index: UInt32, _ own: Heartbeat, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        guard let place = sessions.place(of: index) else { return }
        settle(place, own, surroundings, &effects, now: now)
    }

    /// A hello or a status came on an older session: the two sides do not agree on which session sends. What the smaller
    /// key says holds for both, and it says so again (L-43).
    ///
    /// - Returns: Whether that session sends from now on.
    @discardableResult
    mutating func settle(
        _ place: SessionSet.Place, _ own: Heartbeat, _ surroundings: Surroundings, _ effects: inout Effects,
        now: Instant
    ) -> Bool {
        guard !surroundings.isBehind, place != .sending else { return false }
        guard surroundings.ownKey > key else {
            if sessions.sending?.hello.mayRepeat(now) == true {
                repeatHello(at: .sending, own, surroundings, &effects, now: now)
            }
            return false
        }
        // A peer that sends on the other session makes itself heard there; what was only late changes nothing.
        if let sending = sessions.sending {
            let patience =
                sending.lastHelloCounter == nil
                ? Limits.openingDelay : Liveness.silence(of: liveness.announcedInterval)
            guard now - sending.lastReceived >= patience else { return false }
        }
        takeUp(place, surroundings, &effects, now: now)
        return true
    }

    /// An older session counts as the newest from now on, and sends; hellos begin there.
    private mutating func takeUp(
        _ place: SessionSet.Place, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        sessions[place].order = effects.nextOrder()
        sessions[place].takeOver()
        let before = sessions.promote(place)
        handOver(from: before, surroundings, &effects, now: now)
        sessions[.sending].hello.begin(now)
    }

    // MARK: Recovering

    /// The peer may have given this link up while we slept: records wait until a hello shows that it holds the stream, and
    /// ours ask for that hello where the link still is (M-22).
    mutating func awaitRecovery(_ now: Instant) {
        outgoing.awaitHello()
        if sessions.sending != nil { sessions[.sending].hello.begin(now) }
    }

    // MARK: Ending

    /// What a farewell of the peer's on one of the sessions ends.
    enum Ending: Equatable {
        /// That session alone: the peer has gone on from it.
        case session
        /// Nothing yet, but the peer hears nothing of us: a new handshake has to begin (L-45).
        case unheard
        case link
    }

    /// The peer said bye on a session, or its last will did (L-34).
    ///
    /// - Parameter heardBefore: When something came on that session before this.
    mutating func end(
        on place: SessionSet.Place, _ reason: ByeReason, heardBefore: Instant, _ surroundings: Surroundings,
        _ effects: inout Effects, now: Instant
    ) -> Ending {
        guard !sessions.hasGoneOn(from: place, heardBefore: heardBefore) else {
            // A late farewell of a session that the peer has gone on from.
            let index = sessions[place].localIndex
            if place == .sending, let last = sessions.lastHeardOlder {
                takeUp(last, surroundings, &effects, now: now)
            }
            removeSession(index, &effects)
            return .session
        }
        guard reason == .unheard else { return .link }
        liveness.unheard(now)
        return .unheard
    }

    /// A session of the link is over.
    mutating func removeSession(_ index: UInt32, _ effects: inout Effects) {
        guard var session = sessions.remove(index) else { return }
        session.takeBackWill(&effects)
    }

    /// All sessions are over, and so is the link.
    mutating func removeSessions(_ effects: inout Effects) {
        for index in sessions.indices { removeSession(index, &effects) }
    }
}

import InklingWire

/// Links: what sealed datagrams and deadlines change of them, how they are made, and how they end.
extension Endpoint {
    // MARK: Sealed datagrams

    mutating func receive(_ sealed: SealedDatagram, from address: Address, _ now: Instant) {
        let index = sealed.receiverIndex
        guard let id = links.link(ofSession: index) else {
            switch handshakes.place(of: index) {
            case .unconfirmed(let session): return receive(sealed, on: session, from: address, now)
            case .greeting(let session): return receive(sealed, on: session, from: address, now)
            case nil: return effects.drop(.unknownIndex)
            }
        }
        let plaintext: [UInt8]
        switch links[id].unseal(sealed) {
        case .dropped(let reason): return effects.drop(reason)
        case .plaintext(let content): plaintext = content
        }
        let reception = links[id].receive(
            plaintext, of: sealed, from: address, surroundings, directory, &effects, now: now)
        switch reception {
        case .dropped(let reason): effects.drop(reason)
        case .lastWill(let heardBefore): endSession(index, of: id, .lastWill, heardBefore: heardBefore, now)
        case .opened(let opened): apply(opened, on: index, of: id, from: address, isFirst: false, now)
        }
    }

    /// The frames of a datagram change the link of its session: the hello first, then the status, then the others in
    /// their order, the bye last.
    ///
    /// - Parameter isFirst: Whether its hello has just bound the session to the link.
    mutating func apply(
        _ opened: Session.Opened, on index: UInt32, of id: LinkID, from address: Address, isFirst: Bool, _ now: Instant
    ) {
        if isFirst {
            links[id].noteSource(address, of: opened, surroundings, directory, &effects, now: now)
            guard links[id].takes(opened, surroundings, now: now) else { return effects.drop(.peerLimit) }
        } else if let hello = opened.hello {
            let own = heartbeat(in: links[id].chat)
            links[id].receive(hello, opened.counter, on: index, own, surroundings, &outbox, &effects, now: now)
        }
        let change = links[id].receiveStatus(of: opened, on: index, surroundings, &effects, now: now)
        if change.isUnsettled {
            let own = heartbeat(in: links[id].chat)
            links[id].settle(on: index, own, surroundings, &effects, now: now)
        }
        if change.isPresenceNew { roster.tellPresence(of: links[id].personID, .hello, links, &effects, now: now) }
        tell(change.typing, of: id, now)
        if opened.hasMore {
            let own = heartbeat(in: links[id].chat)
            links[id].receiveRest(
                of: opened, from: address, own, surroundings, directory, &outbox, &inbox, &effects, now: now)
        }
        if let reason = opened.bye { endSession(index, of: id, reason, heardBefore: opened.heardBefore, now) }
    }

    /// The peer of a link began to type, or ended it.
    private mutating func tell(_ change: ReceivedTyping.Change, of id: LinkID, _ now: Instant) {
        switch change {
        case .started: roster.began(links[id])
        case .ended: roster.ended(links[id])
        case .none, .limited: return
        }
        roster.tellTyping(of: links[id].key, in: links[id].chat, links, &effects, now: now)
    }

    // MARK: Making

    /// What a session's first hello leads to.
    enum Binding {
        case bound(LinkID)
        /// It is one of too many sessions of its link, and is already over.
        case surplus
        /// The node has no room for another link.
        case noRoom
    }

    /// A session's first hello binds it to the link of its run, and makes that link if there is none.
    mutating func bind(_ greeting: GreetingSession, by hello: Hello, _ now: Instant) -> Binding {
        let others = links.links(of: greeting.person)
        let index = greeting.session.localIndex
        let id: LinkID
        var surplus: Session?
        if let link = others.first(where: { $0.run == hello.run }) {
            id = link.id
            handshakes.remove(index)
            surplus = links[id].join(
                greeting.session, stream: greeting.stream, hello, surroundings, &effects, now: now)
            links.own(index, id)
            if let surplus { links.own(surplus.localIndex, nil) }
        } else {
            // A new run of a key makes that key's other links answer for themselves (L-31), also those that leave it
            // no room (L-53): once, however often that hello comes.
            if !greeting.isRefused {
                for other in others { links[other.id].liveness.doubt(now) }
            }
            switch room(for: greeting.person, at: greeting.session.address) {
            case .none: return .noRoom
            case .free: id = make(greeting, hello, now)
            case .inPlace(let former): id = make(giveWay(former, to: greeting, now), hello, now)
            }
        }
        let isSending = links[id].sessions.isSending(index)
        directory.bind(
            links[id], opener: greeting.session.opener, at: greeting.session.address, isSending: isSending)
        guard surplus?.localIndex != index else { return .surplus }
        let own = heartbeat(in: greeting.person.chat)
        links[id].apply(hello, on: index, isSettled: false, own, surroundings, &outbox, &effects, now: now)
        return .bound(id)
    }

    /// Whether another link with a person would be one too many (L-39, L-52, L-53).
    func room(for person: PersonID, at address: Address) -> LinkTable.Room {
        links.room(for: person, at: address, chatCount: chats.count, surroundings)
    }

    /// A link ends so that another can be made (L-52).
    ///
    /// - Returns: The session that awaits its link, which no longer counts as one of the link that ended.
    private mutating func giveWay(_ id: LinkID, to greeting: GreetingSession, _ now: Instant) -> GreetingSession {
        var greeting = greeting
        handshakes.remove(greeting.session.localIndex)
        if greeting.presumedLink == id { greeting.loseLink(stream: effects.stream()) }
        sayBye(id, .quit, now)
        removeLink(id, .full, .full, now)
        return greeting
    }

    private mutating func make(_ greeting: GreetingSession, _ hello: Hello, _ now: Instant) -> LinkID {
        let id = links.nextID()
        let own = heartbeat(in: greeting.person.chat)
        let fresh = effects.stream()
        let idle = effects.instant(after: now, own.idleInterval, percent: Limits.idleJitterPercent)
        var link = Link(
            id: id, personID: greeting.person, hello: hello, session: greeting.session,
            stream: greeting.presumedLink == nil ? greeting.stream : fresh,
            nextHeartbeat: own.status.isTyping ? now + Limits.typingHeartbeatInterval : idle,
            isOwnUsers: surroundings.isOwnUsers(greeting.session.address), now: now)
        handshakes.remove(greeting.session.localIndex)
        for stream in handshakes.presume(id, of: greeting.person) { link.outgoing.remember(stream) }
        link.outgoing.remember(greeting.stream)
        link.handOverWill(surroundings, &effects)
        links.add(link)
        effects.counters.linksMade += 1
        return id
    }

    // MARK: Time

    mutating func advance(session index: UInt32, of id: LinkID, _ now: Instant) {
        guard let place = links[id].sessions.place(of: index) else { return }
        let session = links[id].sessions[place]
        if let retirement = session.retirement, retirement <= now {
            retire(index, of: id)
        } else if session.end <= now {
            outlived(index, of: id, now)
        } else if let next = session.hello.nextRepeat, next <= now {
            links[id].repeatHello(at: place, heartbeat(in: links[id].chat), surroundings, &effects, now: now)
        }
    }

    mutating func advance(link id: LinkID, _ now: Instant) {
        guard let chat = links.find(id)?.chat else { return }
        // This may come late: what is over by now must not be said again.
        advance(chat: chat, now)
        let expired = links[id].expireTyping(now)
        if expired == .ended { effects.counters.staleClears += 1 }
        tell(expired, of: id, now)
        let own = heartbeat(in: chat)
        switch links[id].advance(own, surroundings, directory, &outbox, &effects, now: now) {
        case .up(isRekeyDue: false): return
        case .up(isRekeyDue: true):
            if !directory.hasRekey(of: links[id]) { directory.rekey(links[id], at: now) }
        case .down:
            effects.counters.linksLostToSilence += 1
            sayBye(id, .unheard, now)
            removeLink(id, .silence, .silence, now)
        }
    }

    // MARK: Ending

    /// An older session stops receiving.
    private mutating func retire(_ index: UInt32, of id: LinkID) {
        links[id].removeSession(index, &effects)
        links.own(index, nil)
    }

    /// A session is two hours old: without a newer one the link cannot go on. One whose new handshake is under way,
    /// because we slept, stays until silence ends it (L-38, L-42).
    mutating func outlived(_ index: UInt32, of id: LinkID, _ now: Instant) {
        if links[id].sessions.isSending(index), !directory.hasRekey(of: links[id]) {
            removeLink(id, .silence, .silence, now)
        } else {
            retire(index, of: id)
        }
    }

    /// The peer said bye on a session of a link, or its last will did.
    private mutating func endSession(
        _ index: UInt32, of id: LinkID, _ reason: ByeReason, heardBefore: Instant, _ now: Instant
    ) {
        guard let place = links[id].sessions.place(of: index) else { return }
        switch links[id].end(on: place, reason, heardBefore: heardBefore, surroundings, &effects, now: now) {
        case .session: links.own(index, nil)
        case .unheard:
            links[id].outgoing.awaitHello()
            directory.rekey(links[id], at: surroundings.turn(with: links[id].key, now))
        case .link:
            let isLastWill = reason == .lastWill
            removeLink(id, isLastWill ? .will : .bye, isLastWill ? .will : .bye, now)
        }
    }

    /// Says bye on a link that is about to be removed, on all of its sessions: at once, and the copies 30 and 120 ms
    /// later. That nothing is heard is said only on the sending one (L-32, L-44).
    mutating func sayBye(_ id: LinkID, _ reason: ByeReason, _ now: Instant) {
        let address = links[id].address
        if links[id].sessions.sending != nil {
            farewells.say(reason, on: &links[id].sessions[.sending], to: address, &effects, now: now)
        }
        guard reason != .unheard else { return }
        var indices = links[id].sessions.older.map(\.localIndex)
        let greetings = handshakes.greetings(of: links[id].personID).filter { $0.presumedLink == id }
        indices += greetings.map(\.session.localIndex)
        for index in indices.sorted() {
            if let place = links[id].sessions.place(of: index) {
                farewells.say(reason, on: &links[id].sessions[place], to: address, &effects, now: now)
            } else if case .greeting(var greeting) = handshakes.place(of: index) {
                let there = greeting.session.address
                farewells.say(reason, on: &greeting.session, to: there, &effects, now: now)
                handshakes.update(greeting)
            }
        }
    }

    /// Ends a link: its sessions, its messages, and what is shown of it.
    ///
    /// - Parameters:
    ///   - failure: What is said of messages that were not acknowledged.
    ///   - reason: What is said of the presence, if nothing else of that person is left.
    mutating func removeLink(
        _ id: LinkID, _ failure: FailureReason, _ reason: PresenceReason, _ now: Instant
    ) {
        guard var link = links.remove(id) else { return }
        link.removeSessions(&effects)
        handshakes.loseLink(id, of: link.personID, &effects)
        let isReplaced = failure == .silence && links.hasLink(to: link.personID)
        link.outgoing.giveBackTurn(&outbox.pacer, isOver: true, now: now)
        for message in link.outgoing.unfinished {
            outbox.failed(message, to: link.personID, over: id, isReplaced ? .replaced : failure, &effects)
        }
        roster.ended(link)
        roster.tellTyping(of: link.key, in: link.chat, links, &effects, now: now)
        roster.tellPresence(of: link.personID, reason, links, &effects, now: now)
        directory.ended(link, reason, links, surroundings, now: now)
    }
}

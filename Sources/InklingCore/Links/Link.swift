import InklingWire

/// What this node shares with one run of a peer in one chat.
struct Link {
    let id: LinkID
    let personID: PersonID
    let run: UInt64
    let madeAt: Instant
    private(set) var status: PeerStatus
    /// Where the peer is: it has answered from there (L-24, L-51).
    private(set) var address: Address
    /// Whether a socket of the node's own user is at ``address`` (L-53).
    private(set) var isOwnUsers: Bool
    var addressCheck = AddressCheck()
    var sessions: SessionSet
    var liveness: Liveness
    var pings = PingClock()
    var outgoing: OutgoingRecords
    private var incoming = ReceiveStream()
    private var nextHeartbeat: Instant
    private var datagrams: TokenBucket
    private var lastProbe: Instant?
    private var changePings = ChangePings.none
    private var typedSinceMessage = false

    /// A link that a peer's first hello creates; its session sends.
    init(
        id: LinkID, personID: PersonID, hello: Hello, session: Session, stream: UInt32, nextHeartbeat: Instant,
        isOwnUsers: Bool = false, now: Instant
    ) {
        self.id = id
        self.personID = personID
        run = hello.run
        status = PeerStatus(name: hello.name, now: now)
        madeAt = now
        address = session.address
        self.isOwnUsers = isOwnUsers
        sessions = SessionSet(session)
        liveness = Liveness(now: now)
        outgoing = OutgoingRecords(stream: stream, now: now)
        self.nextHeartbeat = nextHeartbeat
        datagrams = TokenBucket(
            perSecond: Limits.datagramsPerSecondPerLink, burst: Limits.datagramBurstPerLink, now: now)
    }

    // MARK: Queries

    var chat: ChatTag { personID.chat }
    var key: PublicKey { personID.key }
    var person: Person { Person(key: key, name: status.name) }
    /// The smoothed round trip, if one was measured.
    var roundTrip: Duration? { pings.roundTrip ?? outgoing.roundTrip }

    var nextDeadline: Instant {
        let own = earliest(changePings.nextDeadline, or: min(liveness.nextDeadline, nextHeartbeat))
        let records = earliest(outgoing.nextDeadline, incoming.nextDeadline)
        return earliest(earliest(status.nextDeadline, records), or: own)
    }

    /// The room that its records have until their messages are delivered (M-20).
    var pendingTexts: Inbox.Pending { incoming.pending }

    /// The hello that its sessions would carry now.
    func hello(_ surroundings: Surroundings) -> Hello {
        Hello(
            run: surroundings.configuration.run, stream: outgoing.stream, heldStream: incoming.id,
            nextRecord: incoming.next, name: surroundings.name)
    }

    /// Follows the peer to another address.
    mutating func move(to address: Address, _ surroundings: Surroundings) {
        guard address != self.address else { return }
        self.address = address
        isOwnUsers = surroundings.isOwnUsers(address)
    }

    // MARK: Sealed datagrams in

    /// What is in a sealed datagram on one of its sessions. Nothing changes: what a stranger sends costs no more than
    /// the look at it.
    func unseal(_ sealed: SealedDatagram) -> Session.Unsealed { sessions[place(of: sealed)].unseal(sealed) }

    /// A sealed datagram came on one of its sessions: what it is evidence of, and whether its frames count.
    ///
    /// - Returns: What opened, and was within the limit of the link.
    mutating func receive(
        _ plaintext: [UInt8], of sealed: SealedDatagram, from source: Address, _ surroundings: Surroundings,
        _ directory: PeerDirectory, _ effects: inout Effects, now: Instant
    ) -> Session.Reception {
        let reception = sessions[place(of: sealed)].receive(plaintext, of: sealed, now: now)
        guard case .opened(let opened) = reception else { return reception }
        noteSource(source, of: opened, surroundings, directory, &effects, now: now)
        return takes(opened, surroundings, now: now) ? reception : .dropped(.peerLimit)
    }

    private func place(of sealed: SealedDatagram) -> SessionSet.Place {
        guard let place = sessions.place(of: sealed.receiverIndex) else {
            preconditionFailure("a link is given the datagrams of its own sessions")
        }
        return place
    }

    /// Counts a datagram, which is evidence even when it is more than the link may send (L-25).
    mutating func takes(_ opened: Session.Opened, _ surroundings: Surroundings, now: Instant) -> Bool {
        let isWithinLimit = datagrams.take(now)
        if opened.isEvidence, !surroundings.isBehind { liveness.heard(now) }
        return isWithinLimit || opened.bye != nil
    }

    // MARK: Status in

    /// What a datagram changes that is reported.
    struct StatusChange {
        /// The peer's name or presence is not what was last reported.
        let isPresenceNew: Bool
        let typing: ReceivedTyping.Change
        /// It came on an older session: the two sides may not agree on which one sends (L-43).
        let isUnsettled: Bool
    }

    /// The status of a datagram, if it carries one; then what to report, before anything else of that datagram.
    mutating func receiveStatus(
        of opened: Session.Opened, on index: UInt32, _ surroundings: Surroundings, _ effects: inout Effects,
        now: Instant
    ) -> StatusChange {
        var change = ReceivedTyping.Change.none
        var isUnsettled = false
        if let frame = opened.status, let place = sessions.place(of: index) {
            let isBehind = surroundings.isBehind
            switch status.receive(frame, of: opened, on: &sessions[place], isBehind: isBehind, now: now) {
            case .applied(let applied):
                change = applied
                for case .heartbeat(let heartbeat) in opened.frames {
                    liveness.announced(heartbeat.idleInterval)
                }
            case .ignored(let ended):
                change = ended
            }
            isUnsettled = place != .sending
        }
        switch change {
        case .started:
            effects.counters.typingStartsReceived += 1
            typedSinceMessage = true
        case .limited: effects.counters.typingStartsLimited += 1
        case .ended, .none: break
        }
        return StatusChange(isPresenceNew: status.isNews(), typing: change, isUnsettled: isUnsettled)
    }

    /// Typing of which no evidence came for 3 s ends (T-15).
    mutating func expireTyping(_ now: Instant) -> ReceivedTyping.Change { status.advance(now) }

    // MARK: Other frames in

    /// What a datagram carries besides status, hello and bye.
    mutating func receiveRest(
        of opened: Session.Opened, from source: Address, _ own: Heartbeat, _ surroundings: Surroundings,
        _ directory: PeerDirectory, _ outbox: inout Outbox, _ inbox: inout Inbox, _ effects: inout Effects, now: Instant
    ) {
        for frame in opened.frames {
            switch frame {
            case .ack(let ack):
                for message in outgoing.receive(ack, now: now) {
                    outbox.delivered(message, to: personID, over: id, &effects)
                }
                pump(own, surroundings, &outbox, &effects, now: now)
            case .message(let record):
                receive(record, surroundings, &inbox, &effects, now: now)
            case .ping(let token):
                let pong: [Frame] = [.heartbeat(own), .pong(token)]
                if source == address {
                    send(pong, .pong, surroundings, &effects, now: now)
                } else {
                    send(pong, .pong, toUnconfirmed: source, &effects)
                }
            case .pong(let token):
                receivePong(token, from: source, surroundings, directory, &effects, now: now)
            case .heartbeat, .typing, .hello, .bye, .unknown:
                continue
            }
        }
    }

    private mutating func receive(
        _ record: Record, _ surroundings: Surroundings, _ inbox: inout Inbox, _ effects: inout Effects, now: Instant
    ) {
        let id = id
        let tenant = surroundings.tenant(of: self)
        let received = incoming.receive(record, now: now) { inbox.admits($0, of: id, tenant) }
        guard let messages = received else { return }
        inbox.setPending(incoming.pending, of: id, tenant)
        for text in messages {
            effects.counters.messagesReceived += 1
            if typedSinceMessage { effects.counters.messagesPrecededByTyping += 1 }
            typedSinceMessage = false
            let number = UInt64(effects.counters.messagesReceived)
            inbox.add(number, size: text.utf8.count, of: id, tenant)
            effects.tell(.message(chat, from: person, number: number, text: text))
        }
        acknowledge(surroundings, &effects, now: now)
    }

    /// Says which record is expected next.
    mutating func acknowledge(_ surroundings: Surroundings, _ effects: inout Effects, now: Instant) {
        send([.ack(incoming.ack)], .ack, surroundings, &effects, now: now)
    }

    // MARK: Hello in

    /// A hello came on a session of the link.
    mutating func receive(
        _ hello: Hello, _ counter: UInt64, on index: UInt32, _ own: Heartbeat, _ surroundings: Surroundings,
        _ outbox: inout Outbox, _ effects: inout Effects, now: Instant
    ) {
        guard let place = sessions.place(of: index), sessions[place].notesHello(counter) else { return }
        let isSettled = settle(place, own, surroundings, &effects, now: now)
        apply(hello, on: index, isSettled: isSettled, own, surroundings, &outbox, &effects, now: now)
    }

    /// The newest hello of a session says who the peer is, and what it holds of our stream (M-4 to M-7).
    ///
    /// - Parameter isSettled: Whether this session sends from now on because of it (L-43).
    mutating func apply(
        _ hello: Hello, on index: UInt32, isSettled: Bool, _ own: Heartbeat, _ surroundings: Surroundings,
        _ outbox: inout Outbox, _ effects: inout Effects, now: Instant
    ) {
        guard let place = sessions.place(of: index), status.receive(hello, of: sessions[place]) else { return }
        let replacement = effects.stream(after: outgoing.stream)
        // A hello that waited in the socket may be older than the end of the link there.
        let mayBeOld = surroundings.isBehind && !outgoing.isHeld
        let changes = outgoing.synchronise(
            held: hello.heldStream, next: hello.nextRecord, replacement: replacement, now: now)
        if mayBeOld { outgoing.awaitHello() }
        // A hello that holds a stream of a link that is over speaks of a stream of that link: begun, and not for this.
        if hello.heldStream == 0 || outgoing.hasNamed(hello.heldStream) { incoming.hold(hello.stream) }
        for message in changes.delivered { outbox.delivered(message, to: personID, over: id, &effects) }
        for message in changes.failed { outbox.failed(message, to: personID, over: id, .lostState, &effects) }
        // An older session only receives.
        guard place == .sending else { return }
        let current = self.hello(surroundings)
        let isHeld = hello.heldStream == current.stream && !mayBeOld
        switch sessions[place].hello.received(isHeld: isHeld, current: current, now: now) {
        case .sendNow: sessions[place].sendHello(current, own, &effects, now: now)
        case .none: break
        }
        // If that hello was late, the peer sees by ours what it has to say again.
        if isSettled { sessions[place].hello.begin(now) }
        pump(own, surroundings, &outbox, &effects, now: now)
    }

    // MARK: Sealed datagrams out

    /// Sends frames on the sending session. Until the peer has shown that it got our hello, that goes along (L-18).
    mutating func send(
        _ frames: [Frame], _ kind: DatagramKind, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        guard let bytes = seal(frames, kind, surroundings, now: now) else { return }
        effects.send(bytes, to: address, kind)
    }

    private mutating func seal(
        _ frames: [Frame], _ kind: DatagramKind, _ surroundings: Surroundings, now: Instant
    ) -> [UInt8]? {
        guard let session = sessions.sending else { return nil }
        guard kind != .message, session.hello.isOutstanding else { return sessions[.sending].seal(frames) }
        let hello = self.hello(surroundings)
        sessions[.sending].hello.sent(hello, now: now)
        return sessions[.sending].seal(frames + [.hello(hello)])
    }

    /// What our hellos say has changed: they begin again where we send (L-57).
    mutating func beginHellos(
        _ own: Heartbeat, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        guard sessions.sending != nil else { return }
        sessions[.sending].hello.begin(now)
        sessions[.sending].sendHello(hello(surroundings), own, &effects, now: now)
    }

    /// Our hello on a session, if it is due for repetition (L-16).
    mutating func repeatHello(
        at place: SessionSet.Place, _ own: Heartbeat, _ surroundings: Surroundings, _ effects: inout Effects,
        now: Instant
    ) {
        let current = hello(surroundings)
        sessions[place].sendHello(current, own, &effects, now: now)
    }

    /// Asks all addresses of the peer at once, with one sealed datagram: the first that arrives counts (L-26).
    mutating func ping(
        _ directory: PeerDirectory, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        let addresses = addresses(directory)
        let token = pings.next(to: addresses, &effects, now: now)
        guard let bytes = seal([.ping(token)], .ping, surroundings, now: now) else { return }
        for address in addresses { effects.send(bytes, to: address, .ping) }
    }

    /// Asks whether a peer is there that is not suspected, at most once a second (L-29).
    mutating func probe(
        _ directory: PeerDirectory, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        guard !liveness.isSuspect else { return }
        if let lastProbe, now - lastProbe < Limits.probeInterval { return }
        lastProbe = now
        ping(directory, surroundings, &effects, now: now)
    }

    /// Our own networks changed: the peer is asked at once, or when the last such ping is a second old (L-40).
    mutating func networksChanged(
        _ directory: PeerDirectory, _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) {
        if changePings.changed(now) { ping(directory, surroundings, &effects, now: now) }
    }

    /// Where the peer may be: the address that it was heard from, then the candidates of its sources.
    func addresses(_ directory: PeerDirectory) -> [Address] {
        var addresses = [address]
        for candidate in directory.candidates(coveredBy: self) where !addresses.contains(candidate) {
            addresses.append(candidate)
        }
        return addresses
    }

    /// Our status goes out on it now, so the next heartbeat is due an interval later.
    mutating func putOffHeartbeat(_ now: Instant) { nextHeartbeat = now + Limits.typingHeartbeatInterval }

    /// Sends the records that the window and the pacing let go.
    ///
    /// - Returns: Whether any went out.
    @discardableResult
    mutating func pump(
        _ own: Heartbeat, _ surroundings: Surroundings, _ outbox: inout Outbox, _ effects: inout Effects,
        now: Instant
    ) -> Bool {
        var hasSent = false
        while sessions.canSend, let (record, isRepeat) = outgoing.next(&outbox.pacer, now: now) {
            if isRepeat { effects.counters.retransmissions += 1 }
            hasSent = true
            send([.typing(own.status), .message(record)], .message, surroundings, &effects, now: now)
        }
        return hasSent
    }

    // MARK: Time

    /// What its own deadlines lead to.
    enum Advance: Equatable {
        case up(isRekeyDue: Bool)
        /// Silence is over its time: the link ends.
        case down
    }

    /// Runs what is due: pings, heartbeat, retransmissions.
    mutating func advance(
        _ own: Heartbeat, _ surroundings: Surroundings, _ directory: PeerDirectory, _ outbox: inout Outbox,
        _ effects: inout Effects, now: Instant
    ) -> Advance {
        switch liveness.advance(now, isBehind: surroundings.isBehind) {
        case .none: break
        case .ping: ping(directory, surroundings, &effects, now: now)
        case .down: return .down
        }
        if changePings.advance(now) { ping(directory, surroundings, &effects, now: now) }
        var isRekeyDue = false
        if nextHeartbeat <= now {
            send([.heartbeat(own)], .heartbeat, surroundings, &effects, now: now)
            nextHeartbeat = Link.nextHeartbeat(after: own, &effects, now: now)
            isRekeyDue = sessions.sending?.isRekeyDue(now) ?? false
        }
        incoming.advance(now)
        switch outgoing.advance(now) {
        case .none: break
        case .stalled(let failed):
            outgoing.restart(effects.stream(after: outgoing.stream))
            for message in failed { outbox.failed(message, to: personID, over: id, .stalled, &effects) }
            if sessions.sending != nil { sessions[.sending].hello.begin(now) }
        }
        pump(own, surroundings, &outbox, &effects, now: now)
        outgoing.giveBackTurn(&outbox.pacer, now: now)
        return .up(isRekeyDue: isRekeyDue)
    }

    /// When the heartbeat that follows one is due (T-8, T-11).
    static func nextHeartbeat(after own: Heartbeat, _ effects: inout Effects, now: Instant) -> Instant {
        if own.status.isTyping { return now + Limits.typingHeartbeatInterval }
        return effects.instant(after: now, own.idleInterval, percent: Limits.idleJitterPercent)
    }
}

import InklingWire

/// The effects of received sealed datagrams.
extension Endpoint {
    mutating func receive(_ sealed: SealedDatagram, from address: Address, _ now: Instant) {
        let index = sealed.receiverIndex
        if let id = links.link(ofSession: index) { return receive(sealed, on: id, from: address, now) }
        guard var unconfirmed = handshakes.unconfirmed(index) else { return effects.drop(.unknownIndex) }
        guard let plaintext = unconfirmed.session.open(sealed) else { return effects.drop(.unauthenticated) }
        confirm(unconfirmed, sealed, plaintext, from: address, now)
    }

    private mutating func receive(_ sealed: SealedDatagram, on id: LinkID, from address: Address, _ now: Instant) {
        let before = links[id].sessions.sendingState
        let unsealed = links[id].unseal(sealed, order: effects.nextOrder(), now: now)
        switch unsealed {
        case .dropped(let reason): effects.drop(reason)
        case .lastWill: return endByBye(id, .lastWill, now)
        case .snapshot: return forget(id, .lostState, .replaced, now)
        case .frames(let frames, let isNewest):
            sendingSessionMayHaveChanged(id, from: before, now)
            let received = ReceivedFrames(frames, sealed, isNewest: isNewest)
            return apply(received, on: id, from: address, now)
        }
        sendingSessionMayHaveChanged(id, from: before, now)
    }

    /// Updates the plans for the sending session if another session is the sending one now, or was completed (L-70).
    private mutating func sendingSessionMayHaveChanged(
        _ id: LinkID, from before: (index: UInt32, isComplete: Bool)?, _ now: Instant
    ) {
        let sending = links[id].sessions.sendingState
        guard before?.index != sending?.index || before?.isComplete != sending?.isComplete else { return }
        planRekey(id, now)
        links[id].handOverWill(surroundings, &effects)
    }

    // MARK: Frames

    /// Applies the frames of a datagram that passed the replay window, in this order: status, ping, pong, ack, forward,
    /// record, bye (W-30).
    private mutating func apply(_ received: ReceivedFrames, on id: LinkID, from source: Address, _ now: Instant) {
        let isBehind = surroundings.isBehind
        let isWithinLimit = takesDatagram(id, now)
        let answer = received.pong.map { links[id].pings.pong($0, from: source, now: now) }
        let isAwaited = answer == .awaited || answer == .confirmed
        let wasDown = links[id].isDown
        // On a down link, frames count only in a datagram with an awaited pong (L-80).
        let counts = !wasDown || isAwaited && !isBehind && isWithinLimit
        let isUnheard = received.status?.isUnheard == true && !isAwaited
        let isEvidence = received.isNewest && !isUnheard && !isBehind && counts
        let own = received.ping.map { _ in heartbeat(of: id) }
        var events: [RecordEvent] = []

        note(received, on: id, from: source, isEvidence: isEvidence, draws: isWithinLimit, now)
        if isEvidence, !wasDown { links[id].liveness.heard(now) }
        if !counts || !isWithinLimit { links[id].status.note(received.status, counter: received.counter) }
        if isWithinLimit {
            if counts, let status = received.status { apply(status, of: received, on: id, now) }
            if let token = received.ping, let own { sendPong(token, own, on: id, to: source) }
            if let answer { apply(answer, on: id, from: source, now) }
            if wasDown, counts { comeUp(id, now) }
            if counts { events = applyRecords(of: received, on: id, isEvidence: isEvidence, now) }
        }
        // An ack can end the link.
        guard links.contains(id) else { return }
        report(id, now)
        for event in events { deliver(event, from: id) }
        if let reason = received.bye { return endByBye(id, reason, now) }
        guard isWithinLimit else { return }
        if links[id].isDown { return pingDown(id, from: source, now) }
        if isUnheard, received.isNewest, !isBehind {
            links[id].liveness.unheard(now)
        }
    }

    /// Counts a datagram against the limits of its link and its source (L-25).
    ///
    /// - Returns: Whether the limits permit it.
    private mutating func takesDatagram(_ id: LinkID, _ now: Instant) -> Bool {
        let source = surroundings.source(of: links[id].address, isOwnUsers: links[id].isOwnUsers)
        let isWithinLimits =
            links[id].takesDatagram(now) && admission.takesDatagram(of: source, &effects, now: now)
        if !isWithinLimits { effects.drop(.peerLimit) }
        return isWithinLimits
    }

    private mutating func apply(
        _ status: Status, of received: ReceivedFrames, on id: LinkID, _ now: Instant
    ) {
        let answer = links[id].status.receive(
            status, counter: received.counter, isBehind: surroundings.isBehind, now: now)
        guard case .applied(let change) = answer else { return }
        if let interval = received.interval { links[id].liveness.announced(interval) }
        switch change {
        case .started:
            effects.counters.typingStartsReceived += 1
            links[id].typedSinceMessage = true
        case .limited: effects.counters.typingStartsLimited += 1
        case .ended, .none: break
        }
    }

    /// Answers a ping at once, to its source (L-28). L-72 limits answers to an address that is not the link's.
    private mutating func sendPong(_ token: UInt16, _ own: Heartbeat, on id: LinkID, to source: Address) {
        let frames: [Frame] = [.heartbeat(own), .pong(token)]
        if source == links[id].address {
            let name = links[id].sender.nameBesidePong().map(Frame.record)
            send(frames + (name.map { [$0] } ?? []), .pong, on: id)
        } else {
            sendElsewhere(frames, .pong, on: id, to: source)
        }
    }

    /// Applies acks, forwards and records.
    ///
    /// - Returns: The complete messages, the invites and the successors, in order.
    private mutating func applyRecords(
        of received: ReceivedFrames, on id: LinkID, isEvidence: Bool, _ now: Instant
    ) -> [RecordEvent] {
        if let ack = received.ack {
            let isTimely = !surroundings.isBehind
            switch links[id].sender.receive(ack, counter: received.counter, isTimely: isTimely, now: now) {
            case .taken(let delivered):
                for message in delivered { tell(outbox.delivered(message, to: links[id].personID, over: id)) }
            case .impossible:
                if isEvidence {
                    forget(id, .lostState, .replaced, now)
                    return []
                }
            }
        }
        if case .record(let record)? = received.record, links[id].receiver.contradicts(record) {
            forget(id, .lostState, .replaced, now)
            return []
        }
        var events: [RecordEvent] = []
        for frame in [received.forward, received.record].compactMap({ $0 }) {
            let wasNamed = links[id].isNamed
            let keepsTexts = texts.chats.contains(links[id].chat)
            let textID = keepsTexts ? received.textID : nil
            for event in links[id].receive(frame, textID, &pools, surroundings, now: now) {
                switch event {
                case .name(let name): links[id].status.name = name
                case .message, .text, .invite, .successor: events.append(event)
                }
            }
            acknowledge(id)
            if keepsTexts, case .forward = frame { texts.forget(id, below: links[id].receiver.acknowledged) }
            guard !wasNamed, links[id].isNamed else { continue }
            links[id].sender.peerWasNamed(now: now)
            sendHeartbeat(id, now)
            reportReachable(links[id])
            // Until now, the heartbeats did not announce typing to this peer (L-85, T-8).
            if status(of: id).isTyping { links[id].nextHeartbeat = nextHeartbeat(of: id, now) }
        }
        return events
    }

    mutating func deliver(_ event: RecordEvent, from id: LinkID) {
        switch event {
        case .message(let text): deliver(text, from: id)
        case .text(let text, let textID, let record): deliver(text, textID, record: record, from: id)
        // In a chat with an owner, only the owner invites (M-46).
        case .invite(let invite) where invite?.owner.map { $0 == links[id].key } ?? true:
            effects.tell(.invite(links[id].chat, from: person(of: id), invite))
        case .successor(let body): receive(successor: body, on: id, lastInput)
        case .invite, .name: break
        }
    }

    /// Returns the peer of a link, with the name that the user sees (T-28).
    private func person(of id: LinkID) -> Person {
        Person(key: links[id].key, name: roster.name(of: links[id].personID, links))
    }

    /// - Returns: The number of the message.
    @discardableResult
    mutating func deliver(_ text: String, _ textID: TextID? = nil, from id: LinkID) -> UInt64 {
        effects.counters.messagesReceived += 1
        if links[id].typedSinceMessage { effects.counters.messagesPrecededByTyping += 1 }
        links[id].typedSinceMessage = false
        let number = reserveMessageNumber()
        untaken[number] = (id, text.utf8.count)
        effects.tell(.message(links[id].chat, from: person(of: id), number: number, text: text, id: textID))
        return number
    }

    // MARK: Addresses

    /// Records the source of a datagram. The node pings a new source that the link may follow (L-51).
    private mutating func note(
        _ received: ReceivedFrames, on id: LinkID, from source: Address, isEvidence: Bool, draws: Bool, _ now: Instant
    ) {
        let isElsewhere = source != links[id].address
        if isElsewhere { links[id].check.received(received.size, from: source) }
        let isDown = links[id].isDown
        if isEvidence || isDown && received.isNewest { links[id].check.heard(from: source) }
        guard draws, isElsewhere, isEvidence || isDown, mayFollow(id, to: source), links[id].check.mayPing(now) else {
            return
        }
        let token = links[id].pings.next(to: [source], &effects, now: now)
        sendElsewhere([.ping(token)], .ping, on: id, to: source)
    }

    /// Applies a pong from another address than the link's: the link may move there (L-24, L-73).
    private mutating func apply(_ answer: PingClock.Answer, on id: LinkID, from source: Address, _ now: Instant) {
        guard source != links[id].address else { return }
        switch answer {
        case .awaited: return
        case .unexpected: links[id].pings.endChecks()
        case .confirmed:
            guard !surroundings.isBehind, links[id].check.isNewest(source), mayFollow(id, to: source) else { return }
            move(id, to: source)
        }
    }

    /// Returns whether a link may move to an address (L-24).
    private func mayFollow(_ id: LinkID, to source: Address) -> Bool {
        guard !surroundings.isOneself(source) else { return false }
        return surroundings.isOnLink(source) || !surroundings.isOnLink(links[id].address)
            || !links[id].isDown && directory.coversByHand(links[id])
    }

    /// Sends a ping on a down link that received a datagram, at most every 125 ms (L-71). The address check pings
    /// addresses to which the link may move (L-51).
    private mutating func pingDown(_ id: LinkID, from source: Address, _ now: Instant) {
        guard source == links[id].address || !mayFollow(id, to: source) else { return }
        if let last = links[id].pings.lastSent, now - last < Limits.checkInterval { return }
        let address = links[id].address
        let token = links[id].pings.next(to: [address], &effects, now: now)
        send([.heartbeat(heartbeat(of: id)), .ping(token)], .ping, on: id)
    }
}

/// The frames of a sealed datagram that was authenticated, parsed, and accepted by the replay window.
struct ReceivedFrames {
    let counter: UInt32
    /// The length of the whole datagram, in bytes.
    let size: Int
    /// Whether the datagram's counter is above all counters received before (L-23).
    let isNewest: Bool
    private(set) var status: Status?
    /// The idle interval in the datagram's heartbeat.
    private(set) var interval: Duration?
    private(set) var ping: UInt16?
    private(set) var pong: UInt16?
    private(set) var ack: Ack?
    private(set) var forward: Frame?
    private(set) var record: Frame?
    /// The ID of the text that begins in ``record``. Of several the first counts (M-81).
    private(set) var textID: TextID?
    private(set) var bye: ByeReason?

    init(_ frames: [Frame], _ sealed: SealedDatagram, isNewest: Bool) {
        counter = sealed.counter
        size = sealed.size
        self.isNewest = isNewest
        for frame in frames {
            switch frame {
            case .heartbeat(let heartbeat):
                status = heartbeat.status
                interval = heartbeat.idleInterval
            case .typing(let typing): status = typing
            case .ping(let token): ping = token
            case .pong(let token): pong = token
            case .ack(let ack): self.ack = ack
            case .forward: forward = frame
            case .record: record = frame
            case .bye(let reason): bye = reason
            case .textID(let id): textID = textID ?? id
            case .unknown: continue
            }
        }
    }
}

/// The effects of an input: outputs in order, changed counters, and random numbers.
struct Effects: Sendable {
    /// The messages of a chat that wait for a list of typists. The list must first show that the authors stopped typing
    /// (T-27).
    private struct Gate {
        /// The people in the last reported list who have stopped typing since.
        var typists: Set<PublicKey> = []
        var messages: [(author: PublicKey, output: Output)] = []
    }

    private var outputs: [Output] = []
    private var head = 0
    private var gates: [ChatID: Gate] = [:]
    private var random: any RandomNumberGenerator & Sendable
    private var orders: UInt64 = 0
    /// Counters since the start.
    var counters = Counters()

    init(random: any RandomNumberGenerator & Sendable) { self.random = random }

    // MARK: Outputs

    /// Returns the next output, in order; nil when all outputs were drained.
    mutating func next() -> Output? {
        guard head < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            head = 0
            return nil
        }
        defer { head += 1 }
        return outputs[head]
    }

    mutating func tell(_ output: Output) {
        if case .message(let chat, let person, _, _, _) = output, let gate = gates[chat],
            gate.typists.contains(person.key) || !gate.messages.isEmpty
        {
            gates[chat]?.messages.append((person.key, output))
        } else {
            outputs.append(output)
        }
    }

    /// Begins or ends holding back the messages of a person. The node holds them while a list that ends the person's
    /// typing is due.
    mutating func holdMessages(of key: PublicKey, in chat: ChatID, _ isHeld: Bool) {
        if isHeld {
            gates[chat, default: Gate()].typists.insert(key)
        } else {
            gates[chat]?.typists.remove(key)
        }
    }

    /// Returns whether a message of a person waits.
    func holdsMessage(of key: PublicKey, in chat: ChatID) -> Bool {
        gates[chat]?.messages.contains { $0.author == key } ?? false
    }

    /// Releases the waiting messages of a chat, in their order.
    mutating func releaseMessages(in chat: ChatID) {
        guard let gate = gates.removeValue(forKey: chat) else { return }
        for message in gate.messages { outputs.append(message.output) }
    }

    mutating func send(_ bytes: [UInt8], to address: Address, _ kind: DatagramKind) {
        counters.sent.count(kind)
        counters.bytesSent += bytes.count
        outputs.append(.send(bytes, to: address, kind))
    }

    mutating func drop(_ reason: DropReason) { counters.drops[reason, default: 0] += 1 }

    // MARK: Numbers

    mutating func number() -> UInt64 { random.next() }

    mutating func index() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    mutating func keyPair() -> KeyPair { KeyPair(using: &random) }

    mutating func cookieKey() -> CookieKey { CookieKey(using: &random) }

    /// Returns the frames of a datagram. A node under test sometimes adds a frame of a reserved type.
    mutating func greased(_ frames: [Frame]) -> [Frame] { Greasing.grease(frames, using: &random) }

    /// Returns the instant after a duration from `start`. The duration varies at random within `percent`.
    mutating func instant(after start: Instant, _ duration: Duration, percent: ClosedRange<Int>) -> Instant {
        start + duration * (percent.lowerBound + Int(random.next() % UInt64(percent.count))) / 100
    }

    /// Returns the body of a greasing record if the node sends one before a message.
    mutating func greasingRecord() -> [UInt8]? { Greasing.record(number: 0, using: &random)?.body }

    /// Returns a number for a session that is completed now, above all earlier numbers (L-70).
    mutating func nextOrder() -> UInt64 {
        orders += 1
        return orders
    }
}

/// The copies of byes that a node has yet to send, already sealed (L-32).
struct Farewells: Sendable {
    private struct Copy: Sendable {
        let at: Instant
        let bytes: [UInt8]
        let address: Address
    }

    private var copies: [Copy] = []

    var isEmpty: Bool { copies.isEmpty }
    var nextDeadline: Instant? { copies.first?.at }

    /// Says bye on each session of a link, on the sending one first. The byes go out now, and their copies later.
    mutating func say(_ reason: ByeReason, on link: inout Link, _ effects: inout Effects, now: Instant) {
        guard let sending = link.sessions.sending?.localIndex else { return }
        let indices = [sending] + link.sessions.indices.filter { $0 != sending }
        for index in indices {
            guard let bytes = link.seal([.bye(reason)], on: index) else { return }
            effects.send(bytes, to: link.address, .bye)
            for delay in Limits.copies {
                let copy = Copy(at: now + delay, bytes: bytes, address: link.address)
                let place = copies.lastIndex { $0.at <= copy.at }.map { $0 + 1 } ?? 0
                copies.insert(copy, at: place)
            }
        }
    }

    /// Sends the copies that are due.
    mutating func advance(_ effects: inout Effects, now: Instant) {
        let due = copies.prefix { $0.at <= now }
        copies.removeFirst(due.count)
        for copy in due { effects.send(copy.bytes, to: copy.address, .bye) }
    }
}

import InklingWire

/// The shared state with one run of a peer in one chat.
///
/// Its state is the counters, the replay window and the records of both directions (L-69); the sessions are only keys.
struct Link: Sendable {
    let id: LinkID
    let personID: PersonID
    /// The run of the peer.
    let run: UInt64
    let madeAt: Instant
    private(set) var epochs: EpochPair
    var liveness: Liveness
    var status: PeerStatus
    var sender: RecordSender
    var receiver = RecordReceiver()
    private var window = ReplayWindow()
    /// The counter of the next datagram that we send.
    var nextCounter: UInt32 = 0
    /// Where the peer is (L-24, L-81).
    private(set) var address: Address
    /// Whether a socket of the node's own user is at ``address`` (L-78).
    private(set) var isOwnUsers: Bool
    var check = AddressCheck()
    var pings = PingClock()
    private(set) var sessions = SessionSet()
    /// When the next heartbeat is due on an up link.
    var nextHeartbeat: Instant
    /// When the copies of the unheard heartbeat are due (L-44).
    var unheardCopies: [Instant] = []
    /// When the next handshake for a new session is due (L-37); nil without a session.
    var nextRekey: Instant?
    /// When the link is forgotten because a session completed with an old counter (L-93).
    private var snapshotDeadline: Instant?
    var hints = HintPings()
    private var datagrams: TokenBucket
    /// Whether a state before this one was named: messages for the person are queued (L-103).
    private var wasNamed = false
    /// Whether the peer began to type since its last message.
    var typedSinceMessage = false

    init(
        id: LinkID, personID: PersonID, run: UInt64, epochs: EpochPair, at address: Address,
        _ surroundings: Surroundings, now: Instant
    ) {
        self.id = id
        self.personID = personID
        self.run = run
        self.epochs = epochs
        self.address = address
        isOwnUsers = surroundings.isOwnUsers(address)
        madeAt = now
        liveness = Liveness(now: now)
        status = PeerStatus(now: now)
        sender = RecordSender(name: surroundings.name, isOnLink: surroundings.isOnLink(address))
        nextHeartbeat = now
        datagrams = TokenBucket(
            perSecond: Limits.datagramsPerLink, burst: Limits.datagramsPerLinkBurst, now: now)
    }

    // MARK: Queries

    var chat: ChatID { personID.chat }
    var key: PublicKey { personID.key }
    var isDown: Bool { liveness.isDown }
    /// Whether the peer's record 0 was delivered (L-85).
    var isNamed: Bool { receiver.isPeerNamed }
    /// Whether messages for its person are queued on it.
    var takesMessages: Bool { isNamed || wasNamed }
    /// Whether its person shows as present because of it.
    var isShown: Bool { isNamed && !isDown }
    var person: Person { Person(key: key, name: status.name ?? "") }
    /// The smoothed round trip; nil if none was measured.
    var roundTrip: Duration? { pings.roundTrip ?? sender.roundTrip }
    /// Whether all ordinary counters are used (L-79).
    var isExhausted: Bool { nextCounter > Limits.lastCounter }

    var nextDeadline: Instant {
        var next = earliest(sessions.nextDeadline(isDown: isDown), or: liveness.nextDeadline)
        next = earliest(snapshotDeadline, or: next)
        next = earliest(receiver.nextDeadline, or: next)
        if isDown { return earliest(unheardCopies.first, or: next) }
        if !isNamed { next = min(next, liveness.nameDeadline) }
        next = earliest(earliest(status.nextDeadline, nextRekey), or: next)
        next = earliest(earliest(sender.nextDeadline, hints.nextDeadline), or: next)
        return min(next, nextHeartbeat)
    }

    // MARK: State

    /// A new state replaces the one before, with all its sessions (L-69).
    ///
    /// - Returns: The messages that failed because records of them were sent.
    mutating func replace(_ epochs: EpochPair, _ effects: inout Effects, now: Instant) -> [UInt64] {
        for index in sessions.indices { _ = removeSession(index, &effects) }
        wasNamed = takesMessages
        self.epochs = epochs
        nextCounter = 0
        window = ReplayWindow()
        liveness = Liveness(now: now)
        status = PeerStatus(now: now)
        pings = PingClock()
        check = AddressCheck()
        unheardCopies = []
        snapshotDeadline = nil
        receiver = RecordReceiver()
        return sender.restart(now: now)
    }

    /// Our own timer was late: the node reads the socket before silence ends anything (L-38, L-89).
    mutating func overslept(_ now: Instant) {
        liveness.overslept(now)
        sessions.putOffExpiry(now)
    }

    /// Follows the peer to another address.
    mutating func move(to address: Address, _ surroundings: Surroundings) {
        guard address != self.address else { return }
        self.address = address
        isOwnUsers = surroundings.isOwnUsers(address)
        sender.setOnLink(surroundings.isOnLink(address))
    }

    // MARK: Sessions

    /// Adds a session that joins.
    ///
    /// - Returns: The index of the session that it replaces (L-77).
    mutating func join(_ session: Session, _ effects: inout Effects) -> UInt32? {
        guard var replaced = sessions.add(session) else { return nil }
        replaced.takeBackWill(&effects)
        return replaced.localIndex
    }

    /// Changes a session; the sending one may be another afterwards.
    mutating func withSession(_ index: UInt32, _ body: (inout Session) -> Void) {
        if let place = sessions.place(of: index) { body(&sessions[place]) }
    }

    /// Erases a session.
    mutating func removeSession(_ index: UInt32, _ effects: inout Effects) -> Bool {
        guard var session = sessions.remove(index) else { return false }
        session.takeBackWill(&effects)
        return true
    }

    /// Lets the keeper of last wills have that of the sending session alone (L-33).
    mutating func handOverWill(_ surroundings: Surroundings, _ effects: inout Effects) {
        let sending = sessions.sendingPlace
        for place in sessions.all.indices where place != sending { sessions[place].takeBackWill(&effects) }
        guard surroundings.keepsWills, let sending else { return }
        sessions[sending].handOverWill(to: address, &effects)
    }

    // MARK: Datagrams out

    /// Seals frames under the next counter (W-20).
    ///
    /// - Parameter index: The session; nil for the sending one.
    /// - Returns: The datagram; nil without a session or a counter.
    mutating func seal(_ frames: [Frame], on index: UInt32? = nil) -> [UInt8]? {
        let place = index.map { sessions.place(of: $0) } ?? sessions.sendingPlace
        guard let place, !isExhausted else { return nil }
        defer { nextCounter += 1 }
        return sessions[place].seal(frames, counter: nextCounter)
    }

    // MARK: Datagrams in

    /// The content of a sealed datagram.
    enum Unsealed: Equatable {
        case dropped(DropReason)
        /// The last will (W-21).
        case lastWill
        /// The datagram completes a session under a marked counter: the peer's state is a snapshot's (L-93).
        case snapshot
        case frames([Frame], isNewest: Bool)
    }

    /// Checks, authenticates and marks a sealed datagram on one of the sessions (W-22, W-23, W-39).
    mutating func unseal(_ sealed: SealedDatagram, order: UInt64, now: Instant) -> Unsealed {
        guard let place = sessions.place(of: sealed.receiverIndex) else { return .dropped(.unknownIndex) }
        let counterPlace = window.place(of: sealed.counter)
        let isLastWill = sealed.counter == Limits.lastWillCounter
        guard !sessions[place].isComplete || isLastWill || counterPlace.passes else { return .dropped(.replayed) }
        guard let plaintext = sessions[place].open(sealed) else { return .dropped(.unauthenticated) }
        let frames = try? Frames.parse(plaintext, counter: sealed.counter)
        if isLastWill { return frames == nil ? .dropped(.frames) : .lastWill }
        sessions[place].opened(order: order, isNewest: counterPlace == .newest, now: now)
        switch counterPlace {
        case .newest, .older: break
        case .marked: return .snapshot
        case .tooOld:
            snapshotDeadline = snapshotDeadline ?? now + Limits.snapshotSign
            return .dropped(.replayed)
        case .reserved: return .dropped(.replayed)
        }
        window.mark(sealed.counter)
        snapshotDeadline = nil
        return frames.map { .frames($0, isNewest: counterPlace == .newest) } ?? .dropped(.frames)
    }

    /// Whether the state has seen nothing pass for 3 s after a session completed with an old counter (L-93).
    func isSnapshot(_ now: Instant) -> Bool { snapshotDeadline.map { $0 <= now } ?? false }

    /// Takes a datagram from what the peer may send (L-25).
    mutating func takesDatagram(_ now: Instant) -> Bool { datagrams.take(now) }
}

extension Link {
    // MARK: Records in

    /// Takes a record or a forward (M-15, M-38).
    mutating func receive(
        _ frame: Frame, _ pools: inout TextPools<LinkID, Source, ChatID>, _ surroundings: Surroundings, now: Instant
    ) -> [RecordEvent] {
        let (id, tenant) = (id, surroundings.tenant(of: self))
        switch frame {
        case .record(let record): return receiver.receive(record, now: now) { pools.grant($0, to: id, tenant) }
        case .forward(let next): return receiver.receive(forward: next, now: now) { pools.grant($0, to: id, tenant) }
        case .heartbeat, .typing, .ack, .ping, .pong, .bye, .unknown: return []
        }
    }

    /// Gives up what waits for records that do not come (M-43).
    mutating func advanceReceiver(
        _ pools: inout TextPools<LinkID, Source, ChatID>, _ surroundings: Surroundings, now: Instant
    ) {
        let (id, tenant) = (id, surroundings.tenant(of: self))
        receiver.advance(now) { pools.grant($0, to: id, tenant) }
    }
}

extension Surroundings {
    /// The shares of the pools that a link draws on (M-42).
    fileprivate func tenant(of link: Link) -> TextPools<LinkID, Source, ChatID>.Tenant {
        .init(
            standing: standing(of: link.personID), source: source(of: link),
            secretChat: secretChats.contains(link.chat) ? link.chat : nil)
    }
}

/// The pings that something else than silence asks for (L-29, L-40, L-41).
struct HintPings: Sendable {
    private var last: Instant?
    /// A change of the own networks asked for one within the second after another.
    private var due: Instant?

    var nextDeadline: Instant? { due }

    /// Whether a hint may draw a ping now; at most one a second.
    mutating func take(_ now: Instant) -> Bool {
        if let last, now - last < Limits.hintInterval { return false }
        last = now
        due = nil
        return true
    }

    /// The own networks changed: whether a ping goes out now; else one goes out when the second is over.
    mutating func networksChanged(_ now: Instant) -> Bool {
        if take(now) { return true }
        due = last.map { $0 + Limits.hintInterval }
        return false
    }

    /// Whether a ping that was put off is due.
    mutating func advance(_ now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        return take(now)
    }
}

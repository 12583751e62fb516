import InklingWire

/// The state that this node shares with one run of a peer in one chat.
///
/// The state consists of the counters, the replay window and the records of both directions (L-69). Sessions only
/// provide keys.
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
    /// The counter of the next datagram that this node sends.
    var nextCounter: UInt32 = 0
    /// The peer's address (L-24, L-81).
    private(set) var address: Address
    /// Whether ``address`` is not among the known addresses yet.
    var isAddressNew = true
    /// Whether a socket of the node's own user has ``address`` (L-78).
    private(set) var isOwnUsers: Bool
    var check = AddressCheck()
    var pings = PingClock()
    private(set) var sessions = SessionSet()
    /// The time of the next heartbeat on an up link.
    var nextHeartbeat: Instant
    /// The times of the copies of the "unheard" heartbeat (L-44).
    var unheardCopies: [Instant] = []
    /// The time of the next handshake for a new session (L-37); nil without a session.
    var nextRekey: Instant?
    /// The time when the node forgets the link, because a session was completed with an old counter (L-93).
    private var snapshotDeadline: Instant?
    var hints = HintPings()
    private var datagrams: TokenBucket
    /// Whether the user sees nobody on this link (M-92, M-94).
    var isHidden = false { didSet { receiver.takesMessages = !isHidden } }
    /// Whether the peer had named itself in an earlier state. The node then queues messages for the person (L-103).
    private var wasNamed = false
    /// The state of this link that the roster knows; nil if the roster must hear of the link again.
    private var reported: Reported?
    /// Whether the peer has begun to type since its last message.
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
    /// Whether the peer's record 0, its name, has arrived (L-85).
    var isNamed: Bool { receiver.isPeerNamed }
    /// Whether the node queues messages for the person on this link.
    var takesMessages: Bool { !isHidden && (isNamed || wasNamed) }
    /// Whether the person shows as present because of this link.
    var isShown: Bool { isNamed && !isDown && !isHidden }

    /// The state of a link that people see.
    private struct Reported: Equatable {
        let isShown, isAway, isTyping: Bool
        let name: String?
    }

    /// The smoothed round trip; nil if none was measured.
    var roundTrip: Duration? { pings.roundTrip ?? sender.roundTrip }
    /// Whether the link has used all ordinary counters (L-79).
    var isExhausted: Bool { nextCounter > Limits.lastCounter }

    // Mutating, as Table.inspect says.
    var nextDeadline: Instant {
        mutating get {
            var next = earliest(sessions.nextDeadline(isDown: isDown), or: liveness.nextDeadline)
            next = earliest(snapshotDeadline, or: next)
            next = earliest(receiver.nextDeadline, or: next)
            if isDown { return earliest(unheardCopies.first, or: next) }
            if !isNamed { next = min(next, liveness.nameDeadline) }
            next = earliest(earliest(status.nextDeadline, nextRekey), or: next)
            next = earliest(earliest(sender.nextDeadline, hints.nextDeadline), or: next)
            return min(next, nextHeartbeat)
        }
    }

    // MARK: State

    /// Returns whether the roster must hear of this link, because a state that people see has changed.
    mutating func takeReport() -> Bool {
        let report = Reported(
            isShown: isShown, isAway: status.isAway, isTyping: status.isTyping, name: status.name)
        guard report != reported else { return false }
        reported = report
        return true
    }

    /// Makes the next report go to the roster, because the roster forgot this link.
    mutating func forgetReport() { reported = nil }

    /// Replaces the state, with all its sessions (L-69).
    ///
    /// - Returns: The messages that failed, because some of their records had been sent.
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
        receiver.takesMessages = !isHidden
        forgetReport()
        return sender.restart(now: now)
    }

    /// Gives the link more time after a late timer: the node reads its socket before silence ends anything (L-38,
    /// L-89).
    mutating func overslept(_ now: Instant) {
        liveness.overslept(now)
        sessions.putOffExpiry(now)
    }

    /// Moves the link to another address of its peer.
    mutating func move(to address: Address, _ surroundings: Surroundings) {
        guard address != self.address else { return }
        self.address = address
        isAddressNew = true
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

    /// Changes a session. Afterwards another session may be the sending one.
    mutating func withSession(_ index: UInt32, _ body: (inout Session) -> Void) {
        if let place = sessions.place(of: index) { body(&sessions[place]) }
    }

    /// Erases a session.
    mutating func removeSession(_ index: UInt32, _ effects: inout Effects) -> Bool {
        guard var session = sessions.remove(index) else { return false }
        session.takeBackWill(&effects)
        return true
    }

    /// Hands the last will of the sending session to the helper that keeps wills, and withdraws all others (L-33).
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
        /// The peer's last will (W-21).
        case lastWill
        /// The datagram completes a session, but its counter is marked: the peer has returned to a snapshot (L-93).
        case snapshot
        case frames([Frame], isNewest: Bool)
    }

    /// Opens a sealed datagram on one of the sessions: checks its counter, authenticates it and marks the counter
    /// (W-22, W-23, W-39).
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

    /// Returns whether no datagram passed in the 3 s after a session was completed with an old counter (L-93).
    func isSnapshot(_ now: Instant) -> Bool { snapshotDeadline.map { $0 <= now } ?? false }

    /// Counts a datagram against the peer's limit (L-25).
    ///
    /// - Returns: Whether the limit permits it.
    mutating func takesDatagram(_ now: Instant) -> Bool { datagrams.take(now) }
}

extension Link {
    // MARK: Records in

    /// Applies a record or a forward (M-15, M-38).
    mutating func receive(
        _ frame: Frame, _ textID: TextID? = nil, _ pools: inout TextPools<LinkID, Source, ChatID>,
        _ surroundings: Surroundings, now: Instant
    ) -> [RecordEvent] {
        let (id, tenant) = (id, surroundings.tenant(of: self))
        switch frame {
        case .record(let record):
            let textID = record.beginsText ? textID : nil
            return receiver.receive(record, textID, now: now) { pools.grant($0, to: id, tenant) }
        case .forward(let next): return receiver.receive(forward: next, now: now) { pools.grant($0, to: id, tenant) }
        case .heartbeat, .typing, .ack, .ping, .pong, .bye, .textID, .unknown: return []
        }
    }

    /// Drops received records that have waited too long for a missing one (M-43).
    mutating func advanceReceiver(
        _ pools: inout TextPools<LinkID, Source, ChatID>, _ surroundings: Surroundings, now: Instant
    ) {
        let (id, tenant) = (id, surroundings.tenant(of: self))
        receiver.advance(now) { pools.grant($0, to: id, tenant) }
    }
}

extension Surroundings {
    /// Returns the shares of the text pools that a link uses (M-42).
    fileprivate func tenant(of link: Link) -> TextPools<LinkID, Source, ChatID>.Tenant {
        .init(
            standing: standing(of: link.personID), source: source(of: link),
            secretChat: secretChats.contains(link.chat) ? link.chat : nil)
    }
}

/// The pings that have another reason than silence (L-29, L-40, L-41).
struct HintPings: Sendable {
    private var last: Instant?
    /// The time of a postponed ping. A ping is postponed if this host's networks change less than a second after
    /// another ping.
    private var due: Instant?

    var nextDeadline: Instant? { due }

    /// Returns whether a hint may cause a ping now. The limit is one a second.
    mutating func take(_ now: Instant) -> Bool {
        if let last, now - last < Limits.hintInterval { return false }
        last = now
        due = nil
        return true
    }

    /// Handles a change of this host's networks.
    ///
    /// - Returns: Whether a ping goes out now. If not, one follows when a second has passed since the last.
    mutating func networksChanged(_ now: Instant) -> Bool {
        if take(now) { return true }
        due = last.map { $0 + Limits.hintInterval }
        return false
    }

    /// Returns whether a postponed ping is due.
    mutating func advance(_ now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        return take(now)
    }
}

/// The two epochs that identify a state, as one of its two nodes sees them (L-68).
struct EpochPair: Hashable, Sendable {
    let own: UInt32
    let peer: UInt32
}

/// The run of this node in one chat, and its epochs there (L-58 to L-60).
struct Epochs: Sendable {
    /// The run: 8 random bytes as a big-endian number.
    let run: UInt64
    /// The epoch for keys that the node has not dealt with yet.
    private(set) var counter: UInt32
    private var values: [PublicKey: UInt32] = [:]

    init(run: UInt64, counter: UInt32 = 0) {
        self.run = run
        self.counter = counter
    }

    /// Returns the node's own epoch for a key. From now on the node uses it with the key (L-59).
    mutating func epoch(of key: PublicKey) -> UInt32 {
        if let value = values[key] { return value }
        values[key] = counter
        return counter
    }

    /// Gives a key another epoch, because the node forgot a link with it (L-60).
    ///
    /// - Returns: False if no epoch is left and the chat needs a new run.
    mutating func forget(_ key: PublicKey) -> Bool {
        guard counter < .max else { return false }
        counter += 1
        values[key] = counter
        return true
    }

    /// The number of keys that have their own epoch.
    var count: Int { values.count }

    /// Drops the epochs of unused keys. A later epoch of such a key is not lower (L-59).
    mutating func drop(where isUnused: (PublicKey) -> Bool) {
        values = values.filter { !isUnused($0.key) }
    }
}

/// The decisions about the epochs in a handshake.
enum EpochRules {
    /// Returns the epoch for a response; nil if the initiation is outdated (L-62, L-63).
    ///
    /// - Parameters:
    ///   - link: The epochs of the link with the initiation's run.
    ///   - keyEpoch: The node's own epoch for the key.
    ///   - epoch: The epoch in the initiation.
    static func answer(link: EpochPair?, keyEpoch: UInt32, epoch: UInt32) -> UInt32? {
        guard let link else { return keyEpoch }
        guard epoch >= link.peer else { return nil }
        return epoch == link.peer ? link.own : keyEpoch
    }

    /// The effect of a session that joins (L-68).
    enum Joining: Equatable {
        /// The session makes a new link.
        case make
        case join
        /// The session begins a new state of the link.
        case replace
        case drop
    }

    static func join(link: EpochPair?, _ pair: EpochPair) -> Joining {
        guard let link else { return .make }
        if pair.own < link.own || pair.peer < link.peer { return .drop }
        return pair == link ? .join : .replace
    }

    /// The consequence of a response that opened.
    enum Response: Equatable {
        case joining(Joining)
        /// The node begins a handshake with that epoch, at the same address (L-65, L-66).
        case handshake(epoch: UInt32)
        /// The peer's state is older than the link's, so the link ends (L-95).
        case forget
        case drop
    }

    /// Decides on a response that opened.
    ///
    /// - Parameters:
    ///   - link: The epochs of the link with the response's run, and whether the link is down.
    ///   - isFollowUp: Whether the node began this handshake itself because of L-65 or L-66.
    static func response(
        link: (pair: EpochPair, isDown: Bool)?, keyEpoch: UInt32, named own: UInt32, peer: UInt32, isFollowUp: Bool
    ) -> Response {
        let present = link?.pair.own ?? keyEpoch
        guard own == present else { return isFollowUp ? .drop : .handshake(epoch: present) }
        if let link, link.isDown, peer < link.pair.peer { return .forget }
        return .joining(join(link: link?.pair, EpochPair(own: own, peer: peer)))
    }
}

/// The check before a link follows its peer to another address. A pong must come from the new address; until then, the
/// node sends little there (L-51, L-72).
struct AddressCheck: Sendable {
    /// The address of the last datagram that did not come from the link's address.
    private var elsewhere: Address?
    /// The bytes of opened datagrams from ``elsewhere``, and the bytes sent there.
    private var received = 0
    private var sent = 0
    /// The source of the newest datagram that counts.
    private var newest: Address?
    /// The earliest time for the next ping.
    private var nextPing: Instant?

    // MARK: Inputs

    /// Counts an opened datagram from an address that is not the link's.
    mutating func received(_ bytes: Int, from source: Address) {
        if source != elsewhere {
            elsewhere = source
            (received, sent) = (0, 0)
        }
        received += bytes
    }

    /// Records the source of the newest datagram, the link's address or another.
    mutating func heard(from source: Address) { newest = source }

    /// Uses up some of the bytes that the node may send to an address that is not the link's.
    ///
    /// - Returns: Whether enough bytes were left.
    mutating func take(_ bytes: Int, to address: Address) -> Bool {
        guard address == elsewhere, sent + bytes <= received * Limits.unconfirmedAddressFactor else { return false }
        sent += bytes
        return true
    }

    /// Returns whether a ping may go to the new source of a datagram. If so, the next ping must wait.
    mutating func mayPing(_ now: Instant) -> Bool {
        if let nextPing, now < nextPing { return false }
        nextPing = now + Limits.checkInterval
        return true
    }

    // MARK: Queries

    /// Returns whether the newest datagram came from an address (L-24).
    func isNewest(_ address: Address) -> Bool { address == newest }
}

/// The peer's reports about itself on a link: its name, and whether it is away or typing.
struct PeerStatus: Sendable {
    /// The name in the newest name record, unsafe to print; nil before record 0 has arrived (L-85).
    var name: String?
    private(set) var isAway = false
    private var typing: ReceivedTyping
    /// The highest counter of a datagram with a status (T-13).
    private var newest: UInt32?

    init(now: Instant) { typing = ReceivedTyping(now: now) }

    /// The time when typing ends without new evidence (T-15).
    var nextDeadline: Instant? { typing.nextDeadline }
    var isTyping: Bool { typing.since != nil }

    // MARK: Inputs

    /// The effect of a status.
    enum Answer: Equatable {
        case applied(ReceivedTyping.Change)
        /// The status was too old, or a newer one arrived before.
        case ignored(ReceivedTyping.Change)
    }

    /// Applies the status of a datagram (T-13).
    ///
    /// - Parameter isBehind: Whether the status may have waited in the socket for long. Such a status can only end
    ///   typing (L-90).
    mutating func receive(_ status: Status, counter: UInt32, isBehind: Bool, now: Instant) -> Answer {
        if let newest, counter <= newest { return .ignored(.none) }
        newest = counter
        guard !status.isUnheard else { return .ignored(.none) }
        guard !isBehind else {
            return .ignored(status.isTyping ? .none : typing.apply(isTyping: false, now: now))
        }
        isAway = status.isAway
        return .applied(typing.apply(isTyping: status.isTyping, now: now))
    }

    /// Records the counter of a status that does not count (T-13).
    mutating func note(_ status: Status?, counter: UInt32) {
        if status != nil { newest = max(newest ?? 0, counter) }
    }

    /// Ends typing without evidence for 3 s (T-15).
    mutating func advance(_ now: Instant) -> ReceivedTyping.Change { typing.advance(now) }

    /// Ends typing because the link is down (T-14).
    mutating func endTyping(_ now: Instant) { _ = typing.apply(isTyping: false, now: now) }
}

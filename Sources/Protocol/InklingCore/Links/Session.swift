import InklingWire

/// The transport keys of one handshake, once it has joined a link (L-67).
struct Session: Sendable {
    enum Role: Sendable { case initiator, responder }

    let localIndex: UInt32
    let remoteIndex: UInt32
    let role: Role
    let keys: TransportKeys
    /// Where its peer is, as far as the handshake says (L-81).
    let address: Address
    private(set) var joinedAt: Instant
    /// Whether a sealed datagram has opened on it.
    private(set) var isComplete = false
    /// Its place among the sessions of the node on which a newest datagram has opened; nil before the first (L-70).
    private(set) var proof: UInt64?
    private(set) var lastOpened: Instant
    /// When the next of its first pings is due; nil after the last (L-74).
    private(set) var nextPing: Instant?
    /// The last will, sealed once (L-33).
    private var will: [UInt8]?

    init(
        localIndex: UInt32, remoteIndex: UInt32, role: Role, keys: TransportKeys, address: Address, now: Instant
    ) {
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.role = role
        self.keys = keys
        self.address = address
        joinedAt = now
        lastOpened = now
        nextPing = now
    }

    /// The same session, which joins its link now (L-67).
    func joining(at now: Instant) -> Session {
        var session = self
        session.joinedAt = now
        session.lastOpened = now
        session.nextPing = now
        return session
    }

    /// A sealed datagram has opened on it.
    ///
    /// - Parameters:
    ///   - order: Its place if this is the first newest datagram on it.
    ///   - isNewest: Whether the datagram has the highest counter of its state.
    mutating func opened(order: UInt64, isNewest: Bool, now: Instant) {
        lastOpened = now
        isComplete = true
        if isNewest, proof == nil { proof = order }
    }

    /// When it is erased, unless something opens on it before (L-38, L-75).
    ///
    /// - Parameter isSending: Whether the link sends on it.
    func expiry(isSending: Bool) -> Instant {
        let end = joinedAt + Limits.sessionLifetime
        if !isComplete { return min(end, joinedAt + Limits.joinPingPeriod) }
        return isSending ? end : min(end, lastOpened + Limits.silentSession)
    }

    /// Puts off the expiry by silence: datagrams in the socket may open on the session (L-38).
    mutating func putOffExpiry(_ now: Instant) {
        let round = Limits.pingInterval * Limits.pings
        lastOpened = max(lastOpened, now + (round - Limits.silentSession))
    }

    /// Plans the ping after the one that is due now (L-74).
    mutating func pinged(_ now: Instant) {
        let next = now + Limits.joinPingInterval
        nextPing = next - joinedAt < Limits.joinPingPeriod ? next : nil
    }

    mutating func stopPings() { nextPing = nil }

    // MARK: Sealing

    /// Seals frames under a counter of its link's state (W-19).
    func seal(_ frames: [Frame], counter: UInt32) -> [UInt8] {
        keys.seal(frames, receiverIndex: remoteIndex, counter: counter).encode()
    }

    /// The plaintext of a sealed datagram; nil if it does not authenticate.
    func open(_ sealed: SealedDatagram) -> [UInt8]? { try? keys.open(sealed) }

    /// Hands over the last will, sealed once; again when the peer has moved (L-33).
    mutating func handOverWill(to address: Address, _ effects: inout Effects) {
        let bytes = will ?? keys.sealLastWill(receiverIndex: remoteIndex).encode()
        will = bytes
        effects.tell(.keepWill(session: localIndex, bytes, to: address))
    }

    /// Withdraws the last will: the session no longer sends.
    mutating func takeBackWill(_ effects: inout Effects) {
        guard will != nil else { return }
        will = nil
        effects.tell(.dropWill(session: localIndex))
    }
}

/// The sessions of one link, at most four (L-77).
struct SessionSet: Sendable {
    /// In the order of their joining.
    private(set) var all: [Session] = []

    var isEmpty: Bool { all.isEmpty }
    var indices: [UInt32] { all.map(\.localIndex) }

    func place(of index: UInt32) -> Int? { all.firstIndex { $0.localIndex == index } }

    #if DEBUG
        // See LinkTable.
        subscript(place: Int) -> Session {
            get { all[place] }
            _modify { yield &all[place] }
        }
    #else
        subscript(place: Int) -> Session {
            _read { yield all[place] }
            _modify { yield &all[place] }
        }
    #endif

    /// The place of the session whose first newest datagram opened last (L-70); without any, of that which joined last.
    var sendingPlace: Int? {
        let proven = all.indices.filter { all[$0].proof != nil }
        return proven.max { (all[$0].proof ?? 0) < (all[$1].proof ?? 0) } ?? all.indices.last
    }

    var sending: Session? { sendingPlace.map { all[$0] } }

    /// Adds a session that joins.
    ///
    /// - Returns: The session that it replaces, on which nothing opened for longest (L-77).
    mutating func add(_ session: Session) -> Session? {
        all.append(session)
        guard all.count > Limits.sessionsPerLink else { return nil }
        let sending = sendingPlace
        let others = all.indices.dropLast().filter { $0 != sending }
        guard let victim = others.min(by: { all[$0].lastOpened < all[$1].lastOpened }) else { return nil }
        return all.remove(at: victim)
    }

    mutating func putOffExpiry(_ now: Instant) {
        for place in all.indices { all[place].putOffExpiry(now) }
    }

    mutating func remove(_ index: UInt32) -> Session? { place(of: index).map { all.remove(at: $0) } }

    mutating func removeAll() -> [Session] {
        defer { all = [] }
        return all
    }

    /// The first instant at which one of them is erased, or pings.
    ///
    /// - Parameter isDown: Whether the link is down: sessions of an up link ping only while they are incomplete.
    func nextDeadline(isDown: Bool) -> Instant? {
        let sending = sendingPlace
        return all.indices.compactMap { place -> Instant? in
            let expiry = all[place].expiry(isSending: place == sending)
            return isDown || !all[place].isComplete ? earliest(all[place].nextPing, or: expiry) : expiry
        }.min()
    }
}

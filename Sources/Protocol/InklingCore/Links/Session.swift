import InklingWire

/// The transport keys of one handshake, after the session joined a link (L-67).
struct Session: Sendable {
    enum Role: Sendable { case initiator, responder }

    let localIndex: UInt32
    let remoteIndex: UInt32
    let role: Role
    let keys: TransportKeys
    /// The peer's address in the handshake (L-81).
    let address: Address
    /// Whether the handshake came from ``address``, so that the session covers the instances there.
    let isFromAddress: Bool
    private(set) var joinedAt: Instant
    /// Whether a sealed datagram has opened on the session.
    private(set) var isComplete = false
    /// The session's number in an order of the node's sessions: by the time of the first datagram that was the newest
    /// of its state. Nil before that datagram (L-70).
    private(set) var proof: UInt64?
    private(set) var lastOpened: Instant
    /// The time of the next ping on a new session; nil after the last (L-74).
    private(set) var nextPing: Instant?
    /// The session's last will, sealed only once (L-33).
    private var will: [UInt8]?

    init(
        localIndex: UInt32, remoteIndex: UInt32, role: Role, keys: TransportKeys, address: Address,
        isFromAddress: Bool = true, now: Instant
    ) {
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.role = role
        self.keys = keys
        self.address = address
        self.isFromAddress = isFromAddress
        joinedAt = now
        lastOpened = now
        nextPing = now
    }

    /// Returns the same session at the moment when it joins its link (L-67).
    func joining(at now: Instant) -> Session {
        var session = self
        session.joinedAt = now
        session.lastOpened = now
        session.nextPing = now
        return session
    }

    /// Records that a sealed datagram opened on the session.
    ///
    /// - Parameters:
    ///   - order: The session's number if this is its first newest datagram.
    ///   - isNewest: Whether the datagram has the highest counter of its state.
    mutating func opened(order: UInt64, isNewest: Bool, now: Instant) {
        lastOpened = now
        isComplete = true
        if isNewest, proof == nil { proof = order }
    }

    /// Returns the time when the session is erased unless a datagram opens on it before (L-38, L-75).
    ///
    /// - Parameter isSending: Whether the link sends on the session.
    @inline(__always)
    func expiry(isSending: Bool) -> Instant {
        let end = joinedAt + Limits.sessionLifetime
        if !isComplete { return min(end, joinedAt + Limits.joinPingPeriod) }
        return isSending ? end : min(end, lastOpened + Limits.silentSession)
    }

    /// The time of the next ping, or of the expiry.
    // Mutating, as Table.inspect says.
    mutating func nextDeadline(isSending: Bool, isDown: Bool) -> Instant {
        let end = expiry(isSending: isSending)
        return isDown || !isComplete ? earliest(nextPing, or: end) : end
    }

    /// Postpones the expiry by silence. Datagrams in the socket may still open on the session (L-38).
    mutating func putOffExpiry(_ now: Instant) {
        let round = Limits.pingInterval * Limits.pings
        lastOpened = max(lastOpened, now + (round - Limits.silentSession))
    }

    /// Plans the next ping of a new session (L-74).
    mutating func pinged(_ now: Instant) {
        let next = now + Limits.joinPingInterval
        nextPing = next - joinedAt < Limits.joinPingPeriod ? next : nil
    }

    mutating func stopPings() { nextPing = nil }

    // MARK: Sealing
    // Mutating, as Table.inspect says.

    /// Seals frames under a counter of the link's state (W-19).
    mutating func seal(_ frames: [Frame], counter: UInt32) -> [UInt8] {
        keys.seal(frames, receiverIndex: remoteIndex, counter: counter).encode()
    }

    /// Returns the plaintext of a sealed datagram; nil if it does not authenticate.
    mutating func open(_ sealed: SealedDatagram) -> [UInt8]? { try? keys.open(sealed) }

    /// Hands over the last will, which is sealed only once. A move of the peer requires another call (L-33).
    mutating func handOverWill(to address: Address, _ effects: inout Effects) {
        let bytes = will ?? keys.sealLastWill(receiverIndex: remoteIndex).encode()
        will = bytes
        effects.tell(.keepWill(session: localIndex, bytes, to: address))
    }

    /// Withdraws the last will, because the session no longer sends.
    mutating func takeBackWill(_ effects: inout Effects) {
        guard will != nil else { return }
        will = nil
        effects.tell(.dropWill(session: localIndex))
    }
}

/// The sessions of one link, at most four (L-77).
struct SessionSet: Sendable {
    /// The sessions, in the order in which they joined.
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

    /// The index of the sending session: the one whose first newest datagram opened last. If there is none, the one
    /// that joined last (L-70).
    var sendingPlace: Int? {
        var newest: (place: Int, proof: UInt64)?
        for place in all.indices {
            guard let proof = all[place].proof, proof >= newest?.proof ?? 0 else { continue }
            newest = (place, proof)
        }
        return newest?.place ?? all.indices.last
    }

    var sending: Session? { sendingPlace.map { all[$0] } }

    /// Returns whether a session joined less than 3 s before an instant (L-2).
    func hasJoined(shortlyBefore now: Instant) -> Bool { all.contains { now - $0.joinedAt < Limits.joinPingPeriod } }

    /// The local index of the sending session, and whether that session is complete; nil without a session. Unlike
    /// ``sending``, the property copies no session.
    var sendingState: (index: UInt32, isComplete: Bool)? {
        sendingPlace.map { (all[$0].localIndex, all[$0].isComplete) }
    }

    /// Returns whether another session may join: a place is free, or a session was silent for long enough (L-77).
    func hasRoom(_ now: Instant) -> Bool {
        guard all.count >= Limits.sessionsPerLink else { return true }
        return mostSilentPlace.map { now - all[$0].lastOpened >= Limits.replaceableSession } ?? false
    }

    /// The session, other than the sending one, with the longest time since a datagram opened.
    private var mostSilentPlace: Int? {
        let sending = sendingPlace
        return all.indices.filter { $0 != sending }.min { all[$0].lastOpened < all[$1].lastOpened }
    }

    /// Adds a session that joins. ``hasRoom(_:)`` must be true.
    ///
    /// - Returns: The session that it replaces (L-77).
    mutating func add(_ session: Session) -> Session? {
        let isFull = all.count >= Limits.sessionsPerLink
        let replaced = isFull ? mostSilentPlace.map { all.remove(at: $0) } : nil
        all.append(session)
        return replaced
    }

    mutating func putOffExpiry(_ now: Instant) {
        for place in all.indices { all[place].putOffExpiry(now) }
    }

    mutating func remove(_ index: UInt32) -> Session? { place(of: index).map { all.remove(at: $0) } }

    mutating func removeAll() -> [Session] {
        defer { all = [] }
        return all
    }

    /// Returns the time of the next ping, or of the next expired session.
    ///
    /// - Parameter isDown: Whether the link is down. Sessions of an up link ping only while they are incomplete.
    // Mutating, as Table.inspect says.
    mutating func nextDeadline(isDown: Bool) -> Instant? {
        let sending = sendingPlace
        var next: Instant?
        for place in all.indices {
            next = earliest(next, or: all[place].nextDeadline(isSending: place == sending, isDown: isDown))
        }
        return next
    }
}

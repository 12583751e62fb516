import InklingWire

/// One handshake's keys and counters, from the moment that this side could use them.
struct Session {
    enum Role { case initiator, responder }

    let localIndex: UInt32
    let remoteIndex: UInt32
    let role: Role
    let keys: TransportKeys
    let createdAt: Instant
    /// When it may be used no more (L-38).
    let end: Instant
    /// The source of addresses that we opened it to.
    let opener: PeerSourceID?
    /// Its place among the sessions of the node, from its completion on.
    var order = SessionOrder.first
    /// Where its datagrams go: where the handshake came from, and in a link where that has followed the peer since (L-24).
    var address: Address
    private(set) var window = ReplayWindow()
    /// The counter of the next datagram that we send, computed in 64 bits.
    private(set) var nextCounter: UInt64 = 0
    /// The status of the highest counter, applied or not (T-13).
    private(set) var lastStatus: (counter: UInt64, isTyping: Bool)?
    private(set) var lastHelloCounter: UInt64?
    /// When the newest authenticated datagram came.
    private(set) var lastReceived: Instant
    /// When a newer session of the link began to send.
    private(set) var supersededAt: Instant?
    var hello = HelloExchange()
    /// The last will, sealed once, when the session began to send.
    private var will: [UInt8]?

    init(
        localIndex: UInt32, remoteIndex: UInt32, role: Role, keys: TransportKeys, opener: PeerSourceID?,
        address: Address, now: Instant
    ) {
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.role = role
        self.keys = keys
        self.opener = opener
        self.address = address
        createdAt = now
        end = now + Limits.sessionLifetime
        lastReceived = now
    }

    // MARK: Receiving

    /// What came of a sealed datagram.
    enum Reception {
        case dropped(DropReason)
        /// The peer's last will; nothing of the session has changed. `heardBefore`: when something came before it.
        case lastWill(heardBefore: Instant)
        case opened(Opened)
    }

    /// A datagram that authenticated and parsed: what a link goes by, beside the frames.
    struct Opened {
        let frames: [Frame]
        let counter: UInt64
        /// The length of the whole datagram, in bytes.
        let size: Int
        /// Whether its counter is above all before it.
        let isNewest: Bool
        /// When something came on this session before it.
        let heardBefore: Instant
        /// The reason of its bye, if it carries one.
        let bye: ByeReason?
        let hello: Hello?

        /// A peer that hears nothing is not there for this link (L-45).
        var isEvidence: Bool { isNewest && bye != .unheard }
        /// Its status; at most one (W-27).
        let status: Status?
        /// Whether it carries more than a status, hello or bye.
        let hasMore: Bool
        var hasMessage: Bool { frames.contains { if case .message = $0 { true } else { false } } }
    }

    /// What is in a sealed datagram for this session, or why it is dropped.
    enum Unsealed {
        case dropped(DropReason)
        case plaintext([UInt8])
    }

    /// Checks and authenticates a sealed datagram for this session (W-22), which changes nothing yet.
    func unseal(_ sealed: SealedDatagram) -> Unsealed {
        let counter = UInt64(sealed.counter)
        let isLastWill = counter == Limits.lastWillCounter
        guard isLastWill || (counter <= Limits.highestOrdinaryCounter && window.accepts(counter)) else {
            return .dropped(.replayed)
        }
        guard
            let plaintext = try? keys.receive.open(
                sealed.ciphertext, counter: counter, associatedData: sealed.header)
        else { return .dropped(.unauthenticated) }
        return .plaintext(plaintext)
    }

    /// A sealed datagram for this session: checked, authenticated, and only then marked (W-22, W-23).
    mutating func receive(_ sealed: SealedDatagram, now: Instant) -> Reception {
        switch unseal(sealed) {
        case .dropped(let reason): .dropped(reason)
        case .plaintext(let plaintext): receive(plaintext, of: sealed, now: now)
        }
    }

    /// What ``unseal(_:)`` found is marked (W-23), and read.
    mutating func receive(_ plaintext: [UInt8], of sealed: SealedDatagram, now: Instant) -> Reception {
        let counter = UInt64(sealed.counter)
        let isLastWill = counter == Limits.lastWillCounter
        guard let frames = try? Frames.parse(plaintext) else {
            if !isLastWill { window.mark(counter) }
            return .dropped(.frames)
        }
        if isLastWill {
            guard case .bye? = frames.first, frames.count == 1 else { return .dropped(.frames) }
            return .lastWill(heardBefore: lastReceived)
        }
        let isNewest = window.highest.map { counter > $0 } ?? true
        let heardBefore = lastReceived
        window.mark(counter)
        lastReceived = now
        var bye: ByeReason?
        var hello: Hello?
        var status: Status?
        var hasMore = false
        for frame in frames {
            switch frame {
            case .bye(let reason): bye = reason
            case .hello(let frame): hello = frame
            case .heartbeat(let heartbeat): status = heartbeat.status
            case .typing(let frame): status = frame
            case .message, .ack, .ping, .pong: hasMore = true
            case .unknown: continue
            }
        }
        return .opened(
            Opened(
                frames: frames, counter: counter, size: sealed.size, isNewest: isNewest, heardBefore: heardBefore,
                bye: bye, hello: hello, status: status, hasMore: hasMore))
    }

    /// The peer's hello came under a counter.
    ///
    /// - Returns: Whether it is newer than those before it (L-22).
    mutating func notesHello(_ counter: UInt64) -> Bool {
        guard lastHelloCounter.map({ counter > $0 }) ?? true else { return false }
        lastHelloCounter = counter
        return true
    }

    /// A status came under a counter, applied or not: those before it are old (T-13).
    mutating func note(_ status: Status, counter: UInt64) {
        if let lastStatus, lastStatus.counter > counter { return }
        lastStatus = (counter, status.isTyping)
    }

    /// Whether no status of a higher counter came.
    func isNewestStatus(_ counter: UInt64) -> Bool { lastStatus.map { counter > $0.counter } ?? true }

    /// Whether a status of a higher counter said that the peer types.
    func typesOn(after counter: UInt64) -> Bool { lastStatus.map { $0.counter > counter && $0.isTyping } ?? false }

    // MARK: Sending

    /// Whether it may still be sealed with.
    var canSend: Bool { nextCounter <= Limits.highestOrdinaryCounter }

    /// Seals frames under the next counter; nil when the counters are used up.
    mutating func seal(_ frames: [Frame]) -> [UInt8]? {
        guard canSend else { return nil }
        defer { nextCounter += 1 }
        return seal(frames, counter: nextCounter)
    }

    /// No counter is used for two different datagrams.
    private func seal(_ frames: [Frame], counter: UInt64) -> [UInt8] {
        let header = SealedDatagram.header(
            receiverIndex: remoteIndex, counter: UInt32(truncatingIfNeeded: counter))
        return header + keys.send.seal(Frames.encode(frames), counter: counter, associatedData: header)
    }

    /// Sends hello and heartbeat to where the peer is.
    mutating func sendHello(_ hello: Hello, _ heartbeat: Heartbeat, _ effects: inout Effects, now: Instant) {
        guard let bytes = seal([.heartbeat(heartbeat), .hello(hello)]) else { return }
        self.hello.sent(hello, now: now)
        effects.send(bytes, to: address, .hello)
    }

    /// The datagrams of a farewell, sealed now: the first, and its copies; fewer when the counters are used up.
    mutating func farewell(_ reason: ByeReason) -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        for _ in 0...Limits.edgeCopies.count {
            guard let bytes = seal([.bye(reason)]) else { break }
            datagrams.append(bytes)
        }
        return datagrams
    }

    /// Hands over the last will, sealed once; again when the peer has moved (L-33).
    mutating func handOverWill(_ effects: inout Effects) {
        let bytes = will ?? seal([.bye(.lastWill)], counter: Limits.lastWillCounter)
        will = bytes
        effects.tell(.keepWill(session: localIndex, bytes, to: address))
    }

    /// Withdraws the last will: the session no longer sends.
    mutating func takeBackWill(_ effects: inout Effects) {
        guard will != nil else { return }
        will = nil
        effects.tell(.dropWill(session: localIndex))
    }

    // MARK: Its place in a link

    /// It sends from now on.
    mutating func takeOver() { supersededAt = nil }

    /// Another session sends from now on, and this one only receives.
    mutating func giveWay(now: Instant) {
        supersededAt = now
        hello.end()
    }

    /// When an older session stops receiving (L-21).
    var retirement: Instant? { supersededAt.map { max($0, lastReceived) + Limits.supersededLifetime } }
    /// The deadlines of a session that belongs to a link.
    var nextDeadline: Instant { earliest(earliest(hello.nextRepeat, retirement), or: end) }

    /// Whether this side has to begin a new handshake: each hour, or when half of the counters are used (L-37).
    func isRekeyDue(_ now: Instant) -> Bool {
        let age = role == .initiator ? Limits.rekeyAfter : Limits.responderRekeyAfter
        return now - createdAt >= age || nextCounter >= Limits.rekeyCounter
    }
}

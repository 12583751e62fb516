import InklingWire

/// One handshake's keys and counters, from the moment that this side could use them.
struct Session {
    enum Role { case initiator, responder }

    enum Phase {
        /// A responder's, until the first sealed datagram opens: it changes nothing that a user can see.
        case unconfirmed(Unconfirmed)
        /// Complete; the peer's hello, which says to which link it belongs, has not come.
        case greeting(Greeting)
        /// Belongs to a link.
        case linked(LinkID)
    }

    struct Unconfirmed {
        let initiation: [UInt8]
        let response: [UInt8]
        let expires: Instant
    }

    struct Greeting {
        let expires: Instant
        /// The link that we take this session to be a new one of; its streams go into our hello.
        let presumedLink: LinkID?
        /// Our stream, if it turns out to be the first session of a link.
        let stream: UInt32
    }

    let localIndex: UInt32
    let remoteIndex: UInt32
    let chat: ChatTag
    let key: PublicKey
    let role: Role
    let keys: TransportKeys
    let createdAt: Instant
    /// The set of candidate addresses that opened it.
    let instance: InstanceID?
    var phase: Phase
    /// Counts completed sessions of the node; that with the highest sends. 0 before completion.
    var order: UInt64 = 0
    /// Where the peer was when the newest authenticated datagram came.
    var address: Address
    var window = ReplayWindow()
    /// The counter of the next datagram that we send, computed in 64 bits.
    var nextCounter: UInt64 = 0
    /// The status of the highest counter, applied or not (T-13).
    var lastStatus: (counter: UInt64, isTyping: Bool)?
    var lastHelloCounter: UInt64?
    /// When the newest authenticated datagram came.
    var lastReceived: Instant
    /// When a newer session of the link began to send.
    var supersededAt: Instant?
    var hello = HelloExchange()
    /// The last will, sealed once, when the session began to send.
    var will: [UInt8]?

    /// A sealed datagram. The caller sees to it that no counter is used for two different ones.
    func seal(_ frames: [Frame], counter: UInt64) -> [UInt8] {
        let header = SealedDatagram.header(
            receiverIndex: remoteIndex, counter: UInt32(truncatingIfNeeded: counter))
        return header + keys.send.seal(Frames.encode(frames), counter: counter, associatedData: header)
    }

    var personID: PersonID { PersonID(chat: chat, key: key) }

    /// Whether it may still be sealed with.
    var canSend: Bool { nextCounter <= Limits.highestOrdinaryCounter }

    var nextDeadline: Instant? {
        switch phase {
        case .unconfirmed(let unconfirmed): unconfirmed.expires
        case .greeting(let greeting): earliest(greeting.expires, hello.nextRepeat)
        case .linked: earliest(hello.nextRepeat, retirement, createdAt + Limits.sessionLifetime)
        }
    }

    /// When an older session stops to receive.
    var retirement: Instant? {
        supersededAt.map { max($0, lastReceived) + Limits.supersededLifetime }
    }
}

/// Which hellos went out on a session, and when the next is due.
struct HelloExchange {
    private(set) var lastSent: Hello?
    private(set) var nextRepeat: Instant?
    private var lastSentAt: Instant?
    private var answers = 0
    private var hasPeerHello = false

    /// Whether every datagram without a message still has to carry our hello.
    var isOutstanding: Bool { nextRepeat != nil }

    /// The session is complete: hellos go out until the peer has shown that it got ours.
    mutating func begin(_ now: Instant) {
        nextRepeat = now
    }

    /// A newer session sends from now on.
    mutating func end() { nextRepeat = nil }

    mutating func sent(_ hello: Hello, now: Instant) {
        lastSent = hello
        lastSentAt = now
        guard nextRepeat != nil else { return }
        nextRepeat = now + Limits.helloInterval
    }

    /// Whether one that only repeats may go out again.
    func mayRepeat(_ now: Instant) -> Bool {
        lastSentAt.map { now - $0 >= Limits.helloAnswerInterval } ?? true
    }

    /// The peer's hello came.
    ///
    /// - Parameters:
    ///   - isHeld: Whether it says that the peer holds our stream.
    ///   - current: The hello that we would send now.
    /// - Returns: Whether ours has to go out at once.
    mutating func received(isHeld: Bool, current: Hello, now: Instant) -> Bool {
        let isFirst = !hasPeerHello
        hasPeerHello = true
        nextRepeat = isHeld ? nil : nextRepeat ?? now + Limits.helloInterval
        let sinceLast = lastSentAt.map { now - $0 }
        let isNew = lastSent != current
        let isRepeat = !isFirst && sinceLast.map { $0 >= Limits.helloAnswerInterval } ?? true
        guard isNew || isRepeat else { return false }
        // If twelve were lost, the peer must not wait for ever.
        let isLate = sinceLast.map { $0 >= Limits.lateHelloAnswerInterval } ?? true
        guard answers < Limits.helloAnswersPerSession || isLate else { return false }
        answers += 1
        return true
    }
}

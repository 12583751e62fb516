import InklingWire

/// How far opening a link to the addresses of one source has come.
enum Opening {
    /// Nothing to do: a live link covers the source, or its key is our own or blocked.
    case idle
    /// The next attempt begins then.
    case waiting(until: Instant)
    /// The peer said bye: whatever discovery says of it, the next attempt begins then (L-35).
    case resting(until: Instant)
    case attempting(Attempt)
    /// The handshake is complete, and the peer's hello is awaited on that session of ours. `since`: when it began.
    case greeting(UInt32, since: Instant)

    var isAttempting: Bool {
        if case .attempting = self { true } else { false }
    }

    /// Whether a handshake goes on: it waits for its response, or for the peer's hello.
    var isUnderWay: Bool {
        switch self {
        case .attempting, .greeting: true
        case .idle, .waiting, .resting: false
        }
    }

    var nextDeadline: Instant? {
        switch self {
        case .idle, .greeting: nil
        case .waiting(let until), .resting(let until): until
        case .attempting(let attempt): attempt.nextDeadline
        }
    }
}

/// A handshake that waits for its response (L-4).
struct Attempt {
    let initiation: Initiation
    let handshake: NoiseInitiator
    let startedAt: Instant
    /// When the following transmissions are due, the next first.
    private var transmissions: [Instant]
    /// Where the last transmission went and no retry was obeyed from since (L-13).
    private var unansweredAddresses: Set<Address> = []
    /// How many more responses from each address that transmissions went to are opened (L-49).
    private var responsesLeft: [Address: Int] = [:]

    init(_ initiation: Initiation, _ handshake: NoiseInitiator, now: Instant, _ effects: inout Effects) {
        self.initiation = initiation
        self.handshake = handshake
        startedAt = now
        transmissions = []
        var before = Duration.zero
        var last = now
        for offset in Limits.transmissionOffsets {
            last = effects.instant(after: last, offset - before, percent: Pace.jitter)
            before = offset
            transmissions.append(last)
        }
    }

    var index: UInt32 { initiation.senderIndex }
    /// Where any transmission went.
    var destinations: Set<Address> { Set(responsesLeft.keys) }
    var nextDeadline: Instant { earliest(transmissions.first, or: startedAt + Limits.attemptDuration) }

    /// What is due.
    enum Step: Equatable { case none, transmit, fail }

    func step(_ now: Instant) -> Step {
        if startedAt + Limits.attemptDuration <= now { return .fail }
        guard let next = transmissions.first, next <= now else { return .none }
        return .transmit
    }

    /// A transmission that is due goes out.
    mutating func takeTransmission() {
        if !transmissions.isEmpty { transmissions.removeFirst() }
    }

    /// A transmission that is due has to wait: the node has sent as many initiations as it may.
    mutating func putOff(until later: Instant) {
        if !transmissions.isEmpty { transmissions[0] = later }
    }

    mutating func transmitted(to addresses: [Address]) {
        unansweredAddresses = Set(addresses)
        for address in addresses { responsesLeft[address, default: 0] += Limits.responsesPerTransmission }
    }

    /// Whether a retry from that address would be obeyed.
    func obeysRetry(from address: Address) -> Bool { unansweredAddresses.contains(address) }

    /// A retry from that address is obeyed: once for each transmission.
    mutating func obeyRetry(from address: Address) {
        unansweredAddresses.remove(address)
        responsesLeft[address, default: 0] += Limits.responsesPerTransmission
    }

    /// Whether a transmission went to that address.
    func wasSent(to address: Address) -> Bool { responsesLeft[address] != nil }

    /// A response came from an address that a transmission went to: whether it may be opened (L-49).
    mutating func takeResponse(from address: Address) -> Bool {
        guard let left = responsesLeft[address], left > 0 else { return false }
        responsesLeft[address] = left - 1
        return true
    }
}

/// How fast the attempts of one opening follow one another (L-5).
enum Pace: Equatable {
    /// One after the other, for 90 s from the first handshake on. `since` is nil before that.
    case fast(since: Instant?, attempts: Int)
    /// One a minute.
    case slow(attempts: Int)

    /// No attempt was made.
    static let untried = Pace.fast(since: nil, attempts: 0)
    /// After a farewell, with an address by hand: the first attempt counts as made.
    static let afterFarewellByHand = Pace.fast(since: nil, attempts: 1)
    /// How far jitter moves what is due, in percent.
    static let jitter = (100 - Limits.openingJitterPercent)...(100 + Limits.openingJitterPercent)

    /// The asks and handshakes of this opening.
    var attempts: Int {
        switch self {
        case .fast(_, let attempts), .slow(let attempts): attempts
        }
    }

    // MARK: Inputs

    /// The key of an address by hand is asked for.
    mutating func asked() {
        switch self {
        case .fast(let since, let attempts): self = .fast(since: since, attempts: attempts + 1)
        case .slow(let attempts): self = .slow(attempts: attempts + 1)
        }
    }

    /// A handshake begins.
    mutating func attempted(_ now: Instant) {
        switch self {
        case .fast(let since, let attempts): self = .fast(since: since ?? now, attempts: attempts + 1)
        case .slow(let attempts): self = .slow(attempts: attempts + 1)
        }
    }

    /// The peer said farewell: it is tried again one attempt a minute.
    mutating func slowDown() { self = .slow(attempts: attempts) }

    /// A handshake failed.
    ///
    /// - Parameter leavingRoom: Whether other instances of the key wait for their turn (D-9).
    /// - Returns: The pause before the next, and what it is counted from: a fast one follows the end of the one before,
    ///   a slow one its beginning.
    func pause(
        afterAttemptAt began: Instant, _ now: Instant, leavingRoom: Bool = false
    ) -> (since: Instant, duration: Duration) {
        if case .fast(let since, let attempts) = self, since.map({ now - $0 < Limits.fastOpeningPeriod }) ?? true {
            let last = Limits.attemptPauses.count - 1
            let index = leavingRoom ? last : min(max(attempts - 1, 0), last)
            return (now, Limits.attemptPauses[index])
        }
        return (began, Limits.slowOpeningInterval)
    }

    /// The pause after an ask: doubling, then constant (D-11).
    var pauseAfterAsk: Duration {
        attempts < Limits.transmissionOffsets.count ? Limits.openingDelay * (1 << attempts) : Limits.askInterval
    }
}

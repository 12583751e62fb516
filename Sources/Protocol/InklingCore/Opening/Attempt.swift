import InklingWire

/// A handshake that waits for its response (L-4).
struct Attempt: Sendable {
    /// The reason for the attempt.
    enum Purpose: Equatable, Sendable {
        /// The opening of its key.
        case opening
        /// The remembered addresses of its key (D-23).
        case remembered
        /// A new session of that link (L-37, L-42).
        case link(LinkID)
        /// A response that named other epochs (L-65, L-66). The opening continues with this attempt if it caused the
        /// one before.
        case followUp(ofOpening: Bool)
    }

    let person: PersonID
    let purpose: Purpose
    /// The own epoch that its initiation names (L-64).
    let epoch: UInt32
    /// Whether some of what may be sent is kept for it (L-6).
    let isFavoured: Bool
    /// Its own candidates; an opening's are looked up at each transmission.
    let candidates: [Address]
    let handshake: PendingHandshake
    let startedAt: Instant
    /// When the following transmissions are due, the next first.
    private var transmissions: [Instant]
    /// The first address of the first transmission.
    private(set) var firstDestination: Address?
    /// Where the last transmission went and no retry was obeyed from since (L-13).
    private var unansweredAddresses: Set<Address> = []
    /// How many more responses from each address that transmissions went to are opened (L-49).
    private var responsesLeft: [Address: Int] = [:]

    init(
        _ person: PersonID, _ purpose: Purpose, epoch: UInt32, isFavoured: Bool, candidates: [Address],
        _ handshake: PendingHandshake, _ effects: inout Effects, now: Instant
    ) {
        self.person = person
        self.purpose = purpose
        self.epoch = epoch
        self.isFavoured = isFavoured
        self.candidates = candidates
        self.handshake = handshake
        startedAt = now
        transmissions = []
        var before = Duration.zero
        var last = now
        for offset in Limits.transmissions {
            last = effects.instant(after: last, offset - before, percent: Opening.jitter)
            before = offset
            transmissions.append(last)
        }
    }

    var initiation: Initiation { handshake.initiation }
    var index: UInt32 { initiation.senderIndex }
    var isRemembered: Bool { purpose == .remembered }
    var isFollowUp: Bool { if case .followUp = purpose { true } else { false } }
    /// Whether the opening of its key depends on this attempt.
    var isOfOpening: Bool { purpose == .opening || purpose == .followUp(ofOpening: true) }
    /// Where any transmission went.
    var destinations: Set<Address> { Set(responsesLeft.keys) }
    var nextDeadline: Instant { earliest(transmissions.first, or: startedAt + Limits.attempt) }

    /// The action that is due.
    enum Step: Equatable { case none, transmit, fail }

    func step(_ now: Instant) -> Step {
        if startedAt + Limits.attempt <= now { return .fail }
        guard let next = transmissions.first, next <= now else { return .none }
        return .transmit
    }

    /// Puts off a transmission that is due: the node has sent as many initiations as it may.
    mutating func putOff(until later: Instant) {
        if !transmissions.isEmpty { transmissions[0] = later }
    }

    /// A transmission that was due went out.
    mutating func transmitted(to addresses: [Address]) {
        if !transmissions.isEmpty { transmissions.removeFirst() }
        firstDestination = firstDestination ?? addresses.first
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

    /// Returns whether the node may open a response from a destination of the attempt, and counts the response then
    /// (L-49).
    mutating func takeResponse(from address: Address) -> Bool {
        guard let left = responsesLeft[address], left > 0 else { return false }
        responsesLeft[address] = left - 1
        return true
    }
}

import InklingWire

/// A handshake that waits for its response (L-4).
struct Attempt: Sendable {
    /// The reason for the attempt.
    enum Purpose: Equatable, Sendable {
        /// The opening of the person's key.
        case opening
        /// The person's remembered addresses (D-23).
        case remembered
        /// A new session of a link (L-37, L-42).
        case link(LinkID)
        /// A response with other epochs (L-65, L-66). If an opening's attempt received it, the opening continues with
        /// this attempt.
        case followUp(ofOpening: Bool)
    }

    let person: PersonID
    let purpose: Purpose
    /// This node's epoch in the initiation (L-64).
    let epoch: UInt32
    /// Whether the attempt may use the initiations that the node keeps for favoured people (L-6).
    let isFavoured: Bool
    /// The attempt's own candidates. An opening looks up its candidates at each transmission instead.
    let candidates: [Address]
    let handshake: PendingHandshake
    let startedAt: Instant
    /// The times of the following transmissions, the next first.
    private var transmissions: [Instant]
    /// The first address of the first transmission.
    private(set) var firstDestination: Address?
    /// The destinations of the last transmission from which the node has not accepted a retry yet (L-13).
    private var unansweredAddresses: Set<Address> = []
    /// The number of further responses that the node opens, by destination of a transmission (L-49).
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
    /// Whether the opening of the person's key depends on this attempt.
    var isOfOpening: Bool { purpose == .opening || purpose == .followUp(ofOpening: true) }
    /// The destinations of all transmissions so far.
    var destinations: Set<Address> { Set(responsesLeft.keys) }
    var nextDeadline: Instant { earliest(transmissions.first, or: startedAt + Limits.attempt) }

    /// The action that is due.
    enum Step: Equatable { case none, transmit, fail }

    func step(_ now: Instant) -> Step {
        if startedAt + Limits.attempt <= now { return .fail }
        guard let next = transmissions.first, next <= now else { return .none }
        return .transmit
    }

    /// Postpones a transmission that is due, because the node has reached its limit of initiations.
    mutating func putOff(until later: Instant) {
        if !transmissions.isEmpty { transmissions[0] = later }
    }

    /// Records that a due transmission went out.
    mutating func transmitted(to addresses: [Address]) {
        if !transmissions.isEmpty { transmissions.removeFirst() }
        firstDestination = firstDestination ?? addresses.first
        unansweredAddresses = Set(addresses)
        for address in addresses { responsesLeft[address, default: 0] += Limits.responsesPerTransmission }
    }

    /// Returns whether the node would accept a retry from an address.
    func obeysRetry(from address: Address) -> Bool { unansweredAddresses.contains(address) }

    /// Records an accepted retry from an address. Each transmission allows one.
    mutating func obeyRetry(from address: Address) {
        unansweredAddresses.remove(address)
        responsesLeft[address, default: 0] += Limits.responsesPerTransmission
    }

    /// Returns whether a transmission went to an address.
    func wasSent(to address: Address) -> Bool { responsesLeft[address] != nil }

    /// Returns whether the node may open a response from a destination of the attempt. If so, the response counts
    /// (L-49).
    mutating func takeResponse(from address: Address) -> Bool {
        guard let left = responsesLeft[address], left > 0 else { return false }
        responsesLeft[address] = left - 1
        return true
    }
}

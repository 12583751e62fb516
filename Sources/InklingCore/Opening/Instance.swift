import InklingWire

/// A set of candidate addresses of one peer in one chat, and how far opening a link to it has come.
struct Instance {
    enum Source: Hashable {
        /// A service instance that discovery lists, by its name.
        case discovered(String)
        /// An address given by hand.
        case byHand(Address)
        /// Where a peer was before it fell silent; forgotten at the given instant.
        case lastKnown(expires: Instant)
        /// A live link whose session is due for a new handshake.
        case renewal(LinkID)
    }

    enum Opening {
        /// Nothing to do: a live link covers it, or its key is our own or blocked.
        case idle
        /// The next attempt begins then.
        case waiting(until: Instant)
        /// The peer said bye: whatever discovery says of it, the next attempt begins then.
        case resting(until: Instant)
        case pending(Pending)
        /// The handshake is complete, and the peer's hello is awaited on that session.
        case greeting(UInt32)
    }

    /// A handshake that waits for its response.
    struct Pending {
        let initiation: Initiation
        let handshake: NoiseHandshake
        let startedAt: Instant
        /// When the following transmissions are due, the next first.
        var transmissions: [Instant]
        /// Where the last transmission went and no retry was obeyed from since.
        var unansweredAddresses: Set<Address> = []

        var ends: Instant { startedAt + Limits.attemptDuration }
    }

    let id: InstanceID
    let chat: ChatTag
    let source: Source
    /// The peer's static key; nil for a peer by hand that has not told it.
    var key: PublicKey?
    var addresses: [Address]
    /// All that discovery offered, usable or not: what is usable changes with our own networks.
    var offered: [Address] = []
    var opening = Opening.idle
    /// The attempts since the opening began.
    var attempts = 0
    var firstAttempt: Instant?
    var lastAttempt: Instant?
    /// Discovery no longer lists it.
    var isListed = true
    /// The live link that covers it.
    var link: LinkID?
    /// The token of the ask in flight, for a peer by hand.
    var askToken: UInt32?

    var nextDeadline: Instant? {
        let opening: Instant? =
            switch opening {
            case .idle, .greeting: nil
            case .waiting(let until), .resting(let until): until
            case .pending(let pending): earliest(pending.transmissions.first, pending.ends)
            }
        if case .lastKnown(let expires) = source { return earliest(expires, opening) }
        return opening
    }

    var personID: PersonID? { key.map { PersonID(chat: chat, key: $0) } }

    var isPending: Bool {
        if case .pending = opening { true } else { false }
    }

    var isByHand: Bool {
        if case .byHand = source { true } else { false }
    }

    /// After an attempt failed: the pause before the next, and what it is counted from.
    ///
    /// Fast attempts follow the end of the one before, slow ones its beginning.
    func pause(_ now: Instant) -> (since: Instant, duration: Duration) {
        if let firstAttempt, now - firstAttempt >= Limits.fastOpeningPeriod {
            return (lastAttempt ?? now, Limits.slowOpeningInterval)
        }
        let index = min(max(attempts - 1, 0), Limits.attemptPauses.count - 1)
        return (now, Limits.attemptPauses[index])
    }
}

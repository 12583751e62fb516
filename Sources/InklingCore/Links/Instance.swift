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
        /// The addresses that a retry was obeyed from since the last transmission.
        var obeyedRetries: Set<Address> = []

        var ends: Instant { startedAt + Limits.attemptDuration }
    }

    let id: InstanceID
    let chat: ChatTag
    let source: Source
    /// The peer's static key; nil for a peer by hand that has not told it.
    var key: PublicKey?
    var addresses: [Address]
    var opening = Opening.idle
    /// The attempts since the opening began.
    var attempts = 0
    var firstAttempt: Instant?
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
            case .waiting(let until): until
            case .pending(let pending): earliest(pending.transmissions.first, pending.ends)
            }
        if case .lastKnown(let expires) = source { return earliest(expires, opening) }
        return opening
    }

    var isPending: Bool {
        if case .pending = opening { true } else { false }
    }

    var isByHand: Bool {
        if case .byHand = source { true } else { false }
    }

    /// How long to wait after an attempt failed.
    func pause(_ now: Instant) -> Duration {
        if let firstAttempt, now - firstAttempt >= Limits.fastOpeningPeriod { return Limits.slowOpeningInterval }
        let index = min(max(attempts - 1, 0), Limits.attemptPauses.count - 1)
        return Limits.attemptPauses[index]
    }
}

import InklingWire

/// The two epochs that name a state, as one end sees them (L-68).
struct EpochPair: Hashable, Sendable {
    let own: UInt32
    let peer: UInt32
}

/// The run of this node in one chat, and its epochs there (L-58 to L-60).
struct Epochs: Sendable {
    /// The bytes of the run as a big-endian number.
    let run: UInt64
    /// The epoch of a key that the node has not dealt with.
    private(set) var counter: UInt32
    private var values: [PublicKey: UInt32] = [:]

    init(run: UInt64, counter: UInt32 = 0) {
        self.run = run
        self.counter = counter
    }

    /// The epoch of a key with which the node deals from now on (L-59).
    mutating func epoch(of key: PublicKey) -> UInt32 {
        if let value = values[key] { return value }
        values[key] = counter
        return counter
    }

    /// Gives a key another epoch, because a link with it was forgotten (L-60).
    ///
    /// - Returns: False if no epoch is left: the chat needs a new run.
    mutating func forget(_ key: PublicKey) -> Bool {
        guard counter < .max else { return false }
        counter += 1
        values[key] = counter
        return true
    }

    /// How many keys have an epoch of their own.
    var count: Int { values.count }

    /// Drops the epochs of keys that are not in use; they come back no lower (L-59).
    mutating func drop(where isUnused: (PublicKey) -> Bool) {
        values = values.filter { !isUnused($0.key) }
    }
}

/// The decisions on the epochs that a handshake names.
enum EpochRules {
    /// The epoch of a response; nil if the initiation is old (L-62, L-63).
    ///
    /// - Parameters:
    ///   - link: The pair of the link with the initiation's run.
    ///   - keyEpoch: The own epoch of the key.
    ///   - epoch: The one that the initiation names.
    static func answer(link: EpochPair?, keyEpoch: UInt32, epoch: UInt32) -> UInt32? {
        guard let link else { return keyEpoch }
        guard epoch >= link.peer else { return nil }
        return epoch == link.peer ? link.own : keyEpoch
    }

    /// The effect of a session that joins (L-68).
    enum Joining: Equatable {
        /// A new link begins.
        case make
        case join
        /// A new state begins in place of the link's.
        case replace
        case drop
    }

    static func join(link: EpochPair?, _ pair: EpochPair) -> Joining {
        guard let link else { return .make }
        if pair.own < link.own || pair.peer < link.peer { return .drop }
        return pair == link ? .join : .replace
    }

    /// The effect of a response that opened.
    enum Response: Equatable {
        case joining(Joining)
        /// A handshake with that epoch goes to the same address (L-65, L-66).
        case handshake(epoch: UInt32)
        /// The peer's state is one from before: the link ends (L-95).
        case forget
        case drop
    }

    /// - Parameters:
    ///   - link: The pair of the link with the response's run, and whether it is down.
    ///   - isFollowUp: Whether the initiation was itself caused by L-65 or L-66.
    static func response(
        link: (pair: EpochPair, isDown: Bool)?, keyEpoch: UInt32, named own: UInt32, peer: UInt32, isFollowUp: Bool
    ) -> Response {
        let present = link?.pair.own ?? keyEpoch
        guard own == present else { return isFollowUp ? .drop : .handshake(epoch: present) }
        if let link, link.isDown, peer < link.pair.peer { return .forget }
        return .joining(join(link: link?.pair, EpochPair(own: own, peer: peer)))
    }
}

import InklingWire

/// The two epochs that identify a state, as one of its two nodes sees them (L-68).
struct EpochPair: Hashable, Sendable {
    let own: UInt32
    let peer: UInt32
}

/// The run of this node in one chat, and its epochs there (L-58 to L-60).
struct Epochs: Sendable {
    /// The run: 8 random bytes as a big-endian number.
    let run: UInt64
    /// The epoch for keys that the node has not dealt with yet.
    private(set) var counter: UInt32
    private var values: [PublicKey: UInt32] = [:]

    init(run: UInt64, counter: UInt32 = 0) {
        self.run = run
        self.counter = counter
    }

    /// Returns the node's own epoch for a key. From now on the node uses it with the key (L-59).
    mutating func epoch(of key: PublicKey) -> UInt32 {
        if let value = values[key] { return value }
        values[key] = counter
        return counter
    }

    /// Gives a key another epoch, because the node forgot a link with it (L-60).
    ///
    /// - Returns: False if no epoch is left and the chat needs a new run.
    mutating func forget(_ key: PublicKey) -> Bool {
        guard counter < .max else { return false }
        counter += 1
        values[key] = counter
        return true
    }

    /// The number of keys that have their own epoch.
    var count: Int { values.count }

    /// Drops the epochs of unused keys. A later epoch of such a key is not lower (L-59).
    mutating func drop(where isUnused: (PublicKey) -> Bool) {
        values = values.filter { !isUnused($0.key) }
    }
}

/// The decisions about the epochs in a handshake.
enum EpochRules {
    /// Returns the epoch for a response; nil if the initiation is outdated (L-62, L-63).
    ///
    /// - Parameters:
    ///   - link: The epochs of the link with the initiation's run.
    ///   - keyEpoch: The node's own epoch for the key.
    ///   - epoch: The epoch in the initiation.
    static func answer(link: EpochPair?, keyEpoch: UInt32, epoch: UInt32) -> UInt32? {
        guard let link else { return keyEpoch }
        guard epoch >= link.peer else { return nil }
        return epoch == link.peer ? link.own : keyEpoch
    }

    /// The effect of a session that joins (L-68).
    enum Joining: Equatable {
        /// The session makes a new link.
        case make
        case join
        /// The session begins a new state of the link.
        case replace
        case drop
    }

    static func join(link: EpochPair?, _ pair: EpochPair) -> Joining {
        guard let link else { return .make }
        if pair.own < link.own || pair.peer < link.peer { return .drop }
        return pair == link ? .join : .replace
    }

    /// The consequence of a response that opened.
    enum Response: Equatable {
        case joining(Joining)
        /// The node begins a handshake with that epoch, at the same address (L-65, L-66).
        case handshake(epoch: UInt32)
        /// The peer's state is older than the link's, so the link ends (L-95).
        case forget
        case drop
    }

    /// Decides on a response that opened.
    ///
    /// - Parameters:
    ///   - link: The epochs of the link with the response's run, and whether the link is down.
    ///   - isFollowUp: Whether the node began this handshake itself because of L-65 or L-66.
    static func response(
        link: (pair: EpochPair, isDown: Bool)?, keyEpoch: UInt32, named own: UInt32, peer: UInt32, isFollowUp: Bool
    ) -> Response {
        let present = link?.pair.own ?? keyEpoch
        guard own == present else { return isFollowUp ? .drop : .handshake(epoch: present) }
        if let link, link.isDown, peer < link.pair.peer { return .forget }
        return .joining(join(link: link?.pair, EpochPair(own: own, peer: peer)))
    }
}

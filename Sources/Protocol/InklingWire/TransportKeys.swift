/// The keys of a session, one for each direction. They seal and open its datagrams (W-19).
package struct TransportKeys: Sendable {
    /// The key for datagrams that this node sends.
    package let send: CipherKey
    /// The key for datagrams that this node receives.
    package let receive: CipherKey
    /// The hash of the whole handshake, 32 bytes. Both sides have the same hash, and each session has a different one.
    package let handshakeHash: [UInt8]

    /// Wraps the results of a finished handshake.
    package init(send: CipherKey, receive: CipherKey, handshakeHash: [UInt8]) {
        self.send = send
        self.receive = receive
        self.handshakeHash = handshakeHash
    }

    /// Seals one or more frames as a datagram.
    ///
    /// - Parameters:
    ///   - receiverIndex: the index that the peer chose for this session.
    ///   - counter: the next counter of the state, at most 2^32 − 3 (W-20); a later one is the caller's bug.
    package func seal(_ frames: [Frame], receiverIndex: UInt32, counter: UInt32) -> SealedDatagram {
        precondition(counter <= Limits.lastCounter, "the counter is not an ordinary one")
        return SealedDatagram(frames, with: send, receiverIndex: receiverIndex, counter: counter)
    }

    /// Returns the last will of this session: a bye with reason 3 under the counter 2^32 − 1 (W-21, L-33).
    package func sealLastWill(receiverIndex: UInt32) -> SealedDatagram {
        SealedDatagram([.bye(.lastWill)], with: send, receiverIndex: receiverIndex, counter: Limits.lastWillCounter)
    }

    /// Opens a datagram of the peer, and returns its plaintext; throws `authentication` for any other datagram (W-23).
    package func open(_ sealed: SealedDatagram) throws(NoiseError) -> [UInt8] {
        try sealed.open(with: receive)
    }
}

/// The received counters of a state: marks for the 1,024 counters up to the highest (W-22). The window outlives the
/// state's sessions.
///
/// The window is a ring of blocks of 64 bits, after RFC 6479, with one block more than necessary. To advance, it clears
/// whole blocks and shifts no bits. A node checks, authenticates and then marks a counter (W-23).
package struct ReplayWindow: Sendable {
    /// The position of a counter relative to the window.
    package enum Place: Hashable, Sendable {
        /// The counter is above all marked ones. Its datagram is evidence (L-23).
        case newest
        /// The counter is below the highest one, and not marked yet.
        case older
        /// The counter is already marked. If the datagram completes a session, the link ends (L-93).
        case marked
        /// The counter lies 1,024 or more below the highest one.
        case tooOld
        /// The counter is reserved: 2^32 − 2, which is dropped, or the last will's (W-20, W-21).
        case reserved

        /// Whether a node accepts a datagram with such a counter.
        package var passes: Bool {
            switch self {
            case .newest, .older: true
            case .marked, .tooOld, .reserved: false
            }
        }
    }

    private static let blockCount = UInt32(Limits.replayWindow / 64 + 1)

    /// The highest marked counter; nil before the first mark.
    package private(set) var highest: UInt32?
    private var blocks = [UInt64](repeating: 0, count: Int(blockCount))

    /// Makes a window without marks.
    package init() {}

    /// Returns the position of a counter, without a change. The counter need not be authenticated.
    package func place(of counter: UInt32) -> Place {
        guard counter <= Limits.lastCounter else { return .reserved }
        guard let highest, counter <= highest else { return .newest }
        guard highest - counter < UInt32(Limits.replayWindow) else { return .tooOld }
        return blocks[ReplayWindow.index(of: counter)] & ReplayWindow.bit(of: counter) == 0 ? .older : .marked
    }

    /// Marks the counter of an authenticated datagram. A counter that does not pass changes nothing.
    ///
    /// - Returns: The position that the counter had before.
    @discardableResult
    package mutating func mark(_ counter: UInt32) -> Place {
        let place = place(of: counter)
        switch place {
        case .newest:
            // Blocks between the old highest counter and the new one hold bits of the ring's previous round.
            let cleared = min(counter / 64 - (highest ?? 0) / 64, ReplayWindow.blockCount)
            for step in 0..<cleared {
                blocks[ReplayWindow.index(of: counter - step * 64)] = 0
            }
            highest = counter
        case .older: break
        case .marked, .tooOld, .reserved: return place
        }
        blocks[ReplayWindow.index(of: counter)] |= ReplayWindow.bit(of: counter)
        return place
    }

    private static func index(of counter: UInt32) -> Int { Int(counter / 64 % blockCount) }

    private static func bit(of counter: UInt32) -> UInt64 { 1 << UInt64(counter % 64) }
}

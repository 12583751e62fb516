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
        return seal(Frames.encode(frames), receiverIndex, counter)
    }

    /// Returns the last will of this session: a bye with reason 3 under the counter 2^32 − 1 (W-21, L-33).
    package func sealLastWill(receiverIndex: UInt32) -> SealedDatagram {
        seal(Frames.encode([.bye(.lastWill)]), receiverIndex, Limits.lastWillCounter)
    }

    /// Opens a datagram of the peer, and returns its plaintext; throws `authentication` for any other datagram (W-23).
    package func open(_ sealed: SealedDatagram) throws(NoiseError) -> [UInt8] {
        try receive.open(sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
    }

    private func seal(_ plaintext: [UInt8], _ receiverIndex: UInt32, _ counter: UInt32) -> SealedDatagram {
        let header = SealedDatagram.header(receiverIndex: receiverIndex, counter: counter)
        let ciphertext = send.seal(plaintext, counter: UInt64(counter), associatedData: header)
        return SealedDatagram(receiverIndex: receiverIndex, counter: counter, ciphertext: ciphertext)
    }
}

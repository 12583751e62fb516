import Crypto

/// A ChaCha20-Poly1305 key, of one direction of a session or of one seal.
package struct CipherKey: Sendable {
    /// The size of the tag behind each ciphertext, in bytes.
    package static let tagSize = 16

    private static let nonceSize = 12

    private let key: SymmetricKey

    /// The key of 32 bytes; another count is the caller's bug.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 32, "a cipher key has 32 bytes")
        key = SymmetricKey(data: bytes)
    }

    /// Returns the ciphertext of `plaintext`, with the tag of 16 bytes behind it.
    ///
    /// - Parameter counter: the nonce; the caller never uses one twice for different content.
    package func seal(_ plaintext: [UInt8], counter: UInt64, associatedData: [UInt8]) -> [UInt8] {
        do {
            let nonce = try ChaChaPoly.Nonce(data: CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize))
            let box = try ChaChaPoly.seal(plaintext, using: key, nonce: nonce, authenticating: associatedData)
            return box.combined.withUnsafeBytes { Array($0.dropFirst(CipherKey.nonceSize)) }
        } catch {
            preconditionFailure("sealing fails only for a wrong size of key or nonce")
        }
    }

    /// Returns the plaintext of a ciphertext with its tag; throws `length` or `authentication`.
    package func open(
        _ ciphertext: [UInt8], counter: UInt64, associatedData: [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        guard ciphertext.count >= CipherKey.tagSize else { throw .length }
        // In one piece, because the library copies a box three times that it puts together from its parts.
        var combined = CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize + ciphertext.count)
        combined.append(contentsOf: ciphertext)
        do {
            let box = try ChaChaPoly.SealedBox(combined: combined)
            return try ChaChaPoly.open(box, using: key, authenticating: associatedData).withUnsafeBytes { Array($0) }
        } catch {
            throw .authentication
        }
    }

    /// Four zero bytes and the counter, little-endian unlike all other numbers (W-1, W-19).
    private static func nonceBytes(_ counter: UInt64, capacity: Int) -> [UInt8] {
        var nonce: [UInt8] = []
        nonce.reserveCapacity(capacity)
        for _ in 0..<4 { nonce.append(0) }
        for index in 0..<8 { nonce.append(UInt8(truncatingIfNeeded: counter >> UInt64(8 * index))) }
        return nonce
    }
}

/// The keys of a session, one for each direction, and the sealing of datagrams under them (W-19).
package struct TransportKeys: Sendable {
    /// The key of what this node sends.
    package let send: CipherKey
    /// The key of what this node receives.
    package let receive: CipherKey
    /// The hash of the whole handshake, 32 bytes, equal on both sides and in no other session.
    package let handshakeHash: [UInt8]

    /// Returns the datagram of one or more frames.
    ///
    /// - Parameters:
    ///   - receiverIndex: the index that the peer gave out for this session.
    ///   - counter: the next counter of the state, at most 2^32 − 3 (W-20); a later one is the caller's bug.
    package func seal(_ frames: [Frame], receiverIndex: UInt32, counter: UInt32) -> SealedDatagram {
        precondition(counter <= Limits.lastCounter, "the counter is not an ordinary one")
        return seal(Frames.encode(frames), receiverIndex, counter)
    }

    /// Returns the last will of this session: a bye of reason 3 under the counter 2^32 − 1 (W-21, L-33).
    package func sealLastWill(receiverIndex: UInt32) -> SealedDatagram {
        seal(Frames.encode([.bye(.lastWill)]), receiverIndex, Limits.lastWillCounter)
    }

    /// Returns the plaintext of a datagram of the peer; throws `authentication` for any other datagram (W-23).
    package func open(_ sealed: SealedDatagram) throws(NoiseError) -> [UInt8] {
        try receive.open(sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
    }

    private func seal(_ plaintext: [UInt8], _ receiverIndex: UInt32, _ counter: UInt32) -> SealedDatagram {
        let header = SealedDatagram.header(receiverIndex: receiverIndex, counter: counter)
        let ciphertext = send.seal(plaintext, counter: UInt64(counter), associatedData: header)
        return SealedDatagram(receiverIndex: receiverIndex, counter: counter, ciphertext: ciphertext)
    }
}

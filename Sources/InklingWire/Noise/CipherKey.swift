import Crypto

/// A ChaCha20-Poly1305 key of one direction; the counters are the caller's.
package struct CipherKey: Sendable {
    /// The size of the tag behind each ciphertext, in bytes.
    package static let tagSize = 16

    private static let nonceSize = 12

    private let key: SymmetricKey

    /// The key of 32 bytes: another count is the caller's bug.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 32, "a cipher key has 32 bytes")
        key = SymmetricKey(data: bytes)
    }

    /// The ciphertext of `plaintext`, and behind it the tag of 16 bytes.
    ///
    /// - Parameter counter: must never be used twice with this key for different content.
    package func seal(_ plaintext: [UInt8], counter: UInt64, associatedData: [UInt8]) -> [UInt8] {
        do {
            let nonce = try ChaChaPoly.Nonce(data: CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize))
            let box = try ChaChaPoly.seal(plaintext, using: key, nonce: nonce, authenticating: associatedData)
            return box.combined.withUnsafeBytes { Array($0.dropFirst(CipherKey.nonceSize)) }
        } catch {
            preconditionFailure("sealing fails only for a wrong size of key or nonce")
        }
    }

    /// The plaintext of a ciphertext with its tag.
    package func open(
        _ ciphertext: [UInt8], counter: UInt64, associatedData: [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        guard ciphertext.count >= CipherKey.tagSize else { throw .length }
        // In one piece: a box that is put together from nonce, ciphertext and tag is copied three times.
        var combined = CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize + ciphertext.count)
        combined.append(contentsOf: ciphertext)
        do {
            let box = try ChaChaPoly.SealedBox(combined: combined)
            return try ChaChaPoly.open(box, using: key, authenticating: associatedData).withUnsafeBytes { Array($0) }
        } catch {
            throw .authentication
        }
    }

    /// Four zero bytes, then the counter little-endian: unlike every other number, as Noise has it (W-19).
    private static func nonceBytes(_ counter: UInt64, capacity: Int) -> [UInt8] {
        var nonce: [UInt8] = []
        nonce.reserveCapacity(capacity)
        for _ in 0..<4 { nonce.append(0) }
        for index in 0..<8 { nonce.append(UInt8(truncatingIfNeeded: counter >> UInt64(8 * index))) }
        return nonce
    }
}

/// What a handshake leaves: a key for each direction.
package struct TransportKeys: Sendable {
    /// Seals what we send.
    package let send: CipherKey
    /// Opens what we receive.
    package let receive: CipherKey
    /// The hash of the whole handshake, 32 bytes, the same on both sides and in no other session.
    package let handshakeHash: [UInt8]
}

import Crypto

/// A ChaCha20-Poly1305 key of one direction; the counters are the caller's.
package struct CipherKey: Sendable {
    /// The size of the tag behind each ciphertext, in bytes.
    package static let tagSize = 16

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
            let box = try ChaChaPoly.seal(
                plaintext, using: key, nonce: try CipherKey.nonce(counter), authenticating: associatedData)
            return box.combined.withUnsafeBytes { Array($0.dropFirst(12)) }
        } catch {
            preconditionFailure("sealing fails only for a wrong size of key or nonce")
        }
    }

    /// The plaintext of a ciphertext with its tag.
    package func open(
        _ ciphertext: [UInt8], counter: UInt64, associatedData: [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        guard ciphertext.count >= CipherKey.tagSize else { throw .length }
        let end = ciphertext.count - CipherKey.tagSize
        do {
            let box = try ChaChaPoly.SealedBox(
                nonce: try CipherKey.nonce(counter), ciphertext: ciphertext[..<end], tag: ciphertext[end...])
            return try ChaChaPoly.open(box, using: key, authenticating: associatedData).withUnsafeBytes { Array($0) }
        } catch {
            throw .authentication
        }
    }

    /// Four zero bytes, then the counter little-endian: unlike every other number, as Noise has it (W-19).
    private static func nonce(_ counter: UInt64) throws -> ChaChaPoly.Nonce {
        var nonce = [UInt8](repeating: 0, count: 12)
        for index in 0..<8 {
            nonce[4 + index] = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index))
        }
        return try ChaChaPoly.Nonce(data: nonce)
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

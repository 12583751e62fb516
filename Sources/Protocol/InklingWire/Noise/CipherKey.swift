import Crypto

/// A ChaCha20-Poly1305 key, either of one direction of a session or of one seal.
package struct CipherKey: Sendable {
    /// The size of the tag behind each ciphertext, in bytes.
    package static let tagSize = 16

    private static let nonceSize = 12

    private let key: SymmetricKey

    /// Wraps a key of 32 bytes; another count is the caller's bug.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 32, "a cipher key has 32 bytes")
        key = SymmetricKey(data: bytes)
    }

    /// Returns the ciphertext of `plaintext`, followed by the tag of 16 bytes.
    ///
    /// - Parameter counter: the nonce. The caller never uses the same nonce for two different plaintexts.
    package func seal(_ plaintext: [UInt8], counter: UInt64, associatedData: [UInt8]) -> [UInt8] {
        do {
            let nonce = try ChaChaPoly.Nonce(data: CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize))
            let box = try ChaChaPoly.seal(plaintext, using: key, nonce: nonce, authenticating: associatedData)
            return box.combined.withUnsafeBytes { Array($0.dropFirst(CipherKey.nonceSize)) }
        } catch {
            preconditionFailure("sealing fails only for a wrong size of key or nonce")
        }
    }

    /// Opens a ciphertext with its tag; throws `length` or `authentication`.
    package func open(
        _ ciphertext: [UInt8], counter: UInt64, associatedData: [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        guard ciphertext.count >= CipherKey.tagSize else { throw .length }
        // One array, because the library copies the bytes three times if a box is made from separate parts.
        var combined = CipherKey.nonceBytes(counter, capacity: CipherKey.nonceSize + ciphertext.count)
        combined.append(contentsOf: ciphertext)
        do {
            let box = try ChaChaPoly.SealedBox(combined: combined)
            return try ChaChaPoly.open(box, using: key, authenticating: associatedData).withUnsafeBytes { Array($0) }
        } catch {
            throw .authentication
        }
    }

    /// Returns a nonce: four zero bytes and the counter. The counter is little-endian, unlike all other numbers (W-1,
    /// W-19).
    private static func nonceBytes(_ counter: UInt64, capacity: Int) -> [UInt8] {
        var nonce: [UInt8] = []
        nonce.reserveCapacity(capacity)
        for _ in 0..<4 { nonce.append(0) }
        for index in 0..<8 { nonce.append(UInt8(truncatingIfNeeded: counter >> UInt64(8 * index))) }
        return nonce
    }
}

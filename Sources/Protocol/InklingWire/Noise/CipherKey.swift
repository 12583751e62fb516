import CSodium

/// A ChaCha20-Poly1305 key, either of one direction of a session or of one seal.
package struct CipherKey: Sendable {
    /// The size of the tag behind each ciphertext, in bytes.
    package static let tagSize = 16

    private static let nonceSize = 12

    private let key: SecretBytes

    /// Copies a key of 32 bytes; another count is the caller's bug.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 32, "a cipher key has 32 bytes")
        key = SecretBytes(bytes)
    }

    /// Returns the ciphertext of `plaintext`, followed by the tag of 16 bytes.
    ///
    /// - Parameter counter: the nonce. The caller never uses the same nonce for two different plaintexts.
    package func seal(_ plaintext: [UInt8], counter: UInt64, associatedData: [UInt8]) -> [UInt8] {
        var ciphertext = [UInt8](repeating: 0, count: plaintext.count + CipherKey.tagSize)
        CipherKey.withNonce(counter) { nonce in
            _ = crypto_aead_chacha20poly1305_ietf_encrypt(
                &ciphertext, nil, plaintext, UInt64(plaintext.count), associatedData, UInt64(associatedData.count), nil,
                nonce, key.start)
        }
        return ciphertext
    }

    /// Opens a ciphertext with its tag; throws `length` or `authentication`.
    package func open(
        _ ciphertext: [UInt8], counter: UInt64, associatedData: [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        guard ciphertext.count >= CipherKey.tagSize else { throw .length }
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count - CipherKey.tagSize)
        let status = CipherKey.withNonce(counter) { nonce in
            crypto_aead_chacha20poly1305_ietf_decrypt(
                &plaintext, nil, nil, ciphertext, UInt64(ciphertext.count), associatedData,
                UInt64(associatedData.count), nonce, key.start)
        }
        guard status == 0 else { throw .authentication }
        return plaintext
    }

    /// Passes a nonce of 12 bytes: four zero bytes and the counter. The counter is little-endian, unlike all other
    /// numbers (W-1, W-19).
    private static func withNonce<Result>(_ counter: UInt64, _ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        let words = (UInt32(0), UInt32(truncatingIfNeeded: counter).littleEndian, UInt32(counter >> 32).littleEndian)
        return withUnsafePointer(to: words) { words in
            words.withMemoryRebound(to: UInt8.self, capacity: CipherKey.nonceSize, body)
        }
    }
}

/// The chaining key, hash and cipher of a handshake (Noise, section 5.2).
package struct SymmetricState: Sendable {
    private var chainingKey: [UInt8]
    /// The hash of all handshake data so far, 32 bytes.
    package private(set) var hash: [UInt8]
    // Nil until the handshake mixes in its first key.
    private var cipher: (key: CipherKey, counter: UInt64)?

    /// Begins a handshake with this prologue. The initiator knows the responder's static key (W-38).
    package init(prologue: [UInt8], responder: PublicKey) {
        hash = SHA256.hash(Array("Noise_IKpsk2_25519_ChaChaPoly_SHA256".utf8))
        chainingKey = hash
        mixHash(prologue)
        mixHash(responder.bytes)
    }

    /// Mixes bytes into the hash only.
    package mutating func mixHash(_ bytes: [UInt8]) {
        hash = SHA256.hash(hash + bytes)
    }

    /// Mixes an X25519 result or an ephemeral key into the chaining key, and sets the cipher.
    package mutating func mixKey(_ material: [UInt8]) {
        let outputs = derive(material, count: 2)
        chainingKey = outputs[0]
        cipher = (CipherKey(bytes: outputs[1]), 0)
    }

    /// Mixes the pre-shared key into the chaining key and the hash, and sets the cipher.
    package mutating func mixKeyAndHash(_ material: [UInt8]) {
        let outputs = derive(material, count: 3)
        chainingKey = outputs[0]
        mixHash(outputs[1])
        cipher = (CipherKey(bytes: outputs[2]), 0)
    }

    /// Mixes an ephemeral key into the hash. Because the handshake has a pre-shared key, the chaining key takes it too
    /// (Noise, section 9.2).
    package mutating func mixEphemeral(_ key: [UInt8]) {
        mixHash(key)
        mixKey(key)
    }

    /// Mixes in the X25519 result of this node's key pair and the peer's key of 32 bytes; throws `invalidKey` for a
    /// zero result (W-4).
    package mutating func mixSharedSecret(_ own: KeyPair, _ other: [UInt8]) throws(NoiseError) {
        guard let secret = own.sharedSecret(with: other) else { throw .invalidKey }
        mixKey(secret)
    }

    /// Encrypts the next part of a message.
    package mutating func encryptAndHash(_ plaintext: [UInt8]) -> [UInt8] {
        let (key, counter) = nextCipher()
        let ciphertext = key.seal(plaintext, counter: counter, associatedData: hash)
        mixHash(ciphertext)
        return ciphertext
    }

    /// Decrypts the next part of a message.
    package mutating func decryptAndHash(_ ciphertext: [UInt8]) throws(NoiseError) -> [UInt8] {
        let (key, counter) = nextCipher()
        let plaintext = try key.open(ciphertext, counter: counter, associatedData: hash)
        mixHash(ciphertext)
        return plaintext
    }

    /// Returns the transport keys: one for the initiator's datagrams, and one for the responder's.
    package func split() -> (initiator: CipherKey, responder: CipherKey) {
        let outputs = derive([], count: 2)
        return (CipherKey(bytes: outputs[0]), CipherKey(bytes: outputs[1]))
    }

    private mutating func nextCipher() -> (key: CipherKey, counter: UInt64) {
        guard let current = cipher else { preconditionFailure("this pattern mixes a key before it encrypts") }
        cipher = (current.key, current.counter + 1)
        return current
    }

    /// Returns the 2 or 3 outputs of Noise's HKDF, 32 bytes each.
    private func derive(_ material: [UInt8], count: Int) -> [[UInt8]] {
        let secret = HMACKey(HMACKey(chainingKey).code(material))
        var outputs: [[UInt8]] = []
        for index in 1...count {
            outputs.append(secret.code((outputs.last ?? []) + [UInt8(index)]))
        }
        return outputs
    }
}

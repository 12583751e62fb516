import Crypto

/// The chaining key, the hash and the cipher of a handshake under way (Noise, section 5).
package struct SymmetricState: Sendable {
    private var chainingKey: [UInt8]
    package private(set) var hash: [UInt8]
    // A cipher and its counter come together, when the first key is mixed in.
    private var cipher: (key: CipherKey, counter: UInt64)?

    /// The state of a handshake of that protocol name and prologue, with the responder's static key known.
    package init(usesPreSharedKey: Bool, prologue: [UInt8], responder: PublicKey) {
        let name = usesPreSharedKey ? "Noise_IKpsk2_25519_ChaChaPoly_SHA256" : "Noise_IK_25519_ChaChaPoly_SHA256"
        let bytes = Array(name.utf8)
        // A name of at most 32 bytes is padded, a longer one hashed.
        hash =
            bytes.count <= 32
            ? bytes + Array(repeating: 0, count: 32 - bytes.count) : Array(SHA256.hash(data: bytes))
        chainingKey = hash
        mixHash(prologue)
        mixHash(responder.bytes)
    }

    /// Mixes bytes into the hash alone.
    package mutating func mixHash(_ bytes: [UInt8]) {
        var hasher = SHA256()
        hasher.update(data: hash)
        hasher.update(data: bytes)
        hash = Array(hasher.finalize())
    }

    /// Mixes an X25519 result, or an ephemeral key, into the keys.
    package mutating func mixKey(_ material: [UInt8]) {
        let outputs = derive(material, count: 2)
        chainingKey = outputs[0]
        cipher = (CipherKey(bytes: outputs[1]), 0)
    }

    /// Mixes the pre-shared key into both.
    package mutating func mixKeyAndHash(_ material: [UInt8]) {
        let outputs = derive(material, count: 3)
        chainingKey = outputs[0]
        mixHash(outputs[1])
        cipher = (CipherKey(bytes: outputs[2]), 0)
    }

    /// Mixes in an X25519 result.
    mutating func mixSharedSecret(_ own: KeyPair, _ other: [UInt8]) throws(NoiseError) {
        guard let secret = own.sharedSecret(with: other) else { throw .invalidKey }
        mixKey(secret)
    }

    /// Seals the next part of a message.
    package mutating func encryptAndHash(_ plaintext: [UInt8]) -> [UInt8] {
        let (key, counter) = nextCipher()
        let ciphertext = key.seal(plaintext, counter: counter, associatedData: hash)
        mixHash(ciphertext)
        return ciphertext
    }

    /// Opens the next part of a message.
    package mutating func decryptAndHash(_ ciphertext: [UInt8]) throws(NoiseError) -> [UInt8] {
        let (key, counter) = nextCipher()
        let plaintext = try key.open(ciphertext, counter: counter, associatedData: hash)
        mixHash(ciphertext)
        return plaintext
    }

    /// The keys of both directions: the initiator's comes first.
    func split() -> (initiator: CipherKey, responder: CipherKey) {
        let outputs = derive([], count: 2)
        return (CipherKey(bytes: outputs[0]), CipherKey(bytes: outputs[1]))
    }

    private mutating func nextCipher() -> (key: CipherKey, counter: UInt64) {
        guard let current = cipher else { preconditionFailure("these patterns mix a key before they encrypt") }
        cipher = (current.key, current.counter + 1)
        return current
    }

    /// The 2 or 3 outputs of Noise's HKDF, 32 bytes each.
    private func derive(_ material: [UInt8], count: Int) -> [[UInt8]] {
        func code(_ key: [UInt8], _ data: [UInt8]) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: key)))
        }
        let secret = code(chainingKey, material)
        var outputs: [[UInt8]] = []
        for index in 1...count {
            outputs.append(code(secret, (outputs.last ?? []) + [UInt8(index)]))
        }
        return outputs
    }
}

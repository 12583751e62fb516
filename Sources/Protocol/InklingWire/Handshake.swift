import CSodium

/// The run and the epoch in a node's handshake message (W-18, L-58, L-59).
package struct RunAndEpoch: Hashable, Sendable {
    /// The run, 8 random bytes as a big-endian number. All values are valid.
    package let run: UInt64
    /// The node's epoch in the state that the new session will share.
    package let epoch: UInt32

    /// Makes a pair of a run and an epoch.
    package init(run: UInt64, epoch: UInt32) {
        self.run = run
        self.epoch = epoch
    }

    fileprivate init?(_ reader: inout ByteReader) {
        guard let run = reader.uint64(), let epoch = reader.uint32(), reader.remaining == 0 else { return nil }
        self.init(run: run, epoch: epoch)
    }

    fileprivate var bytes: [UInt8] { run.bigEndianBytes + epoch.bigEndianBytes }
}

/// A handshake that its initiator has begun and the responder has not answered yet (W-38). The initiator repeats the
/// same initiation (L-4).
package struct PendingHandshake: Sendable {
    /// The initiation without a cookie.
    package let initiation: Initiation
    private let identity: KeyPair
    private let ephemeral: KeyPair
    private let preSharedKey: [UInt8]
    private let state: SymmetricState

    /// Begins a handshake with the node that holds the key `remote`; throws `invalidKey` for a zero X25519 result
    /// (W-4).
    ///
    /// - Parameters:
    ///   - ephemeral: a pair for this handshake alone.
    ///   - senderIndex: a random index that this node does not use yet (W-16).
    ///   - own: the node's run, and the epoch that L-64 gives.
    package init(
        chat: ChatKeys, identity: KeyPair, ephemeral: KeyPair, remote: PublicKey, senderIndex: UInt32,
        own: RunAndEpoch
    ) throws(NoiseError) {
        var state = SymmetricState(prologue: chat.prologue(senderIndex: senderIndex), responder: remote)
        state.mixEphemeral(ephemeral.publicKey.bytes)
        try state.mixSharedSecret(ephemeral, remote.bytes)
        let sealedIdentity = state.encryptAndHash(identity.publicKey.bytes)
        try state.mixSharedSecret(identity, remote.bytes)
        let noise = ephemeral.publicKey.bytes + sealedIdentity + state.encryptAndHash(own.bytes)
        initiation = chat.initiation(senderIndex: senderIndex, noise: noise)
        self.identity = identity
        self.ephemeral = ephemeral
        preSharedKey = chat.preSharedKey
        self.state = state
    }

    /// Completes the handshake with a response. Throws `authentication` or `invalidKey`; the handshake then stays
    /// pending (L-7).
    ///
    /// - Returns: the responder's index, run and epoch, and the keys of the session.
    package func complete(
        _ response: Response
    ) throws(NoiseError) -> (index: UInt32, peer: RunAndEpoch, keys: TransportKeys) {
        var message = ByteReader(response.noise)
        guard let remoteEphemeral = message.take(Limits.keySize) else { throw .length }
        var state = state
        state.mixEphemeral(remoteEphemeral)
        try state.mixSharedSecret(ephemeral, remoteEphemeral)
        try state.mixSharedSecret(identity, remoteEphemeral)
        state.mixKeyAndHash(preSharedKey)
        var payload = ByteReader(try state.decryptAndHash(message.rest()))
        guard let index = payload.uint32(), let peer = RunAndEpoch(&payload) else { throw .length }
        let keys = state.split()
        return (index, peer, TransportKeys(send: keys.initiator, receive: keys.responder, handshakeHash: state.hash))
    }
}

/// A handshake at its responder, after Noise message 1. The node decides by key, run and epoch whether to respond
/// (L-8).
package struct ReceivedHandshake: Sendable {
    /// The initiator's static key. An attacker can replay a recorded initiation, so the key does not prove that the
    /// initiator is present (L-12).
    package let remote: PublicKey
    /// The initiator's run and epoch.
    package let peer: RunAndEpoch

    private let senderIndex: UInt32
    private let remoteEphemeral: [UInt8]
    private let preSharedKey: [UInt8]
    private let state: SymmetricState

    /// Opens an initiation whose check belongs to `chat` (L-8, steps 6 and 7).
    ///
    /// Throws `authentication` for a message that does not open, `invalidKey` by W-3 and W-4, and `ownKey` by D-7.
    ///
    /// - Parameter takesOwnKey: Whether another device of the identity may initiate (M-94).
    package init(
        _ initiation: Initiation, chat: ChatKeys, identity: KeyPair, takesOwnKey: Bool = false
    ) throws(NoiseError) {
        var message = ByteReader(initiation.noise)
        guard
            let remoteEphemeral = message.take(Limits.keySize),
            let sealedIdentity = message.take(Limits.keySize + CipherKey.tagSize)
        else { throw .length }
        var state = SymmetricState(
            prologue: chat.prologue(senderIndex: initiation.senderIndex), responder: identity.publicKey)
        state.mixEphemeral(remoteEphemeral)
        try state.mixSharedSecret(identity, remoteEphemeral)
        guard let remote = PublicKey(try state.decryptAndHash(sealedIdentity)) else { throw .invalidKey }
        guard takesOwnKey || remote != identity.publicKey else { throw .ownKey }
        try state.mixSharedSecret(identity, remote.bytes)
        var payload = ByteReader(try state.decryptAndHash(message.rest()))
        guard let peer = RunAndEpoch(&payload) else { throw .length }
        self.remote = remote
        self.peer = peer
        senderIndex = initiation.senderIndex
        self.remoteEphemeral = remoteEphemeral
        preSharedKey = chat.preSharedKey
        self.state = state
    }

    /// Returns the response and the keys of the session; throws `invalidKey` for a zero X25519 result (W-4).
    ///
    /// - Parameters:
    ///   - ephemeral: a pair for this handshake alone.
    ///   - index: a random index that this node does not use yet (W-16).
    ///   - own: the node's run, and the epoch that L-62 gives.
    package func respond(
        ephemeral: KeyPair, index: UInt32, own: RunAndEpoch
    ) throws(NoiseError) -> (response: Response, keys: TransportKeys) {
        var state = state
        state.mixEphemeral(ephemeral.publicKey.bytes)
        try state.mixSharedSecret(ephemeral, remoteEphemeral)
        try state.mixSharedSecret(ephemeral, remote.bytes)
        state.mixKeyAndHash(preSharedKey)
        let noise = ephemeral.publicKey.bytes + state.encryptAndHash(index.bigEndianBytes + own.bytes)
        let keys = state.split()
        return (
            Response(receiverIndex: senderIndex, noise: noise),
            TransportKeys(send: keys.responder, receive: keys.initiator, handshakeHash: state.hash)
        )
    }
}

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

    /// Returns `bytes` with those from `start` on sealed in place, and the tag at the end. The bytes before are the
    /// associated data.
    func seal(_ bytes: consuming [UInt8], from start: Int, counter: UInt64) -> [UInt8] {
        let size = bytes.count
        for _ in 0..<CipherKey.tagSize { bytes.append(0) }
        bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            CipherKey.withNonce(counter) { nonce in
                _ = crypto_aead_chacha20poly1305_ietf_encrypt(
                    base + start, nil, base + start, UInt64(size - start), base, UInt64(start), nil, nonce, key.start)
            }
        }
        return bytes
    }

    /// Opens the ciphertext with its tag that begins at `start`. The bytes before are the associated data.
    func open(_ bytes: [UInt8], from start: Int, counter: UInt64) throws(NoiseError) -> [UInt8] {
        guard bytes.count >= start + CipherKey.tagSize else { throw .length }
        var status: CInt = -1
        let plaintext = bytes.withUnsafeBufferPointer { buffer in
            [UInt8](unsafeUninitializedCapacity: bytes.count - start - CipherKey.tagSize) { plaintext, count in
                guard let base = buffer.baseAddress else { return }
                status = CipherKey.withNonce(counter) { nonce in
                    crypto_aead_chacha20poly1305_ietf_decrypt(
                        plaintext.baseAddress, nil, nil, base + start, UInt64(buffer.count - start), base,
                        UInt64(start), nonce, key.start)
                }
                count = status == 0 ? plaintext.count : 0
            }
        }
        guard status == 0 else { throw .authentication }
        return plaintext
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

/// The reason why a node refuses a handshake message, a sealed datagram or a sealed key. The error changes no state.
package enum NoiseError: String, Error, CaseIterable, Sendable {
    /// The message is shorter or longer than the Noise pattern permits.
    case length
    /// The tag is wrong: the key or counter differs, or bytes were altered (W-23).
    case authentication
    /// A key is not canonical (W-3), or an X25519 result is 32 zero bytes (W-4).
    case invalidKey
    /// The static key of the initiator is the responder's own (D-7).
    case ownKey
}

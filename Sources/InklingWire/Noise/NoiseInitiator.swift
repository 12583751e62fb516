/// The initiator of a handshake `IKpsk2` (or `IK`, without a pre-shared key), waiting for message 2.
///
/// Finishing changes nothing here, so a message that fails leaves the handshake as it was, for the genuine one.
package struct NoiseInitiator: Sendable {
    private let identity: KeyPair
    private let ephemeral: KeyPair
    private let preSharedKey: [UInt8]?
    private let state: SymmetricState

    /// Begins a handshake with the node that holds the key `remote`.
    ///
    /// - Parameters:
    ///   - ephemeral: a key pair that is used in this handshake alone.
    ///   - preSharedKey: 32 bytes, or nil for `IK`, which Inkling itself never uses.
    ///   - prologue: what both sides must agree on besides (W-17).
    ///   - payload: can be read without the pre-shared key, so Inkling leaves it empty (W-18).
    /// - Returns: the handshake, and message 1: 96 bytes and the payload.
    package static func initiate(
        identity: KeyPair, ephemeral: KeyPair, remote: PublicKey, preSharedKey: [UInt8]?, prologue: [UInt8],
        payload: [UInt8] = []
    ) throws(NoiseError) -> (handshake: NoiseInitiator, message: [UInt8]) {
        precondition(preSharedKey.map { $0.count == 32 } ?? true, "a pre-shared key has 32 bytes")
        let usesPreSharedKey = preSharedKey != nil
        var state = SymmetricState(usesPreSharedKey: usesPreSharedKey, prologue: prologue, responder: remote)
        state.mixEphemeral(ephemeral.publicKey.bytes, usesPreSharedKey: usesPreSharedKey)
        try state.mixSharedSecret(ephemeral, remote.bytes)
        let sealedIdentity = state.encryptAndHash(identity.publicKey.bytes)
        try state.mixSharedSecret(identity, remote.bytes)
        let message = ephemeral.publicKey.bytes + sealedIdentity + state.encryptAndHash(payload)
        let handshake = NoiseInitiator(
            identity: identity, ephemeral: ephemeral, preSharedKey: preSharedKey, state: state)
        return (handshake, message)
    }

    /// The payload of message 2, and the keys of the session.
    package func finish(_ message: [UInt8]) throws(NoiseError) -> (payload: [UInt8], keys: TransportKeys) {
        var reader = ByteReader(message)
        guard let remoteEphemeral = reader.take(32), reader.remaining >= CipherKey.tagSize else { throw .length }
        var state = state
        state.mixEphemeral(remoteEphemeral, usesPreSharedKey: preSharedKey != nil)
        try state.mixSharedSecret(ephemeral, remoteEphemeral)
        try state.mixSharedSecret(identity, remoteEphemeral)
        if let preSharedKey {
            state.mixKeyAndHash(preSharedKey)
        }
        let payload = try state.decryptAndHash(reader.rest())
        let keys = state.split()
        return (payload, TransportKeys(send: keys.initiator, receive: keys.responder, handshakeHash: state.hash))
    }
}

/// The responder of a handshake, after message 1: it knows who asks, and not yet whether they know the chat.
package struct NoiseResponder: Sendable {
    /// The initiator's static key. A recorded message 1 shows it too: only what is sealed under the session's keys
    /// proves that the initiator is there.
    package let remote: PublicKey
    /// The payload of message 1, empty in Inkling.
    package let payload: [UInt8]

    private let remoteEphemeral: [UInt8]
    private let usesPreSharedKey: Bool
    private let state: SymmetricState

    /// Reads message 1.
    ///
    /// - Parameters:
    ///   - prologue: what both sides must agree on besides.
    ///   - message: 96 bytes and a payload.
    ///   - withPreSharedKey: false for `IK`, which Inkling itself never uses.
    package static func read(
        identity: KeyPair, prologue: [UInt8], message: [UInt8], withPreSharedKey: Bool = true
    ) throws(NoiseError) -> NoiseResponder {
        var reader = ByteReader(message)
        guard
            let remoteEphemeral = reader.take(32), let sealedIdentity = reader.take(32 + CipherKey.tagSize),
            reader.remaining >= CipherKey.tagSize
        else { throw .length }
        var state = SymmetricState(
            usesPreSharedKey: withPreSharedKey, prologue: prologue, responder: identity.publicKey)
        state.mixEphemeral(remoteEphemeral, usesPreSharedKey: withPreSharedKey)
        try state.mixSharedSecret(identity, remoteEphemeral)
        guard let remote = PublicKey(try state.decryptAndHash(sealedIdentity)) else { throw .invalidKey }
        try state.mixSharedSecret(identity, remote.bytes)
        let payload = try state.decryptAndHash(reader.rest())
        return NoiseResponder(
            remote: remote, payload: payload, remoteEphemeral: remoteEphemeral, usesPreSharedKey: withPreSharedKey,
            state: state)
    }

    /// Answers with message 2.
    ///
    /// - Parameters:
    ///   - ephemeral: a key pair that is used in this handshake alone.
    ///   - preSharedKey: 32 bytes; nil if and only if message 1 was read without.
    ///   - payload: can be read by the initiator alone; in Inkling our index, 4 bytes.
    /// - Returns: message 2, 48 bytes and the payload, and the keys of the session.
    package func reply(
        ephemeral: KeyPair, preSharedKey: [UInt8]?, payload: [UInt8]
    ) throws(NoiseError) -> (message: [UInt8], keys: TransportKeys) {
        precondition(usesPreSharedKey == (preSharedKey != nil), "both messages are of one protocol")
        precondition(preSharedKey.map { $0.count == 32 } ?? true, "a pre-shared key has 32 bytes")
        var state = state
        state.mixEphemeral(ephemeral.publicKey.bytes, usesPreSharedKey: usesPreSharedKey)
        try state.mixSharedSecret(ephemeral, remoteEphemeral)
        try state.mixSharedSecret(ephemeral, remote.bytes)
        if let preSharedKey {
            state.mixKeyAndHash(preSharedKey)
        }
        let message = ephemeral.publicKey.bytes + state.encryptAndHash(payload)
        let keys = state.split()
        return (message, TransportKeys(send: keys.responder, receive: keys.initiator, handshakeHash: state.hash))
    }
}

extension SymmetricState {
    /// The token `e`: with a pre-shared key, the ephemeral key is mixed into the cipher too.
    fileprivate mutating func mixEphemeral(_ key: [UInt8], usesPreSharedKey: Bool) {
        mixHash(key)
        if usesPreSharedKey {
            mixKey(key)
        }
    }
}

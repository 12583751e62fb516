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

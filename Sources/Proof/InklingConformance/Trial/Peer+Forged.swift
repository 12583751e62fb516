import InklingWire

/// A static or ephemeral key that no honest peer sends, with the X25519 result that belongs to it.
package struct ForgedKey {
    package let bytes: [UInt8]
    /// Whether each X25519 result with the key is zero, as for a point of low order. Otherwise the results are those of
    /// the peer's own pair.
    package let hasLowOrder: Bool

    /// A point of low order: every result with it is zero (W-4).
    package static func lowOrder(_ bytes: [UInt8]) -> ForgedKey { ForgedKey(bytes: bytes, hasLowOrder: true) }

    /// A key with its top bit set. X25519 ignores the bit, but the number is not below 2^255 - 19 (W-3).
    package static func topBitSet(_ key: PublicKey) -> ForgedKey {
        var bytes = key.bytes
        bytes[31] |= 0x80
        return ForgedKey(bytes: bytes, hasLowOrder: false)
    }
}

extension Peer {
    private static let zeros = [UInt8](repeating: 0, count: 32)

    private func agree(_ pair: KeyPair, with key: [UInt8], forged: ForgedKey?) -> [UInt8] {
        forged?.hasLowOrder == true ? Peer.zeros : pair.sharedSecret(with: key) ?? Peer.zeros
    }

    /// Returns an initiation that is correct except for a key that the specification forbids.
    package func forgeInitiation(
        to program: Program, ephemeral: ForgedKey? = nil, staticKey: ForgedKey? = nil
    ) -> [UInt8] {
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        let pair = KeyPair(using: &trial.generator)
        var state = SymmetricState(prologue: chat.prologue(senderIndex: index), responder: program.key)
        let first = ephemeral?.bytes ?? pair.publicKey.bytes
        state.mixEphemeral(first)
        state.mixKey(agree(pair, with: program.key.bytes, forged: ephemeral))
        let sealed = state.encryptAndHash(staticKey?.bytes ?? identity.publicKey.bytes)
        state.mixKey(agree(identity, with: program.key.bytes, forged: staticKey))
        let payload = state.encryptAndHash(run.bigEndianBytes + epoch.bigEndianBytes)
        return chat.initiation(senderIndex: index, noise: first + sealed + payload).encode()
    }

    /// Returns a response that is correct except for its ephemeral key, a point of low order.
    package func forgeResponse(to initiation: Initiation, ephemeral: [UInt8]) -> [UInt8]? {
        let noise = initiation.noise
        var state = SymmetricState(
            prologue: chat.prologue(senderIndex: initiation.senderIndex), responder: identity.publicKey)
        let first = Array(noise[0..<32])
        state.mixEphemeral(first)
        state.mixKey(identity.sharedSecret(with: first) ?? Peer.zeros)
        guard let key = try? state.decryptAndHash(Array(noise[32..<80])) else { return nil }
        state.mixKey(identity.sharedSecret(with: key) ?? Peer.zeros)
        guard (try? state.decryptAndHash(Array(noise[80...]))) != nil else { return nil }
        state.mixEphemeral(ephemeral)
        state.mixKey(Peer.zeros)
        state.mixKey(Peer.zeros)
        state.mixKeyAndHash(chat.preSharedKey)
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        let payload = index.bigEndianBytes + run.bigEndianBytes + epoch.bigEndianBytes
        return Response(receiverIndex: initiation.senderIndex, noise: ephemeral + state.encryptAndHash(payload))
            .encode()
    }

    /// Returns a tell in the open chat of the trial that is correct except for a key that the specification forbids.
    package func forgeTell(for ask: Ask, key bytes: [UInt8]) -> [UInt8] {
        func derive(_ key: [UInt8], _ salt: [UInt8], _ label: String) -> [UInt8] {
            deriveKey(key, salt: salt, info: Array(label.utf8))
        }
        let chatKey = SHA256.hash(Array("inkling/2 open chat".utf8) + [0] + trial.chatName.utf8)
        let nonce = trial.generator.next()
        let salt = ask.token.bigEndianBytes + nonce.bigEndianBytes
        let key = CipherKey(bytes: derive(derive(chatKey, [], "inkling/2 seal"), salt, "inkling/2 tell"))
        return Tell(token: ask.token, nonce: nonce, sealedKey: key.seal(bytes, counter: 0, associatedData: [])).encode()
    }
}

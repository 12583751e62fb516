/// The reason why the body of a record is not a successor (M-89).
package enum SuccessorError: String, Error, CaseIterable, Sendable {
    /// The body is not as long as its count of removed keys requires.
    case length
    /// The body names more than 32 removed keys.
    case count
    /// The owner's key or a removed key breaks W-3.
    case key
    /// The body removes the owner.
    case ownerRemoved
}

/// The random bytes of a successor, 16 bytes. Two successors with different seeds lead to different chats.
package struct SuccessorSeed: Hashable, Sendable {
    /// The 16 bytes.
    package let bytes: [UInt8]

    /// The seed of 16 bytes; nil for another count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Limits.secretSize else { return nil }
        self.bytes = bytes
    }

    /// A new seed from `generator`, which must be unpredictable.
    package init(using generator: inout some RandomNumberGenerator) {
        bytes = randomBytes(Limits.secretSize, using: &generator)
    }
}

/// The chat that follows a private chat, as the owner of the old chat names it (M-89).
package struct Successor: Hashable, Sendable {
    /// The random bytes, from which the chat's secret is derived.
    package let seed: SuccessorSeed
    /// The key of the chat's owner.
    package let owner: PublicKey
    /// The keys that nodes refuse in the chat, the oldest first; at most 32, and not the owner's.
    package let removed: [PublicKey]

    /// Makes a successor. Of over 32 removed keys, it keeps the last 32. One that removes its owner leads nowhere.
    package init(seed: SuccessorSeed, owner: PublicKey, removed: [PublicKey] = []) {
        self.seed = seed
        self.owner = owner
        self.removed = removed.suffix(Limits.removedKeys)
    }

    /// Parses the body of a record. No byte may follow the last key.
    package init(_ body: [UInt8]) throws(SuccessorError) {
        var reader = ByteReader(body)
        guard let seed = reader.take(Limits.secretSize).flatMap(SuccessorSeed.init),
            let owner = reader.take(Limits.keySize), let count = reader.uint16()
        else { throw .length }
        guard count <= Limits.removedKeys else { throw .count }
        guard reader.remaining == Int(count) * Limits.keySize else { throw .length }
        guard let owner = PublicKey(owner) else { throw .key }
        var removed: [PublicKey] = []
        while let bytes = reader.take(Limits.keySize) {
            guard let key = PublicKey(bytes) else { throw .key }
            removed.append(key)
        }
        guard !removed.contains(owner) else { throw .ownerRemoved }
        self.init(seed: seed, owner: owner, removed: removed)
    }

    /// The body of the record, 50 to 1,074 bytes.
    package var body: [UInt8] {
        var writer = ByteWriter(capacity: Limits.maximumRecordTextSize)
        writer.append(seed.bytes)
        writer.append(owner.bytes)
        writer.append(UInt16(removed.count))
        for key in removed { writer.append(key.bytes) }
        return writer.bytes
    }

    /// Returns the secret of the chat that follows a chat (W-42).
    package func secret(in former: ChatKeys) -> ChatSecret { former.successorSecret(body: body) }

    /// Returns the keys of the chat that follows a chat (W-42).
    package func keys(in former: ChatKeys) -> ChatKeys { ChatKeys(secret: secret(in: former), owner: owner) }
}

/// The fingerprint of a chat, 32 bytes. With it, a node recognises a chat without keeping its secret. The fingerprint
/// never leaves the node.
package struct ChatFingerprint: Hashable, Comparable, Sendable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    /// The fingerprint of 32 bytes; nil for another count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Limits.fingerprintSize else { return nil }
        self.init(bytes: bytes)
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Compares the bytes.
    package static func < (left: ChatFingerprint, right: ChatFingerprint) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension ChatKeys {
    /// The chat's fingerprint.
    package var fingerprint: ChatFingerprint { ChatFingerprint(bytes: hash(label: "inkling/2 chat fingerprint")) }
}

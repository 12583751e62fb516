/// The reason why the body of a record is not a successor (M-60).
package enum SuccessorError: String, Error, CaseIterable, Sendable {
    /// The body is not as long as its count of removed keys requires.
    case length
    /// The body names more than 32 removed keys.
    case count
    /// The generation is zero.
    case generation
    /// The owner's key or a removed key breaks W-3.
    case key
}

/// The chat that follows a private chat, as the owner of the old chat names it (M-60).
package struct Successor: Hashable, Sendable {
    /// The generation of the chat, 1 or more. The chat of an invite has generation 0.
    package let generation: UInt32
    /// The secret of the chat.
    package let secret: ChatSecret
    /// The key of the chat's owner.
    package let owner: PublicKey
    /// The keys that nodes refuse in the chat, the oldest first; at most 32.
    package let removed: [PublicKey]

    /// Makes a successor. Of over 32 removed keys, it keeps the last 32.
    package init(generation: UInt32, secret: ChatSecret, owner: PublicKey, removed: [PublicKey] = []) {
        precondition(generation > 0, "generation 0 is the chat of an invite")
        self.generation = generation
        self.secret = secret
        self.owner = owner
        self.removed = removed.suffix(Limits.removedKeys)
    }

    /// Parses the body of a record. No byte may follow the last key.
    package init(_ body: [UInt8]) throws(SuccessorError) {
        var reader = ByteReader(body)
        guard let generation = reader.uint32(), let secret = reader.take(Limits.secretSize).flatMap(ChatSecret.init),
            let owner = reader.take(Limits.keySize), let count = reader.uint16()
        else { throw .length }
        guard count <= Limits.removedKeys else { throw .count }
        guard reader.remaining == Int(count) * Limits.keySize else { throw .length }
        guard generation > 0 else { throw .generation }
        guard let owner = PublicKey(owner) else { throw .key }
        var removed: [PublicKey] = []
        while let bytes = reader.take(Limits.keySize) {
            guard let key = PublicKey(bytes) else { throw .key }
            removed.append(key)
        }
        self.init(generation: generation, secret: secret, owner: owner, removed: removed)
    }

    /// The body of the record, 54 to 1,078 bytes.
    package var body: [UInt8] {
        var writer = ByteWriter(capacity: Limits.maximumRecordTextSize)
        writer.append(generation)
        writer.append(secret.bytes)
        writer.append(owner.bytes)
        writer.append(UInt16(removed.count))
        for key in removed { writer.append(key.bytes) }
        return writer.bytes
    }

    /// The keys of the chat.
    package var keys: ChatKeys { ChatKeys(secret: secret, owner: owner) }
}

/// The fingerprint of a chat, 32 bytes (M-61). With it, a node recognises a chat without keeping its secret.
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
    /// The chat's fingerprint (M-61).
    package var fingerprint: ChatFingerprint { ChatFingerprint(bytes: hash(label: "inkling/2 chat fingerprint")) }
}

/// The place of a chat among a chat's successors (M-61). A node moves only to a chat of a higher rank, so it never
/// returns.
package struct ChatRank: Hashable, Comparable, Sendable {
    /// The generation: 0 for the chat of an invite.
    package let generation: UInt32
    /// The fingerprint, which decides between two chats of one generation.
    package let fingerprint: ChatFingerprint

    /// The rank of a chat that a node entered in a generation.
    package init(generation: UInt32, _ keys: ChatKeys) {
        self.generation = generation
        fingerprint = keys.fingerprint
    }

    /// The higher generation ranks higher, and then the lower fingerprint.
    package static func < (left: ChatRank, right: ChatRank) -> Bool {
        left.generation == right.generation
            ? right.fingerprint < left.fingerprint : left.generation < right.generation
    }
}

extension Successor {
    /// The rank of the chat.
    package var rank: ChatRank { ChatRank(generation: generation, keys) }
}

import Crypto

/// What a chat is advertised under: 64 bits of a hash of its name or its secret.
package struct ChatTag: Hashable, Comparable, Sendable {
    /// The tag as a big-endian number.
    package let value: UInt64

    /// The tag of that number.
    package init(_ value: UInt64) {
        self.value = value
    }

    /// The tag of its 16 lower-case hex digits; nil for any other text.
    package init?(hex: String) {
        guard let bytes = TextEncoding.hex.decode(hex.utf8, count: 8), let value = UInt64(bigEndianBytes: bytes)
        else { return nil }
        self.value = value
    }

    /// The tag as 16 lower-case hex digits: after an underscore, the DNS-SD subtype.
    package var hex: String { TextEncoding.hex.encode(value.bigEndianBytes) }

    package static func < (left: ChatTag, right: ChatTag) -> Bool { left.value < right.value }
}

/// The secret of a chat that is not open, 16 random bytes: anyone who has it is a member.
package struct ChatSecret: Hashable, Sendable {
    /// The 16 bytes.
    package let bytes: [UInt8]

    /// The secret of 16 bytes; nil for another count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// The secret of its 26 characters of lower-case base32, spare bits zero; nil for any other text (W-7).
    package init?(base32: String) {
        guard let bytes = TextEncoding.base32.decode(base32.utf8, count: 16) else { return nil }
        self.bytes = bytes
    }

    /// A new secret, of 16 bytes from `generator`.
    package init(using generator: inout some RandomNumberGenerator) {
        bytes = randomBytes(16, using: &generator)
    }

    /// The secret as 26 characters of lower-case base32, as invites carry it.
    package var base32: String { TextEncoding.base32.encode(bytes) }
}

/// Everything that is derived for one chat, from its name or from its secret.
package struct ChatKeys: Hashable, Sendable {
    /// What the chat is advertised under.
    package let tag: ChatTag
    /// The 32 bytes that go into every handshake of the chat; in an open chat, anyone who knows the name has them.
    package let preSharedKey: [UInt8]
    private let secret: ChatSecret?

    /// The keys of an open chat (W-8).
    ///
    /// - Parameter openName: the chat's name, in NFC already.
    package init(openName: String) {
        tag = ChatKeys.tag(of: ChatKeys.labelledHash("inkling/1 open chat tag", Array(openName.utf8)))
        preSharedKey = ChatKeys.labelledHash("inkling/1 open chat psk", Array(openName.utf8))
        secret = nil
    }

    /// The keys of a secret chat: its name takes no part in them (W-9).
    package init(secret: ChatSecret) {
        tag = ChatKeys.tag(of: ChatKeys.labelledHash("inkling/1 secret chat tag", secret.bytes))
        preSharedKey = ChatKeys.derive(secret, salt: [], label: "inkling/1 secret chat psk")
        self.secret = secret
    }

    /// Whether knowing the chat's name is enough to be in it.
    package var isOpen: Bool { secret == nil }

    /// The 32 bytes under which the chat's members publish `key`: in an open chat its own bytes (W-10).
    ///
    /// - Parameter nonce: a random number that is published beside them; without meaning in an open chat.
    package func masked(_ key: PublicKey, nonce: UInt64) -> [UInt8] {
        masked(key.bytes, nonce: nonce)
    }

    /// The key that a member published as `bytes`; nil unless those are the 32 bytes of a canonical key.
    ///
    /// - Parameter nonce: the number that was published beside them; ignored in an open chat.
    package func unmasked(_ bytes: [UInt8], nonce: UInt64) -> PublicKey? {
        guard bytes.count == 32 else { return nil }
        return PublicKey(masked(bytes, nonce: nonce))
    }

    private func masked(_ bytes: [UInt8], nonce: UInt64) -> [UInt8] {
        guard let secret else { return bytes }
        let mask = ChatKeys.derive(secret, salt: nonce.bigEndianBytes, label: "inkling/1 key mask")
        return zip(bytes, mask).map { $0 ^ $1 }
    }

    private static func tag(of hash: [UInt8]) -> ChatTag {
        ChatTag(hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func labelledHash(_ label: String, _ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array(label.utf8) + [0] + bytes))
    }

    private static func derive(_ secret: ChatSecret, salt: [UInt8], label: String) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret.bytes), salt: salt, info: Array(label.utf8),
            outputByteCount: 32
        ).withUnsafeBytes { Array($0) }
    }
}

/// The reason why a text is not the name of a chat.
package enum ChatNameError: String, Error, CaseIterable, Sendable {
    /// The name has no byte, or more than 64 bytes in NFC (W-2).
    case length
    /// A control, format or separator character other than U+0020 (W-2).
    case character
    /// The name begins like an invite (W-35).
    case invite
}

/// The name of a chat in NFC, 1 to 64 bytes of UTF-8 (W-2).
package struct ChatName: Hashable, Sendable {
    /// The name in NFC.
    package let text: String

    /// Normalises `text` to NFC, and then checks it (W-2, W-35).
    package init(_ text: String) throws(ChatNameError) {
        let normal = NormalForm.canonical(text)
        guard Limits.chatNameSizes.contains(normal.utf8.count) else { throw .length }
        guard !normal.unicodeScalars.contains(where: ChatName.isRefused) else { throw .character }
        guard Invite.body(of: normal) == nil else { throw .invite }
        self.text = normal
    }

    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case .spaceSeparator: scalar != " "
        default: false
        }
    }
}

/// The secret of a secret chat, 16 bytes (W-9). Everyone who knows the secret is a member.
package struct ChatSecret: Hashable, Sendable {
    /// The 16 bytes.
    package let bytes: [UInt8]

    /// The secret of 16 bytes; nil for another count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Limits.secretSize else { return nil }
        self.bytes = bytes
    }

    /// Decodes 26 characters of lower-case base32 (W-7). Throws for any other text, and never throws `key`.
    package init(base32 text: String) throws(TextError) {
        bytes = try TextEncoding.base32.decode(text.utf8, count: Limits.secretSize)
    }

    /// A new secret of 16 bytes from `generator`, which must be unpredictable (S-6).
    package init(using generator: inout some RandomNumberGenerator) {
        bytes = randomBytes(Limits.secretSize, using: &generator)
    }

    /// The secret of the talk of two keys, equal for both owners (W-41). The talk is the secret chat without an owner.
    /// Nil if X25519 gives 32 zero bytes (W-4).
    package init?(talkOf own: KeyPair, with other: PublicKey) {
        guard let shared = own.sharedSecret(with: other.bytes) else { return nil }
        let keys = [own.publicKey, other].sorted().flatMap(\.bytes)
        self.init(prefixOf: deriveKey(shared, salt: keys, info: Array("inkling/2 talk".utf8)))
    }

    /// The first 16 bytes of a derived key of 32.
    init(prefixOf key: [UInt8]) { bytes = Array(key.prefix(Limits.secretSize)) }

    /// The secret in text, 26 characters of lower-case base32 (W-7).
    package var base32: String { TextEncoding.base32.encode(bytes) }
}

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

/// The reason why a sealed key does not yield a key (W-10).
package enum SealedKeyError: String, Error, CaseIterable, Sendable {
    /// The seal does not open: the chat, nonce, token or purpose differs, or bytes were altered (W-37).
    case seal
    /// The seal holds 32 bytes that break W-3.
    case key
}

/// All keys of one chat (W-36), with the checks and seals that use them. Equal chat keys make equal values.
package struct ChatKeys: Sendable {
    /// The pre-shared key of handshakes, 32 bytes (W-17).
    package let preSharedKey: [UInt8]
    /// The key at the end of each handshake's prologue, 32 bytes (W-17).
    package let prologueKey: [UInt8]
    private let chatKey: [UInt8]
    private let sealKey: [UInt8]
    private let initiationKey: HMACKey
    private let askKey: HMACKey
    private let nameKey: HMACKey

    /// The keys of an open chat (W-8). Anybody can compute these keys from the chat's name.
    package init(openName name: ChatName) {
        self.init(chatKey: SHA256.hash(Array("inkling/2 open chat".utf8) + [0] + name.text.utf8))
    }

    /// The keys of a secret chat (W-9). The same secret with another owner, or without an owner, makes another chat.
    package init(secret: ChatSecret, owner: PublicKey? = nil) {
        self.init(
            chatKey: ChatKeys.derive(secret.bytes, salt: owner?.bytes ?? [], label: "inkling/2 secret chat"))
    }

    private init(chatKey: [UInt8]) {
        func key(_ label: String) -> [UInt8] { ChatKeys.derive(chatKey, salt: [], label: label) }
        self.chatKey = chatKey
        preSharedKey = key("inkling/2 psk")
        prologueKey = key("inkling/2 prologue")
        sealKey = key("inkling/2 seal")
        initiationKey = HMACKey(key("inkling/2 check initiation"))
        askKey = HMACKey(key("inkling/2 check ask"))
        nameKey = HMACKey(key("inkling/2 check name"))
    }

    /// Returns the hash of the chat key under a label.
    func hash(label: String) -> [UInt8] { SHA256.hash(Array(label.utf8) + [0] + chatKey) }

    /// Returns the secret of the chat that follows by a successor's body (W-42).
    func successorSecret(body: [UInt8]) -> ChatSecret {
        ChatSecret(prefixOf: ChatKeys.derive(chatKey, salt: body, label: "inkling/2 successor"))
    }

    private static func derive(_ key: [UInt8], salt: [UInt8], label: String) -> [UInt8] {
        deriveKey(key, salt: salt, info: Array(label.utf8))
    }
}

extension ChatKeys: Hashable {
    package static func == (left: ChatKeys, right: ChatKeys) -> Bool {
        equalInConstantTime(left.chatKey, right.chatKey)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(chatKey)
    }
}

// Checks. A comparison of two 64-bit numbers takes the same time for all values (W-37).
extension ChatKeys {
    /// Returns the initiation of a handshake: Noise message 1, 108 bytes, with the chat's check (W-36).
    package func initiation(senderIndex: UInt32, noise: [UInt8]) -> Initiation {
        let check = ChatKeys.check(initiationKey, Initiation.checked(senderIndex, noise))
        return Initiation(senderIndex: senderIndex, check: check, noise: noise)
    }

    /// Returns whether an initiation belongs to this chat (L-8, step 4). The check does not cover the initiation's
    /// cookie.
    package func fits(_ initiation: Initiation) -> Bool {
        ChatKeys.check(initiationKey, initiation.checked) == initiation.check
    }

    /// Returns an ask in this chat, with a random token (D-11).
    package func ask(token: UInt64) -> Ask {
        Ask(token: token, check: ChatKeys.check(askKey, token.bigEndianBytes))
    }

    /// Returns whether an ask belongs to this chat (D-13).
    package func fits(_ ask: Ask) -> Bool {
        ChatKeys.check(askKey, ask.token.bigEndianBytes) == ask.check
    }

    /// Returns the prologue of a handshake, 47 bytes (W-17). The initiator gave the handshake the index `senderIndex`.
    package func prologue(senderIndex: UInt32) -> [UInt8] {
        Array("inkling/2".utf8) + [0, Datagram.Kind.initiation.firstByte] + senderIndex.bigEndianBytes + prologueKey
    }

    fileprivate func nameCheck(nonce: UInt64) -> UInt64 { ChatKeys.check(nameKey, nonce.bigEndianBytes) }

    private static func check(_ key: HMACKey, _ data: [UInt8]) -> UInt64 {
        key.code(data).withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
}

/// The reason why an instance does not belong to a chat (D-21).
package enum InstanceNameError: Error, Equatable, Sendable {
    /// The first 26 characters of the name do not decode.
    case text(TextError)
    /// The check in the name is not the chat's (W-37).
    case check
}

// The names and keys that discovery publishes.
extension ChatKeys {
    /// Returns an instance name that contains a random nonce, 26 characters (D-2).
    package func instanceName(nonce: UInt64) -> String {
        TextEncoding.base32.encode(nonce.bigEndianBytes + nameCheck(nonce: nonce).bigEndianBytes)
    }

    /// Returns the nonce in the name of an instance of this chat (D-4, D-21).
    ///
    /// - Parameter name: the first label of the instance's name. Characters after the first 26 are ignored.
    package func nonce(ofInstance name: String) throws(InstanceNameError) -> UInt64 {
        let characters = String(String.UnicodeScalarView(name.unicodeScalars.prefix(Limits.instanceNameLength)))
        let lowered = characters.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let bytes: [UInt8]
        do { bytes = try TextEncoding.base32.decode(lowered, count: 16) } catch { throw .text(error) }
        let nonce = bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        guard UInt64(bigEndianBytes: Array(bytes.suffix(8))) == nameCheck(nonce: nonce) else { throw .check }
        return nonce
    }

    /// Returns the instance key that a TXT record publishes, 48 bytes (D-3).
    ///
    /// - Parameter nonce: the nonce in the instance's name.
    package func instanceKey(of key: PublicKey, nonce: UInt64) -> [UInt8] {
        instanceSeal(nonce: nonce).seal(key.bytes, counter: 0, associatedData: [])
    }

    /// Returns the static key that an instance key seals.
    package func open(instanceKey: [UInt8], nonce: UInt64) throws(SealedKeyError) -> PublicKey {
        try ChatKeys.open(instanceKey, instanceSeal(nonce: nonce))
    }

    /// Returns the tell that answers an ask (D-13).
    ///
    /// - Parameter nonce: a random number.
    package func tell(token: UInt64, nonce: UInt64, key: PublicKey) -> Tell {
        let sealed = tellSeal(token: token, nonce: nonce).seal(key.bytes, counter: 0, associatedData: [])
        return Tell(token: token, nonce: nonce, sealedKey: sealed)
    }

    /// Returns the static key that a tell seals (D-12).
    package func open(_ tell: Tell) throws(SealedKeyError) -> PublicKey {
        try ChatKeys.open(tell.sealedKey, tellSeal(token: tell.token, nonce: tell.nonce))
    }

    private static func open(_ sealed: [UInt8], _ seal: CipherKey) throws(SealedKeyError) -> PublicKey {
        guard let bytes = try? seal.open(sealed, counter: 0, associatedData: []) else { throw .seal }
        guard let key = PublicKey(bytes) else { throw .key }
        return key
    }

    // Each seal has its own key, so its nonce can be the counter 0.
    private func instanceSeal(nonce: UInt64) -> CipherKey {
        CipherKey(bytes: ChatKeys.derive(sealKey, salt: nonce.bigEndianBytes, label: "inkling/2 instance"))
    }

    private func tellSeal(token: UInt64, nonce: UInt64) -> CipherKey {
        let salt = token.bigEndianBytes + nonce.bigEndianBytes
        return CipherKey(bytes: ChatKeys.derive(sealKey, salt: salt, label: "inkling/2 tell"))
    }
}

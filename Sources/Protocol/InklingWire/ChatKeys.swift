import Crypto

/// The reason why a sealed key gives no key (W-10).
package enum SealedKeyError: String, Error, CaseIterable, Sendable {
    /// The seal does not open: another chat, nonce, token or use, or altered bytes (W-37).
    case seal
    /// The seal holds 32 bytes that break W-3.
    case key
}

/// All keys of one chat (W-36), and the checks and seals under them. Equal chat keys make equal values.
package struct ChatKeys: Sendable {
    /// The pre-shared key of handshakes, 32 bytes (W-17).
    package let preSharedKey: [UInt8]
    /// The end of the prologue of handshakes, 32 bytes (W-17).
    package let prologueKey: [UInt8]
    private let chatKey: [UInt8]
    private let sealKey: [UInt8]
    // Codes that have taken their key already, which is most of the work of a check.
    private let initiationKey: HMAC<SHA256>
    private let askKey: HMAC<SHA256>
    private let nameKey: HMAC<SHA256>

    /// The keys of the open chat of a name, which everybody can guess (W-8).
    package init(openName name: ChatName) {
        self.init(chatKey: Array(SHA256.hash(data: Array("inkling/2 open chat".utf8) + [0] + name.text.utf8)))
    }

    /// The keys of a secret chat. Another owner, or none, makes another chat (W-9).
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
        initiationKey = HMAC(key: SymmetricKey(data: key("inkling/2 check initiation")))
        askKey = HMAC(key: SymmetricKey(data: key("inkling/2 check ask")))
        nameKey = HMAC(key: SymmetricKey(data: key("inkling/2 check name")))
    }

    private static func derive(_ key: [UInt8], salt: [UInt8], label: String) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key), salt: salt, info: Array(label.utf8), outputByteCount: 32
        ).withUnsafeBytes { Array($0) }
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

// Checks. Comparing two numbers of 64 bits takes the same time for all of them (W-37).
extension ChatKeys {
    /// Returns the initiation of a handshake: Noise message 1, 108 bytes, with its check (W-36).
    package func initiation(senderIndex: UInt32, noise: [UInt8]) -> Initiation {
        let check = ChatKeys.check(initiationKey, Initiation.checked(senderIndex, noise))
        return Initiation(senderIndex: senderIndex, check: check, noise: noise)
    }

    /// Returns whether an initiation is of this chat (L-8, step 4). Its cookie takes no part.
    package func fits(_ initiation: Initiation) -> Bool {
        ChatKeys.check(initiationKey, initiation.checked) == initiation.check
    }

    /// Returns an ask in this chat, with a random token (D-11).
    package func ask(token: UInt64) -> Ask {
        Ask(token: token, check: ChatKeys.check(askKey, token.bigEndianBytes))
    }

    /// Returns whether an ask is of this chat (D-13).
    package func fits(_ ask: Ask) -> Bool {
        ChatKeys.check(askKey, ask.token.bigEndianBytes) == ask.check
    }

    /// The prologue of the handshake whose initiator has the index `senderIndex`, 47 bytes (W-17).
    package func prologue(senderIndex: UInt32) -> [UInt8] {
        Array("inkling/2".utf8) + [0, Datagram.Kind.initiation.firstByte] + senderIndex.bigEndianBytes + prologueKey
    }

    fileprivate func nameCheck(nonce: UInt64) -> UInt64 { ChatKeys.check(nameKey, nonce.bigEndianBytes) }

    private static func check(_ key: HMAC<SHA256>, _ data: [UInt8]) -> UInt64 {
        var code = key
        code.update(data: data)
        return code.finalize().withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
}

/// The reason why an instance is not of a chat (D-21).
package enum InstanceNameError: Error, Equatable, Sendable {
    /// The first 26 characters do not decode.
    case text(TextError)
    /// The check does not fit (W-37).
    case check
}

// Discovery.
extension ChatKeys {
    /// Returns the name of an instance with a random nonce, 26 characters (D-2).
    package func instanceName(nonce: UInt64) -> String {
        TextEncoding.base32.encode(nonce.bigEndianBytes + nameCheck(nonce: nonce).bigEndianBytes)
    }

    /// Returns the nonce in the name of an instance of this chat (D-4, D-21).
    ///
    /// - Parameter name: the first label of the instance; all behind its first 26 characters is ignored.
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
    /// - Parameter nonce: that of the instance's name.
    package func instanceKey(of key: PublicKey, nonce: UInt64) -> [UInt8] {
        instanceSeal(nonce: nonce).seal(key.bytes, counter: 0, associatedData: [])
    }

    /// Returns the static key in an instance key.
    package func open(instanceKey: [UInt8], nonce: UInt64) throws(SealedKeyError) -> PublicKey {
        try ChatKeys.open(instanceKey, instanceSeal(nonce: nonce))
    }

    /// Returns the tell that answers an ask, with a random nonce (D-13).
    package func tell(token: UInt64, nonce: UInt64, key: PublicKey) -> Tell {
        let sealed = tellSeal(token: token, nonce: nonce).seal(key.bytes, counter: 0, associatedData: [])
        return Tell(token: token, nonce: nonce, sealedKey: sealed)
    }

    /// Returns the static key in a tell (D-12).
    package func open(_ tell: Tell) throws(SealedKeyError) -> PublicKey {
        try ChatKeys.open(tell.sealedKey, tellSeal(token: tell.token, nonce: tell.nonce))
    }

    private static func open(_ sealed: [UInt8], _ seal: CipherKey) throws(SealedKeyError) -> PublicKey {
        guard let bytes = try? seal.open(sealed, counter: 0, associatedData: []) else { throw .seal }
        guard let key = PublicKey(bytes) else { throw .key }
        return key
    }

    // A seal's key is used once, so its nonce can be the counter 0.
    private func instanceSeal(nonce: UInt64) -> CipherKey {
        CipherKey(bytes: ChatKeys.derive(sealKey, salt: nonce.bigEndianBytes, label: "inkling/2 instance"))
    }

    private func tellSeal(token: UInt64, nonce: UInt64) -> CipherKey {
        let salt = token.bigEndianBytes + nonce.bigEndianBytes
        return CipherKey(bytes: ChatKeys.derive(sealKey, salt: salt, label: "inkling/2 tell"))
    }
}

import InklingWire
import Testing

@Suite("Vectors of derivations")
struct DerivationVectorTests {
    @Test("W-5: user IDs", arguments: try DerivationVectors.read().userIDs)
    func userIDs(_ vector: DerivationVectors.UserIDCase) throws {
        let key = try need(PublicKey(unhex(vector.publicKey)))
        #expect(key.userID.description == vector.userID)
        #expect(UserID(vector.userID) == key.userID)
    }

    @Test("W-36: fingerprints", arguments: try DerivationVectors.read().fingerprints)
    func fingerprints(_ vector: DerivationVectors.FingerprintCase) throws {
        let keys = try vector.publicKeys.map { try need(PublicKey(unhex($0))) }
        #expect(keys[0].fingerprint(with: keys[1]) == vector.digits)
    }

    @Test("W-8, W-9, W-36: the keys of chats", arguments: try DerivationVectors.read().chats)
    func chats(_ vector: DerivationVectors.ChatCase) throws {
        let keys = try vector.chat.keys
        #expect(hex(keys.preSharedKey) == vector.psk)
        #expect(hex(keys.prologueKey) == vector.prologueKey)
    }

    @Test("W-2: names of chats are normalised", arguments: try DerivationVectors.read().chatNames)
    func chatNames(_ vector: DerivationVectors.ChatNameCase) throws {
        #expect(hex(Array(try ChatName(vector.chatName).text.utf8)) == vector.bytes)
    }

    @Test("W-2, W-35: names of chats that are refused", arguments: try DerivationVectors.read().invalidChatNames)
    func invalidChatNames(_ vector: DerivationVectors.ChatNameCase) {
        #expect(throws: ChatNameError.self) { try ChatName(vector.chatName) }
    }

    @Test("W-7: secrets in text, both directions", arguments: try DerivationVectors.read().secrets)
    func secrets(_ vector: DerivationVectors.TextCase) throws {
        let secret = try ChatSecret(base32: vector.text)
        #expect(hex(secret.bytes) == vector.bytes)
        #expect(secret.base32 == vector.text)
    }

    @Test("W-7: texts that are no secret", arguments: try DerivationVectors.read().invalidSecrets)
    func invalidSecrets(_ vector: DerivationVectors.TextCase) throws {
        let error = try need(vector.error.flatMap(TextError.init))
        #expect(throws: error) { try ChatSecret(base32: vector.text) }
    }

    @Test("W-6: keys in text, both directions", arguments: try DerivationVectors.read().keys)
    func keys(_ vector: DerivationVectors.TextCase) throws {
        let key = try PublicKey(base64url: vector.text)
        #expect(hex(key.bytes) == vector.bytes)
        #expect(key.base64url == vector.text)
    }

    @Test("W-3, W-6: texts that are no key", arguments: try DerivationVectors.read().invalidKeys)
    func invalidKeys(_ vector: DerivationVectors.TextCase) throws {
        let error = try need(vector.error.flatMap(TextError.init))
        #expect(throws: error) { try PublicKey(base64url: vector.text) }
    }

    @Test("W-11, W-34: invites", arguments: try DerivationVectors.read().invites)
    func invites(_ vector: DerivationVectors.InviteCase) throws {
        let invite = try Invite(vector.text)
        #expect(Array(invite.name.text.utf8) == Array(try need(vector.chatName).utf8))
        #expect(invite.secret.base32 == vector.secret)
        #expect(invite.owner?.base64url == vector.owner)
        #expect((invite.text == vector.text) == vector.canonical)
        #expect(try Invite(invite.text) == invite)
    }

    @Test("W-2, W-3, W-33, W-34: texts that are no invite", arguments: try DerivationVectors.read().invalidInvites)
    func invalidInvites(_ vector: DerivationVectors.InviteCase) {
        #expect(throws: InviteError.self) { try Invite(vector.text) }
    }

    @Test("W-36, D-13: checks of asks", arguments: try DerivationVectors.read().askChecks)
    func askChecks(_ vector: DerivationVectors.AskCase) throws {
        let ask = Ask(token: try number(vector.token), check: try number(vector.check))
        #expect(try vector.chat.keys.ask(token: ask.token) == ask)
        #expect(try vector.chat.keys.fits(ask))
    }

    @Test("W-36, W-37: checks of asks that do not fit", arguments: try DerivationVectors.read().invalidAskChecks)
    func invalidAskChecks(_ vector: DerivationVectors.AskCase) throws {
        let ask = Ask(token: try number(vector.token), check: try number(vector.check))
        #expect(try !vector.chat.keys.fits(ask))
    }

    /// Opens the sealed key of a vector, a tell key or an instance key.
    private func open(_ vector: DerivationVectors.SealCase) throws -> PublicKey {
        let sealed = try unhex(vector.sealedKey)
        let nonce = try number(vector.nonce)
        guard let token = vector.token else { return try vector.chat.keys.open(instanceKey: sealed, nonce: nonce) }
        return try vector.chat.keys.open(Tell(token: number(token), nonce: nonce, sealedKey: sealed))
    }

    @Test("W-10: sealed keys, both directions", arguments: try DerivationVectors.read().sealedKeys)
    func sealedKeys(_ vector: DerivationVectors.SealCase) throws {
        let key = try need(PublicKey(unhex(need(vector.publicKey))))
        let chat = try vector.chat.keys
        let nonce = try number(vector.nonce)
        let sealed =
            try vector.token.map { chat.tell(token: try number($0), nonce: nonce, key: key).sealedKey }
            ?? chat.instanceKey(of: key, nonce: nonce)
        #expect(hex(sealed) == vector.sealedKey)
        #expect(try open(vector) == key)
    }

    @Test("W-3, W-10, W-37: seals that give no key", arguments: try DerivationVectors.read().invalidSealedKeys)
    func invalidSealedKeys(_ vector: DerivationVectors.SealCase) throws {
        let error = try need(vector.error.flatMap(SealedKeyError.init))
        #expect(throws: error) { try open(vector) }
    }

    @Test("D-2, D-4, D-21: names of instances", arguments: try DerivationVectors.read().instanceNames)
    func instanceNames(_ vector: DerivationVectors.InstanceCase) throws {
        let nonce = try number(vector.nonce)
        #expect((try vector.chat.keys.instanceName(nonce: nonce) == vector.text) == vector.canonical)
        #expect(try vector.chat.keys.nonce(ofInstance: vector.text) == nonce)
    }

    @Test("D-21, W-37: names of other instances", arguments: try DerivationVectors.read().invalidInstanceNames)
    func invalidInstanceNames(_ vector: DerivationVectors.InstanceCase) throws {
        let error = try need(vector.error)
        let expected = TextError(rawValue: error).map { InstanceNameError.text($0) } ?? .check
        #expect(expected != .check || error == "check")
        #expect(throws: expected) { try vector.chat.keys.nonce(ofInstance: vector.text) }
    }

    @Test("D-3, D-5, D-6: TXT records", arguments: try DerivationVectors.read().serviceRecords)
    func serviceRecords(_ vector: DerivationVectors.RecordCase) throws {
        let key = try need(PublicKey(unhex(need(vector.publicKey))))
        let chat = try vector.chat.keys
        let nonce = try number(vector.nonce)
        #expect(try ServiceRecord.parse(unhex(vector.bytes), nonce: nonce, for: chat) == key)
        let record = ServiceRecord.encode(key: key, nonce: nonce, for: chat)
        #expect((hex(record) == vector.bytes) == vector.canonical)
        #expect(record.count <= Limits.maximumTXTSizeSent)
    }

    @Test("D-5: TXT records that give no key", arguments: try DerivationVectors.read().invalidServiceRecords)
    func invalidServiceRecords(_ vector: DerivationVectors.RecordCase) throws {
        let error = try need(vector.error.flatMap(ServiceRecordError.init))
        #expect(throws: error) {
            try ServiceRecord.parse(unhex(vector.bytes), nonce: number(vector.nonce), for: vector.chat.keys)
        }
    }
}

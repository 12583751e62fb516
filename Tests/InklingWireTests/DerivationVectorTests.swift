import InklingWire
import Testing

@Suite("Vectors of derivations")
struct DerivationVectorTests {
    @Test("W-5: user IDs", arguments: try Vector.read("derivations", "userIDs"))
    func userIDs(_ vector: Vector) throws {
        let key = try need(PublicKey(unhex(vector.publicKey)))
        #expect(key.userID.description == vector.userID)
        #expect(vector.userID.flatMap(UserID.init) == key.userID)
    }

    @Test("W-36: fingerprints", arguments: try Vector.read("derivations", "fingerprints"))
    func fingerprints(_ vector: Vector) throws {
        let keys = try need(vector.publicKeys).map { try need(PublicKey(unhex($0))) }
        #expect(keys[0].fingerprint(with: keys[1]) == vector.digits)
    }

    @Test("W-8, W-9, W-36: the keys of chats", arguments: try Vector.read("derivations", "chats"))
    func chats(_ vector: Vector) throws {
        let keys = try vector.keys
        #expect(hex(keys.preSharedKey) == vector.psk)
        #expect(hex(keys.prologueKey) == vector.prologueKey)
    }

    @Test("W-2: names of chats are normalised", arguments: try Vector.read("derivations", "chatNames"))
    func chatNames(_ vector: Vector) throws {
        #expect(hex(Array(try ChatName(need(vector.chatName)).text.utf8)) == vector.bytes)
    }

    @Test("W-2, W-35: names of chats that are refused", arguments: try Vector.read("derivations", "invalidChatNames"))
    func invalidChatNames(_ vector: Vector) {
        #expect(throws: ChatNameError.self) { try ChatName(need(vector.chatName)) }
    }

    @Test("W-7: secrets in text, both directions", arguments: try Vector.read("derivations", "secrets"))
    func secrets(_ vector: Vector) throws {
        let secret = try ChatSecret(base32: need(vector.text))
        #expect(hex(secret.bytes) == vector.bytes)
        #expect(secret.base32 == vector.text)
    }

    @Test("W-7: texts that are no secret", arguments: try Vector.read("derivations", "invalidSecrets"))
    func invalidSecrets(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(TextError.init))
        #expect(throws: error) { try ChatSecret(base32: need(vector.text)) }
    }

    @Test("W-6: keys in text, both directions", arguments: try Vector.read("derivations", "keys"))
    func keys(_ vector: Vector) throws {
        let key = try PublicKey(base64url: need(vector.text))
        #expect(hex(key.bytes) == vector.bytes)
        #expect(key.base64url == vector.text)
    }

    @Test("W-3, W-6: texts that are no key", arguments: try Vector.read("derivations", "invalidKeys"))
    func invalidKeys(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(TextError.init))
        #expect(throws: error) { try PublicKey(base64url: need(vector.text)) }
    }

    @Test("W-11, W-34: invites", arguments: try Vector.read("derivations", "invites"))
    func invites(_ vector: Vector) throws {
        let invite = try Invite(need(vector.text))
        #expect(Array(invite.name.text.utf8) == Array(try need(vector.chatName).utf8))
        #expect(invite.secret.base32 == vector.secret)
        #expect(invite.owner?.base64url == vector.owner)
        #expect((invite.text == vector.text) == vector.canonical)
        #expect(try Invite(invite.text) == invite)
    }

    @Test("W-2, W-3, W-33, W-34: texts that are no invite", arguments: try Vector.read("derivations", "invalidInvites"))
    func invalidInvites(_ vector: Vector) {
        #expect(throws: InviteError.self) { try Invite(need(vector.text)) }
    }

    @Test("W-38, W-41: both keys of a talk compute its secret", arguments: try Vector.read("derivations", "talks"))
    func talks(_ vector: Vector) throws {
        let own = try need(KeyPair(privateKey: unhex(vector.privateKey)))
        let other = try need(PublicKey(unhex(vector.publicKey)))
        #expect(try need(ChatSecret(talkOf: own, with: other)).base32 == vector.secret)
    }

    @Test("W-4, W-41: keys without a talk", arguments: try Vector.read("derivations", "invalidTalks"))
    func invalidTalks(_ vector: Vector) throws {
        let own = try need(KeyPair(privateKey: unhex(vector.privateKey)))
        let other = try need(PublicKey(unhex(vector.publicKey)))
        #expect(ChatSecret(talkOf: own, with: other) == nil)
    }

    @Test("M-89, W-42: successors, both directions", arguments: try Vector.read("derivations", "successors"))
    func successors(_ vector: Vector) throws {
        let successor = try Successor(unhex(vector.body))
        #expect(hex(successor.seed.bytes) == vector.seed)
        #expect(try successor.secret(in: need(vector.former).keys).base32 == vector.secret)
        #expect(successor.owner.base64url == vector.owner)
        #expect(successor.removed.map(\.base64url) == vector.removed)
        #expect(hex(successor.body) == vector.body)
        #expect(try successor.keys(in: need(vector.former).keys) == vector.keys)
    }

    @Test("M-89: bodies that are no successor", arguments: try Vector.read("derivations", "invalidSuccessors"))
    func invalidSuccessors(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(SuccessorError.init))
        #expect(throws: error) { try Successor(unhex(vector.body)) }
    }

    @Test("W-36, D-13: checks of asks", arguments: try Vector.read("derivations", "askChecks"))
    func askChecks(_ vector: Vector) throws {
        let ask = Ask(token: try number(vector.token), check: try number(vector.check))
        #expect(try vector.keys.ask(token: ask.token) == ask)
        #expect(try vector.keys.fits(ask))
    }

    @Test("W-36, W-37: checks of asks that do not fit", arguments: try Vector.read("derivations", "invalidAskChecks"))
    func invalidAskChecks(_ vector: Vector) throws {
        let ask = Ask(token: try number(vector.token), check: try number(vector.check))
        #expect(try !vector.keys.fits(ask))
    }

    /// Opens the sealed key of a vector, a tell key or an instance key.
    private func open(_ vector: Vector) throws -> PublicKey {
        let sealed = try unhex(vector.sealedKey)
        let nonce = try number(vector.nonce)
        guard let token = vector.token else { return try vector.keys.open(instanceKey: sealed, nonce: nonce) }
        return try vector.keys.open(Tell(token: number(token), nonce: nonce, sealedKey: sealed))
    }

    @Test("W-10: sealed keys, both directions", arguments: try Vector.read("derivations", "sealedKeys"))
    func sealedKeys(_ vector: Vector) throws {
        let key = try need(PublicKey(unhex(vector.publicKey)))
        let chat = try vector.keys
        let nonce = try number(vector.nonce)
        let sealed =
            try vector.token.map { chat.tell(token: try number($0), nonce: nonce, key: key).sealedKey }
            ?? chat.instanceKey(of: key, nonce: nonce)
        #expect(hex(sealed) == vector.sealedKey)
        #expect(try open(vector) == key)
    }

    @Test("W-3, W-10, W-37: seals that give no key", arguments: try Vector.read("derivations", "invalidSealedKeys"))
    func invalidSealedKeys(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(SealedKeyError.init))
        #expect(throws: error) { try open(vector) }
    }

    @Test("D-2, D-4, D-21: names of instances", arguments: try Vector.read("derivations", "instanceNames"))
    func instanceNames(_ vector: Vector) throws {
        let nonce = try number(vector.nonce)
        #expect((try vector.keys.instanceName(nonce: nonce) == vector.text) == vector.canonical)
        #expect(try vector.keys.nonce(ofInstance: need(vector.text)) == nonce)
    }

    @Test("D-21, W-37: names of other instances", arguments: try Vector.read("derivations", "invalidInstanceNames"))
    func invalidInstanceNames(_ vector: Vector) throws {
        let error = try need(vector.error)
        let expected = TextError(rawValue: error).map { InstanceNameError.text($0) } ?? .check
        #expect(expected != .check || error == "check")
        #expect(throws: expected) { try vector.keys.nonce(ofInstance: need(vector.text)) }
    }

    @Test("D-3, D-5, D-6: TXT records", arguments: try Vector.read("derivations", "serviceRecords"))
    func serviceRecords(_ vector: Vector) throws {
        let key = try need(PublicKey(unhex(vector.publicKey)))
        let chat = try vector.keys
        let nonce = try number(vector.nonce)
        #expect(try ServiceRecord.parse(unhex(vector.bytes), nonce: nonce, for: chat) == key)
        let record = ServiceRecord.encode(key: key, nonce: nonce, for: chat)
        #expect((hex(record) == vector.bytes) == vector.canonical)
        #expect(record.count <= Limits.maximumTXTSizeSent)
    }

    @Test("D-5: TXT records that give no key", arguments: try Vector.read("derivations", "invalidServiceRecords"))
    func invalidServiceRecords(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(ServiceRecordError.init))
        #expect(throws: error) {
            try ServiceRecord.parse(unhex(vector.bytes), nonce: number(vector.nonce), for: vector.keys)
        }
    }
}

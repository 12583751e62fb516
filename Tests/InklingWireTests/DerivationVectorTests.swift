import Foundation
import InklingWire
import Testing

@Suite("Vectors of derivations and texts")
struct DerivationVectorTests {
    @Test("W-5: user IDs", arguments: try DerivationVectors.read().userIDs)
    func userID(_ vector: DerivationVectors.UserIDCase) throws {
        let key = try need(PublicKey(unhex(vector.publicKey)))
        #expect(key.userID.description == vector.userID)
        #expect(UserID(vector.userID) == key.userID)
    }

    @Test("W-8: open chats", arguments: try DerivationVectors.read().openChats)
    func openChat(_ vector: DerivationVectors.OpenChatCase) throws {
        // W-2 is for the edge, where Foundation is; so it is here.
        let chat = ChatKeys(openName: vector.chatName.precomposedStringWithCanonicalMapping)
        #expect(chat.tag.hex == vector.tag)
        #expect(ChatTag(hex: vector.tag) == chat.tag)
        #expect(hex(chat.preSharedKey) == vector.psk)
    }

    @Test("W-9: secret chats", arguments: try DerivationVectors.read().secretChats)
    func secretChat(_ vector: DerivationVectors.SecretChatCase) throws {
        let chat = ChatKeys(secret: try need(ChatSecret(unhex(vector.secret))))
        #expect(chat.tag.hex == vector.tag)
        #expect(hex(chat.preSharedKey) == vector.psk)
    }

    @Test("W-10: masked keys", arguments: try DerivationVectors.read().keyMasks)
    func mask(_ vector: DerivationVectors.MaskCase) throws {
        let chat = ChatKeys(secret: try need(ChatSecret(unhex(vector.secret))))
        let nonce = try need(UInt64(vector.nonce, radix: 16))
        let key = try need(PublicKey(unhex(vector.publicKey)))
        #expect(hex(chat.masked(key, nonce: nonce)) == vector.maskedKey)
        #expect(try chat.unmasked(unhex(vector.maskedKey), nonce: nonce) == key)
        let mask = try zip(unhex(vector.publicKey), unhex(vector.mask)).map { $0 ^ $1 }
        #expect(hex(mask) == vector.maskedKey)
    }

    @Test("W-7: the texts of secrets", arguments: try DerivationVectors.read().secrets)
    func secret(_ vector: DerivationVectors.TextCase) throws {
        let secret = try need(ChatSecret(base32: vector.text))
        #expect(hex(secret.bytes) == vector.bytes)
        #expect(ChatSecret(secret.bytes)?.base32 == vector.text)
    }

    @Test("W-7: texts that are no secret", arguments: try DerivationVectors.read().invalidSecrets)
    func noSecret(_ vector: DerivationVectors.TextCase) {
        #expect(ChatSecret(base32: vector.text) == nil)
    }

    @Test("W-6: the texts of keys", arguments: try DerivationVectors.read().keys)
    func key(_ vector: DerivationVectors.TextCase) throws {
        let key = try need(PublicKey(base64url: vector.text))
        #expect(hex(key.bytes) == vector.bytes)
        #expect(key.base64url == vector.text)
    }

    @Test("W-3, W-6: texts that are no key", arguments: try DerivationVectors.read().invalidKeys)
    func noKey(_ vector: DerivationVectors.TextCase) {
        #expect(PublicKey(base64url: vector.text) == nil)
    }

    @Test("D-3, D-6: TXT records", arguments: try DerivationVectors.read().serviceRecords)
    func serviceRecord(_ vector: DerivationVectors.RecordCase) throws {
        let chat = try need(vector.chat.keys)
        let key = try PublicKey(unhex(need(vector.publicKey)))
        #expect(try ServiceRecord.parse(unhex(vector.bytes), for: chat) == key)
        if vector.canonical == true {
            let nonce = vector.nonce.flatMap { UInt64($0, radix: 16) } ?? 0
            #expect(hex(ServiceRecord.encode(key: try need(key), nonce: nonce, for: chat)) == vector.bytes)
        }
    }

    @Test("D-5: TXT records that name no peer", arguments: try DerivationVectors.read().invalidServiceRecords)
    func noServiceRecord(_ vector: DerivationVectors.RecordCase) throws {
        let chat = try need(vector.chat.keys)
        let error = try need(vector.error.flatMap(ServiceRecordError.init(rawValue:)))
        #expect(throws: error) { try ServiceRecord.parse(unhex(vector.bytes), for: chat) }
    }
}

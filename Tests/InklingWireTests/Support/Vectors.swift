import Foundation
import InklingWire
import Testing

/// A case of `Protocol/vectors`, or a step of one. Each kind of case has some of the members.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    /// A chat: an open one by its name, or a secret one by secret and owner.
    struct Chat: Decodable, Sendable {
        let open: String?
        let secret: String?
        let owner: String?

        var keys: ChatKeys {
            get throws {
                if let open { return ChatKeys(openName: try ChatName(open)) }
                let secret = try ChatSecret(base32: need(secret))
                return ChatKeys(secret: secret, owner: try owner.map { try PublicKey(base64url: $0) })
            }
        }
    }

    struct Frame: Decodable, Sendable {
        let type: String
        let typing, away, unheard, first, last: Bool?
        let interval, recordType, code: UInt8?
        let bitmap, token: UInt16?
        let number, next: UInt32?
        let body, reason, run: String?
        let textNumber, written: UInt64?
    }

    /// One end of a handshake.
    struct Side: Decodable, Sendable {
        let index, epoch: UInt32
        let staticPrivate, staticPublic, ephemeralPrivate, ephemeralPublic, run: String
    }

    let name: String?
    let clauses: [String]?
    let error: String?
    let bytes, kind, text: String?
    let canonical: Bool?
    // Derivations.
    let chat: Chat?
    let publicKeys: [String]?
    let publicKey, privateKey, userID, digits, psk, prologueKey, chatName, secret, owner, sealedKey: String?
    let former: Chat?
    let seed: String?
    let removed: [String]?
    // Datagrams.
    let senderIndex, receiverIndex, counter: UInt32?
    let token, check, noise, cookie, ciphertext, nonce, key, plaintext: String?
    // Frames.
    let frames: [Frame]?
    let reencodes: Bool?
    let offset: Int?
    let body, displayName, sender, takes: String?
    // Handshakes.
    let initiator, responder: Side?
    let prologue, message1, initiation, initiationWithCookie, message2, response, handshakeHash: String?
    let initiatorToResponderKey, responderToInitiatorKey, stage, from: String?
    let sealed: [Vector]?
    let of: Int?
    // Sequences of datagrams.
    let steps: [Vector]?
    let session, datagram, outcome: String?
    let completes: Bool?

    var testDescription: String { "\(name ?? "") (\((clauses ?? []).joined(separator: ", ")))" }

    /// The keys of the case's chat.
    var keys: ChatKeys { get throws { try need(chat).keys } }

    /// Reads the cases of one kind from a file of `Protocol/vectors`.
    static func read(_ file: String, _ kind: String) throws -> [Vector] {
        let data = try contents(of: "../../Protocol/vectors/\(file).json")
        return try need(JSONDecoder().decode([String: [Vector]].self, from: data)[kind])
    }
}

import Foundation
import InklingWire
import Testing

/// A case of `Protocol/vectors`, with its name and the clauses that it shows.
protocol VectorCase: Decodable, Sendable, CustomTestStringConvertible {
    var name: String { get }
    var clauses: [String] { get }
}

extension VectorCase {
    var testDescription: String { "\(name) (\(clauses.joined(separator: ", ")))" }
}

/// Reads a file of `Protocol/vectors`.
func vectors<File: Decodable>(_ name: String, as type: File.Type = File.self) throws -> File {
    try JSONDecoder().decode(type, from: contents(of: "../../Protocol/vectors/\(name).json"))
}

/// A chat of the vectors: an open one by its name, or a secret one by secret and owner.
struct ChatVector: Decodable, Sendable {
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

struct DerivationVectors: Decodable {
    struct UserIDCase: VectorCase {
        let name: String
        let clauses: [String]
        let publicKey: String
        let userID: String
    }

    struct FingerprintCase: VectorCase {
        let name: String
        let clauses: [String]
        let publicKeys: [String]
        let digits: String
    }

    struct ChatCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let psk: String
        let prologueKey: String
    }

    struct ChatNameCase: VectorCase {
        let name: String
        let clauses: [String]
        let chatName: String
        let bytes: String?
    }

    struct TextCase: VectorCase {
        let name: String
        let clauses: [String]
        let text: String
        let bytes: String?
        let error: String?
    }

    struct InviteCase: VectorCase {
        let name: String
        let clauses: [String]
        let text: String
        let chatName: String?
        let secret: String?
        let owner: String?
        let canonical: Bool?
    }

    struct AskCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let token: String
        let check: String
    }

    struct SealCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let token: String?
        let nonce: String
        let publicKey: String?
        let sealedKey: String
        let error: String?
    }

    struct InstanceCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let nonce: String?
        let text: String
        let canonical: Bool?
        let error: String?
    }

    struct RecordCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let nonce: String
        let bytes: String
        let publicKey: String?
        let canonical: Bool?
        let error: String?
    }

    static func read() throws -> DerivationVectors { try vectors("derivations") }

    let userIDs: [UserIDCase]
    let fingerprints: [FingerprintCase]
    let chats: [ChatCase]
    let chatNames: [ChatNameCase]
    let invalidChatNames: [ChatNameCase]
    let secrets: [TextCase]
    let invalidSecrets: [TextCase]
    let keys: [TextCase]
    let invalidKeys: [TextCase]
    let invites: [InviteCase]
    let invalidInvites: [InviteCase]
    let askChecks: [AskCase]
    let invalidAskChecks: [AskCase]
    let sealedKeys: [SealCase]
    let invalidSealedKeys: [SealCase]
    let instanceNames: [InstanceCase]
    let invalidInstanceNames: [InstanceCase]
    let serviceRecords: [RecordCase]
    let invalidServiceRecords: [RecordCase]
}

struct DatagramVectors: Decodable {
    struct Valid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let kind: String
        let senderIndex: UInt32?
        let receiverIndex: UInt32?
        let counter: UInt32?
        let token: String?
        let check: String?
        let noise: String?
        let cookie: String?
        let ciphertext: String?
        let nonce: String?
        let key: String?
    }

    struct Invalid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let error: String
    }

    static func read() throws -> DatagramVectors { try vectors("datagrams") }

    let valid: [Valid]
    let invalid: [Invalid]
}

struct FrameVectors: Decodable {
    struct FrameFields: Decodable, Sendable {
        let type: String
        let typing: Bool?
        let away: Bool?
        let unheard: Bool?
        let interval: UInt8?
        let number: UInt32?
        let recordType: UInt8?
        let first: Bool?
        let last: Bool?
        let body: String?
        let next: UInt32?
        let bitmap: UInt16?
        let token: UInt16?
        let reason: String?
        let code: UInt8?
    }

    struct Valid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let frames: [FrameFields]
        let reencodes: Bool
    }

    struct Invalid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let error: String
        let offset: Int
    }

    struct Name: VectorCase {
        let name: String
        let clauses: [String]
        let body: String
        let displayName: String
    }

    static func read() throws -> FrameVectors { try vectors("frames") }

    let valid: [Valid]
    let invalid: [Invalid]
    let names: [Name]
}

struct HandshakeVectors: Decodable {
    struct Side: Decodable, Sendable {
        let index: UInt32
        let staticPrivate: String
        let staticPublic: String
        let ephemeralPrivate: String
        let ephemeralPublic: String
        let run: String
        let epoch: UInt32
    }

    struct Sealed: Decodable, Sendable {
        let name: String
        let from: String
        let counter: UInt32
        let plaintext: String
        let bytes: String
    }

    struct Valid: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let initiator: Side
        let responder: Side
        let prologue: String
        let message1Payload: String
        let message1: String
        let check: String
        let initiation: String
        let cookie: String
        let initiationWithCookie: String
        let message2Payload: String
        let message2: String
        let response: String
        let handshakeHash: String
        let initiatorToResponderKey: String
        let responderToInitiatorKey: String
        let sealed: [Sealed]
    }

    struct Invalid: VectorCase {
        let name: String
        let clauses: [String]
        let of: Int
        let initiation: String?
        let response: String?
        let stage: String
        let error: String
    }

    static func read() throws -> HandshakeVectors { try vectors("handshake") }

    let valid: [Valid]
    let invalid: [Invalid]
}

struct SealedVectors: Decodable {
    struct Valid: VectorCase {
        let name: String
        let clauses: [String]
        let key: String
        let receiverIndex: UInt32
        let counter: UInt32
        let plaintext: String
        let bytes: String
    }

    struct Invalid: VectorCase {
        let name: String
        let clauses: [String]
        let key: String
        let bytes: String
        let error: String
    }

    static func read() throws -> SealedVectors { try vectors("sealed") }

    let valid: [Valid]
    let invalid: [Invalid]
}

struct ReplayVectors: Decodable {
    struct Step: Decodable, Sendable {
        let session: String
        let counter: UInt32
        let datagram: String
        let outcome: String
        let completes: Bool
    }

    struct Sequence: VectorCase {
        let name: String
        let clauses: [String]
        let steps: [Step]
    }

    static func read() throws -> ReplayVectors { try vectors("replay") }

    let sequences: [Sequence]
}

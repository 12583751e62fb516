import Foundation
import InklingWire
import Testing

/// A case of `Protocol/vectors`: it names itself, and the clauses that it shows.
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

/// A chat as the vectors give it: by its name or by its secret.
struct ChatVector: Decodable, Sendable {
    let open: String?
    let secret: String?

    var keys: ChatKeys? {
        open.map { ChatKeys(openName: $0) } ?? secret.flatMap { ChatSecret(base32: $0) }.map { ChatKeys(secret: $0) }
    }
}

struct DerivationVectors: Decodable {
    struct UserIDCase: VectorCase {
        let name: String
        let clauses: [String]
        let publicKey: String
        let userID: String
    }

    struct OpenChatCase: VectorCase {
        let name: String
        let clauses: [String]
        let chatName: String
        let tag: String
        let psk: String
    }

    struct SecretChatCase: VectorCase {
        let name: String
        let clauses: [String]
        let secret: String
        let tag: String
        let psk: String
    }

    struct MaskCase: VectorCase {
        let name: String
        let clauses: [String]
        let secret: String
        let nonce: String
        let mask: String
        let publicKey: String
        let maskedKey: String
    }

    struct TextCase: VectorCase {
        let name: String
        let clauses: [String]
        let text: String
        let bytes: String?
    }

    struct RecordCase: VectorCase {
        let name: String
        let clauses: [String]
        let chat: ChatVector
        let bytes: String
        let nonce: String?
        let publicKey: String?
        let canonical: Bool?
        let error: String?
    }

    static func read() throws -> DerivationVectors { try vectors("derivations") }

    let userIDs: [UserIDCase]
    let openChats: [OpenChatCase]
    let secretChats: [SecretChatCase]
    let keyMasks: [MaskCase]
    let secrets: [TextCase]
    let invalidSecrets: [TextCase]
    let keys: [TextCase]
    let invalidKeys: [TextCase]
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
        let token: UInt32?
        let tag: String?
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

    let valid: [Valid]
    let invalid: [Invalid]
}

struct FrameVectors: Decodable {
    struct FrameFields: Decodable, Sendable {
        let type: String
        let typing: Bool?
        let away: Bool?
        let interval: UInt8?
        let run: String?
        let stream: UInt32?
        let held: UInt32?
        let next: UInt32?
        let name: String?
        let record: UInt32?
        let first: Bool?
        let last: Bool?
        let text: String?
        let bitmap: UInt16?
        let token: UInt16?
        let reason: String?
        let code: UInt8?
        let body: String?
    }

    struct Valid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let frames: [FrameFields]
        let reencodes: Bool?
    }

    struct Invalid: VectorCase {
        let name: String
        let clauses: [String]
        let bytes: String
        let error: String
        let offset: Int
    }

    let valid: [Valid]
    let invalid: [Invalid]
}

struct HandshakeVectors: Decodable {
    struct Side: Decodable, Sendable {
        let index: UInt32
        let staticPrivate: String
        let staticPublic: String
        let ephemeralPrivate: String
        let ephemeralPublic: String
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
        let tag: String
        let psk: String
        let initiator: Side
        let responder: Side
        let header: String
        let prologue: String
        let message1: String
        let message2Payload: String
        let message2: String
        let initiation: String
        let cookie: String
        let initiationWithCookie: String
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

    let valid: [Valid]
    let invalid: [Invalid]
}

struct ReplayVectors: Decodable {
    struct Step: Decodable, Sendable {
        let counter: UInt64
        let accept: Bool
    }

    struct Sequence: VectorCase {
        let name: String
        let clauses: [String]
        let counters: [Step]
    }

    let sequences: [Sequence]
}

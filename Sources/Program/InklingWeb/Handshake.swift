import InklingService
import InklingWire
import NIOCore

/// The proof of both sides of a WebSocket that they know the same key. The server proves first.
struct Handshake {
    /// The next step after a message.
    enum Step {
        case reply(String)
        /// The page knows this key.
        case proved(WebKeys.Kind, id: String)
        /// The ticket was used before.
        case reused
        case refuse(CloseCode, String)
    }

    private enum Phase {
        case hello
        case proof(WebKeys.Kind, id: String, HMACKey, page: [UInt8], server: [UInt8])
    }

    private var phase = Phase.hello

    mutating func receive(
        _ message: [UInt8], _ keys: WebKeys, at now: NIODeadline, using random: inout some RandomNumberGenerator
    ) -> Step {
        guard let members = try? JSONMembers(message) else { return .refuse(.handshake, "the message is not JSON") }
        switch phase {
        case .hello: return hello(members, keys, at: now, using: &random)
        case .proof(let kind, let id, let key, let page, let server):
            guard let proof = members.text("proof").flatMap(Self.bytes),
                key.matches(proof, of: Self.text("inkling web page", server, page))
            else { return .refuse(.handshake, "the proof is wrong") }
            return .proved(kind, id: id)
        }
    }

    private mutating func hello(
        _ members: JSONMembers, _ keys: WebKeys, at now: NIODeadline, using random: inout some RandomNumberGenerator
    ) -> Step {
        guard members.number("web") == 1, let kind = members.text("key").flatMap({ WebKeys.Kind(rawValue: $0) }),
            let id = members.text("id"), id.utf8.count == 16, let page = members.text("nonce").flatMap(Self.bytes)
        else { return .refuse(.handshake, "the first message has another form") }
        switch keys.find(kind, id, at: now) {
        case .unknown: return .refuse(.unknownKey, "the key is unknown")
        case .used: return .reused
        case .expired: return .refuse(.spentTicket, "the ticket is too old")
        case .key(let key):
            let server = WebKeys.bytes(using: &random)
            phase = .proof(kind, id: id, key, page: page, server: server)
            let proof = key.code(Self.text("inkling web server", page, server))
            return .reply(
                JSONValue.object([
                    ("web", .integer(1)), ("nonce", .string(TextEncoding.base64url.encode(server))),
                    ("proof", .string(TextEncoding.base64url.encode(proof))),
                ]).text)
        }
    }

    /// Returns the bytes that a proof covers.
    static func text(_ label: StaticString, _ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        label.withUTF8Buffer { Array($0) } + [0] + first + second
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        try? TextEncoding.base64url.decode(text.utf8, count: WebKeys.size)
    }
}

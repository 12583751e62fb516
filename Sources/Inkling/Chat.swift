import Foundation
import InklingWire

/// The secret of a chat: 128 random bits, known to its members alone.
public struct Secret: Hashable, Sendable {
    let wire: ChatSecret

    /// Reads a secret: 26 lower-case base32 characters (RFC 4648, no padding, spare bits zero).
    ///
    /// - Throws: ``NodeError/secret(_:)`` for anything else. A passphrase of human making is refused: whoever
    ///   completes one exchange could guess at it offline.
    public init(_ text: String) throws(NodeError) {
        guard let wire = ChatSecret(base32: text) else {
            let reason =
                text.utf8.count == 26
                ? "it has a character other than a-z and 2-7, or its last character has spare bits set"
                : "it has \(text.count) characters instead of 26"
            throw .secret(reason)
        }
        self.wire = wire
    }

    private init(wire: ChatSecret) { self.wire = wire }

    /// A new secret, from the system's random source.
    public static func random() -> Secret {
        var generator = SystemRandomNumberGenerator()
        return Secret(wire: ChatSecret(using: &generator))
    }

    /// The 26 characters.
    public var text: String { wire.base32 }
}

// Whoever prints or logs a secret, or what holds it, does not want it told.
extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says that there is one, and nothing of it.
    public var description: String { "Secret(…)" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A chat: a name and, unless it is open, a secret.
public struct Chat: Hashable, Sendable {
    /// The name in NFC, 1 to 64 bytes of UTF-8, without control characters.
    public let name: String
    /// Nil for an open chat, which anybody on the network may join.
    public let secret: Secret?

    /// - Throws: ``NodeError/chatName(_:)`` for a name that is empty, too long, holds a control character, or is an
    ///   invite.
    public init(_ name: String, secret: Secret? = nil) throws(NodeError) {
        let normal = name.precomposedStringWithCanonicalMapping
        // An open chat that was named after an invite would tell its secret to all.
        guard !Self.isInvite(normal) else { throw .chatName("it is an invite, which names a chat and its secret") }
        try self.init(normal: normal, secret: secret)
    }

    private init(normal: String, secret: Secret?) throws(NodeError) {
        guard !normal.isEmpty else { throw .chatName("it is empty") }
        guard normal.utf8.count <= Limits.maximumChatNameSize else {
            throw .chatName("it has \(normal.utf8.count) bytes, and \(Limits.maximumChatNameSize) are the most")
        }
        guard !normal.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .chatName("it holds a control character")
        }
        name = normal
        self.secret = secret
    }

    /// Reads an invite, `inkling:NAME#SECRET` with the name percent-encoded: as people hand them on, with blanks and
    /// line ends around it, and the scheme in any letters.
    ///
    /// - Throws: ``NodeError/invite(_:)``, ``NodeError/chatName(_:)`` or ``NodeError/secret(_:)``.
    public init(invite: String) throws(NodeError) {
        guard let rest = Self.body(ofInvite: invite) else {
            throw .invite("it does not begin with \"\(Self.scheme)\"")
        }
        guard let separator = rest.firstIndex(of: "#") else { throw .invite("there is no \"#\" before the secret") }
        guard let name = rest[..<separator].removingPercentEncoding else {
            throw .invite("its name is not percent-encoded UTF-8")
        }
        let secret = try Secret(String(rest[rest.index(after: separator)...]))
        try self.init(normal: name.precomposedStringWithCanonicalMapping, secret: secret)
    }

    /// Whether a text is meant as an invite, well-formed or not, rather than as the name of a chat.
    public static func isInvite(_ text: String) -> Bool { body(ofInvite: text) != nil }

    private static let scheme = "inkling:"

    /// What stands behind the scheme; nil if there is none.
    private static func body(ofInvite text: String) -> String? {
        // Bytes: a character may be one that joins the scheme's last.
        let bytes = text.trimmingCharacters(in: .whitespacesAndNewlines).utf8
        let size = scheme.utf8.count
        guard String(decoding: bytes.prefix(size), as: UTF8.self).lowercased() == scheme else { return nil }
        return String(decoding: bytes.dropFirst(size), as: UTF8.self)
    }

    /// What to hand to those who shall join; nil for an open chat.
    public var invite: String? {
        guard let secret else { return nil }
        var unreserved = CharacterSet(charactersIn: "-._~")
        unreserved.formUnion(CharacterSet(charactersIn: "A"..."Z"))
        unreserved.formUnion(CharacterSet(charactersIn: "a"..."z"))
        unreserved.formUnion(CharacterSet(charactersIn: "0"..."9"))
        let encoded = name.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
        return "\(Self.scheme)\(encoded)#\(secret.text)"
    }

    /// Whether anybody on the network may join it.
    public var isOpen: Bool { secret == nil }

    /// What the protocol derives from it.
    var keys: ChatKeys {
        if let secret { ChatKeys(secret: secret.wire) } else { ChatKeys(openName: name) }
    }
}

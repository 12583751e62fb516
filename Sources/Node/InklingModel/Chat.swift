import InklingWire

/// The secret of a chat: 128 random bits, known only to its members.
public struct Secret: Hashable, Sendable {
    package let wire: ChatSecret

    /// Reads a secret: 26 lower-case base32 characters (RFC 4648, no padding, spare bits zero).
    ///
    /// - Throws: ``NodeError/secret(_:)`` for anything else. A passphrase that people make up is refused: anybody who
    ///   completes one exchange could guess at it offline.
    public init(_ text: String) throws(NodeError) {
        do {
            wire = try ChatSecret(base32: text)
        } catch {
            throw .secret(error == .length ? .length(text.count) : .characters)
        }
    }

    package init(wire: ChatSecret) { self.wire = wire }

    /// A new secret.
    ///
    /// - Parameter generator: The source of the 128 bits. A predictable source lets others repeat the secret and join.
    public init(using generator: inout some RandomNumberGenerator) { wire = ChatSecret(using: &generator) }

    /// The 26 characters that ``init(_:)`` reads. Anybody who has them can join the chat, so keep them out of logs and
    /// arguments.
    public var text: String { wire.base32 }
}

// Code that prints or logs a secret, or a value that holds it, must not reveal it.
extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text, which reveals nothing of the secret.
    public var description: String { "Secret(…)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that a dump reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A chat: a name and, unless it is open, a secret and perhaps an owner. A talk is a private chat of two keys.
public struct Chat: Hashable, Sendable {
    /// The name in NFC: 1 to 64 bytes of UTF-8, without control, format and separator characters other than the space.
    public let name: String
    /// Nil for an open chat, which anybody on the network may join.
    public let secret: Secret?
    /// The owner's static key; nil if the invite names no owner. The owner alone removes members, by moving the others to
    /// a new secret. The same secret with another owner is another chat (W-9).
    public let owner: PublicKey?
    /// The other key of a talk (W-41); nil for a chat that any number of people can join. A talk has no invite.
    public let partner: PublicKey?

    /// A chat with a name, open if there is no secret. Members of a private chat can each call it by another name (W-9).
    ///
    /// - Parameters:
    ///   - name: The name. This initialiser converts it to NFC.
    ///   - secret: Nil for an open chat.
    /// - Throws: ``NodeError/chatName(_:)`` for a name that is empty or too long, holds a control, format or separator
    ///   character other than the space, or is an invite.
    public init(_ name: String, secret: Secret? = nil) throws(NodeError) {
        try self.init(name, secret: secret, owner: nil)
    }

    /// The talk with the owner of a key, which has that secret (W-41).
    ///
    /// - Throws: ``NodeError/chatName(_:)``.
    package init(_ name: String, talkWith partner: PublicKey, secret: Secret) throws(NodeError) {
        try self.init(name, secret: secret, owner: nil, partner: partner)
    }

    /// A chat with an owner, who can remove members by moving the others to a new secret.
    ///
    /// - Throws: ``NodeError/chatName(_:)``.
    public init(_ name: String, secret: Secret, owner: PublicKey) throws(NodeError) {
        try self.init(name, secret: secret, owner: Optional(owner), partner: nil)
    }

    package init(
        _ name: String, secret: Secret?, owner: PublicKey?, partner: PublicKey? = nil
    ) throws(NodeError) {
        let normal = NormalForm.canonical(name)
        // An open chat that was named after an invite would reveal its secret to everybody.
        guard !Self.isInvite(normal) else { throw .chatName(.invite) }
        if let fault = NameFault(ofChat: normal) { throw .chatName(fault) }
        self.name = normal
        self.secret = secret
        self.owner = owner
        self.partner = partner
    }

    /// The same chat with another name.
    ///
    /// - Throws: ``NodeError/chatName(_:)``.
    package func named(_ name: String) throws(NodeError) -> Chat {
        try Chat(name, secret: secret, owner: owner, partner: partner)
    }

    /// Whether anybody on the network may join and read the chat. A program that shows an open chat must say so (S-4).
    public var isOpen: Bool { secret == nil }

    /// The keys and IDs that the protocol derives from the chat.
    package var keys: ChatKeys {
        if let secret { ChatKeys(secret: secret.wire, owner: owner) } else { ChatKeys(openName: wireName) }
    }

    /// The name in the form that the protocol uses. The initialiser has checked the name.
    var wireName: ChatName {
        guard let name = try? ChatName(name) else { preconditionFailure("a chat has a name that fits") }
        return name
    }
}

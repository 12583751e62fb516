import InklingWire

/// Invites: a chat and its secret in one line of text, for people to pass on.
extension Chat {
    /// The private chat of an invite (W-11, W-34).
    ///
    /// - Parameter invite: `inkling:NAME#SECRET`, perhaps followed by `@OWNER`, with the name percent-encoded. Blanks
    ///   and line ends around the invite are allowed, and the scheme may be in capitals.
    /// - Throws: ``NodeError/invite(_:)``, ``NodeError/chatName(_:)`` or ``NodeError/secret(_:)``, depending on the
    ///   wrong part.
    public init(invite: String) throws(NodeError) {
        let parts: (name: String, secret: String, owner: String?)
        do {
            parts = try Invite.parts(of: Blanks.trimmed(invite, lineEnds: true))
        } catch {
            switch error {
            case .separator: throw .invite(.separator)
            case .escape: throw .invite(.encoding)
            case .scheme, .name, .secret, .owner: throw .invite(.scheme)
            }
        }
        let secret = try Secret(parts.secret)
        let owner = parts.owner.flatMap { try? PublicKey(base64url: $0) }
        guard parts.owner == nil || owner != nil else { throw .invite(.owner) }
        try self.init(parts.name, secret: secret, owner: owner)
    }

    /// Returns whether a text begins with `inkling:`, in letters of either case, after any blanks. Such a text is meant
    /// as an invite, valid or not.
    public static func isInvite(_ text: String) -> Bool { body(ofInvite: text) != nil }

    /// Returns whether a text given as a chat's name ends like the name of a file with an invite.
    package static func endsAsInviteFile(_ text: String) -> Bool {
        !isInvite(text) && text.lowercased().hasSuffix(".invite")
    }

    /// The invite for people who should join, in the form that ``init(invite:)`` reads; nil for an open chat and for a
    /// talk. Everybody who reads the invite can join, so pass it on through a channel that you trust.
    public var invite: String? { wireInvite?.text }

    /// The invite as the protocol has it; nil for an open chat and for a talk.
    package var wireInvite: Invite? {
        guard partner == nil else { return nil }
        return secret.map { Invite(name: wireName, secret: $0.wire, owner: owner) }
    }

    /// The chat of an invite.
    ///
    /// - Throws: ``NodeError/chatName(_:)`` for a name that the rules of this library refuse.
    package init(_ invite: Invite) throws(NodeError) {
        try self.init(invite.name.text, secret: Secret(wire: invite.secret), owner: invite.owner)
    }

    /// The beginning of every invite.
    package static let scheme = "inkling:"

    /// Returns the part after the scheme, or nil without a scheme.
    private static func body(ofInvite text: String) -> String? {
        // Bytes, because a combining character may form one character with the scheme's last letter.
        let bytes = Blanks.trimmed(text, lineEnds: true).utf8
        let size = scheme.utf8.count
        guard String(decoding: bytes.prefix(size), as: UTF8.self).lowercased() == scheme else { return nil }
        return String(decoding: bytes.dropFirst(size), as: UTF8.self)
    }
}

/// Blanks and line ends, which get copied along with text.
package enum Blanks {
    /// Returns a text without blanks at its beginning and end, and with `lineEnds` without line ends there.
    package static func trimmed(_ text: some StringProtocol, lineEnds: Bool = false) -> String {
        let scalars = text.unicodeScalars
        let isKept: (Unicode.Scalar) -> Bool = { !isBlank($0) && !(lineEnds && isLineEnd($0)) }
        guard let first = scalars.firstIndex(where: isKept), let last = scalars.lastIndex(where: isKept) else {
            return ""
        }
        return String(String.UnicodeScalarView(scalars[first...last]))
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\t" || scalar == "\u{200B}" || scalar.properties.generalCategory == .spaceSeparator
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }
}

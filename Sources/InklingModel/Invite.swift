/// Invites: a chat and its secret in one line of text, for people to pass on.
extension Chat {
    /// The secret chat of an invite (W-11).
    ///
    /// - Parameter invite: `inkling:NAME#SECRET` with the name percent-encoded. As people pass it on, it may have blanks and
    ///   line ends around it, and the scheme in capitals.
    /// - Throws: ``NodeError/invite(_:)``, ``NodeError/chatName(_:)`` or ``NodeError/secret(_:)``, by what is wrong with it.
    public init(invite: String) throws(NodeError) {
        guard let rest = Self.body(ofInvite: invite) else { throw .invite(.scheme) }
        guard let separator = rest.firstIndex(of: "#") else { throw .invite(.separator) }
        guard let name = PercentEncoding.decode(rest[..<separator]) else { throw .invite(.encoding) }
        let secret = try Secret(String(rest[rest.index(after: separator)...]))
        try self.init(normal: NormalForm.canonical(name), secret: secret)
    }

    /// Whether a text is meant as an invite, well-formed or not, rather than as the name of a chat: whether it begins with
    /// `inkling:`, in letters of either case, after any blanks.
    public static func isInvite(_ text: String) -> Bool { body(ofInvite: text) != nil }

    /// Whether a text that was given as a chat's name ends as the names of files with an invite do.
    package static func endsAsInviteFile(_ text: String) -> Bool {
        !isInvite(text) && text.lowercased().hasSuffix(".invite")
    }

    /// What to give to people who should join, in a form that ``init(invite:)`` reads; nil for an open chat. Whoever sees it
    /// can join: pass it on through a channel that you trust.
    public var invite: String? {
        secret.map { Self.scheme + PercentEncoding.encode(name) + "#" + $0.text }
    }

    /// What every invite begins with.
    package static let scheme = "inkling:"

    /// What follows the scheme; nil if there is none.
    private static func body(ofInvite text: String) -> String? {
        // Bytes: a character may be one that joins the scheme's last.
        let bytes = Blanks.trimmed(text, lineEnds: true).utf8
        let size = scheme.utf8.count
        guard String(decoding: bytes.prefix(size), as: UTF8.self).lowercased() == scheme else { return nil }
        return String(decoding: bytes.dropFirst(size), as: UTF8.self)
    }
}

/// Blanks and line ends, which get copied along with text.
package enum Blanks {
    /// A text without those at its beginning and end; line ends only where that is said.
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

/// The encoding of RFC 3986 for names in invites.
private enum PercentEncoding {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let percent = UInt8(ascii: "%")

    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if unreserved.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil where a percent sign has no two hex digits after it, or the bytes are not UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == percent else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(value), let low = rest.popFirst().flatMap(value) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

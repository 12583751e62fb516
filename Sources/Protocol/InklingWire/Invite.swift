/// The reason why a text is not an invite (W-34).
package enum InviteError: Error, Equatable, Sendable {
    /// The text does not begin with `inkling:`.
    case scheme
    /// The text has no `#`.
    case separator
    /// An escape is not `%` and two hex digits, or the name is not UTF-8 (W-33).
    case escape
    /// The name breaks W-2 or W-35.
    case name(ChatNameError)
    /// The secret breaks W-7.
    case secret(TextError)
    /// The owner's key breaks W-6 or W-3.
    case owner(TextError)
}

/// A secret chat as one line of text that people pass on (W-11).
package struct Invite: Hashable, Sendable {
    /// The name of the chat.
    package let name: ChatName
    /// The secret of the chat.
    package let secret: ChatSecret
    /// The owner's key; nil in a chat without an owner.
    package let owner: PublicKey?

    private static let scheme = "inkling:"

    /// Makes an invite to a secret chat.
    package init(name: ChatName, secret: ChatSecret, owner: PublicKey? = nil) {
        self.name = name
        self.secret = secret
        self.owner = owner
    }

    /// Parses an invite (W-34). Blanks around the invite are an error.
    package init(_ text: String) throws(InviteError) {
        let parts = try Invite.parts(of: text)
        do { name = try ChatName(parts.name) } catch { throw .name(error) }
        do { secret = try ChatSecret(base32: parts.secret) } catch { throw .secret(error) }
        do { owner = try parts.owner.map { text throws(TextError) in try PublicKey(base64url: text) } } catch {
            throw .owner(error)
        }
    }

    /// Returns the unchecked parts of an invite as text (W-34): the name without its escapes, the secret, and the
    /// owner's key, if any.
    package static func parts(of text: String) throws(InviteError) -> (name: String, secret: String, owner: String?) {
        guard let body = Invite.body(of: text) else { throw .scheme }
        guard let hash = body.firstIndex(of: UInt8(ascii: "#")) else { throw .separator }
        guard let name = Invite.unescaped(body[..<hash]) else { throw .escape }
        let keys = body[(hash + 1)...]
        let at = keys.firstIndex(of: UInt8(ascii: "@"))
        return (name, Invite.text(of: keys[..<(at ?? keys.endIndex)]), at.map { Invite.text(of: keys[($0 + 1)...]) })
    }

    /// The invite as text, in its one canonical form (W-11).
    package var text: String {
        Invite.scheme + Invite.escaped(name.text) + "#" + secret.base32 + (owner.map { "@" + $0.base64url } ?? "")
    }

    /// Returns the bytes behind the scheme, or nil for a text without the scheme. The scheme's letters may have either
    /// case.
    static func body(of text: String) -> ArraySlice<UInt8>? {
        // Bytes, because a combining character may follow the colon. Setting bit 5 makes ASCII letters lower-case.
        let bytes = Array(text.utf8)
        let size = scheme.utf8.count
        let isScheme = zip(bytes, scheme.utf8).allSatisfy { byte, wanted in
            byte == wanted || (0x41...0x5A).contains(byte) && byte | 0x20 == wanted
        }
        return bytes.count >= size && isScheme ? bytes[size...] : nil
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let bytes = text.utf8.flatMap { byte in
            unreserved.contains(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text of escaped bytes, or nil for a bad escape or bytes that are not UTF-8.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
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

    private static func text(of bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// The reason why a text is not a key or a secret.
package enum TextError: String, Error, CaseIterable, Sendable {
    /// The text has too few or too many characters.
    case length
    /// A character is outside the alphabet.
    case alphabet
    /// An unused bit of the last character is set.
    case spareBits
    /// The text encodes 32 bytes that are not a canonical key (W-3).
    case key
}

/// The two text encodings of the protocol, both canonical and without padding (RFC 4648).
///
/// Each character takes its bits from the most significant end. Spare bits of the last character are zero.
package enum TextEncoding {
    case base32, base64url

    /// The number of bits in one character.
    private var bits: Int {
        switch self {
        case .base32: 5
        case .base64url: 6
        }
    }

    private var alphabet: [UInt8] {
        switch self {
        case .base32: Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        case .base64url: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        }
    }

    /// The number of characters that encode `count` bytes.
    func size(of count: Int) -> Int { (count * 8 + bits - 1) / bits }

    /// Encodes bytes as text.
    package func encode(_ bytes: [UInt8]) -> String {
        let alphabet = alphabet
        var characters: [UInt8] = []
        characters.reserveCapacity(size(of: bytes.count))
        var held: UInt32 = 0
        var count = 0
        for byte in bytes {
            held = (held << 8 | UInt32(byte)) & 0xFFFF
            count += 8
            while count >= bits {
                count -= bits
                characters.append(alphabet[Int(held >> UInt32(count)) & (1 << bits - 1)])
            }
        }
        if count > 0 {
            characters.append(alphabet[Int(held << UInt32(bits - count)) & (1 << bits - 1)])
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// Decodes UTF-8 text that encodes `count` bytes.
    package func decode(_ text: some Collection<UInt8>, count: Int) throws(TextError) -> [UInt8] {
        // Counts characters instead of bytes. So "ä" causes the error `alphabet`, not `length`.
        let characters = text.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
        guard characters == size(of: count) else { throw .length }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var held: UInt32 = 0
        var heldBits = 0
        for character in text {
            guard let digit = value(of: character) else { throw .alphabet }
            held = (held << UInt32(bits) | UInt32(digit)) & 0xFFFF
            heldBits += bits
            if heldBits >= 8 {
                heldBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> UInt32(heldBits)))
            }
        }
        guard held & (1 << UInt32(heldBits) - 1) == 0 else { throw .spareBits }
        return bytes
    }

    private func value(of character: UInt8) -> UInt8? {
        switch (self, character) {
        case (.base32, 0x61...0x7A): character - 0x61
        case (.base32, 0x32...0x37): character - 0x32 + 26
        case (.base64url, 0x41...0x5A): character - 0x41
        case (.base64url, 0x61...0x7A): character - 0x61 + 26
        case (.base64url, 0x30...0x39): character - 0x30 + 52
        case (.base64url, 0x2D): 62
        case (.base64url, 0x5F): 63
        default: nil
        }
    }
}

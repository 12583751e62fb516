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

/// Bits to characters and back for the three encodings of the protocol, in their one canonical form.
///
/// `bits` is 4 for hex, 5 for base32, 6 for base64url. Characters take the bits from the most significant end; spare
/// bits of the last character are zero, and there is no padding.
enum TextEncoding {
    case hex, base32, base64url

    /// How many bits one character carries.
    private var bits: Int {
        switch self {
        case .hex: 4
        case .base32: 5
        case .base64url: 6
        }
    }

    private var alphabet: [UInt8] {
        switch self {
        case .hex: Array("0123456789abcdef".utf8)
        case .base32: Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        case .base64url: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        }
    }

    /// The text of `bytes`.
    func encode(_ bytes: [UInt8]) -> String {
        let alphabet = alphabet
        var characters: [UInt8] = []
        characters.reserveCapacity((bytes.count * 8 + bits - 1) / bits)
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

    /// The `count` bytes that `text` spells; nil if it is of another length, holds another character, or its spare
    /// bits are not zero.
    func decode(_ text: some Collection<UInt8>, count: Int) -> [UInt8]? {
        guard text.count == (count * 8 + bits - 1) / bits else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var held: UInt32 = 0
        var heldBits = 0
        for character in text {
            guard let digit = value(of: character) else { return nil }
            held = (held << UInt32(bits) | UInt32(digit)) & 0xFFFF
            heldBits += bits
            if heldBits >= 8 {
                heldBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> UInt32(heldBits)))
            }
        }
        guard held & (1 << UInt32(heldBits) - 1) == 0 else { return nil }
        return bytes
    }

    private func value(of character: UInt8) -> UInt8? {
        switch (self, character) {
        case (.hex, 0x30...0x39), (.base64url, 0x30...0x39):
            self == .hex ? character - 0x30 : character - 0x30 + 52
        case (.hex, 0x61...0x66): character - 0x61 + 10
        case (.base32, 0x61...0x7A): character - 0x61
        case (.base32, 0x32...0x37): character - 0x32 + 26
        case (.base64url, 0x41...0x5A): character - 0x41
        case (.base64url, 0x61...0x7A): character - 0x61 + 26
        case (.base64url, 0x2D): 62
        case (.base64url, 0x5F): 63
        default: nil
        }
    }
}

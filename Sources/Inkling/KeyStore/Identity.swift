/// The text form of an identity: `inkling-identity-1`, a blank, the private key as 64 lower-case hex digits, and
/// the end of the line. Nothing else is read, so that a damaged key is never taken for another.
package enum Identity {
    private static let label = "inkling-identity-"
    private static let version = "1"
    package static let keyBytes = 32
    /// Longer files are not read.
    package static let maximumBytes = 256

    package enum Reading: Equatable {
        case key([UInt8])
        case newer
        case corrupt
    }

    /// A new private key, from the system's random numbers.
    package static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<keyBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    package static func text(of key: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return Array("\(label)\(version) ".utf8) + key.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
            + [UInt8(ascii: "\n")]
    }

    package static func read(_ text: [UInt8]) -> Reading {
        guard text.starts(with: label.utf8), text.last == UInt8(ascii: "\n") else { return .corrupt }
        let parts = text.dropFirst(label.utf8.count).dropLast().split(
            separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        guard let version = parts.first, parts.count == 2 else { return .corrupt }
        guard version.elementsEqual(Self.version.utf8) else {
            let isNumber = !version.isEmpty && version.allSatisfy { (48...57).contains($0) } && version.first != 48
            return isNumber ? .newer : .corrupt
        }
        guard parts[1].count == 2 * keyBytes else { return .corrupt }
        let nibbles = parts[1].compactMap(nibble)
        guard nibbles.count == 2 * keyBytes else { return .corrupt }
        let key = stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
        return key.allSatisfy { $0 == 0 } ? .corrupt : .key(key)
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

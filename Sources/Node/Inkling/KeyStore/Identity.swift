import Glibc
import InklingWire

/// The text form of an identity: `inkling-identity-1`, a blank, the private key as 64 lower-case hex digits, and the
/// end of the line. The reader accepts nothing else, so it never takes a damaged key for another.
package enum Identity {
    private static let label = "inkling-identity-"
    private static let version = "1"
    package static let keyBytes = 32
    /// The longest file that the reader accepts.
    package static let maximumBytes = 256

    package enum Reading: Equatable {
        case key(KeyPair)
        case newer
        case corrupt
    }

    /// Returns a new key pair, from the system's random numbers.
    package static func random() -> KeyPair {
        var generator = SystemRandomNumberGenerator()
        return KeyPair(using: &generator)
    }

    /// Returns the text of an identity. The caller overwrites it with ``wipe(_:)`` after writing it.
    package static func text(of pair: KeyPair) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var key = pair.privateKey
        defer { wipe(&key) }
        var text = Array("\(label)\(version) ".utf8)
        text.reserveCapacity(maximumBytes)
        for byte in key { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return text + [UInt8(ascii: "\n")]
    }

    /// Overwrites bytes of a key that are no longer needed. The cryptography library does so with its own keys.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
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
        var nibbles = parts[1].compactMap(nibble)
        defer { wipe(&nibbles) }
        guard nibbles.count == 2 * keyBytes else { return .corrupt }
        var key = stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
        defer { wipe(&key) }
        guard !key.allSatisfy({ $0 == 0 }), let pair = KeyPair(privateKey: key) else { return .corrupt }
        return .key(pair)
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

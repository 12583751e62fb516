import Crypto

/// A canonical X25519 public key, 32 bytes: what a peer's identity is and what links are compared by.
///
/// It is canonical when, as a little-endian number, it is below 2²⁵⁵ − 19; the all-zero key is none. The order is
/// bytewise: the smaller of two keys opens (W-3, L-1).
package struct PublicKey: Hashable, Comparable, Sendable {
    // Four big-endian words hash and compare faster than an array, in the same order.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The key of 32 bytes; nil for another count, the all-zero key or a key that is not canonical.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32, PublicKey.isCanonical(bytes), bytes.contains(where: { $0 != 0 }) else { return nil }
        self.init(unchecked: bytes)
    }

    /// The key of its 43 characters of base64url without padding, in the canonical form alone; nil for any other (W-6).
    package init?(base64url text: String) {
        guard let bytes = TextEncoding.base64url.decode(text.utf8, count: 32) else { return nil }
        self.init(bytes)
    }

    /// The key of 32 bytes that X25519 itself has put out.
    fileprivate init(unchecked bytes: [UInt8]) {
        func word(_ index: Int) -> UInt64 {
            bytes[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 32)
        writer.append(words.0)
        writer.append(words.1)
        writer.append(words.2)
        writer.append(words.3)
        return writer.bytes
    }

    /// The key in base64url without padding, 43 characters.
    package var base64url: String { TextEncoding.base64url.encode(bytes) }

    /// The short name of the key, for people to compare.
    package var userID: UserID { UserID(of: self) }

    package static func == (left: PublicKey, right: PublicKey) -> Bool { left.words == right.words }

    package static func < (left: PublicKey, right: PublicKey) -> Bool { left.words < right.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }

    private static func isCanonical(_ bytes: [UInt8]) -> Bool {
        guard bytes[31] & 0x80 == 0 else { return false }
        return bytes[31] != 0x7F || bytes[0] < 0xED || bytes[1...30].contains { $0 != 0xFF }
    }
}

/// The user ID of a public key: the first 80 bits of its SHA-256 in lower-case base32, 16 characters (W-5).
///
/// It is for people. Two keys may share one: what a program decides, it decides on whole keys. The order is that of
/// the text.
public struct UserID: Hashable, Comparable, CustomStringConvertible, Sendable {
    /// The 16 characters.
    public let description: String

    /// The user ID that `text` spells; nil unless it is 16 characters of lower-case base32.
    public init?(_ text: String) {
        guard TextEncoding.base32.decode(text.utf8, count: 10) != nil else { return nil }
        description = text
    }

    fileprivate init(of key: PublicKey) {
        description = TextEncoding.base32.encode(Array(SHA256.hash(data: key.bytes).prefix(10)))
    }

    /// By the text.
    public static func < (left: UserID, right: UserID) -> Bool { left.description < right.description }
}

/// An X25519 key pair: a node's identity, or the ephemeral key of one handshake.
package struct KeyPair: Sendable, Equatable {
    private let key: Curve25519.KeyAgreement.PrivateKey
    /// The public half.
    package let publicKey: PublicKey

    /// The pair of a private key of 32 bytes; nil for another count.
    package init?(privateKey: [UInt8]) {
        guard privateKey.count == 32, let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey)
        else { return nil }
        self.key = key
        publicKey = PublicKey(unchecked: Array(key.publicKey.rawRepresentation))
    }

    /// A new pair, of 32 bytes from `generator`.
    package init(using generator: inout some RandomNumberGenerator) {
        guard let pair = KeyPair(privateKey: randomBytes(32, using: &generator)) else {
            preconditionFailure("32 bytes are always an X25519 private key")
        }
        self = pair
    }

    /// Whether all bits of the private halves are equal, in constant time.
    package static func == (left: KeyPair, right: KeyPair) -> Bool {
        equalInConstantTime(left.privateKey, right.privateKey)
    }

    /// The private half, 32 bytes, as it was given: not clamped.
    package var privateKey: [UInt8] { Array(key.rawRepresentation) }

    /// The X25519 result with a public key of 32 bytes; nil when it is all zero, as a low-order point makes it (W-4).
    ///
    /// The library answers a low-order point with zeroes and no error, so this is where it is refused.
    package func sharedSecret(with bytes: [UInt8]) -> [UInt8]? {
        guard
            let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes),
            let secret = try? key.sharedSecretFromKeyAgreement(with: other)
        else { return nil }
        let shared = secret.withUnsafeBytes { Array($0) }
        return equalInConstantTime(shared, Array(repeating: 0, count: 32)) ? nil : shared
    }
}

import CSodium

/// A canonical X25519 public key of 32 bytes, the identity of a peer.
///
/// As a little-endian number it is from 1 to 2²⁵⁵ − 20 (W-3). Keys are ordered by their bytes.
public struct PublicKey: Hashable, Comparable, CustomStringConvertible, Sendable {
    // Four big-endian words hash and compare faster than an array, and have the same order.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The key with these 32 bytes. Returns nil for another count, for 32 zero bytes, or for a key that is not
    /// canonical (W-3).
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Limits.keySize, PublicKey.isCanonical(bytes) else { return nil }
        self.init(unchecked: bytes)
    }

    /// The key of 43 characters of base64url (W-6); throws for any other text.
    package init(base64url text: String) throws(TextError) {
        guard let key = PublicKey(try TextEncoding.base64url.decode(text.utf8, count: Limits.keySize)) else {
            throw .key
        }
        self = key
    }

    /// The key in `text`; nil unless the text is 43 characters of base64url, in the canonical form (W-6).
    public init?(_ text: String) {
        guard let key = try? PublicKey(base64url: text) else { return nil }
        self = key
    }

    /// The key of 32 bytes that X25519 computed.
    fileprivate init(unchecked bytes: [UInt8]) {
        func word(_ index: Int) -> UInt64 {
            bytes[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes.
    package var bytes: [UInt8] { [words.0, words.1, words.2, words.3].flatMap(\.bigEndianBytes) }

    /// The key in text, 43 characters of base64url (W-6).
    package var base64url: String { TextEncoding.base64url.encode(bytes) }

    /// The 43 characters that ``init(_:)-(String)`` reads.
    public var description: String { base64url }

    /// The user ID of the key (W-5).
    package var userID: UserID { UserID(of: self) }

    /// Returns the fingerprint of two people, 60 decimal digits. Both people compute the same fingerprint.
    package func fingerprint(with other: PublicKey) -> String {
        let keys = self < other ? bytes + other.bytes : other.bytes + bytes
        // Decimal digits of a big-endian number, the lowest first. For each byte, they are multiplied by 256.
        var digits = [UInt16](repeating: 0, count: 60)
        for byte in SHA256.hash(Array("inkling fingerprint 1 pair".utf8) + keys) {
            var carry = UInt16(byte)
            for index in digits.indices {
                let value = digits[index] * 256 + carry
                digits[index] = value % 10
                carry = value / 10
            }
        }
        return digits.reversed().map(String.init).joined()
    }

    /// Compares the bytes.
    public static func == (left: PublicKey, right: PublicKey) -> Bool { left.words == right.words }

    /// Compares the bytes.
    public static func < (left: PublicKey, right: PublicKey) -> Bool { left.words < right.words }

    /// Takes the first eight bytes. To find keys that share them, one must try 2⁶⁴ keys for each.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

    private static func isCanonical(_ bytes: [UInt8]) -> Bool {
        guard bytes[31] & 0x80 == 0, bytes.contains(where: { $0 != 0 }) else { return false }
        return bytes[31] != 0x7F || bytes[0] < 0xED || bytes[1...30].contains { $0 != 0xFF }
    }
}

/// The user ID of a public key: base32 of the first 10 bytes of its SHA-256, 16 characters (W-5).
///
/// User IDs are for people. Two keys may share one, so programs compare whole keys. User IDs are ordered by their text.
public struct UserID: Hashable, Comparable, CustomStringConvertible, Sendable {
    /// The 16 characters.
    public let description: String

    /// The user ID in `text`; nil unless the text is 16 characters of lower-case base32.
    public init?(_ text: String) {
        guard (try? TextEncoding.base32.decode(text.utf8, count: Limits.userIDSize)) != nil else { return nil }
        description = text
    }

    fileprivate init(of key: PublicKey) {
        description = TextEncoding.base32.encode(Array(SHA256.hash(key.bytes).prefix(Limits.userIDSize)))
    }

    /// Orders user IDs by their texts.
    public static func < (left: UserID, right: UserID) -> Bool { left.description < right.description }
}

/// An X25519 key pair: a node's identity, or the ephemeral key of one handshake.
package struct KeyPair: Sendable, Equatable {
    private let key: SecretBytes
    /// The public half.
    package let publicKey: PublicKey

    /// The pair of a private key of 32 bytes; nil for another count.
    package init?(privateKey: [UInt8]) {
        guard privateKey.count == Limits.keySize else { return nil }
        key = SecretBytes(privateKey)
        var point = [UInt8](repeating: 0, count: Limits.keySize)
        crypto_scalarmult_base(&point, key.start)
        publicKey = PublicKey(unchecked: point)
    }

    /// Makes a new pair from 32 bytes of `generator`, which must be unpredictable (S-6).
    package init(using generator: inout some RandomNumberGenerator) {
        guard let pair = KeyPair(privateKey: randomBytes(Limits.keySize, using: &generator)) else {
            preconditionFailure("32 bytes are always an X25519 private key")
        }
        self = pair
    }

    /// Compares the private keys in constant time.
    package static func == (left: KeyPair, right: KeyPair) -> Bool {
        equalInConstantTime(left.privateKey, right.privateKey)
    }

    /// The private key, 32 bytes as given to the initialiser, not clamped.
    package var privateKey: [UInt8] { key.bytes }

    /// Returns the X25519 result with a public key of 32 bytes, or nil for a result of 32 zero bytes (W-4).
    ///
    /// A point of low order gives the zero result.
    package func sharedSecret(with bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == Limits.keySize else { return nil }
        var shared = [UInt8](repeating: 0, count: Limits.keySize)
        return crypto_scalarmult(&shared, key.start, bytes) == 0 ? shared : nil
    }
}

/// The bytes of a secret key. They leave the memory with their last owner.
final class SecretBytes: Sendable {
    nonisolated(unsafe) let start: UnsafeMutablePointer<UInt8>
    private let count: Int

    /// Copies these bytes.
    init(_ bytes: [UInt8]) {
        SecretBytes.prepareLibrary
        count = bytes.count
        start = .allocate(capacity: count)
        start.initialize(from: bytes, count: count)
    }

    deinit {
        sodium_memzero(start, count)
        start.deallocate()
    }

    /// A copy of the bytes.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Lets the library choose the code for this processor. Without that it works too, but more slowly.
    private static let prepareLibrary: Void = {
        _ = sodium_init()
    }()
}

/// The hash SHA-256.
package enum SHA256 {
    /// The size of a hash, in bytes.
    package static let size = 32

    /// Returns the hash of `data`, 32 bytes.
    package static func hash(_ data: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: size)
        crypto_hash_sha256(&hash, data, UInt64(data.count))
        return hash
    }
}

/// Returns a sum of bytes, 8 bytes, by which a damage of the disk shows.
package func checkSum(_ bytes: [UInt8]) -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: Int(crypto_shorthash_BYTES))
    crypto_shorthash(&sum, bytes, UInt64(bytes.count), [UInt8](repeating: 0, count: Int(crypto_shorthash_KEYBYTES)))
    return sum
}

/// A key of HMAC-SHA256, which one node or all members of a chat know.
package final class HMACKey: Sendable {
    // The state after the key, which is half of the work of a short message.
    private nonisolated(unsafe) let state: UnsafeMutablePointer<crypto_auth_hmacsha256_state>

    /// Takes a key of any size.
    package init(_ key: [UInt8]) {
        state = .allocate(capacity: 1)
        crypto_auth_hmacsha256_init(state, key, key.count)
    }

    deinit {
        sodium_memzero(state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
        state.deallocate()
    }

    /// Returns the code of `data`, 32 bytes.
    package func code(_ data: [UInt8]) -> [UInt8] {
        var state = state.pointee
        crypto_auth_hmacsha256_update(&state, data, UInt64(data.count))
        var code = [UInt8](repeating: 0, count: SHA256.size)
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }

    /// Whether `code` is the code of `data`. The time of the comparison does not depend on the bytes.
    package func matches(_ code: [UInt8], of data: [UInt8]) -> Bool {
        code.count == SHA256.size && sodium_memcmp(code, self.code(data), SHA256.size) == 0
    }
}

/// Returns the first 32 bytes of HKDF-SHA256 (RFC 5869).
package func deriveKey(_ key: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
    HMACKey(HMACKey(salt).code(key)).code(info + [1])
}

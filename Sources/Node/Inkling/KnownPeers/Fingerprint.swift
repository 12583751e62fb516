import InklingWire

/// A hash of keys that two people compare, by voice or side by side, to rule out an interceptor.
public struct Fingerprint: Hashable, Sendable {
    /// The 32 bytes of a SHA-256 hash.
    public let bytes: [UInt8]

    /// The fingerprint of one key, which identifies one person.
    package init(of key: PublicKey) {
        bytes = SHA256.hash(Array("inkling fingerprint 1 identity".utf8) + key.bytes)
    }

    /// The fingerprint of two keys, the same for both people.
    package init(of first: PublicKey, and second: PublicKey) {
        let keys = min(first, second).bytes + max(first, second).bytes
        bytes = SHA256.hash(Array("inkling fingerprint 1 pair".utf8) + keys)
    }

    /// The lowest 60 decimal digits of the bytes as one big-endian number, in 12 groups of 5.
    ///
    /// An attacker between two people controls the keys in both of their fingerprints, and can search for keys whose
    /// fingerprints agree. If people compare only half of the digits, such a search could succeed with great effort.
    public var groups: [String] {
        var number = bytes
        let groups = (0..<12).map { _ in
            var remainder = 0
            for index in number.indices {
                let value = remainder << 8 | Int(number[index])
                number[index] = UInt8(truncatingIfNeeded: value / 100_000)
                remainder = value % 100_000
            }
            let digits = String(remainder)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }
        return groups.reversed()
    }
}

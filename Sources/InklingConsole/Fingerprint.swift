/// A digest as people compare it, by eye or over the telephone.
package enum Fingerprint {
    /// The bytes of the digest.
    package static let digestLength = 32

    /// Eight groups of five digits: each four bytes of the digest, big-endian, modulo 100,000.
    ///
    /// Both sides read the same digits if both take the digest over the same bytes: the two public keys, the lesser one
    /// first.
    ///
    /// - Returns: `nil` if the digest has not 32 bytes.
    package static func groups(of digest: some Sequence<UInt8>) -> [String]? {
        let bytes = Array(digest)
        guard bytes.count == digestLength else { return nil }
        return stride(from: 0, to: digestLength, by: 4).map { start in
            let value = bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let digits = String(value % 100_000)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }
    }

    /// The groups as two rows of four, which fit in 40 columns.
    package static func rows(of digest: some Sequence<UInt8>) -> [String]? {
        guard let groups = groups(of: digest) else { return nil }
        return [groups[..<4].joined(separator: " "), groups[4...].joined(separator: " ")]
    }
}

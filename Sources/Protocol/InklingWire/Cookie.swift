/// The random key that makes a node's cookies. A cookie proves that the sender of an initiation can receive at its
/// address (L-9).
///
/// The node draws a new key every 120 s, and accepts the cookies of the previous one (L-11).
package struct CookieKey: Sendable {
    private let key: HMACKey

    /// A new key of 32 bytes from `generator`, which must be unpredictable (S-6).
    package init(using generator: inout some RandomNumberGenerator) {
        key = HMACKey(randomBytes(32, using: &generator))
    }

    /// Returns the cookie of an initiation, 16 bytes (L-11).
    ///
    /// - Parameters:
    ///   - address: the 16 bytes of the IPv6 address of the source, IPv4 mapped.
    ///   - port: the UDP port of the source.
    package func cookie(for initiation: Initiation, address: [UInt8], port: UInt16) -> [UInt8] {
        precondition(address.count == 16, "an address has 16 bytes")
        let data = address + port.bigEndianBytes + initiation.senderIndex.bigEndianBytes + initiation.ephemeralKey
        return Array(key.code(data).prefix(Limits.cookieSize))
    }

    /// Returns whether an initiation carries the cookie of this key and this source.
    package func fits(_ initiation: Initiation, address: [UInt8], port: UInt16) -> Bool {
        guard let cookie = initiation.cookie else { return false }
        return equalInConstantTime(cookie, self.cookie(for: initiation, address: address, port: port))
    }
}

import Crypto

/// What a node under load makes its cookies from: they prove that an initiation's sender receives at its address.
///
/// The node changes it every 120 s and accepts the cookies of the one before as well (L-11).
package struct CookieSecret: Sendable {
    private let key: SymmetricKey

    /// A new secret, of 32 bytes from `generator`.
    package init(using generator: inout some RandomNumberGenerator) {
        key = SymmetricKey(data: randomBytes(32, using: &generator))
    }

    /// The cookie of an initiation, 16 bytes, over its source, its index and its ephemeral key.
    ///
    /// - Parameters:
    ///   - address: the 16 bytes of the IPv6 address that it came from.
    ///   - port: the UDP port that it came from.
    package func cookie(for initiation: Initiation, address: [UInt8], port: UInt16) -> [UInt8] {
        precondition(address.count == 16, "an address has 16 bytes")
        var writer = ByteWriter(capacity: 54)
        writer.append(address)
        writer.append(port)
        writer.append(initiation.senderIndex)
        writer.append(initiation.noise.prefix(32))
        let code = HMAC<SHA256>.authenticationCode(for: writer.bytes, using: key)
        return Array(code.prefix(Initiation.cookieSize))
    }

    /// Whether an initiation carries the cookie that this secret makes for its source.
    package func matches(_ initiation: Initiation, address: [UInt8], port: UInt16) -> Bool {
        guard let cookie = initiation.cookie else { return false }
        return equalInConstantTime(cookie, self.cookie(for: initiation, address: address, port: port))
    }
}

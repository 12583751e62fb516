import CSodium

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

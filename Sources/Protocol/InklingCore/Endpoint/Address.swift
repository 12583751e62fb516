/// The source or destination of a datagram: an IPv6 address, a port, and the scope of a link-local address.
///
/// An IPv4 address has its IPv4-mapped form (`::ffff:a.b.c.d`), so that no address has two forms.
package struct Address: Hashable, Sendable, Comparable {
    /// The first eight bytes of the IPv6 address, big-endian.
    package let high: UInt64
    /// The last eight bytes of the IPv6 address, big-endian.
    package let low: UInt64
    /// The UDP port, 1 to 65,535.
    package let port: UInt16
    /// The interface index of an IPv6 link-local address; 0 for any other.
    package let scope: UInt32

    package init(high: UInt64, low: UInt64, port: UInt16, scope: UInt32 = 0) {
        self.high = high
        self.low = low
        self.port = port
        self.scope = high >> 54 == 0x3FA ? scope : 0
    }

    /// Makes an IPv4 address. `ipv4` has the four bytes in big-endian order.
    package init(ipv4: UInt32, port: UInt16) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(ipv4), port: port)
    }

    /// The four bytes of an IPv4 address, big-endian; nil for IPv6.
    package var ipv4: UInt32? {
        high == 0 && low >> 32 == 0xFFFF ? UInt32(truncatingIfNeeded: low) : nil
    }

    /// True for `fe80::/10`.
    package var isIPv6LinkLocal: Bool { high >> 54 == 0x3FA }

    /// True for an address of one host: neither multicast, broadcast nor unspecified, with a port.
    package var isUnicast: Bool {
        guard port != 0 else { return false }
        if let ipv4 {
            return ipv4 >> 24 != 0 && ipv4 >> 28 < 0xE
        }
        return high >> 56 != 0xFF && !(high == 0 && low == 0)
    }

    package var isLoopback: Bool {
        if let ipv4 { return ipv4 >> 24 == 127 }
        return high == 0 && low == 1
    }

    /// The sixteen bytes of the IPv6 form, in network order.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: high >> shift))
        }
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: low >> shift))
        }
        return bytes
    }

    package static func < (left: Address, right: Address) -> Bool {
        (left.high, left.low, left.port, left.scope) < (right.high, right.low, right.port, right.scope)
    }
}

/// A network of this host: the host's address in it, and the length of the network's prefix.
package struct LocalNetwork: Hashable, Sendable {
    /// The address of this host on that network. The port has no meaning and is 0.
    package let address: Address
    /// The number of leading bits, of 128, that all hosts of the network share. An IPv4 /24 network has 120.
    package let prefixLength: Int

    package init(address: Address, prefixLength: Int) {
        self.address = address
        self.prefixLength = min(max(prefixLength, 0), 128)
    }

    /// Returns whether this host reaches `other` through this network without a router.
    package func contains(_ other: Address) -> Bool {
        if other.isIPv6LinkLocal || address.isIPv6LinkLocal {
            return other.isIPv6LinkLocal && address.isIPv6LinkLocal && other.scope == address.scope
        }
        let highBits = min(prefixLength, 64)
        let lowBits = max(prefixLength - 64, 0)
        let highMask: UInt64 = highBits == 0 ? 0 : ~0 << UInt64(64 - highBits)
        let lowMask: UInt64 = lowBits == 0 ? 0 : ~0 << UInt64(64 - lowBits)
        return (other.high ^ address.high) & highMask == 0 && (other.low ^ address.low) & lowMask == 0
    }
}

/// The addresses from which programs of a host can send, on all of its interfaces, even those that the node does not
/// use.
package struct OwnAddresses: Equatable, Sendable {
    private struct Key: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private var addresses: Set<Key> = []
    /// The ranges that the host treats as its own, such as 127.0.0.0/8.
    private var ranges: Set<LocalNetwork> = []

    /// Makes a set of ranges.
    ///
    /// - Parameter networks: Ranges of the host's addresses. A single address has a prefix of 128 bits.
    package init(_ networks: [LocalNetwork] = []) {
        for network in networks { insert(network) }
    }

    /// Returns whether a datagram from `address` can come from this host, regardless of port and scope.
    package func contains(_ address: Address) -> Bool {
        if address.isLoopback || addresses.contains(Key(high: address.high, low: address.low)) { return true }
        return ranges.contains { $0.covers(address) }
    }

    /// Adds a range, or a single address with a prefix of 128 bits.
    package mutating func insert(_ network: LocalNetwork) {
        if network.prefixLength == 128 {
            addresses.insert(Key(high: network.address.high, low: network.address.low))
        } else {
            ranges.insert(network)
        }
    }
}

extension LocalNetwork {
    /// Returns whether `other` has the same leading bits. Link-local addresses count too.
    fileprivate func covers(_ other: Address) -> Bool {
        let high: UInt64 = prefixLength >= 64 ? ~0 : ~(~0 >> UInt64(prefixLength))
        let low: UInt64 = prefixLength <= 64 ? 0 : ~(prefixLength == 128 ? 0 : ~0 >> UInt64(prefixLength - 64))
        return (other.high ^ address.high) & high == 0 && (other.low ^ address.low) & low == 0
    }
}

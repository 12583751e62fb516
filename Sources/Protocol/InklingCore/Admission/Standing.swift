/// How well this user knows a person. A node evicts lower standings first (L-52).
package enum Standing: Comparable, Sendable {
    /// Anybody: keys are free.
    case stranger
    /// Met on two days at least 24 h apart, or a member of a secret chat: preferred to strangers.
    case met
    /// The user has confirmed the owner of the key.
    case verified
}

/// Where datagrams come from, as far as shares are counted. Ports don't count.
enum Source: Hashable {
    /// A host on the link, by its whole address: all hosts there share one prefix.
    case host(high: UInt64, low: UInt64, scope: UInt32)
    /// Beyond the link an IPv4 address, or the first 64 bits of an IPv6 address.
    case network(high: UInt64, low: UInt64)
    /// Other users of this host, whichever of its addresses they send from (L-53).
    case otherUsers
}

extension Surroundings {
    func standing(of person: PersonID) -> Standing {
        let own = standings.isEmpty ? .stranger : standings[person.key] ?? .stranger
        return max(own, secretChats.contains(person.chat) ? .met : .stranger)
    }

    /// Whether a person comes before strangers.
    func isPreferred(_ person: PersonID) -> Bool { standing(of: person) > .stranger }

    /// The source that an address belongs to; nil for sockets of the node's own user, which are none (L-53).
    func source(of address: Address) -> Source? { source(of: address, isOwnUsers: isOwnUsers(address)) }

    /// - Parameter isOwnUsers: Whether a socket of the node's own user is known to be at that address.
    func source(of address: Address, isOwnUsers: Bool) -> Source? {
        if isOwnHost(address) {
            return isOwnUsers ? nil : .otherUsers
        }
        return isOnLink(address)
            ? .host(high: address.high, low: address.low, scope: address.scope)
            : .network(high: address.high, low: address.ipv4 == nil ? 0 : address.low)
    }

    func source(of link: Link) -> Source? { source(of: link.address, isOwnUsers: link.isOwnUsers) }
}

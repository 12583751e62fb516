/// How well this user knows somebody; the higher, the later they give way when there is not room for all (L-52).
package enum Standing: Comparable, Sendable {
    /// Anybody: keys are free.
    case stranger
    /// Met on two days at least 24 h apart, or a member of a secret chat: preferred to strangers.
    case met
    /// The user has said that the key belongs to whom it says.
    case verified
}

/// Where datagrams come from, as far as shares are counted: a host on the link by its whole address, since all of these
/// share one prefix, and beyond it an IPv4 address or the 64 bits of an IPv6 network. Ports don't count.
struct Source: Hashable {
    private let high: UInt64
    private let low: UInt64
    private let scope: UInt32

    init(host address: Address) { (high, low, scope) = (address.high, address.low, address.scope) }

    init(networkOf address: Address) {
        (high, low, scope) = (address.high, address.ipv4 == nil ? 0 : address.low, 0)
    }
}

extension Surroundings {
    func standing(of person: PersonID) -> Standing {
        let own = standings.isEmpty ? .stranger : standings[person.key] ?? .stranger
        return max(own, secretChats.contains(person.chat) ? .met : .stranger)
    }

    /// Whether a person comes before strangers.
    func isPreferred(_ person: PersonID) -> Bool { standing(of: person) > .stranger }

    /// The source that an address belongs to; nil for this host, which is none.
    func source(of address: Address) -> Source? {
        if networks.contains(where: { $0.address.high == address.high && $0.address.low == address.low }) { return nil }
        return isOnLink(address) ? Source(host: address) : Source(networkOf: address)
    }
}

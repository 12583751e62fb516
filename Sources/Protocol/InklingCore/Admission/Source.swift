/// The origin of datagrams for limits on each source. A source ignores the port.
enum Source: Hashable {
    /// A host on the link, by its whole address, because all hosts there share one prefix.
    case host(high: UInt64, low: UInt64, scope: UInt32)
    /// An origin beyond the link: an IPv4 address, or the first 64 bits of an IPv6 address.
    case network(high: UInt64, low: UInt64)
    /// All other users of this host, at any of its addresses (L-53).
    case otherUsers
}

extension Surroundings {
    func standing(of person: PersonID) -> Standing {
        let own = standings.isEmpty ? .stranger : standings[person.key] ?? .stranger
        return max(own, secretChats.contains(person.chat) ? .met : .stranger)
    }

    /// How well the user knows a person. Of people whom the user knows equally well, members of secret chats come first.
    struct Rank: Comparable {
        let standing: Standing
        let isMember: Bool

        static func < (left: Rank, right: Rank) -> Bool {
            left.standing == right.standing ? !left.isMember && right.isMember : left.standing < right.standing
        }
    }

    func rank(of person: PersonID) -> Rank {
        Rank(standing: standings[person.key] ?? .stranger, isMember: secretChats.contains(person.chat))
    }

    /// Returns whether a node prefers a person to strangers.
    func isPreferred(_ person: PersonID) -> Bool { standing(of: person) > .stranger }

    /// Returns the source of an address; nil for sockets of the node's own user, which have no limit (L-53).
    func source(of address: Address) -> Source? { source(of: address, isOwnUsers: isOwnUsers(address)) }

    /// Returns the source of an address.
    ///
    /// - Parameter isOwnUsers: Whether the system knows that a socket of the node's own user has that address.
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

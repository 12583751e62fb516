import InklingModel

extension Peer {
    /// The same peer, who went at that time, in seconds since 1970, unless it is known when.
    func seen(at time: Double) -> Peer { lastSeen == nil ? with(presence, lastSeen: time) : self }

    /// The same peer, who is not there any more.
    func gone(at time: Double) -> Peer { with(.offline, lastSeen: time) }

    private func with(_ presence: Presence, lastSeen: Double) -> Peer {
        Peer(
            user: user, name: name, presence: presence, key: key, lastSeen: lastSeen,
            onlineSince: presence == .offline ? nil : onlineSince, roundTrip: roundTrip, firstSeen: firstSeen,
            isVerified: isVerified, isBlocked: isBlocked,
            namesakes: namesakes, namesake: namesake, names: names, namedSince: namedSince)
    }
}

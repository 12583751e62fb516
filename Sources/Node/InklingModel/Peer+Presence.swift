extension Peer {
    /// Returns the peer with `time` as the time when it was last seen, in seconds since 1970. A time already known
    /// stays.
    package func seen(at time: Double) -> Peer {
        lastSeen == nil ? with(presence, lastSeen: time, roundTrip: roundTrip) : self
    }

    /// Returns the peer as offline since `time`, in seconds since 1970.
    package func gone(at time: Double) -> Peer { with(.offline, lastSeen: time, roundTrip: nil) }

    private func with(_ presence: Presence, lastSeen: Double, roundTrip: Duration?) -> Peer {
        Peer(
            user: user, name: name, presence: presence, key: key, lastSeen: lastSeen,
            onlineSince: presence == .offline ? nil : onlineSince, roundTrip: roundTrip, firstSeen: firstSeen,
            isVerified: isVerified, isBlocked: isBlocked, namesakes: namesakes, namesake: namesake, names: names,
            namedSince: namedSince)
    }
}

extension Peer {
    /// Returns the same peer, last seen at that time, unless a time is known.
    package func seen(at time: Timestamp) -> Peer {
        lastSeen == nil ? with(presence, lastSeen: time, roundTrip: roundTrip) : self
    }

    /// Returns the same peer, who is offline since that time.
    package func gone(at time: Timestamp) -> Peer { with(.offline, lastSeen: time, roundTrip: nil) }

    private func with(_ presence: Presence, lastSeen: Timestamp, roundTrip: Duration?) -> Peer {
        Peer(
            user: user, name: name, presence: presence, key: key, lastSeen: lastSeen,
            onlineSince: presence == .offline ? nil : onlineSince, roundTrip: roundTrip, firstSeen: firstSeen,
            isVerified: isVerified, isBlocked: isBlocked, namesakes: namesakes, namesake: namesake, names: names,
            namedSince: namedSince)
    }
}

import InklingModel

/// Decides which alarms about keys to show, once for each person and name.
struct KeyWarnings: Sendable {
    /// The number of pairs of a person and a name whose shown alarms are remembered.
    private static let remembered = 4_096

    /// When this began.
    private let startedAt: Timestamp
    private var warned: Set<Warned> = []

    private struct Warned: Hashable {
        let user: UserID
        let name: String
    }

    init(startedAt: Timestamp) {
        self.startedAt = startedAt
    }

    /// Returns the alarm about a person's key, only once. Returns nil for a verified key, or for the first owner of the
    /// name.
    mutating func alarm(about peer: Peer) -> KeyAlarm? {
        if warned.count > Self.remembered { warned = [] }
        guard let namesake = peer.namesake, !peer.isVerified,
            warned.insert(Warned(user: peer.user, name: peer.name)).inserted
        else { return nil }
        return KeyAlarm(
            newcomer: peer.name, formerNames: peer.names.dropFirst(), knownNames: namesake.names,
            isVerified: namesake.isVerified, isRepeated: peer.namedSince.map { $0 < startedAt } ?? false)
    }
}

import InklingModel

/// Decides what has to be said of people's keys, once for each person and name.
struct KeyWarnings: Sendable {
    /// For how many people and names it is known that it was said.
    private static let remembered = 4_096

    /// When this began, in seconds since 1970.
    private let startedAt: Double
    private var warned: Set<Warned> = []

    private struct Warned: Hashable {
        let user: UserID
        let name: String
    }

    init(startedAt: Double) {
        self.startedAt = startedAt
    }

    /// What there is to say of somebody's key, once; nothing of a verified one, or of the one who had the name first.
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

/// Somebody this user's nodes have met, in this run or an earlier one, or whom the user verified or blocked by key.
public struct KnownPeer: Hashable, Sendable {
    /// The user ID of the person.
    public package(set) var user: UserID
    /// The static public key.
    public package(set) var key: PublicKey
    /// The names that the key has had, the latest first, at most 4. As sent: make them safe before you print them.
    public package(set) var names: [String]
    /// When the key first had its present name.
    public package(set) var namedSince: Timestamp
    /// When the key was first met; for one that was never met, when the user decided about it.
    public package(set) var firstSeen: Timestamp
    /// When the key was last there; for one that was never met, as ``firstSeen``.
    public package(set) var lastSeen: Timestamp
    /// Whether the user has compared fingerprints with them.
    public package(set) var isVerified: Bool
    /// Whether the user has blocked the person.
    public package(set) var isBlocked: Bool

    package init(
        user: UserID, key: PublicKey, names: [String], namedSince: Timestamp, firstSeen: Timestamp, lastSeen: Timestamp,
        isVerified: Bool, isBlocked: Bool
    ) {
        self.user = user
        self.key = key
        self.names = names
        self.namedSince = namedSince
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.isVerified = isVerified
        self.isBlocked = isBlocked
    }
}

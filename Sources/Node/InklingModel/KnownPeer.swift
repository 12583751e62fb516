/// Somebody this user's nodes have met, in this run or an earlier one, or whom the user verified or blocked by key.
public struct KnownPeer: Hashable, Sendable {
    /// The user ID of the person.
    public let user: UserID
    /// The static public key.
    public let key: PublicKey
    /// The names that the key has had, the latest first, at most 4. As sent: make them safe before you print them.
    public let names: [String]
    /// When the key first had its present name.
    public let namedSince: Timestamp
    /// When the key was first met; for one that was never met, when the user decided about it.
    public let firstSeen: Timestamp
    /// When the key was last there; for one that was never met, as ``firstSeen``.
    public let lastSeen: Timestamp
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Whether the user has blocked the person.
    public let isBlocked: Bool

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

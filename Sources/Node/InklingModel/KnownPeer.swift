import InklingWire

/// Somebody this user's nodes have met, in this run or an earlier one, or whom the user verified or blocked by key.
public struct KnownPeer: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// The static public key in base64url, 43 characters.
    public let key: String
    /// The names that the key has had, the latest first, at most 4. As sent: make them safe before you print them.
    public let names: [String]
    /// When the key first had its present name, in seconds since 1970.
    public let namedSince: Double
    /// When the key was first met, in seconds since 1970; for one that was never met, when the user decided about it.
    public let firstSeen: Double
    /// When the key was last there, in seconds since 1970; for one that was never met, as ``firstSeen``.
    public let lastSeen: Double
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Whether the user has blocked them.
    public let isBlocked: Bool

    package init(
        user: UserID, key: String, names: [String], namedSince: Double, firstSeen: Double, lastSeen: Double,
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

/// Whether a text is a static public key in base64url: 43 characters, in the canonical form alone (W-6).
package func isStaticKey(_ text: String) -> Bool { (try? PublicKey(base64url: text)) != nil }

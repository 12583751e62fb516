import InklingWire

/// A person whom this user's nodes have met, in this run or an earlier one, or whom the user verified or blocked by
/// key.
public struct KnownPeer: Hashable, Sendable {
    /// The user ID of the person.
    public let user: UserID
    /// The static public key in base64url, 43 characters.
    public let key: String
    /// The names that the key has had, the latest first, at most 4. The names are as sent: make them safe before you
    /// print them.
    public let names: [String]
    /// The time when the key first had its present name, in seconds since 1970.
    public let namedSince: Double
    /// The time when the key was first met, in seconds since 1970. For a key that was never met, the time of the user's
    /// decision.
    public let firstSeen: Double
    /// The time when the key was last there, in seconds since 1970. For a key that was never met, the same as
    /// ``firstSeen``.
    public let lastSeen: Double
    /// Whether the user has verified the person by comparing fingerprints.
    public let isVerified: Bool
    /// Whether the user has blocked the person.
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

/// Returns whether a text is a static public key in base64url: 43 characters, in the one canonical form (W-6).
package func isStaticKey(_ text: String) -> Bool { (try? PublicKey(base64url: text)) != nil }

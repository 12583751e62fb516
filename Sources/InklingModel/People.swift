@_exported import struct InklingWire.UserID

/// Somebody in a chat. The name is as the peer sent it: make it safe before you print it, with InklingText.
public struct Person: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// Valid UTF-8 of at most 64 bytes, otherwise as sent; it may be empty.
    public let name: String

    /// Somebody with that identity and name.
    public init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }
}

/// Whether somebody can be reached.
public enum Presence: String, Sendable, Hashable, Codable, CaseIterable {
    /// In the chat, and there.
    case online
    /// In the chat, but marked as away. Messages arrive.
    case away
    /// Not in the chat, or out of reach.
    case offline
}

/// What a node knows of somebody in a chat. Equal when nothing that is shown differs; the round trip is not compared.
public struct Peer: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// As the peer sent it: make it safe before you print it.
    public let name: String
    /// Whether they can be reached.
    public let presence: Presence
    /// The static public key in base64url, 43 characters.
    public let key: String
    /// When the peer was last there, in this run or an earlier one, in seconds since 1970; nil while it is online.
    public let lastSeen: Double?
    /// Since when the peer has been there, in seconds since 1970; nil while it is offline.
    public let onlineSince: Double?
    /// The smoothed round trip, if one was measured.
    public let roundTrip: Duration?
    /// When the key was first met, in any chat and run, in seconds since 1970.
    public let firstSeen: Double?
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Whether the user has blocked them permanently.
    public let isBlocked: Bool
    /// Others who were known under this name before, or are verified: one of them may be the person that the name
    /// suggests, instead of this one. Blocked people are left out.
    public let namesakes: [UserID]

    package init(
        user: UserID, name: String, presence: Presence, key: String, lastSeen: Double?, onlineSince: Double?,
        roundTrip: Duration?, firstSeen: Double?, isVerified: Bool, isBlocked: Bool, namesakes: [UserID]
    ) {
        self.user = user
        self.name = name
        self.presence = presence
        self.key = key
        self.lastSeen = lastSeen
        self.onlineSince = onlineSince
        self.roundTrip = roundTrip
        self.firstSeen = firstSeen
        self.isVerified = isVerified
        self.isBlocked = isBlocked
        self.namesakes = namesakes
    }

    /// The person, as events name them.
    public var person: Person { Person(user: user, name: name) }

    /// Whether nothing that is shown differs.
    public static func == (left: Peer, right: Peer) -> Bool {
        left.user == right.user && left.name == right.name && left.presence == right.presence
            && left.key == right.key && left.lastSeen == right.lastSeen && left.onlineSince == right.onlineSince
            && left.isVerified == right.isVerified && left.isBlocked == right.isBlocked
            && left.namesakes == right.namesakes
    }

    /// By user and presence.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(user)
        hasher.combine(presence)
    }
}

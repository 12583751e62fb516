@_exported import struct InklingWire.PublicKey
@_exported import struct InklingWire.UserID

/// Somebody in a chat. The name is as the peer sent it: make it safe before you print it, with InklingText.
public struct Person: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// The display name, as sent: valid UTF-8 of at most 64 bytes, perhaps empty (M-25).
    public let name: String

    /// Somebody with that identity and name.
    public init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }
}

/// Whether somebody can be reached.
public enum Presence: String, Sendable, Hashable, Codable, CaseIterable {
    /// In the chat, and heard lately.
    case online
    /// In the chat, and says that they are elsewhere. Messages arrive.
    case away
    /// Not in the chat, or out of reach. Messages don't arrive, and don't wait.
    case offline
}

/// A person in a chat, as a node knows them.
public struct Peer: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// The display name, as the peer sent it: make it safe before you print it.
    public let name: String
    /// Whether they can be reached.
    public let presence: Presence
    /// The static public key.
    public let key: PublicKey
    /// When the peer was last there, in this run or an earlier one; nil while it is online.
    public let lastSeen: Timestamp?
    /// Since when the peer has been there; nil while it is offline.
    public let onlineSince: Timestamp?
    /// The smoothed round trip between this node and theirs; nil if none was measured.
    public let roundTrip: Duration?
    /// When the key was first met, in any chat and run; nil if it was never met.
    public let firstSeen: Timestamp?
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Whether the user has blocked them permanently.
    public let isBlocked: Bool
    /// Other people who had this name before, or are verified: the name may suggest one of them instead of this person.
    /// Verified people come first, and blocked ones are left out; 8 at most.
    public let namesakes: [UserID]
    /// The one of these for whom this one is most likely to be mistaken: the first.
    public let namesake: Namesake?
    /// The names that the key has had, the latest first, at most 4; as sent. Empty if it was never met.
    public let names: [String]
    /// When the key first had its present name; nil if it was never met.
    public let namedSince: Timestamp?

    /// Somebody known for whom another could be mistaken because of the name.
    public struct Namesake: Hashable, Sendable {
        /// Whose identity it is.
        public let user: UserID
        /// The names that this one has had, the latest first, at most 4; as sent.
        public let names: [String]
        /// Whether the user has compared fingerprints with them.
        public let isVerified: Bool

        package init(user: UserID, names: [String], isVerified: Bool) {
            self.user = user
            self.names = names
            self.isVerified = isVerified
        }
    }

    package init(
        user: UserID, name: String, presence: Presence, key: PublicKey, lastSeen: Timestamp? = nil,
        onlineSince: Timestamp? = nil, roundTrip: Duration? = nil, firstSeen: Timestamp? = nil,
        isVerified: Bool = false,
        isBlocked: Bool = false, namesakes: [UserID] = [], namesake: Namesake? = nil, names: [String] = [],
        namedSince: Timestamp? = nil
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
        self.namesake = namesake
        self.names = names
        self.namedSince = namedSince
    }

    /// The person, as events name them.
    public var person: Person { Person(user: user, name: name) }
}

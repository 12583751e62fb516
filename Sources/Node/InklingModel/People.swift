@_exported import enum InklingWire.FailureReason
@_exported import enum InklingWire.NormalForm
@_exported import enum InklingWire.Presence
@_exported import enum InklingWire.PresenceReason
@_exported import struct InklingWire.PublicKey
@_exported import struct InklingWire.UserID

/// A person in a chat. The name is as the peer sent it: make it safe before you print it, with InklingText.
public struct Person: Hashable, Sendable {
    /// The user ID of the person.
    public package(set) var user: UserID
    /// The display name, as sent: valid UTF-8 of at most 64 bytes, perhaps empty (M-25).
    public package(set) var name: String

    /// A person with that identity and name.
    public init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }
}

/// A person in a chat, as a node knows them.
public struct Peer: Hashable, Sendable {
    /// The user ID of the person.
    public package(set) var user: UserID
    /// The display name, as the peer sent it: make it safe before you print it.
    public package(set) var name: String
    /// Whether the person is reachable.
    public package(set) var presence: Presence
    /// The static public key.
    public package(set) var key: PublicKey
    /// When the peer was last there, in this run or an earlier one; nil while it is online.
    public package(set) var lastSeen: Timestamp?
    /// Since when the peer has been there; nil while it is offline.
    public package(set) var onlineSince: Timestamp?
    /// The smoothed round trip between this node and theirs; nil if none was measured.
    public package(set) var roundTrip: Duration?
    /// When the key was first met, in any chat and run; nil if it was never met.
    public package(set) var firstSeen: Timestamp?
    /// Whether the user has compared fingerprints with them.
    public package(set) var isVerified: Bool
    /// Whether the user has blocked the person permanently.
    public package(set) var isBlocked: Bool
    /// Other people whom the name may suggest instead of this person. They had this name before, or are verified and
    /// have a similar one. Verified people come first, blocked ones are left out, and there are 8 at most.
    public package(set) var namesakes: [UserID]
    /// The first of ``namesakes``, for whom readers are most likely to mistake this person.
    public package(set) var namesake: Namesake?
    /// The names that the key has had, as sent, the latest first, at most 4; empty if the key was never met.
    public package(set) var names: [String]
    /// When the key first had its present name; nil if it was never met.
    public package(set) var namedSince: Timestamp?

    /// A known person with a similar name, for whom readers could mistake another person.
    public struct Namesake: Hashable, Sendable {
        /// The user ID of the known person.
        public package(set) var user: UserID
        /// The names that the known person has had, as sent, the latest first, at most 4.
        public package(set) var names: [String]
        /// Whether the user has verified the known person by comparing fingerprints.
        public package(set) var isVerified: Bool

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

    /// The person in the form that events use.
    public var person: Person { Person(user: user, name: name) }
}

import InklingCore
import InklingWire

/// The short form of an identity: 16 base32 characters, 80 bits of a hash of its public key.
public struct UserID: Hashable, Sendable, Comparable, CustomStringConvertible {
    let wire: InklingWire.UserID

    /// Reads a user ID; nil for anything but 16 lower-case base32 characters.
    public init?(_ text: String) {
        guard let wire = InklingWire.UserID(text) else { return nil }
        self.wire = wire
    }

    init(_ key: PublicKey) { wire = key.userID }

    /// The 16 characters.
    public var description: String { wire.description }

    /// By the text.
    public static func < (left: UserID, right: UserID) -> Bool { left.wire < right.wire }
}

/// Somebody in a chat. The name is as the peer sent it: make it safe before you print it.
public struct Person: Hashable, Sendable {
    /// Whose identity it is.
    public let user: UserID
    /// Valid UTF-8 of at most 64 bytes, otherwise as sent; it may be empty.
    public let name: String

    /// Somebody of that identity, under that name.
    public init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }

    init(_ person: InklingCore.Person) { self.init(user: UserID(person.key), name: person.name) }
}

/// Whether somebody can be reached.
public enum Presence: String, Sendable, Hashable, Codable {
    case online, away, offline

    init(_ presence: InklingCore.Presence) {
        switch presence {
        case .online: self = .online
        case .away: self = .away
        case .offline: self = .offline
        }
    }
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
    /// When the peer was last there, in this run or an earlier one, in seconds since 1970; nil while it is.
    public let lastSeen: Double?
    /// Since when it is there, in seconds since 1970; nil while it is offline.
    public let onlineSince: Double?
    /// The smoothed round trip, if one was measured.
    public let roundTrip: Duration?
    /// When the key was first met, in any chat and run, in seconds since 1970.
    public let firstSeen: Double?
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Whether the user has blocked them for good.
    public let isBlocked: Bool
    /// Others who were known under this name before, or are verified: one of them may be who the name says, and not
    /// this one. Without blocked ones.
    public let namesakes: [UserID]

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

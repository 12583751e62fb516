/// A person who shows in a chat that this user moved without them (A-46).
public struct Newcomer: Hashable, Sendable {
    /// The name of the present chat.
    public let chat: String
    /// The static public key.
    public let key: PublicKey
    /// The latest name, as sent; nil if the node never met the person.
    public let name: String?
    /// Whether the user has compared fingerprints with them.
    public let isVerified: Bool
    /// Other people whom the name may suggest, as in ``Peer/namesakes``.
    public let namesakes: [UserID]
    /// The first of ``namesakes``, for whom the user is most likely to mistake this person.
    public let namesake: Peer.Namesake?

    package init(
        chat: String, key: PublicKey, name: String?, isVerified: Bool = false, namesakes: [UserID] = [],
        namesake: Peer.Namesake? = nil
    ) {
        self.chat = chat
        self.key = key
        self.name = name
        self.isVerified = isVerified
        self.namesakes = namesakes
        self.namesake = namesake
    }

    var fact: String {
        "\(name.map { "\"\($0)\" (\(key.userID))" } ?? "\(key.userID)") looks for \"\(chat)\", which has moved "
            + "without them."
    }
}

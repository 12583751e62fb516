/// A person who shows in a chat that this user moved without them (A-46).
public struct Newcomer: Hashable, Sendable {
    /// The name of the present chat.
    public package(set) var chat: String
    /// The static public key.
    public package(set) var key: PublicKey
    /// The latest name, as sent; nil if the node never met the person.
    public package(set) var name: String?
    /// Whether the user has compared fingerprints with them.
    public package(set) var isVerified: Bool
    /// Other people whom the name may suggest, as in ``Peer/namesakes``.
    public package(set) var namesakes: [UserID]
    /// The first of ``namesakes``, for whom the user is most likely to mistake this person.
    public package(set) var namesake: Peer.Namesake?

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

import InklingModel

extension Labels.Person {
    /// A person in the form in which the node knows them.
    public init(_ peer: Peer) {
        self.init(
            user: peer.user.description, name: peer.name,
            acquaintance: peer.namesakes.isEmpty ? .known : .changedKey, isVerified: peer.isVerified)
    }

    /// A person of whom only the identity and the name are known.
    public init(_ person: InklingModel.Person) { self.init(user: person.user.description, name: person.name) }
}

extension NameFault {
    /// The longest name in bytes of UTF-8 (M-25).
    private static let maximumSize = 64

    /// Returns the fault of the user's own new name, in NFC, or nil. A name has a fault if no node can have it (M-25),
    /// or if other users would not see it.
    public init?(ofOwnName name: String) {
        if let fault = NameFault(of: name, maximumSize: Self.maximumSize) {
            self = fault
        } else if UserIDsInNames.removed(from: name, isKnown: { _ in false }) != nil {
            self = .userID
        } else if Labels.shown(name) == nil {
            self = .unreadable
        } else {
            return nil
        }
    }
}

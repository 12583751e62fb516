import InklingModel

extension Labels.Person {
    /// Somebody as the node knows them.
    public init(_ peer: Peer) {
        self.init(
            user: peer.user.description, name: peer.name,
            acquaintance: peer.namesakes.isEmpty ? .known : .changedKey, isVerified: peer.isVerified)
    }

    /// Somebody of whom nothing but identity and name is known.
    public init(_ person: InklingModel.Person) { self.init(user: person.user.description, name: person.name) }
}

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

import InklingWire

/// The entries of a table that have one key in common, in ascending order: what a node does for one person or chat
/// must not cost more with each other one.
struct Index<Key: Hashable & Sendable, ID: Comparable & Sendable>: Sendable {
    private var ids: [Key: [ID]] = [:]

    subscript(key: Key) -> [ID] { ids[key] ?? [] }

    mutating func insert(_ id: ID, for key: Key) {
        let place = self[key].lastIndex { $0 < id }.map { $0 + 1 } ?? 0
        ids[key, default: []].insert(id, at: place)
    }

    mutating func remove(_ id: ID, for key: Key) {
        ids[key]?.removeAll { $0 == id }
        if ids[key]?.isEmpty == true { ids[key] = nil }
    }
}

/// Which links, sessions and instances belong together.
struct Indices {
    var linksOfPerson = Index<PersonID, LinkID>()
    var linksOfChat = Index<ChatTag, LinkID>()
    var sessionsOfPerson = Index<PersonID, UInt32>()
    var instancesOfPerson = Index<PersonID, InstanceID>()
    var instanceOfSource: [SourceID: InstanceID] = [:]
}

/// The tables, and what is found in them by another key than their own.
extension Endpoint {
    // MARK: Links

    mutating func add(_ link: Link) {
        links[link.id] = link
        indices.linksOfPerson.insert(link.id, for: link.personID)
        indices.linksOfChat.insert(link.id, for: link.chat)
    }

    mutating func forget(_ link: Link) {
        links[link.id] = nil
        indices.linksOfPerson.remove(link.id, for: link.personID)
        indices.linksOfChat.remove(link.id, for: link.chat)
    }

    /// The links of one person in one chat, in the order of their making.
    func links(of person: PersonID) -> [Link] { indices.linksOfPerson[person].compactMap { links[$0] } }

    /// The links of one chat, in the order of their making.
    func linkIDs(in chat: ChatTag) -> [LinkID] { indices.linksOfChat[chat] }

    func hasLink(to person: PersonID) -> Bool { !indices.linksOfPerson[person].isEmpty }

    // MARK: Sessions

    mutating func add(_ session: Session) {
        sessions[session.localIndex] = session
        indices.sessionsOfPerson.insert(session.localIndex, for: session.personID)
    }

    mutating func forget(_ session: Session) {
        sessions[session.localIndex] = nil
        indices.sessionsOfPerson.remove(session.localIndex, for: session.personID)
    }

    /// The sessions with one person in one chat, by their local index.
    func sessions(of person: PersonID) -> [Session] { indices.sessionsOfPerson[person].compactMap { sessions[$0] } }

    // MARK: Instances

    mutating func add(_ instance: Instance) {
        instances[instance.id] = instance
        indices.instanceOfSource[SourceID(chat: instance.chat, source: instance.source)] = instance.id
        if let person = instance.personID { indices.instancesOfPerson.insert(instance.id, for: person) }
    }

    mutating func forget(_ instance: Instance) {
        instances[instance.id] = nil
        let source = SourceID(chat: instance.chat, source: instance.source)
        if indices.instanceOfSource[source] == instance.id { indices.instanceOfSource[source] = nil }
        if let person = instance.personID { indices.instancesOfPerson.remove(instance.id, for: person) }
    }

    /// An instance turned out to be another person's, or nobody's yet: no link covers it any more.
    mutating func setKey(of id: InstanceID, to key: PublicKey?) {
        guard let instance = instances[id], instance.key != key else { return }
        if let person = instance.personID { indices.instancesOfPerson.remove(id, for: person) }
        instances[id]?.key = key
        instances[id]?.link = nil
        if let person = instances[id]?.personID { indices.instancesOfPerson.insert(id, for: person) }
    }

    /// The instances of one person in one chat, in the order of their making.
    func instances(of person: PersonID) -> [Instance] {
        indices.instancesOfPerson[person].compactMap { instances[$0] }
    }

    /// The instances that a link covers, in the order of their making.
    func instances(coveredBy link: Link) -> [Instance] { instances(of: link.personID).filter { $0.link == link.id } }

    func instanceID(_ source: Instance.Source, chat: ChatTag) -> InstanceID? {
        indices.instanceOfSource[SourceID(chat: chat, source: source)]
    }
}

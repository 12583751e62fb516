import InklingWire

/// All links of a node, and what leads to them: their sessions' indices, their persons and their chats.
struct LinkTable {
    private var links = Table<LinkID, Link>()
    /// The link of each session that belongs to one, by its local index.
    private var owners: [UInt32: LinkID] = [:]
    private var byPerson = Index<PersonID, LinkID>()
    private var byChat = Index<ChatTag, LinkID>()
    private var newest: UInt64 = 0
    /// The sessions that were added or taken away since their deadlines were looked at.
    private var touchedSessions: [UInt32] = []

    // MARK: Queries

    var count: Int { links.count }
    var sessionCount: Int { owners.count }
    var sortedIDs: [LinkID] { links.sortedIDs }
    /// The links in no particular order, for questions whose answer does not depend on it.
    var unordered: [Link] { links.unorderedValues }

    /// A link that is known to exist; changed in place.
    subscript(id: LinkID) -> Link {
        _read { yield links[id] }
        _modify { yield &links[id] }
    }

    func find(_ id: LinkID) -> Link? { links.find(id) }
    func contains(_ id: LinkID) -> Bool { links.contains(id) }

    /// The link of a session, by its local index.
    func link(ofSession index: UInt32) -> LinkID? { owners[index] }

    /// The links of one person in one chat, in the order of their making.
    func ids(of person: PersonID) -> [LinkID] { byPerson[person] }
    func links(of person: PersonID) -> [Link] { byPerson[person].map { links[$0] } }

    /// The links of one chat, in the order of their making.
    func ids(in chat: ChatTag) -> [LinkID] { byChat[chat] }

    func hasLink(to person: PersonID) -> Bool { !byPerson[person].isEmpty }

    /// The link of a person to one of those addresses.
    func link(to person: PersonID, at addresses: [Address]) -> LinkID? {
        byPerson[person].first { addresses.contains(links[$0].address) }
    }

    /// The link of a person that was heard of last: a new session most likely belongs to it.
    func lastHeard(of person: PersonID) -> LinkID? {
        byPerson[person].max { left, right in
            (links[left].liveness.lastEvidence, left) < (links[right].liveness.lastEvidence, right)
        }
    }

    /// The name that a person goes by: that of the link made last.
    func name(of person: PersonID) -> String? { byPerson[person].last.map { links[$0].status.name } }

    /// Online where one link of that person is; offline without any.
    func presence(of person: PersonID) -> Presence {
        let ids = byPerson[person]
        guard !ids.isEmpty else { return .offline }
        return ids.contains { !links[$0].status.isAway } ? .online : .away
    }

    /// The sessions that have reached their end, by their local index.
    func outlivedSessions(_ now: Instant) -> [(index: UInt32, link: LinkID)] {
        links.unorderedValues
            .flatMap { link in link.sessions.all.filter { $0.end <= now }.map { ($0.localIndex, link.id) } }
            .sorted { $0.0 < $1.0 }
    }

    // MARK: Changes

    /// The identifier of the next link.
    mutating func nextID() -> LinkID {
        newest += 1
        return LinkID(value: newest)
    }

    mutating func add(_ link: Link) {
        links.insert(link, for: link.id)
        byPerson.insert(link.id, for: link.personID)
        byChat.insert(link.id, for: link.chat)
        for index in link.sessions.indices { own(index, link.id) }
    }

    /// Takes out a link; its sessions lead nowhere any more.
    mutating func remove(_ id: LinkID) -> Link? {
        guard let link = links.remove(id) else { return nil }
        byPerson.remove(id, for: link.personID)
        byChat.remove(id, for: link.chat)
        for index in link.sessions.indices { own(index, nil) }
        return link
    }

    /// A session joined a link, or belongs to none any more.
    mutating func own(_ index: UInt32, _ id: LinkID?) {
        owners[index] = id
        touchedSessions.append(index)
    }

    // MARK: Deadlines

    func deadline(of id: LinkID) -> Instant? { links.contains(id) ? links[id].nextDeadline : nil }

    /// The deadlines of a link's sessions.
    func sessionDeadlines(of id: LinkID) -> [(index: UInt32, deadline: Instant)] {
        guard links.contains(id) else { return [] }
        return links[id].sessions.deadlines
    }

    func deadline(ofSession index: UInt32) -> Instant? {
        guard let id = owners[index], let place = links[id].sessions.place(of: index) else { return nil }
        return links[id].sessions[place].nextDeadline
    }

    /// Links that were opened for writing, added or taken away since the last call.
    mutating func takeTouched() -> [LinkID] { links.takeTouched() }

    /// Sessions that were added or taken away since the last call.
    mutating func takeTouchedSessions() -> [UInt32] {
        guard !touchedSessions.isEmpty else { return [] }
        defer { touchedSessions.removeAll() }
        return touchedSessions
    }
}

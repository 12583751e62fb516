import InklingWire

/// All links of a node, and what leads to them: their sessions' indices, their persons and their chats.
struct LinkTable: Sendable {
    private var links = Table<LinkID, Link>()
    /// The link of each session that belongs to one, by its local index.
    private var owners: [UInt32: LinkID] = [:]
    private var byPerson = Index<PersonID, LinkID>()
    private var byChat = Index<ChatID, LinkID>()
    private var newest: UInt64 = 0
    /// How many links are up or suspect.
    private(set) var liveCount = 0

    // MARK: Queries

    var count: Int { links.count }
    var sessionCount: Int { owners.count }
    var sortedIDs: [LinkID] { links.sortedIDs }
    /// The links in no particular order, for questions whose answer does not depend on it.
    var unordered: [Link] { links.unorderedValues }

    /// A link that is known to exist; changed in place.
    #if DEBUG
        // Without optimisation, Swift 6.2 copies a large value out of a coroutine, and then destroys the original. A
        // coroutine that has ended may have freed that original.
        subscript(id: LinkID) -> Link {
            get { links[id] }
            _modify { yield &links[id] }
        }
    #else
        subscript(id: LinkID) -> Link {
            _read { yield links[id] }
            _modify { yield &links[id] }
        }
    #endif

    func find(_ id: LinkID) -> Link? { links.find(id) }
    func contains(_ id: LinkID) -> Bool { links.contains(id) }

    /// The link of a session, by its local index.
    func link(ofSession index: UInt32) -> LinkID? { owners[index] }

    /// The links of one person in one chat, in the order of their making.
    func ids(of person: PersonID) -> [LinkID] { byPerson[person] }
    func links(of person: PersonID) -> [Link] { byPerson[person].map { links[$0] } }

    /// The links of one chat, in the order of their making.
    func ids(in chat: ChatID) -> [LinkID] { byChat[chat] }

    func hasLink(to person: PersonID) -> Bool { !byPerson[person].isEmpty }

    /// Whether an up or suspect link leads to a person.
    func hasLiveLink(to person: PersonID) -> Bool { byPerson[person].contains { !links[$0].isDown } }

    /// The link of a person's run (L-61).
    func link(to person: PersonID, run: UInt64) -> LinkID? { byPerson[person].first { links[$0].run == run } }

    /// The addresses of the up and suspect links of a person.
    func liveAddresses(of person: PersonID) -> [Address] {
        byPerson[person].filter { !links[$0].isDown }.map { links[$0].address }
    }

    /// The name of the shown link of a person that was made last (T-28); nil if none is shown.
    func name(of person: PersonID) -> String? {
        byPerson[person].last { links[$0].isShown }.flatMap { links[$0].status.name }
    }

    /// The best of the person's links: online before away before offline (T-19).
    func presence(of person: PersonID) -> Presence {
        let shown = byPerson[person].filter { links[$0].isShown }
        guard !shown.isEmpty else { return .offline }
        return shown.contains { !links[$0].status.isAway } ? .online : .away
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

    /// Counts a link that came up, or went down.
    mutating func count(isUp: Bool) { liveCount += isUp ? 1 : -1 }

    /// Takes out a link; its sessions lead nowhere any more.
    mutating func remove(_ id: LinkID) -> Link? {
        guard let link = links.remove(id) else { return nil }
        if !link.isDown { liveCount -= 1 }
        byPerson.remove(id, for: link.personID)
        byChat.remove(id, for: link.chat)
        for index in link.sessions.indices { own(index, nil) }
        return link
    }

    /// A session joined a link, or belongs to none any more.
    mutating func own(_ index: UInt32, _ id: LinkID?) {
        owners[index] = id
    }

    // MARK: Deadlines

    func deadline(of id: LinkID) -> Instant? { links.contains(id) ? links[id].nextDeadline : nil }

    /// Links that were opened for writing, added or taken away since the last call.
    mutating func takeTouched() -> [LinkID] { links.takeTouched() }
}

import InklingWire

/// All links of a node, with indices by session, person and chat.
struct LinkTable: Sendable {
    private var links = Table<LinkID, Link>()
    /// The link of each session, by the session's local index.
    private var owners: [UInt32: LinkID] = [:]
    private var byPerson = Index<PersonID, LinkID>()
    private var byChat = Index<ChatID, LinkID>()
    private var newest: UInt64 = 0
    /// The number of up or suspect links.
    private(set) var liveCount = 0

    // MARK: Queries

    var count: Int { links.count }
    var sessionCount: Int { owners.count }
    var sortedIDs: [LinkID] { links.sortedIDs }
    /// The links in no particular order, for queries whose result does not depend on the order.
    var unordered: [Link] { links.unorderedValues }

    /// A link that is known to exist. Changes happen in place.
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

    /// Passes a link in place; nil without the link. `body` changes nothing: see `Table.inspect`.
    @inline(__always)
    mutating func inspect<Result>(_ id: LinkID, _ body: (inout Link) -> Result) -> Result? { links.inspect(id, body) }

    func find(_ id: LinkID) -> Link? { links.find(id) }
    func contains(_ id: LinkID) -> Bool { links.contains(id) }

    /// Returns the link of a session, by its local index.
    func link(ofSession index: UInt32) -> LinkID? { owners[index] }

    /// Returns the links of one person in one chat, oldest first.
    func ids(of person: PersonID) -> [LinkID] { byPerson[person] }
    func links(of person: PersonID) -> [Link] { byPerson[person].map { links[$0] } }

    /// Returns the links of one chat, oldest first.
    func ids(in chat: ChatID) -> [LinkID] { byChat[chat] }

    func hasLink(to person: PersonID) -> Bool { !byPerson[person].isEmpty }

    /// Returns whether a person has an up or suspect link.
    func hasLiveLink(to person: PersonID) -> Bool { byPerson[person].contains { !links[$0].isDown } }

    /// Returns the link with a person's run (L-61).
    func link(to person: PersonID, run: UInt64) -> LinkID? { byPerson[person].first { links[$0].run == run } }

    /// Returns the addresses of a person's up and suspect links.
    func liveAddresses(of person: PersonID) -> [Address] {
        byPerson[person].filter { !links[$0].isDown }.map { links[$0].address }
    }

    /// Returns the name on the newest shown link of a person (T-28); nil if no link is shown.
    func name(of person: PersonID) -> String? {
        byPerson[person].last { links[$0].isShown }.flatMap { links[$0].status.name }
    }

    /// Returns the best presence of a person's links, where online is best and offline worst (T-19), and the name on the
    /// newest shown link (T-28).
    func shown(of person: PersonID) -> (presence: Presence, name: String?) {
        var (presence, name) = (Presence.offline, String?.none)
        for id in byPerson[person] where links[id].isShown {
            if presence != .online { presence = links[id].status.isAway ? .away : .online }
            name = links[id].status.name
        }
        return (presence, name)
    }

    // MARK: Changes

    /// Returns the identifier for the next link.
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

    /// Counts a link that came up or went down.
    mutating func count(isUp: Bool) { liveCount += isUp ? 1 : -1 }

    /// Removes a link with its sessions.
    mutating func remove(_ id: LinkID) -> Link? {
        guard let link = links.remove(id) else { return nil }
        if !link.isDown { liveCount -= 1 }
        byPerson.remove(id, for: link.personID)
        byChat.remove(id, for: link.chat)
        for index in link.sessions.indices { own(index, nil) }
        return link
    }

    /// Records the link of a session; nil if the session belongs to no link any more.
    mutating func own(_ index: UInt32, _ id: LinkID?) {
        owners[index] = id
    }

    // MARK: Deadlines

    mutating func deadline(of id: LinkID) -> Instant? { links.inspect(id) { $0.nextDeadline } }

    /// Returns the links that were accessed for writing, added or removed since the last call.
    mutating func takeTouched() -> Touched<LinkID> { links.takeTouched() }
}

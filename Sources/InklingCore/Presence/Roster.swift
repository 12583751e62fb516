import InklingWire

/// What the user sees of people: who is there, and who is typing.
struct Roster {
    private struct Shown {
        let presence: Presence
        let name: String
    }

    /// Somebody who is typing, on one device or several.
    private struct Typist {
        /// When the first of those links began.
        let since: Instant
        var links: Set<LinkID>
    }

    /// Who is online or away, as last reported.
    private var people: [PersonID: Shown] = [:]
    private var typists: [ChatTag: [PublicKey: Typist]] = [:]
    /// Who was last reported to be typing.
    private var shownTyping: [ChatTag: [Person]] = [:]

    // MARK: Queries

    /// Who is typing in a chat, in the order in which to name them.
    func typing(in chat: ChatTag) -> [Person] { shownTyping[chat] ?? [] }

    /// The name of a person: that of the link made last, or the one reported last.
    func name(of person: PersonID, _ links: LinkTable) -> String {
        links.name(of: person) ?? people[person]?.name ?? ""
    }

    // MARK: Typing

    /// The peer of a link began to type.
    mutating func began(_ link: Link) {
        guard let since = link.status.typingSince else { return }
        var typist = typists[link.chat]?[link.key] ?? Typist(since: since, links: [])
        typist.links.insert(link.id)
        typists[link.chat, default: [:]][link.key] = typist
    }

    /// The peer of a link has stopped typing, or the link is over.
    mutating func ended(_ link: Link) {
        guard var chat = typists[link.chat], var typist = chat[link.key] else { return }
        typist.links.remove(link.id)
        chat[link.key] = typist.links.isEmpty ? nil : typist
        typists[link.chat] = chat.isEmpty ? nil : chat
    }

    /// Reports who is typing in a chat, if that changed: the latest start first, then by name and user ID (R18).
    mutating func tellTyping(in chat: ChatTag, _ links: LinkTable, _ effects: inout Effects) {
        let before = shownTyping[chat] ?? []
        let typing = (typists[chat] ?? [:])
            .map { key, typist in
                let person = Person(key: key, name: name(of: PersonID(chat: chat, key: key), links))
                return (since: typist.since, person: person)
            }
            .sorted { left, right in
                if left.since != right.since { return left.since > right.since }
                if left.person.name != right.person.name { return left.person.name < right.person.name }
                return left.person.key.userID < right.person.key.userID
            }
            .map(\.person)
        guard typing != before else { return }
        shownTyping[chat] = typing.isEmpty ? nil : typing
        effects.tell(.typing(chat, typing))
    }

    // MARK: Presence

    /// Reports a person's presence, if it or the name changed.
    ///
    /// - Parameter reason: Why nothing is left of the person, if nothing is.
    mutating func tellPresence(
        of id: PersonID, _ reason: PresenceReason, _ links: LinkTable, _ effects: inout Effects
    ) {
        let presence = links.presence(of: id)
        let name = name(of: id, links)
        let before = people[id]
        guard before?.presence != presence || before?.name != name else { return }
        let why: PresenceReason
        switch (before?.presence ?? .offline, presence) {
        case (_, .offline): why = reason
        case (.offline, .online), (.offline, .away), (.online, .online): why = .hello
        case (.online, .away), (.away, .away): why = .away
        case (.away, .online): why = .back
        }
        people[id] = presence == .offline ? nil : Shown(presence: presence, name: name)
        guard before != nil || presence != .offline else { return }
        effects.tell(.presence(id.chat, Person(key: id.key, name: name), presence, why))
        tellTyping(in: id.chat, links, &effects)
    }

    /// Forgets everything about a chat that was left.
    mutating func forget(_ chat: ChatTag) {
        for id in Array(people.keys) where id.chat == chat { people[id] = nil }
        typists[chat] = nil
        shownTyping[chat] = nil
    }
}

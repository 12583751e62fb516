import InklingWire

/// The queries of the user and the app.
extension Endpoint {
    // MARK: People

    /// The state of a person who is reachable.
    package struct PersonState: Sendable, Hashable {
        package let person: Person
        package let presence: Presence
        package let since: Instant
        package let roundTrip: Duration?
        package let addresses: [Address]
    }

    /// The people of a chat who are shown as online or away, by key.
    package func present(in chat: ChatID) -> [PersonState] {
        let shown = links.ids(in: chat).filter { links[$0].isShown }
        return Set(shown.map { links[$0].key }).sorted().map { key in
            let id = PersonID(chat: chat, key: key)
            let theirs = links.links(of: id).filter(\.isShown)
            return PersonState(
                person: Person(key: key, name: roster.name(of: id, links)), presence: links.presence(of: id),
                since: theirs.map(\.madeAt).min() ?? .zero, roundTrip: theirs.compactMap(\.roundTrip).min(),
                addresses: theirs.map(\.address))
        }
    }

    /// The smoothed round trip to somebody in a chat; nil if none was measured.
    package func roundTrip(to key: PublicKey, in chat: ChatID) -> Duration? {
        links.links(of: PersonID(chat: chat, key: key)).compactMap(\.roundTrip).min()
    }

    /// The people who are typing in a chat, in the order of the list (T-20).
    package func typing(in chat: ChatID) -> [Person] { roster.typing(in: chat) }

    /// How well the user knows whom, as ``setStandings(_:now:)`` has said last.
    package var standings: [PublicKey: Standing] { surroundings.standings }

    /// The last two addresses of links with somebody in a chat, the last one first; empty for strangers (D-19).
    package func lastAddresses(of key: PublicKey, in chat: ChatID) -> [Address] {
        directory.remembered[PersonID(chat: chat, key: key)]?.addresses ?? []
    }

    // MARK: Tables

    /// How many links, sessions, instances and unfinished messages the node holds.
    package var tableSizes: (links: Int, sessions: Int, instances: Int, messages: Int) {
        (links.count, links.sessionCount + handshakes.count, directory.instances.count, outbox.count)
    }

    /// How many links are up or suspect (T-24).
    package var liveLinks: Int { links.liveCount }

    /// The counted bytes of texts that the user has not taken, and of incomplete messages (M-20).
    package var heldText: Int { pools.size }

    /// The chat that a session of this node's belongs to, by its local index; nil if there is none.
    package func chat(ofSession index: UInt32) -> ChatID? {
        links.link(ofSession: index).map { links[$0].chat } ?? handshakes.chat(of: index)
    }
}

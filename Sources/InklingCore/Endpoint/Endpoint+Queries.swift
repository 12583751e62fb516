import InklingWire

/// What the user and the app can ask about, and what this node says of itself.
extension Endpoint {
    // MARK: Our own status

    func status(in chat: ChatTag) -> Status {
        let isTyping = chats.contains(chat) && chats[chat].announcer.isAnnounced
        return Status(isTyping: isTyping && surroundings.configuration.sendsTyping, isAway: surroundings.isAway)
    }

    /// The idle interval: 1 s, stretched to links ÷ 50 s, in steps of 100 ms (T-11).
    var idleInterval: Duration {
        let tenths = (links.count * 10 + Limits.idleHeartbeatsPerSecond - 1) / Limits.idleHeartbeatsPerSecond
        return min(max(.milliseconds(100 * tenths), Limits.minimumIdleInterval), Limits.maximumIdleInterval)
    }

    func heartbeat(in chat: ChatTag) -> Heartbeat {
        let tenths = idleInterval.nanoseconds / 100_000_000
        return Heartbeat(status: status(in: chat), interval: UInt8(clamping: tenths))
    }

    // MARK: People

    /// What is known of a person who is reachable.
    package struct PersonState: Sendable, Hashable {
        package let person: Person
        package let presence: Presence
        package let since: Instant
        package let roundTrip: Duration?
        package let addresses: [Address]
    }

    /// The people of a chat that links are up to, by key.
    package func present(in chat: ChatTag) -> [PersonState] {
        Set(links.ids(in: chat).map { links[$0].key }).sorted().map { key in
            let id = PersonID(chat: chat, key: key)
            let theirs = links.links(of: id)
            return PersonState(
                person: Person(key: key, name: roster.name(of: id, links)), presence: links.presence(of: id),
                since: theirs.map(\.madeAt).min() ?? .zero, roundTrip: theirs.compactMap(\.roundTrip).min(),
                addresses: theirs.map(\.address))
        }
    }

    /// The smoothed round trip to somebody in a chat; nil if none was measured.
    package func roundTrip(to key: PublicKey, in chat: ChatTag) -> Duration? {
        links.links(of: PersonID(chat: chat, key: key)).compactMap(\.roundTrip).min()
    }

    /// Who is typing in a chat, in the order in which to name them.
    package func typing(in chat: ChatTag) -> [Person] { roster.typing(in: chat) }

    /// How well the user knows whom, as ``setStandings(_:now:)`` has said last.
    package var standings: [PublicKey: Standing] { surroundings.standings }

    /// The last two addresses of links with somebody in a chat, the last one first; empty for strangers (D-19).
    package func lastAddresses(of key: PublicKey, in chat: ChatTag) -> [Address] {
        directory.remembered(PersonID(chat: chat, key: key))?.addresses ?? []
    }

    // MARK: Tables

    /// How many links, sessions, candidate sets and unfinished messages the node holds.
    package var tableSizes: (links: Int, sessions: Int, instances: Int, messages: Int) {
        (links.count, links.sessionCount + handshakes.count, directory.sources.count, outbox.count)
    }

    /// The bytes of text that its user has not taken, or that are being put together, as they count (M-20).
    package var heldText: Int { inbox.size }

    /// The chat that a session of this node's belongs to, by its local index; nil if there is none.
    package func chat(ofSession index: UInt32) -> ChatTag? {
        links.link(ofSession: index).map { links[$0].chat } ?? handshakes.chat(of: index)
    }
}

import InklingWire

/// The queries of the user and the app.
extension Endpoint {
    // MARK: People

    /// The state of a person with an up link.
    package struct PersonState: Sendable, Hashable {
        package let person: Person
        package let presence: Presence
        package let since: Instant
        package let roundTrip: Duration?
        package let addresses: [Address]
    }

    /// Returns the people of a chat who are shown as online or away, ordered by key.
    package func present(in chat: ChatID) -> [PersonState] {
        let shown = links.ids(in: chat).filter { links[$0].isShown }
        return Set(shown.map { links[$0].key }).sorted().map { key in
            let id = PersonID(chat: chat, key: key)
            let theirs = links.links(of: id).filter(\.isShown)
            return PersonState(
                person: Person(key: key, name: roster.name(of: id, links)), presence: links.shown(of: id).presence,
                since: theirs.map(\.madeAt).min() ?? .zero, roundTrip: theirs.compactMap(\.roundTrip).min(),
                addresses: theirs.map(\.address))
        }
    }

    /// Returns the smoothed round trip to a person in a chat; nil if none was measured.
    package func roundTrip(to key: PublicKey, in chat: ChatID) -> Duration? {
        links.links(of: PersonID(chat: chat, key: key)).compactMap(\.roundTrip).min()
    }

    /// Returns the people who are typing in a chat, in the order of the list (T-20).
    package func typing(in chat: ChatID) -> [Person] { roster.typing(in: chat) }

    /// How well the user knows each person, from the last ``setStandings(_:now:)``.
    package var standings: [PublicKey: Standing] { surroundings.standings }

    /// Returns the last two addresses of links with a person in a chat, the latest first; empty for strangers (D-19).
    package func lastAddresses(of key: PublicKey, in chat: ChatID) -> [Address] {
        directory.remembered[PersonID(chat: chat, key: key)]?.addresses ?? []
    }

    /// Returns the secret of the talk with a person (W-41); nil for the own key, and for a key that makes it
    /// predictable (W-4).
    package func talkSecret(with key: PublicKey) -> ChatSecret? {
        key == publicKey ? nil : ChatSecret(talkOf: surroundings.configuration.identity, with: key)
    }

    /// Returns the key of each link in a chat, down and hidden ones included, the oldest link first.
    package func linkedKeys(in chat: ChatID) -> [PublicKey] { links.ids(in: chat).map { links[$0].key } }

    // MARK: Tables

    /// The numbers of links, sessions, instances and unfinished messages that the node holds.
    package var tableSizes: (links: Int, sessions: Int, instances: Int, messages: Int) {
        (links.count, links.sessionCount + handshakes.count, directory.instances.count, outbox.count)
    }

    /// The number of up or suspect links (T-24).
    package var liveLinks: Int { links.liveCount }

    /// The counted bytes of incomplete messages and of texts that the user has not taken (M-20).
    package var heldText: Int { pools.size }

    /// Returns the chat of one of this node's sessions, by its local index; nil if there is no such session.
    package func chat(ofSession index: UInt32) -> ChatID? {
        links.link(ofSession: index).map { links[$0].chat } ?? handshakes.chat(of: index)
    }
}

import InklingWire

/// A chat that its owner has left for a successor. The node still gives the successor to the chosen keys there (M-65).
struct Departure: Sendable {
    let successor: Successor
    /// The keys that move to the new chat.
    private(set) var chosen: Set<PublicKey> = []
    /// The keys that an output has reported as neither chosen nor removed (M-95).
    private var newcomers: Set<PublicKey> = []
    /// The number of strangers' keys among ``newcomers``.
    private var strangers = 0
    /// The runs that acknowledged the successor, and until when their initiations get no answer (M-92). A peer that
    /// passes the successor over would otherwise open again and again.
    var served: [UInt64: Instant] = [:]
    /// Whether an output has reported a different successor of the own key (M-94).
    var hasReportedOther = false
    /// The body of the record that each link gets.
    let record: [UInt8]

    init(by successor: Successor) {
        self.successor = successor
        record = successor.body
    }

    /// Replaces the chosen keys. A removed key is never chosen.
    mutating func choose(_ keys: Set<PublicKey>) { chosen = keys.subtracting(successor.removed) }

    /// Records a key that shows in the old chat.
    ///
    /// - Parameter isStranger: Whether the limit of reports applies to the key.
    /// - Returns: Whether the user must hear of the key.
    mutating func meet(_ key: PublicKey, isStranger: Bool) -> Bool {
        guard !chosen.contains(key), !successor.removed.contains(key), !newcomers.contains(key),
            !isStranger || strangers < Limits.newcomers
        else { return false }
        newcomers.insert(key)
        if isStranger { strangers += 1 }
        return true
    }
}

extension Surroundings {
    /// Returns whether the node opens to a person, answers the person's initiations and shows the person. In a chat
    /// that it departed from, the node has to do with chosen keys and its own alone (M-92, M-94).
    func admits(_ person: PersonID) -> Bool {
        guard !isBlocked(person.key, in: person.chat) else { return false }
        guard let departure = departures[person.chat] else { return person.key != ownKey }
        return person.key == ownKey || departure.chosen.contains(person.key)
    }

    /// Returns whether the user blocks a key (L-36), the chat's owner has removed it (M-91), or the chat is a talk with
    /// another key (L-104).
    func isBlocked(_ key: PublicKey, in chat: ChatID) -> Bool {
        isBlocked(key) || !refused.isEmpty && refused[chat]?.contains(key) ?? false
            || !talks.isEmpty && talks[chat].map { $0 != key } ?? false
    }

    /// Returns whether the user sees nobody on links with a person (M-92, M-94). The node departed from the chat, or the
    /// peer is another device of its identity.
    func hides(_ person: PersonID) -> Bool { person.key == ownKey || departures[person.chat] != nil }
}

import InklingWire

/// A chat that its owner has left for a successor. The node still gives the successor to the chosen keys there (M-65).
struct Departure: Sendable {
    let successor: Successor
    /// The keys that move to the new chat.
    let chosen: Set<PublicKey>
    /// The keys that an output has reported as neither chosen nor removed (M-67).
    private(set) var newcomers: Set<PublicKey> = []
    /// The runs that acknowledged a successor, and until when their initiations get no answer. A peer that passes the
    /// successor over would otherwise open again and again.
    var served: [UInt64: Instant] = [:]
    /// The body of the record that each link gets.
    let record: [UInt8]

    init(by successor: Successor, chosen: Set<PublicKey>, after earlier: Departure?) {
        self.successor = successor
        self.chosen = chosen.subtracting(successor.removed)
        newcomers = earlier?.newcomers ?? []
        if earlier?.successor == successor { served = earlier?.served ?? [:] }
        record = successor.body
    }

    /// Records a key that shows in the old chat.
    ///
    /// - Parameter isVerified: Whether the limit of reports does not apply to the key.
    /// - Returns: Whether the user must hear of the key.
    mutating func meet(_ key: PublicKey, isVerified: Bool) -> Bool {
        guard !chosen.contains(key), !successor.removed.contains(key), !newcomers.contains(key),
            isVerified || newcomers.count < Limits.newcomers
        else { return false }
        newcomers.insert(key)
        return true
    }
}

extension Surroundings {
    /// Returns whether the node opens to a person, answers the person's initiations and shows the person. In a chat
    /// that it departed from, the node has to do with chosen keys only (M-66).
    func admits(_ person: PersonID) -> Bool {
        guard !isBlocked(person.key, in: person.chat) else { return false }
        guard let departure = departures[person.chat] else { return person.key != ownKey }
        return departure.chosen.contains(person.key)
    }

    /// Returns whether the user blocks a key (L-36), the chat's owner has removed it (M-64), or the chat is a talk with
    /// another key (L-104).
    func isBlocked(_ key: PublicKey, in chat: ChatID) -> Bool {
        isBlocked(key) || !refused.isEmpty && refused[chat]?.contains(key) ?? false
            || !talks.isEmpty && talks[chat].map { $0 != key } ?? false
    }

    /// Returns whether the user sees nobody on links with a person (M-66, M-69). The node departed from the chat, or the
    /// peer is another device of its identity.
    func hides(_ person: PersonID) -> Bool { person.key == ownKey || departures[person.chat] != nil }
}

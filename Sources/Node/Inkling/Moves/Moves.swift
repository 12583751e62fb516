import InklingModel
import InklingWire

/// The moves of a node's chats: the chats that it left for others, and those that it departed from as their owner.
package struct Moves: Equatable, Sendable {
    /// A chat that the node entered by a successor.
    package struct Place: Equatable, Sendable {
        package let fingerprint: ChatFingerprint
        package let owner: PublicKey
        /// The keys that the node refuses there (M-91), the oldest first.
        package let removed: [PublicKey]
        /// Nil after the user left the chat.
        package var secret: ChatSecret?

        init(
            fingerprint: ChatFingerprint, owner: PublicKey, removed: [PublicKey], secret: ChatSecret?
        ) {
            self.fingerprint = fingerprint
            self.owner = owner
            self.removed = removed
            self.secret = secret
        }

        init(_ successor: Successor, in former: ChatKeys) {
            self.init(
                fingerprint: successor.keys(in: former).fingerprint, owner: successor.owner,
                removed: successor.removed, secret: successor.secret(in: former))
        }
    }

    /// A chat that the node left for another.
    package struct Move: Equatable, Sendable {
        let former: ChatFingerprint
        /// The newest chat that the node entered from there.
        var place: Place
        /// The ID of the history, which all chats of a chain share.
        let log: String
    }

    /// A chat that the node departed from as its owner (M-65).
    package struct Departure: Equatable, Sendable {
        /// The name of the chat at this node.
        package let name: String
        package let secret: ChatSecret
        package let owner: PublicKey
        /// The keys that the node refuses in the departed chat.
        package let refused: [PublicKey]
        package let successor: Successor
        /// The keys that get the successor, in ascending order.
        package internal(set) var chosen: [PublicKey]
        /// The end of the departure, in seconds since 1970.
        package let until: Double

        package var keys: ChatKeys { ChatKeys(secret: secret, owner: owner) }
    }

    /// The moves, the oldest first.
    package private(set) var moves: [Move] = []
    /// The departed chats, the oldest first.
    package private(set) var departures: [Departure] = []

    package init() {}

    init(moves: [Move], departures: [Departure]) {
        self.moves = moves
        self.departures = departures
    }

    // MARK: Questions

    /// Returns whether the node left a chat by a move.
    package func hasLeft(_ chat: Chat) -> Bool { move(from: chat) != nil }

    /// Returns the chat that is now in the place of a chat: the newest one to which it has moved, or the chat itself. Nil
    /// if the user has left the newest one.
    package func present(_ chat: Chat) -> Chat? {
        guard let move = move(from: chat) else { return chat }
        return move.place.secret.flatMap {
            try? Chat(chat.name, secret: Secret(wire: $0), owner: move.place.owner)
        }
    }

    /// Returns how the node entered a chat; nil for a chat that it entered by an invite.
    package func place(of chat: Chat) -> Place? {
        guard !moves.isEmpty, !chat.isOpen else { return nil }
        let fingerprint = chat.keys.fingerprint
        return moves.last { $0.place.fingerprint == fingerprint }?.place
    }

    /// Returns the ID of a chat's history. The chats of a chain share the history of the first one.
    package func logID(of chat: Chat) -> String {
        guard !moves.isEmpty, !chat.isOpen else { return chat.logID }
        let fingerprint = chat.keys.fingerprint
        return moves.first { $0.place.fingerprint == fingerprint || $0.former == fingerprint }?.log ?? chat.logID
    }

    /// Returns the departed chats that lead to a chat, at once or by further moves.
    package func departures(to chat: Chat) -> [Departure] { indices(to: chat).map { departures[$0] } }

    private func indices(to chat: Chat) -> [Int] {
        let fingerprint = chat.keys.fingerprint
        let former = Set(moves.filter { $0.place.fingerprint == fingerprint }.map(\.former))
        return departures.indices.filter { former.contains(departures[$0].keys.fingerprint) }
    }

    /// The end of the next departure, in seconds since 1970.
    package var nextEnd: Double? { departures.map(\.until).min() }

    private func move(from chat: Chat) -> Move? {
        guard !moves.isEmpty, !chat.isOpen else { return nil }
        let fingerprint = chat.keys.fingerprint
        return moves.first { $0.former == fingerprint }
    }

    // MARK: Changes

    /// Records that the node left a chat for its successor.
    package mutating func follow(_ successor: Successor, from chat: Chat) {
        let former = chat.keys.fingerprint
        let move = Move(former: former, place: Place(successor, in: chat.keys), log: logID(of: chat))
        // Chats that led to the former one now lead to the newest one.
        for index in moves.indices where moves[index].place.fingerprint == former { moves[index].place = move.place }
        moves.removeAll { $0.former == former }
        moves.append(move)
        guard moves.count > MovesLimits.moves else { return }
        moves.remove(at: moves.firstIndex { $0.place.secret == nil } ?? 0)
    }

    /// Records that the node departs from a chat for its successor, as the owner. Keys that are not chosen lose their
    /// choice in all departed chats that led there (M-93). Without room, the oldest departure ends.
    ///
    /// - Parameters:
    ///   - chosen: The keys that move.
    ///   - until: The end of the departure, in seconds since 1970.
    package mutating func depart(
        from chat: Chat, for successor: Successor, choosing chosen: Set<PublicKey>, until: Double
    ) {
        guard let secret = chat.secret?.wire, let owner = chat.owner else { return }
        let place = place(of: chat)
        for index in indices(to: chat) { departures[index].chosen.removeAll { !chosen.contains($0) } }
        departures.append(
            Departure(
                name: chat.name, secret: secret, owner: owner, refused: place?.removed ?? [],
                successor: successor, chosen: chosen.sorted(), until: until))
        if departures.count > MovesLimits.departures { departures.removeFirst() }
        follow(successor, from: chat)
    }

    /// Chooses a further key in all departed chats that lead to a chat.
    package mutating func admit(_ key: PublicKey, to chat: Chat) {
        for index in indices(to: chat) {
            departures[index].chosen = Set(departures[index].chosen + [key]).sorted()
        }
    }

    /// Drops the secret of a chat that the user left.
    ///
    /// - Returns: Whether that changes anything.
    package mutating func leave(_ chat: Chat) -> Bool {
        guard let place = place(of: chat), place.secret != nil else { return false }
        for index in moves.indices where moves[index].place.fingerprint == place.fingerprint {
            moves[index].place.secret = nil
        }
        return true
    }

    /// Ends the departures whose time is over.
    ///
    /// - Returns: Whether one ended.
    package mutating func endDepartures(at now: Double) -> Bool {
        let count = departures.count
        departures.removeAll { $0.until <= now }
        return departures.count < count
    }

    /// Ends the oldest departure.
    ///
    /// - Returns: Whether there was one.
    package mutating func endOldestDeparture() -> Bool {
        guard !departures.isEmpty else { return false }
        departures.removeFirst()
        return true
    }

    /// Returns the keys that a chat's successor refuses, the oldest first (M-89).
    ///
    /// - Parameters:
    ///   - removed: The keys that the owner removes now.
    ///   - chosen: The keys that move, which the successor does not refuse.
    package func removed(
        from chat: Chat, adding removed: [PublicKey], choosing chosen: Set<PublicKey>
    ) -> [PublicKey] {
        var all: [PublicKey] = []
        for key in (place(of: chat)?.removed ?? []) + removed where !chosen.contains(key) {
            all.removeAll { $0 == key }
            all.append(key)
        }
        return all.suffix(Limits.removedKeys)
    }
}

/// The limits of a node's moves.
package enum MovesLimits {
    /// The maximum number of chats that a node recognises as left by a move. Beyond it, the node forgets the oldest, and
    /// first those whose newest chat the user left.
    package static let moves = 1_024
    /// The maximum number of departed chats. Beyond it, the oldest departure ends.
    package static let departures = 8
    /// The maximum number of keys that a user chooses, besides their own.
    package static let chosenKeys = 1_024
    /// The longest file that a node reads, in bytes. A move takes at most 2 KiB, and a departure 50 KiB.
    package static let fileBytes = 4 << 20
}

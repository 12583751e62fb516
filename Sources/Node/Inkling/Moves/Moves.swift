import InklingModel
import InklingWire

/// The moves of a node's chats, by chain. A chat and all that follow it are a chain.
package struct Moves: Equatable, Sendable {
    /// A chat that the node entered by a successor.
    package struct Place: Equatable, Sendable {
        package let fingerprint: ChatFingerprint
        package let owner: PublicKey
        /// The keys that the node refuses there (M-91), the oldest first.
        package fileprivate(set) var removed: [PublicKey]
        /// Nil after the user left the chat.
        package var secret: ChatSecret?

        init(fingerprint: ChatFingerprint, owner: PublicKey, removed: [PublicKey], secret: ChatSecret?) {
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
        /// The end of the departure.
        package let until: Age

        package var keys: ChatKeys { ChatKeys(secret: secret, owner: owner) }
        /// The departed chat.
        var chat: Chat? { try? Chat(name, secret: Secret(wire: secret), owner: owner) }
    }

    /// The chats that followed each other, as far as the node has left them.
    package struct Chain: Equatable, Sendable {
        /// The name of the chain on disk: 32 random hexadecimal digits.
        package let id: String
        /// The number of this chain's last move or departure among those of all chains.
        var turn: Int
        /// The last chats that the node left for the next one, the oldest first.
        var left: [ChatFingerprint]
        /// The newest chat that the node entered from there.
        var place: Place
        /// The ID of the history of the chats that the node left, and of the newest one unless that has its own.
        let log: String
        /// The ID of the newest chat's own history, which began before the chain led there. The next move then
        /// begins another chain.
        var ownLog: String?
        /// The departed chats, the oldest first.
        var departures: [Departure]

        /// The bytes of the ID.
        var key: [UInt8] { StateTables.Key(.chain, id).id }

        /// Adds what an older state of the chain has and a newer one must not lose: removed keys, and the end of the chat.
        mutating func merge(_ older: Chain) {
            guard older.place.fingerprint == place.fingerprint else { return }
            place.removed = (older.place.removed.filter { !place.removed.contains($0) } + place.removed)
                .suffix(Limits.removedKeys)
            if older.place.secret == nil { place.secret = nil }
        }

        static func newID() -> String { hexadecimal((0..<16).map { _ in UInt8.random(in: .min ... .max) }) }
    }

    /// The chains, the one that moved last at the end.
    package private(set) var chains: [Chain] = [] {
        didSet { chainsByLeft = Self.indices(of: chains) }
    }
    private var chainsByLeft: [ChatFingerprint: Int] = [:]

    package init() {}

    /// The moves with these chains, in any order.
    package init(_ chains: [Chain]) {
        self.chains = chains.sorted { ($0.turn, $0.id) < ($1.turn, $1.id) }
        chainsByLeft = Self.indices(of: self.chains)
    }

    private static func indices(of chains: [Chain]) -> [ChatFingerprint: Int] {
        var indices: [ChatFingerprint: Int] = [:]
        for (index, chain) in chains.enumerated() {
            for former in chain.left { indices[former] = index }
        }
        return indices
    }

    /// The content of the records of all chains, by their IDs.
    var records: [[UInt8]: [UInt8]] { Dictionary(uniqueKeysWithValues: chains.map { ($0.key, $0.encoded()) }) }

    // MARK: Questions

    /// The departed chats, the oldest of each chain first.
    package var departures: [Departure] { chains.flatMap(\.departures) }

    /// Returns whether the node left a chat by a move.
    package func hasLeft(_ chat: Chat) -> Bool { end(of: chat) != nil }

    /// Returns the chat that is now in the place of a chat: the newest one to which it has moved, or the chat itself. Nil
    /// if the user has left the newest one.
    package func present(_ chat: Chat) -> Chat? {
        guard let index = end(of: chat) else { return chat }
        let place = chains[index].place
        return place.secret.flatMap { try? Chat(chat.name, secret: Secret(wire: $0), owner: place.owner) }
    }

    /// Returns how the node entered a chat; nil for a chat that it entered by an invite.
    package func place(of chat: Chat) -> Place? { newest(chat).map { chains[$0].place } }

    /// Returns the ID of a chat's history. The chats of a chain share the history of the first one, unless a later one
    /// had a history of its own.
    package func logID(of chat: Chat) -> String {
        guard !chains.isEmpty, !chat.isOpen else { return chat.logID }
        if let index = newest(chat) { return chains[index].ownLog ?? chains[index].log }
        return chainsByLeft[chat.keys.fingerprint].map { chains[$0].log } ?? chat.logID
    }

    /// Returns the departed chats that lead to a chat, the oldest first.
    package func departures(to chat: Chat) -> [Departure] { leading(to: chat).flatMap { chains[$0].departures } }

    /// The end of the next departure.
    package var nextEnd: Age? { departures.map(\.until).min() }

    /// Returns the chain that ends with a chat.
    private func newest(_ chat: Chat) -> Int? {
        guard !chains.isEmpty, !chat.isOpen else { return nil }
        let fingerprint = chat.keys.fingerprint
        return chains.lastIndex { $0.place.fingerprint == fingerprint }
    }

    /// Returns the last of the chains that follow a chat; nil if the node did not leave the chat. A node that was in a
    /// later chat before it moved there from an earlier one has two chains.
    private func end(of chat: Chat) -> Int? {
        guard !chains.isEmpty, !chat.isOpen else { return nil }
        var next = chainsByLeft[chat.keys.fingerprint]
        // Chains have no loops (W-42), but a changed disk may.
        for _ in chains {
            guard let index = next, let further = chainsByLeft[chains[index].place.fingerprint] else { break }
            next = further
        }
        return next
    }

    /// Returns the chains that lead to a chat.
    private func leading(to chat: Chat) -> [Int] {
        guard let last = newest(chat) else { return [] }
        return chains.indices.filter { index in
            var index = index
            for _ in chains {
                guard index != last, let further = chainsByLeft[chains[index].place.fingerprint] else { break }
                index = further
            }
            return index == last
        }
    }

    // MARK: Changes

    /// Records that the node left a chat for its successor.
    ///
    /// - Parameter ownLog: The ID of the history that the new chat had before; nil if the former chat's one continues.
    package mutating func follow(_ successor: Successor, from chat: Chat, ownLog: String? = nil) {
        let former = chat.keys
        var place = Place(successor, in: former)
        // Another chain leads on from a chat that the node left.
        if chainsByLeft[place.fingerprint] != nil { place.secret = nil }
        var chain = Chain(
            id: Chain.newID(), turn: 0, left: [], place: place, log: logID(of: chat), ownLog: nil, departures: [])
        if let index = newest(chat) {
            if chains[index].ownLog == nil {
                chain = chains.remove(at: index)
            } else {
                chains[index].place.secret = nil
            }
        }
        chain.left = (chain.left + [former.fingerprint]).suffix(MovesLimits.leftChats)
        (chain.place, chain.ownLog) = (place, ownLog)
        chain.turn = (chains.last?.turn ?? 0) + 1
        chains.append(chain)
        forgetSome()
    }

    /// Forgets the oldest chains whose newest chat the user left.
    private mutating func forgetSome() {
        let forgettable = chains.filter { $0.place.secret == nil && $0.departures.isEmpty }
        guard forgettable.count > MovesLimits.endedChains else { return }
        let old = Set(forgettable.dropLast(MovesLimits.endedChains).map(\.id))
        chains.removeAll { old.contains($0.id) }
    }

    /// Records that the node departs from a chat for its successor, as the owner. A key that is not chosen now loses its
    /// choice in all departed chats that led there (M-93). Without room in the chain, its oldest departure ends.
    ///
    /// - Parameters:
    ///   - chosen: The keys that move.
    ///   - until: The end of the departure.
    package mutating func depart(
        from chat: Chat, for successor: Successor, choosing chosen: Set<PublicKey>, until: Age
    ) {
        guard let secret = chat.secret?.wire, let owner = chat.owner else { return }
        let refused = place(of: chat)?.removed ?? []
        for index in leading(to: chat) {
            for place in chains[index].departures.indices {
                chains[index].departures[place].chosen.removeAll { !chosen.contains($0) }
            }
        }
        follow(successor, from: chat)
        let last = chains.count - 1
        chains[last].departures.append(
            Departure(
                name: chat.name, secret: secret, owner: owner, refused: refused, successor: successor,
                chosen: chosen.sorted(), until: until))
        if chains[last].departures.count > MovesLimits.departures { chains[last].departures.removeFirst() }
    }

    /// Returns whether a key can no longer follow to a chat, because a successor on the way removes it.
    package func removes(_ key: PublicKey, onTheWayTo chat: Chat) -> Bool {
        (place(of: chat)?.removed ?? []).contains(key)
            || departures(to: chat).contains { $0.successor.removed.contains(key) }
    }

    /// Chooses a further key in all departed chats that lead to a chat.
    package mutating func admit(_ key: PublicKey, to chat: Chat) {
        for index in leading(to: chat) {
            for place in chains[index].departures.indices {
                let chosen = chains[index].departures[place].chosen
                chains[index].departures[place].chosen = Set(chosen + [key]).sorted()
            }
        }
    }

    /// Drops the secret of a chat that the user left.
    ///
    /// - Returns: Whether that changes anything.
    package mutating func leave(_ chat: Chat) -> Bool {
        guard let index = newest(chat), chains[index].place.secret != nil else { return false }
        chains[index].place.secret = nil
        forgetSome()
        return true
    }

    /// Drops the secrets of chats that the user left, by the IDs of their logs.
    ///
    /// - Returns: Whether that changes anything.
    package mutating func endLogs(_ ids: [String]) -> Bool {
        let ended = chains.indices.filter {
            chains[$0].place.secret != nil && ids.contains(chains[$0].ownLog ?? chains[$0].log)
        }
        for index in ended { chains[index].place.secret = nil }
        if !ended.isEmpty { forgetSome() }
        return !ended.isEmpty
    }

    /// Keeps the secret of a chat that the user left and has joined again, so that the former chats lead there.
    ///
    /// - Returns: Whether that changes anything.
    package mutating func enter(_ chat: Chat) -> Bool {
        guard let index = newest(chat), chains[index].place.secret == nil else { return false }
        chains[index].place.secret = chat.secret?.wire
        return true
    }

    /// Ends the departures whose time is over.
    ///
    /// - Returns: Whether one ended.
    package mutating func endDepartures(at now: Age) -> Bool {
        let count = departures.count
        for index in chains.indices { chains[index].departures.removeAll { $0.until <= now } }
        return departures.count < count
    }

    /// Ends the oldest departure of the chain that has most of them. Of several such chains, the one that moved first
    /// loses its departure.
    ///
    /// - Parameter kept: The number of departures that the chain that moved last keeps.
    /// - Returns: Whether a departure ended.
    package mutating func endOldestDeparture(keeping kept: Int = 0) -> Bool {
        func count(_ index: Int) -> Int {
            let count = chains[index].departures.count
            return count > (index == chains.count - 1 ? kept : 0) ? count : 0
        }
        guard let index = chains.indices.max(by: { (count($0), $1) < (count($1), $0) }), count(index) > 0 else {
            return false
        }
        chains[index].departures.removeFirst()
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
    /// The maximum number of chats of a chain that a node recognises as left. Beyond it, the node forgets the oldest
    ///
    package static let leftChats = 64
    /// The maximum number of chains without a departure whose newest chat the user left. Beyond it, the node forgets the
    /// oldest. Each other chain belongs to a chat that the user joined, and no owner can make more of them.
    package static let endedChains = 1_024
    /// The maximum number of departed chats of a chain. Beyond it, the oldest departure ends.
    package static let departures = 8
    /// The maximum number of keys that a user chooses, besides their own.
    package static let chosenKeys = 1_024
}

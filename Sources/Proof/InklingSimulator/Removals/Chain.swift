import InklingCore
import InklingWire

extension Simulation {
    /// The most chats of a simulation: the checkers keep one bit for each.
    static let mostChats = 24

    /// The chats of one owner, each the successor of the one before, and what people did with them. A node's own state
    /// proves nothing here either.
    struct Chain {
        struct Link {
            let owner: PublicKey
            let removed: [PublicKey]
            /// The identities that the owner chose, and whose nodes have to end in the newest chat.
            var members: Set<Int>
            /// The keys that the owner chose, or that a member gave the secret.
            var admitted: Set<PublicKey>
            /// The successor that the owner of this chat made for it; nil for the newest chat.
            var successor: Successor?
            /// The keys chosen at any time.
            var given: Set<PublicKey> = []
        }

        /// The chats, the oldest first. The first has the index ``Simulation/chats``.count.
        var links: [Link]
        /// The host whose user owns the newest chat. Another device of the same identity removes nobody.
        var ownerHost: Int
        /// The hosts whose users owned one of the chats.
        var ownerHosts: Set<Int>
        /// The times at which nodes moved or took a successor, by host and start of its node.
        var moved: [Start: [Instant]] = [:]
        /// The chats in which nodes took a successor, by host and start of its node.
        var taken: [Start: Set<ChatID>] = [:]
        /// The transmissions of successors in the last second, by host.
        var sent: [Int: (at: Instant, number: Int)] = [:]

        struct Start: Hashable {
            let host: Int
            let incarnation: Int
        }

        var newest: Int { Simulation.chats.count + links.count - 1 }

        subscript(chat: Int) -> Link {
            get { links[chat - Simulation.chats.count] }
            set { links[chat - Simulation.chats.count] = newValue }
        }
    }

    func begin(_ plan: Scenario.RemovalPlan) {
        let owner = hosts[plan.owner]
        let members = hosts.filter { !plan.outsiders.contains($0.index) }
        chain = Chain(
            links: [
                Chain.Link(
                    owner: owner.key, removed: [], members: Set(members.map(\.plan.identity)),
                    admitted: Set(hosts.map(\.key)))
            ],
            ownerHost: plan.owner, ownerHosts: [plan.owner])
        chats.append(ChatKeys(secret: secret(0), owner: owner.key))
        checker.chatIndices[chats[chats.count - 1].id] = chats.count - 1
        for host in members { host.membership = Membership(chat: chats.count - 1) }
    }

    func secret(_ number: UInt64) -> ChatSecret {
        var generator = SeededGenerator(seed: scenario.seed &+ number, purpose: 13)
        return ChatSecret(using: &generator)
    }

    /// Returns the keys of the chat that follows a chat.
    func next(_ successor: Successor, in former: ChatKeys) -> ChatKeys { successor.keys(in: former) }

    /// Returns a seed for a successor. Numbers from 1,000 on belong to chats that nobody may enter.
    func seed(_ number: UInt64) -> SuccessorSeed {
        var generator = SeededGenerator(seed: scenario.seed &+ number, purpose: 13)
        return SuccessorSeed(using: &generator)
    }
}

/// The part of a node's state directory about its owner's chat.
struct Membership {
    struct Departure {
        let successor: Successor
        var chosen: Set<PublicKey>
    }

    /// The chat that the node is in.
    var chat: Int
    var refused: [PublicKey] = []
    /// The older chats, which the node left as their owner.
    var departures: [Int: Departure] = [:]
    /// The most departed chats of a chain.
    static let mostDepartures = 8
}

extension SimulatedHost {
    /// The chats that the node joins at its start.
    var savedChats: [Int] { plan.chats + (membership.map { [$0.chat] } ?? []) }

    var departures: [Int: Membership.Departure] { membership?.departures ?? [:] }

    /// The chats in which the node looks for others.
    var browsed: [Int] { chats.union(departures.keys).union(lie.map { [$0] } ?? []).sorted() }

    /// Returns whether the node refuses a chat's invite, because the chat has moved.
    func hasMoved(from chat: Int) -> Bool {
        guard let membership, chat >= Simulation.chats.count else { return false }
        return membership.chat != chat
    }

    /// Returns whether the node refuses a key, because the owner of a chat removed it.
    func refuses(_ key: PublicKey, in chat: Int) -> Bool {
        guard let membership, membership.chat == chat else { return false }
        return membership.refused.contains(key)
    }
}

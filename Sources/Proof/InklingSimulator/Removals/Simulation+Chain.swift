import InklingCore
import InklingWire

/// The checks of an owner's chats.
extension Simulation {
    /// Checks each node's links in the owner's chats. Called at each tick.
    func checkChain() {
        guard let chain else { return }
        for host in hosts {
            guard let node = host.node else { continue }
            let linked = node.ask { endpoint in chats.map { endpoint.linkedKeys(in: $0.id) } }
            for chat in Simulation.chats.count..<chats.count {
                let refused =
                    host.lie == chat ? [] : host.membership?.chat == chat ? host.membership?.refused ?? [] : []
                for key in linked[chat] where !chain[chat].admitted.contains(key) || refused.contains(key) {
                    let other = hosts.first { $0.key == key }?.index ?? -1
                    checker.report(.intruder, "host \(host.index) has a link with host \(other), chat \(chat)", now)
                }
            }
            for (chat, departure) in host.departures where host.lie != chat {
                for key in linked[chat] where key != host.key && !departure.chosen.contains(key) {
                    let other = hosts.first { $0.key == key }?.index ?? -1
                    checker.report(
                        .intruder, "host \(host.index) has a link with host \(other), departed chat \(chat)", now)
                }
            }
            checkRate(of: host, node)
        }
    }

    /// Checks how often a node sends successors. A link sends one at most every 200 ms (M-11).
    private func checkRate(of host: SimulatedHost, _ node: SimulatedNode) {
        let number = node.ask { $0.counters.successorsSent }
        let before = chain?.sent[host.index] ?? (at: now, number: 0)
        guard now - before.at >= .seconds(1) || number < before.number || before.at == now else { return }
        chain?.sent[host.index] = (now, number)
        let seconds = Int((now - before.at).nanoseconds / 1_000_000_000) + 1
        let most = 6 * seconds * hosts.count * max(1, host.browsed.count)
        guard number - before.number > most else { return }
        checker.report(.departedChat, "host \(host.index) sends \(number - before.number) successors", now)
    }

    /// Returns how many successors a node has sent, and how many links it has in the chats that it departed from.
    func successors(of host: SimulatedHost, _ node: SimulatedNode) -> (sent: Int, links: Int) {
        let departed = Set(host.departures.keys).union(host.lie.map { [$0] } ?? [])
        return node.ask { endpoint in
            (endpoint.counters.successorsSent, departed.reduce(0) { $0 + endpoint.linkedKeys(in: chats[$1].id).count })
        }
    }

    /// Checks that a node takes one successor of a chat at most (M-90).
    func checkTaken(by host: SimulatedHost, in chat: ChatID) {
        let start = Chain.Start(host: host.index, incarnation: host.incarnation)
        if chain?.taken[start, default: []].insert(chat).inserted == false {
            checker.report(.falseMove, "host \(host.index) takes two successors of one chat", now)
        }
        checkMove(by: host)
    }

    /// Checks that a node moves at most once in 10 s, and 8 times in a row (M-88). All chats of the owner are one chain.
    func checkMove(by host: SimulatedHost) {
        let start = Chain.Start(host: host.index, incarnation: host.incarnation)
        chain?.moved[start, default: []].append(now)
        let times = chain?.moved[start] ?? []
        for (number, time) in times.enumerated() {
            let most = 8 + Int((now - time).nanoseconds / 10_000_000_000)
            if times.count - number > most {
                return checker.report(.hastyMove, "host \(host.index) moves \(times.count - number) times", now)
            }
        }
    }

    /// Checks that a successor leads to the owner's next chat from one chat alone (W-42).
    func checkDerivation(of successor: Successor, in old: Int) {
        for (chat, keys) in chats.enumerated() where chat != old {
            let id = next(successor, in: keys).id
            if chats.contains(where: { $0.id == id }) {
                checker.report(.falseMove, "the successor of chat \(old) leads there from chat \(chat)", now)
            }
        }
    }

    /// Checks that a link sends each successor once at most in an input (M-32).
    func checkInput(of host: SimulatedHost, _ node: SimulatedNode, _ before: (sent: Int, links: Int)) {
        let after = successors(of: host, node)
        let sent = after.sent - before.sent
        guard sent > max(before.links, after.links) else { return }
        checker.report(.departedChat, "host \(host.index) sends \(sent) successors at once", now)
    }

    /// Checks that a node shows nobody in a chat that it departed from.
    func checkShown(_ isAnybodyShown: Bool, in tag: ChatID, by host: SimulatedHost) {
        guard isAnybodyShown, chain != nil, let chat = chats.firstIndex(where: { $0.id == tag }),
            host.departures[chat] != nil || host.lie == chat
        else { return }
        checker.report(.departedChat, "host \(host.index) shows somebody in chat \(chat)", now)
    }

    /// Returns the members who are present, and not in the newest chat.
    func stranded() -> [String] {
        guard let chain else { return [] }
        return hosts.filter { $0.isActive && chain[chain.newest].members.contains($0.plan.identity) }.compactMap {
            host in
            guard let membership = host.membership, membership.chat != chain.newest else { return nil }
            return "host \(host.index) is still in chat \(membership.chat), not \(chain.newest)"
        }
    }
}

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

import InklingCore
import InklingWire

/// The actions of people in an owner's chat, and of their daemons.
extension Simulation {
    // MARK: Actions

    func actOnChain(_ host: SimulatedHost, _ action: Scenario.Action) {
        guard let chain, let membership = host.membership, host.chats.contains(membership.chat) || host.lie != nil
        else {
            return
        }
        switch action {
        case .remove(let other):
            let key = hosts[other].key
            guard key != host.key else { return }
            move(host, to: host.key, removing: key)
        case .handOver(let other):
            guard chain[chain.newest].members.contains(hosts[other].plan.identity) else { return }
            if move(host, to: hosts[other].key, removing: nil) {
                self.chain?.ownerHost = other
                self.chain?.ownerHosts.insert(other)
            }
        case .leak(let other): leak(host, to: hosts[other])
        case .forge(let generation):
            guard host.lie == nil, chain[membership.chat].owner != host.key else { return }
            lie(
                host, in: membership.chat, to: hosts,
                with: Successor(generation: generation, secret: secret(1_000), owner: host.key))
        case .relapse:
            guard host.lie == nil, chain[membership.chat].owner == host.key, membership.generation > 0,
                let successor = earlier(than: membership.chat)
            else { return }
            // A node that entered by an invite knows no generation. Such a node would follow (M-61).
            let others = hosts.filter { $0.membership?.generation == membership.generation }
            lie(host, in: membership.chat, to: others, with: successor)
        case .confess: endLies(of: host)
        default: return
        }
    }

    /// Moves the newest chat to a successor.
    ///
    /// - Returns: Whether the host's user owns the chat and could move it.
    @discardableResult
    private func move(_ host: SimulatedHost, to owner: PublicKey, removing removed: PublicKey?) -> Bool {
        guard var chain, chain.ownerHost == host.index, var membership = host.membership, host.lie == nil,
            membership.chat == chain.newest, chats.count < Simulation.mostChats
        else { return false }
        let old = membership.chat
        let (before, next) = (chain[old], chats.count)
        let successor = Successor(
            generation: before.generation + 1, secret: secret(UInt64(next)), owner: owner,
            removed: before.removed + (removed.map { [$0] } ?? []))
        let members = before.members.filter { identity in hosts.first { $0.plan.identity == identity }?.key != removed }
        let chosen = keys(of: members)
        chain.links.append(
            Chain.Link(
                owner: owner, generation: successor.generation, removed: successor.removed, members: members,
                admitted: chosen.union([host.key])))
        chats.append(successor.keys)
        checker.chatIndices[successor.keys.id] = next
        membership.departures[old] = Membership.Departure(successor: successor, chosen: chosen)
        for chat in membership.departures.keys {
            membership.departures[chat] = Membership.Departure(successor: successor, chosen: chosen)
            chain[chat].moves[successor, default: []].formUnion(chosen)
        }
        (membership.chat, membership.generation) = (next, successor.generation)
        membership.refused = successor.removed
        self.chain = chain
        host.membership = membership
        depart(host, from: old)
        for chat in membership.departures.keys.sorted() { give(chat, by: host) }
        join(host, next)
        return true
    }

    private func keys(of identities: Set<Int>) -> Set<PublicKey> {
        Set(hosts.filter { identities.contains($0.plan.identity) }.map(\.key))
    }

    /// Ends what the user of an owner does in a chat. The node stays there to give the successor.
    private func depart(_ host: SimulatedHost, from chat: Int) {
        host.farewells[chat] = lastNumber
        host.farewellsEnd = now + .milliseconds(130) + .microseconds(2 * host.plan.lateness)
        host.chats.remove(chat)
        host.writing[chat].end()
        host.typing[chat] = TypingModel()
        for other in hosts { liveness.forgot(other.index, in: chat, at: host.index) }
        withdraw(host, chat)
    }

    private func give(_ chat: Int, by host: SimulatedHost) {
        guard let departure = host.departures[chat] else { return }
        input(host) {
            do {
                try $0.move(self.chats[chat].id, by: departure.successor, chosen: departure.chosen, now: $1)
            } catch {
                self.checker.report(.wrongReport, "host \(host.index) can't move chat \(chat): \(error)", self.now)
            }
        }
        checker.forget(host.index, chat: chat)
    }

    /// A newcomer shows in a chat that the owner departed from. The owner knows some of them.
    func welcome(_ key: PublicKey, to host: SimulatedHost) {
        guard var chain, chain.ownerHost == host.index, var membership = host.membership, host.lie == nil,
            membership.chat == chain.newest, chain[chain.newest].owner == host.key,
            membership.departures.values.allSatisfy({ $0.successor.keys == self.chats[chain.newest] }),
            case .running = host.state, let newcomer = hosts.first(where: { $0.key == key }),
            scenario.removals?.friends.contains(newcomer.index) ?? false
        else { return }
        chain[chain.newest].members.insert(newcomer.plan.identity)
        chain[chain.newest].admitted.insert(key)
        for chat in membership.departures.keys.sorted() {
            guard let successor = membership.departures[chat]?.successor else { continue }
            membership.departures[chat]?.chosen.insert(key)
            chain[chat].moves[successor]?.insert(key)
        }
        self.chain = chain
        host.membership = membership
        for chat in membership.departures.keys.sorted() { give(chat, by: host) }
    }

    // MARK: Lies

    /// A member tells another host the secret of its chat.
    private func leak(_ host: SimulatedHost, to other: SimulatedHost) {
        guard let chat = host.membership?.chat, host.lie == nil, case .running(let node) = other.state,
            !node.isSuspended, other.lie == nil, other.departures.isEmpty, other.membership?.chat != chat
        else { return }
        chain?[chat].admitted.insert(other.key)
        if let before = other.membership?.chat { leave(other, before) }
        other.membership = Membership(chat: chat)
        join(other, chat)
    }

    /// Makes a node send a successor that nobody may follow.
    private func lie(_ host: SimulatedHost, in chat: Int, to others: [SimulatedHost], with successor: Successor) {
        leave(host, chat)
        host.lie = chat
        browse(host, chat)
        let keys = Set(others.map(\.key)).subtracting([host.key])
        input(host) {
            try? $0.join(self.chats[chat], isSecret: true, owner: host.key, now: $1)
            try? $0.move(self.chats[chat].id, by: successor, chosen: keys, now: $1)
        }
    }

    func endLies(of host: SimulatedHost) {
        guard let chat = host.lie, case .running(let node) = host.state, !node.isSuspended else { return }
        host.lie = nil
        input(host) { try? $0.leave(self.chats[chat].id, now: $1) }
        if let chat = host.membership?.chat { join(host, chat) }
    }

    /// Returns a successor of no higher rank than a chat: an older one, or another one of its generation. A chat of the
    /// first generation may have the highest of all fingerprints tried. Then the function returns nil.
    private func earlier(than chat: Int) -> Successor? {
        let (owner, generation) = (chain?[chat].owner ?? hosts[0].key, chain?[chat].generation ?? 1)
        let rank = ChatRank(generation: generation, chats[chat])
        for number in 2_000..<3_000 as Range<UInt64> {
            let successor = Successor(
                generation: generation > 1 && number % 2 == 0 ? generation - 1 : generation, secret: secret(number),
                owner: owner)
            if successor.rank < rank { return successor }
        }
        return nil
    }

    // MARK: Daemons

    /// Joins a chat with what the state directory keeps about it.
    func enter(_ host: SimulatedHost, _ chat: Int) {
        let isOwned = chat >= Simulation.chats.count
        let owner = isOwned ? chain?[chat].owner : nil
        let membership = isOwned ? host.membership : nil
        let refused = Set(membership?.refused ?? [])
        input(host) {
            try? $0.join(
                self.chats[chat], isSecret: chat >= 2, owner: owner, generation: membership?.generation ?? 0,
                refusing: refused, keepsTexts: self.texts != nil, seen: host.store.seen, now: $1)
        }
    }

    func restoreDepartures(of host: SimulatedHost) {
        for chat in host.departures.keys.sorted() {
            let generation = chain?[chat].generation ?? 0
            input(host) {
                try? $0.join(
                    self.chats[chat], isSecret: true, owner: host.key, generation: generation, now: $1)
            }
            give(chat, by: host)
            browse(host, chat)
        }
    }

    /// Follows a successor, as a daemon does for its user.
    func follow(_ host: SimulatedHost, _ tag: ChatID, from key: PublicKey, _ successor: Successor) {
        guard let chain, let old = chats.firstIndex(where: { $0.id == tag }), old >= Simulation.chats.count else {
            return checker.report(.falseMove, "host \(host.index), in a chat without an owner", now)
        }
        guard key == chain[old].owner, let chosen = chain[old].moves[successor], chosen.contains(host.key),
            let next = chats.firstIndex(where: { $0.id == successor.keys.id }), next > old
        else {
            let text = "host \(host.index), chat \(old), to generation \(successor.generation)"
            return checker.report(.falseMove, text, now)
        }
        guard case .running(let node) = host.state, !node.isSuspended, host.membership?.chat == old, host.lie == nil
        else { return }
        host.membership?.chat = next
        host.membership?.generation = successor.generation
        host.membership?.refused = successor.removed
        join(host, next)
        leave(host, old)
    }
}

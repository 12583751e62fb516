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
        case .renew: move(host, to: host.key, removing: nil)
        case .rush: move(host, to: host.key, removing: nil, isHostile: true)
        case .handOver(let other):
            guard chain[chain.newest].members.contains(hosts[other].plan.identity) else { return }
            if move(host, to: hosts[other].key, removing: nil) {
                self.chain?.ownerHost = other
                self.chain?.ownerHosts.insert(other)
            }
        case .leak(let other): leak(host, to: hosts[other])
        case .forge:
            guard host.lie == nil, chain[membership.chat].owner != host.key else { return }
            // Some repeat the body of the owner.
            let repeated = chain.links.dropLast().last?.successor
            let forged = Successor(seed: seed(1_000), owner: host.key)
            lie(host, in: membership.chat, with: host.index % 2 == 0 ? repeated ?? forged : forged)
        case .disown:
            guard host.lie == nil, chain[membership.chat].owner == host.key else { return }
            let successor = Successor(seed: seed(1_000), owner: host.key, removed: [host.key])
            lie(host, in: membership.chat, with: successor)
        case .confess: endLies(of: host)
        default: return
        }
    }

    /// Moves the newest chat to a successor.
    ///
    /// - Parameter isHostile: Whether the owner's program knows no rate.
    /// - Returns: Whether the host's user owns the chat and could move it.
    @discardableResult
    private func move(
        _ host: SimulatedHost, to owner: PublicKey, removing removed: PublicKey?, isHostile: Bool = false
    ) -> Bool {
        guard var chain, chain.ownerHost == host.index, var membership = host.membership, host.lie == nil,
            membership.chat == chain.newest, chats.count < Simulation.mostChats
        else { return false }
        let old = membership.chat
        let (before, new) = (chain[old], chats.count)
        guard case .running(let node) = host.state, isHostile || node.endpoint.mayMove(chats[old].id, now: now) else {
            return false
        }
        let successor = Successor(
            seed: seed(UInt64(new)), owner: owner, removed: before.removed + (removed.map { [$0] } ?? []))
        let keys = next(successor, in: chats[old])
        let members = before.members.filter { identity in hosts.first { $0.plan.identity == identity }?.key != removed }
        let chosen = self.keys(of: members)
        chain.links.append(
            Chain.Link(
                owner: owner, removed: successor.removed, members: members, admitted: chosen.union([host.key])))
        chats.append(keys)
        checker.chatIndices[keys.id] = new
        (chain[old].successor, chain[old].given) = (successor, chosen)
        for chat in membership.departures.keys { membership.departures[chat]?.chosen.formIntersection(chosen) }
        membership.departures[old] = Membership.Departure(successor: successor, chosen: chosen)
        membership.chat = new
        membership.refused = successor.removed
        let ended = isHostile ? [] : membership.departures.keys.sorted().dropLast(Membership.mostDepartures)
        for chat in ended { membership.departures[chat] = nil }
        self.chain = chain
        host.membership = membership
        checkDerivation(of: successor, in: old)
        depart(host, from: old)
        if !isHostile {
            checkMove(by: host)
            input(host) { try? $0.move(self.chats[old].id, by: successor, chosen: chosen, now: $1) }
        }
        for chat in ended { input(host) { try? $0.leave(self.chats[chat].id, now: $1) } }
        for chat in membership.departures.keys.sorted() { give(chat, by: host) }
        join(host, new)
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
                try $0.depart(from: self.chats[chat].id, by: departure.successor, chosen: departure.chosen, now: $1)
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
            let first = membership.departures.keys.min(),
            (first..<chain.newest).allSatisfy({ membership.departures[$0] != nil }),
            case .running = host.state, let newcomer = hosts.first(where: { $0.key == key }),
            scenario.removals?.friends.contains(newcomer.index) ?? false
        else { return }
        chain[chain.newest].members.insert(newcomer.plan.identity)
        // The newcomer takes one successor after another, and so passes through each chat on the way.
        for chat in first + 1...chain.newest { chain[chat].admitted.insert(key) }
        for chat in membership.departures.keys.sorted() {
            membership.departures[chat]?.chosen.insert(key)
            chain[chat].given.insert(key)
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
    private func lie(_ host: SimulatedHost, in chat: Int, with successor: Successor) {
        leave(host, chat)
        host.lie = chat
        browse(host, chat)
        let keys = Set(hosts.map(\.key)).subtracting([host.key])
        input(host) {
            try? $0.join(self.chats[chat], isSecret: true, owner: host.key, now: $1)
            try? $0.depart(from: self.chats[chat].id, by: successor, chosen: keys, now: $1)
        }
    }

    func endLies(of host: SimulatedHost) {
        guard let chat = host.lie, case .running(let node) = host.state, !node.isSuspended else { return }
        host.lie = nil
        input(host) { try? $0.leave(self.chats[chat].id, now: $1) }
        if let chat = host.membership?.chat { join(host, chat) }
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
                self.chats[chat], isSecret: chat >= 2, owner: owner, refusing: refused,
                keepsTexts: self.texts != nil, seen: host.store.seen, now: $1)
        }
    }

    func restoreDepartures(of host: SimulatedHost) {
        for chat in host.departures.keys.sorted() {
            input(host) { try? $0.join(self.chats[chat], isSecret: true, owner: host.key, now: $1) }
            give(chat, by: host)
            browse(host, chat)
        }
    }

    /// Follows a successor, as a daemon does for its user.
    func follow(
        _ host: SimulatedHost, _ incarnation: Int, _ tag: ChatID, from key: PublicKey, _ successor: Successor
    ) {
        guard host.incarnation == incarnation, let node = host.node else { return }
        guard case .running = host.state, !node.isSuspended else {
            // The daemon continues when its program or its machine does.
            let event = Event.follow(host: host.index, incarnation: incarnation, tag, from: key, successor)
            return events.add(event, at: now + .milliseconds(100))
        }
        guard let chain, let old = chats.firstIndex(where: { $0.id == tag }), old >= Simulation.chats.count else {
            return checker.report(.falseMove, "host \(host.index), in a chat without an owner", now)
        }
        let id = next(successor, in: chats[old]).id
        guard key == chain[old].owner, chain[old].successor == successor, chain[old].given.contains(host.key),
            let new = chats.firstIndex(where: { $0.id == id }), new > old
        else { return checker.report(.falseMove, "host \(host.index), from chat \(old)", now) }
        guard host.membership?.chat == old, host.lie == nil else { return }
        host.membership?.chat = new
        host.membership?.refused = successor.removed
        join(host, new)
        leave(host, old)
    }
}

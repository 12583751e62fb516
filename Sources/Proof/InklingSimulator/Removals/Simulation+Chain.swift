import InklingCore
import InklingWire

/// The checks of an owner's chats.
extension Simulation {
    /// Checks each node's links in the owner's chats. Called at each tick.
    func checkChain() {
        guard let chain else { return }
        for host in hosts {
            guard let node = host.node else { continue }
            for chat in Simulation.chats.count..<chats.count {
                let keys = node.endpoint.linkedKeys(in: chats[chat].id)
                let refused =
                    host.lie == chat ? [] : host.membership?.chat == chat ? host.membership?.refused ?? [] : []
                for key in keys where !chain[chat].admitted.contains(key) || refused.contains(key) {
                    let other = hosts.first { $0.key == key }?.index ?? -1
                    checker.report(.intruder, "host \(host.index) has a link with host \(other), chat \(chat)", now)
                }
            }
            for (chat, departure) in host.departures where host.lie != chat {
                let keys = node.endpoint.linkedKeys(in: chats[chat].id)
                for key in keys where key != host.key && !departure.chosen.contains(key) {
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
        let number = node.endpoint.counters.successorsSent
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
        let links = departed.reduce(0) { $0 + node.endpoint.linkedKeys(in: chats[$1].id).count }
        return (node.endpoint.counters.successorsSent, links)
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

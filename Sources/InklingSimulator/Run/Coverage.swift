import InklingCore

/// What runs have met: added up over any number of them.
package struct Coverage: Equatable, Sendable {
    package var runs = 0
    package var hosts = 0
    package var datagrams = 0
    package var virtualSeconds = 0
    /// How often people and machines did what.
    package var actions: [String: Int] = [:]
    /// How often the network did what.
    package var faults: [String: Int] = [:]
    /// The states in which a node showed a person, and the changes between them.
    package var states: [String: Int] = [:]
    package var edges: [String: Int] = [:]
    /// Why presences changed, messages failed and datagrams were dropped.
    package var presences: [String: Int] = [:]
    package var failures: [String: Int] = [:]
    package var drops: [String: Int] = [:]
    /// The counters of the nodes.
    package var counters: [String: Int] = [:]

    package init() {}

    package mutating func add(_ other: Coverage) {
        runs += other.runs
        hosts += other.hosts
        datagrams += other.datagrams
        virtualSeconds += other.virtualSeconds
        actions.merge(other.actions, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        states.merge(other.states, uniquingKeysWith: +)
        edges.merge(other.edges, uniquingKeysWith: +)
        presences.merge(other.presences, uniquingKeysWith: +)
        failures.merge(other.failures, uniquingKeysWith: +)
        drops.merge(other.drops, uniquingKeysWith: +)
        counters.merge(other.counters, uniquingKeysWith: +)
    }

    mutating func count(_ tally: SimulatedNetwork.Tally, replayed: Int) {
        let counts = [
            "lost": tally.lost, "lost in bursts": tally.lostInBursts, "doubled": tally.doubled,
            "reordered": tally.reordered, "damaged": tally.damaged, "cut": tally.cut, "clogged": tally.clogged,
            "replayed": replayed,
        ]
        faults.merge(counts.filter { $0.value > 0 }, uniquingKeysWith: +)
    }

    mutating func count(_ counters: Counters) {
        for (reason, count) in counters.drops { drops[reason.rawValue, default: 0] += count }
        let counts = [
            "handshakes": counters.handshakesCompleted, "links": counters.linksMade,
            "lost to silence": counters.linksLostToSilence, "stale clears": counters.staleClears,
            "retransmissions": counters.retransmissions, "late timers": counters.lateTimers,
            "typing starts": counters.typingStartsSent, "typing starts limited": counters.typingStartsLimited,
            "messages sent": counters.messagesSent, "messages received": counters.messagesReceived,
            "delivered": counters.messagesDelivered, "failed": counters.messagesFailed,
        ]
        self.counters.merge(counts, uniquingKeysWith: +)
    }
}

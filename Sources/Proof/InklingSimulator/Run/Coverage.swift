import InklingCore

/// The events that runs have met, added up over any number of runs.
package struct Coverage: Equatable, Sendable {
    package var runs = 0
    package var hosts = 0
    package var datagrams = 0
    package var virtualSeconds = 0
    /// The number of each action of people and machines.
    package var actions: [Scenario.Action.Kind: Int] = [:]
    /// The number of each fault of the network.
    package var faults: [NetworkFault: Int] = [:]
    /// The number of datagrams of each attack.
    package var attacks: [Scenario.Attack: Int] = [:]
    /// The states in which a node showed a person, and the changes between them.
    package var states: [PersonState: Int] = [:]
    package var edges: [Edge: Int] = [:]
    /// The reasons of changed presences, failed messages and dropped datagrams, with their numbers.
    package var presences: [PresenceReason: Int] = [:]
    package var failures: [FailureReason: Int] = [:]
    package var drops: [DropReason: Int] = [:]
    /// The counters of the nodes.
    package var counters: [NodeCounter: Int] = [:]

    /// How a node shows a person in a chat.
    package struct PersonState: Hashable, Sendable {
        package let presence: Presence
        package let isTyping: Bool
    }

    /// A change of how a node shows a person.
    package struct Edge: Hashable, Sendable {
        package let from: PersonState
        package let to: PersonState
    }

    /// The effects of the network, or of an attacker on it, on a datagram.
    package enum NetworkFault: Sendable {
        case lost, lostInBurst, doubled, reordered, damaged, cut, clogged, replayed
        /// The socket's receive buffer was full.
        case overflown
    }

    /// The counters of nodes that a run adds up.
    package enum NodeCounter: CaseIterable, Sendable {
        case handshakes, links, linksDown, linksForgotten, staleClears, records, lateTimers
        case typingStarts, typingStartsLimited, messagesSent, messagesReceived, delivered, failed
    }

    package init() {}

    package mutating func add(_ other: Coverage) {
        runs += other.runs
        hosts += other.hosts
        datagrams += other.datagrams
        virtualSeconds += other.virtualSeconds
        actions.merge(other.actions, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        attacks.merge(other.attacks, uniquingKeysWith: +)
        states.merge(other.states, uniquingKeysWith: +)
        edges.merge(other.edges, uniquingKeysWith: +)
        presences.merge(other.presences, uniquingKeysWith: +)
        failures.merge(other.failures, uniquingKeysWith: +)
        drops.merge(other.drops, uniquingKeysWith: +)
        counters.merge(other.counters, uniquingKeysWith: +)
    }

    mutating func count(_ counters: Counters) {
        drops.merge(counters.drops, uniquingKeysWith: +)
        for counter in NodeCounter.allCases { self.counters[counter, default: 0] += counters[counter] }
    }
}

extension Counters {
    fileprivate subscript(_ counter: Coverage.NodeCounter) -> Int {
        switch counter {
        case .handshakes: handshakesCompleted
        case .links: linksMade
        case .linksDown: linksDown
        case .linksForgotten: linksForgotten
        case .staleClears: staleClears
        case .records: recordsSent
        case .lateTimers: lateTimers
        case .typingStarts: typingStartsSent
        case .typingStartsLimited: typingStartsLimited
        case .messagesSent: messagesSent
        case .messagesReceived: messagesReceived
        case .delivered: messagesDelivered
        case .failed: messagesFailed
        }
    }
}

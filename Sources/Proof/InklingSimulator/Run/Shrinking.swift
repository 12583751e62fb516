import InklingCore
import InklingWire

/// Narrows a failure down: the fewest steps and faults found that still break the same rule.
package struct Shrinking {
    package private(set) var scenario: Scenario
    /// The numbers of the remaining steps.
    package private(set) var kept: [Int]
    /// The faults that the scenario now leaves out.
    package private(set) var without: [Scenario.Fault] = []
    /// The number of runs still permitted.
    private var runs: Int
    private let original: Scenario
    private let rule: Violation.Rule

    /// Shrinks a scenario that breaks `rule`, in at most `runs` runs.
    package init(_ scenario: Scenario, breaking rule: Violation.Rule, runs: Int = 500) {
        original = scenario
        self.scenario = scenario
        self.rule = rule
        self.runs = runs
        kept = scenario.steps.map(\.number)
        for fault in Scenario.Fault.allCases where scenario.faults.contains(fault) { leaveOut(fault) }
        shrinkSteps()
        for fault in Scenario.Fault.allCases where self.scenario.faults.contains(fault) { leaveOut(fault) }
    }

    /// Whether no step has been removed yet.
    package var hasAllSteps: Bool { kept.count == original.steps.count }

    private mutating func leaveOut(_ fault: Scenario.Fault) {
        guard breaks(kept, without + [fault]) else { return }
        without.append(fault)
        scenario = original.keeping(Set(kept)).without(Set(without))
    }

    /// Removes half of the steps, then quarters, and so on, down to single steps.
    private mutating func shrinkSteps() {
        var size = max(1, kept.count / 2)
        while runs > 0 {
            var start = 0
            var hasShrunk = false
            while start < kept.count, runs > 0 {
                let rest = Array(kept[..<start] + kept[min(start + size, kept.count)...])
                if breaks(rest, without) {
                    kept = rest
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        scenario = original.keeping(Set(kept)).without(Set(without))
    }

    private mutating func breaks(_ steps: [Int], _ faults: [Scenario.Fault]) -> Bool {
        guard runs > 0 else { return false }
        runs -= 1
        return Simulation(original.keeping(Set(steps)).without(Set(faults))).run().violation?.rule == rule
    }
}

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

/// The results of the runs of many seeds, added up.
package struct SeedSum: Sendable {
    package private(set) var coverage = Coverage()
    /// The seeds that broke a rule, in the order in which they were run.
    package private(set) var failed: [(seed: UInt64, violation: Violation)] = []

    package init() {}

    /// Adds one run.
    package mutating func add(_ result: Simulation.Result, of seed: UInt64) {
        coverage.add(result.coverage)
        if let violation = result.violation { failed.append((seed, violation)) }
    }
}

import SeededRandom

/// All events of one run: the hosts, the network's effects on datagrams, and the actions of people and machines.
///
/// A seed determines a scenario (``init(seed:)``) and the network's single decisions. Steps and faults can be left out,
/// to find what a failure needs.
package struct Scenario: Sendable {
    package let seed: UInt64
    package var hosts: [HostPlan]
    package var network: NetworkPlan
    /// The steps, in the order of their times.
    package var steps: [Step]
    /// When the faults end, in milliseconds from the start.
    package internal(set) var faultsEnd: Int
    /// The adversary; nil in most scenarios.
    package var adversary: AdversaryPlan?
    /// The plan of a private chat whose owner removes members; nil in most scenarios.
    package internal(set) var removals: RemovalPlan?
    /// Whether the nodes keep texts for people who are away.
    package internal(set) var keepsTexts = false

    /// One machine with a node of one user.
    package struct HostPlan: Sendable {
        /// The index of the identity. Two hosts with one identity are two devices of one person.
        package let identity: Int
        /// The chats that the node joins at its start, as indices.
        package let chats: [Int]
        package let sendsTyping: Bool
        /// Whether a helper process keeps the node's last wills.
        package let keepsWills: Bool
        /// Whether the host has an IPv6 address beside the IPv4 one.
        package let hasTwoAddresses: Bool
        /// The longest delay of the host's timers, in microseconds.
        package let lateness: Int
    }

    /// The effects of the network on each datagram while the faults last. Ratios are of 1,000.
    package struct NetworkPlan: Sendable {
        /// The shortest and longest delay of a datagram, in microseconds.
        package var delay = 100...400
        /// The highest loss of a path. Each path draws its own.
        package var loss = 0
        /// The ratio of datagrams at which a burst of losses begins, and the length of a burst.
        package var bursts = 0
        package var burstLength = 5
        package var duplication = 0
        package var reordering = 0
        /// The longest additional delay of a reordered datagram, in milliseconds.
        package var reorderingDelay = 200
        package var corruption = 0
        /// The rate of replays by an attacker, who also cuts datagrams short and sends them from other addresses.
        package var replay = 0
        /// The longest delay of discovery, in milliseconds.
        package var discoveryDelay = 1_000
        /// Whether discovery finds nobody, and all other hosts know the first one by hand.
        package var isByHand = false
        /// Whether discovery reports all peers again when the faults end, or only new ones.
        package var isFoundAnew = true
    }

    /// One action of a person, a machine or the network.
    package struct Step: Sendable {
        /// The number of the step in the drawn scenario. The number stays when other steps are left out.
        package let number: Int
        /// The time, in milliseconds from the start.
        package let at: Int
        package let host: Int
        package let action: Action
    }

    package enum Action: Sendable, Equatable {
        // People.
        case edit(chat: Int)
        case empty(chat: Int)
        /// The user sends a message of a size in bytes.
        case send(chat: Int, size: Int)
        /// The user opens another chat at the prompt, which ends typing in the other chats.
        case open(chat: Int)
        case join(chat: Int)
        case leave(chat: Int)
        case goAway, comeBack
        /// The user takes another name.
        case rename
        case block(host: Int)
        case unblock(host: Int)
        // Programs and machines.
        case quit
        /// The node is killed. With `will`, its helper process survives and sends the last will.
        case crash(will: Bool)
        case start
        /// The user presses Ctrl-Z, or enters `fg`.
        case suspend, resume
        /// The node is stopped as by SIGSTOP, for a time in milliseconds. Datagrams wait in the socket.
        case pause(Int)
        /// The machine sleeps for a time in milliseconds. Datagrams are lost.
        case sleep(Int)
        // The network.
        case unplug(Int)
        /// No datagram passes from this host to the other, for a time in milliseconds.
        case partition(to: Int, Int)
        /// Delays the datagrams from this host to the other, for a time in milliseconds. All of them then arrive at
        /// once.
        case clog(to: Int, Int)
        /// The host gets another address.
        case move
        // The owner's chat, in scenarios with removals.
        /// The owner removes the identity of a host.
        case remove(host: Int)
        /// The owner gives the chat to the identity of a host.
        case handOver(host: Int)
        /// The owner moves the chat and removes nobody. With `rush`, the owner's program knows no rate.
        case renew, rush
        /// A member gives the chat's secret to another host.
        case leak(host: Int)
        /// The host claims to be the owner of its chat, and gives everybody a successor, perhaps one of the owner.
        case forge
        /// The owner's node gives everybody a successor that removes its owner.
        case disown
        /// The host ends a lie.
        case confess
        /// Holds back the datagrams from this host to the other, until the host's node crashes. The datagrams then
        /// arrive one by one, with a pause in milliseconds.
        case holdBack(to: Int, Int)
        /// Takes a snapshot of the machine, or returns the machine to it.
        case snapshot, revert
        /// The two hosts swap their addresses.
        case swapAddresses(with: Int)
        /// Discovery at this host loses the other host's instances, and finds them again after a time in milliseconds.
        case flap(Int, host: Int)
        /// An ICMP error arrives for the other host.
        case doubt(host: Int)
    }

    /// The kinds of faults that a run can switch off.
    package enum Fault: String, CaseIterable, Sendable {
        case loss, bursts, duplication, reordering, corruption, replay, lateness, adversary
    }

    /// The time after which no fault or attack disturbs the nodes, in milliseconds from the start.
    var calmAt: Int { max(faultsEnd, adversary?.end ?? 0) }

    /// Returns the scenario with only the steps of these numbers.
    package func keeping(_ numbers: Set<Int>) -> Scenario {
        var scenario = self
        scenario.steps.removeAll { !numbers.contains($0.number) }
        return scenario
    }

    /// Returns the scenario without these faults.
    package func without(_ faults: Set<Fault>) -> Scenario {
        var scenario = self
        for fault in Fault.allCases where faults.contains(fault) {
            switch fault {
            case .loss: scenario.network.loss = 0
            case .bursts: scenario.network.bursts = 0
            case .duplication: scenario.network.duplication = 0
            case .reordering: scenario.network.reordering = 0
            case .corruption: scenario.network.corruption = 0
            case .replay: scenario.network.replay = 0
            case .lateness: scenario.hosts = scenario.hosts.map { $0.punctual }
            case .adversary: scenario.adversary = nil
            }
        }
        return scenario
    }

    /// The chats that any host is ever in, as indices.
    package var chats: Set<Int> {
        let joined = steps.compactMap { if case .join(let chat) = $0.action { chat } else { nil } }
        let owned = removals == nil ? [] : Array(Simulation.chats.count..<Simulation.mostChats)
        return Set(hosts.flatMap(\.chats) + joined + owned)
    }

    /// Whether any user takes another name.
    var hasRenames: Bool { steps.contains { $0.action == .rename } }

    /// The kinds of faults in the scenario.
    package var faults: Set<Fault> {
        var faults: Set<Fault> = []
        if network.loss > 0 { faults.insert(.loss) }
        if network.bursts > 0 { faults.insert(.bursts) }
        if network.duplication > 0 { faults.insert(.duplication) }
        if network.reordering > 0 { faults.insert(.reordering) }
        if network.corruption > 0 { faults.insert(.corruption) }
        if network.replay > 0 { faults.insert(.replay) }
        if hosts.contains(where: { $0.lateness > 0 }) { faults.insert(.lateness) }
        if adversary != nil { faults.insert(.adversary) }
        return faults
    }
}

extension Scenario.HostPlan {
    fileprivate var punctual: Scenario.HostPlan {
        Scenario.HostPlan(
            identity: identity, chats: chats, sendsTyping: sendsTyping, keepsWills: keepsWills,
            hasTwoAddresses: hasTwoAddresses, lateness: 0)
    }
}

extension Scenario.Action {
    /// The kind of an action, without its target and duration.
    package enum Kind: Sendable {
        case edit, empty, send, open, join, leave, goAway, comeBack, rename, block, unblock
        case quit, crash, crashWithLastWill, start, suspend, resume, pause, sleep
        case snapshot, revert
        case unplug, partition, clog, holdBack, move, swapAddresses, flap, doubt
        case remove, handOver, renew, rush, leak, forge, disown, confess
    }

    package var kind: Kind {
        switch self {
        case .edit: .edit
        case .empty: .empty
        case .open: .open
        case .send: .send
        case .join: .join
        case .leave: .leave
        case .goAway: .goAway
        case .comeBack: .comeBack
        case .rename: .rename
        case .block: .block
        case .unblock: .unblock
        case .quit: .quit
        case .crash(let will): will ? .crashWithLastWill : .crash
        case .start: .start
        case .suspend: .suspend
        case .resume: .resume
        case .pause: .pause
        case .sleep: .sleep
        case .unplug: .unplug
        case .partition: .partition
        case .clog: .clog
        case .move: .move
        case .holdBack: .holdBack
        case .snapshot: .snapshot
        case .revert: .revert
        case .swapAddresses: .swapAddresses
        case .flap: .flap
        case .doubt: .doubt
        case .remove: .remove
        case .handOver: .handOver
        case .renew: .renew
        case .rush: .rush
        case .leak: .leak
        case .forge: .forge
        case .disown: .disown
        case .confess: .confess
        }
    }
}

package typealias SeededGenerator = SeededRandom.SeededGenerator

/// The simulator makes all decisions with whole numbers, so that no rounding can make two runs of a seed differ.
extension SeededGenerator {
    /// A generator of its own for one purpose, so that what another purpose draws changes nothing here.
    init(seed: UInt64, purpose: UInt64) {
        var mixer = SeededGenerator(seed: seed ^ (purpose &* 0xD6E8_FEB8_6659_FD93))
        self.init(seed: mixer.next())
    }

    /// Returns true with a probability of `perMille` in 1,000.
    mutating func happens(perMille: Int) -> Bool {
        perMille > 0 && next() % 1_000 < UInt64(perMille)
    }

    /// Returns true with a probability of one in `count`.
    mutating func oneIn(_ count: Int) -> Bool { next() % UInt64(count) == 0 }

    /// Returns a random element of an array that is not empty.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next() % UInt64(elements.count))]
    }

    /// Returns a random index, with probabilities in proportion to the weights.
    mutating func pick(weights: [Int]) -> Int {
        var rest = Int(next() % UInt64(weights.reduce(0, +)))
        for (index, weight) in weights.enumerated() {
            if rest < weight { return index }
            rest -= weight
        }
        return weights.count - 1
    }
}

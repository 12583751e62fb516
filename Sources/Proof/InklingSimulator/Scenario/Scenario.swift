/// All events of one run: the hosts, the effects of the network on datagrams, and the actions of people and machines.
///
/// A seed draws one (``init(seed:)``); the network's single decisions follow from the seed as well. Parts can be left
/// out of it, so that a failure can be narrowed down to what it needs.
package struct Scenario: Sendable {
    package let seed: UInt64
    package var hosts: [HostPlan]
    package var network: NetworkPlan
    /// In the order of their time.
    package var steps: [Step]
    /// When the faults end, in milliseconds from the start.
    package internal(set) var faultsEnd: Int
    /// The adversary; nil in most scenarios.
    package var adversary: AdversaryPlan?

    /// One machine with a node of one user.
    package struct HostPlan: Sendable {
        /// Which of the identities it holds; two hosts with one identity are two devices of one person.
        package let identity: Int
        /// The chats that it is in from the start, as indices.
        package let chats: [Int]
        package let sendsTyping: Bool
        /// Whether a helper process keeps the last wills.
        package let keepsWills: Bool
        /// Has an IPv6 address beside the IPv4 one.
        package let hasTwoAddresses: Bool
        /// How late its timers are at most, in microseconds.
        package let lateness: Int
    }

    /// The effects of the network on each datagram while the faults last. Ratios are of 1,000.
    package struct NetworkPlan: Sendable {
        /// The least and the most that a datagram takes, in microseconds.
        package var delay = 100...400
        /// Each directed link loses up to this.
        package var loss = 0
        /// A burst of losses begins with this ratio at each datagram, and takes that many.
        package var bursts = 0
        package var burstLength = 5
        package var duplication = 0
        package var reordering = 0
        /// How late a reordered datagram comes at most, in milliseconds.
        package var reorderingDelay = 200
        package var corruption = 0
        /// Somebody on the LAN sends recorded datagrams again, also from another address and cut short.
        package var replay = 0
        /// Discovery takes up to this, in milliseconds.
        package var discoveryDelay = 1_000
        /// All hosts but the first know it by hand alone: discovery finds nobody.
        package var isByHand = false
        /// When the faults end, discovery reports everybody again; else only what it had not yet reported.
        package var isFoundAnew = true
    }

    /// One thing that happens.
    package struct Step: Sendable {
        /// Its place in the scenario as drawn, which stays when others are left out.
        package let number: Int
        /// In milliseconds from the start.
        package let at: Int
        package let host: Int
        package let action: Action
    }

    package enum Action: Sendable, Equatable {
        // People.
        case edit(chat: Int)
        case empty(chat: Int)
        /// Sends a message of so many bytes.
        case send(chat: Int, size: Int)
        /// Opens another chat at the prompt, which ends the typing elsewhere.
        case open(chat: Int)
        case join(chat: Int)
        case leave(chat: Int)
        case goAway, comeBack
        /// Takes another name.
        case rename
        case block(host: Int)
        case unblock(host: Int)
        // Programs and machines.
        case quit
        /// Killed; `will` says whether the helper process outlives the node.
        case crash(will: Bool)
        case start
        /// Ctrl-Z and `fg`.
        case suspend, resume
        /// Stopped for so many milliseconds as by SIGSTOP: datagrams wait in the socket.
        case pause(Int)
        /// Asleep for so many milliseconds: datagrams are lost.
        case sleep(Int)
        // The network.
        case unplug(Int)
        /// Nothing passes from this host to the other for so many milliseconds.
        case partition(to: Int, Int)
        /// Holds the datagrams from this host to the other for so many milliseconds. All of them then arrive at once.
        case clog(to: Int, Int)
        /// Another address.
        case move
        /// Holds back the datagrams from this host to the other, until the host's node ends without a word. The
        /// datagrams then arrive one by one, so many milliseconds apart.
        case holdBack(to: Int, Int)
        /// The machine is kept as it is, or made to be what it was then.
        case snapshot, revert
        /// The two hosts get each other's addresses.
        case swapAddresses(with: Int)
        /// Discovery at this host loses the other host's instances, and finds them again after so many milliseconds.
        case flap(Int, host: Int)
        /// An ICMP error arrives for the other host.
        case doubt(host: Int)
    }

    /// The kinds of network fault that can be switched off.
    package enum Fault: String, CaseIterable, Sendable {
        case loss, bursts, duplication, reordering, corruption, replay, lateness, adversary
    }

    /// When nothing is left that disturbs, in milliseconds from the start.
    var calmAt: Int { max(faultsEnd, adversary?.end ?? 0) }

    /// The scenario with only those of its steps.
    package func keeping(_ numbers: Set<Int>) -> Scenario {
        var scenario = self
        scenario.steps.removeAll { !numbers.contains($0.number) }
        return scenario
    }

    /// The scenario without those faults.
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

    /// The chats that anybody is ever in, as indices.
    package var chats: Set<Int> {
        let joined = steps.compactMap { if case .join(let chat) = $0.action { chat } else { nil } }
        return Set(hosts.flatMap(\.chats) + joined)
    }

    /// Whether anybody takes another name.
    var hasRenames: Bool { steps.contains { $0.action == .rename } }

    /// The faults that it has.
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

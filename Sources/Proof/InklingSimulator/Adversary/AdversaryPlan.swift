import InklingCore
import InklingWire

extension Scenario {
    /// The plan of an attacker on the LAN, and what the people of the scenario do during the attack.
    ///
    /// The attack lasts some seconds longer than the faults. Its effect on a good network shows then.
    package struct AdversaryPlan: Sendable {
        /// The attacks, which all run at the same time.
        package let attacks: [Attack]
        /// The begin and the end of the attack, in milliseconds from the start of the run.
        let begin: Int
        package let end: Int
        /// The time when a friend restarts; nil if none does.
        let restart: Int
        /// The datagrams in a second, of all attacks together.
        let rate: Int
        /// The only host that the adversary attacks; nil if the attacks go to several hosts.
        let focus: Int?
        /// How well the users know each other. Members of a secret chat are friends even where this says strangers.
        let standing: Standing
        /// The hosts whose users take no messages during the attack.
        let slowReaders: Set<Int>
        /// Additional steps after the faults: a friend restarts, and people write.
        let steps: [Step]
    }

    /// The kinds of attack.
    package enum Attack: String, CaseIterable, Sendable {
        /// Initiations with random keys and ciphertexts, from the adversary's own and from forged sources.
        case initiations
        /// Valid initiations from many sources, repeated with their cookies. The adversary confirms no session.
        case cookies
        /// Like ``cookies``, from one source.
        case cookiesOfOneSource
        /// Members of an open chat who change typing and presence twenty times a second.
        case chatter
        /// A member who sends messages without pause, beyond the permitted rate.
        case flood
        /// Members whose long messages the users do not take.
        case hoard
        /// Members from five addresses who begin long messages and never finish them.
        case reserve
        /// Members who skip the expected record. Each later record of theirs begins a message.
        case chainBeyond
        /// ``reserve`` and ``chainBeyond`` by members of a secret chat, with one link for each key.
        case members
        /// More links of one key, and more links from one source, than a node permits.
        case manyLinks
        /// Links of strangers from a friend's host.
        case neighbours
        /// Links from all addresses of the node's own host, more than a node permits to other users of its host.
        case ownHost
        /// 60 to 119 members who follow all rules. With so many, idle intervals stretch.
        case crowd
        /// As many links in all as a node holds.
        case fullTable
        /// Service instances with forged keys, at addresses without a host.
        case instances
        /// Service instances that change their keys again and again, at one address without a host.
        case changingKeys
        /// Service instances with the keys of friends, at addresses without a host.
        case friends
        /// Service instances with the keys of friends, at relays. A relay passes on handshakes only.
        case relays
        /// Random responses to initiations that the adversary received or overheard.
        case responses
        case asks
        /// Random retries, and sealed garbage for random indices.
        case garbage
        /// Recorded initiations of friends.
        case recordings
        /// Members who never name themselves (L-85, L-86).
        case ghosts
        /// Members who report again and again that they hear nothing, and are listed at addresses without a host
        /// (L-45).
        case unheard

        /// The weight of the attack in the draw. Attacks that make a run slow have low weights.
        var weight: Int {
            switch self {
            case .fullTable: 1
            case .instances: 15
            case .cookies, .hoard, .crowd, .neighbours: 25
            case .manyLinks, .flood, .cookiesOfOneSource, .reserve, .chainBeyond, .members, .ownHost: 40
            case .initiations, .chatter, .changingKeys, .friends, .relays, .responses, .asks, .garbage, .recordings,
                .ghosts, .unheard:
                60
            }
        }
    }
}

extension Scenario.AdversaryPlan {
    /// Draws the adversary of a seed, from a separate sequence of random numbers. Five of six scenarios have none.
    ///
    /// - Parameters:
    ///   - attack: the only attack, in each scenario that allows an adversary; random if nil.
    ///   - faultsEnd: the end of the faults, in milliseconds from the start.
    init?(
        seed: UInt64, attack: Scenario.Attack?, hosts: [Scenario.HostPlan], network: Scenario.NetworkPlan,
        faultsEnd: Int
    ) {
        var generator = SeededGenerator(seed: seed, purpose: 8)
        guard generator.oneIn(6) || attack != nil, hosts.count <= 5, !network.isByHand, faultsEnd < 30_000 else {
            return nil
        }
        let ways = Scenario.Attack.allCases
        let first = ways[generator.pick(weights: ways.map(\.weight))]
        var attacks = [attack ?? first]
        if generator.oneIn(3), attack == nil {
            let second = ways[generator.pick(weights: ways.map(\.weight))]
            if second != first { attacks.append(second) }
        }
        self.attacks = attacks
        let isLong = attacks.contains(.fullTable)
        let isHoarding = attacks.contains(.hoard)
        let isReserving = !attacks.allSatisfy { ![.reserve, .chainBeyond, .members].contains($0) }
        let lead = isLong ? 12_000 : isHoarding || isReserving ? 3_000 : generator.pick([300, 1_000, 3_000])
        begin = max(0, faultsEnd - lead)
        // Friends who restart have 5 s to meet.
        restart = faultsEnd + (isLong ? 13_000 : 1_000) + generator.number(in: 0...800)
        let forgesFriends = attacks.contains(.friends) || attacks.contains(.relays)
        // With forged instances of friends, the attack leaves more time than friends may need to find each other.
        end = restart + (forgesFriends ? 12_000 : 7_000)
        // The rate fills 8 MiB with text, or keeps a processor busy that computes for each datagram.
        let fast: Int? =
            if isHoarding {
                1_000 * attacks.count
            } else if attacks.contains(.flood) {
                // The rate is twice what one link may send.
                2 * Limits.datagramsPerLink
            } else if attacks.contains(.responses) {
                attacks.count == 1 ? 3_000 : 1_500
            } else {
                attacks.contains(.initiations) ? 1_000 : nil
            }
        rate = fast ?? generator.pick([300, 600, 1_000])
        let target = isHoarding || isReserving ? 0 : generator.number(in: 0...min(hosts.count, Adversary.targets) - 1)
        focus = fast != nil || isReserving || generator.oneIn(2) ? target : nil
        let inSecret = hosts.filter { $0.chats.contains(2) }
        // No verified friends here: the limit of a source does not bind them, so strangers on their host cannot keep
        // them out.
        let isNeighbour = attacks.contains(.neighbours)
        standing =
            isNeighbour
            ? .met
            : generator.pick(
                Set(inSecret.map(\.identity)).count > 1 ? [.stranger, .met, .verified] : [.met, .met, .verified])
        slowReaders = Set(hosts.indices.filter { _ in isHoarding || generator.oneIn(6) })
        steps = Scenario.AdversaryPlan.steps(
            hosts: hosts, restart: restart, end: end,
            isRestarted: isNeighbour || forgesFriends || !generator.oneIn(4), among: isNeighbour ? 2 : hosts.count,
            &generator)
    }

    /// Whether the adversary announces service instances with the keys of friends.
    var forgesFriends: Bool { attacks.contains(.friends) || attacks.contains(.relays) }

    /// Returns whether a friend restarts about now.
    func isDecisive(_ now: Instant) -> Bool {
        let time = Int(now.nanoseconds / 1_000_000)
        return restart - 500 <= time && time <= restart + 5_000
    }

    /// Returns additional steps: one of the first hosts restarts, and all users write now and then.
    private static func steps(
        hosts: [Scenario.HostPlan], restart: Int, end: Int, isRestarted: Bool, among first: Int,
        _ generator: inout SeededGenerator
    ) -> [Scenario.Step] {
        var drawn: [(at: Int, host: Int, action: Scenario.Action)] = []
        if isRestarted {
            let host = generator.number(in: 0...first - 1)
            drawn.append((restart - 200, host, generator.oneIn(2) ? .quit : .crash(will: false)))
            drawn.append((restart, host, .start))
        }
        for (index, host) in hosts.enumerated() {
            var at = restart + generator.number(in: 0...1_500)
            while at < end - 1_500 {
                let chat = generator.pick(host.chats)
                for _ in 0..<generator.number(in: 2...6) {
                    drawn.append((at, index, .edit(chat: chat)))
                    at += generator.number(in: 100...300)
                }
                let size = generator.pick([30, 30, 3_000])
                drawn.append((at, index, generator.oneIn(2) ? .empty(chat: chat) : .send(chat: chat, size: size)))
                at += generator.number(in: 300...1_500)
            }
        }
        let sorted = drawn.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        return sorted.enumerated().map { number, entry in
            Scenario.Step(
                number: number, at: entry.element.at, host: entry.element.host, action: entry.element.action)
        }
    }
}

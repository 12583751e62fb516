import InklingCore
import InklingWire

extension Scenario {
    /// Somebody on the LAN who follows no rule, and what the people of the scenario do meanwhile.
    ///
    /// The attack lasts some seconds longer than the faults. Its effect on a good network shows then.
    package struct AdversaryPlan: Sendable {
        /// The attacks, all at once.
        package let attacks: [Attack]
        /// When it begins and ends, in milliseconds from the start.
        let begin: Int
        package let end: Int
        /// When a friend starts again, if any friend does.
        let restart: Int
        /// How many datagrams it sends in a second, in all its attacks together.
        let rate: Int
        /// The host that all of them go to; nil if they are spread.
        let focus: Int?
        /// How well the users know each other; as strangers, those in a secret chat are friends all the same.
        let standing: Standing
        /// The hosts whose users take no messages while it lasts.
        let slowReaders: Set<Int>
        /// Additional steps while the network is good: a friend starts again, and people write.
        let steps: [Step]
    }

    /// The ways of the adversary.
    package enum Attack: String, CaseIterable, Sendable {
        /// Initiations with keys and ciphertexts of chance, from its own and from forged sources.
        case initiations
        /// Valid initiations from many sources, which come back with their cookies, and confirm nothing.
        case cookies
        /// The same from one source.
        case cookiesOfOneSource
        /// Members of an open chat who change typing and presence twenty times a second.
        case chatter
        /// A member who sends one message after the other, however little may be sent.
        case flood
        /// Members whose long messages nobody takes.
        case hoard
        /// Members from five addresses who begin long messages, and send nothing more of them.
        case reserve
        /// Members whose records all come beyond the expected one, and each begin a message.
        case chainBeyond
        /// The same two by members of a secret chat, with one link for each key.
        case members
        /// More links of one key, and from one source, than there may be.
        case manyLinks
        /// Links of strangers from the host of a friend.
        case neighbours
        /// More links from all addresses of the node's own host than other users of it may have.
        case ownHost
        /// Members who do nothing wrong: 60 to 119, so that idle intervals stretch.
        case crowd
        /// As many links as a node holds, in all.
        case fullTable
        /// Service instances with forged keys at addresses where nobody is.
        case instances
        /// Service instances that change their keys again and again, at one address where nobody is.
        case changingKeys
        /// Service instances with the keys of friends, at addresses where nobody is.
        case friends
        /// Service instances with the keys of friends, at relays that pass on handshakes and nothing else.
        case relays
        /// Responses of chance for initiations that came to it, or that it saw on their way.
        case responses
        case asks
        /// Retries of chance, and sealed garbage for indices of chance.
        case garbage
        /// Initiations of friends that it recorded.
        case recordings
        /// Members who never name themselves (L-85, L-86).
        case ghosts
        /// Members who say again and again that they hear nothing, and are listed at addresses where nobody is (L-45).
        case unheard

        /// How often it is drawn, beside the others: those that cost a run much come seldom.
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
    /// Draws the adversary of a seed, from numbers of its own: in five of six scenarios there is none.
    ///
    /// - Parameters:
    ///   - attack: the only attack, in each scenario that allows an adversary; drawn if nil.
    ///   - faultsEnd: when the faults end, in milliseconds from the start.
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
        // Friends who start again have 5 s to meet.
        restart = faultsEnd + (isLong ? 13_000 : 1_000) + generator.number(in: 0...800)
        let forgesFriends = attacks.contains(.friends) || attacks.contains(.relays)
        // Friends among forged instances are looked for longer than they may need.
        end = restart + (forgesFriends ? 12_000 : 7_000)
        // Enough to fill 8 MiB with text, or to keep a processor busy that computes for each datagram.
        let fast: Int? =
            if isHoarding {
                1_000 * attacks.count
            } else if attacks.contains(.flood) {
                // Twice as many as a link may send.
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
        // The share of a source does not bind friends who are verified: strangers on their host could keep nobody out.
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

    /// Whether it announces service instances with the keys of friends.
    var forgesFriends: Bool { attacks.contains(.friends) || attacks.contains(.relays) }

    /// Whether it is about the time when a friend starts again.
    func isDecisive(_ now: Instant) -> Bool {
        let time = Int(now.nanoseconds / 1_000_000)
        return restart - 500 <= time && time <= restart + 5_000
    }

    /// One of the first hosts starts again, and everybody writes now and then.
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

/// Scenarios for measurements. The network has no faults except losses.
extension Scenario {
    /// The losses of a network, in 1,000.
    package struct Loss: Sendable {
        package let name: String
        package let perMille: Int
        package let bursts: Int

        /// - Parameters:
        ///   - perMille: The datagrams of 1,000 that are lost, independently of each other.
        ///   - bursts: The datagrams of 1,000 after which a burst of five losses begins.
        package init(name: String, perMille: Int, bursts: Int = 0) {
            self.name = name
            self.perMille = perMille
            self.bursts = bursts
        }

        /// The losses for which the accuracy of the indicator is measured.
        package static let measured = [
            Loss(name: "0 %", perMille: 0, bursts: 0), Loss(name: "2 %", perMille: 20, bursts: 0),
            Loss(name: "10 %", perMille: 100, bursts: 0), Loss(name: "20 %", perMille: 200, bursts: 0),
            Loss(name: "30 %", perMille: 300, bursts: 0),
            // Five lost in a row, then about 45 that arrive: a tenth of all is lost.
            Loss(name: "10 % in bursts of 5", perMille: 0, bursts: 22),
        ]
    }

    /// Returns a scenario of four people who write in one chat for some minutes: edits, pauses, messages, and some
    /// texts given up.
    package static func writing(seed: UInt64, minutes: Int, loss: Loss) -> Scenario {
        var generator = SeededGenerator(seed: seed, purpose: 6)
        var steps: [(at: Int, host: Int, action: Action)] = []
        let end = minutes * 60_000
        for host in 0..<4 {
            var at = 5_000 + generator.number(in: 0...10_000)
            while at < end - 20_000 {
                for _ in 0..<generator.number(in: 3...40) {
                    steps.append((at: at, host: host, action: .edit(chat: 0)))
                    at += generator.oneIn(12) ? generator.number(in: 600...2_500) : generator.number(in: 70...350)
                }
                switch generator.number(in: 0...9) {
                case 0: steps.append((at: at, host: host, action: .empty(chat: 0)))
                case 1: break
                default: steps.append((at: at, host: host, action: .send(chat: 0, size: 60)))
                }
                at += generator.number(in: 1_000...25_000)
            }
        }
        return measured(seed: seed, hosts: 4, loss: loss, end: end, steps: steps)
    }

    /// Returns a scenario of two idle nodes.
    package static func idle(seed: UInt64, minutes: Int, loss: Loss) -> Scenario {
        measured(seed: seed, hosts: 2, loss: loss, end: minutes * 60_000, steps: [])
    }

    /// Returns a scenario of many nodes in one chat. They are idle until the faults end; then a few write.
    package static func crowd(seed: UInt64, hosts: Int, seconds: Int) -> Scenario {
        let loss = Loss(name: "0 %", perMille: 0, bursts: 0)
        return measured(seed: seed, hosts: hosts, loss: loss, end: seconds * 1_000, steps: [])
    }

    /// Returns a scenario of two nodes with quick discovery. One node restarts while they open a link.
    package static func restartedOpening(seed: UInt64) -> Scenario {
        var generator = SeededGenerator(seed: seed, purpose: 11)
        let at = generator.number(in: 100...1_200)
        let steps: [(at: Int, host: Int, action: Action)] = [
            (at: at, host: 1, action: .crash(will: false)), (at: at + 1, host: 1, action: .start),
        ]
        var scenario = measured(
            seed: seed, hosts: 2, loss: Loss(name: "0 %", perMille: 0), end: at + 10, steps: steps)
        scenario.network.discoveryDelay = restartedDiscovery
        return scenario
    }

    /// The longest delay of discovery in ``restartedOpening(seed:)``, in milliseconds.
    package static let restartedDiscovery = 110

    /// Returns a scenario of a person with two devices and a viewer, on a network that loses most datagrams. The links of
    /// both devices go down again and again, one while the other shows the person.
    package static func lostDevices(seed: UInt64) -> Scenario {
        let loss = Loss(name: "60 %", perMille: 600)
        return measured(seed: seed, identities: [0, 1, 1], loss: loss, end: 40_000, steps: [])
    }

    /// Returns a scenario of two nodes on a network that loses most datagrams. One node leaves the chat and joins it
    /// again, and its byes and its new name may be lost.
    package static func rejoining(seed: UInt64) -> Scenario {
        let steps: [(at: Int, host: Int, action: Action)] = (1...10).flatMap { number in
            [
                (at: 6_000 * number, host: 0, action: .leave(chat: 0)),
                (at: 6_000 * number + 130, host: 0, action: .join(chat: 0)),
            ]
        }
        return measured(seed: seed, hosts: 2, loss: Loss(name: "60 %", perMille: 600), end: 66_000, steps: steps)
    }

    private static func measured(
        seed: UInt64, hosts: Int, loss: Loss, end: Int, steps: [(at: Int, host: Int, action: Action)]
    ) -> Scenario {
        measured(seed: seed, identities: Array(0..<hosts), loss: loss, end: end, steps: steps)
    }

    private static func measured(
        seed: UInt64, identities: [Int], loss: Loss, end: Int, steps: [(at: Int, host: Int, action: Action)]
    ) -> Scenario {
        var network = NetworkPlan()
        network.loss = loss.perMille
        network.bursts = loss.bursts
        network.delay = 200...2_000
        let plans = identities.map { identity in
            HostPlan(
                identity: identity, chats: [0], sendsTyping: true, keepsWills: false, hasTwoAddresses: false,
                lateness: 0)
        }
        let ordered = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        return Scenario(
            measuring: seed, hosts: plans, network: network,
            steps: ordered.enumerated().map { number, entry in
                Step(number: number, at: entry.element.at, host: entry.element.host, action: entry.element.action)
            },
            faultsEnd: end)
    }

    private init(measuring seed: UInt64, hosts: [HostPlan], network: NetworkPlan, steps: [Step], faultsEnd: Int) {
        self.seed = seed
        self.hosts = hosts
        self.network = network
        self.steps = steps
        self.faultsEnd = faultsEnd
    }
}

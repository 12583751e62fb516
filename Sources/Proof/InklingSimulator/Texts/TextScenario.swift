extension Scenario {
    /// Draws the scenario of a seed in which nodes keep texts for people who are away.
    ///
    /// The faults are those of other scenarios, with more kills and cuts around texts. All nodes are in one chat, and
    /// some people have two devices.
    package init(textsOf seed: UInt64) {
        var generator = SeededGenerator(seed: seed, purpose: 14)
        let count = generator.pick([2, 2, 3, 3, 4])
        self.init(seed: seed, hosts: count)
        adversary = nil
        keepsTexts = true
        network.isByHand = false
        network.reorderingDelay = min(network.reorderingDelay, 200)
        let hasTwoDevices = count > 2 && generator.oneIn(2)
        hosts = hosts.enumerated().map { index, plan in
            HostPlan(plan, identity: hasTwoDevices && index == count - 1 ? count - 2 : index, chats: [0])
        }
        steps = steps.compactMap(\.withoutSnapshots).filter(\.isInFirstChat)
        let end = drawTexts(&generator)
        faultsEnd = max(min(faultsEnd, 200_000), end)
        steps = steps.sorted { ($0.at, $0.number) < ($1.at, $1.number) }.filter { $0.at <= faultsEnd }
    }

    /// - Returns: The end of the last step, in milliseconds from the start.
    private mutating func drawTexts(_ generator: inout SeededGenerator) -> Int {
        var drawn: [(at: Int, host: Int, action: Action)] = []
        var at = generator.number(in: 500...5_000)
        for _ in 0..<generator.pick([3, 10, 10, 30]) {
            let (writer, other) = (generator.number(in: 0...hosts.count - 1), generator.number(in: 0...hosts.count - 1))
            for _ in 0..<generator.pick([1, 1, 2, 5, 5, 70]) {
                drawn.append((at, writer, .send(chat: 0, size: generator.pick([20, 20, 200, 1_140, 1_141, 4_000]))))
                at += generator.pick([0, 0, 1, 20])
            }
            disturb(writer, other, around: at, &drawn, &generator)
            at += generator.pick([1, 20, 200, 1_000, 3_000, 10_000])
        }
        for (at, host, action) in drawn {
            steps.append(Step(number: steps.count, at: at, host: host, action: action))
        }
        return max(at, drawn.map(\.at).max() ?? 0) + generator.pick([0, 1_000, 5_000])
    }

    /// Adds a kill, a stop or a cut shortly before or after a text.
    private func disturb(
        _ writer: Int, _ other: Int, around at: Int, _ drawn: inout [(at: Int, host: Int, action: Action)],
        _ generator: inout SeededGenerator
    ) {
        let time = max(0, at + generator.pick([-3_000, -500, -5, 0, 1, 3, 10, 40, 300]))
        let length = generator.pick([1, 500, 2_000, 5_000, 20_000])
        let host = generator.pick([writer, other])
        switch generator.number(in: 0...6) {
        case 0, 1: drawn += [(time, host, .crash(will: generator.oneIn(2))), (time + length, host, .start)]
        case 2: drawn += [(time, host, .quit), (time + length, host, .start)]
        case 3:
            guard writer != other else { return }
            drawn.append((time, writer, .partition(to: other, length)))
            if generator.oneIn(2) { drawn.append((time, other, .partition(to: writer, length))) }
        case 4:
            guard writer != other else { return }
            // Acks are lost, and then one end is killed.
            drawn += [(time, other, .partition(to: writer, length)), (time + length / 2, host, .crash(will: false))]
            drawn.append((time + length, host, .start))
        case 5: drawn += [(time, host, .suspend), (time + length, host, .resume)]
        default: return
        }
    }
}

extension Scenario.Step {
    fileprivate var isInFirstChat: Bool {
        switch action {
        case .join, .leave: false
        case .edit(let chat), .empty(let chat), .open(let chat), .send(let chat, _): chat == 0
        default: true
        }
    }
}

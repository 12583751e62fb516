extension Scenario {
    /// The people of a private chat whose owner removes members.
    package struct RemovalPlan: Sendable {
        /// The host whose user owns the chat at first.
        let owner: Int
        /// The hosts that are no members at first. They come later, with an old invite.
        let outsiders: Set<Int>
        /// The outsiders that the owner takes along when they show.
        let friends: Set<Int>
        /// The time that a daemon takes to write a move on its disk, in milliseconds.
        let diskDelay: Int
    }

    /// How often the owner moves the chat.
    private enum Pace {
        case people
        /// The owner's user moves the chat as fast as the node permits.
        case flood
        /// The owner's program knows no rate.
        case rush
    }

    /// Draws the scenario of a seed in which the owner of a private chat removes members.
    ///
    /// The faults are those of other scenarios. Removed members stay in the old chat, and some lie.
    package init(removalsOf seed: UInt64) {
        var generator = SeededGenerator(seed: seed, purpose: 12)
        let count = generator.pick([3, 3, 4, 4, 5, 6])
        self.init(seed: seed, hosts: count)
        adversary = nil
        network.isByHand = false
        network.reorderingDelay = min(network.reorderingDelay, 200)
        hosts = hosts.map { HostPlan($0, identity: $0.identity, chats: $0.chats.filter { $0 < 2 }) }
        if generator.oneIn(2) { hosts = hosts.map { HostPlan($0, identity: $0.identity, chats: []) } }
        let outsider = HostPlan(hosts[0], identity: count, chats: [])
        hosts += generator.pick([[], [outsider], [outsider, HostPlan(outsider, identity: count + 1, chats: [])]])
        let outsiders = Set(count..<max(count, hosts.count))
        removals = RemovalPlan(
            owner: generator.number(in: 0...count - 1), outsiders: outsiders,
            friends: outsiders.filter { $0 % 2 == 0 },
            diskDelay: generator.pick([0, 0, 0, 1, 50, 500, 3_000]))
        steps = steps.compactMap(\.withoutSnapshots)
        let pace = generator.pick([.people, .people, .people, .people, .people, .people, .flood, .rush] as [Pace])
        let end = pace == .people ? drawRemovals(&generator) : drawMoves(pace, &generator)
        faultsEnd = max(min(faultsEnd, 200_000), end)
        steps = steps.sorted { ($0.at, $0.number) < ($1.at, $1.number) }.filter { $0.at <= faultsEnd }
    }

    /// - Returns: The end of the last step, in milliseconds from the start.
    private mutating func drawRemovals(_ generator: inout SeededGenerator) -> Int {
        guard let plan = removals else { return 0 }
        var drawn: [(at: Int, host: Int, action: Action)] = []
        let members = hosts.indices.filter { !plan.outsiders.contains($0) }
        var (owner, at) = (plan.owner, generator.number(in: 500...6_000))
        for outsider in plan.outsiders.sorted() {
            drawn.append((generator.number(in: 0...20_000), outsider, .join(chat: Simulation.chats.count)))
        }
        for _ in 0..<generator.pick([1, 1, 2, 2, 3, 4]) {
            let other = generator.pick(members)
            disturb(owner, generator.pick(members), around: at, &drawn, &generator)
            if generator.oneIn(5) {
                drawn.append((at, owner, .handOver(host: other)))
                owner = other
            } else {
                drawn.append((at, owner, .remove(host: other)))
            }
            at += generator.pick([1, 20, 200, 1_000, 3_000, 10_000, 30_000]) + generator.number(in: 0...50)
        }
        for _ in 0..<generator.pick([0, 0, 1, 2]) {
            let (one, start) = (generator.number(in: 0...hosts.count - 1), generator.number(in: 1_000...at + 5_000))
            switch generator.number(in: 0...3) {
            case 0: drawn.append((start, one, .leak(host: generator.number(in: 0...hosts.count - 1))))
            case 1:
                drawn.append((start, owner, .disown))
                drawn.append((start + generator.pick([500, 3_000, 8_000]), owner, .confess))
            default:
                drawn.append((start, one, .forge))
                drawn.append((start + generator.pick([500, 3_000, 8_000]), one, .confess))
            }
        }
        for (at, host, action) in drawn {
            steps.append(Step(number: steps.count, at: at, host: host, action: action))
        }
        return max(at, drawn.map(\.at).max() ?? 0) + generator.pick([0, 1_000, 5_000])
    }

    /// Draws many moves in a row. The owner's node runs all the time, because each start gives it another burst.
    ///
    /// - Returns: The end of the last step, in milliseconds from the start.
    private mutating func drawMoves(_ pace: Pace, _ generator: inout SeededGenerator) -> Int {
        guard let owner = removals?.owner else { return 0 }
        steps.removeAll { step in
            switch step.action {
            case .quit, .crash, .start: step.host == owner
            default: false
            }
        }
        var at = generator.number(in: 500...10_000)
        for _ in 0..<(pace == .rush ? 12 : 20) {
            steps.append(Step(number: steps.count, at: at, host: owner, action: pace == .rush ? .rush : .renew))
            at += generator.pick([1, 20, 150, 150]) + generator.number(in: 0...50)
        }
        // Members follow the last four of twelve moves in 40 s.
        return at + (pace == .rush ? 60_000 : 0)
    }

    /// Adds a fault shortly before or after a removal.
    private func disturb(
        _ owner: Int, _ member: Int, around at: Int, _ drawn: inout [(at: Int, host: Int, action: Action)],
        _ generator: inout SeededGenerator
    ) {
        let (before, after) = (
            max(0, at - generator.pick([1, 500, 3_000])), at + generator.pick([1, 5, 50, 300, 2_000])
        )
        switch generator.number(in: 0...7) {
        case 0:
            drawn += [(after, owner, .crash(will: generator.oneIn(2)))]
            drawn += [(after + generator.pick([1, 500, 5_000, 20_000]), owner, .start)]
        case 1:
            drawn += [(after, owner, .quit), (after + generator.pick([1, 500, 5_000]), owner, .start)]
        case 2:
            drawn += [(before, member, .crash(will: generator.oneIn(2)))]
            drawn += [(after + generator.pick([1, 500, 5_000, 20_000]), member, .start)]
        case 3:
            guard owner != member else { return }
            let length = generator.pick([1_500, 5_000, 15_000, 70_000])
            drawn += [(before, owner, .partition(to: member, length))]
            if generator.oneIn(2) { drawn += [(before, member, .partition(to: owner, length))] }
        case 4: drawn += [(before, member, .sleep(generator.pick([2_000, 10_000, 40_000, 130_000])))]
        case 5: drawn += [(before, member, .suspend), (after + generator.pick([500, 5_000, 20_000]), member, .resume)]
        case 6: drawn += [(before, generator.pick([owner, member]), .unplug(generator.pick([1_500, 5_000, 20_000])))]
        default: return
        }
    }
}

extension Scenario.HostPlan {
    init(_ plan: Scenario.HostPlan, identity: Int, chats: [Int]) {
        self.init(
            identity: identity, chats: chats, sendsTyping: plan.sendsTyping, keepsWills: plan.keepsWills,
            hasTwoAddresses: plan.hasTwoAddresses, lateness: plan.lateness)
    }
}

extension Scenario.Step {
    /// The step, unless it is one that hides what the scenario is about. A sleep lasts some minutes at most.
    var withoutSnapshots: Scenario.Step? {
        switch action {
        case .snapshot, .revert, .holdBack, .block, .unblock: nil
        case .sleep(let length): .init(number: number, at: at, host: host, action: .sleep(min(length, 180_000)))
        case .partition(let other, let length):
            .init(number: number, at: at, host: host, action: .partition(to: other, min(length, 60_000)))
        default: self
        }
    }
}

extension Scenario {
    /// Draws the scenario of a seed.
    ///
    /// Each seed mixes only a few kinds of faults and actions. So these meet in ways that an even mix of all kinds
    /// would rarely produce.
    ///
    /// - Parameters:
    ///   - hosts: the number of hosts; if nil, a random number from 2 to 50, most often a small one.
    ///   - attack: the adversary's only attack, in each scenario that allows an adversary; random if nil.
    package init(seed: UInt64, hosts count: Int? = nil, attack: Attack? = nil) {
        var generator = SeededGenerator(seed: seed, purpose: 1)
        let drawn = Scenario.drawSize(&generator)
        let count = count ?? drawn
        let mix = Mix(&generator, hosts: count)
        hosts = Scenario.drawHosts(count, mix, &generator)
        network = Scenario.drawNetwork(mix, &generator)
        self.seed = seed
        faultsEnd = 0
        var duration = generator.number(in: 1_000...(count > 10 ? 8_000 : mix.longest))
        // The run is long enough to renew the keys of a session.
        if count == 2, generator.oneIn(1_500) { duration = generator.number(in: 3_590_000...7_300_000) }
        var stepGenerator = StepGenerator(hosts: hosts, mix: mix, generator: generator, duration: duration)
        stepGenerator.draw()
        steps = stepGenerator.steps
        duration = max(duration, addRarities(until: duration))
        // A step of several minutes extends the faults to its end.
        let ends = steps.map { step in
            switch step.action {
            case .sleep(let length): step.at + length
            case .partition(_, let length), .unplug(let length): step.at + (length < 60_000 ? 0 : length)
            default: step.at
            }
        }
        faultsEnd = max(duration, ends.max() ?? 0)
        addRenames(until: duration)
        adversary = AdversaryPlan(
            seed: seed, attack: attack, hosts: hosts, network: network, faultsEnd: faultsEnd)
    }

    private static func drawSize(_ generator: inout SeededGenerator) -> Int {
        switch generator.pick(weights: [6_900, 2_300, 680, 110, 8, 2]) {
        case 0: 2
        case 1: 3
        case 2: generator.number(in: 4...5)
        case 3: generator.number(in: 6...10)
        case 4: generator.number(in: 11...20)
        default: generator.number(in: 21...50)
        }
    }

    /// Adds renames to one scenario of five. Some follow so fast that peers see only the last name. They use a separate
    /// generator, so they change no other choice of the seed.
    private mutating func addRenames(until end: Int) {
        var generator = SeededGenerator(seed: seed, purpose: 7)
        guard generator.oneIn(5) else { return }
        for host in hosts.indices where generator.oneIn(2) {
            var at = generator.number(in: 0...end)
            for _ in 0..<generator.pick([1, 2, 4, 8]) where at <= end {
                steps.append(Step(number: steps.count, at: at, host: host, action: .rename))
                at += generator.pick([20, 300, 900, 1_100, 2_500]) + generator.number(in: 0...100)
            }
        }
        steps.sort { ($0.at, $0.number) < ($1.at, $1.number) }
    }

    /// Adds one of the rare cases that version 2 handles, to one scenario of eight. They use a separate generator as
    /// well.
    ///
    /// - Returns: The end of the case, in milliseconds from the start.
    private mutating func addRarities(until duration: Int) -> Int {
        var generator = SeededGenerator(seed: seed, purpose: 10)
        guard generator.oneIn(8), hosts.count <= 5 else { return 0 }
        let host = generator.number(in: 0...hosts.count - 1)
        let other = (host + generator.number(in: 1...hosts.count - 1)) % hosts.count
        let at = generator.number(in: 2_000...25_000)
        var drawn: [(at: Int, host: Int, action: Action)] = []
        var end = at
        switch generator.number(in: 0...4) {
        case 0:
            // The path is cut, and both users send messages meanwhile.
            for (one, another) in [(host, other), (other, host)] {
                drawn.append((at, one, .partition(to: another, 10_000)))
                for _ in 0..<3 {
                    drawn.append((at + generator.number(in: 0...10_000), one, .send(chat: 0, size: 100)))
                }
            }
            end = at + 10_000
        case 1:
            // Both hosts get new addresses at nearly the same time.
            let pause = generator.pick([0, 0, 100, 2_000])
            drawn += [(at, host, .move), (at + pause, other, .move)]
            end = at + pause
        case 2:
            // One node crashes and restarts several times.
            for _ in 0..<generator.number(in: 4...12) {
                drawn.append((end, host, .crash(will: false)))
                drawn.append((end + 1, host, .start))
                end += generator.pick([150, 400, 1_200, 3_000])
            }
        case 3:
            drawn.append((at, host, .holdBack(to: other, generator.pick([1_000, 2_900, 20_000, 60_000]))))
            drawn.append((at + 500, host, .edit(chat: 0)))
            end = at + 100_000
        default:
            end = at + generator.pick([100, 2_000, 5_000, 15_000, 70_000])
            drawn += [(at, host, .snapshot), (end, host, .revert)]
        }
        for (at, host, action) in drawn {
            steps.append(Step(number: steps.count, at: at, host: host, action: action))
        }
        steps.sort { ($0.at, $0.number) < ($1.at, $1.number) }
        return end
    }

    /// The kinds of events in one scenario.
    struct Mix {
        let chats: Int
        let longest: Int
        let hasDevices: Bool
        let typing: Bool
        let messages: Bool
        let longMessages: Bool
        let membership: Bool
        let blocking: Bool
        let presence: Bool
        let crashes: Bool
        let quits: Bool
        let suspension: Bool
        let pauses: Bool
        let sleep: Bool
        let unplugging: Bool
        let partitions: Bool
        let clogging: Bool
        let moves: Bool
        let flapping: Bool
        let loss: Bool
        let bursts: Bool
        let duplication: Bool
        let reordering: Bool
        let corruption: Bool
        let replay: Bool
        let lateness: Bool

        init(_ generator: inout SeededGenerator, hosts: Int) {
            chats = generator.pick([1, 1, 1, 2, 3])
            longest = generator.pick([3_000, 4_000, 6_000, 8_000, 15_000])
            hasDevices = generator.oneIn(6)
            typing = !generator.oneIn(6)
            messages = !generator.oneIn(3)
            longMessages = generator.oneIn(hosts > 10 ? 40 : 12)
            membership = generator.oneIn(4)
            blocking = generator.oneIn(6)
            presence = generator.oneIn(4)
            crashes = generator.oneIn(3)
            quits = generator.oneIn(4)
            suspension = generator.oneIn(5)
            pauses = generator.oneIn(4)
            sleep = generator.oneIn(12) && hosts <= 3
            unplugging = generator.oneIn(4)
            partitions = generator.oneIn(4)
            clogging = generator.oneIn(5)
            moves = generator.oneIn(5)
            flapping = generator.oneIn(4)
            loss = generator.oneIn(2)
            bursts = generator.oneIn(6)
            duplication = generator.oneIn(3)
            reordering = generator.oneIn(3)
            corruption = generator.oneIn(5)
            replay = generator.oneIn(4)
            lateness = generator.oneIn(4)
        }
    }

    private static func drawHosts(_ count: Int, _ mix: Mix, _ generator: inout SeededGenerator) -> [HostPlan] {
        var identities = Array(0..<count)
        for index in identities.indices.dropLast() {
            identities.swapAt(index, generator.number(in: index...count - 1))
        }
        return (0..<count).map { index in
            // The host is the second device of a person. Two hosts alone are never devices of one person.
            if mix.hasDevices, count > 2, index > 0, generator.oneIn(3) { identities[index] = identities[index - 1] }
            let chats = (0..<mix.chats).filter { $0 == 0 || generator.oneIn(2) }
            return HostPlan(
                identity: identities[index], chats: chats, sendsTyping: !generator.oneIn(20),
                keepsWills: !generator.oneIn(3), hasTwoAddresses: generator.oneIn(4),
                lateness: mix.lateness ? generator.pick([1_000, 20_000, 300_000]) : 0)
        }
    }

    private static func drawNetwork(_ mix: Mix, _ generator: inout SeededGenerator) -> NetworkPlan {
        var network = NetworkPlan()
        network.delay = generator.pick([100...400, 1_000...5_000, 5_000...60_000])
        if mix.loss { network.loss = generator.pick([20, 100, 100, 300, 500]) }
        if mix.bursts { network.bursts = generator.pick([10, 22, 60]) }
        network.burstLength = generator.pick([3, 5, 12])
        if mix.duplication { network.duplication = generator.pick([20, 100, 400]) }
        if mix.reordering { network.reordering = generator.pick([20, 100, 250]) }
        network.reorderingDelay = generator.pick([10, 200, 200, 3_000])
        if mix.corruption { network.corruption = generator.pick([5, 50]) }
        if mix.replay { network.replay = generator.pick([10, 100]) }
        network.discoveryDelay = generator.pick([300, 1_000, 3_000])
        network.isByHand = generator.oneIn(15)
        network.isFoundAnew = generator.oneIn(2)
        return network
    }
}

/// Draws the actions of people and machines, and the faults of the network.
struct StepGenerator {
    let hosts: [Scenario.HostPlan]
    let mix: Scenario.Mix
    var generator: SeededGenerator
    let duration: Int
    var steps: [Scenario.Step] = []
    private var drawn: [(at: Int, host: Int, action: Scenario.Action)] = []

    init(hosts: [Scenario.HostPlan], mix: Scenario.Mix, generator: SeededGenerator, duration: Int) {
        self.hosts = hosts
        self.mix = mix
        self.generator = generator
        self.duration = duration
    }

    mutating func draw() {
        for host in hosts.indices {
            people(host)
            machine(host)
            network(host)
        }
        sleep()
        let sorted = drawn.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        steps = sorted.enumerated().map { number, entry in
            Scenario.Step(
                number: number, at: entry.element.at, host: entry.element.host, action: entry.element.action)
        }
    }

    private mutating func add(_ action: Scenario.Action, at: Int, on host: Int) {
        drawn.append((at: at, host: host, action: action))
    }

    private mutating func moment() -> Int { generator.number(in: 0...duration) }

    private mutating func other(than host: Int) -> Int {
        let other = generator.number(in: 0...hosts.count - 2)
        return other < host ? other : other + 1
    }

    // MARK: People

    private mutating func people(_ host: Int) {
        var at = generator.number(in: 0...1_500)
        // People stop acting after 30 s, also in a scenario of hours.
        while at < min(duration, 30_000) {
            let chat = generator.number(in: 0...mix.chats - 1)
            if mix.chats > 1, generator.oneIn(3) { add(.open(chat: chat), at: at, on: host) }
            if mix.typing { at = compose(in: chat, at: at, host) }
            if mix.messages, !generator.oneIn(4) {
                add(.send(chat: chat, size: size()), at: at, on: host)
            } else if generator.oneIn(2) {
                add(.empty(chat: chat), at: at, on: host)
            }
            at += generator.pick([1, 50, 400, 1_000, 3_500]) + generator.number(in: 0...500)
        }
        if mix.presence, generator.oneIn(2) { both(.goAway, .comeBack, host) }
        if mix.membership, generator.oneIn(2) {
            let chat = generator.number(in: 0...mix.chats - 1)
            if hosts[host].chats.contains(chat) {
                both(.leave(chat: chat), .join(chat: chat), host)
            } else {
                both(.join(chat: chat), .leave(chat: chat), host)
            }
        }
        if mix.blocking, generator.oneIn(3) {
            let other = other(than: host)
            both(.block(host: other), .unblock(host: other), host)
        }
    }

    /// Adds some edits, a tenth to half a second apart.
    private mutating func compose(in chat: Int, at start: Int, _ host: Int) -> Int {
        var at = start
        let pace = generator.pick([60, 200, 500])
        for _ in 0..<generator.pick([1, 3, 8, 15]) where at < duration {
            add(.edit(chat: chat), at: at, on: host)
            at += generator.number(in: pace / 2...pace)
        }
        return at
    }

    private mutating func size() -> Int {
        guard mix.longMessages else { return generator.number(in: 12...200) }
        return generator.pick([20, 20, 1_163, 1_164, 5_000, 5_000, 65_536])
    }

    /// Adds an action, and mostly its opposite some time later.
    private mutating func both(_ first: Scenario.Action, _ second: Scenario.Action, _ host: Int) {
        let at = moment()
        add(first, at: at, on: host)
        if !generator.oneIn(4) { add(second, at: at + generator.pick([20, 300, 2_000, 6_000]), on: host) }
    }

    // MARK: Machines

    private mutating func machine(_ host: Int) {
        if mix.crashes, generator.oneIn(2) {
            let at = moment()
            add(.crash(will: !generator.oneIn(3)), at: at, on: host)
            if !generator.oneIn(4) { add(.start, at: at + generator.pick([1, 100, 1_500, 4_000]), on: host) }
        }
        if mix.quits, generator.oneIn(2) {
            let at = moment()
            add(.quit, at: at, on: host)
            if !generator.oneIn(3) { add(.start, at: at + generator.pick([1, 60, 500, 4_000]), on: host) }
        }
        if mix.suspension, generator.oneIn(2) { both(.suspend, .resume, host) }
        if mix.pauses, generator.oneIn(2) {
            add(.pause(generator.pick([100, 400, 700, 2_000, 3_500, 10_000])), at: moment(), on: host)
        }
    }

    /// Adds a sleep of one machine, or of all machines at once for hours. With several machines awake, a sleep lasts an
    /// hour at most: a longer run would consist of their heartbeats.
    private mutating func sleep() {
        guard mix.sleep else { return }
        let at = moment()
        let hours = generator.number(in: 1...9) * 3_600_000
        let isForAll = !generator.oneIn(3)
        let long = isForAll || hosts.count == 2 ? hours : 3_600_000
        let length = generator.pick([5_000, 60_000, 600_000, long, long])
        for host in isForAll && length == long ? Array(hosts.indices) : [generator.number(in: 0...hosts.count - 1)] {
            add(.sleep(length - generator.number(in: 0...4_000)), at: at, on: host)
        }
    }

    // MARK: SimulatedNetwork

    private mutating func network(_ host: Int) {
        if mix.unplugging, generator.oneIn(2) {
            let length = generator.oneIn(12) ? 75_000 : generator.pick([300, 1_500, 2_800, 4_000, 12_000])
            add(.unplug(length), at: moment(), on: host)
        }
        if mix.partitions, generator.oneIn(2) {
            let (other, at) = (other(than: host), moment())
            let isLong = generator.oneIn(12)
            let length = isLong ? generator.pick([60_000, 120_000]) : generator.pick([1_500, 3_000, 5_000, 15_000])
            add(.partition(to: other, length), at: at, on: host)
            if generator.oneIn(2) { add(.partition(to: host, length), at: at, on: other) }
        }
        if mix.clogging, generator.oneIn(2) {
            add(.clog(to: other(than: host), generator.pick([300, 1_000, 2_500, 5_000])), at: moment(), on: host)
        }
        if mix.moves, generator.oneIn(2) {
            let action: Scenario.Action = generator.oneIn(4) ? .swapAddresses(with: other(than: host)) : .move
            add(action, at: moment(), on: host)
        }
        if mix.flapping, generator.oneIn(2) {
            add(.flap(generator.pick([50, 1_000, 5_000]), host: other(than: host)), at: moment(), on: host)
            if generator.oneIn(2) { add(.doubt(host: other(than: host)), at: moment(), on: host) }
        }
    }
}

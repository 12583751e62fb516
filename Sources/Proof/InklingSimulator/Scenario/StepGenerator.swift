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

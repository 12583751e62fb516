import InklingCore

/// The copies of one datagram that the network delivers, each with its delay.
struct Transit {
    var copies: [(delay: Duration, bytes: [UInt8])] = []
}

/// The virtual LAN: one directed path for each pair of hosts.
struct SimulatedNetwork {
    private struct Path {
        var datagrams: UInt64 = 0
        var burstLeft = 0
        var loss: Int
        var cutUntil = Instant.zero
        var cloggedUntil = Instant.zero
        /// The time until which the effects of a fault on this path may last.
        var faultyUntil = Instant.zero
    }

    private let seed: UInt64
    private let count: Int
    private let plan: Scenario.NetworkPlan
    private var paths: [Path]
    /// The number of datagrams that each fault affected.
    private(set) var faults: [Coverage.NetworkFault: Int] = [:]

    init(_ scenario: Scenario, isUniform: Bool) {
        seed = scenario.seed
        count = scenario.hosts.count
        plan = scenario.network
        var generator = SeededGenerator(seed: seed, purpose: 2)
        paths = []
        for _ in 0..<count * count {
            paths.append(Path(loss: isUniform ? plan.loss : generator.number(in: 0...plan.loss)))
        }
    }

    mutating func cut(from: Int, to: Int, until: Instant) {
        let path = from * count + to
        paths[path].cutUntil = max(paths[path].cutUntil, until)
    }

    func isCut(from: Int, to: Int, _ now: Instant) -> Bool { paths[from * count + to].cutUntil > now }

    mutating func clog(from: Int, to: Int, until: Instant) {
        let path = from * count + to
        paths[path].cloggedUntil = max(paths[path].cloggedUntil, until)
    }

    /// Returns the end of the last fault on the paths between two hosts, past or future.
    func faultEnd(between one: Int, _ other: Int) -> Instant {
        let (there, back) = (paths[one * count + other], paths[other * count + one])
        return max(
            max(there.faultyUntil, there.cutUntil, there.cloggedUntil),
            max(back.faultyUntil, back.cutUntil, back.cloggedUntil))
    }

    mutating func repair(_ now: Instant) {
        for path in paths.indices {
            paths[path].cutUntil = min(paths[path].cutUntil, now)
            paths[path].cloggedUntil = min(paths[path].cloggedUntil, now)
            paths[path].burstLeft = 0
        }
    }

    /// Sends one datagram along a path. Each path draws its own random numbers. So a scenario with fewer datagrams
    /// elsewhere leaves this path unchanged.
    mutating func send(_ bytes: [UInt8], from: Int, to: Int, hasFaults: Bool, _ now: Instant) -> Transit {
        let index = from * count + to
        paths[index].datagrams += 1
        let purpose = UInt64(index + 16) << 32 | paths[index].datagrams
        var generator = SeededGenerator(seed: seed, purpose: purpose)
        var transit = Transit()
        guard paths[index].cutUntil <= now else {
            faults[.cut, default: 0] += 1
            return transit
        }
        var delay = Duration.microseconds(generator.number(in: plan.delay))
        guard hasFaults else {
            transit.copies.append((delay, bytes))
            return transit
        }
        if isLost(&generator, index) {
            paths[index].faultyUntil = max(paths[index].faultyUntil, now)
            return transit
        }
        if paths[index].cloggedUntil > now {
            faults[.clogged, default: 0] += 1
            delay = max(delay, paths[index].cloggedUntil - now)
        }
        if generator.happens(perMille: plan.reordering) {
            faults[.reordered, default: 0] += 1
            delay += .milliseconds(generator.number(in: 1...plan.reorderingDelay))
            paths[index].faultyUntil = max(paths[index].faultyUntil, now + delay)
        }
        if generator.happens(perMille: plan.corruption) {
            faults[.damaged, default: 0] += 1
            paths[index].faultyUntil = max(paths[index].faultyUntil, now)
            transit.copies.append((delay, damaged(bytes, &generator)))
            return transit
        }
        transit.copies.append((delay, bytes))
        if generator.happens(perMille: plan.duplication) {
            faults[.doubled, default: 0] += 1
            transit.copies.append((delay + .microseconds(generator.number(in: 0...50_000)), bytes))
        }
        return transit
    }

    private mutating func isLost(_ generator: inout SeededGenerator, _ index: Int) -> Bool {
        if paths[index].burstLeft > 0 || generator.happens(perMille: plan.bursts) {
            if paths[index].burstLeft == 0 { paths[index].burstLeft = plan.burstLength }
            paths[index].burstLeft -= 1
            faults[.lostInBurst, default: 0] += 1
            return true
        }
        guard generator.happens(perMille: paths[index].loss) else { return false }
        faults[.lost, default: 0] += 1
        return true
    }

    private func damaged(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        switch generator.number(in: 0...5) {
        case 0: bytes.removeLast(generator.number(in: 1...bytes.count))
        case 1: bytes.append(UInt8(truncatingIfNeeded: generator.next()))
        default:
            let place = generator.number(in: 0...bytes.count - 1)
            bytes[place] ^= 1 << UInt8(generator.number(in: 0...7))
        }
        return bytes
    }
}

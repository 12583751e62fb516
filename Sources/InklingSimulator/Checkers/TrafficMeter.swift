import InklingCore
import InklingWire

/// What each node sends in a second, held against what its links allow it, and how large its tables grow.
struct TrafficMeter {
    private struct Second {
        var since = Instant.zero
        var initiations = 0
        var counters: [DatagramKind: Int] = [:]
        var mostLinks = 0
        var mostSessions = 0
    }

    private var seconds: [Second]
    /// The most datagrams that a host sent in a second.
    private(set) var busiest = 0

    init(hosts: Int) { seconds = Array(repeating: Second(), count: hosts) }

    mutating func sent(by host: Int, _ kind: DatagramKind) {
        if kind == .initiation { seconds[host].initiations += 1 }
    }

    mutating func restarted(_ host: Int, _ now: Instant) { seconds[host] = Second(since: now) }

    /// Called at each tick: every 250 ms, or 2 s in the hours of a long scenario.
    mutating func check(_ host: SimulatedHost, _ now: Instant, _ checker: inout StateChecker) {
        guard let endpoint = host.node?.endpoint else { return }
        let sizes = endpoint.tableSizes
        checkTables(sizes, of: host, now, &checker)
        var second = seconds[host.index]
        second.mostLinks = max(second.mostLinks, sizes.links)
        second.mostSessions = max(second.mostSessions, sizes.sessions)
        guard now - second.since >= .seconds(1) else {
            seconds[host.index] = second
            return
        }
        let length = now - second.since
        /// So many a second, and so many besides at the two ends of the time.
        func budget(_ rate: Int, _ besides: Int) -> Int {
            Int(Int64(rate) * length.nanoseconds / 1_000_000_000) + 1 + besides
        }
        let counters = endpoint.counters.sent
        func sent(_ kind: DatagramKind) -> Int { (counters[kind] ?? 0) - (second.counters[kind] ?? 0) }
        let (links, sessions) = (second.mostLinks + 1, second.mostSessions + 1)
        // Those to all others may have come and gone between two ticks; where many are awaited and few were seen, the
        // few count, more amply.
        let (mostLinks, mostSessions) = (max(links, checker.mostLinks + 1), max(sessions, checker.mostLinks + 1))
        let ample = Int(length.nanoseconds / 1_000_000_000) + 1
        // Heartbeats: 2 a second while typing, and one more when a status changes. Typing: at most 2 starts a second
        // and as many stops, one more as the second ends, each with two copies.
        let budgets = [
            (DatagramKind.heartbeat, min(mostLinks * budget(2, 1), links * 5 * ample)),
            (DatagramKind.typing, min(mostLinks * budget(12, 6), links * 18 * ample)),
            // Every 250 ms until the peer's has come, and answers; pings go to all addresses that are known.
            (DatagramKind.hello, min(mostSessions * budget(9, 4), sessions * 18 * ample)),
            (DatagramKind.ping, min(mostLinks * budget(8, 2) * (1 + Limits.addressesPerInstance), links * 192 * ample)),
            (DatagramKind.message, links * budget(Limits.recordsPerSecondPerLink, Limits.recordBurstPerLink)),
        ]
        for (kind, budget) in budgets where sent(kind) > budget {
            checker.report(.traffic, "host \(host.index) sent \(sent(kind)) of \(kind), \(links) links", now)
        }
        if second.initiations > budget(Limits.initiationsSentPerSecond, Limits.initiationsSentPerSecond) {
            checker.report(.traffic, "host \(host.index) sent \(second.initiations) initiations", now)
        }
        busiest = max(busiest, counters.values.reduce(0, +) - second.counters.values.reduce(0, +))
        seconds[host.index] = Second(
            since: now, counters: counters, mostLinks: sizes.links, mostSessions: sizes.sessions)
    }

    private func checkTables(
        _ sizes: (links: Int, sessions: Int, instances: Int, messages: Int), of host: SimulatedHost, _ now: Instant,
        _ checker: inout StateChecker
    ) {
        // A peer that restarts again and again is a link for each of its starts until silence ends the old one.
        let links = min(Limits.linksPerNode, 4 * checker.mostLinks + 4)
        let begun = checker.isAttacked ? 2 * Limits.unconfirmedSessions : 8 * links
        let sessions = sizes.links * (1 + Limits.supersededSessions) + min(2 * Limits.unconfirmedSessions, begun)
        if sizes.links > links || sizes.sessions > sessions {
            checker.report(.tableGrowth, "host \(host.index): \(sizes)", now)
        }
    }
}

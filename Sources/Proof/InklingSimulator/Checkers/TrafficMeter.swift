import InklingCore
import InklingWire

/// Measures each node's datagrams in a second against the limits of its links, and checks the sizes of its tables.
struct TrafficMeter {
    private struct Second {
        var since = Instant.zero
        var initiations = 0
        var counters: [DatagramKind: Int] = [:]
        var mostLinks = 0
        /// The links that an owner's node ended, each after a successor.
        var endedLinks = 0
    }

    private var seconds: [Second]
    /// The most datagrams that a host sent in a second.
    private(set) var busiest = 0

    init(hosts: Int) { seconds = Array(repeating: Second(), count: hosts) }

    mutating func sent(by host: Int, _ kind: DatagramKind) {
        if kind == .initiation { seconds[host].initiations += 1 }
    }

    /// Records that a member took a successor. The owner's node then ends the link, mostly between two ticks (M-65).
    mutating func gaveSuccessor(_ host: Int) { seconds[host].endedLinks += 1 }

    mutating func restarted(_ host: Int, _ now: Instant) { seconds[host] = Second(since: now) }

    /// Called at each tick: every 250 ms, or 2 s in the hours of a long scenario.
    mutating func check(_ host: SimulatedHost, _ now: Instant, _ checker: inout StateChecker) {
        guard let endpoint = host.node?.endpoint else { return }
        let sizes = endpoint.tableSizes
        checkTables(sizes, of: host, now, &checker)
        var second = seconds[host.index]
        second.mostLinks = max(second.mostLinks, sizes.links)
        guard now - second.since >= .seconds(1) else {
            seconds[host.index] = second
            return
        }
        let length = now - second.since
        /// Returns the budget for the measured time: a rate in a second, plus a fixed number at its ends.
        func budget(_ rate: Int, _ besides: Int) -> Int {
            Int(Int64(rate) * length.nanoseconds / 1_000_000_000) + 1 + besides
        }
        let counters = endpoint.counters.sent.counts
        func sent(_ kind: DatagramKind) -> Int { (counters[kind] ?? 0) - (second.counters[kind] ?? 0) }
        let links = second.mostLinks + second.endedLinks + 1
        // Links to all others may have come and gone between two ticks. If the meter saw only few links, a wider limit
        // applies to these few.
        let mostLinks = max(links, checker.mostLinks + 1)
        let ample = Int(length.nanoseconds / 1_000_000_000) + 1
        // Heartbeats: 2 a second while typing, and one more when a status changes. A link sends some more each time
        // when it comes up, gets its name or goes down. Typing: at most 2 starts and 2 stops a second, one more as the
        // second ends, each with two copies.
        let budgets = [
            (DatagramKind.heartbeat, min(mostLinks * budget(2, 1), links * 12 * ample)),
            (DatagramKind.typing, min(mostLinks * budget(12, 6), links * 18 * ample)),
            // Pings: every 125 ms to all known addresses while a link is suspect, and every 250 ms on a session that
            // joins. A down link that receives a datagram sends one every 125 ms.
            (
                DatagramKind.ping,
                min(mostLinks * budget(8, 2) * (1 + Limits.candidatesPerInstance), links * 192 * ample)
            ),
            (DatagramKind.record, links * budget(Limits.recordsPerLink, Limits.recordsPerLinkBurst)),
        ]
        for (kind, budget) in budgets where sent(kind) > budget {
            checker.report(.traffic, "host \(host.index) sent \(sent(kind)) of \(kind), \(links) links", now)
        }
        if second.initiations > budget(Limits.initiationsSent, Limits.initiationsSent) {
            checker.report(.traffic, "host \(host.index) sent \(second.initiations) initiations", now)
        }
        busiest = max(busiest, counters.values.reduce(0, +) - second.counters.values.reduce(0, +))
        seconds[host.index] = Second(
            since: now, counters: counters, mostLinks: sizes.links)
    }

    private func checkTables(
        _ sizes: (links: Int, sessions: Int, instances: Int, messages: Int), of host: SimulatedHost, _ now: Instant,
        _ checker: inout StateChecker
    ) {
        // A peer that restarts often has one link for each start. Down links count too (L-53).
        let links = min(Limits.links, Limits.linksPerKey * (checker.mostLinks + 1))
        let begun = checker.isAttacked ? 2 * Limits.unconfirmedSessions : 8 * links
        let sessions = sizes.links * Limits.sessionsPerLink + min(2 * Limits.unconfirmedSessions, begun)
        if sizes.links > links || sizes.sessions > sessions {
            checker.report(.tableGrowth, "host \(host.index): \(sizes)", now)
        }
    }
}

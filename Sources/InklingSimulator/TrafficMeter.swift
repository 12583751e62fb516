import InklingCore
import InklingWire

/// What each node sends in a second, held against what its links allow it, and how large its tables grow.
struct TrafficMeter {
    private struct Second {
        var since = Instant.zero
        var initiations = 0
        var counters: [String: Int] = [:]
        var mostLinks = 0
        var mostSessions = 0
    }

    private var seconds: [Second]
    /// The most datagrams that a host sent in a second.
    private(set) var busiest = 0

    init(hosts: Int) { seconds = Array(repeating: Second(), count: hosts) }

    mutating func sent(by host: Int, _ bytes: [UInt8]) {
        if bytes.first.map({ $0 & 0xF == 1 }) ?? false { seconds[host].initiations += 1 }
    }

    mutating func restarted(_ host: Int, _ now: Instant) { seconds[host] = Second(since: now) }

    /// Called at least every 250 ms.
    mutating func check(_ host: SimulatedHost, _ now: Instant, _ witness: inout Witness) {
        guard let endpoint = host.endpoint else { return }
        let sizes = endpoint.tableSizes
        checkTables(sizes, of: host, now, &witness)
        var second = seconds[host.index]
        second.mostLinks = max(second.mostLinks, sizes.links)
        second.mostSessions = max(second.mostSessions, sizes.sessions)
        guard now - second.since >= .seconds(1) else {
            seconds[host.index] = second
            return
        }
        let length = Int((now - second.since).nanoseconds / 1_000_000_000) + 1
        let counters = endpoint.counters.sent
        func sent(_ kind: String) -> Int { (counters[kind] ?? 0) - (second.counters[kind] ?? 0) }
        let (links, sessions) = (second.mostLinks + 1, second.mostSessions + 1)
        // Heartbeats: 2 a second while typing, and one more when a status changes. Typing: at most 2 starts a second
        // and as many stops, one more as the second ends, each with two copies.
        let budgets = [
            ("heartbeat", links * 5 * length), ("typing", links * 18 * length),
            ("hello", sessions * 18 * length), ("ping", links * 12 * 16 * length),
            ("message", links * (Limits.recordsPerSecondPerLink + Limits.recordBurstPerLink) * length),
        ]
        for (kind, budget) in budgets where sent(kind) > budget {
            witness.report(.traffic, "host \(host.index) sent \(sent(kind)) of \(kind), \(links) links", now)
        }
        if second.initiations > Limits.initiationsSentPerSecond * (length + 1) {
            witness.report(.traffic, "host \(host.index) sent \(second.initiations) initiations", now)
        }
        busiest = max(busiest, counters.values.reduce(0, +) - second.counters.values.reduce(0, +))
        seconds[host.index] = Second(
            since: now, counters: counters, mostLinks: sizes.links, mostSessions: sizes.sessions)
    }

    private func checkTables(
        _ sizes: (links: Int, sessions: Int, instances: Int, messages: Int), of host: SimulatedHost, _ now: Instant,
        _ witness: inout Witness
    ) {
        let sessions = sizes.links * (1 + Limits.supersededSessions) + 2 * Limits.unconfirmedSessions
        if sizes.links > Limits.linksPerNode || sizes.sessions > sessions {
            witness.report(.tableGrowth, "host \(host.index): \(sizes)", now)
        }
    }
}

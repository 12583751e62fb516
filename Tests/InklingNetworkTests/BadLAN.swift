import Foundation

/// Hosts as in ``Network``, on a switch of this process that can impair their traffic.
struct BadLAN: Sendable {
    let hosts: [Host]
    let `switch`: UserSpaceSwitch

    /// Brings the hosts up, calls `body` with them, and takes them down. The switch begins without faults.
    ///
    /// `INKLING_SWITCH_SEED` repeats the faults of another run, as long as the same frames arrive in the same order.
    static func with(_ options: Network.Options, _ body: (BadLAN) async throws -> Void) async throws {
        let seed = ProcessInfo.processInfo.environment["INKLING_SWITCH_SEED"].flatMap { UInt64($0) } ?? 1
        figure("the switch draws from INKLING_SWITCH_SEED=\(seed)")
        let ether = try UserSpaceSwitch(seed: seed)
        defer { ether.end() }
        try await Network.withHosts(options) { host in
            try ether.attach(host)
        } body: { hosts in
            // A new daemon first claims the name of its host, which takes a second.
            if options.discovery { try await pause(2) }
            do {
                try await body(BadLAN(hosts: hosts, switch: ether))
            } catch {
                figure("it failed when the switch had seen \(ether.counts().text)")
                throw error
            }
        }
    }

    static func with(hosts: Int, _ body: (BadLAN) async throws -> Void) async throws {
        try await with(Network.Options(hosts: hosts), body)
    }

    subscript(index: Int) -> Host { hosts[index] }
}

/// The time between two instants.
struct Interval: Sendable {
    let start, end: Double

    var length: Double { max(end - start, 0) }

    /// Returns the time in intervals of both lists. The intervals of one list must not overlap.
    static func shared(_ left: [Interval], _ right: [Interval]) -> Double {
        left.reduce(0) { sum, one in
            right.reduce(sum) { $0 + Interval(start: max(one.start, $1.start), end: min(one.end, $1.end)).length }
        }
    }

    static func total(_ intervals: [Interval]) -> Double { intervals.reduce(0) { $0 + $1.length } }
}

extension NodeProcess {
    /// Returns when this node showed the peer as typing in any of its chats. The last interval may be open until `end`.
    func typingShown(of peer: NodeProcess, from mark: Int = 0, until end: Double) -> [Interval] {
        var intervals: [Interval] = []
        var start: Double?
        for event in events.dropFirst(mark) {
            guard let typists = event.typists, event.at <= end else { continue }
            if typists.contains(peer.name) {
                start = start ?? event.at
            } else if let begun = start {
                intervals.append(Interval(start: begun, end: event.at))
                start = nil
            }
        }
        if let start { intervals.append(Interval(start: start, end: end)) }
        return intervals
    }

    func offlineEvents(from mark: Int) -> [Event] {
        events.dropFirst(mark).filter { $0.on == "peer" && $0.presence == "offline" }
    }

    func messages(from peer: NodeProcess, after mark: Int = 0) -> [Event] {
        events.dropFirst(mark).filter { $0.on == "message" && $0.from?.name == peer.name }
    }
}

import InklingCore
import InklingWire

/// Checks a node's limits against an adversary: datagrams to the adversary, and the state and reports that the
/// adversary causes.
struct LimitChecker {
    /// A token bucket that counts only what an observer outside the node can see.
    private struct Bucket {
        /// The tokens, in billionths of one.
        var level: Int64
        var updated: Instant

        /// Takes one token.
        ///
        /// - Returns: Whether the limit permits it.
        mutating func take(_ rate: Int, _ burst: Int, _ now: Instant) -> Bool {
            level = min(Int64(burst) * 1_000_000_000, level + Int64(rate) * (now - updated).nanoseconds)
            updated = now
            level -= 1_000_000_000
            return level >= 0
        }
    }

    /// The kinds of datagrams and reports that have a separate limit.
    private enum Count: Hashable {
        case answersToStrangers, retries, tells
        case initiations(Address)
        /// The pings to an address on one session. The adversary's links have one session each.
        case pings(Address, session: UInt32)
        case acks(Address)
        case answersToCookies(Address)
        case answersToOtherUsers
        case lists(ChatID)
        case presences(ChatID)
        case messages(PublicKey)

        var isReport: Bool {
            switch self {
            case .lists, .presences: true
            case .answersToStrangers, .retries, .tells, .initiations, .pings, .acks, .answersToCookies,
                .answersToOtherUsers,
                .messages:
                false
            }
        }
    }

    private struct Key: Hashable {
        let host: Int
        let count: Count
    }

    private var buckets: [Key: Bucket] = [:]
    /// The responses that a node sent, by their ephemeral keys. A repeated response does not count again.
    private var responses: Set<[UInt8]> = []
    /// The time of the last presence report of each person.
    private var told: [Key: [PublicKey: Instant]] = [:]

    // MARK: Datagrams

    /// Checks a datagram that a node sends to an address that belongs to no host.
    ///
    /// - Parameters:
    ///   - hadCookie: Whether the datagram answers an initiation with a cookie.
    ///   - isKnown: Whether a link of the node may lead to the address.
    ///   - hearsAll: Whether the node hears all links of the adversary, and got no hint that a peer may be gone.
    mutating func sent(
        _ bytes: [UInt8], _ kind: DatagramKind, by host: SimulatedHost, to address: Address, hadCookie: Bool,
        isKnown: Bool, hearsAll: Bool, _ now: Instant
    ) -> String? {
        switch kind {
        case .response:
            guard responses.insert(Array(bytes.suffix(16))).inserted else { return nil }
            let source: Count = host.isOwn(address) ? .answersToOtherUsers : .answersToCookies(address.host)
            if hadCookie, !take(source, 5, host.isOwn(address) ? Limits.linksOfOtherUsers : 20, host, now) {
                return "answers to the cookies of one source (L-10)"
            }
            // A node may count its seconds from another instant. So one second here may contain up to twice the rate.
            let rate = Limits.answersToUnknown
            if !isKnown, !take(.answersToStrangers, rate, rate, host, now) { return "answers to strangers (L-10)" }
        case .retry:
            let rate = Limits.retries + Limits.retriesToKnown
            if !take(.retries, rate, rate, host, now) { return "retries (L-9)" }
        case .tell:
            if !take(.tells, Limits.asksAnswered, Limits.asksAnswered, host, now) {
                return "answers to asks (D-13)"
            }
        case .initiation:
            let (rate, burst) = (Limits.initiationsToSilent, Limits.initiationsToSilentBurst)
            if !take(.initiations(address), rate, burst, host, now) { return "initiations to one address (L-54)" }
        case .ping:
            // A node sends a round of pings when its link falls silent, and pings for hints (L-26, L-29). Each link has
            // its own, also where the instances of several links list one address.
            let isSilent = address.ipv4.map { (0x0A00_0080...0x0A00_00BF).contains($0) } ?? false
            if isSilent, hearsAll { return "a ping of a heard link to another address (L-110)" }
            let session = SealedHeader(bytes).index
            if isSilent, !take(.pings(address, session: session), 1, 12, host, now) {
                return "pings of one link to one address (L-26)"
            }
        case .ack:
            let (rate, burst) = (Limits.datagramsPerLink, Limits.datagramsPerLinkBurst)
            if !take(.acks(address), rate, burst, host, now) { return "acks to one address (L-25)" }
        case .ask, .heartbeat, .typing, .record, .forward, .pong, .bye: break
        }
        return nil
    }

    // MARK: Reports

    /// Checks a report of who is typing.
    mutating func listed(in chat: ChatID, by host: SimulatedHost, _ now: Instant) -> String? {
        take(.lists(chat), Limits.lists, Limits.lists + 1, host, now)
            ? nil : "lists of typists (T-22)"
    }

    /// Checks a report of a person's presence.
    mutating func told(of key: PublicKey, in chat: ChatID, by host: SimulatedHost, _ now: Instant) -> String? {
        let id = Key(host: host.index, count: .presences(chat))
        let before = told[id]?[key]
        told[id, default: [:]][key] = now
        guard let before, now - before < Duration.seconds(1) else { return nil }
        let rate = Limits.presences
        return take(.presences(chat), rate, rate + 1, host, now) ? nil : "presences (T-22)"
    }

    /// Returns whether a change of a person's presence may still wait (T-26). The node then reported the person less
    /// than a second ago, and has used up its budget for such repetitions.
    func mayHold(_ key: PublicKey, in chat: ChatID, by host: SimulatedHost, delay: Duration, _ now: Instant) -> Bool {
        let id = Key(host: host.index, count: .presences(chat))
        guard let last = told[id]?[key], now - last < Duration.seconds(1) + delay, var bucket = buckets[id] else {
            return false
        }
        // The bucket here has one token more than the node's. The next report takes a second one.
        return
            !(bucket.take(Limits.presences, Limits.presences + 1, now)
            && bucket.take(Limits.presences, Limits.presences + 1, now))
    }

    /// Checks a report of a message from the adversary.
    mutating func message(from key: PublicKey, by host: SimulatedHost, _ now: Instant) -> String? {
        let (rate, burst) = (Limits.datagramsPerLink, Limits.datagramsPerLinkBurst)
        return take(.messages(key), rate, burst, host, now) ? nil : "messages of one link (L-25)"
    }

    // MARK: Tables

    /// Checks the links that a node holds for people, by the addresses of the links.
    func tables(of host: SimulatedHost, in chat: ChatID, _ adversary: Adversary) -> String? {
        guard let node = host.node else { return nil }
        if node.untakenBytes > Limits.textsHeld { return "\(node.untakenBytes) bytes of text that nobody took (M-20)" }
        let strange = node.untakenBytesOfAuthors.filter { adversary.holds($0.key) }.values.reduce(0, +)
        let share = Limits.shareOfStrangers
        if strange > Limits.textsHeld / share.denominator * share.numerator {
            return "\(strange) bytes of text of strangers (M-42)"
        }
        let sizes = node.endpoint.tableSizes
        if sizes.links > Limits.links { return "\(sizes.links) links (L-39)" }
        guard sizes.links > Limits.linksPerKey else { return nil }
        var sources: [Address: Int] = [:]
        var otherUsers = 0
        for person in node.endpoint.present(in: chat) {
            if person.addresses.count > Limits.linksPerKey { return "\(person.addresses.count) links of a key (L-53)" }
            guard adversary.holds(person.person.key) else { continue }
            for address in person.addresses {
                if host.isOwn(address) { otherUsers += 1 } else { sources[address.host, default: 0] += 1 }
            }
        }
        if otherUsers > Limits.linksOfOtherUsers { return "\(otherUsers) links of other users of the host (L-53)" }
        if let (source, most) = sources.max(by: { $0.value < $1.value }), most > Limits.linksPerSource {
            return "\(most) links of a source, \(source) (L-53)"
        }
        return nil
    }

    /// Resets all counts of a host whose node restarts.
    mutating func restarted(_ host: Int) {
        for key in buckets.keys where key.host == host { buckets[key] = nil }
        for key in told.keys where key.host == host { told[key] = nil }
    }

    /// Forgets whom a node has reported in a chat that its user leaves. After a further join, everybody there is new.
    mutating func left(_ chat: ChatID, by host: Int) { told[Key(host: host, count: .presences(chat))] = nil }

    /// Resets the counts of a node's reports after a command of its user. The effects of the command may show at once
    /// (T-22).
    mutating func resetReports(of host: Int) {
        for key in buckets.keys where key.host == host && key.count.isReport { buckets[key] = nil }
        for key in told.keys where key.host == host { told[key] = nil }
    }

    private mutating func take(_ count: Count, _ rate: Int, _ burst: Int, _ host: SimulatedHost, _ now: Instant) -> Bool
    {
        buckets[
            Key(host: host.index, count: count), default: Bucket(level: Int64(burst) * 1_000_000_000, updated: now)
        ].take(rate, burst, now)
    }
}

extension Address {
    /// The host alone, without the port.
    fileprivate var host: Address { Address(high: high, low: low, port: 1, scope: scope) }
}

/// Measures each node's datagrams in a second against the limits of its links, and checks the sizes of its tables.
struct TrafficMeter {
    private struct Second {
        var since = Instant.zero
        var initiations = 0
        var counters: [DatagramKind: Int] = [:]
        var mostLinks = 0
        /// The links that an owner's node ended, each after a successor.
        var endedLinks = 0
        /// How often the user went away or came back.
        var awayChanges = 0
    }

    private var seconds: [Second]
    /// The most datagrams that a host sent in a second.
    private(set) var busiest = 0

    init(hosts: Int) { seconds = Array(repeating: Second(), count: hosts) }

    mutating func sent(by host: Int, _ kind: DatagramKind) {
        if kind == .initiation { seconds[host].initiations += 1 }
    }

    /// Records the links of a node after an input. A node may leave a chat between two ticks.
    mutating func has(_ links: Int, by host: Int) { seconds[host].mostLinks = max(seconds[host].mostLinks, links) }

    /// Records that a member took a successor. The owner's node then ends the link, mostly between two ticks (M-65).
    mutating func gaveSuccessor(_ host: Int) { seconds[host].endedLinks += 1 }

    /// Records a change of the away bit, which goes to every link at once (T-21).
    mutating func changedAway(_ host: Int) { seconds[host].awayChanges += 1 }

    mutating func restarted(_ host: Int, _ now: Instant) { seconds[host] = Second(since: now) }

    /// Called at each tick: every 250 ms, or 2 s in the hours of a long scenario.
    mutating func check(_ host: SimulatedHost, _ now: Instant, _ checker: StateChecker) {
        guard let node = host.node else { return }
        let sizes = node.ask { $0.tableSizes }
        checkTables(sizes, of: host, now, checker)
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
        let counters = node.ask { $0.counters.sent.counts }
        func sent(_ kind: DatagramKind) -> Int { (counters[kind] ?? 0) - (second.counters[kind] ?? 0) }
        let links = second.mostLinks + second.endedLinks + 1
        // Links to all others may have come and gone between two ticks. If the meter saw only few links, a wider limit
        // applies to these few.
        let mostLinks = max(links, checker.mostLinks + 1)
        let ample = Int(length.nanoseconds / 1_000_000_000) + 1
        // Heartbeats: 2 a second while typing, one more as the second ends, and one for each change of the away bit. A
        // link sends some more each time when it comes up, gets its name or goes down. Typing: at most 2 starts and 2 stops a second, one more as the
        // second ends, each with two copies.
        let budgets = [
            (
                DatagramKind.heartbeat,
                min(mostLinks * budget(2, 1 + second.awayChanges), links * (12 * ample + second.awayChanges))
            ),
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
        _ checker: StateChecker
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

import InklingWire

/// The rates of record datagrams, and the turns of links that wait for them (M-13, M-21).
///
/// A link that has a record asks for a turn. Links come to their turns in the order in which they asked, so a link that
/// has sent comes after those that waited before.
struct RecordPacer<LinkID: Hashable & Comparable & Sendable>: Sendable {
    private var node: TokenBucket
    private var links: [LinkID: TokenBucket] = [:]
    /// The links that wait for a turn, in order.
    private var turns: [LinkID] = []
    /// The links that wait for their own rate, with the instants of their next tokens.
    private var resting: [LinkID: Instant] = [:]
    /// The links of both.
    private var waiting: Set<LinkID> = []
    private var sentSinceRead = 0

    init(now: Instant) {
        node = TokenBucket(perSecond: Limits.recordsPerNode, burst: Limits.recordsPerNodeBurst, now: now)
    }

    // MARK: Inputs

    /// Applies a read of the socket, also an empty one, after which 64 records may go (M-13).
    mutating func socketWasRead() { sentSinceRead = 0 }

    /// Asks for a turn of a link that has a record. A link that has asked keeps its place.
    mutating func request(_ link: LinkID) {
        guard waiting.insert(link).inserted else { return }
        turns.append(link)
    }

    /// Returns the link whose turn it is, which may send one record now; nil when none may.
    ///
    /// The turn is used up, also if the link sends nothing. A record is counted by ``sent(_:now:)``.
    mutating func nextLink(_ now: Instant) -> LinkID? {
        wake(now)
        while sentSinceRead < Limits.recordsBetweenReads, node.has(now), !turns.isEmpty {
            let link = turns.removeFirst()
            guard bucket(of: link, now).has(now) else {
                resting[link] = bucket(of: link, now).nextToken(now)
                continue
            }
            waiting.remove(link)
            return link
        }
        return nil
    }

    /// Counts a record datagram that went out on a link, also a repeated one.
    mutating func sent(_ link: LinkID, now: Instant) {
        var bucket = bucket(of: link, now)
        _ = bucket.take(now)
        links[link] = bucket
        _ = node.take(now)
        sentSinceRead += 1
    }

    /// Forgets a link that ended, with what it has left of its rate. A link that goes down only leaves its turns unused.
    mutating func remove(_ link: LinkID) {
        links[link] = nil
        resting[link] = nil
        if waiting.remove(link) != nil { turns.removeAll { $0 == link } }
    }

    // MARK: Queries

    /// The instant of the next turn; nil when no link waits. After 64 records it is 1 ms later, so that the socket is read.
    func nextDeadline(_ now: Instant) -> Instant? {
        let rested = resting.values.min()
        guard !turns.isEmpty else { return rested }
        let pause = sentSinceRead < Limits.recordsBetweenReads ? Duration.zero : .milliseconds(1)
        return earliest(rested, or: max(node.nextToken(now), now + pause))
    }

    // MARK: Helpers

    /// Lets links whose next token is there wait for a turn.
    private mutating func wake(_ now: Instant) {
        let due = resting.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (link, _) in due {
            resting[link] = nil
            turns.append(link)
        }
    }

    private func bucket(of link: LinkID, _ now: Instant) -> TokenBucket {
        links[link]
            ?? TokenBucket(perSecond: Limits.recordsPerLink, burst: Limits.recordsPerLinkBurst, now: now)
    }
}

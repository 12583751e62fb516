import InklingWire

/// The rates of record datagrams, and the turns of the links that wait to send (M-13, M-21).
///
/// A link with a record asks for a turn. Turns have the order of the requests. So a link that has sent comes after all
/// links that waited before.
struct RecordPacer<LinkID: Hashable & Comparable & Sendable>: Sendable {
    private var node: TokenBucket
    private var links: [LinkID: TokenBucket] = [:]
    /// The links that wait for a turn, in order.
    private var turns: [LinkID] = []
    /// The links that wait because of their own rate, with the times of their next tokens.
    private var resting: [LinkID: Instant] = [:]
    /// All links in ``turns`` and ``resting``.
    private var waiting: Set<LinkID> = []
    private var sentSinceRead = 0

    init(now: Instant) {
        node = TokenBucket(perSecond: Limits.recordsPerNode, burst: Limits.recordsPerNodeBurst, now: now)
    }

    // MARK: Inputs

    /// Records a read of the socket, even of an empty one. The node may then send 64 more records (M-13).
    mutating func socketWasRead() { sentSinceRead = 0 }

    /// Requests a turn for a link that has a record. A link that has requested one keeps its place.
    mutating func request(_ link: LinkID) {
        guard waiting.insert(link).inserted else { return }
        turns.append(link)
    }

    /// Returns the link whose turn it is, and which may send one record now; nil if no link may send.
    ///
    /// The call uses up the turn, even if the link sends nothing. ``sent(_:now:)`` counts the record.
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

    /// Counts a record datagram that a link sent, including repeats.
    mutating func sent(_ link: LinkID, now: Instant) {
        var bucket = bucket(of: link, now)
        _ = bucket.take(now)
        links[link] = bucket
        _ = node.take(now)
        sentSinceRead += 1
    }

    /// Forgets a link that ended, and its rate. A link that only went down lets its turns pass.
    mutating func remove(_ link: LinkID) {
        links[link] = nil
        resting[link] = nil
        if waiting.remove(link) != nil { turns.removeAll { $0 == link } }
    }

    // MARK: Queries

    /// Returns the time of the next turn; nil if no link waits. After 64 records the time is 1 ms later, so that the
    /// owner reads the socket.
    func nextDeadline(_ now: Instant) -> Instant? {
        let rested = resting.values.min()
        guard !turns.isEmpty else { return rested }
        let pause = sentSinceRead < Limits.recordsBetweenReads ? Duration.zero : .milliseconds(1)
        return earliest(rested, or: max(node.nextToken(now), now + pause))
    }

    // MARK: Helpers

    /// Moves links whose next token has arrived to the links that wait for a turn.
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

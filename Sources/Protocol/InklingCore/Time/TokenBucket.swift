/// A limit of events a second, with a burst.
struct TokenBucket: Sendable {
    private let nanosecondsPerToken: Int64
    private let capacity: Int64
    private var level: Int64
    private var updated: Instant

    /// A full bucket.
    init(perSecond rate: Int, burst: Int, now: Instant) {
        nanosecondsPerToken = 1_000_000_000 / Int64(max(rate, 1))
        capacity = Int64(max(burst, 1)) * nanosecondsPerToken
        level = capacity
        updated = now
    }

    /// Takes a token if there is one.
    ///
    /// - Parameters:
    ///   - reserve: The number of tokens that must remain.
    ///   - reserved: The number of tokens that ``reserve(_:reserved:)`` took and that are still unused. Together with
    ///     them the bucket holds at most its burst.
    mutating func take(_ now: Instant, leaving reserve: Int = 0, reserved: Int = 0) -> Bool {
        refill(now, reserved: reserved)
        guard level >= nanosecondsPerToken * Int64(1 + reserve) else { return false }
        level -= nanosecondsPerToken
        return true
    }

    /// Takes the next token, even one that does not exist yet.
    ///
    /// - Returns: The time from which the token exists.
    mutating func reserve(_ now: Instant, reserved: Int) -> Instant {
        refill(now, reserved: reserved)
        level -= nanosecondsPerToken
        return level < 0 ? Instant(nanoseconds: now.nanoseconds - level) : now
    }

    /// Returns the time when one of the reserved tokens may be used: now, or later if the bucket was full in the
    /// meantime.
    mutating func due(_ now: Instant, reserved: Int) -> Instant {
        refill(now, reserved: reserved)
        let missing = nanosecondsPerToken - level - Int64(reserved) * nanosecondsPerToken
        return missing > 0 ? Instant(nanoseconds: now.nanoseconds + missing) : now
    }

    /// Returns an unused token to the bucket.
    mutating func giveBack() { level = min(capacity, level + nanosecondsPerToken) }

    /// Returns whether the bucket has a token.
    func has(_ now: Instant) -> Bool {
        var copy = self
        return copy.take(now)
    }

    /// Returns the time of the next token.
    func nextToken(_ now: Instant) -> Instant {
        var copy = self
        copy.refill(now)
        let missing = nanosecondsPerToken - copy.level
        return missing > 0 ? Instant(nanoseconds: now.nanoseconds + missing) : now
    }

    private mutating func refill(_ now: Instant, reserved: Int = 0) {
        guard now > updated else { return }
        let elapsed = now.nanoseconds - updated.nanoseconds
        let room = capacity - Int64(reserved) * nanosecondsPerToken
        level = max(level, min(room, level + min(elapsed, capacity - level)))
        updated = now
    }
}

/// A limit of events within any second.
struct SlidingWindow: Sendable {
    private let limit: Int
    /// The times of the last events. Once there are `limit` of them, the oldest is at `next`.
    private var instants: [Instant] = []
    private var next = 0

    init(perSecond limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Counts an event, even above the limit.
    ///
    /// - Returns: Whether the last second had more events than the limit.
    mutating func count(_ now: Instant) -> Bool {
        guard instants.count == limit else {
            instants.append(now)
            return false
        }
        defer {
            instants[next] = now
            next = (next + 1) % limit
        }
        return now - instants[next] < .seconds(1)
    }

    /// Returns whether the limit permits `count` more events.
    func hasRoom(_ now: Instant, for count: Int = 1) -> Bool {
        let needed = count - (limit - instants.count)
        guard needed > 0 else { return true }
        return needed <= instants.count && now - instants[(next + needed - 1) % limit] >= .seconds(1)
    }

    /// Counts an event if it is within the limit.
    mutating func take(_ now: Instant) -> Bool {
        guard instants.count == limit else {
            instants.append(now)
            return true
        }
        guard now - instants[next] >= .seconds(1) else { return false }
        instants[next] = now
        next = (next + 1) % limit
        return true
    }
}

/// A limit of so many events a second, with a burst.
struct TokenBucket {
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
    mutating func take(_ now: Instant) -> Bool {
        refill(now)
        guard level >= nanosecondsPerToken else { return false }
        level -= nanosecondsPerToken
        return true
    }

    /// When the next token is there.
    func nextToken(_ now: Instant) -> Instant {
        var copy = self
        copy.refill(now)
        let missing = nanosecondsPerToken - copy.level
        return missing > 0 ? Instant(nanoseconds: now.nanoseconds + missing) : now
    }

    /// Whether nothing was taken that has not flowed back: such a bucket can be forgotten.
    func isFull(_ now: Instant) -> Bool {
        var copy = self
        copy.refill(now)
        return copy.level == capacity
    }

    private mutating func refill(_ now: Instant) {
        guard now > updated else { return }
        let elapsed = now.nanoseconds - updated.nanoseconds
        level = elapsed >= capacity ? capacity : min(capacity, level + elapsed)
        updated = now
    }
}

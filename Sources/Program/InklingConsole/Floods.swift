/// Detects people whose messages come faster than a reader can follow, by identity.
///
/// Nobody types that fast. The first ``messages`` of a person never belong to a flood.
///
/// Time is in milliseconds of a clock that never goes back.
package struct Floods: Sendable {
    /// The number of messages of one person within ``window`` that are no flood yet.
    package static let messages = 10
    /// The time over which messages are counted.
    package static let window: Int64 = 5_000
    /// A flood ends when the number of messages within ``window`` has fallen to this.
    package static let calm = 5
    /// The number of people with counted messages. Above it, people who were quiet for ``window`` are forgotten.
    package static let people = 256

    private struct Rate {
        /// The times of the latest messages. There are at most one more than are no flood.
        var times: [Int64] = []
        var isFlood = false
    }

    private var rates: [String: Rate] = [:]

    /// Makes a detector without any messages.
    package init() {}

    /// Counts a message.
    ///
    /// - Returns: Whether the message belongs to a flood.
    package mutating func countMessage(from user: String, at now: Int64) -> Bool {
        var rate = rates[user] ?? Rate()
        rate.times = rate.times.filter { now - $0 < Self.window }.suffix(Self.messages) + [now]
        if rate.times.count > Self.messages {
            rate.isFlood = true
        } else if rate.times.count <= Self.calm {
            rate.isFlood = false
        }
        rates[user] = rate
        if rates.count > Self.people {
            rates = rates.filter { now - ($0.value.times.last ?? now) < Self.window }
        }
        return rate.isFlood
    }

    /// The number of people whose messages are counted now.
    package var count: Int { rates.count }
}

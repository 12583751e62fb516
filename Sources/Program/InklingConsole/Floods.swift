/// Tells whose messages come faster than anybody can read them, by identity.
///
/// Nobody types as fast as a flood is: the first ``messages`` of anybody never belong to one.
///
/// Time is in milliseconds of a clock that never goes back.
package struct Floods: Sendable {
    /// How many messages of one person within ``window`` are no flood yet.
    package static let messages = 10
    /// The time over which messages are counted.
    package static let window: Int64 = 5_000
    /// A flood is over with the first message that makes so few within ``window``, or fewer.
    package static let calm = 5
    /// For how many people messages are counted before those who were quiet for ``window`` are forgotten.
    package static let people = 256

    private struct Rate {
        /// When the latest messages came, one more than are no flood.
        var times: [Int64] = []
        var isFlood = false
    }

    private var rates: [String: Rate] = [:]

    /// Nobody has said anything yet.
    package init() {}

    /// A message came. Returns whether it belongs to a flood.
    package mutating func take(from user: String, at now: Int64) -> Bool {
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

    /// For how many people messages are counted now.
    package var count: Int { rates.count }
}

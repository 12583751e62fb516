import InklingCore
import InklingModel

/// The time of an event by two clocks, ``wall`` and ``steady``, in seconds since 1970.
package struct MeetingTime: Equatable, Sendable {
    /// The time by the wall clock, for people to read.
    package let wall: Double
    /// The time by a clock for counting days. The clock begins with the wall clock when the node starts. Later changes
    /// of the wall clock do not affect it.
    package let steady: Double

    package init(wall: Double, steady: Double) {
        self.wall = Timestamp(rawValue: wall).rawValue
        self.steady = Timestamp(rawValue: steady).rawValue
    }
}

/// The number of days on which a person was present.
///
/// A day begins when a node first notices a person: on coming, on leaving, or while it counts time together. The next
/// day begins when a node notices the person at least 24 h later. So two counted days begin at least 24 h apart, and
/// staying counts as much as coming back.
///
/// - If the clock is set while the node runs, the count does not change: ``MeetingTime/steady`` ignores it.
/// - If the clock was set back between two runs, no day is added. A last day in the future begins again now, so a clock
///   that was once far ahead costs at most 24 h.
/// - If the clock was set forward between two runs, it seems that time has passed. Once, each person met then gets one
///   day too many.
package struct DaysMet: Equatable, Sendable {
    /// The number of days; 0 for a person who was never met.
    package private(set) var count: UInt64
    /// The time when the last of these days began, in seconds since 1970.
    package private(set) var began: Double

    package init(count: UInt64 = 0, began: Double = 0) {
        self.count = count
        self.began = began
    }

    /// Records that a person is present now.
    mutating func note(_ time: MeetingTime) {
        if count == 0 {
            self = DaysMet(count: 1, began: time.steady)
        } else if time.steady < began {
            began = time.steady
        } else if time.steady - began >= KnownPeersLimits.day {
            count = min(count + 1, KnownPeersLimits.counts.upperBound - 1)
            began = time.steady
        }
    }

    /// Returns the union of days that two processes counted separately. A day that both counted is one.
    static func merged(_ one: DaysMet, _ other: DaysMet) -> DaysMet {
        if one.count != other.count { return one.count > other.count ? one : other }
        return one.began <= other.began ? one : other
    }
}

/// A person's uninterrupted presence, in one chat or several. Time together counts once.
package struct Stay: Sendable {
    /// The person's last name, and the stored name of the last chat that the person joined.
    package var name: String
    package var chat: String
    /// The beginning, by a clock that stands still while the machine sleeps.
    private let began: Instant
    /// The part of the stay that the table has counted.
    private var counted = Duration.zero

    package init(name: String, chat: String, at now: Instant) {
        self.name = name
        self.chat = chat
        began = now
    }

    package func length(at now: Instant) -> Duration { max(now - began, .zero) }

    /// Returns the time not counted yet, in whole milliseconds, and marks it as counted.
    mutating func take(at now: Instant) -> Duration {
        let more = Duration.milliseconds(max(length(at: now) - counted, .zero).milliseconds)
        counted += more
        return more
    }

    /// Records that the table has forgotten its count.
    mutating func startOver() { counted = .zero }
}

extension Duration {
    /// The duration in whole milliseconds, rounded toward zero.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}

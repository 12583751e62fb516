import InklingCore
import InklingModel

/// The time of an event by two clocks.
package struct MeetingTime: Equatable, Sendable {
    /// The time of day for people to read, in seconds since 1970.
    package let wall: Double
    /// The age for counting days. No change of the time of day affects it.
    package let age: Age

    package init(wall: Double, age: Age) {
        self.wall = Timestamp(rawValue: wall).rawValue
        self.age = age
    }
}

/// The number of days on which a person was present.
///
/// A day begins when a node first notices a person: on coming, on leaving, or while it counts time together. The next
/// day begins when a node notices the person at least 24 h later. So two counted days begin at least 24 h apart, and
/// staying counts as much as coming back.
///
/// If the clock is set, the count of days does not change, because an ``Age`` ignores the clock. A last day in the future
/// begins again now. An earlier build recorded such a day by the time of day, or the count of the age was lost.
package struct DaysMet: Equatable, Sendable {
    /// The number of days; 0 for a person who was never met.
    package private(set) var count: UInt64
    /// The age at which the last of these days began.
    package private(set) var began: Age

    package init(count: UInt64 = 0, began: Age = .zero) {
        self.count = count
        self.began = began
    }

    /// Records that a person is present now.
    mutating func note(_ time: MeetingTime) {
        if count == 0 {
            self = DaysMet(count: 1, began: time.age)
        } else if time.age < began {
            began = time.age
        } else if time.age - began >= KnownPeersLimits.day {
            count = min(count + 1, KnownPeersLimits.counts.upperBound - 1)
            began = time.age
        }
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

import InklingCore

/// The time of an event by two clocks, in seconds since 1970.
package struct MeetingTime: Equatable, Sendable {
    /// By the wall clock, for people to read.
    package let wall: Double
    /// By a clock for counting days. The clock begins with the wall clock when the node starts, and nobody sets it.
    package let steady: Double

    package init(wall: Double, steady: Double) {
        func clamped(_ time: Double) -> Double {
            let times = KnownPeersLimits.times
            return time < times.upperBound ? max(time, times.lowerBound) : times.upperBound.nextDown
        }
        self.wall = clamped(wall)
        self.steady = clamped(steady)
    }
}

/// The number of days on which a person was there.
///
/// A day begins when a person is first noticed, on coming, on leaving, or while time together is counted. The next one
/// begins when they are noticed at least 24 h later. So two counted days begin at least 24 h apart, and staying counts
/// as much as coming back.
///
/// - A clock that is set while the node runs changes nothing: ``MeetingTime/steady`` ignores it.
/// - A clock that was set back between two runs adds no day. A last day in the future begins again now, so a clock that
///   was once far ahead costs at most 24 h.
/// - A clock that was set forward between two runs looks like time that passed. Once, each person met then gets one day
///   too many.
package struct DaysMet: Equatable, Sendable {
    /// 0 for a person who was never met.
    package private(set) var count: UInt64
    /// When the last of them began, in seconds since 1970.
    package private(set) var began: Double

    package init(count: UInt64 = 0, began: Double = 0) {
        self.count = count
        self.began = began
    }

    /// Records that a person is there.
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
    /// Their last name, and the stored name of the last chat that they joined.
    package var name: String
    package var chat: String
    /// By a clock that stands still while the machine sleeps.
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

import InklingCore

/// When something happened, by two clocks, in seconds since 1970.
package struct MeetingTime: Equatable, Sendable {
    /// By the wall clock: for people to read.
    package let wall: Double
    /// By a clock that began with the wall clock when the node did, and that nobody sets: for counting days.
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

/// On how many days somebody was there.
///
/// A day begins when somebody is first noticed to be there, on coming, on leaving, or while time together is counted.
/// The next one begins when they are noticed at least 24 h after that. So days are counted by their beginnings, a
/// second one never after less than 24 h, and staying counts as much as coming back.
///
/// - A clock that is set while the node runs changes nothing: the time is that of ``MeetingTime/steady``.
/// - A clock that was set back between two runs adds no day. If the last day seems to lie in the future it begins
///   again now, so a clock that was once far ahead costs at most 24 h.
/// - A clock that was set forward between two runs can't be told from time that passed: it adds one day too many to
///   those who are met then, once.
package struct DaysMet: Equatable, Sendable {
    /// 0 for somebody who was never met.
    package private(set) var count: UInt64
    /// When the last of them began, in seconds since 1970.
    package private(set) var began: Double

    package init(count: UInt64 = 0, began: Double = 0) {
        self.count = count
        self.began = began
    }

    /// Somebody is there.
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

    /// What two processes counted apart from each other. A day that both counted is one.
    static func merged(_ one: DaysMet, _ other: DaysMet) -> DaysMet {
        if one.count != other.count { return one.count > other.count ? one : other }
        return one.began <= other.began ? one : other
    }
}

/// Somebody is there without interruption, in one chat or several: time together counts once.
package struct Stay: Sendable {
    /// The name that they had last, and the stored name of the chat that they came to last.
    package var name: String
    package var chat: String
    /// By a clock that stands still while the machine sleeps.
    private let began: Instant
    /// What of it the table has counted.
    private var counted = Duration.zero

    package init(name: String, chat: String, at now: Instant) {
        self.name = name
        self.chat = chat
        began = now
    }

    package func length(at now: Instant) -> Duration { max(now - began, .zero) }

    /// Returns what was not counted yet, in whole milliseconds, which from now on is.
    mutating func take(at now: Instant) -> Duration {
        let more = Duration.milliseconds(max(length(at: now) - counted, .zero).milliseconds)
        counted += more
        return more
    }

    /// The table has forgotten what it counted.
    mutating func startOver() { counted = .zero }
}

extension Duration {
    /// The duration in whole milliseconds, rounded toward zero.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}

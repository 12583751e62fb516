/// The limits of what is remembered of people. They are this program's own: no peer notices them, and
/// front ends the two alone that have a clause.
package enum KnownPeersLimits {
    /// People who are not yet worth keeping; when there are more, one of them goes, at random. A rule that could be
    /// foreseen would tell a stranger with many keys how to push somebody out.
    package static let probation = 256
    /// People who are kept; when there are more, the lowest rank goes. Verified and blocked people don't count.
    package static let kept = 768
    /// How long two people have to be there together, in all, before the other is kept.
    package static let provingTime = Duration.seconds(600)
    /// Seconds from the beginning of one day that counts to that of the next.
    package static let day: Double = 86_400
    /// Names kept of a key; the oldest goes.
    package static let names = 4
    /// How many of those for whom somebody may be mistaken are told.
    package static let namesakes = 8
    /// Chats in which a key was seen; the one longest ago goes.
    package static let chats = 32
    /// Longer files are neither read nor written. A person takes at most about 5 KiB.
    package static let fileBytes = 16 << 20
    /// Seconds since 1970 up to the end of the year 9999: a file with other times is damaged.
    package static let times: Range<Double> = 0..<253_402_300_800
    /// A file with counts beyond these is damaged. They are out of reach, so that counting can't overflow.
    package static let counts: Range<UInt64> = 0..<1 << 52
    /// How long the first change waits to be written, and how long a node waits before it tries again.
    package static let saveDelay = Duration.seconds(3)
    /// The time from one write to the next one that only peers cause. Without it a stranger who comes and goes has the
    /// disk busy. What the user decides is written at once.
    package static let saveInterval = Duration.seconds(60)
    /// How often the time together with those who are there is counted and written. A node that is killed loses as
    /// much.
    package static let countingInterval = Duration.seconds(300)
    /// How long a node waits for another that reads or writes the file. They take milliseconds.
    package static let lockPatience = Duration.seconds(2)
}

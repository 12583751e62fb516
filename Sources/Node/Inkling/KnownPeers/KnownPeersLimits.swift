import InklingModel

/// The limits of the memory of people. They belong to this program and not to the protocol. Front ends notice only the
/// two that have a clause.
package enum KnownPeersLimits {
    /// The maximum number of people on probation. Beyond it, the table evicts a random one. A predictable rule would
    /// tell a stranger with many keys how to evict a person.
    package static let probation = 256
    /// The maximum number of kept people. Beyond it, the table evicts the lowest rank. Verified and blocked people
    /// don't count.
    package static let kept = 768
    /// The total time for which another person must be present together with a node of this user before the table keeps
    /// them.
    package static let provingTime = Duration.seconds(600)
    /// The shortest time from the beginning of one counted day to that of the next.
    package static let day = Duration.seconds(86_400)
    /// The maximum number of names of a key. Beyond it, the table drops the oldest.
    package static let names = 4
    /// The maximum number of namesakes that a node reports of a person.
    package static let namesakes = 8
    /// The maximum number of chats of a key. Beyond it, the table drops the chat seen longest ago.
    package static let chats = 32
    /// The valid times in a file, in seconds since 1970, up to the end of the year 9999. A file with other times is
    /// damaged.
    package static let times = Timestamp.range
    /// The valid counts in a file. A file with others is damaged. No real count comes near the limit, so counting can't
    /// overflow.
    package static let counts: Range<UInt64> = 0..<1 << 52
    /// The delay of the first write after a change, and the pause before a retry.
    package static let saveDelay = Duration.seconds(3)
    /// The shortest time between two writes that only peers cause. Without it, a stranger who comes and goes would keep
    /// the disk busy. A node writes the user's decisions at once.
    package static let saveInterval = Duration.seconds(60)
    /// The interval at which a node counts and writes the time for which it was present together with people. A killed
    /// node loses at most that much.
    package static let countingInterval = Duration.seconds(300)
}

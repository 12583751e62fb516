import InklingWire

/// The times of typing that a node shares with the programs that use it.
package enum TypingTime {
    /// The time after the last edit at which typing ends, in milliseconds (T-9).
    package static let idleStop = Int64(Limits.typingIdleStop / .milliseconds(1))
}

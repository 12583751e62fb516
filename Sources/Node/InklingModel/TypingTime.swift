import InklingWire

/// The times of typing that programs around a node share with it.
package enum TypingTime {
    /// The time after the last edit that ends typing, in milliseconds (T-9).
    package static let idleStop = Int64(Limits.typingIdleStop / .milliseconds(1))
}

/// A point in monotonic time, in nanoseconds since an origin that the caller chose.
///
/// The core reads no clock: every input carries its instant, and instants never decrease from input to input.
package struct Instant: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The origin.
    package static let zero = Instant(nanoseconds: 0)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    package static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds + duration.nanoseconds)
    }

    package static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded toward zero.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The earlier of those that exist.
func earliest(_ instants: Instant?...) -> Instant? {
    instants.compactMap(\.self).min()
}

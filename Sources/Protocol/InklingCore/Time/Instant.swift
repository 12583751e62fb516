/// A point in monotonic time, in nanoseconds since an origin that the caller chose.
///
/// The core reads no clock: every input carries its instant, and instants never decrease from input to input.
package struct Instant: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The origin of the time scale.
    package static let zero = Instant(nanoseconds: 0)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    package static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds + duration.nanoseconds)
    }

    package static func - (later: Instant, earlier: Instant) -> Duration {
        Duration(attoseconds: Int128(later.nanoseconds - earlier.nanoseconds) * Duration.attosecondsPerNanosecond)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded toward zero.
    package var nanoseconds: Int64 { Int64(truncatingIfNeeded: attoseconds / Duration.attosecondsPerNanosecond) }

    fileprivate static let attosecondsPerNanosecond: Int128 = 1_000_000_000
}

/// Returns the earlier of two instants; if one is nil, the other.
func earliest(_ one: Instant?, _ other: Instant?) -> Instant? {
    guard let one else { return other }
    return earliest(other, or: one)
}

/// Returns the earlier of two instants, of which the first may be nil.
func earliest(_ one: Instant?, or other: Instant) -> Instant {
    guard let one, one < other else { return other }
    return one
}

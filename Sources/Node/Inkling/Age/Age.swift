/// A moment, as the nodes of one state directory count time. The count began at zero. No change of the time of day moves
/// an age, so ages decide when a wait ends.
package struct Age: Hashable, Comparable, Sendable {
    /// The valid counts, in milliseconds. No real count comes near the limits, and no sum overflows.
    package static let range: Range<Int64> = -(1 << 52)..<(1 << 52)
    /// The beginning of the count. A record of an earlier build, which had no ages, is at least that old.
    package static let zero = Age(clamping: 0)

    /// Negative for a moment before the count began.
    package let milliseconds: Int64

    /// The age of this count; nil outside of ``range``.
    package init?(milliseconds: Int64) {
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    private init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound - 1)
    }

    package var seconds: Double { Double(milliseconds) / 1_000 }

    package static func < (left: Age, right: Age) -> Bool { left.milliseconds < right.milliseconds }
    package static func + (age: Age, time: Duration) -> Age { age.moved(by: time / .milliseconds(1)) }
    package static func - (age: Age, time: Duration) -> Age { age.moved(by: -(time / .milliseconds(1))) }
    package static func - (age: Age, other: Age) -> Duration { .milliseconds(age.milliseconds - other.milliseconds) }

    /// Returns the moment a number of milliseconds later. The number may be anything.
    func moved(by milliseconds: Double) -> Age {
        guard !milliseconds.isNaN else { return self }
        let limit = Double(Self.range.upperBound) * 2
        return Age(clamping: self.milliseconds + Int64(min(max(milliseconds, -limit), limit).rounded()))
    }
}

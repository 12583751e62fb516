/// A decision of the user about a person, with its place in the order of decisions.
///
/// The order of decisions is a number and not a time, because users change clocks. The number only grows. Each kind of
/// decision has its own number, so that a decision to block says nothing about a verification.
package struct Decision: Equatable, Sendable {
    package private(set) var isSet: Bool
    /// The number of the decision; 0 before the first one.
    package private(set) var number: UInt64
    /// Whether the decision was made here and not yet merged with those of other processes. Such a decision counts as
    /// later than all decisions that they have written, even those with a higher number.
    private var isPending = false

    package init(_ isSet: Bool = false, number: UInt64 = 0) {
        self.isSet = isSet
        self.number = number
    }

    /// Records a decision of the user.
    mutating func decide(_ isSet: Bool) {
        self.isSet = isSet
        number = Self.next(number)
        isPending = true
    }

    /// Records that the decision is written, after those of others were merged.
    mutating func settle() { isPending = false }

    /// Returns the later of two decisions.
    ///
    /// - Parameter winner: The decision that applies if neither is later.
    static func later(_ one: Decision, _ other: Decision, inTie winner: Bool) -> Decision {
        if one.isPending != other.isPending {
            let (made, written) = one.isPending ? (one, other) : (other, one)
            guard made.isSet != written.isSet else {
                return Decision(made.isSet, number: max(made.number, written.number))
            }
            var result = Decision(made.isSet, number: max(made.number, next(written.number)))
            result.isPending = true
            return result
        }
        if one.number != other.number { return one.number > other.number ? one : other }
        return one.isSet == winner ? one : other
    }

    package static func == (left: Decision, right: Decision) -> Bool {
        left.isSet == right.isSet && left.number == right.number
    }

    private static func next(_ number: UInt64) -> UInt64 { min(number + 1, KnownPeersLimits.counts.upperBound - 1) }
}

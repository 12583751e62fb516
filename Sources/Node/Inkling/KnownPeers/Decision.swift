/// A yes or no of the user about somebody, and which of two is the later one.
///
/// The order of decisions is a number and not a time, because clocks are set. It only grows, and each kind of decision
/// has its own, so that one about a block says nothing about a verification.
package struct Decision: Equatable, Sendable {
    package private(set) var isSet: Bool
    /// 0 if nothing was ever decided.
    package private(set) var number: UInt64
    /// Whether it was made here, and what other processes decided meanwhile is not yet known: it is later than
    /// whatever they have written, even under a higher number.
    private var isPending = false

    package init(_ isSet: Bool = false, number: UInt64 = 0) {
        self.isSet = isSet
        self.number = number
    }

    /// The user decided.
    mutating func decide(_ isSet: Bool) {
        self.isSet = isSet
        number = Self.next(number)
        isPending = true
    }

    /// It is written, and what others decided is known.
    mutating func settle() { isPending = false }

    /// The later of two.
    ///
    /// - Parameter winner: Which holds if neither is later.
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

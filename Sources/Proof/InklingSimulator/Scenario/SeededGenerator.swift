/// The simulator's random numbers: equal seeds give equal numbers, on every platform and in every release.
///
/// All decisions use whole numbers, so that no rounding can make two runs of a seed differ.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Makes a generator for one purpose. Numbers drawn for other purposes do not change its numbers.
    package init(seed: UInt64, purpose: UInt64) {
        var mixer = SeededGenerator(seed: seed ^ (purpose &* 0xD6E8_FEB8_6659_FD93))
        state = mixer.next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a random number in a range, each with about the same probability.
    package mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Returns true with a probability of `perMille` in 1,000.
    mutating func happens(perMille: Int) -> Bool {
        perMille > 0 && next() % 1_000 < UInt64(perMille)
    }

    /// Returns true with a probability of one in `count`.
    mutating func oneIn(_ count: Int) -> Bool { next() % UInt64(count) == 0 }

    /// Returns a random element of an array that is not empty.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next() % UInt64(elements.count))]
    }

    /// Returns a random index, with probabilities in proportion to the weights.
    mutating func pick(weights: [Int]) -> Int {
        var rest = Int(next() % UInt64(weights.reduce(0, +)))
        for (index, weight) in weights.enumerated() {
            if rest < weight { return index }
            rest -= weight
        }
        return weights.count - 1
    }
}

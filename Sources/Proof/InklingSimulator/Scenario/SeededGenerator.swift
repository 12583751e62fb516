/// The simulator's source of generator: equal seeds give equal numbers, on every platform and in every release.
///
/// All decisions are made with whole numbers, so that no rounding can make two runs of a seed differ.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A generator of its own for one purpose, so that what another purpose draws changes nothing here.
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

    /// A number of the range, all of them about equally likely.
    package mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// True in `perMille` of 1,000 cases.
    mutating func happens(perMille: Int) -> Bool {
        perMille > 0 && next() % 1_000 < UInt64(perMille)
    }

    /// True in one of `count` cases.
    mutating func oneIn(_ count: Int) -> Bool { next() % UInt64(count) == 0 }

    /// One of the elements of an array that has some.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next() % UInt64(elements.count))]
    }

    /// The index of one of the weights, each as likely as it is heavy.
    mutating func pick(weights: [Int]) -> Int {
        var rest = Int(next() % UInt64(weights.reduce(0, +)))
        for (index, weight) in weights.enumerated() {
            if rest < weight { return index }
            rest -= weight
        }
        return weights.count - 1
    }
}

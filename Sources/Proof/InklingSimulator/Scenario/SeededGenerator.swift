import SeededRandom

package typealias SeededGenerator = SeededRandom.SeededGenerator

/// The simulator makes all decisions with whole numbers, so that no rounding can make two runs of a seed differ.
extension SeededGenerator {
    /// A generator of its own for one purpose, so that what another purpose draws changes nothing here.
    init(seed: UInt64, purpose: UInt64) {
        var mixer = SeededGenerator(seed: seed ^ (purpose &* 0xD6E8_FEB8_6659_FD93))
        self.init(seed: mixer.next())
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

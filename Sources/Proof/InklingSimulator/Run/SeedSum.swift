/// The results of the runs of many seeds, added up.
package struct SeedSum: Sendable {
    package private(set) var coverage = Coverage()
    /// The seeds that broke a rule, in the order in which they were run.
    package private(set) var failed: [(seed: UInt64, violation: Violation)] = []

    package init() {}

    /// Adds one run.
    package mutating func add(_ result: Simulation.Result, of seed: UInt64) {
        coverage.add(result.coverage)
        if let violation = result.violation { failed.append((seed, violation)) }
    }
}

import Dispatch
import Synchronization

/// Runs the scenarios of many seeds, several at once.
package final class SeedRun: Sendable {
    /// What the runs came to, added up.
    package struct Sum: Sendable {
        package var coverage = Coverage()
        /// The seeds that broke a rule, in the order in which they were found.
        package var failed: [(seed: UInt64, violation: Violation)] = []
    }

    private let first: UInt64
    private let count: Int
    private let hosts: Int?
    private let next = Atomic<UInt64>(0)
    private let sum = Mutex(Sum())

    /// - Parameters:
    ///   - first: The first seed.
    ///   - count: How many seeds follow one another.
    ///   - hosts: The number of hosts, 2 to 50; drawn by each seed where nil.
    package init(first: UInt64 = 0, count: Int, hosts: Int? = nil) {
        self.first = first
        self.count = count
        self.hosts = hosts
    }

    /// Runs them all, or until so many have failed.
    ///
    /// - Parameters:
    ///   - workers: How many run at once.
    ///   - onResult: Called after each run, one call at a time, with the sum so far and the violation, if there was one.
    package func run(
        workers: Int, failures: Int = .max,
        onResult: @Sendable (Sum, (seed: UInt64, violation: Violation)?) -> Void = { _, _ in }
    ) -> Sum {
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while sum.withLock({ $0.failed.count }) < failures {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < UInt64(count) else { return }
                let seed = first &+ index
                let result = Simulation(Scenario(seed: seed, hosts: hosts)).run()
                sum.withLock { sum in
                    sum.coverage.add(result.coverage)
                    let failure = result.violation.map { (seed: seed, violation: $0) }
                    if let failure { sum.failed.append(failure) }
                    onResult(sum, failure)
                }
            }
        }
        return sum.withLock { $0 }
    }
}

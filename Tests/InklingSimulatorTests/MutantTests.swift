import MutatedSimulator
import Testing

/// The simulator has to notice when the core is broken: each mutant is one way, and some seed has to find it.
@Suite("Mutants of the core", .serialized)
struct MutantTests {
    /// The first of so many seeds that a mutant breaks, with what it breaks.
    private func firstFailure(of mutant: Mutant?, seeds: UInt64) -> (seed: UInt64, violation: Violation)? {
        activeMutant = mutant
        defer { activeMutant = nil }
        for seed in 0..<seeds {
            if let violation = Simulation(Scenario(seed: seed)).run().violation { return (seed, violation) }
        }
        return nil
    }

    @Test("the core as it is breaks no rule")
    func none() {
        #expect(firstFailure(of: nil, seeds: 100)?.violation == nil)
    }

    @Test("a broken core is noticed", arguments: Mutant.allCases)
    func caught(_ mutant: Mutant) throws {
        let failure = try #require(firstFailure(of: mutant, seeds: 4_000), "no seed notices it")
        print("figure: \(mutant.rawValue): seed \(failure.seed), \(failure.violation.rule.rawValue)")
    }
}

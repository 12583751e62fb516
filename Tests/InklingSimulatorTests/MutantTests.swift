import InklingTestSupport
import MutatedSimulator
import Synchronization
import Testing

/// The simulator has to notice when the core is broken: each mutant is one way, and some seed has to find it.
@Suite("Mutants of the core", .serialized)
struct MutantTests {
    /// What is broken by each.
    static let rules: [Mutant: Violation.Rule] = [
        .lateExpiry: .staleTyping, .oldIsNew: .staleTyping, .replayedStatus: .untrueTyping, .anyChat: .untrueTyping,
        .endlessTyping: .untrueTyping, .ownTyping: .ownTyping, .messageKeepsTyping: .typingAfterMessage,
        .blockedMayReturn: .absentTyping, .restartedStream: .doubledMessage, .alteredMessage: .alteredMessage,
        .recordsOutOfOrder: .lostMessage, .silentFailure: .lostMessage, .earlyReport: .lostMessage,
        .doubleReport: .wrongReport, .reusedCounter: .reusedNonce, .hastySilence: .falseOffline,
        .silenceIsBye: .falseFarewell, .lostFarewell: .lostFarewell, .endlessSuspicion: .ghost,
        .keptMessages: .tableGrowth, .fastHeartbeats: .traffic, .manyCopies: .traffic, .restless: .spinning,
        .streamOfADeadLink: .divergence, .noReturn: .divergence, .everyMessageFails: .divergence,
    ]

    /// The first of so many seeds in which a mutant breaks a rule, or any where none is named.
    private func firstFailure(
        of mutant: Mutant?, breaking rule: Violation.Rule? = nil, seeds: UInt64
    ) -> (seed: UInt64, violation: Violation)? {
        activeMutant = mutant
        defer { activeMutant = nil }
        let failures = Mutex<[UInt64: Violation]>([:])
        concurrently(seeds) { seed in
            guard let violation = Simulation(Scenario(seed: seed)).run().violation,
                rule == nil || violation.rule == rule
            else { return true }
            failures.withLock { $0[seed] = violation }
            return false
        }
        return failures.withLock { $0 }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    @Test("the core as it is breaks no rule")
    func none() {
        #expect(firstFailure(of: nil, seeds: 100)?.violation == nil)
    }

    @Test("a broken core is noticed", arguments: rules.keys.sorted())
    func caught(_ mutant: Mutant) throws {
        let rule = try #require(Self.rules[mutant])
        let failure = try #require(firstFailure(of: mutant, breaking: rule, seeds: 4_000), "no seed notices it")
        print("figure: \(mutant.rawValue): seed \(failure.seed), \(failure.violation.rule.rawValue)")
    }
}

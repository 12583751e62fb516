import Foundation
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

    /// The same of the limits of what an adversary may get: any of these rules may be broken.
    static let limits: [Mutant: Set<Violation.Rule>] = [
        .neverUnderLoad: strained, .everyResponse: strained, .strayResponses: strained, .noRank: strained,
        .noAnswerShare: [.limit], .noShares: [.limit], .everyRetry: [.limit], .talkative: [.limit],
        .manyRuns: [.limit], .crowdedSource: [.limit], .everyDestination: [.limit], .boundless: [.limit],
        .hoardsText: [.limit], .everyList: [.limit], .everyPresence: [.limit],
    ]
    /// The same of what has to go out, and to show, at its time.
    static let times: [Mutant: Set<Violation.Rule>] = [
        .loneEdge: [.edges], .hastyStarts: [.edges], .lostStart: [.missingTyping, .edges],
        .rareHeartbeats: [.heartbeats], .frequentHeartbeats: [.heartbeats], .lazyHeartbeats: [.heartbeats],
        .noStretching: [.heartbeats], .silentHeartbeats: [.missingTyping], .lazyAway: [.wrongPresence],
    ]
    /// The same of the names under which people are shown (L-57, L-22).
    static let names: [Mutant: Set<Violation.Rule>] = [
        .unrepeatedName: [.wrongName], .swallowedName: [.wrongName], .oldHello: [.wrongName],
    ]
    /// How exhaustion shows.
    private static let strained: Set<Violation.Rule> = [.missingPerson, .missingTyping, .falseOffline]
    /// `INKLING_MUTANTS` names those of them that are tried; all without it.
    static let tried = ProcessInfo.processInfo.environment["INKLING_MUTANTS"].map {
        Set($0.split(separator: ",").compactMap { Mutant(rawValue: String($0)) })
    }

    /// The first of so many seeds in which a mutant breaks a rule, or any where none is named; of those with an
    /// adversary if only these can.
    private func firstFailure(
        of mutant: Mutant?, breaking rules: Set<Violation.Rule>? = nil, underAttack: Bool = false, seeds: UInt64
    ) -> (seed: UInt64, violation: Violation)? {
        activeMutant = mutant
        defer { activeMutant = nil }
        let failures = Mutex<[UInt64: Violation]>([:])
        concurrently(seeds) { seed in
            let scenario = Scenario(seed: seed)
            guard !underAttack || scenario.adversary != nil, let violation = Simulation(scenario).run().violation,
                rules.map({ $0.contains(violation.rule) }) ?? true
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
        let failure = try #require(firstFailure(of: mutant, breaking: [rule], seeds: 4_000), "no seed notices it")
        print("figure: \(mutant.rawValue): seed \(failure.seed), \(failure.violation.rule.rawValue)")
    }

    @Test("a limit that is missing is noticed", arguments: limits.keys.sorted())
    func limited(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.limits[mutant]), underAttack: true)
    }

    @Test("what goes out or shows at the wrong time is noticed", arguments: times.keys.sorted())
    func timed(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.times[mutant]))
    }

    @Test("a name that is lost, held back or out of date is noticed", arguments: names.keys.sorted())
    func named(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.names[mutant]))
    }

    private func notice(_ mutant: Mutant, breaking rules: Set<Violation.Rule>, underAttack: Bool = false) throws {
        if let tried = Self.tried, !tried.contains(mutant) { return }
        let failure = try #require(
            firstFailure(of: mutant, breaking: rules, underAttack: underAttack, seeds: 1_000), "no seed notices it")
        print("figure: \(mutant.rawValue): seed \(failure.seed), \(failure.violation)")
    }
}

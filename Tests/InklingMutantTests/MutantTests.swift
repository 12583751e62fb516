import Foundation
import MutatedSimulator
import ProcessSupport
import Synchronization
import Testing

/// The simulator has to notice when the core is broken: each mutant is one way, and some seed has to find it.
@Suite("Mutants of the core", .serialized)
struct MutantTests {
    /// The rules that each mutant breaks.
    static let rules: [Mutant: Set<Violation.Rule>] = [
        .lateExpiry: [.staleTyping], .oldIsNew: [.staleTyping], .replayedStatus: [.untrueTyping],
        .anyChat: [.untrueTyping], .endlessTyping: [.untrueTyping], .ownTyping: [.ownTyping],
        .messageKeepsTyping: [.typingAfterMessage], .blockedMayReturn: [.absentTyping, .divergence],
        .deliversTwice: [.doubledMessage], .alteredMessage: [.alteredMessage], .silentFailure: [.lostMessage],
        .earlyReport: [.lostMessage], .swallowedText: [.lostMessage], .noRepeats: [.lostMessage, .divergence],
        .doubleReport: [.wrongReport], .everyMessageFails: [.wrongReport, .divergence], .reusedCounter: [.reusedNonce],
        .hastySilence: [.falseOffline], .silenceIsBye: [.falseFarewell], .lostFarewell: [.lostFarewell],
        .endlessSuspicion: [.ghost], .keptMessages: [.tableGrowth], .fastHeartbeats: [.traffic, .heartbeats],
        .manyCopies: [.traffic, .edges], .restless: [.spinning],
        // State that two ends share (L-58 to L-69), and faults that a link survives.
        .twoLinksOfARun: [.doubledLink], .anyDatagramRevives: [.revival, .ghost],
        .keptEpoch: shared, .anyPair: shared,
        .anyRecord: [.lostMessage], .rootedDown: shared, .forgetsAtOnce: [.hastyFailure],
    ]
    /// How it shows that two ends do not agree.
    private static let shared: Set<Violation.Rule> = [
        .divergence, .missingPerson, .lostMessage, .doubledMessage, .falseOffline, .missingTyping, .ghost, .wrongReport,
        .reorderedMessage, .heartbeats, .falseFarewell, .wrongName, .reusedNonce,
    ]

    /// The same of the limits of what an adversary may get: any of these rules may be broken, by one of these attacks.
    static let limits: [Mutant: (rules: Set<Violation.Rule>, attacks: [Scenario.Attack])] = [
        .neverUnderLoad: (strained, [.initiations]), .everyResponse: (strained, [.responses]),
        .strayResponses: (strained, [.responses]), .noRank: (strained, [.neighbours]),
        .noAnswerShare: ([.limit], [.cookies]), .noShares: ([.limit], [.cookiesOfOneSource]),
        .everyRetry: ([.limit], [.initiations]), .talkative: ([.limit], [.asks]),
        .manyOwnHosts: ([.limit], [.ownHost]), .ownHostIsNone: ([.limit], [.ownHost]),
        .fewInstances: ([.missingPerson], [.friends]), .forgetsFriends: ([.missingPerson], [.friends, .relays]),
        .manyRuns: ([.limit], [.manyLinks]), .crowdedSource: ([.limit], [.manyLinks]),
        .everyDestination: ([.limit], [.instances, .changingKeys]),
        .hoardsText: ([.limit], [.hoard]), .noTextRanks: ([.limit], [.hoard]), .boundless: ([.limit], [.flood]),
        .anyEpoch: ([.falseOffline, .missingTyping], [.relays]),
        .everyList: ([.limit], [.chatter]), .everyPresence: ([.limit], [.chatter]),
        .tellsGhosts: ([.limit], [.ghosts]), .unheardEverywhere: ([.limit], [.unheard]),
    ]
    /// The same of what has to go out, and to show, at its time.
    static let times: [Mutant: Set<Violation.Rule>] = [
        .loneEdge: [.edges], .hastyStarts: [.edges], .lostStart: [.missingTyping, .edges],
        .rareHeartbeats: [.heartbeats], .frequentHeartbeats: [.heartbeats], .lazyHeartbeats: [.heartbeats],
        .noStretching: [.heartbeats], .silentHeartbeats: [.missingTyping], .lazyAway: [.wrongPresence],
    ]
    /// The same of the names under which people are shown (M-24).
    static let names: [Mutant: Set<Violation.Rule>] = [.swallowedName: [.wrongName]]
    /// The same of an owner's chats (M-65, M-88 to M-95), in scenarios with removals.
    static let removals: [Mutant: Set<Violation.Rule>] = [
        .followsAnybody: [.falseMove], .takesSecond: [.falseMove], .removesOwner: [.falseMove],
        .followsOften: [.hastyMove], .movesOften: [.hastyMove, .strandedMember], .anyFormer: [.falseMove],
        .givesNewest: [.falseMove], .refusesNobody: [.intruder],
        .givesAnybody: [.falseMove, .intruder], .givesFormer: [.falseMove, .intruder], .givesOnce: [.strandedMember],
        .hastySuccessor: [.departedChat], .showsDeparted: [.departedChat],
    ]
    /// The same of kept texts (M-80 to M-86), in scenarios with texts that wait.
    static let texts: [Mutant: Set<Violation.Rule>] = [
        .hastyAck: [.lostMessage], .showsRepeated: [.doubledMessage], .hastyCopy: [.lostMessage],
        .unreachable: [.lostMessage],
        .forgetsSeen: [.doubledMessage], .anotherID: [.doubledMessage], .overtakes: [.reorderedMessage],
    ]
    /// A seed that notices each mutant. If a seed no longer does, the test searches for another and prints it.
    static let seeds: [Mutant: UInt64] = [
        .alteredMessage: 0, .anotherID: 0, .anyChat: 40, .anyDatagramRevives: 0, .anyEpoch: 9, .anyFormer: 0,
        .anyPair: 114, .anyRecord: 7_009_458, .blockedMayReturn: 17, .boundless: 1, .crowdedSource: 1,
        .deliversTwice: 0, .doubleReport: 0, .earlyReport: 40, .endlessSuspicion: 6, .endlessTyping: 168,
        .everyDestination: 1, .everyList: 1, .everyMessageFails: 51, .everyPresence: 1, .everyResponse: 1,
        .everyRetry: 1, .fastHeartbeats: 1, .fewInstances: 22, .followsAnybody: 5, .followsOften: 3,
        .forgetsAtOnce: 61, .forgetsFriends: 1, .forgetsSeen: 3, .frequentHeartbeats: 2, .givesAnybody: 0,
        .givesFormer: 67, .givesNewest: 3, .givesOnce: 0, .hastyAck: 0, .hastyCopy: 8,
        .hastySilence: 12,
        .hastyStarts: 1, .hastySuccessor: 0, .hoardsText: 1, .keptEpoch: 114, .keptMessages: 0, .lateExpiry: 8,
        .lazyAway: 22, .lazyHeartbeats: 39, .loneEdge: 1, .lostFarewell: 33, .lostStart: 1,
        .manyCopies: 0, .manyOwnHosts: 1, .manyRuns: 1, .messageKeepsTyping: 0, .movesOften: 19, .neverUnderLoad: 1,
        .noAnswerShare: 6, .noRank: 2, .noRepeats: 7, .noShares: 4, .noStretching: 2, .noTextRanks: 1, .oldIsNew: 16,
        .overtakes: 3, .ownHostIsNone: 1, .ownTyping: 0, .rareHeartbeats: 1, .refusesNobody: 40, .removesOwner: 5,
        .replayedStatus: 1, .restless: 0, .reusedCounter: 0, .rootedDown: 67, .showsDeparted: 0, .showsRepeated: 0,
        .silenceIsBye: 51, .silentFailure: 8, .silentHeartbeats: 0, .strayResponses: 1,
        .swallowedName: 39, .swallowedText: 0, .takesSecond: 33, .talkative: 1, .tellsGhosts: 1, .twoLinksOfARun: 2,
        .unheardEverywhere: 44, .unreachable: 1,
    ]
    /// How exhaustion shows.
    private static let strained: Set<Violation.Rule> = [.missingPerson, .missingTyping, .falseOffline]
    /// `INKLING_MUTANTS` names those of them that are tried; all without it.
    static let tried = ProcessInfo.processInfo.environment["INKLING_MUTANTS"].map {
        Set($0.split(separator: ",").compactMap { Mutant(rawValue: String($0)) })
    }

    /// Returns the first seed in which a mutant breaks one of the rules, or any rule without `rules`. With `attacks`,
    /// each scenario has one of them alone. The search tries `seeds` seeds from `start` on.
    private func firstFailure(
        of mutant: Mutant?, breaking rules: Set<Violation.Rule>? = nil, by attacks: [Scenario.Attack] = [],
        drawing scenarios: (@Sendable (UInt64) -> Scenario)? = nil, start: UInt64 = 0, seeds: UInt64
    ) -> (seed: UInt64, violation: Violation)? {
        activeMutant = mutant
        defer { activeMutant = nil }
        let failures = Mutex<[UInt64: Violation]>([:])
        concurrently(seeds) { number in
            let seed = start + number
            let attack = attacks.isEmpty ? nil : attacks[Int(seed) % attacks.count]
            let scenario = scenarios.map { $0(seed) } ?? Scenario(seed: seed, attack: attack)
            guard attack == nil || scenario.adversary != nil, let violation = Simulation(scenario).run().violation,
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

    @Test("the core as it is breaks no rule under any one attack", arguments: Scenario.Attack.allCases)
    func none(_ attack: Scenario.Attack) {
        // A full table costs a run so much that one has to do.
        let failure = firstFailure(of: nil, by: [attack], seeds: attack == .fullTable ? 1 : 12)
        #expect(failure?.violation == nil, "seed \(failure?.seed ?? 0)")
    }

    @Test("each mutant is in one of the tables")
    func all() {
        let tables: [[Mutant]] = [
            Array(Self.rules.keys), Array(Self.limits.keys), Array(Self.times.keys), Array(Self.names.keys),
            Array(Self.removals.keys), Array(Self.texts.keys),
        ]
        #expect(Set(tables.joined()) == Set(Mutant.allCases))
    }

    @Test("a broken core is noticed", arguments: rules.keys.sorted())
    func caught(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.rules[mutant]), seeds: 4_000)
    }

    @Test("a limit that is missing is noticed", arguments: limits.keys.sorted())
    func limited(_ mutant: Mutant) throws {
        let limit = try #require(Self.limits[mutant])
        try notice(mutant, breaking: limit.rules, by: limit.attacks)
    }

    @Test("what goes out or shows at the wrong time is noticed", arguments: times.keys.sorted())
    func timed(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.times[mutant]))
    }

    @Test("a name that is lost, held back or out of date is noticed", arguments: names.keys.sorted())
    func named(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.names[mutant]))
    }

    @Test(
        "a removal that lets the wrong people in, or leaves some behind, is noticed", arguments: removals.keys.sorted())
    func removal(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.removals[mutant])) { Scenario(removalsOf: $0) }
    }

    @Test("a kept text that is lost, shown twice or out of order is noticed", arguments: texts.keys.sorted())
    func text(_ mutant: Mutant) throws {
        try notice(mutant, breaking: #require(Self.texts[mutant])) { Scenario(textsOf: $0) }
    }

    /// Tries the mutant's pinned seed. If the seed notices nothing, this function searches for one that does.
    private func notice(
        _ mutant: Mutant, breaking rules: Set<Violation.Rule>, by attacks: [Scenario.Attack] = [],
        seeds: UInt64 = 1_000, drawing scenarios: (@Sendable (UInt64) -> Scenario)? = nil
    ) throws {
        if let tried = Self.tried, !tried.contains(mutant) { return }
        let pinned = Self.seeds[mutant].flatMap {
            firstFailure(of: mutant, breaking: rules, by: attacks, drawing: scenarios, start: $0, seeds: 1)
        }
        if let pinned {
            print("figure: \(mutant.rawValue): seed \(pinned.seed), \(pinned.violation)")
            return
        }
        let old = Self.seeds[mutant].map { "seed \($0) no longer notices it" } ?? "it has no seed"
        let found = try #require(
            firstFailure(of: mutant, breaking: rules, by: attacks, drawing: scenarios, seeds: seeds),
            "no seed notices it")
        print("figure: \(mutant.rawValue): \(old); pin \".\(mutant.rawValue): \(found.seed),\": \(found.violation)")
    }
}

import InklingConformance
import InklingTestSupport
import MutatedSimulator
import Synchronization
import Testing

/// The conformance suite tries itself: in virtual time our core passes all cases, and of a core in which one clause is
/// broken the cases of that clause fail, and no others.
extension MutantTests {
    /// The clause that each mutant breaks, and those whose cases see it as well.
    static let clauses: [Mutant: (broken: String, related: [String])] = [
        .echoesStrangers: ("W-15", []),
        .countsFromOne: ("W-20", []),
        .reservedCounter: ("W-20", []),
        .anyLastWill: ("W-21", []),
        .noReplayWindow: ("W-22", []),
        .unmarkedError: ("W-23", []),
        .markedForgery: ("W-23", []),
        .toleratesErrors: ("W-24", ["W-25", "W-26", "W-27", "W-28", "W-29", "W-21"]),
        .eagerLargerKey: ("L-1", ["L-42", "L-45", "L-21"]),
        .oneTransmission: ("L-4", ["L-13", "L-5", "L-15", "L-49", "L-55"]),
        .longPauses: ("L-5", ["L-19", "L-4", "D-11"]),
        .brokenByForgery: ("L-7", ["W-4", "W-3", "W-18", "L-49"]),
        .answersTwice: ("L-8", []),
        .neverUnderLoad: ("L-9", ["L-10", "L-11"]),
        .anyCookie: ("L-11", ["L-9", "L-10"]),
        .strangeRetry: ("L-13", []),
        .stubbornLargerKey: ("L-14", ["L-15", "L-21"]),
        .rareHellos: ("L-16", ["L-17", "L-43"]),
        .deafToHellos: ("L-17", ["M-5", "M-6", "M-7", "L-43", "L-16", "L-22"]),
        .bareDatagrams: ("L-18", []),
        .oldHello: ("L-22", []),
        .oldEvidence: ("L-23", []),
        .rootedAddress: ("L-24", ["L-26", "L-28", "L-51"]),
        .boundless: ("L-25", []),
        .drownedByes: ("L-25", []),
        .patience: ("L-26", ["L-27", "L-31", "L-44", "L-45", "T-11", "T-12", "L-43", "L-42", "L-23"]),
        .pongAlone: ("L-28", []),
        .rootedPong: ("L-28", ["L-51"]),
        .credulous: ("L-51", ["L-24"]),
        .anyPong: ("L-51", []),
        .anyPongOfOurs: ("L-51", []),
        .generous: ("L-51", ["L-28"]),
        .hastyChecks: ("L-51", []),
        .forgivesGuesses: ("L-51", []),
        .trustsOldRuns: ("L-31", []),
        .oneBye: ("L-32", []),
        .noWill: ("L-33", ["W-21"]),
        .clingsByHand: ("L-35", ["L-34", "D-11"]),
        .unsaidSilence: ("L-44", ["L-32"]),
        .ignoresUnheard: ("L-45", []),
        .crowdedChats: ("L-39", []),
        .forgetfulHello: ("L-47", ["L-16", "M-4", "L-32", "L-53"]),
        .anyTell: ("D-12", []),
        .talkative: ("D-13", []),
        .commandsCount: ("T-3", ["T-10"]),
        .blanksCount: ("T-3", ["T-10"]),
        .repetitionCounts: ("T-4", ["T-9"]),
        .hastyStarts: ("T-5", []),
        .lazyHeartbeats: ("T-8", []),
        .awayTypes: ("T-10", ["T-21"]),
        .longEvidence: ("T-15", ["T-8", "T-13"]),
        .manyStarts: ("T-16", []),
        .oldestFirst: ("T-20", []),
        .everyList: ("T-22", []),
        .everyPresence: ("T-22", []),
        .bargesIn: ("M-2", []),
        .believesTheFuture: ("M-5", ["M-6"]),
        .keepsLostState: ("M-6", ["M-18", "M-5"]),
        .nakedMessages: ("M-9", ["T-10", "T-2"]),
        .wideWindow: ("M-10", ["M-13", "M-6"]),
        .steadyTimer: ("M-11", ["M-5"]),
        .slowRepair: ("M-12", []),
        .endlessQueue: ("M-14", []),
        .oneHoldsAll: ("M-14", []),
        .endlessDelivery: ("M-19", []),
        .hoardsText: ("M-20", []),
        .noTurns: ("M-21", ["M-13"]),
        .silentDuplicates: ("M-15", ["M-16", "M-2", "M-4", "M-7"]),
        .emptyBitmap: ("M-15", []),
        .hoards: ("M-16", ["M-15"]),
        .falseReason: ("M-18", ["W-21", "L-33", "X-2"]),
        .everyRetry: ("L-9", []),
        .manyRuns: ("L-53", []),
        .firstCome: ("L-52", []),
        .everPolite: ("L-55", []),
        .everyResponse: ("L-49", []),
        .strayResponses: ("L-49", []),
        .noHandshakeAfterSleep: ("L-42", ["L-30"]),
    ]

    /// The cases that can be tried in virtual time.
    static let virtualCases = Catalogue.all.filter { $0.group != .discovery && $0.group != .driver }

    /// What the cases find in a core with that mutant. Heavy ones are tried only where they are about its clause.
    private func failures(of mutant: Mutant?) -> [(test: Case, finding: Finding)] {
        activeMutant = mutant
        defer { activeMutant = nil }
        let broken = mutant.flatMap { Self.clauses[$0]?.broken }
        let cases = Self.virtualCases.filter { test in
            guard let broken else { return true }
            return test.load == .light || test.clauses.contains(broken)
        }
        let found = Mutex<[Int: Finding]>([:])
        concurrently(UInt64(cases.count)) { number in
            let test = cases[Int(number)]
            let clock = ContinuousClock.now
            let result = test.run(on: VirtualStage(seed: 2), seed: 1)
            let took = ContinuousClock.now - clock
            if mutant == nil, took > .seconds(2) { print("figure: \(test.id) took \(took)") }
            if case .failed(let finding) = result.outcome { found.withLock { $0[Int(number)] = finding } }
            return true
        }
        return found.withLock { $0 }.sorted { $0.key < $1.key }.map { (cases[$0.key], $0.value) }
    }

    @Test("our core passes the conformance suite in virtual time")
    func conforms() {
        for (test, finding) in failures(of: nil) {
            Issue.record("\(test.id) \(test.title): expected \(finding.expected); \(finding.actual)")
        }
    }

    @Test("a core in which a clause is broken fails the cases of that clause alone", arguments: clauses.keys.sorted())
    func isCaught(_ mutant: Mutant) throws {
        let (broken, related) = try #require(Self.clauses[mutant])
        let failures = failures(of: mutant)
        let ids = failures.map(\.test.id)
        #expect(failures.contains { $0.test.clauses.contains(broken) }, "\(broken) is broken, and \(ids) failed")
        for (test, finding) in failures where Set(test.clauses).isDisjoint(with: [broken] + related) {
            Issue.record(
                "\(broken) is broken, and \(test.id) fails: expected \(finding.expected); \(finding.actual)")
        }
        print("figure: \(mutant.rawValue) (\(broken)): \(ids.joined(separator: " "))")
    }
}

extension Mutant: Comparable {
    package static func < (left: Mutant, right: Mutant) -> Bool { left.rawValue < right.rawValue }
}

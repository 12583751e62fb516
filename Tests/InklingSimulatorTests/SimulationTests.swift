import Foundation
import InklingCore
import InklingSimulator
import ProcessSupport
import Synchronization
import Testing

@Suite("The simulated LAN", .serialized)
struct SimulationTests {
    /// How many seeds one run of the tests takes; `.ci/run` asks for more. Scenarios with removals or with waiting texts,
    /// which take longer, get a quarter of them each.
    private static let seeds = number("INKLING_SEEDS") ?? 200
    /// The first of these seeds; `.ci/run` makes one from each commit's ID, so that each landing runs new seeds.
    private static let first = number("INKLING_FIRST_SEED") ?? 0

    private static func number(_ variable: String) -> UInt64? {
        ProcessInfo.processInfo.environment[variable].flatMap(UInt64.init)
    }

    /// Runs the scenarios of these seeds on all processors.
    private func sum(of seeds: UInt64 = Self.seeds, _ scenario: @Sendable (UInt64) -> Scenario) -> SeedSum {
        let shared = Mutex(SeedSum())
        concurrently(seeds) { number in
            let seed = Self.first &+ number
            let result = Simulation(scenario(seed)).run()
            shared.withLock { $0.add(result, of: seed) }
            return true
        }
        return shared.withLock { $0 }
    }

    /// Returns the results of the first seeds' scenarios, run on all processors.
    private func results(
        of seeds: UInt64, measuresAccuracy: Bool = false, _ scenario: @Sendable (UInt64) -> Scenario
    ) -> [(seed: UInt64, result: Simulation.Result)] {
        let results = Mutex<[UInt64: Simulation.Result]>([:])
        concurrently(seeds) { seed in
            let result = Simulation(scenario(seed), measuresAccuracy: measuresAccuracy).run()
            results.withLock { $0[seed] = result }
            return true
        }
        return results.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    @Test("every promise holds in every scenario that a seed draws (R4, R10 to R16, R22, R24 to R26, R36, R37)")
    func seeds() {
        let sum = sum { Scenario(seed: $0) }
        let (coverage, failed) = (sum.coverage, sum.failed)
        let failures = failed.prefix(5).map { "inkling-sim replay \($0.seed): \($0.violation)" }
        #expect(failed.isEmpty, "\(failures.joined(separator: "\n"))")
        #expect(coverage.runs == Int(Self.seeds))
        #expect(coverage.actions.count >= 20 && coverage.faults.count >= 7, "\(coverage)")
        #expect(coverage.edges.count >= 8 && coverage.presences.count >= 6, "\(coverage)")
        print(
            "figure: \(coverage.runs) seeds from \(Self.first), \(coverage.hosts) nodes, \(coverage.datagrams) datagrams,",
            "\(failed.count) failing"
        )
    }

    @Test("each kept text shows once and in order, over kills of both ends, in every scenario that a seed draws")
    func texts() {
        let sum = sum(of: Self.seeds / 4) { Scenario(textsOf: $0) }
        let failures = sum.failed.prefix(5).map { "inkling-sim replay \($0.seed) --texts: \($0.violation)" }
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        #expect(sum.coverage.counters[.messagesReceived] ?? 0 > 0, "\(sum.coverage.counters)")
        print("figure: \(sum.coverage.runs) seeds with waiting texts from \(Self.first), \(sum.failed.count) failing")
    }

    @Test("an owner's chat keeps removed members out and loses no chosen one, in every scenario that a seed draws")
    func removals() {
        let sum = sum(of: Self.seeds / 4) { Scenario(removalsOf: $0) }
        let failures = sum.failed.prefix(5).map { "inkling-sim replay \($0.seed) --removals: \($0.violation)" }
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        let actions: [Scenario.Action.Kind] = [.remove, .handOver, .renew, .rush, .leak, .forge, .disown]
        #expect(actions.allSatisfy { sum.coverage.actions[$0] ?? 0 > 0 }, "\(sum.coverage.actions)")
        print("figure: \(sum.coverage.runs) seeds with removals from \(Self.first), \(sum.failed.count) failing")
    }

    /// A seed that once failed, and what it needs.
    struct MendedSeed: CustomTestStringConvertible {
        let scenario: Scenario
        let testDescription: String

        init(
            _ seed: UInt64, keeping steps: Set<Int>? = nil, without faults: Set<Scenario.Fault> = [],
            _ description: String
        ) {
            let whole = Scenario(seed: seed)
            scenario = (steps.map(whole.keeping) ?? whole).without(faults)
            testDescription = "\(seed): \(description)"
        }

        init(removalsOf seed: UInt64, keeping steps: Set<Int>? = nil, _ description: String) {
            let whole = Scenario(removalsOf: seed)
            scenario = steps.map(whole.keeping) ?? whole
            testDescription = "\(seed), with removals: \(description)"
        }

        init(textsOf seed: UInt64, _ description: String) {
            scenario = Scenario(textsOf: seed)
            testDescription = "\(seed), with texts: \(description)"
        }
    }

    @Test(
        "a seed that once failed breaks no rule",
        arguments: [
            MendedSeed(7_003_307, "people who return after a suspension are reported at the rate of T-26"),
            MendedSeed(7_009_458, "a text after a return to a snapshot is not taken for an earlier one (L-105)"),
            MendedSeed(7_012_566, "the link of an earlier run goes down beside that of the present one (L-44)"),
            MendedSeed(7_014_617, "a change of the away bit puts no stretched heartbeat off (T-11, T-21)"),
            MendedSeed(7_017_694, "a farewell waits in the socket during an attack"),
            MendedSeed(
                11_760_437, keeping: [15, 20, 21], without: [.loss, .replay],
                "a message waits for a crashed node that had returned to a snapshot (L-83)"),
            MendedSeed(
                10_008_479, keeping: [77, 78], without: [.loss, .bursts],
                "a change of presence waits a second behind those of hostile members (T-26)"),
            MendedSeed(
                10_009_331, keeping: [11, 16], without: [.lateness],
                "a pong behind newer datagrams brings a link up (L-80)"),
            MendedSeed(
                10_010_735, keeping: [10, 30, 49, 50], without: [.duplication],
                "relays make many sessions at once, of which each end chooses one (L-77)"),
            MendedSeed(
                10_029_338, keeping: [32, 69, 72, 73], without: [.loss, .duplication],
                "a message waits for somebody who left while its author slept (L-83)"),
            MendedSeed(
                10_037_189, keeping: [5, 17, 18, 19], without: [.duplication, .lateness],
                "no snapshot is made of a node that has left a chat"),
            MendedSeed(
                10_044_357, keeping: [87, 88], without: [.loss],
                "attempts for an adversary's down links end 5 s after these are forgotten (L-12, L-83)"),
            MendedSeed(
                10_072_877, keeping: [13, 27],
                "initiations beyond the limits of retries and answers cost no agreement (L-96, L-97)"),
            MendedSeed(
                10_078_439, keeping: [], without: [.loss, .bursts, .duplication],
                "instances of two hostile members list one address, which the links of both ping (L-26)"),
            MendedSeed(
                3_006_990, keeping: [0, 23, 29],
                "a ping that a clogged path delayed completes a session that its initiator dropped (L-75)"),
            MendedSeed(
                2_757_520_045, keeping: [8], without: [.lateness],
                "a node leaves a chat of 20 links between two looks at its traffic (T-21)"),
            MendedSeed(588_205_353, "a user goes away and comes back in the second in which six links come up (T-21)"),
            MendedSeed(
                10_092_279, keeping: [16, 18], without: [.loss, .reordering],
                "a chat that the user left and joined again has no repetitions (T-26)"),
            MendedSeed(
                removalsOf: 5_000_212,
                "a response from elsewhere covers no instance, so that another device rests for nobody's bye (L-35)"),
            MendedSeed(
                removalsOf: 5_000_207,
                "a person's new state comes up unnamed, goes down, and is forgotten at once (L-84, L-107)"),
            MendedSeed(removalsOf: 2_866_679_454, "a member follows eight successors after a slow disk (M-93)"),
            MendedSeed(
                removalsOf: 3_160_757_683, keeping: [0, 1, 2, 3, 28, 33, 34, 36, 37],
                "a node opens again soon after it ended a link for lack of a name (L-106)"),
            MendedSeed(removalsOf: 8_000_248, "a member still follows successors 10 s after the faults (M-93)"),
            MendedSeed(removalsOf: 10_003_477, "two members follow successors for more than 10 s (M-93)"),
            MendedSeed(removalsOf: 10_005_828, "a member left a chat and joined it again shortly after meeting (L-32)"),
            MendedSeed(removalsOf: 10_015_010, "an initiator drops a session on which its peer already sends (L-75)"),
            MendedSeed(removalsOf: 10_015_971, "an owner's links come and go between two ticks (M-65)"),
            MendedSeed(removalsOf: 10_016_135, "a node lost a state before it showed the person (L-84, L-103)"),
            MendedSeed(textsOf: 10_008_994, "an attacker repairs a damaged datagram"),
            MendedSeed(textsOf: 10_010_643, "a record arrives on a link that is down beside another device (L-80)"),
            MendedSeed(textsOf: 10_017_606, "texts arrive before the name on a link beside another device (L-85)"),
            MendedSeed(textsOf: 20_000_699, "a name arrives on a link that is still down beside another device (L-80)"),
        ])
    func mended(_ mended: MendedSeed) {
        #expect(Simulation(mended.scenario).run().violation == nil)
    }

    @Test("no device is heard on a link that is down, while another shows the person (L-80)")
    func lostDevices() {
        for (seed, result) in results(of: 40, { .lostDevices(seed: $0) }) {
            #expect(result.violation == nil, "seed \(seed)")
        }
    }

    @Test("a heartbeat that follows a late name is no early one, after a chat was left and joined again (L-82)")
    func lateNames() {
        for (seed, result) in results(of: 100, { .rejoining(seed: $0) }) {
            #expect(result.violation == nil, "seed \(seed)")
        }
    }

    @Test("two runs of a seed are equal to the byte", arguments: [1, 12, 123, 1_234, 12_345] as [UInt64])
    func replay(_ seed: UInt64) {
        let first = Simulation(Scenario(seed: seed)).run()
        let second = Simulation(Scenario(seed: seed)).run()
        #expect(first == second)
        #expect(first.coverage.datagrams > 0)
        #expect(first.digest != Simulation(Scenario(seed: seed + 1)).run().digest)
    }

    @Test("of the time typed over 99 % shows, and of the time shown under 2 % is false (R32)")
    func accuracy() {
        for loss in Scenario.Loss.measured {
            var accuracy = Accuracy()
            let runs = results(of: 2, measuresAccuracy: true) { .writing(seed: $0, minutes: 3, loss: loss) }
            for (_, result) in runs {
                #expect(result.violation == nil)
                accuracy.add(result.accuracy)
            }
            #expect(accuracy.coveragePerMille > 990, "\(loss.name)")
            #expect(accuracy.truthPerMille > 980, "\(loss.name)")
            #expect(accuracy.typed > 60_000)
            #expect(accuracy.flickers <= (loss.perMille > 100 || loss.bursts > 0 ? 1 : 0), "\(loss.name)")
            let shares = "\(accuracy.coveragePerMille) of 1,000 shown, \(accuracy.truthPerMille) of 1,000 true"
            print("figure: \(loss.name) lost: \(shares), \(accuracy.flickers) flickers")
        }
    }

    @Test("with one datagram in ten lost nobody is declared offline who is there, hour after hour (R22, R24)")
    func offline() {
        let loss = Scenario.Loss(name: "10 %", perMille: 100)
        var offline = 0
        let runs = results(of: 4, measuresAccuracy: true) { .idle(seed: $0, minutes: 60, loss: loss) }
        for (_, result) in runs {
            #expect(result.violation == nil && result.coverage.virtualSeconds >= 3_600)
            offline += result.coverage.presences[.silence] ?? 0
        }
        #expect(offline == 0)
    }

    @Test("the promises hold in larger chats too", arguments: [12, 20, 30, 50])
    func manyHosts(_ hosts: Int) {
        for (seed, result) in results(of: hosts < 50 ? 5 : 2, { Scenario(seed: $0, hosts: hosts) }) {
            #expect(
                result.violation == nil, "inkling-sim replay \(seed) --hosts \(hosts): \(result.violation as Any)")
        }
    }

    @Test("sixty nodes in one chat meet, type and talk, and who falls silent is gone in time")
    func crowd() {
        let result = Simulation(.crowd(seed: 1, hosts: 60, seconds: 10)).run()
        #expect(result.violation == nil)
        #expect(result.coverage.presences[.hello] ?? 0 >= 60 * 59)
    }

    @Test("a restart in the middle of an opening costs a second at most (L-102)")
    func restartedOpening() {
        for seed in 0..<UInt64(200) {
            let scenario = Scenario.restartedOpening(seed: seed)
            var shown: [Instant] = []
            let result = Simulation(scenario) { instant, text in
                if text.contains(" online ") { shown.append(instant) }
            }.run()
            #expect(result.violation == nil, "seed \(seed)")
            guard let restart = scenario.steps.last?.at, let last = shown.last else {
                Issue.record("seed \(seed): nobody is shown")
                continue
            }
            // The larger key leaves the first attempt to the other for 300 ms (L-1).
            let latest = restart + Scenario.restartedDiscovery + 1_300
            #expect(
                last.nanoseconds / 1_000_000 <= latest, "seed \(seed): \(last.nanoseconds / 1_000_000) of \(latest)")
        }
    }

    @Test("steps and faults can be left out of a scenario, to narrow a failure down")
    func narrowing() {
        let scenario = Scenario(seed: 5)
        #expect(Set(scenario.keeping([]).steps.map(\.number)).isEmpty)
        #expect(scenario.without(scenario.faults).faults.isEmpty)
        let some = Set(scenario.steps.map(\.number).filter { $0 % 2 == 0 })
        #expect(Set(scenario.keeping(some).steps.map(\.number)) == some)
    }
}

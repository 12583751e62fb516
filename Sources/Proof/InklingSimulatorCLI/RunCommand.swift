import ArgumentParser
import Dispatch
import Foundation
import InklingSimulator
import Synchronization

/// Runs many seeds, and says what they covered.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run many seeds, and narrow down the first failures.")

    @Option(help: "Set how many seeds run.") var seeds = 1_000
    @Option(help: "Begin with this seed.") var first: UInt64 = 0
    @Option(help: "Set how many run at once; 0 for one per processor.") var jobs = 0
    @Option(help: "Set the number of hosts, 2 to 50 (default: each seed draws it).") var hosts: Int?
    @Option(help: "End after this many failures.") var failures = 5
    @Flag(help: "Print a line every 10,000 seeds.") var progress = false
    @Flag(help: "Let the owner of a private chat remove members in each seed.") var removals = false
    @Flag(help: "Let nodes keep texts for people who are away in each seed.") var texts = false

    func validate() throws {
        guard seeds > 0 else { throw ValidationError("--seeds: at least 1.") }
        guard failures > 0 else { throw ValidationError("--failures: at least 1.") }
        guard hosts.map({ (2...50).contains($0) }) ?? true else { throw ValidationError("--hosts: 2 to 50.") }
    }

    func run() throws {
        let start = ContinuousClock.now
        let workers = jobs > 0 ? jobs : ProcessInfo.processInfo.activeProcessorCount
        let shared = Mutex(SeedSum())
        let next = Atomic<UInt64>(0)
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while shared.withLock({ $0.failed.count }) < failures {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < UInt64(seeds) else { return }
                let seed = first &+ index
                let result = Simulation(scenario(seed)).run()
                if let violation = result.violation { show("seed \(seed) breaks: \(violation)") }
                let (runs, failed) = shared.withLock { sum in
                    sum.add(result, of: seed)
                    return (sum.coverage.runs, sum.failed.count)
                }
                if progress, runs % 10_000 == 0 {
                    show("\(runs) seeds after \(seconds(since: start)) s, \(failed) failed")
                }
            }
        }
        let sum = shared.withLock { $0 }
        let time = max(seconds(since: start), 1)
        show(report(sum.coverage))
        for failure in sum.failed.sorted(by: { $0.seed < $1.seed }) { show(describe(failure.seed, failure.violation)) }
        show("\(sum.coverage.runs) seeds in \(time) s, \(sum.coverage.runs / time) a second on \(workers) threads")
        show("\(sum.coverage.runs - sum.failed.count) passed, \(sum.failed.count) failed")
        if !sum.failed.isEmpty { throw ExitCode.failure }
    }

    private func describe(_ seed: UInt64, _ violation: Violation) -> String {
        let shrinking = Shrinking(scenario(seed), breaking: violation.rule)
        let whole =
            "inkling-sim replay \(seed)" + (hosts.map { " --hosts \($0)" } ?? "") + (removals ? " --removals" : "")
            + (texts ? " --texts" : "")
        var command = whole
        if !shrinking.hasAllSteps {
            command +=
                " --keep \(shrinking.kept.isEmpty ? "none" : shrinking.kept.map(String.init).joined(separator: ","))"
        }
        if !shrinking.without.isEmpty {
            command += " --without \(shrinking.without.map(\.rawValue).joined(separator: ","))"
        }
        return "seed \(seed): \(violation)\n  to replay it: \(whole)\n  the smallest case that fails: \(command)"
    }

    private func scenario(_ seed: UInt64) -> Scenario {
        if texts { return Scenario(textsOf: seed) }
        return removals ? Scenario(removalsOf: seed) : Scenario(seed: seed, hosts: hosts)
    }

    private func seconds(since start: ContinuousClock.Instant) -> Int { Int((.now - start).components.seconds) }
}

/// Prints a line at once, into a pipe as well.
func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

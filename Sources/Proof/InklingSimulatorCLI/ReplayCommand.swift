import ArgumentParser
import InklingSimulator

/// Runs one seed again and prints all that happens.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Run one seed again, with a line for everything that happens.")

    @Argument(help: "The seed.") var seed: UInt64
    @Option(help: "Keep only these steps of the scenario, such as 3,17,40, or none.") var keep: String?
    @Option(help: "Leave out these faults, such as loss,adversary.") var without: String?
    @Option(help: "Repeat the number of hosts that the run was given.") var hosts: Int?
    @Flag(help: "Replay a seed of `run --removals`.") var removals = false
    @Flag(help: "Replay a seed of `run --texts`.") var texts = false
    @Flag(help: "Print only the outcome.") var quiet = false

    func run() throws {
        var scenario =
            texts
            ? Scenario(textsOf: seed) : removals ? Scenario(removalsOf: seed) : Scenario(seed: seed, hosts: hosts)
        if let keep {
            let numbers = keep == "none" ? [] : keep.split(separator: ",").map { Int($0) }
            guard !numbers.contains(nil) else { throw ValidationError("--keep: numbers of steps, such as 3,17,40.") }
            scenario = scenario.keeping(Set(numbers.compactMap(\.self)))
        }
        if let without {
            let faults = without.split(separator: ",").map { Scenario.Fault(rawValue: String($0)) }
            guard !faults.contains(nil) else {
                let known = Scenario.Fault.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--without: some of \(known).")
            }
            scenario = scenario.without(Set(faults.compactMap(\.self)))
        }
        show(
            "seed \(seed): \(scenario.hosts.count) hosts, \(scenario.steps.count) steps, faults: "
                + (scenario.faults.isEmpty ? "none" : scenario.faults.map(\.rawValue).sorted().joined(separator: ", "))
                + (scenario.adversary.map { "; attacks: " + $0.attacks.map(\.rawValue).joined(separator: ", ") } ?? ""))
        let simulation = Simulation(scenario) { instant, text in
            if !quiet { show("\(milliseconds(instant.nanoseconds)) \(text)") }
        }
        let result = simulation.run()
        show("digest \(String(result.digest, radix: 16)), the same in each run")
        show(result.violation.map { "\($0)" } ?? "nothing broke")
        if result.violation != nil { throw ExitCode.failure }
    }

    private func milliseconds(_ nanoseconds: Int64) -> String {
        let text = String(nanoseconds / 1_000 % 1_000_000 + 1_000_000).dropFirst()
        return "\(nanoseconds / 1_000_000_000).\(text)"
    }
}

import ArgumentParser
import InklingSimulator

/// How true the indicator is, for each rate of loss (R32).
struct AccuracyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accuracy", abstract: "Measure how true the indicator is while the network loses datagrams.")

    @Option(help: "Set the minutes of virtual time for each rate and seed.") var minutes = 10
    @Option(help: "Set how many seeds run for each rate.") var seeds: UInt64 = 5

    func run() throws {
        show("loss: of the time typed shown, of the time shown true, flickers")
        for loss in Scenario.Loss.measured {
            var accuracy = Accuracy()
            for seed in 0..<seeds {
                let scenario = Scenario.writing(seed: seed, minutes: minutes, loss: loss)
                let result = Simulation(scenario, measuresAccuracy: true).run()
                try refuse(result.violation, of: "seed \(seed) at \(loss.name)")
                accuracy.add(result.accuracy)
            }
            let (shown, truth) = (percent(accuracy.coveragePerMille), percent(accuracy.truthPerMille))
            show("\(loss.name): \(shown), \(truth), \(accuracy.flickers) in \(accuracy.typed / 60_000) min typed")
        }
    }

    private func percent(_ perMille: Int) -> String { "\(perMille / 10).\(perMille % 10) %" }
}

/// How often a peer that is there is declared offline.
struct IdleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle", abstract: "Count how often a living peer is declared offline, hour by hour.")

    @Option(help: "Set how many links run, each for an hour of virtual time.") var links: UInt64 = 100
    @Option(help: "Set the loss in percent, 0 to 90.") var loss = 10

    func validate() throws {
        guard (0...90).contains(loss) else { throw ValidationError("--loss: 0 to 90.") }
    }

    func run() throws {
        var offline = 0
        for seed in 0..<links {
            let loss = Scenario.Loss(name: "", perMille: loss * 10, bursts: 0)
            let result = Simulation(.idle(seed: seed, minutes: 60, loss: loss), measuresAccuracy: true).run()
            try refuse(result.violation, of: "link \(seed)")
            offline += result.coverage.presences[.silence] ?? 0
        }
        show("\(links) hours of a link with \(loss) % lost: \(offline) times wrongly offline")
    }
}

/// A run that broke a rule ended early, and measures nothing.
private func refuse(_ violation: Violation?, of run: String) throws {
    guard let violation else { return }
    show("\(run): \(violation)")
    throw ExitCode.failure
}

/// Many nodes in one chat.
struct CrowdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd", abstract: "Run a chat of many nodes until all have met, typed and talked.")

    @Option(help: "Set how many nodes run, 2 to 1,024.") var nodes = 1_000
    @Option(help: "Set the seconds of virtual time before the last round of typing and talking.") var seconds = 30

    func validate() throws {
        guard (2...1_024).contains(nodes) else { throw ValidationError("--nodes: 2 to 1,024.") }
    }

    func run() throws {
        let result = Simulation(.crowd(seed: 1, hosts: nodes, seconds: seconds)).run()
        show(report(result.coverage))
        show("the busiest node sent \(result.busiest) datagrams in a second")
        show(result.violation.map { "\($0)" } ?? "nothing broke")
        if result.violation != nil { throw ExitCode.failure }
    }
}

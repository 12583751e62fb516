import ArgumentParser
import InklingSimulator

/// Runs a main path of the core, for a profiler that counts instructions.
struct CostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cost",
        abstract: "Run one of the core's main paths many times.",
        discussion: """
            To count the instructions of a path: valgrind --tool=callgrind --collect-atstart=no \
            --toggle-collect='*measuredHeartbeat*' inkling-sim cost heartbeat (or measuredEdge, measuredHandshake).
            """)

    @Argument(help: "heartbeat, edge or handshake.") var path: String
    @Option(help: "Set how often.") var count = 100

    func validate() throws {
        guard CostWorkload.Path(rawValue: path) != nil else {
            let known = CostWorkload.Path.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("'\(path)' is not one of \(known).")
        }
        guard (1...100_000).contains(count) else { throw ValidationError("--count: 1 to 100,000.") }
    }

    func run() throws {
        guard let path = CostWorkload.Path(rawValue: path) else { return }
        let done = CostWorkload.run(path, count: count)
        show("\(path.rawValue): \(done) times")
        if done != count { throw ExitCode.failure }
    }
}

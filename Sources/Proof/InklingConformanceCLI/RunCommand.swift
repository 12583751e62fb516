import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import InklingConformance

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Test a program.",
        discussion: """
            The program is started first to see that it gets ready. If it doesn't in \(StartCheck.tries) tries, no case is \
            run, and all count as failed.

            Exit status: 0 if nothing failed, 1 if something failed, 2 if no case could be tried, 64 for a usage error.

            Example: inkling-conformance run -- inkling chat --json --no-config
            """)

    @OptionGroup var selection: Selection

    @Flag(help: "Count recommendations (SHOULD) that are not followed as failures.")
    var strict = false

    @Option(help: "Run this many cases at the same time.")
    var parallel = 12

    @Option(help: "Repeat a run: use its number for keys and indices.")
    var seed: UInt64?

    @Flag(help: "Test discovery too. This announces service instances on your networks.")
    var discovery = false

    @Option(help: ArgumentHelp("Write the report as JSON to a file.", valueName: "file"))
    var json: String?

    @Option(help: ArgumentHelp("Write the report as JUnit XML to a file.", valueName: "file"))
    var junit: String?

    @Option(
        help: ArgumentHelp(
            "Write the JSON lines of all programs to a file, for Scripts/conformance.d/schema.py.", valueName: "file"))
    var transcript: String?

    @Flag(help: "Print what failed and the summary alone.")
    var quiet = false

    @Argument(parsing: .postTerminator, help: "The command that starts the program under test.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Give the command that starts the program, after --.") }
        guard (1...64).contains(parallel) else { throw ValidationError("--parallel takes 1 to 64.") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        var cases = try selection.cases()
        if !discovery {
            cases.removeAll { $0.group == .discovery }
            guard !cases.isEmpty else {
                throw ValidationError("Only cases about discovery are chosen: add --discovery to run them.")
            }
        }
        let seed = seed ?? UInt64.random(in: 0..<1_000_000_000)
        let runner = Runner(
            command: command, cases: cases, seed: seed, parallel: parallel, usesDiscovery: discovery,
            transcript: try transcript.map { path in try Transcript(path: path) })
        let suite = CommandLine.arguments[0]
        func report(_ results: [CaseResult], _ duration: Duration) -> Report {
            Report(
                results: results, isStrict: strict, seed: seed, duration: duration, suite: suite, command: command)
        }
        let silent = report([], .zero)
        let (results, duration) = runner.run { result in
            guard !quiet else { return }
            print(silent.line(for: result))
            fflush(nil)
        }
        let report = report(results, duration)
        for finding in report.findings { print("\n" + finding) }
        if let json { try write(runner.text(of: report.json) + "\n", to: json) }
        if let junit { try write(report.junit, to: junit) }
        print("\nSeed \(seed), \(duration.text).\n\(report.summary)")
        if report.count(.failed) > 0 { throw ExitCode(1) }
        if report.count(.passed) == 0 { throw ExitCode(2) }
    }

    private func write(_ text: String, to path: String) throws {
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw ValidationError("Can't write \(path): \(error)")
        }
    }
}

import ArgumentParser
import FoundationEssentials
import InklingConformance

struct CoverageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coverage", abstract: "Print which cases and vectors prove each clause.",
        discussion:
            "Exit status: 1 where a clause has neither a case nor a reason, or where --check finds a difference.")

    @Option(help: "Compare the table with a file instead of printing it.")
    var check: String?

    func run() throws {
        let coverage = Coverage()
        for gap in coverage.gaps { print(gap) }
        if let check {
            guard let bytes = FileManager.default.contents(atPath: check) else {
                throw ValidationError("Can't read \(check).")
            }
            if String(decoding: bytes, as: UTF8.self) != coverage.markdown {
                print("\(check) is out of date: run inkling-conformance coverage > \(check)")
                throw ExitCode(1)
            }
        } else {
            print(coverage.markdown, terminator: "")
        }
        if !coverage.gaps.isEmpty { throw ExitCode(1) }
    }
}

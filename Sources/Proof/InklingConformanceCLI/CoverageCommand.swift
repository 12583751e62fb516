import ArgumentParser
import FoundationEssentials
import InklingConformance

struct CoverageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coverage", abstract: "Print which cases and vectors prove each clause.",
        discussion:
            "Exit status: 1 where a clause has neither a case nor a reason, or where --check finds a difference.")

    @Option(help: "Read the vectors from this directory.")
    var vectors = "Protocol/vectors"

    @Option(help: "Compare the table with a file instead of printing it.")
    var check: String?

    func run() throws {
        let coverage = Coverage(vectors: try clausesOfVectors())
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

    /// The files that name each clause.
    private func clausesOfVectors() throws -> [String: [String]] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: vectors) else {
            throw ValidationError("Can't read the directory \(vectors). Give another with --vectors.")
        }
        var files: [String: [String]] = [:]
        for name in names.sorted() where name.hasSuffix(".json") && !name.hasSuffix(".schema.json") {
            guard
                let bytes = FileManager.default.contents(atPath: vectors + "/" + name),
                let value = try? JSONDecoder().decode(JSONValue.self, from: bytes)
            else { throw ValidationError("\(vectors)/\(name) is not valid JSON.") }
            for clause in clauses(in: value) { files[clause, default: []].append(name) }
        }
        return files
    }

    private func clauses(in value: JSONValue) -> Set<String> {
        switch value {
        case .array(let values): values.reduce(into: []) { $0.formUnion(clauses(in: $1)) }
        case .object(let members):
            members.reduce(into: []) { found, member in
                if member.key == "clauses" {
                    found.formUnion((member.value.array ?? []).compactMap(\.string))
                } else {
                    found.formUnion(clauses(in: member.value))
                }
            }
        case .null, .boolean, .number, .string: []
        }
    }
}

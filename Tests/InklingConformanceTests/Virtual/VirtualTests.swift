import InklingConformance
import Testing

/// The cases on the core alone. `Scripts/conformance` runs the others, and all of them with `--all`, on real programs.
@Suite("The core, by the conformance suite in virtual time")
struct VirtualTests {
    @Test("passes each case that needs no more than the protocol", arguments: Catalogue.all.filter { $0.need == nil })
    func passes(_ test: Case) {
        // A case keeps its keys, whichever cases there are.
        let seed = test.id.utf8.reduce(1) { $0 &* 31 &+ UInt64($1) }
        let result = test.run(on: VirtualStage(seed: ~seed), seed: seed)
        switch result.outcome {
        case .passed: break
        case .failed(let finding):
            let trace = result.trace.suffix(16).joined(separator: "\n")
            Issue.record(
                "\(test.id), \(test.title): expected \(finding.expected), but \(finding.actual).\n\(trace)")
        case .unsupported, .skipped, .notRun: Issue.record("\(test.id), \(test.title): \(result.outcome)")
        }
    }

    @Test("runs all cases but those that name their need")
    func needs() {
        let counts = Dictionary(grouping: Catalogue.all, by: \.need).mapValues(\.count)
        #expect(
            counts == [nil: 502, .program: 77, .discovery: 32, .node: 4], "a new case runs here, or names its need")
        let reasons = Case.Need.allCases.map { "\(counts[$0] ?? 0) need \($0.rawValue)" }
        print("figure: \(counts[nil] ?? 0) of \(Catalogue.all.count) cases; \(reasons.joined(separator: ", "))")
    }
}

extension Case: CustomTestStringConvertible {
    package var testDescription: String { "\(id) \(title)" }
}

import InklingConformance
import Testing

@Suite("The report of a run")
struct ReportTests {
    private static let must = Case("W-14.9", "an ask is <answered> & \"told\"") { _ in }
    private static let should = Case("L-33.9", "a will is kept") { _ in }

    private func result(of test: Case, _ outcome: CaseResult.Outcome) -> CaseResult {
        CaseResult(test: test, outcome: outcome, duration: .milliseconds(1_250), trace: ["0 ms a > b 15ff"])
    }

    private func report(
        _ results: [CaseResult], isStrict: Bool = false, command: [String] = ["node", "--json"]
    ) -> Report {
        Report(
            results: results, isStrict: isStrict, seed: 7, duration: .seconds(2), suite: "inkling-conformance",
            command: command)
    }

    private let finding = Finding(expected: "a tell", actual: "nothing came")

    @Test("a recommendation that is not followed is a warning, and a failure where the run is strict")
    func levels() {
        let results = [
            result(of: Self.must, .failed(finding)), result(of: Self.should, .failed(finding)),
            result(of: Self.must, .passed), result(of: Self.must, .unsupported(.load)),
            result(of: Self.must, .skipped("no daemon")),
        ]
        #expect(report(results).summary == "1 passed, 1 failed, 1 warning, 1 unsupported, 1 skipped")
        #expect(report(results, isStrict: true).summary == "1 passed, 2 failed, 1 unsupported, 1 skipped")
    }

    @Test("a failure quotes its clause, what was expected, what came, and the datagrams")
    func details() {
        let text = report([]).details(of: result(of: Self.must, .failed(finding)))
        for part in [
            "MUST [W-14] A node MUST send the last 48 bytes", "Expected: a tell", "Actual:   nothing came", "15ff",
            "  Try it again: inkling-conformance run --only W-14.9 --seed 7 -- node --json",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
        #expect(report([]).line(for: result(of: Self.must, .unsupported(.load))).contains("leaves out load"))
    }

    @Test("the steps of a clause are quoted on lines of their own")
    func steps() throws {
        let test = Case("L-8.9", "its order is kept") { _ in }
        let lines = report([]).details(of: result(of: test, .failed(finding))).split(separator: "\n")
        try #require(lines.count > 11)
        #expect(lines[1].hasPrefix("  MUST [L-8] A node MUST check") && lines[2].hasPrefix("    1. form (W-12, W-13)"))
        #expect(lines[11] == "  Expected: a tell", "\(lines)")
    }

    @Test("the command that tries a case again is the one that was given, for a shell")
    func again() {
        let command = ["./my node", "it's", "", "$HOME", "--key=a/b:1,c@d_e.f+g%h", "a;b", "~"]
        var test = Case("D-1.9", "it is found") { _ in }
        test.group = .discovery
        let text = report([], isStrict: true, command: command).details(of: result(of: test, .failed(finding)))
        let expected =
            "run --only D-1.9 --seed 7 --strict --discovery --"
            + #" './my node' 'it'\''s' '' '$HOME' --key=a/b:1,c@d_e.f+g%h 'a;b' '~'"#
        #expect(text.hasSuffix(expected), "\(text)")
    }

    @Test("cases that were not run count as failed, whatever their level, and say why once")
    func notRun() throws {
        let silent = Finding(expected: "the line `ready`", actual: "nothing came")
        let results = [result(of: Self.must, .notRun(silent)), result(of: Self.should, .notRun(silent))]
        let report = report(results)
        #expect(report.summary == "0 passed, 2 failed" && report.findings.count == 1)
        let text = try #require(report.findings.first)
        for part in [
            "failed: the program does not get ready, so 2 cases were not run", "MUST [J-3] The first line MUST be",
            "Actual:   nothing came", "--only W-14.9 --seed 7 -- node --json",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
        #expect(report.line(for: results[1]).hasPrefix("failed      L-33.9"))
        #expect(report.line(for: results[1]).hasSuffix(": not run, as the program does not get ready"))
        #expect(report.json["cases"]?.array?.last?["actual"] == "nothing came")
        #expect(report.json["counts"]?["failed"]?.integer == 2)
        #expect(report.junit.contains("failures=\"2\"") && report.junit.contains("not get ready: nothing came\"/>"))
    }

    @Test("JSON has each case with its verdict and finding")
    func json() {
        let json = report([result(of: Self.must, .failed(finding)), result(of: Self.should, .passed)]).json
        #expect(json["counts"]?["failed"]?.integer == 1 && json["counts"]?["passed"]?.integer == 1)
        let failed = json["cases"]?.array?.first
        #expect(failed?["id"] == "W-14.9" && failed?["verdict"] == "failed" && failed?["expected"] == "a tell")
        #expect(failed?["seconds"]?.number == 1.25)
    }

    @Test("JUnit XML is escaped, and counts failures and what was left out")
    func junit() {
        let control = Finding(expected: "a tell", actual: "\u{1B}[31m & \u{0}")
        let text = report([
            result(of: Self.must, .failed(control)), result(of: Self.must, .skipped("no daemon")),
        ]).junit
        #expect(text.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""))
        #expect(text.contains("an ask is &lt;answered&gt; &amp; &quot;told&quot;"))
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    }

    @Test("times are read easily", arguments: [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (1_250, "1.25 s")])
    func times(_ milliseconds: Int, _ text: String) { #expect(Duration.milliseconds(milliseconds).text == text) }
}

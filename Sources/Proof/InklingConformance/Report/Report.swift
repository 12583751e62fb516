/// The results of a run, and their presentation.
package struct Report: Sendable {
    package let results: [CaseResult]
    /// Whether a failed recommendation counts as a failure.
    package let isStrict: Bool
    /// The seed of the run. The same seed gives the same keys and indices.
    package let seed: UInt64
    package let duration: Duration
    /// The command line that started the suite.
    package let suite: String
    /// The command line that starts the program under test.
    package let command: [String]

    package init(
        results: [CaseResult], isStrict: Bool, seed: UInt64, duration: Duration, suite: String, command: [String]
    ) {
        self.results = results
        self.isStrict = isStrict
        self.seed = seed
        self.duration = duration
        self.suite = suite
        self.command = command
    }

    /// The verdict of this report on a result.
    package enum Verdict: String, CaseIterable, Sendable {
        case passed, failed, warning, unsupported, skipped
    }

    package func verdict(of result: CaseResult) -> Verdict {
        switch result.outcome {
        case .passed: .passed
        case .failed: result.test.clause.level == .should && !isStrict ? .warning : .failed
        case .notRun: .failed
        case .unsupported: .unsupported
        case .skipped: .skipped
        }
    }

    package func count(_ verdict: Verdict) -> Int { results.count { self.verdict(of: $0) == verdict } }

    /// The last line of the report.
    package var summary: String {
        var text = "\(count(.passed)) passed, \(count(.failed)) failed"
        for verdict in [Verdict.warning, .unsupported, .skipped] where count(verdict) > 0 {
            text += ", \(count(verdict)) " + (verdict == .warning && count(verdict) > 1 ? "warnings" : verdict.rawValue)
        }
        return text
    }

    // MARK: Text

    /// A result on one line.
    package func line(for result: CaseResult) -> String {
        let word = verdict(of: result).rawValue
        let padding = String(repeating: " ", count: max(1, 12 - word.count))
        let number = result.test.id + String(repeating: " ", count: max(1, 8 - result.test.id.count))
        var line = "\(word)\(padding)\(number)\(result.test.title) (\(result.duration.text))"
        switch result.outcome {
        case .unsupported(let feature): line += ": the program leaves out \(feature.rawValue)"
        case .skipped(let reason): line += ": \(reason)"
        case .notRun: line += ": not run, as the program does not get ready"
        case .passed, .failed: break
        }
        return line
    }

    /// The failures, each on several lines. If the program did not become ready, one failure stands for all cases that
    /// did not run.
    package var findings: [String] {
        var findings: [String] = []
        let notRun = results.compactMap { result in
            if case .notRun(let finding) = result.outcome { (test: result.test, finding: finding) } else { nil }
        }
        if let first = notRun.first, let clause = Clause.all["J-3"] {
            let count = notRun.count == 1 ? "the case was" : "\(notRun.count) cases were"
            let head = "failed: the program does not get ready, so \(count) not run"
            findings.append((lines(head, clause, first.finding) + [again(first.test)]).joined(separator: "\n"))
        }
        return findings + results.filter(\.outcome.isFailure).map(details(of:))
    }

    /// Describes a failed case on several lines.
    package func details(of result: CaseResult) -> String {
        guard case .failed(let finding) = result.outcome else { return "" }
        let head = "\(verdict(of: result).rawValue): \(result.test.id) \(result.test.title)"
        var lines = lines(head, result.test.clause, finding)
        if !result.trace.isEmpty {
            lines.append("  The last datagrams (time, from > to, bytes):")
            lines += result.trace.suffix(24).map { "    " + $0 }
        }
        return (lines + [again(result.test)]).joined(separator: "\n")
    }

    private func lines(_ head: String, _ clause: Clause, _ finding: Finding) -> [String] {
        let text = clause.text.split(separator: "\n").joined(separator: "\n    ")
        return [
            head, "  \(clause.level.rawValue) [\(clause.number)] \(text)", "  Expected: \(finding.expected)",
            "  Actual:   \(finding.actual)",
        ]
    }

    /// Returns the shell command that repeats a case.
    private func again(_ test: Case) -> String {
        var words = [suite, "run", "--only", test.id, "--seed", String(seed)]
        if isStrict { words.append("--strict") }
        if test.group == .discovery { words.append("--discovery") }
        return "  Try it again: " + (words + ["--"] + command).map(Report.quoted).joined(separator: " ")
    }

    /// Quotes a word for a POSIX shell.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "_@%+=:,./-".utf8.contains(byte)
            }
        }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    // MARK: JSON

    package var json: JSONValue {
        var counts: [String: JSONValue] = [:]
        for verdict in Verdict.allCases { counts[verdict.rawValue] = .number(Double(count(verdict))) }
        return [
            "suite": "inkling-conformance", "seed": .string(String(seed)), "strict": .boolean(isStrict),
            "seconds": .number(duration.seconds), "counts": .object(counts), "cases": .array(results.map(json(of:))),
        ]
    }

    private func json(of result: CaseResult) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(result.test.id), "title": .string(result.test.title),
            "clauses": .array(result.test.clauses.map { .string($0) }), "group": .string(result.test.group.rawValue),
            "level": .string(result.test.clause.level.rawValue), "verdict": .string(verdict(of: result).rawValue),
            "seconds": .number(result.duration.seconds),
        ]
        switch result.outcome {
        case .passed: break
        case .failed(let finding):
            members["clause"] = .string(result.test.clause.text)
            members["expected"] = .string(finding.expected)
            members["actual"] = .string(finding.actual)
            members["datagrams"] = .array(result.trace.map { .string($0) })
        case .notRun(let finding):
            members["reason"] = "not run, as the program does not get ready"
            members["expected"] = .string(finding.expected)
            members["actual"] = .string(finding.actual)
        case .unsupported(let feature): members["unsupported"] = .string(feature.rawValue)
        case .skipped(let reason): members["reason"] = .string(reason)
        }
        return .object(members)
    }

    // MARK: JUnit

    /// The report in JUnit's XML format, which build servers read.
    package var junit: String {
        let left = count(.unsupported) + count(.skipped)
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites><testsuite name=\"inkling-conformance\" tests=\"\(results.count)\" failures=\"\(count(.failed))\""
                + " errors=\"0\" skipped=\"\(left)\" time=\"\(duration.seconds)\">",
        ]
        for result in results {
            let head =
                "<testcase classname=\"inkling.\(result.test.group.rawValue)\""
                + " name=\"\(Report.xml(result.test.id + " " + result.test.title))\" time=\"\(result.duration.seconds)\""
            switch (verdict(of: result), result.outcome) {
            case (.failed, .failed(let finding)):
                lines.append(head + "><failure message=\"\(Report.xml("expected: " + finding.expected))\">")
                lines.append(Report.xml(details(of: result)) + "</failure></testcase>")
            case (_, .notRun(let finding)):
                let message = "not run, as the program does not get ready: \(finding.actual)"
                lines.append(head + "><failure message=\"\(Report.xml(message))\"/></testcase>")
            case (_, .unsupported(let feature)):
                lines.append(head + "><skipped message=\"the program leaves out \(feature.rawValue)\"/></testcase>")
            case (_, .skipped(let reason)):
                lines.append(head + "><skipped message=\"\(Report.xml(reason))\"/></testcase>")
            case (.warning, _):
                lines.append(head + "><system-out>\(Report.xml(details(of: result)))</system-out></testcase>")
            default: lines.append(head + "/>")
            }
        }
        lines.append("</testsuite></testsuites>")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns text without characters that XML 1.0 forbids.
    static func xml(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\t", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...:
                result.unicodeScalars.append(scalar)
            default: result += "\u{FFFD}"
            }
        }
        return result
    }
}

extension Duration {
    /// The time in seconds, precise to a millisecond.
    package var seconds: Double { Double(milliseconds) / 1_000 }
}

/// The cases and vectors that prove each clause of the specification.
package struct Coverage: Sendable {
    package init() {}

    /// The files of vectors that prove each clause, such as `frames.json`, sorted by name.
    private let vectors = Specification.vectorFiles.reduce(into: [String: [String]]()) { files, name in
        guard let value = Specification.vectors[name] else { return }
        for clause in Coverage.clauses(in: value) { files[clause, default: []].append("\(name).json") }
    }

    private let clauses = Clause.listed.sorted { Clause.isOrdered($0.number, $1.number) }

    /// Returns the numbers of the cases that prove a clause.
    private func cases(of clause: Clause) -> [String] {
        Catalogue.all.filter { $0.clauses.contains(clause.number) }.map(\.id)
    }

    /// The clauses without a case and without a reason, and the clauses with both.
    package var gaps: [String] {
        clauses.compactMap { clause in
            switch (cases(of: clause).isEmpty, Clause.unseen[clause.number]) {
            case (true, nil): "\(clause.number) has no case, and no reason for that"
            case (false, .some): "\(clause.number) has a case, and a reason for having none"
            case (true, .some), (false, nil): nil
            }
        }
            + Clause.unseen.keys.sorted(by: Clause.isOrdered).filter { Clause.all[$0] == nil }.map {
                "\($0) is no clause"
            }
    }

    /// The whole table in Markdown.
    package var markdown: String {
        let seen = clauses.count { !cases(of: $0).isEmpty }
        var lines = [
            "# What proves each clause", "",
            "Made by `inkling-conformance coverage`: don't edit it. A case tries a running program from outside;"
                + " `inkling-conformance list` says what each does. A vector is a case of the files in"
                + " [vectors](vectors/README.md).", "",
            "The clauses come in the order of the [texts](README.md#conventions), and by number. `W-24.1` is the first case"
                + " that was written for W-24. `W-24.v1` is made from vectors: from all of one kind, or from one sequence"
                + " or timeline. The timelines of links.json and of a receiver of typing begin at `v101`. A case has the number of"
                + " the first clause that it proves, and is in the row of each.", "",
            "\(clauses.count) clauses: \(seen) with a case, \(clauses.count - seen) that no case can see."
                + " \(Catalogue.all.count) cases.", "",
            "| clause | level | cases | vectors | not seen from outside, because |", "| --- | --- | --- | --- | --- |",
        ]
        for clause in clauses {
            let fields = [
                clause.number, clause.level.rawValue, cases(of: clause).joined(separator: ", "),
                (vectors[clause.number] ?? []).joined(separator: ", "), Clause.unseen[clause.number] ?? "",
            ]
            lines.append("| " + fields.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func clauses(in value: JSONValue) -> Set<String> {
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

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

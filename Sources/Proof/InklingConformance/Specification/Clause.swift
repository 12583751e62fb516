/// A numbered rule of the specification.
package struct Clause: Sendable, Equatable {
    package enum Level: String, Sendable {
        case must = "MUST"
        case should = "SHOULD"
    }

    /// The number of the clause, such as `W-14`.
    package let number: String
    package let level: Level
    /// The whole text, without the number. List items and rows of a table in it have separate lines.
    package let text: String

    /// The letters of clauses, in the order of the texts.
    private static let letters: [Substring] = ["W", "L", "T", "M", "D", "S", "X", "J", "A"]

    /// Returns the sort key of a clause's number: first the letter in the order of the texts, then the number.
    static func place(of number: String) -> (letter: Int, number: Int) {
        let parts = number.split(separator: "-")
        return (letters.firstIndex(of: parts[0]) ?? letters.count, parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    }

    package static func isOrdered(_ left: String, _ right: String) -> Bool { place(of: left) < place(of: right) }

    /// The clauses in the order of their texts.
    static let listed = [
        "wire", "links", "typing", "messages", "discovery", "protection", "security", "registry", "api",
    ].flatMap { ClauseReader.clauses(of: Specification.lines(of: $0)) }

    /// All clauses by number.
    package static let all: [String: Clause] = Dictionary(uniqueKeysWithValues: listed.map { ($0.number, $0) })
}

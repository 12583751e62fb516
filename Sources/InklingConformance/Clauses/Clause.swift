/// A numbered rule of the specification.
package struct Clause: Sendable, Equatable {
    package enum Level: String, Sendable {
        case must = "MUST"
        case should = "SHOULD"
    }

    /// Such as `W-14`.
    package let number: String
    package let level: Level
    /// The whole entry, without its number.
    package let text: String

    /// The rule alone: the first sentence that says MUST or SHOULD.
    package var rule: String {
        var end = text.startIndex
        while let dot = text[end...].firstIndex(of: ".") {
            end = text.index(after: dot)
            if end == text.endIndex
                || text[end...].hasPrefix(" ") && text[text.startIndex..<end].contains(level.rawValue)
            {
                return String(text[..<end])
            }
        }
        return text
    }

    /// Its place: by the letters in the order in which the texts are to be read, then by number.
    package static func isOrdered(_ left: String, _ right: String) -> Bool {
        func key(_ number: String) -> (Int, Int) {
            let parts = number.split(separator: "-")
            let letters: [Substring] = ["W", "L", "D", "T", "M", "S", "X", "J"]
            return (letters.firstIndex(of: parts[0]) ?? letters.count, parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        }
        return key(left) < key(right)
    }

    /// All clauses by number.
    package static let all: [String: Clause] = Dictionary(uniqueKeysWithValues: listed.map { ($0.number, $0) })
}

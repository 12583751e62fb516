/// A published test vector (Protocol/vectors), as Scripts/protocol vectors lists it.
package struct Vector: Sendable {
    package let name: String
    /// The clauses that it shows; never empty.
    package let clauses: [String]
    /// Its values, which the list's comment names.
    package let values: [String]

    /// The vectors of a list, one a line: clauses, name and values, with bars between.
    static func list(_ text: String) -> [Vector] {
        text.split(separator: "\n").map { line in
            let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            let clauses = fields[0].split(separator: ",").map(String.init)
            return Vector(name: fields[1], clauses: clauses, values: Array(fields[2...]))
        }
    }

    /// A value that is hex.
    func bytes(_ index: Int = 0) -> [UInt8] { InklingConformance.bytes(hex: values[index]) }

    /// A value that is text, as the hex of its UTF-8.
    func text(_ index: Int = 0) -> String { String(decoding: bytes(index), as: UTF8.self) }

    /// A value of several parts.
    func parts(_ index: Int, separator: Character = ";") -> [[String]] {
        values[index].split(separator: separator).map { part in
            part.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
    }
}

extension [Vector] {
    /// All clauses of these vectors but one, each once, in their order.
    func clauses(but first: String) -> [String] {
        var clauses: [String] = []
        for clause in flatMap(\.clauses) where clause != first && !clauses.contains(clause) { clauses.append(clause) }
        return clauses
    }
}

extension Catalogue {
    /// The points of low order of the vectors.
    static let lowOrderPoints: [[UInt8]] = Vector.lowOrderKeys.map { $0.bytes() }
}

/// A published test vector (Protocol/vectors), as Scripts/protocol vectors lists it.
package struct Vector: Sendable {
    package let name: String
    /// The clauses that the vector proves; never empty.
    package let clauses: [String]
    /// The values of the vector. The comment at the list names them.
    package let values: [String]

    /// Parses a list of vectors, one on each line: clauses, name and values, with bars between them.
    static func list(_ text: String) -> [Vector] {
        text.split(separator: "\n").map { line in
            let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            let clauses = fields[0].split(separator: ",").map(String.init)
            return Vector(name: fields[1], clauses: clauses, values: Array(fields[2...]))
        }
    }

    /// Returns a value that is hex.
    func bytes(_ index: Int = 0) -> [UInt8] { InklingConformance.bytes(hex: values[index]) }

    /// Returns a value that is text, written as the hex of its UTF-8.
    func text(_ index: Int = 0) -> String { String(decoding: bytes(index), as: UTF8.self) }

    /// Returns the parts of a value that has several.
    func parts(_ index: Int, separator: Character = ";") -> [[String]] {
        values[index].split(separator: separator).map { part in
            part.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
    }
}

extension [Vector] {
    /// Returns all clauses of these vectors except one, each once, in order.
    func clauses(but first: String) -> [String] {
        var clauses: [String] = []
        for clause in flatMap(\.clauses) where clause != first && !clauses.contains(clause) { clauses.append(clause) }
        return clauses
    }
}

extension Catalogue {
    /// The keys of low order that the vectors list.
    static let lowOrderPoints: [[UInt8]] = Vector.lowOrderKeys.map { $0.bytes() }
}

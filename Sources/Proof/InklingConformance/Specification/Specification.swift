import FoundationEssentials

/// The texts and the vectors in `Protocol/`, which the suite reads from the source tree that it was built from.
package enum Specification {
    package static let folder = {
        let tree = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(5)
        return tree.joined(separator: "/") + "/Protocol"
    }()

    /// Whether the folder is there. Without it, the suite has neither clauses nor vectors.
    package static var isPresent: Bool { FileManager.default.isReadableFile(atPath: folder + "/wire.md") }

    /// The names of the files of vectors, such as `frames`.
    static let vectorFiles = [
        "datagrams", "derivations", "epochs", "frames", "handshake", "links", "replay", "sealed", "timelines",
    ]

    /// The contents of the files of vectors by their names.
    static let vectors = Dictionary(
        uniqueKeysWithValues: vectorFiles.map { name in
            guard let value = try? JSONDecoder().decode(JSONValue.self, from: read("vectors/\(name).json")) else {
                preconditionFailure("\(name).json is not valid JSON")
            }
            return (name, value)
        })

    /// Returns the lines of a text such as `wire`.
    static func lines(of text: String) -> [Substring] {
        String(decoding: read("\(text).md"), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    private static func read(_ name: String) -> Data {
        guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
            preconditionFailure("can't read \(folder)/\(name)")
        }
        return bytes
    }
}

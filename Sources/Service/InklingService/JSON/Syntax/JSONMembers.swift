/// A value that a line of JSON contained.
enum JSONElement: Equatable {
    case string(String)
    /// A number, as written in the line.
    case number(String)
    case boolean(Bool)
    case null
    case array([JSONElement])
    case object(JSONMembers)
    /// A value that no program reads, or a value nested too deep.
    case skipped

    /// The deepest nesting that programs read: a list of people, each with a list of names.
    static let depth = 6
}

/// The members of a JSON object, such as the one that fills a line (RFC 8259).
///
/// The whole line is checked, including the values of members that no program reads. The first of two members with the
/// same name counts.
package struct JSONMembers: Equatable {
    /// Why a line is not an object.
    package enum Failure: Error, Equatable {
        case notUTF8
        case notObject
        /// The byte at this offset, or the end of the line there, is not valid.
        case unexpected(at: Int)
    }

    private struct Member: Equatable {
        let name: String
        let value: JSONElement
    }

    /// The members in order. Programs read few, which a search finds faster than hashing does.
    private var members: [Member] = []

    init() {}

    /// - Parameter names: The members that are held; nil for all.
    package init(_ line: [UInt8], holding names: [String]? = nil) throws(Failure) {
        guard JSONScanner.isUTF8(line) else { throw .notUTF8 }
        var scanner = JSONScanner(line)
        scanner.skipBlanks()
        guard scanner.isAtObject else { throw .notObject }
        var members: [Member] = []
        members.reserveCapacity(4)
        try scanner.readMembers { scanner, name throws(Failure) in
            if names?.contains(name) ?? true {
                members.append(Member(name: name, value: try scanner.value(depth: JSONElement.depth)))
            } else {
                _ = try scanner.skipped()
            }
        }
        scanner.skipBlanks()
        guard scanner.isAtEnd else { throw scanner.failure }
        self.members = members
    }

    mutating func add(_ value: JSONElement, _ name: String) { members.append(Member(name: name, value: value)) }

    subscript(name: StaticString) -> JSONElement? {
        name.withUTF8Buffer { bytes in
            // Most names differ in their lengths.
            members.first { member in
                let text = member.name.utf8
                guard text.count == bytes.count else { return false }
                return text.withContiguousStorageIfAvailable { text in
                    // `elementsEqual` takes five times the instructions.
                    bytes.indices.allSatisfy { text[$0] == bytes[$0] }
                } ?? text.elementsEqual(bytes)
            }?.value
        }
    }

    /// Whether each member is a string.
    var areStrings: Bool { members.allSatisfy { if case .string = $0.value { true } else { false } } }

    /// All stored members, by name.
    var all: [String: JSONElement] {
        var all: [String: JSONElement] = [:]
        for member in members where all[member.name] == nil { all[member.name] = member.value }
        return all
    }
}

/// A value that was read from a line of JSON.
enum JSONElement: Equatable {
    case string(String)
    /// As it was written.
    case number(String)
    case boolean(Bool)
    case null
    case array([JSONElement])
    case object(JSONMembers)
    /// One that nobody asks for, or that is nested too deep.
    case skipped

    /// How deep what a program asks for is nested: a list of people, each with a list of names in a member of theirs.
    static let depth = 6
}

/// The members of a JSON object, such as the one that fills a line (RFC 8259).
///
/// All of the line is checked, also the values of members that nobody asks for. Of two members of a name the first
/// counts.
struct JSONMembers: Equatable {
    /// Why a line is not an object.
    enum Failure: Error, Equatable {
        case notUTF8
        case notObject
        /// The byte of that offset, or the end in its place, can't be there.
        case unexpected(at: Int)
    }

    private var values: [String: JSONElement] = [:]

    init() {}

    /// - Parameter names: The members that are held; nil for all.
    init(_ line: [UInt8], holding names: Set<String>? = nil) throws(Failure) {
        guard String(validating: line, as: UTF8.self) != nil else { throw .notUTF8 }
        var scanner = JSONScanner(line)
        scanner.skipBlanks()
        guard scanner.isAtObject else { throw .notObject }
        var values: [String: JSONElement] = [:]
        try scanner.readMembers { scanner, name throws(Failure) in
            if names?.contains(name) ?? true {
                let value = try scanner.value(depth: JSONElement.depth)
                if values[name] == nil { values[name] = value }
            } else {
                _ = try scanner.skipped()
            }
        }
        scanner.skipBlanks()
        guard scanner.isAtEnd else { throw scanner.failure }
        self.values = values
    }

    mutating func add(_ value: JSONElement, _ name: String) {
        if values[name] == nil { values[name] = value }
    }

    subscript(name: String) -> JSONElement? { values[name] }

    /// All of them.
    var all: [String: JSONElement] { values }
}

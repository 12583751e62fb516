import InklingModel

/// The names that the chats of one state directory have had, as text: one JSON object.
package struct ChatNames: Equatable, Sendable {
    /// The version of the format.
    static let version = 1

    /// The names of private chats, in the order of their first use. No name is ever dropped.
    package var privateNames: [String] = []
    /// The names of open chats, the latest last.
    package private(set) var openNames: [String] = []

    package init() {}

    package init(_ bytes: [UInt8]) throws(KeptChats.Fault) {
        let members: JSONMembers
        do {
            members = try JSONMembers(bytes)
        } catch {
            throw .damaged
        }
        guard case .number(let digits) = members["version"], let version = Int(digits), version > 0 else {
            throw .damaged
        }
        guard version == Self.version else { throw .newer }
        guard let privateNames = members["private"]?.strings, privateNames.count <= DaemonLimits.privateNames,
            let openNames = members["open"]?.strings, openNames.count <= DaemonLimits.openNames,
            (privateNames + openNames).allSatisfy({ (1...64).contains($0.utf8.count) })
        else { throw .damaged }
        self.privateNames = privateNames
        self.openNames = openNames
    }

    package var bytes: [UInt8] {
        let members: [(String, JSONValue)] = [
            ("version", .integer(Self.version)), ("private", .strings(privateNames)), ("open", .strings(openNames)),
        ]
        return Array(JSONValue.object(members).text.utf8) + [0x0A]
    }

    /// Adds the name of an open chat. A full list drops its oldest name.
    mutating func addOpen(_ name: String) {
        guard !openNames.contains(name) else { return }
        openNames = openNames.suffix(DaemonLimits.openNames - 1) + [name]
    }

    /// Returns whether a reader could confuse two names.
    package static func areAlike(_ one: String, _ other: String) -> Bool {
        guard one != other else { return true }
        let likenesses = [one, other].map { NameLikeness(of: $0, withParts: false) }
        // A name without letters and digits is like another if only blanks and invisible scalars differ.
        if likenesses.allSatisfy(\.whole.isEmpty) { return signs(of: one) == signs(of: other) }
        return likenesses[0].whole == likenesses[1].whole || likenesses[0].isAlike(likenesses[1])
    }

    private static func signs(of name: String) -> [Unicode.Scalar] {
        NormalForm.compatible(name).unicodeScalars.filter {
            !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
        }
    }
}

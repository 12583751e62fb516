/// The members of a line that a relay between a front end and a daemon reads.
package struct RelayedLine {
    private let members: JSONMembers

    /// Parses a line; nil for a line that is not a JSON object.
    package init?(_ line: [UInt8]) {
        guard let members = try? JSONMembers(line, holding: ["do", "id"]) else { return nil }
        self.members = members
    }

    /// The word of the request; nil if the line has none, or one that is not a text.
    package var word: String? { members["do"]?.string }

    /// The ID of the request; nil if the line has none, or one that is not valid (A-2).
    package var id: JSONRequestID? { members["id"].flatMap { JSONRequestID($0) } }

    /// The parts of a `compose` in its usual form, up to its text.
    private static let edit: [StaticString] = ["{", #""do""#, ":", #""compose""#, ",", #""text""#, ":", "\""]

    /// The beginnings of events that each program of one version writes alike.
    private static let events: [StaticString] = [
        #"{"on":"typing","at":"#, #"{"on":"message","at":"#, #"{"on":"peer","at":"#,
    ]

    /// Returns whether a line is a `compose` in its usual form: valid, without an ID or a chat, and with a text without
    /// escapes. A front end with a current chat sends such a line to its daemon unchanged. The edit has no answer (A-3).
    package static func isEdit(_ line: [UInt8]) -> Bool {
        var scanner = JSONScanner(line)
        for part in edit where !scanner.consume(part: part) { return false }
        scanner.skipPlain()
        return scanner.consume("\"") && scanner.consume(part: "}") && scanner.isAtEnd && JSONScanner.isUTF8(line)
    }

    /// Returns whether a daemon's line is an event that a JSON interface of the same version writes unchanged.
    static func isUnchangedEvent(_ line: [UInt8]) -> Bool {
        events.contains { beginning in
            var scanner = JSONScanner(line)
            return scanner.consume(part: beginning)
        }
    }

    /// Returns whether a daemon's line says that the daemon cuts the front end off because it reads too slowly (A-29).
    package static func isTooSlow(_ line: [UInt8]) -> Bool {
        guard line.starts(with: #"{"on":"error""#.utf8), let members = try? JSONMembers(line) else { return false }
        return AttachedEvents.endReason(members) == .tooSlow
    }
}

extension JSONMembers {
    /// Returns the text of a member; nil if the object has no such member, or one of another type.
    package func text(_ name: StaticString) -> String? { self[name]?.string }

    /// Returns the integer of a member; nil if the object has no such member, or one of another type.
    package func number(_ name: StaticString) -> Int? { self[name]?.integer }
}

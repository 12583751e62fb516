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

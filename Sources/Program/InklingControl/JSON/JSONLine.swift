import Inkling
import InklingModel

/// One line of output: its kind, its time and its members in order.
package struct JSONLine: Sendable {
    private var members: [(String, JSONValue)]

    package init(on kind: String, at: Timestamp = Node.wallClock(), _ members: [(String, JSONValue?)] = []) {
        self.members = [("on", .string(kind)), ("at", .seconds(at))]
        for (name, value) in members {
            if let value { self.members.append((name, value)) }
        }
    }

    /// Appends a member.
    mutating func add(_ name: String, _ value: JSONValue) { members.append((name, value)) }

    package var text: String { JSONValue.object(members).text }
}

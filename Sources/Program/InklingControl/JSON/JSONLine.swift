import Inkling
import InklingModel

/// One line of output: its type, its time, and its members in order.
package struct JSONLine: Sendable {
    private var members: [(String, JSONValue)] = []

    package init(on kind: String, at: Timestamp = Node.wallClock(), _ members: [(String, JSONValue?)] = []) {
        self.members.reserveCapacity(members.count + 3)
        self.members += [("on", .string(kind)), ("at", .seconds(at))]
        for (name, value) in members {
            if let value { self.members.append((name, value)) }
        }
    }

    /// Appends a member.
    mutating func add(_ name: String, _ value: JSONValue) { members.append((name, value)) }

    package var text: String { JSONValue.object(members).text }
}

extension NodeIdentity {
    var line: JSONLine {
        JSONLine(
            on: "identity",
            [
                ("user", .string(user.description)), ("name", .string(name)), ("key", .string(key.description)),
                ("port", .integer(Int(port))), ("temporary", .boolean(isTemporary)),
            ])
    }
}

extension UserState {
    /// The line for the user's front ends.
    var line: JSONLine { JSONLine(on: "self", at: at, [("name", .string(name)), ("away", .boolean(isAway))]) }
}

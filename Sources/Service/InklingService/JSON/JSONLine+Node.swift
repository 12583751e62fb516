import Inkling
import InklingModel

extension JSONLine {
    /// A line of the present time.
    package init(on kind: StaticString, _ members: [(String, JSONValue?)] = []) {
        self.init(on: kind, at: Node.wallClock(), members)
    }
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

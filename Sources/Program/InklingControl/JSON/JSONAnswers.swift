import InklingModel

/// The version of the interface.
package let interfaceVersion = 1

extension ServiceAnswer {
    /// Returns the line that answers a request; nil for an answer by `ok` alone, and for an error.
    ///
    /// - Parameters:
    ///   - version: The program's.
    ///   - tag: The tag of a `send`, by which its front end recognizes the message.
    func line(to request: ServiceRequest, of node: NodeIdentity, version: String, tag: String?) -> JSONLine? {
        switch (self, request) {
        case (.sent(let message, let recipients), .send(_, let chat)):
            JSONLine(
                on: "sent",
                [
                    ("chat", .string(chat)), ("message", .unsigned(message.rawValue)),
                    ("tag", tag.map(JSONValue.string)),
                    ("to", .integer(recipients)),
                ])
        case (.peers(let peers), .peers(let chat)):
            JSONLine(on: "who", [("chat", .string(chat)), ("peers", .array(peers.map { .peer($0) }))])
        case (.knownPeers(let people), _):
            JSONLine(on: "people", [("people", .array(people.map { .known($0) }))])
        case (.fingerprint(let groups), .fingerprint(let key)):
            JSONLine(on: "fingerprint", [("key", .string(key.description)), ("groups", .strings(groups))])
        case (.invite(let invite), .invite(let chat)):
            JSONLine(on: "invite", [("chat", .string(chat)), ("invite", invite.map(JSONValue.string))])
        case (.sightings(let instance, let found), .sightings(let chat)):
            JSONLine(
                on: "sightings",
                [
                    ("chat", .string(chat)), ("instance", instance.map(JSONValue.string)),
                    ("found", .array(found.map(\.value))),
                ])
        case (.chats(let chats), _): JSONLine(on: "chats", [("chats", .array(chats.map(\.value)))])
        case (.status(let status), _):
            JSONLine(
                on: "status",
                [
                    ("user", .string(node.user.description)), ("name", .string(node.name)),
                    ("version", .string(version)), ("interface", .integer(interfaceVersion)),
                    ("since", .seconds(status.since)), ("away", .boolean(status.isAway)),
                    ("frontEnds", .integer(status.frontEnds)), ("chats", .array(status.chats.map(\.value))),
                ])
        case (.statistics(let statistics), _): statistics.line
        case (.done, _), (.failed, _), (.joined, _), (.sent, _), (.peers, _), (.fingerprint, _), (.invite, _),
            (.sightings, _):
            nil
        }
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

extension ChatStatus {
    fileprivate var value: JSONValue {
        .object([
            ("chat", .string(name)), ("secret", .boolean(hasSecret)), ("kept", .boolean(isKept)),
            ("present", .integer(present)), ("waiting", .integer(waiting)), ("looking", .boolean(isLooking)),
        ])
    }
}

extension Sighting {
    fileprivate var value: JSONValue {
        .object([
            ("instance", .string(instance)), ("user", .string(user.description)), ("addresses", .strings(addresses)),
            ("self", .boolean(isOneself)), ("linked", .boolean(isLinked)),
        ])
    }
}

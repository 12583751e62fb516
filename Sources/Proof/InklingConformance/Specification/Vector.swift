import InklingWire

/// A published test vector: a case of a file in `Protocol/vectors`, whose README names the members.
package struct Vector: Sendable {
    package let name: String
    /// The clauses that the vector proves; never empty.
    package let clauses: [String]
    private let members: JSONValue

    /// Reads the cases of an array, such as `valid` of `frames`.
    static func read(_ file: String, _ array: String) -> [Vector] {
        guard let cases = Specification.vectors[file]?[array]?.array else {
            preconditionFailure("\(file).json has no array \(array)")
        }
        return cases.map { value in
            guard let name = value["name"]?.string, let clauses = value["clauses"]?.array?.compactMap(\.string) else {
                preconditionFailure("a case of \(file).json has no name or no clauses")
            }
            return Vector(name: name, clauses: clauses, members: value)
        }
    }

    subscript(name: String) -> JSONValue? { members[name] }

    /// Returns a member that is a string.
    func string(_ name: String) -> String {
        guard let value = members[name]?.string else { preconditionFailure("\(self.name): \(name) is not a string") }
        return value
    }

    /// Returns a member that is hex.
    func bytes(_ name: String = "bytes") -> [UInt8] { InklingConformance.bytes(hex: string(name)) }

    /// Returns a member that is an array, such as the inputs of a timeline.
    func entries(_ name: String) -> [JSONValue] {
        guard let value = members[name]?.array else { preconditionFailure("\(self.name): \(name) is not an array") }
        return value
    }

    /// The end of a timeline, from its start.
    var until: Duration { members.instant("until") }
}

extension JSONValue {
    /// Returns a member that is an instant of a timeline, in milliseconds from its start.
    func instant(_ name: String = "at") -> Duration {
        guard let value = self[name]?.integer else { preconditionFailure("\(name) is not a number of milliseconds") }
        return .milliseconds(value)
    }
}

extension [Vector] {
    /// Returns all clauses of these vectors except one, each once, in order.
    func clauses(but first: String) -> [String] {
        var clauses: [String] = []
        for clause in flatMap(\.clauses) where clause != first && !clauses.contains(clause) { clauses.append(clause) }
        return clauses
    }
}

/// The kinds of vectors that can test a running program.
extension Vector {
    static let chats = read("derivations", "chats")
    static let invalidChatNames = read("derivations", "invalidChatNames")
    static let secrets = read("derivations", "secrets")
    static let invalidSecrets = read("derivations", "invalidSecrets")
    static let invites = read("derivations", "invites")
    static let invalidInvites = read("derivations", "invalidInvites")
    /// Keys that are well-formed in text, but not valid.
    static let invalidKeys = read("derivations", "invalidKeys").filter { $0.string("error") == "key" }
    static let userIDs = read("derivations", "userIDs")
    static let successors = read("derivations", "successors")
    static let invalidSuccessors = read("derivations", "invalidSuccessors")
    /// Keys with which nobody has a talk.
    static let invalidTalks = read("derivations", "invalidTalks")
    static let datagrams = read("datagrams", "valid")
    static let invalidDatagrams = read("datagrams", "invalid")
    static let frames = read("frames", "valid")
    static let invalidFrames = read("frames", "invalid")
    static let names = read("frames", "names")
    static let inviteRecords = read("frames", "invites")
    static let invalidInitiations = read("handshake", "invalid").filter { $0["initiation"] != nil }
    static let invalidResponses = read("handshake", "invalid").filter { $0["response"] != nil }
    static let invalidSealed = read("sealed", "invalid")
    static let replays = read("replay", "sequences")
    static let senderTimelines = read("timelines", "sender")
    static let receiverTimelines = read("timelines", "receiver")
    static let stateTimelines = read("links", "states")
    static let recordTimelines = read("links", "receiver")

    /// Keys of low order, from the ephemeral keys of initiations.
    static let lowOrderPoints = invalidInitiations.filter { $0.name.contains("ephemeral key of low order") }.map {
        Array($0.bytes("initiation")[13..<45])
    }

    /// Returns the private key of a public one, if a handshake has it.
    static func privateKey(of publicKey: [UInt8]) -> [UInt8]? {
        let sides = read("handshake", "valid").flatMap { [$0["initiator"], $0["responder"]] }
        let side = sides.first { $0?["staticPublic"]?.string == publicKey.hex }
        return side??["staticPrivate"]?.string.map { InklingConformance.bytes(hex: $0) }
    }
}

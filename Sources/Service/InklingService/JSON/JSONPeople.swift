import InklingModel

// The objects and members that describe people in lines of output.

extension JSONValue {
    /// Returns the object of a person in a chat.
    package static func person(_ person: Person) -> JSONValue { .object(members(of: person)) }

    /// Returns the members of a person, as a part of a larger object.
    package static func members(of person: Person) -> [(String, JSONValue)] {
        [("user", .string(person.user.description)), ("name", .string(person.name))]
    }

    /// Returns the object of a peer.
    package static func peer(_ peer: Peer) -> JSONValue {
        .object(members(of: peer.person) + [("presence", .string(peer.presence.rawValue))] + known(of: peer))
    }

    /// Returns the members of a peer other than user ID, name and presence.
    static func known(of peer: Peer) -> [(String, JSONValue)] {
        var members: [(String, JSONValue)] = [
            ("key", .string(peer.key.description)), ("verified", .boolean(peer.isVerified)),
            ("blocked", .boolean(peer.isBlocked)),
        ]
        if let lastSeen = peer.lastSeen { members.append(("lastSeen", .seconds(lastSeen))) }
        if let since = peer.onlineSince { members.append(("onlineSince", .seconds(since))) }
        if let firstSeen = peer.firstSeen { members.append(("firstSeen", .seconds(firstSeen))) }
        if !peer.names.isEmpty { members.append(("names", .strings(peer.names))) }
        if let since = peer.namedSince { members.append(("namedSince", .seconds(since))) }
        if let roundTrip = peer.roundTrip {
            // The round trip is in milliseconds with three decimals.
            members.append(("rtt", .number((roundTrip / .microseconds(1)).rounded() / 1_000)))
        }
        return members + Self.members(of: peer.namesakes, peer.namesake)
    }

    /// Returns the members about the people whom a name may suggest.
    static func members(of namesakes: [UserID], _ namesake: Peer.Namesake?) -> [(String, JSONValue)] {
        var members: [(String, JSONValue)] = []
        if !namesakes.isEmpty { members.append(("namesakes", .strings(namesakes.map(\.description)))) }
        if let namesake {
            let object: [(String, JSONValue)] = [
                ("user", .string(namesake.user.description)), ("names", .strings(namesake.names)),
                ("verified", .boolean(namesake.isVerified)),
            ]
            members.append(("namesake", .object(object)))
        }
        return members
    }

    static func known(_ peer: KnownPeer) -> JSONValue {
        .object([
            ("key", .string(peer.key.description)), ("user", .string(peer.user.description)),
            ("names", .strings(peer.names)),
            ("namedSince", .seconds(peer.namedSince)), ("firstSeen", .seconds(peer.firstSeen)),
            ("lastSeen", .seconds(peer.lastSeen)), ("verified", .boolean(peer.isVerified)),
            ("blocked", .boolean(peer.isBlocked)),
        ])
    }
}

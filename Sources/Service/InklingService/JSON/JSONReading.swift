import InklingModel

// The members of lines from a daemon. A missing member, or one of another type, is nil.

extension JSONElement {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var unsigned: UInt64? { if case .number(let digits) = self { UInt64(digits) } else { nil } }
    /// An integer that each reader of JSON has without rounding. Sums and products of such integers have room in `Int`.
    var integer: Int? {
        guard case .number(let digits) = self, let value = Int(digits), value.magnitude <= JSONRequestID.greatest else {
            return nil
        }
        return value
    }
    /// A finite number.
    var double: Double? {
        guard case .number(let digits) = self, let value = Double(digits), value.isFinite else { return nil }
        return value
    }
    var strings: [String]? {
        guard case .array(let elements) = self else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
    var objects: [JSONMembers]? {
        guard case .array(let elements) = self else { return nil }
        let objects = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        return objects.count == elements.count ? objects : nil
    }
    var object: JSONMembers? { if case .object(let members) = self { members } else { nil } }
    var time: Timestamp? { double.map { Timestamp(rawValue: $0) } }
    /// A duration of at most a day, in milliseconds.
    var milliseconds: Duration? { double.map { .microseconds(min(max($0, 0), 86_400_000) * 1_000) } }
    var message: MessageID? { unsigned.map { MessageID(rawValue: $0) } }
    var key: PublicKey? { string.flatMap { PublicKey($0) } }
    var user: UserID? { string.flatMap { UserID($0) } }
}

extension JSONMembers {
    /// Returns the converted objects of a list; nil if one can't be converted.
    func list<Value>(_ name: String, _ convert: (JSONMembers) -> Value?) -> [Value]? {
        guard let objects = self[name]?.objects else { return nil }
        let values = objects.compactMap(convert)
        return values.count == objects.count ? values : nil
    }

    var person: Person? {
        guard let user = self["user"]?.user, let name = self["name"]?.string else { return nil }
        return Person(user: user, name: name)
    }

    var peer: Peer? {
        guard let person, let key = self["key"]?.key,
            let presence = self["presence"]?.string.flatMap({ Presence(rawValue: $0) })
        else { return nil }
        return Peer(
            user: person.user, name: person.name, presence: presence, key: key, lastSeen: self["lastSeen"]?.time,
            onlineSince: self["onlineSince"]?.time, roundTrip: self["rtt"]?.milliseconds,
            firstSeen: self["firstSeen"]?.time, isVerified: self["verified"]?.boolean ?? false,
            isBlocked: self["blocked"]?.boolean ?? false,
            namesakes: namesakes, namesake: self["namesake"]?.object?.namesake, names: self["names"]?.strings ?? [],
            namedSince: self["namedSince"]?.time)
    }

    /// The user IDs of the people whom a name may suggest.
    var namesakes: [UserID] { self["namesakes"]?.strings?.compactMap { UserID($0) } ?? [] }

    /// A person whom a name may suggest.
    var namesake: Peer.Namesake? {
        guard let user = self["user"]?.user, let names = self["names"]?.strings else { return nil }
        return Peer.Namesake(user: user, names: names, isVerified: self["verified"]?.boolean ?? false)
    }

    var knownPeer: KnownPeer? {
        guard let user = self["user"]?.user, let key = self["key"]?.key, let names = self["names"]?.strings,
            let namedSince = self["namedSince"]?.time, let firstSeen = self["firstSeen"]?.time,
            let lastSeen = self["lastSeen"]?.time
        else { return nil }
        return KnownPeer(
            user: user, key: key, names: names, namedSince: namedSince, firstSeen: firstSeen, lastSeen: lastSeen,
            isVerified: self["verified"]?.boolean ?? false, isBlocked: self["blocked"]?.boolean ?? false)
    }

    var chatStatus: ChatStatus? {
        guard let name = self["chat"]?.string else { return nil }
        var status = ChatStatus(
            name, hasSecret: self["secret"]?.boolean ?? false, isKept: self["kept"]?.boolean ?? false,
            waiting: self["waiting"]?.integer ?? 0, present: self["present"]?.integer ?? 0,
            isLooking: self["looking"]?.boolean ?? false, owner: self["owner"]?.key, partner: self["with"]?.key)
        status.keepsHistory = self["history"]?.boolean ?? false
        status.holdsTexts = self["hold"]?.boolean ?? false
        return status
    }

    var sighting: Sighting? {
        guard let instance = self["instance"]?.string, let user = self["user"]?.user,
            let addresses = self["addresses"]?.strings
        else { return nil }
        return Sighting(
            instance: instance, user: user, addresses: addresses, isOneself: self["self"]?.boolean ?? false,
            isLinked: self["linked"]?.boolean ?? false)
    }

    var identity: NodeIdentity? {
        guard let user = self["user"]?.user, let name = self["name"]?.string, let key = self["key"]?.key,
            let port = self["port"]?.integer.flatMap({ UInt16(exactly: $0) })
        else { return nil }
        return NodeIdentity(
            user: user, key: key, name: name, port: port, isTemporary: self["temporary"]?.boolean ?? false)
    }

    /// The counters in the line. Counters that this version does not know are left out.
    var statistics: Statistics {
        func count(_ name: String) -> Int { self[name]?.integer ?? 0 }
        func counts<Kind: RawRepresentable<String> & Hashable>(_ name: String, _ kinds: [Kind]) -> [Kind: Int] {
            var counts: [Kind: Int] = [:]
            for kind in kinds { counts[kind] = self[name]?.object?[kind.rawValue]?.integer }
            return counts
        }
        var statistics = Statistics()
        statistics.datagramsReceived = counts("datagramsReceived", Statistics.ReceivedKind.allCases)
        statistics.datagramsSent = counts("datagramsSent", Statistics.SentKind.allCases)
        statistics.drops = counts("drops", Statistics.Drop.allCases)
        for (name, count) in self["sendErrors"]?.object?.all ?? [:] { statistics.sendErrors[name] = count.integer }
        statistics.bytesReceived = count("bytesReceived")
        statistics.bytesSent = count("bytesSent")
        statistics.staleClears = count("staleClears")
        statistics.retransmissions = count("retransmissions")
        statistics.typingStartsSent = count("typingStartsSent")
        statistics.typingStartsReceived = count("typingStartsReceived")
        statistics.typingStartsLimited = count("typingStartsLimited")
        statistics.messagesSent = count("messagesSent")
        statistics.messagesReceived = count("messagesReceived")
        statistics.indicatedShare = self["indicatedShare"]?.double ?? 0
        statistics.messagesDelivered = count("messagesDelivered")
        statistics.messagesFailed = count("messagesFailed")
        statistics.handshakesCompleted = count("handshakesCompleted")
        statistics.linksMade = count("linksMade")
        statistics.linksLostToSilence = count("linksLostToSilence")
        statistics.lateTimers = count("lateTimers")
        statistics.links = count("links")
        statistics.roundTripMinimum = self["roundTripMinimum"]?.double
        statistics.roundTripMaximum = self["roundTripMaximum"]?.double
        return statistics
    }
}

import InklingModel

// The objects of lines that describe people and chats.

extension JSONValue {
    /// Returns the object of a person in a chat.
    package static func person(_ person: Person) -> JSONValue { object(of: person) }

    /// Returns the object of a peer.
    package static func peer(_ peer: Peer) -> JSONValue { object(of: peer) }

    static func object(of value: some LineObject) -> JSONValue {
        var line: [UInt8] = []
        value.append(to: &line)
        return .written(line)
    }
}

extension Presence: LineWord {
    static var form: LineForm {
        LineForm(named: "presence", [("enum", .strings(allCases.map(\.rawValue)))], fault: "is not a presence")
    }
}
extension PresenceReason: LineWord {}
extension FailureReason: LineWord {}
extension Invitation.End: LineWord {}
extension Statistics.ReceivedKind: CounterName {}
extension Statistics.SentKind: CounterName {}
extension Statistics.Drop: CounterName {}

extension Person: LineObject {
    static let blank = Person(user: .blank, name: "")
    static var schemaName: StaticString? { "person" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("user", &user)
        try coder.member("name", &name)
    }
}

extension Peer: LineObject {
    static let blank = Peer(user: .blank, name: "", presence: .offline, key: .blank)
    static var schemaName: StaticString? { "peer" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("user", &user, "user ID")
        try coder.member("name", &name, "display name, as sent")
        try coder.member("presence", &presence)
        coder.beginAnswering()
        try coder.member("key", &key, "static public key (W-6)")
        try coder.member("verified", &isVerified, "whether the user verified them")
        try coder.member("blocked", &isBlocked, "whether the user blocked them for good")
        try coder.member("lastSeen", &lastSeen, "when they last were there, if they are not")
        try coder.member("onlineSince", &onlineSince, "since when they are there")
        try coder.member("firstSeen", &firstSeen, "when the key was first met, in any chat")
        try coder.member("names", &names, unless: [], "the key's names, the latest first, at most 4")
        try coder.member("namedSince", &namedSince, "when the key first had the latest name")
        try coder.member("rtt", &roundTrip, "the round trip in milliseconds")
        try coder.namesakes(&namesakes, &namesake)
    }
}

extension LineCoder {
    /// Visits the members about the people whom a name may suggest.
    fileprivate mutating func namesakes(_ namesakes: inout [UserID], _ namesake: inout Peer.Namesake?) throws(Fault) {
        try member(
            "namesakes", &namesakes, unless: [],
            "user IDs of others with confusable names, verified ones first, at most 8")
        try member("namesake", &namesake, "the first of these: `user`, `names`, `verified`")
    }
}

extension Peer.Namesake: LineObject {
    static let blank = Peer.Namesake(user: .blank, names: [], isVerified: false)
    static var schemaName: StaticString? { "namesake" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("user", &user)
        try coder.member("names", &names)
        try coder.member("verified", &isVerified)
    }
}

extension KnownPeer: LineObject {
    static let blank = KnownPeer(
        user: .blank, key: .blank, names: [], namedSince: 0, firstSeen: 0, lastSeen: 0, isVerified: false,
        isBlocked: false)
    static var schemaName: StaticString? { "known-person" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("key", &key)
        try coder.member("user", &user)
        try coder.member("names", &names, "the key's names, the latest first, at most 4")
        try coder.member("namedSince", &namedSince, "when the key first had the latest name")
        try coder.member("firstSeen", &firstSeen, "when the key was first met")
        try coder.member("lastSeen", &lastSeen, "when the key was last there")
        try coder.member("verified", &isVerified)
        try coder.member("blocked", &isBlocked)
    }
}

extension Invitation: LineObject {
    static let blank = Invitation(
        number: 0, chat: "", sender: .blank, key: .blank, isVerified: false, name: nil, owner: nil)
    static var schemaName: StaticString? { "invitation" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("invitation", &number, "its number, from 1")
        try sender.members(&coder)
        try coder.member("key", &key, "the sender's key; `user` and `name` are the sender's too")
        try coder.member("verified", &isVerified, "whether the user verified the sender")
        try coder.member("chat", &chat, "the chat in which the sender is")
        try coder.member("to", &name, "the name of the other chat; absent for a knock")
        try coder.member("owner", &owner, "the other chat's owner, a key, if it has one")
    }
}

extension Newcomer {
    static let blank = Newcomer(chat: "", key: .blank, name: nil)

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        var user = key.userID
        try coder.member("chat", &chat)
        try coder.member("user", &user)
        try coder.member("key", &key)
        try coder.member("name", &name)
        try coder.member("verified", &isVerified)
        try coder.namesakes(&namesakes, &namesake)
    }
}

extension NodeIdentity {
    static let blank = NodeIdentity(user: .blank, key: .blank, name: "", port: 0, isTemporary: false)

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("user", &user)
        try coder.member("name", &name)
        try coder.member("key", &key)
        try coder.member("port", &port)
        try coder.member("temporary", &isTemporary, "whether the identity ends with the node")
    }
}

extension UInt16: LineValue {
    static let blank: UInt16 = 0
    static var form: LineForm { .integer(from: 1, [("maximum", .integer(65_535))]) }
    init?(_ element: JSONElement) {
        guard let port = element.integer.flatMap({ UInt16(exactly: $0) }) else { return nil }
        self = port
    }
    func append(to line: inout [UInt8]) { Int(self).append(to: &line) }
}

extension ChatStatus: LineObject {
    static let blank = ChatStatus("")
    static var schemaName: StaticString? { "chat-status" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("chat", &name)
        try coder.member("secret", &hasSecret, "whether the chat has a secret")
        try coder.member("kept", &isKept, "whether the node stays in the chat (A-18)")
        try coder.member("present", &present, "how many others are online or away")
        try coder.member("unread", &unread, "how many messages are unread")
        try coder.member("looking", &isLooking, "whether others may not be found yet (A-35)")
        try coder.member("history", &keepsHistory, "whether its messages are kept on disk (A-50)")
        try coder.member("hold", &holdsTexts, "whether texts wait there (A-60)")
        try coder.member("owner", &owner, "its owner's key")
        try coder.member("with", &partner, "the other key of a talk")
    }
}

extension Sighting: LineObject {
    static let blank = Sighting(instance: "", user: .blank, addresses: [], isOneself: false, isLinked: false)
    static var schemaName: StaticString? { "sighting" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("instance", &instance)
        try coder.member("user", &user)
        try coder.member("addresses", &addresses, "each as HOST:PORT")
        try coder.member("self", &isOneself, "whether it is this identity")
        try coder.member("linked", &isLinked, "whether a live link leads there")
    }
}

extension WaitingEntry: LineObject {
    static let blank = WaitingEntry(entry: 0, chat: "", user: .blank, name: "", key: .blank, at: 0, text: "")
    static var schemaName: StaticString? { "waiting-text" }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("entry", &entry, "a number that no other text gets")
        try coder.member("chat", &chat)
        try coder.member("user", &user)
        try coder.member("name", &name)
        try coder.member("key", &key)
        try coder.member("at", &at, "the time of writing")
        try coder.member("text", &text)
    }
}

/// The members that a message has as an event and in a list.
struct MessageMembers {
    var from = Person.blank
    /// The number of a received message.
    var message: MessageID?
    var isDelayed = false
    var written: Timestamp?
    var isOwn = false
    /// The number and the recipients of an own message.
    var sent: MessageID?
    var recipients: Int?
    var text = ""

    init() {}

    init(_ message: ReceivedMessage, isDelayed: Bool) {
        (from, self.message, self.isDelayed) = (message.sender, message.id, isDelayed)
        (written, text) = (message.written, message.text)
    }

    init(_ message: OwnMessage, from person: Person) {
        (from, isOwn, sent) = (person, true, message.message)
        (recipients, text) = (message.recipients, message.text)
    }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("from", &from, "the author")
        try coder.member("message", &message, "the receiving node's number of the message, from 1")
        try coder.member("own", &isOwn, unless: false, "whether this user sent it (A-25)")
        try coder.member("sent", &sent, "the number of an own message, as `message` of its `sent`")
        try coder.member("to", &recipients, "how many people an own message goes to")
        try coder.member("text", &text)
        try coder.member("delayed", &isDelayed, unless: false, "whether it waited in the node's socket (J-15)")
        try coder.member("written", &written, "when its author says to have written it (A-65)")
        coder.either("message", or: "sent")
    }

    /// The received message; nil for an own message, or one without a number.
    func received(in chat: String) -> ReceivedMessage? {
        guard !isOwn, let message else { return nil }
        return ReceivedMessage(chat: chat, from: from, id: message, text: text, written: written)
    }

    /// The own message; nil for a received message, or one without a number.
    func own(in chat: String, at time: Timestamp) -> OwnMessage? {
        guard isOwn, let sent else { return nil }
        // A daemon of version 0.2 does not write the number of recipients.
        return OwnMessage(at: time, chat: chat, message: sent, recipients: recipients ?? 0, text: text)
    }
}

extension RecentMessage.Failure: LineObject {
    static let blank = RecentMessage.Failure(user: .blank, why: .bye)
    static var schemaName: StaticString? { nil }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("user", &user)
        try coder.member("why", &why)
    }
}

/// A message in a list, or in a file of a history.
struct ListedMessage: LineObject {
    var at: Timestamp = 0
    var message = MessageMembers()
    /// The outcomes of an own message.
    var delivered: [UserID]?
    var failed: [RecentMessage.Failure]?
    var waiting: [UserID] = []
    var entry: UInt64?
    var isUnread = false

    static var blank: ListedMessage { ListedMessage() }
    static var schemaName: StaticString? { "listed-message" }

    private init() {}

    /// - Parameter user: The user, who has the node's present name.
    init(_ message: RecentMessage, user: Person) {
        (at, waiting, entry, isUnread) = (message.at, message.waiting, message.entry, message.isUnread)
        switch message.content {
        case .received(let received, let isDelayed): self.message = MessageMembers(received, isDelayed: isDelayed)
        case .own(let own, let delivered, let failed):
            self.message = MessageMembers(own, from: user)
            (self.delivered, self.failed) = (delivered, failed)
        }
    }

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        try coder.member("at", &at)
        try message.members(&coder)
        try coder.member("delivered", &delivered, "the user IDs of those who have an own message")
        try coder.member("failed", &failed, "those who may not have it")
        try coder.member("waiting", &waiting, unless: [], "the user IDs of those for whom it waits (A-62)")
        try coder.member("entry", &entry, "its number in the list (A-52)")
        try coder.member("unread", &isUnread, unless: false)
        let read = self
        try coder.make(&self) { () throws(NodeError) in
            guard read.content(in: "") != nil else { throw .badCommand("a member of the message is missing") }
            return read
        }
    }

    /// The message; nil if a member is missing.
    func recent(in chat: String) -> RecentMessage? {
        guard let content = content(in: chat) else { return nil }
        var recent = RecentMessage(at: at, content)
        (recent.waiting, recent.entry, recent.isUnread) = (waiting, entry, isUnread)
        return recent
    }

    private func content(in chat: String) -> RecentMessage.Content? {
        if let received = message.received(in: chat) { return .received(received, isDelayed: message.isDelayed) }
        guard let own = message.own(in: chat, at: at), let delivered, let failed else { return nil }
        return .own(own, delivered: delivered, failed: failed)
    }
}

extension Statistics {
    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        // The counters are the implementation's own.
        coder.beginAnswering()
        try coder.member("bytesReceived", &bytesReceived)
        try coder.member("bytesSent", &bytesSent)
        try coder.member("datagramsReceived", &datagramsReceived)
        try coder.member("datagramsSent", &datagramsSent)
        try coder.member("drops", &drops)
        try coder.member("handshakesCompleted", &handshakesCompleted)
        try coder.member("indicatedShare", &indicatedShare)
        try coder.member("lateTimers", &lateTimers)
        try coder.member("links", &links)
        try coder.member("linksLostToSilence", &linksLostToSilence)
        try coder.member("linksMade", &linksMade)
        try coder.member("messagesDelivered", &messagesDelivered)
        try coder.member("messagesFailed", &messagesFailed)
        try coder.member("messagesReceived", &messagesReceived)
        try coder.member("messagesSent", &messagesSent)
        try coder.member("retransmissions", &retransmissions)
        try coder.member("roundTripMaximum", &roundTripMaximum)
        try coder.member("roundTripMinimum", &roundTripMinimum)
        try coder.member("sendErrors", &sendErrors)
        try coder.member("staleClears", &staleClears)
        try coder.member("typingStartsLimited", &typingStartsLimited)
        try coder.member("typingStartsReceived", &typingStartsReceived)
        try coder.member("typingStartsSent", &typingStartsSent)
    }
}

import InklingModel

/// The words by which the interface names notices for programs.
extension Notice {
    /// The notices with members of their own, without a meaning. Of others, a front end has the code and the text.
    static let blanks: [Notice] = [
        .discoveryUp, .peerIsOneself, .keyChanged(.blank, known: .blank, isVerified: false), .invited(.blank),
        .invitationOver(0, .accepted), .moved(.blank), .movedApart(chat: ""), .newcomer(.blank),
    ]

    /// The word for the notice in a line.
    package var code: String {
        switch self {
        case .discoveryDown: "discovery-down"
        case .discoveryUp: "discovery-up"
        case .reachableFromAnywhere: "reachable-from-anywhere"
        case .reachableOnLink: "reachable-on-link"
        case .identityTemporary: "identity-temporary"
        case .lastWillOff: "last-will-off"
        case .peerIsOneself: "peer-is-oneself"
        case .keyChanged: "key-changed"
        case .invited: "invited"
        case .invitationOver: "invitation-over"
        case .moved: "moved"
        case .newcomer: "newcomer"
        case .movedApart: "moved-apart"
        case .other(let code, _): code
        }
    }

    /// Visits the members of the notice other than its code and text.
    fileprivate mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        switch self {
        case .keyChanged(var person, var known, var isVerified):
            try person.members(&coder)
            try coder.member("known", &known, "the user ID known by that name")
            try coder.member("verified", &isVerified, "whether the user verified that ID")
            self = .keyChanged(person, known: known, isVerified: isVerified)
        case .invited(var invitation):
            try invitation.members(&coder)
            self = .invited(invitation)
        case .invitationOver(var number, var end):
            try coder.member("invitation", &number)
            try coder.member("why", &end)
            self = .invitationOver(number, end)
        case .moved(var chat):
            try chat.moved(&coder)
            self = .moved(chat)
        case .movedApart(var chat):
            try coder.member("chat", &chat)
            self = .movedApart(chat: chat)
        case .newcomer(var newcomer):
            try newcomer.members(&coder)
            self = .newcomer(newcomer)
        default: break
        }
    }
}

/// The members of an event's line that are not part of the event.
struct EventContext {
    /// The text for people in `typing` and `notice`.
    var text = ""
    /// Whether the event is about messages that arrived while no front end showed their chat.
    var isUnread = false
    var isDelayed = false
}

/// The events of the interface.
extension Event {
    /// One event of each word, without a meaning.
    static let blanks: [Event] = [
        .peer(.init(chat: "", .blank, why: .hello)), .typing(chat: "", []),
        .message(.init(chat: "", from: .blank, id: 0, text: "")),
        .delivered(.init(chat: "", message: 0, user: .blank)),
        .failed(.init(chat: "", message: 0, user: .blank, why: .bye)),
        .waiting(.init(chat: "", message: 0, user: .blank)), .missed(.init(chat: "", messages: 0, outcomes: 0)),
        .notice(.other(code: "", text: "")),
    ]

    /// Returns an event of a word, without a meaning; nil for a word that this version does not know.
    private static func blank(_ word: String) -> Event? {
        switch word {
        case "typing": blanks[1]
        case "peer": blanks[0]
        case "message": blanks[2]
        case "delivered": blanks[3]
        case "failed": blanks[4]
        case "waiting": blanks[5]
        case "missed": blanks[6]
        case "notice": blanks[7]
        default: nil
        }
    }

    /// Reads an event; nil for a line that no front end uses or that a later version added.
    init?(_ line: JSONMembers, _ context: inout EventContext) {
        guard let word = line["on"]?.string, var event = Self.blank(word) else { return nil }
        var reader = LineReader(line)
        do throws(NodeError) {
            try event.members(&reader, &context)
            self = event
        } catch {
            return nil
        }
    }

    /// Visits the members of the event.
    mutating func members<Coder: LineCoder>(_ coder: inout Coder, _ context: inout EventContext) throws(Coder.Fault) {
        switch self {
        case .peer(let change):
            var (chat, peer, why) = (change.chat, change.peer, change.why)
            coder.begin("peer", "A person's presence or name changed")
            try coder.member("chat", &chat)
            try coder.member("why", &why, "why the presence changed")
            try peer.members(&coder)
            self = .peer(PeerChange(chat: chat, peer, why: why))
        case .typing(var chat, var people):
            try coder.typing(&chat, &people, &context.text)
            self = .typing(chat: chat, people)
        case .message(let received):
            var (chat, message) = (received.chat, MessageMembers(received, isDelayed: context.isDelayed))
            coder.begin("message", "A message is whole and its turn has come. For `own`, see A-25")
            try coder.member("chat", &chat)
            try message.members(&coder)
            try coder.unread(&context)
            context.isDelayed = message.isDelayed
            try coder.make(&self) { () throws(NodeError) in
                guard let received = message.received(in: chat) else { throw .badCommand("no number") }
                return .message(received)
            }
        case .delivered(let receipt):
            var (chat, message, entry, user) = (receipt.chat, receipt.message, receipt.entry, receipt.user)
            coder.begin("delivered", "This person's node has the message")
            try coder.outcome(&chat, &message, &entry, &user)
            self = .delivered(DeliveryReceipt(chat: chat, message: message, user: user, entry: entry))
        case .failed(let failure):
            var (chat, message, entry, user) = (failure.chat, failure.message, failure.entry, failure.user)
            var why = failure.why
            coder.begin("failed", "The message may not have arrived")
            try coder.outcome(&chat, &message, &entry, &user)
            try coder.member("why", &why, "as in M-18, A-63")
            self = .failed(DeliveryFailure(chat: chat, message: message, user: user, why: why, entry: entry))
        case .waiting(let receipt):
            var (chat, message, user) = (receipt.chat, receipt.message, receipt.user)
            coder.begin("waiting", "The message waits on disk for this person (A-62)")
            try coder.member("chat", &chat)
            try coder.member("message", &message)
            try coder.member("user", &user)
            self = .waiting(WaitingReceipt(chat: chat, message: message, user: user))
        case .missed(let missed):
            var (chat, messages, outcomes) = (missed.chat, missed.messages, missed.outcomes)
            coder.begin("missed", "The node left out so many messages and outcomes (J-14, A-23, A-29)")
            try coder.member("chat", &chat)
            try coder.member("messages", &messages)
            try coder.member("outcomes", &outcomes)
            try coder.unread(&context)
            self = .missed(MissedEvents(chat: chat, messages: messages, outcomes: outcomes))
        case .notice(var notice):
            var code = notice.code
            coder.begin(
                "notice",
                """
                The user may want to know: `open-chat` (S-4), `last-will-off`, `discovery-down` and then `discovery-up`, \
                `key-changed`, those of A-40, A-44, A-46, others
                """)
            try coder.member("code", &code)
            try coder.member("text", &context.text)
            let text = context.text
            try coder.make(&notice) {
                Notice.blanks.first { $0.code == code } ?? .other(code: code, text: text)
            }
            do throws(Coder.Fault) {
                try notice.members(&coder)
            } catch {
                notice = .other(code: code, text: text)
            }
            self = .notice(notice)
        }
    }
}

extension LineCoder {
    /// Visits the members of `typing`, which needs no copy of an event: most lines are of this kind.
    mutating func typing(_ chat: inout String, _ people: inout [Person], _ text: inout String) throws(Fault) {
        begin("typing", "The list of who types changed")
        try member("chat", &chat)
        try member("users", &people)
        try member("text", &text, "what a reader would see (J-7)")
    }

    fileprivate mutating func unread(_ context: inout EventContext) throws(Fault) {
        try member("unread", &context.isUnread, unless: false, "whether it came while its chat was not shown (A-23)")
    }

    /// Visits what an outcome is about: a message, or a text that an earlier run of the node sent.
    fileprivate mutating func outcome(
        _ chat: inout String, _ message: inout MessageID, _ entry: inout UInt64?, _ user: inout UserID
    ) throws(Fault) {
        var number = entry == nil ? message : nil
        try member("chat", &chat)
        try member("message", &number)
        try member("entry", &entry, "the number of a text that an earlier run of the node sent (A-62)")
        either("message", or: "entry")
        try member("user", &user)
        message = number ?? 0
        try make(&message) { () throws(NodeError) in
            guard number != nil || entry != nil else { throw .badCommand("no number") }
            return number ?? 0
        }
    }
}

extension OwnMessage {
    static let blank = OwnMessage(at: 0, chat: "", message: 0, recipients: 0, text: "")

    /// Visits the members of a message that another front end of this user sent.
    mutating func members<Coder: LineCoder>(_ coder: inout Coder, from person: Person) throws(Coder.Fault) {
        var message = MessageMembers(self, from: person)
        coder.begin("message", "")
        try coder.member("chat", &chat)
        try message.members(&coder)
        let (chat, at) = (chat, at)
        try coder.make(&self) { () throws(NodeError) in
            guard let own = message.own(in: chat, at: at) else { throw .badCommand("no number") }
            return own
        }
    }
}

extension UserState {
    static let blank = UserState(at: 0, name: "", isAway: false)

    /// Visits the members of the state of the user.
    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        coder.begin("self", "The user's own state changed (A-32)")
        try coder.member("name", &name)
        try coder.member("away", &isAway)
    }
}

/// The first line of a node.
struct ReadyLine {
    var user = UserID.blank
    var name = ""
    var port: UInt16 = 0
    /// The version of the program.
    var version = ""
    var key = PublicKey.blank
    /// The chat of standard streams.
    var chat: String?
    var interface: Int?
    /// The device and inode of the state directory of a program that listens.
    var state: String?
    /// Whether a prompt listens, and no daemon.
    var isHolder = false
    /// The words for what the node leaves out.
    var unsupported: [String] = []

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        coder.begin("ready", "once")
        try coder.member("user", &user)
        try coder.member("name", &name)
        try coder.member("port", &port, "the UDP port")
        try coder.member("version", &version, "the implementation's")
        try coder.member("key", &key, "the static public key (W-6)")
        try coder.member("chat", &chat, "the first chat of standard streams")
        try coder.member("interface", &interface, "the number of A-1")
        try coder.member("state", &state, "the state directory (A-15)")
        try coder.member("holder", &isHolder, unless: false, "whether a prompt listens (A-72)")
        try coder.member("unsupported", &unsupported, unless: [], "what the node leaves out (J-13, A-31)")
    }
}

/// An error, which answers a request or ends a connection.
struct ErrorLine {
    var code = ""
    var text = ""
    /// The number of the line of input; nil for the end of a connection.
    var line: Int?
    var tag: String?
    var id: JSONRequestID?
    var user: UserID?
    var bytes: Int?

    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        coder.begin("error", "A request failed, or the connection ends (A-17)")
        try coder.member("code", &code)
        try coder.member("text", &text)
        try coder.member("line", &line, "the number of the line of input, from 1")
        try coder.member("tag", &tag, "of a `send`")
        try coder.member("id", &id)
        try coder.member("user", &user, "the person whose queue is full")
        try coder.member("bytes", &bytes, "the size of a message that is too long")
    }
}

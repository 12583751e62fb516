import InklingModel

/// The version of the interface.
package let interfaceVersion = 1

/// The members of an answer's line that are not part of the answer.
struct AnswerContext {
    /// The chat and the key of the request.
    var chat: String?
    var key: PublicKey?
    var node = NodeIdentity.blank
    /// The version of the program.
    var version = ""
    /// The tag of a `send`, by which its front end recognizes the message.
    var tag: String?

    init() {}

    init(_ request: ServiceRequest, of node: NodeIdentity, version: String, tag: String?) {
        (chat, key, self.node, self.version, self.tag) = (request.chat, request.key, node, version, tag)
    }
}

extension ServiceRequest {
    /// The answer to the request, without a meaning.
    var blankAnswer: ServiceAnswer {
        switch self {
        case .join(let chat, _, _): .joined(chat, [])
        case .enter: .joined(.blank, [])
        case .invite(_, nil): .invite(nil)
        case .invite: .invited(message: 0, via: "")
        case .move: .moved(.blank)
        case .invitations: .invitations([])
        case .send: .sent(message: 0, recipients: 0)
        case .peers: .peers([])
        case .knownPeers: .knownPeers([])
        case .fingerprint: .fingerprint([])
        case .messages: .messages([])
        case .waitingTexts: .waitingTexts([])
        case .sightings: .sightings(instance: nil, [])
        case .chats: .chats([])
        case .status: .status(NodeStatus(since: 0, isAway: false, frontEnds: 0, chats: []))
        case .identity: .identity(.blank)
        case .statistics: .statistics(Statistics())
        case .leave, .open, .read, .history, .compose, .startTyping, .stopTyping, .measureRoundTrips, .setAway, .rename,
            .setVerified, .setBlocked, .subscribe, .quit, .shutDown, .decline, .knock, .admit, .hold, .forget:
            .done
        }
    }
}

/// The answers to requests.
extension ServiceAnswer {
    /// Returns the line that answers a request.
    ///
    /// - Parameters:
    ///   - version: The program's.
    ///   - tag: The tag of a `send`, by which its front end recognizes the message.
    package func line(
        to request: ServiceRequest, of node: NodeIdentity, version: String, tag: String?, at time: Timestamp
    ) -> JSONLine {
        var (line, answer) = (JSONLine(at: time), self)
        var context = AnswerContext(request, of: node, version: version, tag: tag)
        answer.members(&line, &context)
        return line
    }

    /// Reads the line that answers a request.
    package init(_ line: JSONMembers, to request: ServiceRequest) {
        if line["on"]?.string == "error" {
            self = .failed(NodeError(line, to: request))
            return
        }
        var (reader, answer, context) = (LineReader(line), request.blankAnswer, AnswerContext())
        (context.chat, context.key) = (request.chat, request.key)
        do throws(NodeError) {
            if answer == .done, line["on"]?.string != "ok" { throw .badCommand("") }
            try answer.members(&reader, &context)
            self = answer
        } catch {
            self = .failed(.other(code: "bad-answer", text: "The daemon's answer can't be read."))
        }
    }

    /// Whether the answer is an `ok` whose request needs none.
    var isOK: Bool {
        switch self {
        case .done, .moved: true
        default: false
        }
    }

    /// Visits the members of the answer.
    mutating func members<Coder: LineCoder>(
        _ coder: inout Coder, _ context: inout AnswerContext
    ) throws(Coder.Fault) {
        switch self {
        case .done, .failed: coder.begin("ok", "")
        case .joined(var chat, var peers):
            coder.begin("ok", "")
            try chat.joined(&coder, &peers)
            self = .joined(chat, peers)
        case .moved(var chat):
            coder.begin("ok", "")
            try chat.moved(&coder)
            self = .moved(chat)
        case .sent(var message, var recipients):
            coder.begin("sent", "")
            try coder.chat(&context)
            try coder.sent(&message, &recipients, &context)
            self = .sent(message: message, recipients: recipients)
        case .invited(var message, var via):
            coder.begin("sent", "")
            var recipients = 1
            try coder.member("chat", &via)
            try coder.sent(&message, &recipients, &context)
            self = .invited(message: message, via: via)
        case .invitations(var invitations):
            coder.begin("invitations", "")
            try coder.member("invitations", &invitations, "each with the members of A-40")
            self = .invitations(invitations)
        case .peers(var peers):
            coder.begin("who", "")
            try coder.member("chat", &context.chat)
            try coder.member("peers", &peers, "[people](#people) in any order, perhaps with `offline` ones")
            self = .peers(peers)
        case .knownPeers(var people):
            coder.begin("people", "")
            try coder.member("people", &people)
            self = .knownPeers(people)
        case .fingerprint(var groups):
            coder.begin("fingerprint", "")
            var key = context.key ?? .blank
            try coder.member("key", &key)
            try coder.member("groups", &groups, "twelve strings of five digits")
            self = .fingerprint(groups)
        case .messages(let messages):
            coder.begin("messages", "")
            let user = Person(user: context.node.user, name: context.node.name)
            var listed = messages.map { ListedMessage($0, user: user) }
            try coder.chat(&context)
            try coder.member("messages", &listed, "the oldest first")
            let chat = context.chat ?? ""
            try coder.make(&self) { .messages(listed.compactMap { $0.recent(in: chat) }) }
        case .waitingTexts(var texts):
            coder.begin("waiting", "")
            try coder.member("waiting", &texts)
            self = .waitingTexts(texts)
        case .invite(var invite):
            coder.begin("invite", "")
            try coder.chat(&context)
            try coder.member("invite", &invite, "of a secret chat (W-11)")
            self = .invite(invite)
        case .sightings(var instance, var found):
            coder.begin("sightings", "")
            try coder.chat(&context)
            try coder.member("instance", &instance, "the node's own, if it has discovery")
            try coder.member("found", &found)
            self = .sightings(instance: instance, found)
        case .chats(var chats):
            coder.begin("chats", "")
            try coder.member("chats", &chats)
            self = .chats(chats)
        case .status(var status):
            coder.begin("status", "")
            var interface = interfaceVersion
            try coder.member("user", &context.node.user)
            try coder.member("name", &context.node.name)
            try coder.member("version", &context.version)
            try coder.member("interface", &interface)
            try coder.member("since", &status.since, "the start of the node")
            try coder.member("away", &status.isAway, "whether the user is announced as away")
            try coder.member("frontEnds", &status.frontEnds, "how many front ends are there")
            try coder.member("chats", &status.chats, "as in `chats`")
            self = .status(status)
        case .identity(var identity):
            coder.begin("identity", "")
            try identity.members(&coder)
            self = .identity(identity)
        case .statistics(var statistics):
            coder.begin("stats", "")
            try statistics.members(&coder)
            self = .statistics(statistics)
        }
    }
}

extension LineCoder {
    /// Visits the chat of a request that has one.
    fileprivate mutating func chat(_ context: inout AnswerContext) throws(Fault) {
        var chat = context.chat ?? ""
        try member("chat", &chat)
    }

    fileprivate mutating func sent(
        _ message: inout MessageID, _ recipients: inout Int, _ context: inout AnswerContext
    ) throws(Fault) {
        try member("message", &message, "the sending node's number of it, from 1")
        try member("tag", &context.tag, "as given")
        try member("to", &recipients, "how many people it goes to")
    }
}

extension Chat {
    /// Visits the members of a chat in the answer to a request that joins it.
    fileprivate mutating func joined<Coder: LineCoder>(
        _ coder: inout Coder, _ peers: inout [Peer]
    ) throws(Coder.Fault) {
        var (name, invite, owner, partner) = (name, invite, owner, partner)
        var secret = partner == nil ? nil : self.secret?.text
        try coder.member("chat", &name, "the name as the node has it")
        try coder.member("peers", &peers, "as in `who`")
        try coder.member("invite", &invite, "of a secret chat")
        try coder.member("owner", &owner, "the key of its owner")
        try coder.member("with", &partner, "the other key of a talk")
        try coder.member("secret", &secret, "the secret of a talk")
        let asked = self
        try coder.make(&self) { () throws(NodeError) in
            if let invite { return try Chat(invite: invite) }
            if let partner, let secret { return try Chat(name, talkWith: partner, secret: Secret(secret)) }
            guard asked != .blank else { throw .badCommand("no chat") }
            return asked
        }
    }

    /// Visits the members of a chat that has moved.
    mutating func moved<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        // Only a private chat with an owner moves.
        var (name, owner, invite) = (name, owner ?? .blank, invite ?? "")
        try coder.member("chat", &name)
        try coder.member("owner", &owner, "the new owner's key")
        try coder.member("invite", &invite, "the new invite")
        try coder.make(&self) { () throws(NodeError) in try Chat(invite: invite) }
    }
}

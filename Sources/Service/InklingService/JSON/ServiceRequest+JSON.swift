import InklingModel

/// One command of the JSON interface: a request as a line, in both directions.
///
/// A front end that is attached to a daemon encodes requests, and the interface of a node decodes them.
package struct RequestCodec: Sendable {
    /// The value of `do`.
    package let word: String
    /// Returns the other members in order; nil for a request of another command.
    let encode: @Sendable (ServiceRequest) -> [(String, JSONValue?)]?
    let decode: @Sendable (JSONFields) throws(NodeError) -> ServiceRequest

    package static let all: [RequestCodec] = [
        text("compose", ServiceRequest.compose(_:chat:)),
        text("send", ServiceRequest.send(_:chat:)),
        RequestCodec(
            word: "join",
            encode: {
                switch $0 {
                case .join(let chat, let isConfirmed) where chat.partner == nil:
                    chat.members(isKept: false, isConfirmed: isConfirmed)
                case .keep(let chat, let isConfirmed) where chat.partner == nil:
                    chat.members(isKept: true, isConfirmed: isConfirmed)
                default: nil
                }
            },
            decode: { fields throws(NodeError) in
                let (isKept, isConfirmed) = (try fields.boolean("keep"), try fields.boolean("confirm") ?? false)
                let chat = try Chat(fields)
                return isKept == true ? .keep(chat, isConfirmed: isConfirmed) : .join(chat, isConfirmed: isConfirmed)
            }),
        enter("talk") { fields throws(NodeError) in .talk(try fields.key()) },
        enter("accept") { fields throws(NodeError) in .invitation(try fields.invitation()) },
        RequestCodec(
            word: "decline",
            encode: { if case .decline(let number) = $0 { [("invitation", .integer(number))] } else { nil } },
            decode: { fields throws(NodeError) in .decline(invitation: try fields.invitation()) }),
        plain("invitations", .invitations),
        .move, .admit,
        chat("leave", isNamed: true, ServiceRequest.leave(chat:)),
        RequestCodec(
            word: "open",
            encode: {
                switch $0 {
                case .open(let chat): [("chat", .string(chat))]
                case .closeChat: []
                default: nil
                }
            },
            decode: { fields throws(NodeError) in
                fields.has("chat") ? .open(chat: try fields.chat(isNamed: true)) : .closeChat
            }),
        chat("read", ServiceRequest.read(chat:)),
        chat("recent", ServiceRequest.recent(chat:)),
        .history, .earlier, .search, .hold, .waiting, .forget,
        plain("away", .setAway(true)),
        plain("back", .setAway(false)),
        RequestCodec(
            word: "nick", encode: { if case .rename(let name) = $0 { [("name", .string(name))] } else { nil } },
            decode: { fields throws(NodeError) in .rename(try fields.string("name")) }),
        key("verify") { .setVerified(true, key: $0) },
        key("unverify") { .setVerified(false, key: $0) },
        block("block", true),
        block("unblock", false),
        chat("who", ServiceRequest.peers(chat:)),
        RequestCodec(
            word: "people",
            encode: { $0 == .knownPeers ? [] : $0 == .blockedPeople ? [("blocked", .boolean(true))] : nil },
            decode: { fields throws(NodeError) in
                try fields.boolean("blocked") == true ? .blockedPeople : .knownPeers
            }),
        key("fingerprint", ServiceRequest.fingerprint(key:)),
        RequestCodec(
            word: "invite",
            encode: {
                switch $0 {
                case .invite(let chat): [("chat", .string(chat))]
                case .sendInvite(let chat, let key): [("chat", .string(chat)), ("key", .string(key.description))]
                default: nil
                }
            },
            decode: { fields throws(NodeError) in
                let chat = try fields.chat()
                return fields.has("key") ? .sendInvite(chat: chat, key: try fields.key()) : .invite(chat: chat)
            }),
        chat("sightings", ServiceRequest.sightings(chat:)),
        RequestCodec(
            word: "subscribe",
            encode: { if case .subscribe(let subscription) = $0 { subscription.members } else { nil } },
            decode: { fields throws(NodeError) in .subscribe(try Subscription(fields)) }),
        plain("chats", .chats),
        plain("status", .status),
        plain("stats", .statistics),
        plain("stop", .shutDown),
    ]

    /// The codec of a request without members.
    private static func plain(_ word: String, _ request: ServiceRequest) -> RequestCodec {
        RequestCodec(word: word, encode: { $0 == request ? [] : nil }, decode: { _ in request })
    }

    /// The codec of a request with the text for a chat, which is the open chat by default.
    private static func text(
        _ word: String, _ make: @escaping @Sendable (String, String) -> ServiceRequest
    ) -> RequestCodec {
        RequestCodec(
            word: word,
            encode: { request in
                guard let text = request.text, let chat = request.chat, request == make(text, chat) else { return nil }
                return [("chat", .string(chat)), ("text", .string(text))]
            },
            decode: { fields throws(NodeError) in
                make(try fields.need(fields.text, "text"), try fields.chat())
            })
    }

    /// The codec of a request about a chat, which is the open chat by default.
    ///
    /// - Parameter isNamed: Whether the line has to name the chat.
    private static func chat(
        _ word: String, isNamed: Bool = false, _ make: @escaping @Sendable (String) -> ServiceRequest
    ) -> RequestCodec {
        RequestCodec(
            word: word,
            encode: { request in
                request.chat.flatMap { request == make($0) ? [("chat", .string($0))] : nil }
            },
            decode: { fields throws(NodeError) in make(try fields.chat(isNamed: isNamed)) })
    }

    /// The codec of a request to join a talk or the chat of an invitation.
    private static func enter(
        _ word: String, _ source: @escaping @Sendable (JSONFields) throws(NodeError) -> ChatSource
    ) -> RequestCodec {
        RequestCodec(
            word: word,
            encode: { request in
                guard case .enter(let source, let name, let isKept, let isConfirmed) = request.asEntry,
                    source.word == word
                else { return nil }
                return [source.member, ("chat", name.map(JSONValue.string))]
                    + Chat.members(isKept: isKept, isConfirmed: isConfirmed)
            },
            decode: { fields throws(NodeError) in
                .enter(
                    try source(fields), name: fields.chat, isKept: try fields.boolean("keep") ?? false,
                    isConfirmed: try fields.boolean("confirm") ?? false)
            })
    }

    /// The codec of a request about the owner of a key.
    private static func key(
        _ word: String, _ make: @escaping @Sendable (PublicKey) -> ServiceRequest
    ) -> RequestCodec {
        RequestCodec(
            word: word,
            encode: { request in
                request.key.flatMap { request == make($0) ? [("key", .string($0.description))] : nil }
            },
            decode: { fields throws(NodeError) in make(try fields.key()) })
    }

    /// The codec of a block by key, which is permanent, or by user ID, which lasts until the node ends.
    private static func block(_ word: String, _ isBlocked: Bool) -> RequestCodec {
        RequestCodec(
            word: word,
            encode: {
                switch $0 {
                case .setBlocked(isBlocked, let key): [("key", .string(key.description))]
                case .block(let user) where isBlocked, .unblock(let user) where !isBlocked:
                    [("user", .string(user.description))]
                default: nil
                }
            },
            decode: { fields throws(NodeError) in
                guard fields.has("key") else {
                    let user = try fields.userID()
                    return isBlocked ? .block(user) : .unblock(user)
                }
                guard fields.user == nil else { throw .badCommand("\"key\" and \"user\" exclude each other") }
                return .setBlocked(isBlocked, key: try fields.key())
            })
    }
}

extension ServiceRequest {
    /// The members of the line; nil for a request that the interface does not have.
    package var members: [(String, JSONValue)]? {
        for codec in RequestCodec.all {
            guard let members = codec.encode(self) else { continue }
            return [("do", .string(codec.word))] + members.compactMap { name, value in value.map { (name, $0) } }
        }
        return nil
    }

    /// The name of the chat that the request is about.
    var chat: String? {
        switch self {
        case .join(let chat, _), .keep(let chat, _): chat.name
        case .leave(let chat), .open(let chat), .read(let chat), .recent(let chat), .compose(_, let chat),
            .history(_, let chat), .hold(_, let chat), .earlier(let chat, _, _), .search(_, let chat, _),
            .startTyping(let chat), .stopTyping(let chat), .send(_, let chat), .peers(let chat),
            .measureRoundTrips(let chat), .invite(let chat), .sendInvite(let chat, _), .sightings(let chat),
            .move(let chat, _, _, _), .admit(let chat, _):
            chat
        case .enter(_, let name, _, _): name
        case .waitingTexts(let chat), .forget(let chat, _): chat
        default: nil
        }
    }

    /// The key that the request is about.
    var key: PublicKey? {
        switch self {
        case .setVerified(_, let key), .setBlocked(_, let key), .fingerprint(let key), .knock(let key),
            .sendInvite(_, let key), .admit(_, let key), .enter(.talk(let key), _, _, _):
            key
        default: nil
        }
    }

    /// The request, with a talk named by its key, as in a line.
    fileprivate var asEntry: ServiceRequest {
        switch self {
        case .join(let chat, let isConfirmed):
            chat.partner.map { .enter(.talk($0), name: chat.name, isConfirmed: isConfirmed) } ?? self
        case .keep(let chat, let isConfirmed):
            chat.partner.map { .enter(.talk($0), name: chat.name, isKept: true, isConfirmed: isConfirmed) } ?? self
        default: self
        }
    }

    fileprivate var text: String? {
        switch self {
        case .compose(let text, _), .send(let text, _): text
        default: nil
        }
    }
}

extension Chat {
    /// The members of a join that opens nothing: the front end opens the chat by a separate request.
    fileprivate func members(isKept: Bool, isConfirmed: Bool) -> [(String, JSONValue?)] {
        // Only an invite names the owner.
        let own: [(String, JSONValue?)] =
            owner == nil
            ? [("chat", .string(name)), ("secret", secret.map { .string($0.text) })]
            : [("invite", invite.map(JSONValue.string))]
        return own + Chat.members(isKept: isKept, isConfirmed: isConfirmed)
    }

    fileprivate static func members(isKept: Bool, isConfirmed: Bool) -> [(String, JSONValue?)] {
        [
            ("open", .boolean(false)), ("keep", isKept ? .boolean(true) : nil),
            ("confirm", isConfirmed ? .boolean(true) : nil),
        ]
    }

    fileprivate init(_ fields: JSONFields) throws(NodeError) {
        guard let invite = try fields.optional("invite") else {
            let name = try fields.need(fields.chat, "chat")
            let secret: Secret? = if let text = fields.secret { try Secret(text) } else { nil }
            self = try Chat(name, secret: secret)
            return
        }
        guard fields.chat == nil, fields.secret == nil else {
            throw .badCommand("\"invite\" stands in place of \"chat\" and \"secret\"")
        }
        // Only people copy blanks along with an invite (W-34).
        guard Blanks.trimmed(invite, lineEnds: true) == invite else { throw .invite(.scheme) }
        self = try Chat(invite: invite)
    }
}

extension ChatSource {
    fileprivate var word: String {
        switch self {
        case .talk: "talk"
        case .invitation: "accept"
        }
    }

    fileprivate var member: (String, JSONValue?) {
        switch self {
        case .talk(let key): ("key", .string(key.description))
        case .invitation(let number): ("invitation", .integer(number))
        }
    }
}

extension Subscription {
    /// Nil for the subscription before any `subscribe`, which no `subscribe` can restore.
    fileprivate var members: [(String, JSONValue?)]? {
        let events = JSONValue.strings(kinds.map(\.rawValue).sorted())
        return switch chats {
        case .own: nil
        case .all: [("events", events)]
        case .named(let names): [("events", events), ("chats", .strings(names.sorted()))]
        }
    }

    /// A missing member means all kinds or all chats.
    fileprivate init(_ fields: JSONFields) throws(NodeError) {
        self.init(chats: .all)
        if let words = try fields.strings("events") {
            kinds = []
            for word in words {
                guard let kind = Kind(rawValue: word) else {
                    throw .badCommand("there are no events \"\(String(word.unicodeScalars.prefix(40)))\"")
                }
                kinds.insert(kind)
            }
        }
        guard let names = try fields.strings("chats") else { return }
        guard names.count <= JSONFields.subscribedChats else { throw .badCommand("\"chats\" has more than 32 names") }
        var chats: Set<String> = []
        for name in names {
            guard let chat = try? Chat(name) else { throw .badCommand("\"chats\" has what is no chat's name") }
            chats.insert(chat.name)
        }
        self.chats = .named(chats)
    }
}

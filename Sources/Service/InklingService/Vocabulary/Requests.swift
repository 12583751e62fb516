import InklingModel

/// The requests of the interface (`Protocol/api.md`).
extension ServiceRequest {
    /// One request of each word, without a meaning, in the order of the table in `api.md`.
    static let blanks: [ServiceRequest] = [
        .compose("", chat: ""), .send("", chat: ""), .join(.blank), .enter(.talk(.blank), name: nil),
        .enter(.invitation(0), name: nil), .decline(invitation: 0), .leave(chat: ""), .open(chat: nil), .read(chat: ""),
        .setAway(true), .setAway(false), .rename(""), .peers(chat: nil), .knownPeers(), .setVerified(true, key: .blank),
        .setVerified(false, key: .blank), .setBlocked(true, .key(.blank)), .setBlocked(false, .key(.blank)),
        .fingerprint(key: .blank), .invite(chat: ""), .invitations, .move(chat: "", keys: []),
        .admit(chat: "", key: .blank), .sightings(chat: ""), .subscribe(Subscription(chats: .all)), .messages(chat: ""),
        .history(true, chat: ""), .hold(true, chat: ""),
        .waitingTexts(chat: nil), .forget(chat: nil, entry: nil), .chats, .status, .identity, .statistics, .quit,
        .shutDown,
    ]

    /// The blank requests by their words.
    private static let byWord = Dictionary(uniqueKeysWithValues: blanks.map { ($0.word, $0) })

    /// All members that any request has. Others are skipped in a line.
    static let memberNames: [String] = {
        var names = ["do", "id", "tag", "user"]
        for var request in blanks {
            var coder = SchemaCoder()
            request.members(&coder)
            for name in coder.names where !names.contains(name) { names.append(name) }
        }
        return names
    }()

    /// The most messages of an answer.
    static let longestPage: UInt64 = 200
    /// The most keys that a `move` may choose.
    private static let chosenKeys: UInt64 = 1_024
    /// The most keys that a `move` may remove.
    private static let removedKeys: UInt64 = 32

    /// The greatest number in a request.
    private static var greatest: UInt64 { JSONRequestID.greatest }

    /// Reads a request.
    init(_ word: String, _ reader: inout LineReader) throws(NodeError) {
        // Most lines are edits.
        guard var request = word == "compose" ? .compose("", chat: "") : Self.byWord[word] else {
            // Scalars: a character may be as long as a line.
            throw .badCommand("there is no command \"\(String(word.unicodeScalars.prefix(40)))\"")
        }
        reader.isRequest = true
        try request.members(&reader)
        self = request
    }

    /// The line of the request, without an ID; nil for a request that the interface does not have.
    package var line: JSONLine? {
        switch self {
        case .knock, .startTyping, .stopTyping, .measureRoundTrips: return nil
        case .subscribe(let subscription) where subscription.chats == .own: return nil
        default:
            var (line, request) = (JSONLine(at: nil), asEntry)
            request.members(&line)
            return line
        }
    }

    /// The value of `do`.
    var word: String {
        var (coder, request) = (SchemaCoder(), self)
        request.members(&coder)
        return coder.word
    }

    /// Visits the members of the request.
    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        switch self {
        case .compose(var text, var chat):
            coder.begin(
                "compose",
                """
                sets the text of the chat's input field; `""` is empty. The same text again is no edit, and keeps no \
                typing alive
                """)
            try coder.currentChat(&chat)
            try coder.member("text", &text, "the whole text of the input field")
            self = .compose(text, chat: chat)
        case .send(var text, var chat):
            coder.begin("send", "sends a message, and empties the input field", errors: "`queue-full`")
            try coder.currentChat(&chat)
            try coder.member("text", &text, "the message, 1 to 65,536 bytes of UTF-8 (M-1)")
            var tag: String?
            try coder.member("tag", &tag, "a text that comes back in the answer")
            self = .send(text, chat: chat)
        case .join(var chat, var isKept, var isConfirmed):
            coder.begin(
                "join", "joins a chat, which becomes current if no other is, unless `open` is `false`",
                errors: "A-6, A-19, A-20, A-33, A-34, A-45, A-69")
            try chat.requested(&coder)
            try coder.entry(&isKept, &isConfirmed)
            self = .join(chat, isKept: isKept, isConfirmed: isConfirmed)
        case .enter(var source, var name, var isKept, var isConfirmed):
            switch source {
            case .talk(var key):
                coder.begin("talk", "joins the talk with the key's owner (A-39)", errors: "`unknown-peer`, as `join`")
                try coder.member("key", &key)
                source = .talk(key)
            case .invitation(var number):
                coder.begin(
                    "accept", "joins the chat of an invitation (A-41)", errors: "`unknown-invitation`, as `join`")
                try coder.invitation(&number)
                source = .invitation(number)
            }
            try coder.member("chat", &name, "another name for the chat")
            try coder.entry(&isKept, &isConfirmed)
            self = .enter(source, name: name, isKept: isKept, isConfirmed: isConfirmed)
        case .decline(var number):
            coder.begin("decline", "ends an invitation", errors: "`unknown-invitation`")
            try coder.invitation(&number)
            self = .decline(invitation: number)
        case .invitations: coder.begin("invitations", "lists the open invitations")
        case .move(var chat, var keys, var removed, var owner):
            coder.begin(
                "move", "moves the user's chat to a new secret (A-42)",
                errors: "`not-owner`, `moved-too-often`, `not-kept`")
            try coder.currentChat(&chat)
            try coder.member("keys", &keys, upTo: Self.chosenKeys, "the keys that move along")
            try coder.member(
                "removed", &removed, unless: [], upTo: Self.removedKeys, "the keys that the new chat refuses")
            try coder.member("owner", &owner, "the new owner, one of `keys`")
            try coder.make(&self) { () throws(NodeError) in
                if let owner, !keys.contains(owner) { throw .badCommand("\"owner\" is not one of \"keys\"") }
                return .move(chat: chat, keys: keys, removed: removed, owner: owner)
            }
        case .admit(var chat, var key):
            coder.begin(
                "admit", "lets a further key follow a chat that has moved (A-43)",
                errors: "`not-moved`, `removed`, `not-kept`")
            try coder.currentChat(&chat)
            try coder.member("key", &key)
            self = .admit(chat: chat, key: key)
        case .leave(var chat):
            coder.begin("leave", "leaves a chat. If it was current, no chat is current")
            try coder.namedChat(&chat)
            self = .leave(chat: chat)
        case .open(var chat):
            coder.begin(
                "open",
                "makes another chat current, or none (A-36). The input field of the former is empty then (T-10)")
            try coder.anyChat(&chat, "the chat; none without it")
            self = .open(chat: chat)
        case .read(var chat):
            coder.begin("read", "marks messages as read (A-24)")
            try coder.currentChat(&chat)
            self = .read(chat: chat)
        case .messages(var chat, var before, var text, var count):
            coder.begin("messages", "lists messages of a chat, the oldest first (A-37, A-52)")
            try coder.currentChat(&chat)
            try coder.member("before", &before, upTo: Self.greatest, "the entry before which the list ends")
            try coder.member("text", &text, "the text that each message contains")
            try coder.member("count", &count, upTo: Self.longestPage, "the most messages; 50 without it")
            self = .messages(chat: chat, before: before, text: text, count: count)
        case .history(var isOn, var chat):
            coder.begin(
                "history",
                """
                with `true`, keeps a secret chat's messages on disk from now on; with `false`, no longer, and removes \
                those kept (A-50, A-53)
                """, errors: "`not-secret`, `history-not-kept`")
            try coder.currentChat(&chat)
            try coder.member("on", &isOn)
            self = .history(isOn, chat: chat)
        case .hold(var isOn, var chat):
            coder.begin(
                "hold",
                """
                with `true`, texts to the chat wait for members who are offline; with `false`, none does (A-60)
                """, errors: "`not-kept`")
            try coder.currentChat(&chat)
            try coder.member("on", &isOn)
            self = .hold(isOn, chat: chat)
        case .waitingTexts(var chat):
            coder.begin("waiting", "lists the texts that wait, of a chat or of all, the oldest first (A-64)")
            try coder.anyChat(&chat, "the chat; all chats without it")
            self = .waitingTexts(chat: chat)
        case .forget(var chat, var entry):
            coder.begin(
                "forget", "gives up one waiting text, those of a chat, or all (A-64)",
                errors: "`unknown-entry`, `not-kept`")
            try coder.anyChat(&chat, "the chat; all chats without it")
            try coder.member("entry", &entry, upTo: Self.greatest, "the number of the text")
            self = .forget(chat: chat, entry: entry)
        case .setAway(let isAway):
            if isAway {
                coder.begin("away", "announces the user as away")
            } else {
                coder.begin("back", "announces the user as away no longer")
            }
        case .rename(var name):
            coder.begin("nick", "changes the user's name in all chats (M-24)", errors: "`bad-name`")
            try coder.member("name", &name, "1 to 64 bytes of UTF-8 (M-25)")
            self = .rename(name)
        case .setVerified(let isVerified, var key):
            if isVerified {
                coder.begin(
                    "verify", "stores for good that the user compared fingerprints with the key's owner",
                    errors: "`unknown-peer`")
            } else {
                coder.begin("unverify", "undoes `verify`", errors: "`unknown-peer`")
            }
            try coder.member("key", &key)
            self = .setVerified(isVerified, key: key)
        case .setBlocked(let isBlocked, var target):
            if isBlocked {
                coder.begin(
                    "block",
                    "blocks the key's owner for good, or all keys with the user ID until the node ends",
                    errors: "`unknown-peer`")
            } else {
                coder.begin("unblock", "undoes `block`", errors: "`unknown-peer`")
            }
            try target.members(&coder)
            self = .setBlocked(isBlocked, target)
        case .peers(var chat):
            coder.begin("who", "lists the people of a chat")
            try coder.anyChat(&chat, "the chat; the current one, or none, without it")
            self = .peers(chat: chat)
        case .knownPeers(var areBlocked):
            coder.begin("people", "lists all people known, those seen last first; with `true`, those blocked for good")
            try coder.member("blocked", &areBlocked, unless: false)
            self = .knownPeers(areBlocked: areBlocked)
        case .fingerprint(var key):
            coder.begin("fingerprint", "computes what the user and the key's owner compare")
            try coder.member("key", &key)
            self = .fingerprint(key: key)
        case .invite(var chat, var key):
            coder.begin(
                "invite", "returns the chat's invite; with `key`, sends it to the key's owner: `sent` (A-38)",
                errors: "A-38; `no-invite` for a talk")
            try coder.currentChat(&chat)
            try coder.member("key", &key)
            self = .invite(chat: chat, key: key)
        case .sightings(var chat):
            coder.begin("sightings", "lists what discovery found in a chat")
            try coder.currentChat(&chat)
            self = .sightings(chat: chat)
        case .subscribe(var subscription):
            coder.begin("subscribe", "chooses events (A-27)")
            try subscription.members(&coder)
            self = .subscribe(subscription)
        case .chats: coder.begin("chats", "lists the node's chats in the order of joining")
        case .status: coder.begin("status", "describes the node")
        case .identity: coder.begin("identity", "says who the node is")
        case .statistics: coder.begin("stats", "counts what the node did")
        case .quit:
            coder.begin("quit", "ends the front end (A-16) or the node (J-10), which reads nothing after it")
        case .shutDown: coder.begin("stop", "ends the daemon as SIGTERM does; on standard streams, as `quit`")
        // The node's own calls, which the interface lacks. A daemon learns of typing by `compose`.
        case .knock, .startTyping, .stopTyping, .measureRoundTrips: break
        }
    }

    /// The name of the chat that the request is about.
    var chat: String? {
        switch self {
        case .join(let chat, _, _): chat.name
        case .leave(let chat), .read(let chat), .messages(let chat, _, _, _), .compose(_, let chat),
            .history(_, let chat), .hold(_, let chat), .startTyping(let chat),
            .stopTyping(let chat), .send(_, let chat), .measureRoundTrips(let chat), .invite(let chat, _),
            .sightings(let chat), .move(let chat, _, _, _), .admit(let chat, _):
            chat
        case .enter(_, let chat, _, _), .open(let chat), .peers(let chat), .waitingTexts(let chat),
            .forget(let chat, _):
            chat
        default: nil
        }
    }

    /// The key that the request is about.
    var key: PublicKey? {
        switch self {
        case .setVerified(_, let key), .setBlocked(_, .key(let key)), .fingerprint(let key), .knock(let key),
            .admit(_, let key), .enter(.talk(let key), _, _, _):
            key
        case .invite(_, let key): key
        default: nil
        }
    }

    /// The request, with a talk named by its key, as in a line.
    private var asEntry: ServiceRequest {
        guard case .join(let chat, let isKept, let isConfirmed) = self, let partner = chat.partner else { return self }
        return .enter(.talk(partner), name: chat.name, isKept: isKept, isConfirmed: isConfirmed)
    }
}

extension LineCoder {
    /// Visits a chat that the line has to name.
    fileprivate mutating func namedChat(_ chat: inout String) throws(Fault) {
        try member("chat", &chat)
        let name = chat
        try make(&chat) { NormalForm.canonical(name) }
    }

    /// Visits a chat that may be missing.
    fileprivate mutating func anyChat(_ chat: inout String?, _ text: StaticString) throws(Fault) {
        try member("chat", &chat, text)
        let name = chat
        try make(&chat) { name.map(NormalForm.canonical) }
    }

    fileprivate mutating func invitation(_ number: inout Int) throws(Fault) {
        try member("invitation", &number, upTo: UInt64(Int32.max), "the number of the invitation")
    }

    /// Visits the members of each request that joins a chat. The front end itself opens the chat, by a separate request.
    fileprivate mutating func entry(_ isKept: inout Bool, _ isConfirmed: inout Bool) throws(Fault) {
        var opens = false
        try member("open", &opens, unless: true, "whether the chat becomes current if no other is; else `true`")
        try member("keep", &isKept, unless: false, "whether the node stays in the chat (A-18)")
        try member(
            "confirm", &isConfirmed, unless: false, "whether the user means this chat under this name (A-33, A-34)")
    }
}

extension Chat {
    static let blank = (try? Chat("-", secret: Secret(String(repeating: "a", count: 26)))).unsafelyUnwrapped

    /// Visits the members that name the chat of a `join`. Only an invite names the owner.
    fileprivate mutating func requested<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        var (name, secret): (String?, String?) = owner == nil ? (self.name, self.secret?.text) : (nil, nil)
        var invite = owner.flatMap { _ in self.invite }
        try coder.member("chat", &name, "the name of the chat (W-2)")
        try coder.member("secret", &secret, "its secret (W-7); without it, the chat is open, or A-20 holds")
        try coder.member("invite", &invite, "an invite (W-11), in place of `chat` and `secret`")
        coder.either("chat", or: "invite")
        try coder.make(&self) { () throws(NodeError) in
            guard let invite else {
                guard let name else { throw .badCommand("\"chat\" is missing") }
                return try Chat(name, secret: secret.map { text throws(NodeError) in try Secret(text) })
            }
            guard name == nil, secret == nil else {
                throw .badCommand("\"invite\" stands in place of \"chat\" and \"secret\"")
            }
            // Only people copy blanks along with an invite (W-34).
            guard Blanks.trimmed(invite, lineEnds: true) == invite else { throw .invite(.scheme) }
            return try Chat(invite: invite)
        }
    }
}

extension BlockTarget {
    fileprivate mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        var (key, user): (PublicKey?, UserID?) =
            switch self {
            case .key(let key): (key, nil)
            case .user(let user): (nil, user)
            }
        try coder.member("key", &key)
        try coder.member("user", &user)
        coder.either("key", or: "user")
        try coder.make(&self) { () throws(NodeError) in
            guard let key else {
                guard let user else { throw .badCommand("\"user\" is missing") }
                return .user(user)
            }
            guard user == nil else { throw .badCommand("\"key\" and \"user\" exclude each other") }
            return .key(key)
        }
    }
}

extension Subscription.Kind: LineWord {}

extension Subscription {
    /// The most chats of a subscription.
    static let mostChats: UInt64 = 32

    /// Visits the members of a `subscribe`. A missing member means all kinds or all chats.
    fileprivate mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault) {
        var kinds: [Kind]? = self.kinds.sorted { $0.rawValue < $1.rawValue }
        var names: [String]? = if case .named(let names) = chats { names.sorted() } else { nil }
        try coder.member("events", &kinds, "the kinds of events; all without it")
        try coder.member("chats", &names, upTo: Self.mostChats, "the names of the chats; all chats without it")
        try coder.make(&self) { () throws(NodeError) in
            guard let names else { return Subscription(kinds: Set(kinds ?? Kind.allCases), chats: .all) }
            var chats: Set<String> = []
            for name in names {
                guard let chat = try? Chat(name) else {
                    throw .badCommand("\"chats\" has an invalid chat name")
                }
                chats.insert(chat.name)
            }
            return Subscription(kinds: Set(kinds ?? Kind.allCases), chats: .named(chats))
        }
    }
}

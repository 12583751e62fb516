import InklingModel

/// The members of a command, each of its type. Members that all commands may have are always checked.
struct JSONFields {
    typealias Refusal = JSONCommand.Refusal

    /// All members that any command has.
    static let names: Set<String> = [
        "do", "id", "text", "tag", "chat", "secret", "user", "invite", "open", "keep", "key", "name", "blocked",
        "events",
        "chats", "confirm",
    ]
    /// The most chats that a `subscribe` may list.
    static let subscribedChats = 32

    let `do`: String
    let text: String?
    let tag: String?
    let chat: String?
    let secret: String?
    let user: String?
    private let members: JSONMembers

    init(_ members: JSONMembers) throws(Refusal) {
        self.members = members
        guard let `do` = try Self.optional(members, "do") else { throw Refusal(text: "\"do\" is missing") }
        self.do = `do`
        text = try Self.optional(members, "text")
        tag = try Self.optional(members, "tag")
        chat = try Self.optional(members, "chat")
        secret = try Self.optional(members, "secret")
        user = try Self.optional(members, "user")
    }

    // A null member is not a missing one: a `join` whose secret got lost must not join an open chat.
    private static func optional(_ members: JSONMembers, _ name: String) throws(Refusal) -> String? {
        switch members[name] {
        case .string(let text): return text
        case nil: return nil
        default: throw Refusal(text: "\"\(name)\" must be a string")
        }
    }

    func need<Value>(_ value: Value?, _ name: String) throws(Refusal) -> Value {
        guard let value else { throw Refusal(text: "\"\(name)\" is missing") }
        return value
    }

    func string(_ name: String) throws(Refusal) -> String { try need(try Self.optional(members, name), name) }

    func boolean(_ name: String) throws(Refusal) -> Bool? {
        switch members[name] {
        case .boolean(let value): return value
        case nil: return nil
        default: throw Refusal(text: "\"\(name)\" must be true or false")
        }
    }

    private func strings(_ name: String) throws(Refusal) -> [String]? {
        guard let member = members[name] else { return nil }
        guard case .array(let elements) = member else { throw Refusal(text: "\"\(name)\" must be an array of strings") }
        var strings: [String] = []
        for element in elements {
            guard case .string(let text) = element else {
                throw Refusal(text: "\"\(name)\" must be an array of strings")
            }
            strings.append(text)
        }
        return strings
    }

    /// Returns the static key (W-6).
    func key() throws(Refusal) -> PublicKey {
        guard let key = PublicKey(try string("key")) else { throw Refusal(text: "\"key\" is not a key") }
        return key
    }

    /// Returns a block by key, which is permanent, or by user ID, which lasts until the node ends.
    func block(_ isBlocked: Bool) throws(Refusal) -> JSONCommand {
        guard members["key"] == nil else {
            guard user == nil else { throw Refusal(text: "\"key\" and \"user\" exclude each other") }
            return .setBlocked(isBlocked, key: try key())
        }
        let user = try need(user, "user")
        return isBlocked ? .block(user: user) : .unblock(user: user)
    }

    func join() throws(Refusal) -> JSONJoin {
        let (opens, isKept) = (try boolean("open") ?? true, try boolean("keep") ?? false)
        let isConfirmed = try boolean("confirm") ?? false
        guard let invite = try Self.optional(members, "invite") else {
            return JSONJoin(
                .named(try need(chat, "chat"), secret: secret), opens: opens, isKept: isKept, isConfirmed: isConfirmed)
        }
        guard chat == nil, secret == nil else {
            throw Refusal(text: "\"invite\" stands in place of \"chat\" and \"secret\"")
        }
        return JSONJoin(.invite(invite), opens: opens, isKept: isKept, isConfirmed: isConfirmed)
    }

    /// Returns the subscription. A missing member means all kinds or all chats.
    func subscription() throws(Refusal) -> Subscription {
        var subscription = Subscription(chats: .all)
        if let words = try strings("events") {
            subscription.kinds = []
            for word in words {
                guard let kind = Subscription.Kind(rawValue: word) else {
                    throw Refusal(text: "there are no events \"\(String(word.unicodeScalars.prefix(40)))\"")
                }
                subscription.kinds.insert(kind)
            }
        }
        if let names = try strings("chats") {
            guard names.count <= Self.subscribedChats else { throw Refusal(text: "\"chats\" has more than 32 names") }
            var chats: Set<String> = []
            for name in names {
                guard let chat = try? Chat(name) else { throw Refusal(text: "\"chats\" has what is no chat's name") }
                chats.insert(chat.name)
            }
            subscription.chats = .named(chats)
        }
        return subscription
    }
}

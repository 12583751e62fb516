import InklingModel

/// The members of a command, checked for their types. A member that any command has is always checked.
struct JSONFields {
    /// All members that any command has.
    static let names = [
        "do", "id", "text", "tag", "chat", "secret", "user", "invite", "open", "keep", "key", "name", "blocked",
        "events", "chats", "confirm", "invitation", "on", "before", "count", "keys",
        "removed", "owner", "entry",
    ]
    /// The most chats that a `subscribe` may list.
    static let subscribedChats = 32
    /// The most keys that a `move` may choose.
    static let chosenKeys = 1_024
    /// The most keys that a `move` may remove.
    static let removedKeys = 32
    /// The most kept messages of an answer.
    static let historyPage = 200
    /// The kept messages of an answer if the request has no `count`.
    static let usualHistoryPage = 50

    let `do`: String
    let text: String?
    let tag: String?
    let chat: String?
    let secret: String?
    let user: String?
    /// The chat of commands that name none.
    let openChat: String?
    private let members: JSONMembers

    init(_ members: JSONMembers, openChat: String?) throws(NodeError) {
        self.members = members
        self.openChat = openChat
        guard let `do` = try Self.optional(members, "do") else { throw .badCommand("\"do\" is missing") }
        self.do = `do`
        text = try Self.optional(members, "text")
        tag = try Self.optional(members, "tag")
        chat = try Self.optional(members, "chat")
        secret = try Self.optional(members, "secret")
        user = try Self.optional(members, "user")
    }

    // A null member is not a missing one: a `join` whose secret got lost must not join an open chat.
    private static func optional(_ members: JSONMembers, _ name: String) throws(NodeError) -> String? {
        switch members[name] {
        case .string(let text): return text
        case nil: return nil
        default: throw .badCommand("\"\(name)\" must be a string")
        }
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    func need<Value>(_ value: Value?, _ name: String) throws(NodeError) -> Value {
        guard let value else { throw .badCommand("\"\(name)\" is missing") }
        return value
    }

    func optional(_ name: String) throws(NodeError) -> String? { try Self.optional(members, name) }

    func string(_ name: String) throws(NodeError) -> String { try need(try optional(name), name) }

    func boolean(_ name: String) throws(NodeError) -> Bool? {
        switch members[name] {
        case .boolean(let value): return value
        case nil: return nil
        default: throw .badCommand("\"\(name)\" must be true or false")
        }
    }

    /// Returns an integer from 1 on.
    func number(_ name: String, upTo greatest: UInt64) throws(NodeError) -> UInt64? {
        guard let member = members[name] else { return nil }
        guard let number = member.unsigned, (1...greatest).contains(number) else {
            throw .badCommand("\"\(name)\" must be an integer from 1 to \(greatest)")
        }
        return number
    }

    /// Returns the number of an invitation.
    func invitation() throws(NodeError) -> Int {
        Int(try need(try number("invitation", upTo: UInt64(Int32.max)), "invitation"))
    }

    func strings(_ name: String) throws(NodeError) -> [String]? {
        guard let member = members[name] else { return nil }
        guard let strings = member.strings else { throw .badCommand("\"\(name)\" must be an array of strings") }
        return strings
    }

    /// Returns the static key (W-6).
    func key(_ name: String = "key") throws(NodeError) -> PublicKey {
        guard let key = PublicKey(try string(name)) else { throw .badCommand("\"\(name)\" is not a key") }
        return key
    }

    /// Returns a list of static keys (W-6); nil if it is missing.
    func keys(_ name: String, upTo count: Int) throws(NodeError) -> [PublicKey]? {
        guard let texts = try strings(name) else { return nil }
        guard texts.count <= count else { throw .badCommand("\"\(name)\" has more than \(count) keys") }
        var keys: [PublicKey] = []
        for text in texts {
            guard let key = PublicKey(text) else { throw .badCommand("\"\(name)\" has a text that is not a key") }
            keys.append(key)
        }
        return keys
    }

    func userID() throws(NodeError) -> UserID {
        guard let user = UserID(try need(user, "user")) else { throw .badCommand("\"user\" is not a user ID") }
        return user
    }

    /// Returns the name of the command's chat, by default that of the open chat.
    ///
    /// - Parameter isNamed: Whether the command has to name the chat.
    func chat(isNamed: Bool = false) throws(NodeError) -> String {
        if let chat { return NormalForm.canonical(chat) }
        if isNamed { throw .badCommand("\"chat\" is missing") }
        guard let openChat else { throw .badCommand("no chat is open; name one or open it first") }
        return openChat
    }
}

extension NodeError {
    /// A line that is not a command (J-4).
    static func badCommand(_ text: String) -> NodeError { .other(code: "bad-command", text: text) }
}

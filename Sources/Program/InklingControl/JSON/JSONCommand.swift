import InklingModel

/// A command of the JSON interface.
package enum JSONCommand: Sendable {
    case compose(String, chat: String?)
    case send(String, tag: String?, chat: String?)
    case join(JSONJoin)
    case leave(chat: String)
    case open(chat: String)
    case read(chat: String?)
    case setAway(Bool)
    case nick(String)
    case block(user: String)
    case unblock(user: String)
    /// For good.
    case setBlocked(Bool, key: PublicKey)
    case setVerified(Bool, key: PublicKey)
    case who(chat: String?)
    case people(areBlocked: Bool)
    case fingerprint(key: PublicKey)
    case invite(chat: String?)
    case sightings(chat: String?)
    case subscribe(Subscription)
    case chats
    case status
    case identity
    case stats
    case quit
    case stop

    /// The reason why a line is not a command.
    package struct Refusal: Error {
        package let text: String

        package init(text: String) { self.text = text }
    }

    /// Reads a line. Members that a command does not know are ignored.
    package init(_ line: [UInt8]) throws(Refusal) {
        self = try JSONRequest(line).command.get()
    }

    /// Returns the tag of a line with a `send`, even of a refused one; nil for other lines.
    package static func tag(of line: [UInt8]) -> String? { JSONRequest(line).tag }
}

/// The members of a `join`.
package struct JSONJoin: Hashable, Sendable {
    package enum Chat: Hashable, Sendable {
        case named(String, secret: String?)
        case invite(String)
    }

    package var chat: Chat
    /// Whether the chat becomes the open chat if there is none.
    package var opens = true
    /// Whether the node stays in the chat without this front end.
    package var isKept = false
    /// Whether the user confirms that the chat of that name is meant.
    package var isConfirmed = false

    package init(_ chat: Chat, opens: Bool = true, isKept: Bool = false, isConfirmed: Bool = false) {
        self.chat = chat
        self.opens = opens
        self.isKept = isKept
        self.isConfirmed = isConfirmed
    }
}

/// A line of input: its command, and the ID and tag of its answer.
package struct JSONRequest: Sendable {
    /// Nil if the line has no ID, or one that is not valid.
    package let id: RequestID?
    /// The tag of a `send`, even of a refused one; nil for other lines.
    package let tag: String?
    package let command: Result<JSONCommand, JSONCommand.Refusal>

    package init(_ line: [UInt8]) {
        let members: JSONMembers
        do {
            members = try JSONMembers(line, holding: JSONFields.names)
        } catch {
            (id, tag) = (nil, nil)
            command = .failure(.init(text: error.text))
            return
        }
        if case .string(let text) = members["tag"], members["do"] == .string("send") { tag = text } else { tag = nil }
        let given = members["id"]
        let id = given.flatMap { RequestID($0) }
        self.id = id
        guard given == nil || id != nil else {
            command = .failure(.init(text: "\"id\" must be an integer from 0 to 2^53 - 1, or a text of 1 to 64 bytes"))
            return
        }
        do {
            command = .success(try JSONCommand(JSONFields(members)))
        } catch {
            command = .failure(error)
        }
    }
}

/// The ID of a request, by which a front end recognizes the answer.
package enum RequestID: Hashable, Sendable {
    /// From 0 to ``greatest``.
    case number(UInt64)
    /// 1 to ``longest`` bytes.
    case text(String)

    /// The highest number.
    static let greatest: UInt64 = (1 << 53) - 1
    /// Bytes of the longest text.
    static let longest = 64

    init?(_ element: JSONElement) {
        switch element {
        case .number(let digits):
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(digits),
                number <= Self.greatest
            else { return nil }
            self = .number(number)
        case .string(let text):
            guard (1...Self.longest).contains(text.utf8.count) else { return nil }
            self = .text(text)
        case .boolean, .null, .array, .object, .skipped: return nil
        }
    }

    var value: JSONValue {
        switch self {
        case .number(let number): .unsigned(number)
        case .text(let text): .string(text)
        }
    }
}

extension JSONMembers.Failure {
    fileprivate var text: String {
        switch self {
        case .notUTF8: "the line is not UTF-8"
        case .notObject: "the line is not a JSON object"
        case .unexpected(let offset): "the line is not valid JSON: see its byte \(offset + 1)"
        }
    }
}

extension JSONCommand {
    fileprivate init(_ fields: JSONFields) throws(Refusal) {
        switch fields.do {
        case "compose": self = .compose(try fields.need(fields.text, "text"), chat: fields.chat)
        case "send": self = .send(try fields.need(fields.text, "text"), tag: fields.tag, chat: fields.chat)
        case "join": self = .join(try fields.join())
        case "leave": self = .leave(chat: try fields.need(fields.chat, "chat"))
        case "open": self = .open(chat: try fields.need(fields.chat, "chat"))
        case "read": self = .read(chat: fields.chat)
        case "away": self = .setAway(true)
        case "back": self = .setAway(false)
        case "nick": self = .nick(try fields.string("name"))
        case "block", "unblock": self = try fields.block(fields.do == "block")
        case "verify": self = .setVerified(true, key: try fields.key())
        case "unverify": self = .setVerified(false, key: try fields.key())
        case "who": self = .who(chat: fields.chat)
        case "people": self = .people(areBlocked: try fields.boolean("blocked") ?? false)
        case "fingerprint": self = .fingerprint(key: try fields.key())
        case "invite": self = .invite(chat: fields.chat)
        case "sightings": self = .sightings(chat: fields.chat)
        case "subscribe": self = .subscribe(try fields.subscription())
        default: self = try Self.plain(fields.do)
        }
    }

    /// A command without members.
    private static func plain(_ name: String) throws(Refusal) -> JSONCommand {
        switch name {
        case "chats": return .chats
        case "status": return .status
        case "identity": return .identity
        case "stats": return .stats
        case "quit": return .quit
        case "stop": return .stop
        default:
            // Scalars: a character may be as long as a line.
            throw Refusal(text: "there is no command \"\(String(name.unicodeScalars.prefix(40)))\"")
        }
    }
}

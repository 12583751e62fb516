/// A line of input of the JSON interface.
package enum JSONCommand: Sendable {
    case compose(String, chat: String?)
    case send(String, tag: String?, chat: String?)
    case join(chat: String, secret: String?)
    case leave(chat: String)
    case open(chat: String)
    case setAway(Bool)
    case block(user: String)
    case unblock(user: String)
    case who(chat: String?)
    case stats
    case quit

    /// Why a line is not a command.
    package struct Refusal: Error {
        package let text: String

        package init(text: String) { self.text = text }
    }

    private struct Fields {
        let `do`: String
        let text: String?
        let tag: String?
        let chat: String?
        let secret: String?
        let user: String?

        init(_ members: JSONMembers) throws(Refusal) {
            // A member that is null is not the same as a missing one: nobody joins an open chat whose secret got lost.
            func optional(_ name: String) throws(Refusal) -> String? {
                switch members[name] {
                case .string(let text): return text
                case .other: throw Refusal(text: "\"\(name)\" must be a string")
                case nil: return nil
                }
            }
            guard let `do` = try optional("do") else { throw Refusal(text: "\"do\" is missing") }
            self.do = `do`
            (text, tag, chat) = (try optional("text"), try optional("tag"), try optional("chat"))
            (secret, user) = (try optional("secret"), try optional("user"))
        }
    }

    /// The tag of a line with a `send`, even of one that is refused; nil for all else.
    package static func tag(of line: [UInt8]) -> String? {
        guard
            let members = try? JSONMembers(line), members["do"] == .string("send"),
            case .string(let tag) = members["tag"]
        else { return nil }
        return tag
    }

    /// Reads a line. Members that a command does not know are ignored.
    package init(_ line: [UInt8]) throws(Refusal) {
        let fields = try Self.fields(of: line)
        switch fields.do {
        case "compose": self = .compose(try Self.need(fields.text, "text"), chat: fields.chat)
        case "send": self = .send(try Self.need(fields.text, "text"), tag: fields.tag, chat: fields.chat)
        case "join": self = .join(chat: try Self.need(fields.chat, "chat"), secret: fields.secret)
        case "leave": self = .leave(chat: try Self.need(fields.chat, "chat"))
        case "open": self = .open(chat: try Self.need(fields.chat, "chat"))
        case "away": self = .setAway(true)
        case "back": self = .setAway(false)
        case "block": self = .block(user: try Self.need(fields.user, "user"))
        case "unblock": self = .unblock(user: try Self.need(fields.user, "user"))
        case "who": self = .who(chat: fields.chat)
        case "stats": self = .stats
        case "quit": self = .quit
        default:
            // Scalars: a character may be as long as a line.
            throw Refusal(text: "there is no command \"\(String(fields.do.unicodeScalars.prefix(40)))\"")
        }
    }

    private static func need(_ value: String?, _ name: String) throws(Refusal) -> String {
        guard let value else { throw Refusal(text: "\"\(name)\" is missing") }
        return value
    }

    private static func fields(of line: [UInt8]) throws(Refusal) -> Fields {
        let members: JSONMembers
        do {
            members = try JSONMembers(line)
        } catch {
            throw switch error {
            case .notUTF8: Refusal(text: "the line is not UTF-8")
            case .notObject: Refusal(text: "the line is not a JSON object")
            case .unexpected(let offset): Refusal(text: "the line is not valid JSON: see its byte \(offset + 1)")
            }
        }
        return try Fields(members)
    }
}

import Foundation

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

    private struct Fields: Decodable {
        let `do`: String
        let text: String?
        let tag: String?
        let chat: String?
        let secret: String?
        let user: String?

        private enum Member: CodingKey {
            case `do`, text, tag, chat, secret, user
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            // A member that is null is not the same as a missing one: nobody joins an open chat whose secret got lost.
            func optional(_ member: Member) throws -> String? {
                members.contains(member) ? try members.decode(String.self, forKey: member) : nil
            }
            self.do = try members.decode(String.self, forKey: .do)
            (text, tag, chat) = (try optional(.text), try optional(.tag), try optional(.chat))
            (secret, user) = (try optional(.secret), try optional(.user))
        }
    }

    /// The tag of a line with a `send`, even of one that is refused; nil for all else.
    package static func tag(of line: [UInt8]) -> String? {
        struct Tagged: Decodable {
            let `do`: String
            let tag: String
        }
        guard let tagged = try? JSONDecoder().decode(Tagged.self, from: Data(line)) else { return nil }
        return tagged.do == "send" ? tagged.tag : nil
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
        default: throw Refusal(text: "there is no command \"\(fields.do.prefix(40))\"")
        }
    }

    private static func need(_ value: String?, _ name: String) throws(Refusal) -> String {
        guard let value else { throw Refusal(text: "\"\(name)\" is missing") }
        return value
    }

    private static func fields(of line: [UInt8]) throws(Refusal) -> Fields {
        guard String(validating: line, as: UTF8.self) != nil else { throw Refusal(text: "the line is not UTF-8") }
        do {
            return try JSONDecoder().decode(Fields.self, from: Data(line))
        } catch DecodingError.typeMismatch(_, let context) {
            let name = context.codingPath.last?.stringValue
            throw Refusal(text: name.map { "\"\($0)\" must be a string" } ?? "the line is not a JSON object")
        } catch DecodingError.keyNotFound(let key, _) {
            throw Refusal(text: "\"\(key.stringValue)\" is missing")
        } catch DecodingError.valueNotFound(_, let context) {
            throw Refusal(text: "\"\(context.codingPath.last?.stringValue ?? "do")\" must be a string")
        } catch {
            throw Refusal(text: "the line is not valid JSON")
        }
    }
}

import InklingModel

/// A command of the JSON interface.
package enum JSONCommand: Sendable {
    /// - Parameter opens: Whether a joined chat becomes the open chat if there is none.
    case ask(ServiceRequest, opens: Bool)
    /// A `who` without a chat.
    case whoOfNoChat
    case identity
    case quit

    fileprivate init(_ fields: JSONFields) throws(NodeError) {
        switch fields.do {
        case "identity": self = .identity
        case "quit": self = .quit
        case "who" where fields.chat == nil && fields.openChat == nil: self = .whoOfNoChat
        default:
            guard let codec = RequestCodec.all.first(where: { $0.word == fields.do }) else {
                // Scalars: a character may be as long as a line.
                throw .badCommand("there is no command \"\(String(fields.do.unicodeScalars.prefix(40)))\"")
            }
            let joins = ["join", "talk", "accept"].contains(fields.do)
            let opens = joins ? try fields.boolean("open") ?? true : true
            self = .ask(try codec.decode(fields), opens: opens)
        }
    }
}

/// A line of input: its command, and the ID and tag of its answer. Members that a command does not know are ignored.
package struct JSONRequest: Sendable {
    /// Nil if the line has no ID, or one that is not valid.
    package let id: JSONRequestID?
    /// The tag of a `send`, even of a refused one; nil for other lines.
    package let tag: String?
    package let command: Result<JSONCommand, NodeError>

    /// - Parameter openChat: The chat of a command that names none.
    package init(_ line: [UInt8], openChat: String?) {
        var (id, tag): (JSONRequestID?, String?)
        command = Result { () throws(NodeError) in
            let members: JSONMembers
            do throws(JSONMembers.Failure) {
                members = try JSONMembers(line, holding: JSONFields.names)
            } catch {
                throw .badCommand(error.text)
            }
            if case .string(let text) = members["tag"], members["do"] == .string("send") { tag = text }
            if let given = members["id"] {
                id = JSONRequestID(given)
                guard id != nil else {
                    throw .badCommand("\"id\" must be an integer from 0 to 2^53 - 1, or a text of 1 to 64 bytes")
                }
            }
            return try JSONCommand(JSONFields(members, openChat: openChat))
        }
        (self.id, self.tag) = (id, tag)
    }
}

/// The ID of a request, by which a front end recognizes the answer.
package enum JSONRequestID: Hashable, Sendable {
    /// From 0 to ``greatest``.
    case number(UInt64)
    /// A text of 1 to ``longest`` bytes.
    case text(String)

    /// The highest number.
    static let greatest: UInt64 = (1 << 53) - 1
    /// The longest text, in bytes.
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

    package var value: JSONValue {
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

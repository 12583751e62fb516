import InklingModel

/// A line of input: its request, and the ID and tag of its answer. Members that a request does not know are ignored.
package struct JSONRequest: Sendable {
    /// A request, and whether a joined chat becomes the open chat if there is none.
    package struct Asked: Equatable, Sendable {
        package var request: ServiceRequest
        package var opens = true
    }

    /// Nil if the line has no ID, or one that is not valid.
    package let id: JSONRequestID?
    /// The tag of a `send`, even of a refused one; nil for other lines.
    package let tag: String?
    package let asked: Result<Asked, NodeError>
    /// The members that must be strings in each request, also where a request has no such member.
    private static let strings: [StaticString] = ["do", "text", "tag", "chat", "secret", "user"]

    /// - Parameter openChat: The chat of a request that names none.
    package init(_ line: [UInt8], openChat: String?) {
        var (id, tag): (JSONRequestID?, String?)
        asked = Result { () throws(NodeError) in
            let members: JSONMembers
            do throws(JSONMembers.Failure) {
                members = try JSONMembers(line, holding: ServiceRequest.memberNames)
            } catch {
                throw .badCommand(error.text)
            }
            let areStrings = members.areStrings
            let word = members["do"]?.string
            if word == "send", case .string(let text) = members["tag"] { tag = text }
            if let given = members["id"] {
                id = JSONRequestID(given)
                guard id != nil else {
                    throw .badCommand("\"id\" must be an integer from 0 to 2^53 - 1, or a text of 1 to 64 bytes")
                }
            }
            for name in areStrings ? [] : Self.strings {
                if let member = members[name], member.string == nil {
                    throw .badCommand("\"\(name)\" must be a string")
                }
            }
            guard let word else { throw .badCommand("\"do\" is missing") }
            var reader = LineReader(members)
            reader.openChat = openChat
            var asked = Asked(request: try ServiceRequest(word, &reader))
            if case .peers(nil) = asked.request { asked.request = .peers(chat: openChat) }
            if !areStrings, members["open"] == .boolean(false) { asked.opens = false }
            return asked
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

extension JSONRequestID: LineValue {
    static let blank = JSONRequestID.number(0)
    static var form: LineForm {
        let texts: [(String, JSONValue)] = [
            ("type", .string("string")), ("minLength", .integer(1)), ("maxLength", .integer(longest)),
        ]
        let numbers: [(String, JSONValue)] = [
            ("type", .string("integer")), ("minimum", .integer(0)), ("maximum", .unsigned(greatest)),
        ]
        let text = "What a request was given to know its answer by (A-2): a string of at most 64 bytes, or an integer."
        return LineForm(
            named: "id", [("description", .string(text)), ("oneOf", .array([.object(texts), .object(numbers)]))],
            fault: "is not valid")
    }
    func append(to line: inout [UInt8]) { value.append(to: &line) }
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

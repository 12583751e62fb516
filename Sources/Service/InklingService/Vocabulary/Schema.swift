import InklingModel

/// The maker of the definition of a line or object in JSON Schema, and of its row in the tables of `api.md`.
struct SchemaCoder: LineCoder {
    struct Member {
        let name: String
        let schema: JSONValue
        /// Whether each line has the member.
        let isNeeded: Bool
        let text: String
    }

    private(set) var word = ""
    private(set) var text = ""
    private(set) var errors = ""
    private(set) var members: [Member] = []
    /// The definitions to which the members refer, by name.
    private(set) var definitions: [String: JSONValue] = [:]
    /// The members of which exactly one stands in the line.
    private(set) var pairs: [(first: String, second: String)] = []
    private var conditions: [JSONValue] = []
    private var isAnswering = false

    init() {}

    var names: [String] { members.map(\.name) }

    mutating func begin(_ word: String, _ text: StaticString, errors: StaticString) {
        (self.word, self.text, self.errors) = (word, text.description, errors.description)
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value, upTo limit: UInt64?, _ text: StaticString
    ) {
        add(name.description, Value.self, limit, isNeeded: !isAnswering, text)
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value?, upTo limit: UInt64?, _ text: StaticString
    ) {
        add(name.description, Value.self, limit, isNeeded: false, text)
    }

    mutating func member<Value: LineValue & Equatable>(
        _ name: StaticString, _ value: inout Value, unless usual: Value, upTo limit: UInt64?, _ text: StaticString
    ) {
        add(name.description, Value.self, limit, isNeeded: false, text)
    }

    mutating func currentChat(_ chat: inout String) {
        add("chat", String.self, nil, isNeeded: false, "the chat; the current one without it")
    }

    mutating func make<Value>(_ value: inout Value, _ body: () throws(NodeError) -> Value) {}

    mutating func either(_ first: StaticString, or second: StaticString) {
        pairs.append((first.description, second.description))
    }

    mutating func beginAnswering() { isAnswering = true }

    private mutating func add<Value: LineValue>(
        _ name: String, _ type: Value.Type, _ limit: UInt64?, isNeeded: Bool, _ text: StaticString
    ) {
        let form = Value.self == String.self ? LineForm.texts[name] ?? Value.form : Value.form
        Value.define(&definitions)
        if let name = form.name?.description { definitions[name] = .object(form.schema) }
        var schema = form.reference.members
        if let limit, let word = form.limit { schema.append((word.description, .unsigned(limit))) }
        if limit != nil, form.limit?.description == "maximum" {
            schema = schema.map { $0.0 == "minimum" ? ("minimum", .integer(1)) : $0 }
        }
        if !text.description.isEmpty { schema.append(("description", .string(text.description))) }
        members.append(
            Member(name: name, schema: .object(schema), isNeeded: isNeeded, text: text.description))
    }

    /// Makes the needed members those of a notice with a code.
    mutating func limit(to code: String) {
        let needed = JSONValue.object([("required", .strings(members.filter(\.isNeeded).map(\.name)))])
        let isCode = JSONValue.object([("properties", .object([("code", .object([("const", .string(code))]))]))])
        conditions.append(.object([("if", isCode), ("then", needed)]))
    }

    /// The object in JSON Schema.
    var object: [(String, JSONValue)] { object(adding: []) }

    /// Returns the line in JSON Schema.
    ///
    /// - Parameter envelope: The members of each line of the kind.
    func object(adding envelope: [Member]) -> [(String, JSONValue)] {
        let all = envelope + members
        let needed = all.filter(\.isNeeded).map(\.name)
        var object: [(String, JSONValue)] = [
            ("type", .string("object")), ("properties", .object(all.map { ($0.name, $0.schema) })),
        ]
        if !text.isEmpty { object.insert(("description", .string(text)), at: 0) }
        if !needed.isEmpty { object.append(("required", .strings(needed))) }
        for pair in pairs {
            let alternatives = [(pair.first, pair.second), (pair.second, pair.first)].map { one, other in
                JSONValue.object([
                    ("required", .strings([one])), ("not", .object([("required", .strings([other]))])),
                ])
            }
            object.append(("oneOf", .array(alternatives)))
        }
        if !conditions.isEmpty { object.append(("allOf", .array(conditions))) }
        return object
    }

    /// Joins a further line of the same word: a member that one of the lines lacks is not needed.
    mutating func merge(_ other: SchemaCoder) {
        let mine = Set(names), theirs = Dictionary(other.members.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
        members = members.map {
            Member(
                name: $0.name, schema: $0.schema, isNeeded: $0.isNeeded && theirs[$0.name]?.isNeeded ?? false,
                text: $0.text)
        }
        members += other.members.filter { !mine.contains($0.name) }.map {
            Member(name: $0.name, schema: $0.schema, isNeeded: false, text: $0.text)
        }
        definitions.merge(other.definitions) { mine, _ in mine }
        conditions += other.conditions
    }
}

extension LineForm {
    /// The forms of texts, by the names of their members.
    static let texts: [String: LineForm] = [
        "chat": chat, "to": chat,
        "name": LineForm(
            named: "name",
            [
                ("description", .string("A display name: up to 64 bytes of UTF-8 (M-25).")),
                ("type", .string("string")),
                ("maxLength", .integer(64)),
            ], fault: ""),
        "secret": .text(
            "secret", "A chat's secret in base32 (W-7).", pattern: "^[a-z2-7]{25}[aeimquy4]$", fault: ""),
        "invite": .text(
            "invite", "An invite (W-11).",
            pattern:
                "^[Ii][Nn][Kk][Ll][Ii][Nn][Gg]:[^#]*#[a-z2-7]{25}[aeimquy4](@[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])?$",
            fault: ""),
        "code": .text("code", "A code (J-4).", pattern: "^[a-z0-9]+(-[a-z0-9]+)*$", fault: ""),
    ]

    private static let chat = LineForm(
        named: "chat",
        [
            ("description", .string("A chat's name: 1 to 64 bytes of UTF-8 (W-2).")), ("type", .string("string")),
            ("minLength", .integer(1)), ("maxLength", .integer(64)),
        ], fault: "")

    /// The form itself, or the reference to its definition.
    var reference: JSONValue {
        guard let name = name?.description else { return .object(schema) }
        return .object([("$ref", .string("#/$defs/\(name)"))])
    }
}

extension LineValue {
    static func define(_ definitions: inout [String: JSONValue]) {
        let form = form
        if let name = form.name?.description { definitions[name] = .object(form.schema) }
    }
}

extension LineObject {
    static func define(_ definitions: inout [String: JSONValue]) {
        var (coder, value) = (SchemaCoder(), blank)
        value.members(&coder)
        definitions.merge(coder.definitions) { mine, _ in mine }
        if let name = schemaName?.description { definitions[name] = .object(coder.object) }
    }
}

extension Array where Element: LineValue {
    static func define(_ definitions: inout [String: JSONValue]) { Element.define(&definitions) }
}

extension JSONValue {
    fileprivate var members: [(String, JSONValue)] { if case .object(let members) = self { members } else { [] } }
}

extension SchemaCoder {
    /// The members for a cell of a table, with optional ones in brackets.
    fileprivate var signature: String {
        var cells: [String] = []
        for member in members {
            let pair = pairs.first { $0.first == member.name || $0.second == member.name }
            if let pair, pair.second == member.name { continue }
            let cell = pair.map { "`\($0.first)` or `\($0.second)`" } ?? "`\(member.name)`"
            cells.append(member.isNeeded || pair != nil ? cell : "[\(cell)]")
        }
        return cells.joined(separator: " ")
    }
}

/// The interface as JSON Schema and as tables, made of the definitions of all requests, answers and events.
package enum Vocabulary {
    /// The requests, in the order of the table in `api.md`.
    private static var requests: [SchemaCoder] {
        ServiceRequest.blanks.map { request in
            var (coder, request) = (SchemaCoder(), request)
            request.members(&coder)
            return coder
        }
    }

    /// The words of all requests.
    package static var requestWords: [String] { requests.map(\.word) }

    private static func coder(_ answer: ServiceAnswer, _ context: AnswerContext = AnswerContext()) -> SchemaCoder {
        var (coder, answer, context) = (SchemaCoder(), answer, context)
        answer.members(&coder, &context)
        return coder
    }

    /// The answer to each request, by the word of the request.
    private static func answer(to request: ServiceRequest) -> SchemaCoder {
        coder(request.blankAnswer, AnswerContext(request, of: .blank, version: "", tag: nil))
    }

    private static var answers: [SchemaCoder] {
        ServiceRequest.blanks.map(answer) + [
            coder(.joined(.blank, [])), coder(.moved(.blank)), coder(.invited(message: 0, via: "")),
        ]
    }

    private static var events: [SchemaCoder] {
        var coders: [SchemaCoder] = []
        func add(_ body: (inout SchemaCoder) -> Void) {
            var coder = SchemaCoder()
            body(&coder)
            coders.append(coder)
        }
        add {
            var ready = ReadyLine()
            ready.members(&$0)
        }
        for var event in Event.blanks + Notice.blanks.map({ .notice($0) }) {
            var context = EventContext()
            add {
                event.members(&$0, &context)
                if case .notice(let notice) = event, !notice.code.isEmpty { $0.limit(to: notice.code) }
            }
        }
        add {
            var user = UserState.blank
            user.members(&$0)
        }
        add {
            var error = ErrorLine()
            error.members(&$0)
        }
        return coders
    }

    /// Joins the lines of each word, in order.
    private static func merged(_ coders: [SchemaCoder]) -> [SchemaCoder] {
        var merged: [SchemaCoder] = []
        for coder in coders {
            if let index = merged.firstIndex(where: { $0.word == coder.word }) {
                merged[index].merge(coder)
            } else {
                merged.append(coder)
            }
        }
        return merged
    }

    /// The schema, one definition a line.
    package static var schema: String {
        let id = SchemaCoder.Member(name: "id", schema: JSONRequestID.form.reference, isNeeded: false, text: "")
        let at = SchemaCoder.Member(name: "at", schema: Timestamp.form.reference, isNeeded: true, text: "")
        func kind(_ name: String, _ word: String) -> SchemaCoder.Member {
            SchemaCoder.Member(name: name, schema: .object([("const", .string(word))]), isNeeded: true, text: "")
        }
        var definitions = ["id": JSONValue.object(JSONRequestID.form.schema)]
        var lines: [(String, JSONValue)] = []
        func add(_ coders: [SchemaCoder], _ prefix: String, _ envelope: (String) -> [SchemaCoder.Member]) -> JSONValue {
            let references = coders.map { coder -> JSONValue in
                definitions.merge(coder.definitions) { mine, _ in mine }
                lines.append((prefix + coder.word, .object(coder.object(adding: envelope(coder.word)))))
                return .object([("$ref", .string("#/$defs/\(prefix)\(coder.word)"))])
            }
            return .object([("oneOf", .array(references))])
        }
        let input = add(requests, "in-") { [kind("do", $0), id] }
        let outputs = merged(answers + events)
        let answers = Set(answers.map(\.word))
        let output = add(outputs, "out-") { [kind("on", $0), at] + (answers.contains($0) ? [id] : []) }
        let all = [("input", input), ("output", output)] + lines + definitions.sorted { $0.key < $1.key }
        let text =
            "One line in either direction, of api.md. Each definition input and output describes one direction. A reader "
            + "ignores members that it does not know. Limits of bytes are counts of characters here."
        return """
            {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Inkling: lines of the JSON interface",
            "description": \(JSONValue.string(text).text),
            "oneOf": [{"$ref":"#/$defs/input"},{"$ref":"#/$defs/output"}],
            "$defs": {
            \(all.map { "\(JSONValue.string($0.0).text): \($0.1.text)" }.joined(separator: ",\n"))
            }
            }

            """
    }

    /// Returns the line of an output, read and written again; nil for a line that can't be read.
    ///
    /// - Parameter request: The request that the line answers; nil for other lines.
    package static func rewritten(_ line: [UInt8], to request: ServiceRequest?) -> [UInt8]? {
        guard let members = try? JSONMembers(line) else { return nil }
        if let request {
            let answer = ServiceAnswer(members, to: request)
            if case .failed = answer { return nil }
            return answer.line(to: request, of: .blank, version: "", tag: nil, at: 0).bytes()
        }
        guard members["on"]?.string != "ready" else {
            var (reader, ready, written) = (LineReader(members), ReadyLine(), JSONLine(at: 0))
            guard (try? ready.members(&reader)) != nil else { return nil }
            ready.members(&written)
            return written.bytes()
        }
        let events = JSONEvents(
            indicator: { "\($0.count)" }, notice: { if case .other(_, let text) = $0 { text } else { "" } })
        return switch AttachedEvents.output(members) {
        case .event(let timed): events.line(for: timed).bytes()
        case .unread(let timed): events.line(for: timed, isUnread: true).bytes()
        case .own(let own): events.line(for: own, from: .blank).bytes()
        default: nil
        }
    }

    /// The tables of `api.md`, by the names of their marks.
    package static var tables: [String: String] {
        func table(_ head: [String], _ rows: [[String]]) -> String {
            ([head, head.map { _ in "---" }] + rows).map { "|" + $0.joined(separator: "|") + "|" }
                .joined(separator: "\n")
        }
        func object<Object: LineObject>(_ type: Object.Type) -> String {
            var (coder, value) = (SchemaCoder(), Object.blank)
            value.members(&coder)
            let rows = coder.members.map { ["`\($0.name)`", $0.text] }
            return table(["member", "meaning"], rows.filter { !$0[1].isEmpty })
        }
        func described(_ coder: SchemaCoder) -> String {
            "`\(coder.word)`" + (coder.members.isEmpty ? "" : " \(coder.signature)")
        }
        let requests = zip(ServiceRequest.blanks, requests).map { request, coder in
            let answer = coder.word == "stats" ? "`stats`" : described(answer(to: request))
            return [described(coder), coder.text, answer, coder.errors]
        }
        let events = merged(events).map { [described($0), $0.text] }
        return [
            "requests": table(["request", "effect", "answer", "errors"], requests),
            "events": table(["event", "when"], events), "invitation": object(Invitation.self),
            "peer": object(Peer.self), "chat-status": object(ChatStatus.self),
        ]
    }
}

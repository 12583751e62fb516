import InklingModel

/// A visitor of the members of a line or object, in order. The visitors write lines, read lines, and make the schema.
///
/// Each request, answer, event and object visits its members in one function, which is its only definition.
protocol LineCoder {
    associatedtype Fault: Error

    /// Begins a line.
    ///
    /// - Parameters:
    ///   - word: The value of `do` or `on`.
    ///   - text: The effect of a request, or the occasion of an event.
    ///   - errors: The errors of a request that the general table lacks.
    mutating func begin(_ word: String, _ text: StaticString, errors: StaticString)

    /// Visits a member that each line has.
    ///
    /// - Parameter limit: The greatest number, or the most elements.
    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value, upTo limit: UInt64?, _ text: StaticString
    ) throws(Fault)

    /// Visits a member that a line has if the value is not nil.
    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value?, upTo limit: UInt64?, _ text: StaticString
    ) throws(Fault)

    /// Visits a member that a line has if the value differs from `usual`.
    mutating func member<Value: LineValue & Equatable>(
        _ name: StaticString, _ value: inout Value, unless usual: Value, upTo limit: UInt64?, _ text: StaticString
    ) throws(Fault)

    /// Visits the chat of a request, by default the current chat of its front end.
    mutating func currentChat(_ chat: inout String) throws(Fault)

    /// Makes a value of members that were visited. Only a reader calls `body`.
    mutating func make<Value>(_ value: inout Value, _ body: () throws(NodeError) -> Value) throws(Fault)

    /// States that exactly one of two members stands in the line.
    mutating func either(_ first: StaticString, or second: StaticString)

    /// States that only a node with an interface has to write the members that follow.
    mutating func beginAnswering()
}

extension LineCoder {
    mutating func begin(_ word: String, _ text: StaticString) { begin(word, text, errors: "") }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value, _ text: StaticString = ""
    ) throws(Fault) {
        try member(name, &value, upTo: nil, text)
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value?, _ text: StaticString = ""
    ) throws(Fault) {
        try member(name, &value, upTo: nil, text)
    }

    mutating func member<Value: LineValue & Equatable>(
        _ name: StaticString, _ value: inout Value, unless usual: Value, _ text: StaticString = ""
    ) throws(Fault) {
        try member(name, &value, unless: usual, upTo: nil, text)
    }

    mutating func either(_ first: StaticString, or second: StaticString) {}
    mutating func beginAnswering() {}
}

/// A value of a member.
protocol LineValue {
    /// A value without a meaning, with which a reader begins.
    static var blank: Self { get }
    /// The value that a reader of answers and events takes for a missing member; nil for none.
    static var usual: Self? { get }
    /// The form of the value in a line.
    static var form: LineForm { get }
    /// Reads a value; nil for an element of another form.
    init?(_ element: JSONElement)
    func append(to line: inout [UInt8])
    /// Whether a number or the count of elements is within a limit.
    func isWithin(_ limit: UInt64) -> Bool
    /// Adds the definitions of the schema that the form needs.
    static func define(_ definitions: inout [String: JSONValue])
}

extension LineValue {
    static var usual: Self? { nil }
    func isWithin(_ limit: UInt64) -> Bool { true }
}

/// The form of a value, for the schema and for messages about another form.
struct LineForm {
    /// The name in the definitions of the schema; nil for a form without an entry there.
    var name: StaticString?
    /// The form as JSON Schema.
    var schema: [(String, JSONValue)]
    /// The message about a value of another form, after the member's name.
    var fault: StaticString
    /// The word for the limit; nil without limits.
    var limit: StaticString?

    init(
        named name: StaticString? = nil, _ schema: [(String, JSONValue)], fault: StaticString,
        limit: StaticString? = nil
    ) {
        (self.name, self.schema, self.fault, self.limit) = (name, schema, fault, limit)
    }

    static func integer(_ name: StaticString? = nil, from least: Int = 0, _ more: [(String, JSONValue)] = []) -> Self {
        LineForm(
            named: name, [("type", .string("integer")), ("minimum", .integer(least))] + more,
            fault: "must be an integer",
            limit: "maximum")
    }

    static func text(_ name: StaticString, _ text: String, pattern: String, fault: StaticString) -> Self {
        LineForm(
            named: name, [("description", .string(text)), ("type", .string("string")), ("pattern", .string(pattern))],
            fault: fault)
    }
}

extension String: LineValue {
    static let blank = ""
    static var form: LineForm { LineForm([("type", .string("string"))], fault: "must be a string") }
    init?(_ element: JSONElement) {
        guard case .string(let text) = element else { return nil }
        self = text
    }
    func append(to line: inout [UInt8]) { JSONValue.append(self, to: &line) }
}

extension Bool: LineValue {
    static let blank = false
    static var usual: Bool? { false }
    static var form: LineForm { LineForm([("type", .string("boolean"))], fault: "must be true or false") }
    init?(_ element: JSONElement) {
        guard case .boolean(let value) = element else { return nil }
        self = value
    }
    func append(to line: inout [UInt8]) { JSONValue.append(raw: self ? "true" : "false", to: &line) }
}

extension Int: LineValue {
    static let blank = 0
    static var usual: Int? { 0 }
    static var form: LineForm { .integer() }
    /// Reads an integer that each reader of JSON has without rounding. Sums and products of such integers have room.
    init?(_ element: JSONElement) {
        guard let value = element.integer else { return nil }
        self = value
    }
    func append(to line: inout [UInt8]) { JSONValue.integer(self).append(to: &line) }
    func isWithin(_ limit: UInt64) -> Bool { self >= 1 && UInt64(self) <= limit }
}

extension UInt64: LineValue {
    static let blank: UInt64 = 0
    static var form: LineForm { .integer("number", from: 1) }
    init?(_ element: JSONElement) {
        guard let value = element.unsigned else { return nil }
        self = value
    }
    func append(to line: inout [UInt8]) { JSONValue.unsigned(self).append(to: &line) }
    func isWithin(_ limit: UInt64) -> Bool { (1...limit).contains(self) }
}

extension Double: LineValue {
    static let blank = 0.0
    static var usual: Double? { 0 }
    static var form: LineForm { LineForm([("type", .string("number"))], fault: "must be a number") }
    init?(_ element: JSONElement) {
        guard let value = element.double else { return nil }
        self = value
    }
    func append(to line: inout [UInt8]) { JSONValue.number(self).append(to: &line) }
}

extension MessageID: LineValue {
    static let blank: MessageID = 0
    static var form: LineForm { UInt64.form }
    init?(_ element: JSONElement) {
        guard let number = element.unsigned else { return nil }
        self.init(rawValue: number)
    }
    func append(to line: inout [UInt8]) { JSONValue.unsigned(rawValue).append(to: &line) }
}

extension Timestamp: LineValue {
    static let blank: Timestamp = 0
    static var form: LineForm {
        LineForm(
            named: "time",
            [
                ("description", .string("Seconds since 1970, with microseconds.")), ("type", .string("number")),
                ("minimum", .integer(0)),
            ], fault: "is not a time")
    }
    init?(_ element: JSONElement) {
        guard let seconds = element.double else { return nil }
        self.init(rawValue: seconds)
    }
    func append(to line: inout [UInt8]) { JSONValue.append(self, to: &line) }
}

/// A round trip of at most a day, in milliseconds with three decimals.
extension Duration: LineValue {
    static let blank = Duration.zero
    static var form: LineForm {
        LineForm([("type", .string("number")), ("minimum", .integer(0))], fault: "is not a time in milliseconds")
    }
    init?(_ element: JSONElement) {
        guard let milliseconds = element.double else { return nil }
        self = .microseconds(min(max(milliseconds, 0), 86_400_000) * 1_000)
    }
    func append(to line: inout [UInt8]) {
        JSONValue.number((self / .microseconds(1)).rounded() / 1_000).append(to: &line)
    }
}

extension PublicKey: LineValue {
    static let blank = PublicKey([9] + [UInt8](repeating: 0, count: 31)).unsafelyUnwrapped
    static var form: LineForm {
        .text(
            "key", "A static public key in base64url (W-6).",
            pattern: "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$", fault: "is not a key")
    }
    init?(_ element: JSONElement) {
        guard case .string(let text) = element else { return nil }
        self.init(text)
    }
    func append(to line: inout [UInt8]) { JSONValue.append(description, to: &line) }
}

extension UserID: LineValue {
    static let blank = UserID("aaaaaaaaaaaaaaaa").unsafelyUnwrapped
    static var form: LineForm {
        .text("user", "A user ID (W-5).", pattern: "^[a-z2-7]{16}$", fault: "is not a user ID")
    }
    init?(_ element: JSONElement) {
        guard case .string(let text) = element else { return nil }
        self.init(text)
    }
    func append(to line: inout [UInt8]) { JSONValue.append(description, to: &line) }
}

extension Array: LineValue where Element: LineValue {
    static var blank: [Element] { [] }
    static var form: LineForm {
        LineForm(
            [("type", .string("array")), ("items", Element.form.reference)], fault: "is not an array of such values",
            limit: "maxItems")
    }
    /// Reads an array; nil if one element has another form.
    init?(_ element: JSONElement) {
        guard case .array(let elements) = element else { return nil }
        self = elements.compactMap(Element.init)
        guard count == elements.count else { return nil }
    }
    func append(to line: inout [UInt8]) {
        line.append(UInt8(ascii: "["))
        for (index, element) in enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            element.append(to: &line)
        }
        line.append(UInt8(ascii: "]"))
    }
    func isWithin(_ limit: UInt64) -> Bool { count <= limit }
}

/// A word of a fixed list.
protocol LineWord: LineValue, RawRepresentable<String>, CaseIterable where AllCases: RandomAccessCollection {}

extension LineWord {
    static var blank: Self { allCases[allCases.startIndex] }
    static var form: LineForm {
        LineForm([("enum", .strings(allCases.map(\.rawValue)))], fault: "is not one of the words for it")
    }
    init?(_ element: JSONElement) {
        guard case .string(let text) = element else { return nil }
        self.init(rawValue: text)
    }
    func append(to line: inout [UInt8]) { JSONValue.append(rawValue, to: &line) }
}

/// A name of a counter.
protocol CounterName: Hashable {
    init?(word: String)
    var word: String { get }
}

extension CounterName where Self: RawRepresentable<String> {
    init?(word: String) { self.init(rawValue: word) }
    var word: String { rawValue }
}

extension String: CounterName {
    init?(word: String) { self = word }
    var word: String { self }
}

/// Counters by name. A reader leaves out those that it does not know.
extension Dictionary: LineValue where Key: CounterName, Value == Int {
    static var blank: [Key: Int] { [:] }
    static var usual: [Key: Int]? { [:] }
    static var form: LineForm {
        LineForm(
            [("type", .string("object")), ("additionalProperties", .object([("type", .string("integer"))]))],
            fault: "is not an object of counters")
    }
    init?(_ element: JSONElement) {
        guard let object = element.object else { return nil }
        self = [:]
        for (name, count) in object.all { if let key = Key(word: name) { self[key] = count.integer } }
    }
    func append(to line: inout [UInt8]) {
        JSONValue.object(sorted { $0.key.word < $1.key.word }.map { ($0.key.word, .integer($0.value)) }).append(
            to: &line)
    }
}

/// An object with members of its own.
protocol LineObject: LineValue {
    /// The name in the definitions of the schema; nil for an object of one place.
    static var schemaName: StaticString? { get }
    mutating func members<Coder: LineCoder>(_ coder: inout Coder) throws(Coder.Fault)
}

extension LineObject {
    init?(_ element: JSONElement) {
        guard case .object(let members) = element, let value = LineReader.object(Self.self, members) else { return nil }
        self = value
    }

    func append(to line: inout [UInt8]) {
        var (writer, value) = (JSONLine(continuing: &line), self)
        value.members(&writer)
        line = writer.closed()
    }

    static var form: LineForm {
        var (coder, value) = (SchemaCoder(), blank)
        value.members(&coder)
        return LineForm(named: schemaName, coder.object, fault: "is not such an object")
    }
}

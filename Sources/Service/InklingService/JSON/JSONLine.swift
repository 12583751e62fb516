import InklingModel

/// A line that grows by its members, and the writer of requests, answers, events and objects.
package struct JSONLine: Sendable, LineCoder {
    /// The line without its last brace.
    private var unfinished: [UInt8] = []
    /// The time of an output; nil for a request.
    private let at: Timestamp?

    /// A line whose first member follows by ``begin(_:_:errors:)``.
    ///
    /// - Parameter at: The time of an output; nil for a request.
    init(at time: Timestamp?) {
        at = time
        unfinished.reserveCapacity(192)
    }

    /// An object at the end of a line, which this call takes over.
    init(continuing line: inout [UInt8]) {
        at = nil
        swap(&unfinished, &line)
        unfinished.append(UInt8(ascii: "{"))
    }

    /// Appends a member.
    package mutating func add(_ name: StaticString, _ value: JSONValue) {
        begin(name)
        value.append(to: &unfinished)
    }

    private mutating func begin(_ name: StaticString) {
        JSONValue.append(raw: unfinished.last == UInt8(ascii: "{") ? "\"" : ",\"", to: &unfinished)
        JSONValue.append(raw: name, to: &unfinished)
        JSONValue.append(raw: "\":", to: &unfinished)
    }

    /// The line with its line feed.
    package consuming func bytes() -> [UInt8] {
        JSONValue.append(raw: "}\n", to: &unfinished)
        return unfinished
    }

    /// The line or object with its last brace.
    consuming func closed() -> [UInt8] {
        unfinished.append(UInt8(ascii: "}"))
        return unfinished
    }

    /// The line without a line feed.
    package var text: String { String(decoding: unfinished, as: UTF8.self) + "}" }

    // MARK: The writer

    mutating func begin(_ word: String, _ text: StaticString, errors: StaticString) {
        JSONValue.append(raw: at == nil ? #"{"do":""# : #"{"on":""#, to: &unfinished)
        unfinished.append(contentsOf: word.utf8)
        unfinished.append(UInt8(ascii: "\""))
        guard let at else { return }
        JSONValue.append(raw: #","at":"#, to: &unfinished)
        JSONValue.append(at, to: &unfinished)
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value, upTo limit: UInt64?, _ text: StaticString
    ) {
        begin(name)
        value.append(to: &unfinished)
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value?, upTo limit: UInt64?, _ text: StaticString
    ) {
        guard let value else { return }
        begin(name)
        value.append(to: &unfinished)
    }

    mutating func member<Value: LineValue & Equatable>(
        _ name: StaticString, _ value: inout Value, unless usual: Value, upTo limit: UInt64?, _ text: StaticString
    ) {
        guard value != usual else { return }
        begin(name)
        value.append(to: &unfinished)
    }

    mutating func currentChat(_ chat: inout String) {
        begin("chat")
        chat.append(to: &unfinished)
    }

    mutating func make<Value>(_ value: inout Value, _ body: () throws(NodeError) -> Value) {}
}

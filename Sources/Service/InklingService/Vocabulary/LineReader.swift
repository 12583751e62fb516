import InklingModel

/// The reader of the members of a line.
struct LineReader: LineCoder {
    let members: JSONMembers
    /// Whether the line is a request. In a request, `null` is never valid. In other lines it counts as a missing member,
    /// and the usual value stands for a missing one.
    var isRequest = false
    /// The chat of a request that names none.
    var openChat: String?

    init(_ members: JSONMembers) { self.members = members }

    /// Reads an object; nil if the members are not those of the object.
    static func object<Object: LineObject>(_ type: Object.Type, _ members: JSONMembers) -> Object? {
        var (reader, value) = (LineReader(members), Object.blank)
        do throws(NodeError) {
            try value.members(&reader)
            return value
        } catch {
            return nil
        }
    }

    mutating func begin(_ word: String, _ text: StaticString, errors: StaticString) {}

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value, upTo limit: UInt64?, _ text: StaticString
    ) throws(NodeError) {
        if let read: Value = try read(name, limit) {
            value = read
        } else if let usual = Value.usual, !isRequest {
            value = usual
        } else {
            throw .badCommand("\"\(name)\" is missing")
        }
    }

    mutating func member<Value: LineValue>(
        _ name: StaticString, _ value: inout Value?, upTo limit: UInt64?, _ text: StaticString
    ) throws(NodeError) {
        value = try read(name, limit)
    }

    mutating func member<Value: LineValue & Equatable>(
        _ name: StaticString, _ value: inout Value, unless usual: Value, upTo limit: UInt64?, _ text: StaticString
    ) throws(NodeError) {
        value = try read(name, limit) ?? usual
    }

    mutating func currentChat(_ chat: inout String) throws(NodeError) {
        let named: String? = try read("chat", nil)
        guard let name = named.map(NormalForm.canonical) ?? openChat else {
            throw .badCommand("no chat is open; name one or open it first")
        }
        chat = name
    }

    mutating func make<Value>(_ value: inout Value, _ body: () throws(NodeError) -> Value) throws(NodeError) {
        value = try body()
    }

    private func read<Value: LineValue>(_ name: StaticString, _ limit: UInt64?) throws(NodeError) -> Value? {
        guard let element = members[name], isRequest || element != .null else { return nil }
        guard let value = Value(element) else { throw .badCommand("\"\(name)\" \(Value.form.fault)") }
        guard let limit, !value.isWithin(limit) else { return value }
        let fault =
            Value.form.limit?.description == "maxItems"
            ? "has more than \(limit) elements" : "must be an integer from 1 to \(limit)"
        throw .badCommand("\"\(name)\" \(fault)")
    }
}

extension NodeError {
    /// A line that is not a request (J-4).
    static func badCommand(_ text: String) -> NodeError { .other(code: "bad-command", text: text) }
}

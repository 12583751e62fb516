import InklingModel

/// One line of output: its type, its time, and its members in order.
///
/// The bytes grow with each member. A tree of values for a line with one typist takes 8,000 instructions more.
package struct JSONLine: Sendable {
    /// The line without its last brace.
    private var unfinished: [UInt8] = []

    package init(on kind: StaticString, at time: Timestamp, _ members: [(String, JSONValue?)] = []) {
        unfinished.reserveCapacity(192)
        JSONValue.append(raw: #"{"on":""#, to: &unfinished)
        JSONValue.append(raw: kind, to: &unfinished)
        JSONValue.append(raw: #"","at":"#, to: &unfinished)
        JSONValue.append(time, to: &unfinished)
        for (name, value) in members {
            guard let value else { continue }
            unfinished.append(UInt8(ascii: ","))
            JSONValue.append(member: name, value, to: &unfinished)
        }
    }

    /// Appends a member.
    mutating func add(_ name: StaticString, _ value: JSONValue) {
        begin(name)
        value.append(to: &unfinished)
    }

    /// Appends a member.
    mutating func add(_ name: StaticString, _ text: String) {
        begin(name)
        JSONValue.append(text, to: &unfinished)
    }

    /// Appends a member that is a person.
    mutating func add(_ name: StaticString, _ person: Person) {
        begin(name)
        append(person)
    }

    /// Appends a member that is a list of people.
    mutating func add(_ name: StaticString, _ people: [Person]) {
        begin(name)
        unfinished.append(UInt8(ascii: "["))
        for (index, person) in people.enumerated() {
            if index > 0 { unfinished.append(UInt8(ascii: ",")) }
            append(person)
        }
        unfinished.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: StaticString) {
        JSONValue.append(raw: ",\"", to: &unfinished)
        JSONValue.append(raw: name, to: &unfinished)
        JSONValue.append(raw: "\":", to: &unfinished)
    }

    /// Appends the object of a person, as ``JSONValue/person(_:)`` has it.
    private mutating func append(_ person: Person) {
        JSONValue.append(raw: #"{"user":"#, to: &unfinished)
        JSONValue.append(person.user.description, to: &unfinished)
        JSONValue.append(raw: #","name":"#, to: &unfinished)
        JSONValue.append(person.name, to: &unfinished)
        unfinished.append(UInt8(ascii: "}"))
    }

    /// The line with its line feed.
    package consuming func bytes() -> [UInt8] {
        JSONValue.append(raw: "}\n", to: &unfinished)
        return unfinished
    }

    /// The line without a line feed.
    package var text: String { String(decoding: unfinished, as: UTF8.self) + "}" }
}

import InklingModel

/// A value in a line of JSON.
package enum JSONValue: Sendable {
    case string(String)
    case integer(Int)
    case unsigned(UInt64)
    case boolean(Bool)
    /// A number with a fraction. JSON has no other number than a finite one: the nearest is written, and 0 for a value
    /// that is not a number.
    case number(Double)
    /// Seconds since 1970, written with microseconds.
    case seconds(Timestamp)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// A value as it stands in a line.
    case written([UInt8])

    static func strings(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }

    /// The value on one line, without blanks.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The bytes of ``text``.
    var bytes: [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        append(to: &line)
        return line
    }

    /// Appends the value to a line, without blanks.
    func append(to line: inout [UInt8]) {
        switch self {
        case .string(let value): Self.append(value, to: &line)
        case .integer(let value):
            if value < 0 { line.append(UInt8(ascii: "-")) }
            Self.append(UInt64(value.magnitude), to: &line)
        case .unsigned(let value): Self.append(value, to: &line)
        case .boolean(let value): Self.append(raw: value ? "true" : "false", to: &line)
        case .seconds(let value): Self.append(value, to: &line)
        case .written(let bytes): line += bytes
        case .number(let value):
            let greatest = Double.greatestFiniteMagnitude
            line += String(value.isNaN ? 0 : min(max(value, -greatest), greatest)).utf8
        case .array(let values):
            line.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                value.append(to: &line)
            }
            line.append(UInt8(ascii: "]"))
        case .object(let members):
            line.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                Self.append(member: member.0, member.1, to: &line)
            }
            line.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a name and its value.
    static func append(member name: String, _ value: JSONValue, to line: inout [UInt8]) {
        append(name, to: &line)
        line.append(UInt8(ascii: ":"))
        value.append(to: &line)
    }

    /// Appends JSON text.
    static func append(raw text: StaticString, to line: inout [UInt8]) {
        text.withUTF8Buffer { line.append(contentsOf: $0) }
    }

    /// Escapes all control and format characters, so that a terminal can safely show the line.
    static func append(_ value: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        // Foreign strings have no contiguous bytes.
        let isDone = value.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.allSatisfy(isPlain) else { return false }
            line.append(contentsOf: bytes)
            return true
        }
        if isDone != true { appendEscaped(value, to: &line) }
        line.append(UInt8(ascii: "\""))
    }

    /// Returns whether a byte stands for itself, in any text.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func appendEscaped(_ value: String, to line: inout [UInt8]) {
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": line += #"\""#.utf8
            case "\\": line += #"\\"#.utf8
            case "\n": line += #"\n"#.utf8
            case "\u{20}"..."\u{7E}": line += Character(scalar).utf8
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator:
                    for unit in scalar.utf16 {
                        let digits = String(unit, radix: 16)
                        line += (#"\u"# + String(repeating: "0", count: 4 - digits.count) + digits).utf8
                    }
                default: line += Character(scalar).utf8
                }
            }
        }
    }

    /// Appends seconds with six digits of a fraction.
    static func append(_ time: Timestamp, to line: inout [UInt8]) {
        // A time has at most 18 digits here, and is not negative.
        let total = UInt64((time.rawValue * 1_000_000).rounded())
        let (whole, rest) = total.quotientAndRemainder(dividingBy: 1_000_000)
        append(whole, to: &line)
        line.append(UInt8(ascii: "."))
        append(rest, digits: 6, to: &line)
    }

    /// Appends a number in decimal, with at least so many digits.
    private static func append(_ number: UInt64, digits: Int = 1, to line: inout [UInt8]) {
        // The greatest number has 20 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var (first, rest) = (buffer.count, number)
            repeat {
                first -= 1
                buffer[first] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0 || buffer.count - first < digits
            line.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[first...]))
        }
    }
}

import InklingModel

/// A value in a line of JSON.
package enum JSONValue: Sendable {
    case string(String)
    case integer(Int)
    case unsigned(UInt64)
    case boolean(Bool)
    /// Seconds since 1970, written with microseconds.
    case seconds(Timestamp)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// A value that is JSON text already.
    case raw(String)

    static func strings(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }

    /// The value on one line, without blanks.
    package var text: String {
        var text = ""
        append(to: &text)
        return text
    }

    /// Appends the value to a text, without blanks.
    private func append(to text: inout String) {
        switch self {
        case .string(let value): Self.append(value, to: &text)
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        case .boolean(let value): text += value ? "true" : "false"
        case .seconds(let value): text += Self.microseconds(value)
        case .raw(let value): text += value
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.append(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.append(member.0, to: &text)
                text += ":"
                member.1.append(to: &text)
            }
            text += "}"
        }
    }

    /// Escapes all control and format characters, so that a terminal can safely show the line.
    private static func append(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\u{20}"..."\u{7E}": text.unicodeScalars.append(scalar)
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator:
                    for unit in String(scalar).utf16 {
                        let digits = String(unit, radix: 16)
                        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    }
                default: text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }

    private static func microseconds(_ time: Timestamp) -> String {
        let total = Int64((time.rawValue * 1_000_000).rounded())
        let (whole, rest) = total.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest)
        return (total < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

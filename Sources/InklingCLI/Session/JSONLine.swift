import Foundation

/// A value in a line of JSON.
enum JSONValue {
    case string(String)
    case integer(Int)
    case unsigned(UInt64)
    case boolean(Bool)
    /// Seconds, written with microseconds.
    case seconds(Double)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// JSON text.
    case raw(String)

    func append(to text: inout String) {
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

    /// Escapes all control and format characters, so that a line is harmless also where it is shown as it is.
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

    private static func microseconds(_ seconds: Double) -> String {
        let total = Int64((seconds * 1_000_000).rounded())
        let (whole, rest) = total.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest)
        return (total < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

/// One line of output: what it is, when it was learned, and its members in order.
struct JSONLine {
    private var members: [(String, JSONValue)]

    init(on kind: String, at: Double = Date().timeIntervalSince1970, _ members: [(String, JSONValue?)] = []) {
        self.members = [("on", .string(kind)), ("at", .seconds(at))]
        for (name, value) in members {
            if let value { self.members.append((name, value)) }
        }
    }

    var text: String {
        var text = ""
        JSONValue.object(members).append(to: &text)
        return text
    }
}

extension Output {
    /// Writes one JSON object that is the whole answer of a command. `false`: nobody reads any more.
    @discardableResult
    func write(json members: [(String, JSONValue)]) -> Bool {
        var text = ""
        JSONValue.object(members).append(to: &text)
        return write(line: text)
    }
}

import InklingControl
import InklingText

/// What a doctor found out about one thing.
package struct Finding: Equatable, Sendable {
    package enum Status: String, Sendable {
        case ok, note, problem
    }

    package let check: String
    package let status: Status
    package let text: String
    /// The line that fixes it.
    package let fix: String?
    /// A problem as one tells it to somebody on the telephone: one sentence without commands; nil for what has none of its
    /// own.
    package var spoken: String?

    package static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, status: .ok, text: text, fix: nil)
    }

    package static func note(_ check: String, _ text: String, fix: String? = nil) -> Finding {
        Finding(check: check, status: .note, text: text, fix: fix)
    }

    package static func problem(_ check: String, _ text: String, fix: String?, spoken: String? = nil) -> Finding {
        Finding(check: check, status: .problem, text: text, fix: fix, spoken: spoken)
    }

    var lines: [String] {
        let label = status.rawValue + String(repeating: " ", count: 9 - status.rawValue.count)
        let first = label + SafeText.line("\(check): \(text)")
        return [first] + (fix.map { ["         fix it: " + SafeText.line($0)] } ?? [])
    }

    var value: JSONValue {
        var members: [(String, JSONValue)] = [
            ("check", .string(check)), ("status", .string(status.rawValue)), ("text", .string(text)),
        ]
        if let fix { members.append(("mend", .string(fix))) }
        return .object(members)
    }
}

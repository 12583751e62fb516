import InklingControl
import InklingText

/// What a doctor found out about one thing.
struct Finding: Sendable {
    enum Status: String, Sendable {
        case ok, note, problem
    }

    let check: String
    let status: Status
    let text: String
    /// The line that fixes it.
    let fix: String?

    static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, status: .ok, text: text, fix: nil)
    }

    static func note(_ check: String, _ text: String, fix: String? = nil) -> Finding {
        Finding(check: check, status: .note, text: text, fix: fix)
    }

    static func problem(_ check: String, _ text: String, fix: String?) -> Finding {
        Finding(check: check, status: .problem, text: text, fix: fix)
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

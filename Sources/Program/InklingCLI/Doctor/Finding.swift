import InklingControl
import InklingText

/// The result of one check.
package struct Finding: Equatable, Sendable {
    package enum Status: String, Sendable {
        case ok, note, problem
    }

    package let check: String
    package let status: Status
    package let text: String
    /// The command that fixes the problem or shows more about it.
    package private(set) var fix: String?
    /// Whether the command only shows more.
    package let isLook: Bool
    /// The problem in one sentence without commands and addresses, which the user can read aloud on the telephone; nil
    /// for other findings.
    package let spoken: String?

    private init(
        _ check: String, _ status: Status, _ text: String, fix: String?, look: String?, spoken: String? = nil
    ) {
        self.check = check
        self.status = status
        self.text = text
        self.fix = fix ?? look
        isLook = fix == nil && look != nil
        self.spoken = spoken
    }

    package static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check, .ok, text, fix: nil, look: nil)
    }

    /// Returns a finding that is a problem or a remark.
    ///
    /// - Parameters:
    ///   - fix: the command that fixes the problem.
    ///   - look: a command that shows more, if no command fixes the problem.
    package static func note(_ check: String, _ text: String, fix: String? = nil, look: String? = nil) -> Finding {
        Finding(check, .note, text, fix: fix, look: look)
    }

    package static func problem(
        _ check: String, _ text: String, fix: String? = nil, look: String? = nil, spoken: String
    ) -> Finding {
        Finding(check, .problem, text, fix: fix, look: look, spoken: spoken)
    }

    /// Returns the finding for the current user. Root needs no `sudo` in the command. Without `sudo` on the machine,
    /// the user must become root.
    package func adapted(isRoot: Bool, hasSudo: Bool) -> Finding {
        guard isRoot || !hasSudo, let fix else { return self }
        let starts = fix.replacing(#/(^|&& |; |then: )sudo (-E )?/#) { $0.output.1 }
        guard starts != fix else { return self }
        var finding = self
        var line = starts
        if !isRoot {
            if let range = line.firstRange(of: "    (") {
                line.replaceSubrange(range, with: "    (as root; ")
            } else {
                line += "    (as root)"
            }
        }
        finding.fix = line
        return finding
    }

    package var lines: [String] {
        let label = status.rawValue + String(repeating: " ", count: 9 - status.rawValue.count)
        let first = label + SafeText.line("\(check): \(text)")
        return [first] + (fix.map { ["         \(isLook ? "look" : "fix it"): " + SafeText.line($0)] } ?? [])
    }

    var value: JSONValue {
        var members: [(String, JSONValue)] = [
            ("check", .string(check)), ("status", .string(status.rawValue)), ("text", .string(text)),
        ]
        if let fix { members.append(("mend", .string(fix))) }
        return .object(members)
    }
}

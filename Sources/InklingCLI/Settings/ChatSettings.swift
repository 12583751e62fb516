import Glibc
import Inkling
import InklingText
import Logging

/// What `inkling chat` was asked for.
struct ChatSettings: Sendable {
    enum Mode: Sendable {
        /// JSON lines for programs.
        case json
        /// Whole lines, for files, pipes and screen readers.
        case plain
        /// The prompt.
        case terminal
    }

    var node: Configuration
    var chat: Chat
    /// How a shell names the chat to a further command, with a blank before it.
    var arguments: String
    var mode: Mode
    var indicator: IndicatorStyle
    var reducedMotion: Bool
    /// Whether bold and dim are wanted.
    var decorated: Bool
    var logLevel: Logger.Level

    /// The mode for what standard input and output are connected to.
    static func mode(json: Bool, plain: Bool) -> Mode {
        if json { return .json }
        let terminal = environment("TERM") ?? "dumb"
        let capable = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && terminal != "dumb"
        return plain || !capable ? .plain : .terminal
    }

    static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// The user's login name, cut to what a name may take.
    static func loginName() -> String {
        var name = environment("LOGNAME") ?? environment("USER") ?? ""
        if name.isEmpty, let entry = getpwuid(getuid()), let login = entry.pointee.pw_name {
            name = String(cString: login)
        }
        while name.utf8.count > 64 { name.removeLast() }
        return name.isEmpty ? "somebody" : name
    }
}

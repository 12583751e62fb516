/// What a line that was entered at the prompt means.
package enum PromptCommand: Equatable, Sendable {
    /// A message for the open chat.
    case message(String)
    case who
    case help
    case quit
    /// A word behind a slash that names no command; safe to show.
    case unknown(String)

    /// Reads a line: a slash begins a command, two of them a message that begins with one.
    package init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .message(line)
            return
        }
        guard !line.hasPrefix("//") else {
            self = .message(String(line.dropFirst()))
            return
        }
        let word = line.dropFirst().prefix { !$0.isWhitespace }
        switch word.lowercased() {
        case "who": self = .who
        case "help", "?": self = .help
        case "quit", "exit", "q": self = .quit
        default: self = .unknown("/" + DisplayWidth.prefix(of: SafeText.line(word), columns: 20))
        }
    }

    /// One line for each command.
    package static let descriptions = [
        "/who   who is here, and since when the others are gone",
        "/help  this list",
        "/quit  leave (Ctrl-C and Ctrl-D do it too)",
        "//text sends a message that begins with a slash",
    ]
}

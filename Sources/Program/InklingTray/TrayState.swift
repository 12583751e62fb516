/// The content of the icon and its menu.
struct TrayState: Equatable {
    struct Chat: Equatable {
        /// The name, as the daemon knows the chat.
        let name: String
        /// Whether the chat has a secret.
        let isPrivate: Bool
        let unread: Int
    }

    enum Presence: Equatable {
        /// No daemon and no prompt of this user runs.
        case noDaemon
        case online
        /// The user said so, at any front end.
        case away
    }

    var presence = Presence.noDaemon
    var chats: [Chat] = []

    var unread: Int { chats.reduce(0) { $0 + $1.unread } }

    func unread(in chat: String) -> Int { chats.first { $0.name == chat }?.unread ?? 0 }

    /// The state in words, without any text of others.
    var words: String {
        let presence =
            switch presence {
            case .noDaemon: "not running"
            case .online: "online"
            case .away: "away"
            }
        return "Inkling: " + presence + (unread == 0 ? "" : ", " + Self.count(unread))
    }

    static func count(_ unread: Int) -> String { unread == 1 ? "1 unread message" : "\(unread) unread messages" }
}

/// Texts of others, for the desktop.
enum DesktopText {
    /// The longest name of a chat, in grapheme clusters.
    private static let longestName = 60
    /// The longest text of a message in a notification, in grapheme clusters and in lines.
    private static let (longestText, mostLines) = (300, 6)

    /// Returns the name of a chat on one line, without control characters and without characters that reverse text.
    static func name(_ chat: String) -> String { cut(SafeText.line(chat), longestName) }

    /// Returns the name of a chat for a place beside other words, whose order it can't change.
    static func isolated(_ chat: String) -> String {
        let name = name(chat)
        return name.utf8.allSatisfy { $0 < 0x80 } ? name : NameIsolation.isolated(name)
    }

    /// Returns a message with a few lines.
    static func message(_ text: String) -> String {
        // No later part of a long text can show.
        let lines = SafeText.message(String(text.unicodeScalars.prefix(longestText * 8)))
            .split(separator: "\n", omittingEmptySubsequences: false)
        let shown = lines.prefix(mostLines).joined(separator: "\n")
        return cut(lines.count > mostLines ? shown + "\n…" : shown, longestText)
    }

    /// Returns what follows the sender's name in a notification: a text after a colon, or an action, as in "Bob *waves*".
    static func said(_ text: String) -> String {
        deed(of: text).map { " *" + message($0) + "*" } ?? ": " + message(text)
    }

    /// Returns the action that a text reports; nil for any other text.
    static func deed(of text: String) -> String? {
        let word = "/me "
        guard text.hasPrefix(word) else { return nil }
        let deed = text.dropFirst(word.count)
        return deed.contains { !$0.isWhitespace } ? String(deed) : nil
    }

    /// Returns a text in which a reader of markup finds none.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns a text as a label of a menu, in which one underscore marks the next letter.
    static func label(_ text: String) -> String {
        String(text.flatMap { $0 == "_" ? ["_", "_"] : [$0] })
    }

    private static func cut(_ text: String, _ longest: Int) -> String {
        text.count > longest ? text.prefix(longest - 1) + "…" : text
    }
}

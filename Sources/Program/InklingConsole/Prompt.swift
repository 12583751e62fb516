import InklingText

/// The text before the input: the open chat, the other person in a chat of two, and the unread chats.
package struct Prompt: Hashable, Sendable {
    /// A chat with unread messages.
    package struct Unread: Hashable, Sendable {
        package var chat: String
        package var isOpen: Bool
        package var count: Int

        package init(chat: String, isOpen: Bool, count: Int) {
            self.chat = chat
            self.isOpen = isOpen
            self.count = count
        }
    }

    /// The other person in a chat of two.
    package struct Other: Hashable, Sendable {
        package var label: Labels.Label
        /// The presence as text, such as "Active now", see `PresenceText`.
        package var presence: String

        package init(label: Labels.Label, presence: String) {
            self.label = label
            self.presence = presence
        }
    }

    /// The name of the chat as given. This type makes all names safe.
    package var chat: String
    package var isOpen: Bool
    package var other: Other?
    package var unread: [Unread]
    /// Whether others see this user as away.
    package var isAway: Bool

    package init(
        chat: String, isOpen: Bool, other: Other? = nil, unread: [Unread] = [], isAway: Bool = false
    ) {
        self.chat = chat
        self.isOpen = isOpen
        self.other = other
        self.unread = unread.filter { $0.count > 0 }
        self.isAway = isAway
    }

    /// Returns the longest form of the prompt that leaves room for typing. At any width the form ends in `> `, and
    /// marks an open chat next to its name.
    ///
    /// - Parameter columns: the width of the terminal.
    package func text(columns: Int) -> String {
        let room = min(max(columns - 12, 8), 60)
        let presence = other.map { SafeText.line($0.presence) }
        let whole = other.map { $0.label.marked + ": " + SafeText.line($0.presence) }
        let total = unread.reduce(0) { $0 + $1.count }
        let list = unread.map { ChatLines.chat($0.chat, isOpen: $0.isOpen, columns: 12) + " " + Self.number($0.count) }
        let listed = list.isEmpty ? "" : " [" + list.joined(separator: ", ") + "]"
        let counted = list.isEmpty ? "" : " [" + Self.number(total) + " unread]"
        let bare = list.isEmpty ? "" : " [" + Self.number(total) + "]"
        let away = isAway ? " (away)" : ""
        let forms: [(String?, String)] = [
            (whole, listed), (whole, counted), (presence, listed), (presence, counted), (presence, bare),
            (nil, counted),
            (nil, bare),
        ]
        for (detail, rest) in forms {
            let text = name(columns: 20, detail: detail) + rest
            // The mark of an absent user may take some of the room for typing.
            if DisplayWidth.of(text) + 2 <= room, DisplayWidth.of(text + away) + 2 <= max(columns - 4, 0) {
                return text + away + "> "
            }
        }
        return cut(to: room, columns: columns, [bare + away, away, bare, ""])
    }

    /// Returns the prompt with a shortened chat name, because no other form fits. A name of only a few characters is
    /// left out.
    private func cut(to room: Int, columns: Int, _ rests: [String]) -> String {
        // In a very narrow terminal the prompt may take a larger part of a row than usual.
        let room = min(max(room, min(columns - 6, 16)), columns - 4)
        let marks = isOpen ? " (open)" : ""
        for rest in rests {
            let columns = room - DisplayWidth.of(marks + rest) - 2
            guard columns >= 5 || columns >= DisplayWidth.of(SafeText.line(chat)) else { continue }
            return ChatLines.cut(chat, columns: columns) + marks + rest + "> "
        }
        return isOpen && room >= 8 ? "(open)> " : "> "
    }

    /// Returns the text before the input while the user searches the history.
    ///
    /// - Parameters:
    ///   - query: the text to find.
    ///   - isFound: whether a line with the query was found.
    ///   - columns: the width of the terminal.
    package static func text(ofSearch query: String, isFound: Bool, columns: Int) -> String {
        let room = min(max(columns - 12, 8), 60)
        let begin = isFound ? "(history: " : "(not found: "
        let space = room - begin.count - 3
        guard space >= 4 else { return isFound ? "> " : "?> " }
        // While typing, the user looks at the end of the query.
        var shown = SafeText.line(query)
        if DisplayWidth.of(shown) > space {
            while DisplayWidth.of(shown) > space - 3 { shown.removeFirst() }
            shown = "..." + shown
        }
        return begin + shown + ")> "
    }

    private func name(columns: Int, detail: String?) -> String {
        let marks = (isOpen ? ["open"] : []) + (detail.map { [$0] } ?? [])
        let name = ChatLines.cut(chat, columns: columns)
        return marks.isEmpty ? name : name + " (" + marks.joined(separator: ", ") + ")"
    }

    private static func number(_ count: Int) -> String { count > 99 ? "99+" : String(count) }
}

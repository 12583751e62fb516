import InklingText

/// What stands before the input: the open chat, who is there if it is one person, and what is unread elsewhere.
package struct Prompt: Hashable, Sendable {
    /// A chat in which messages wait to be read.
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

    /// The other person of a chat of two.
    package struct Other: Hashable, Sendable {
        package var label: Labels.Label
        /// Such as "Active now", see `PresenceText`.
        package var presence: String

        package init(label: Labels.Label, presence: String) {
            self.label = label
            self.presence = presence
        }
    }

    /// As it was given; made safe here, like those of the others.
    package var chat: String
    package var isOpen: Bool
    package var other: Other?
    package var unread: [Unread]

    package init(chat: String, isOpen: Bool, other: Other? = nil, unread: [Unread] = []) {
        self.chat = chat
        self.isOpen = isOpen
        self.other = other
        self.unread = unread.filter { $0.count > 0 }
    }

    /// The longest form that leaves room for typing; that the chat is open is said in each of them.
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
        let forms: [(String?, String)] = [
            (whole, listed), (whole, counted), (presence, listed), (presence, counted), (presence, bare),
            (nil, counted),
            (nil, bare),
        ]
        for (detail, rest) in forms {
            let text = name(columns: 20, detail: detail) + rest + "> "
            if DisplayWidth.of(text) <= room { return text }
        }
        // The chat is what is cut at last, down to a few characters.
        let tail = (isOpen ? " (open)" : "") + bare + "> "
        return DisplayWidth.prefix(of: SafeText.line(chat), columns: max(room - tail.count, 4)) + tail
    }

    private func name(columns: Int, detail: String?) -> String {
        let marks = (isOpen ? ["open"] : []) + (detail.map { [$0] } ?? [])
        let name = String(DisplayWidth.prefix(of: SafeText.line(chat), columns: columns))
        return marks.isEmpty ? name : name + " (" + marks.joined(separator: ", ") + ")"
    }

    private static func number(_ count: Int) -> String { count > 99 ? "99+" : String(count) }
}

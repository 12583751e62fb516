import InklingService

/// The texts that a tab keeps for a reload of its page: drafts, the places in its conversations, and its choice of
/// notifications. They are in memory alone.
final class PageDrafts {
    /// The kinds of texts, as the page names them.
    enum Kind: String, CaseIterable {
        case drafts, places, choices
    }

    /// The most bytes of a tab's texts with the names of their chats, as many as one message and some more may have.
    static let bytes = 256 << 10

    private var texts: [Kind: [String: String]] = [:]

    /// Keeps the text of a chat, unless the tab has too many; an empty one is forgotten.
    func set(_ kind: Kind, _ text: String, in chat: String) {
        texts[kind, default: [:]][chat] = nil
        let size = texts.values.joined().reduce(chat.utf8.count + text.utf8.count) {
            $0 + $1.key.utf8.count + $1.value.utf8.count
        }
        if !text.isEmpty, size <= Self.bytes { texts[kind, default: [:]][chat] = text }
    }

    /// The members of the line for a page that opens.
    var members: [(String, JSONValue)] {
        Kind.allCases.compactMap { kind in
            guard let some = texts[kind], !some.isEmpty else { return nil }
            return (kind.rawValue, .object(some.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
        }
    }
}

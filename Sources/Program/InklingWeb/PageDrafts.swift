import InklingService

/// The drafts of a tab, which a reload of its page would lose. They are in memory alone.
final class PageDrafts {
    /// The most bytes of a tab's drafts with the names of their chats, as many as one message and some more may have.
    static let bytes = 256 << 10

    private var texts: [String: String] = [:]

    /// Keeps the draft in a chat, unless the tab has too many; an empty one is forgotten.
    func set(_ text: String, in chat: String) {
        texts[chat] = nil
        let size = texts.reduce(chat.utf8.count + text.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        if !text.isEmpty, size <= Self.bytes { texts[chat] = text }
    }

    /// The line with all drafts; nil if there are none.
    var line: JSONValue? {
        guard !texts.isEmpty else { return nil }
        let drafts = texts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
        return .object([("on", .string("inkling-web")), ("state", .string("drafts")), ("drafts", .object(drafts))])
    }
}

/// The user's messages that failed or reached nobody, as far as there is room, to be sent again.
struct UnsentMessages: Sendable {
    /// How many messages are kept.
    static let messages = 50
    /// How many bytes are kept.
    static let bytes = 256 * 1_024

    private var texts: ArraySlice<String> = []
    private var total = 0

    var isEmpty: Bool { texts.isEmpty }

    mutating func add(_ text: String) {
        texts.append(text)
        total += text.utf8.count
        while texts.count > Self.messages || total > Self.bytes, let first = texts.popFirst() {
            total -= first.utf8.count
        }
    }

    /// All of them, in the order in which they failed; then none is kept.
    mutating func take() -> [String] {
        defer { (texts, total) = ([], 0) }
        return Array(texts)
    }
}

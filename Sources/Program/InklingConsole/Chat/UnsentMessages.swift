/// The user's messages that failed or reached nobody, to be sent again. The room is limited.
struct UnsentMessages: Sendable {
    /// The number of messages that are kept.
    static let messages = 50
    /// The total bytes of messages that are kept.
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

    /// Removes and returns all messages, in the order in which they failed.
    mutating func drain() -> [String] {
        defer { (texts, total) = ([], 0) }
        return Array(texts)
    }
}

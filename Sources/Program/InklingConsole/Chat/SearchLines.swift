import InklingModel
import InklingText

/// The lines about unread messages and about searches.
extension ChatLines {
    /// The number of columns of a message that an answer to /find shows.
    private static let excerptColumns = 200

    /// The divider between the seen lines of a chat and the new ones.
    static func newMessages() -> Line { Line("--- new messages ---", .dim) }

    /// The divider below the last messages of earlier runs.
    static func earlier() -> Line { Line("--- until here: kept messages ---", .dim) }

    /// Returns the first line of an answer to /find.
    ///
    /// - Parameters:
    ///   - shown: the highest number of messages that the answer shows.
    ///   - isCut: whether earlier messages are forgotten.
    ///   - hasHistory: whether the daemon has looked for messages that it keeps.
    ///   - hasMore: whether the history may have more of them.
    static func found(_ count: Int, text: String, shown: Int, isCut: Bool, hasHistory: Bool, hasMore: Bool = false)
        -> Line
    {
        let wanted = "\"" + SafeText.line(text) + "\""
        let said = hasHistory ? "what is kept, or was said since the start" : "what was said since the start"
        let period = isCut ? "the latest messages" : said
        switch count {
        case 0: return notice("Nothing with \(wanted) in \(period)")
        case 1: return notice("1 message with \(wanted):")
        case ...shown: return notice("\(count) messages with \(wanted):")
        default: return notice("\(count)\(hasMore ? " or more" : "") messages with \(wanted), the last \(shown):")
        }
    }

    /// Returns the part of a message around the first occurrence of a text, in one line.
    static func excerpt(of message: String, around text: FoldedText) -> String {
        let rows = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let row = rows.first { text.occurs(in: $0) } ?? rows.first ?? ""
        let characters = Array(row)
        // The text before the match is its context.
        let place = text.ranges(in: characters, limit: 1).first?.lowerBound ?? 0
        let start = place > excerptColumns / 2 ? place - excerptColumns / 4 : 0
        let part = DisplayWidth.prefix(of: String(characters[start...]), columns: excerptColumns)
        let isEnd = start + part.count == characters.count
        return (start > 0 ? "..." : "") + part + (isEnd ? "" : "...")
    }
}

import InklingText

/// The lines of what one had not read, and of what one looks for.
extension ChatLines {
    /// How many columns of a message an answer to /find shows.
    private static let excerptColumns = 200

    /// What stands between what was seen of a chat and what came since.
    static func newMessages() -> Line { Line("--- new messages ---", .dim) }

    /// What an answer to /find begins with.
    ///
    /// - Parameters:
    ///   - shown: how many messages are shown at most.
    ///   - isCut: whether some of what was said is forgotten.
    static func found(_ count: Int, text: String, shown: Int, isCut: Bool) -> Line {
        let wanted = "\"" + SafeText.line(text) + "\""
        let period = isCut ? "the latest messages" : "what was said since the start"
        switch count {
        case 0: return notice("Nothing with \(wanted) in \(period)")
        case 1: return notice("1 message with \(wanted):")
        case ...shown: return notice("\(count) messages with \(wanted):")
        default: return notice("\(count) messages with \(wanted), the last \(shown):")
        }
    }

    /// The part of a message in which a text occurs first, in one line.
    static func excerpt(of message: String, around text: FoldedText) -> String {
        let rows = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let row = rows.first { text.occurs(in: $0) } ?? rows.first ?? ""
        let characters = Array(row)
        // Some of what is before it, so that it can be understood.
        let place = text.ranges(in: characters, limit: 1).first?.lowerBound ?? 0
        let start = place > excerptColumns / 2 ? place - excerptColumns / 4 : 0
        let part = DisplayWidth.prefix(of: String(characters[start...]), columns: excerptColumns)
        let isEnd = start + part.count == characters.count
        return (start > 0 ? "..." : "") + part + (isEnd ? "" : "...")
    }
}

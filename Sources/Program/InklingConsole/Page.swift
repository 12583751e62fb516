import InklingText

/// The terminal that shows lines, as far as it decides which messages are too long.
package struct Page: Hashable, Sendable {
    /// The most rows of a message that is shown completely. A longer message is folded.
    package static let longestMessage = 40
    /// The number of shown rows of a folded message.
    package static let shownRows = 10

    /// The width of the terminal.
    package var columns: Int
    /// Whether the time stands before each line.
    package var showsTimes: Bool

    package init(columns: Int, showsTimes: Bool) {
        self.columns = columns
        self.showsTimes = showsTimes
    }

    /// Returns whether a line with a message has too many rows. The rows on the screen count, not the line breaks of
    /// the author.
    package func isTooLong(_ line: Line) -> Bool {
        var timeline = Timeline()
        let time = LocalTime(day: LocalTime.Day(year: 2000, month: 1, day: 1), hour: 0, minute: 0)
        let shown = showsTimes ? timeline.stamped([line], at: time) : [line]
        return shown.reduce(0) { $0 + $1.wrapped(columns: columns).count } > Self.longestMessage
    }
}

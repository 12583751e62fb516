import InklingText

/// The terminal that lines are shown on, for the decision what is too much for it.
package struct Page: Hashable, Sendable {
    /// A message with more rows than that is folded.
    package static let longestMessage = 40
    /// How many rows of it are shown.
    package static let shownRows = 10

    /// The width of the terminal.
    package var columns: Int
    /// Whether a time stands in front of each line.
    package var showsTimes: Bool

    package init(columns: Int, showsTimes: Bool) {
        self.columns = columns
        self.showsTimes = showsTimes
    }

    /// Whether a line with a message has too many rows: as they fill the screen, not as their author broke them.
    package func isTooLong(_ line: Line) -> Bool {
        var timeline = Timeline()
        let time = LocalTime(day: LocalTime.Day(year: 2000, month: 1, day: 1), hour: 0, minute: 0)
        let shown = showsTimes ? timeline.stamped([line], at: time) : [line]
        return shown.reduce(0) { $0 + $1.wrapped(columns: columns).count } > Self.longestMessage
    }
}

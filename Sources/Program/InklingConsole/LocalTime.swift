/// A point in local time for people to read. The caller knows the time zone.
package struct LocalTime: Hashable, Sendable {
    package struct Day: Hashable, Sendable {
        package var year: Int
        /// The month, 1 to 12.
        package var month: Int
        /// The day of the month, 1 to 31.
        package var day: Int

        package init(year: Int, month: Int, day: Int) {
            self.year = year
            self.month = month
            self.day = day
        }

        /// The date as text, such as "Tuesday, 3 March 2026".
        package var text: String {
            let month = (1...12).contains(month) ? Self.months[month - 1] : "?"
            return "\(Self.weekdays[weekday]), \(day) \(month) \(year)"
        }

        /// The day and month as text, such as "3 March".
        package var short: String { "\(day) " + ((1...12).contains(month) ? Self.months[month - 1] : "?") }

        /// The day of the week by Zeller's congruence; 0 is Sunday.
        private var weekday: Int {
            let shifted = month < 3 ? (year: year - 1, month: month + 12) : (year: year, month: month)
            let century = shifted.year / 100
            let inCentury = shifted.year % 100
            let months = 13 * (shifted.month + 1) / 5
            let sum = day + months + inCentury + inCentury / 4 + century / 4 + 5 * century
            return ((sum + 6) % 7 + 7) % 7
        }

        private static let weekdays = [
            "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
        ]
        private static let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
    }

    package var day: Day
    package var hour: Int
    package var minute: Int

    package init(day: Day, hour: Int, minute: Int) {
        self.day = day
        self.hour = hour
        self.minute = minute
    }

    /// The time as text, such as "09:05".
    package var text: String { Self.twoDigits(hour) + ":" + Self.twoDigits(minute) }

    /// The time as text, with the day if it is another one, such as "3 March, 09:05".
    package func text(on today: Day) -> String { day == today ? text : "\(day.short), \(text)" }

    private static func twoDigits(_ number: Int) -> String { (0...9).contains(number) ? "0\(number)" : "\(number)" }
}

/// Puts the time before lines, and a line between two days.
package struct Timeline: Sendable {
    private var day: LocalTime.Day?

    package init() {}

    /// Returns the lines with a dim `HH:MM` before each. If the day differs from that of earlier lines, a line with the
    /// day comes first. The very first day gets no such line.
    package mutating func stamped(_ lines: [Line], at time: LocalTime) -> [Line] {
        guard !lines.isEmpty else { return [] }
        let changed = day != nil && day != time.day
        day = time.day
        let separator = changed ? [Line("--- " + time.day.text + " ---", .dim)] : []
        return separator
            + lines.map { line in
                var stamped = line
                stamped.spans.insert(Line.Span(text: time.text + " ", emphasis: .dim), at: 0)
                stamped.hanging = Line.indent + 6
                return stamped
            }
    }
}

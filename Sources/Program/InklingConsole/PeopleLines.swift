import InklingText

/// The answer to /who.
extension ChatLines {
    /// One person in the answer.
    package struct Presence: Sendable {
        var label: Labels.Label
        /// The presence as text, such as "Active now".
        var presence: String
        /// The time since when the person is here; nil for others.
        var since: LocalTime?
        /// The time when an absent person was last here.
        var seen: LocalTime?
        /// The round trip of a datagram to the person.
        var roundTrip: Duration?
        var isVerified = false
        /// Whether this user has muted them.
        var isMuted = false

        package init(
            label: Labels.Label, presence: String, since: LocalTime? = nil, seen: LocalTime? = nil,
            roundTrip: Duration? = nil, isVerified: Bool = false, isMuted: Bool = false
        ) {
            self.label = label
            self.presence = presence
            self.since = since
            self.seen = seen
            self.roundTrip = roundTrip
            self.isVerified = isVerified
            self.isMuted = isMuted
        }

        /// Returns the period since when the person is here, or the time when the person was last here.
        fileprivate func period(today: LocalTime.Day) -> String? {
            if let since { return "since " + since.text }
            return seen.map { "last " + ($0.day == today ? "" : $0.day.short + " ") + $0.text }
        }

        fileprivate var travel: String? { roundTrip.map { milliseconds($0) + " round trip" } }
    }

    /// Returns the lines of people, in columns if there is room for them.
    ///
    /// - Parameters:
    ///   - columns: the width of the screen; nil without a screen.
    ///   - today: the day of the answer.
    package static func people(_ people: [Presence], columns: Int?, today: LocalTime.Day) -> [Line] {
        if let columns, let lines = table(people, columns: columns, today: today) { return lines }
        return people.map { person in
            let words = [
                person.presence, person.period(today: today), person.travel, person.isVerified ? "verified" : nil,
                person.isMuted ? "muted" : nil,
            ].compactMap { $0 }
            return notice("\(person.label.isolated): \(words.joined(separator: ", ")) (\(person.label.user))")
        }
    }

    /// Returns the lines in columns. Without enough room, the user IDs are left out, because /whois shows them as well.
    /// Returns nil if that is not enough.
    private static func table(_ people: [Presence], columns: Int, today: LocalTime.Day) -> [Line]? {
        let rows = people.map { person in
            [
                person.label.isolated, person.presence, person.period(today: today) ?? "",
                person.travel ?? "", person.isMuted ? "muted" : "", person.label.user,
            ]
        }
        let used = rows.first?.indices.filter { column in rows.contains { !$0[column].isEmpty } } ?? []
        var widths = used.map { column in rows.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
        if widths.reduce(2 * widths.count, +) > columns { widths.removeLast() }
        guard widths.reduce(2 * widths.count, +) <= columns else { return nil }
        return rows.map { row in
            let cells = zip(used, widths).map { column, width in
                row[column] + String(repeating: " ", count: width - DisplayWidth.of(row[column]))
            }
            // A terminal may wrap differently from this program. So no row may end with blanks, which would then begin
            // the next row.
            return notice(String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()))
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return milliseconds < 1 ? "under 1 ms" : "\(milliseconds) ms"
    }
}

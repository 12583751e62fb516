import InklingText

/// The answer to /who.
extension ChatLines {
    /// One person in it.
    package struct Presence: Sendable {
        var label: Labels.Label
        /// Such as "Active now".
        var presence: String
        /// Since when the person is here, if they are.
        var since: LocalTime?
        /// When the person was here last, if they are not.
        var seen: LocalTime?
        /// How long a datagram takes to them and back.
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

        /// Since when they are here, or when they were last.
        fileprivate func period(today: LocalTime.Day) -> String? {
            if let since { return "since " + since.text }
            return seen.map { "last " + ($0.day == today ? "" : $0.day.short + " ") + $0.text }
        }

        fileprivate var travel: String? { roundTrip.map { milliseconds($0) + " round trip" } }
    }

    /// The lines of people: in columns where there is room for them.
    ///
    /// - Parameters:
    ///   - columns: the width of the screen; nil without one.
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

    /// Nil where there is no room, not even without the user IDs, which /whois shows as well.
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
            // A terminal that wraps in another way than we do must not begin a row with blanks.
            return notice(String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()))
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return milliseconds < 1 ? "under 1 ms" : "\(milliseconds) ms"
    }
}

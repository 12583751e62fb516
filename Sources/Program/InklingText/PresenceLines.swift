import InklingModel

/// Decides which changes of presence the prompt reports, and when. Many changes at the same time share a line. A person
/// who comes and goes gets one line about that, and at the end one line about the state.
///
/// Time is in milliseconds of a clock that never goes back.
public struct PresenceLines: Sendable {
    /// The time for which a change waits for others of its kind, in milliseconds.
    public static let firstWait: Int64 = 500
    /// The time for which a change waits once there are others of its kind, in milliseconds.
    public static let burst: Int64 = 2_000
    /// How often a person must leave, or go away, within ``flapWindow`` to be one who comes and goes.
    public static let flapChanges = 3
    /// The time over which changes are counted, in milliseconds.
    public static let flapWindow: Int64 = 30_000
    /// The time for which a person must stay unchanged after coming and going, in milliseconds.
    public static let calm: Int64 = 10_000

    private struct Pending {
        var user: String
        var label: Labels.Label
        var change: PresenceChange
    }

    /// The state last reported of a person.
    private enum Told {
        case here
        case away
        case gone
        /// The person keeps coming and going.
        case flapping
    }

    private struct Record {
        /// The time of the last change; nil if none counts any more.
        var last: Int64?
        /// The last times at which the person left, and went away.
        var departures: [Int64] = []
        var absences: [Int64] = []
        var told = Told.gone
        /// The latest change of a person who comes and goes.
        var flapping: Pending?
    }

    private var records: [String: Record] = [:]
    private var pending: [Pending] = []
    private var openedAt: Int64 = 0

    /// Creates a reporter that has reported nothing.
    public init() {}

    /// The time of the next call of ``due(at:)``, in milliseconds; nil if no change waits.
    public var nextDeadline: Int64? {
        let flaps = records.values.compactMap { record in
            record.flapping == nil ? nil : record.last.map { $0 + Self.calm }
        }
        return ([release] + flaps).compactMap { $0 }.min()
    }

    /// Records a change of a person's presence.
    ///
    /// - Parameters:
    ///   - label: The person's label.
    ///   - change: The change.
    ///   - now: The time in milliseconds.
    /// - Returns: The lines to show at once.
    public mutating func record(_ label: Labels.Label, _ change: PresenceChange, at now: Int64) -> [PresenceLine] {
        var lines = due(at: now)
        var record = records[label.user] ?? Record()
        record.last = now
        if Self.told(change) == .gone { Self.count(now, in: &record.departures) }
        if Self.told(change) == .away { Self.count(now, in: &record.absences) }
        let entry = Pending(user: label.user, label: label, change: change)
        if record.flapping != nil {
            record.flapping = entry
        } else if max(record.departures.count, record.absences.count) >= Self.flapChanges {
            record.flapping = entry
            pending.removeAll { $0.user == label.user }
            record.told = .flapping
            lines.append(PresenceLine(labels: [label], change: change, isRepeated: true))
        } else {
            if pending.isEmpty { openedAt = now }
            pending.removeAll { $0.user == label.user }
            pending.append(entry)
        }
        records[label.user] = record
        return lines
    }

    /// Returns the lines that are due.
    ///
    /// - Parameter now: The time in milliseconds.
    public mutating func due(at now: Int64) -> [PresenceLine] {
        var lines: [PresenceLine] = []
        if let release, release <= now { lines += flush() }
        let settled = records.filter { _, record in
            let wait = record.flapping == nil ? Self.flapWindow : Self.calm
            return record.last.map { $0 + wait <= now } ?? false
        }
        for (user, record) in settled.sorted(by: { $0.key < $1.key }) {
            var record = record
            if let entry = record.flapping {
                lines.append(PresenceLine(labels: [entry.label], change: entry.change))
                record.told = Self.told(entry.change)
                record.flapping = nil
            }
            (record.last, record.departures, record.absences) = (nil, [], [])
            records[user] = record.told == .gone ? nil : record
        }
        return lines
    }

    /// Returns whether a change of one of these people waits.
    package func waits(for users: [String]) -> Bool { pending.contains { users.contains($0.user) } }

    /// Returns all lines that wait. Call it before a message is shown: the sender's line must precede the message.
    public mutating func flush() -> [PresenceLine] {
        var lines: [PresenceLine] = []
        let entries = pending.filter { entry in
            let told = records[entry.user]?.told ?? .gone
            let new = Self.told(entry.change)
            records[entry.user]?.told = new
            return told != new
        }
        pending = []
        for change in PresenceChange.allCases {
            let labels = entries.filter { $0.change == change }.map(\.label)
            if !labels.isEmpty { lines.append(PresenceLine(labels: labels, change: change)) }
        }
        return lines
    }

    /// Drops the waiting changes. The caller knows that these people did nothing, for example because this user's node
    /// ended.
    package mutating func discard() { pending = [] }

    private var release: Int64? {
        switch pending.count {
        case 0: nil
        case 1: openedAt + Self.firstWait
        default: openedAt + Self.burst
        }
    }

    private static func count(_ now: Int64, in times: inout [Int64]) {
        times = times.filter { now - $0 < flapWindow }.suffix(flapChanges - 1) + [now]
    }

    private static func told(_ change: PresenceChange) -> Told {
        switch change {
        case .online, .back: .here
        case .away: .away
        case .left, .silent: .gone
        }
    }
}

/// A line about people who all came, left or changed in the same way.
public struct PresenceLine: Hashable, Sendable {
    /// The people, one or more, in the order in which to name them.
    public var labels: [Labels.Label]
    /// The change, the same for all of these people.
    public var change: PresenceChange
    /// Whether the person comes and goes repeatedly. The line then does not name the present state.
    public var isRepeated: Bool

    /// A line about one change of these people.
    public init(labels: [Labels.Label], change: PresenceChange, isRepeated: Bool = false) {
        self.labels = labels
        self.change = change
        self.isRepeated = isRepeated
    }

    /// The text of the line, such as "Alice and Bob are here" or "Alice keeps coming and going". Of more than three
    /// people, the text names two.
    public var text: String { text(labels.map(\.marked)) }

    /// The text of the line with each name isolated.
    package var isolatedText: String { text(labels.map(\.isolated)) }

    private func text(_ shown: [String]) -> String {
        let names = shown.count > 3 ? shown.prefix(2) + ["\(shown.count - 2) others"] : shown
        let words =
            isRepeated
            ? "\(labels.count == 1 ? "keeps" : "keep") coming and going" : change.words(forOne: labels.count == 1)
        return Words.list(names) + " " + words
    }
}

/// A change of a person's presence, as the prompt reports it.
public enum PresenceChange: CaseIterable, Sendable {
    /// The person came.
    case online
    /// The person is no longer away.
    case back
    /// The person reports to be away.
    case away
    /// The person left.
    case left
    /// No datagram arrives from the person any more.
    case silent

    func words(forOne one: Bool) -> String {
        let verb = one ? "is" : "are"
        return switch self {
        case .online: "\(verb) here"
        case .back: "\(verb) back"
        case .away: "\(verb) away"
        case .left: one ? "has left" : "have left"
        case .silent: "\(verb) out of reach"
        }
    }
}

/// Joins words into a list.
package enum Words {
    /// Returns the words as a list: "a", "a and b", "a, b and c".
    ///
    /// - Parameter conjunction: the word before the last of several.
    package static func list(_ words: [String], last conjunction: String = "and") -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }
}

/// The text that reports whether a person is present, such as "Active now" or "5m ago".
public enum PresenceText {
    /// The text for a person who is online.
    public static let online = "Active now"
    /// The text for a person who is away.
    public static let away = "Away"

    /// The text for a person who is offline.
    ///
    /// - Parameter age: The time since the person was last seen; nil if unknown. Below -1 min, the clock was ahead when
    ///   the person was last seen, and the time is unknown too.
    public static func lastSeen(age: Duration?) -> String {
        guard let age, age.components.seconds > -60 else { return "Last seen recently" }
        switch age.components.seconds {
        case ..<60: return "Last seen just now"
        case ..<300: return "\(age.components.seconds / 60)m ago"
        case ..<3_600: return "Active recently"
        case ..<86_400: return "Last seen today"
        default: return "Last seen recently"
        }
    }

    /// The text for a person with that presence.
    ///
    /// - Parameters:
    ///   - presence: Whether they can be reached.
    ///   - seen: When they were last there; nil while they are there, or if that is not known.
    ///   - now: The time of day.
    public static func text(_ presence: Presence, lastSeen seen: Timestamp?, now: Timestamp) -> String {
        switch presence {
        case .online: online
        case .away: away
        case .offline: lastSeen(age: seen.map { .seconds(min(max(now.seconds(since: $0), -1e9), 1e9)) })
        }
    }
}

/// The style in which ``IndicatorText`` combines the names of several people who are typing.
public enum IndicatorStyle: String, CaseIterable, Sendable {
    /// One to three names. From four people on, two names and a count: "Alice, Bob, and 2 others are typing".
    case standard
    /// One or two names. From three people on, one name and a count: "Alice and 2 others are typing".
    case short
    /// One or two names. From three people on, two names and a count: "Alice, Bob, and 1 more are typing".
    case list
}

/// The text that names the people who are typing, such as "Alice and Bob are typing".
public enum IndicatorText {
    /// The longest name that the text shows in full, in grapheme clusters.
    public static let longestName = 15

    /// Returns the text without dots; empty when nobody is typing.
    ///
    /// - Parameters:
    ///   - names: Names that ``SafeText/name(_:)`` made safe, in the order in which to name people, the latest start
    ///     first. An empty one is a person whose name can't be shown.
    ///   - style: The way to combine several names.
    public static func text(names: [String], style: IndicatorStyle = .standard) -> String {
        if names.count > 1 && names.allSatisfy(\.isEmpty) { return "\(names.count) people are typing" }
        return text(shown: names.map(shortened), style: style)
    }

    /// Returns the text for people with labels, without dots; empty when nobody is typing. Names are shortened;
    /// suffixes and the mark of a verified person are not.
    ///
    /// - Parameters:
    ///   - people: Their labels, in the order in which to name them.
    ///   - style: The way to combine several names.
    public static func text(people: [Labels.Label], style: IndicatorStyle = .standard) -> String {
        text(shown: people.map { $0.marked(shortened($0.name)) }, style: style)
    }

    /// Returns the text of ``text(people:style:)`` with each shortened name isolated. In a narrow terminal, names
    /// get shorter, so that the verb and the dots show.
    ///
    /// - Parameter columns: the room for the text with its dots.
    package static func isolatedText(people: [Labels.Label], style: IndicatorStyle, columns: Int = .max) -> String {
        guard !people.isEmpty else { return "" }
        let room = columns - 3
        for length in [longestName, 9, 5, 2] {
            let shown = people.map { NameIsolation.isolated($0.marked(shortened($0.name, to: length))) }
            let text = text(shown: shown, style: style)
            // No text has more columns than bytes.
            if text.utf8.count <= room || DisplayWidth.of(text) <= room { return text }
        }
        let count = "\(people.count) people are typing"
        return people.count > 1 && count.utf8.count <= room ? count : "typing"
    }

    private static func text(shown: [String], style: IndicatorStyle) -> String {
        guard !shown.isEmpty else { return "" }
        switch (style, shown.count) {
        case (_, 1):
            return "\(shown[0]) is typing"
        case (_, 2):
            return "\(shown[0]) and \(shown[1]) are typing"
        case (.standard, 3):
            return "\(shown[0]), \(shown[1]), and \(shown[2]) are typing"
        case (.standard, let count):
            return "\(shown[0]), \(shown[1]), and \(count - 2) others are typing"
        case (.short, let count):
            return "\(shown[0]) and \(count - 1) others are typing"
        case (.list, let count):
            return "\(shown[0]), \(shown[1]), and \(count - 2) more are typing"
        }
    }

    /// Returns the dots after the text: one to three in turn, or always three if the user wants no motion.
    ///
    /// - Parameters:
    ///   - step: Any number. The next number gives the next dots.
    ///   - reducedMotion: Whether the user wants no motion.
    public static func dots(step: Int, reducedMotion: Bool) -> String {
        guard !reducedMotion else { return "..." }
        let turn = ((step % 3) + 3) % 3
        return String(repeating: ".", count: turn + 1)
    }

    /// Returns the name as the indicator shows it: its first 15 characters and "...", or "Someone".
    public static func shortened(_ name: String) -> String { shortened(name, to: longestName) }

    private static func shortened(_ name: String, to length: Int) -> String {
        guard !name.isEmpty else { return "Someone" }
        // The mark takes the room of three more. Counting the bytes is quick, and no name has more clusters than bytes.
        let longest = length == longestName ? length : length + 3
        guard name.utf8.count > longest, name.count > longest else { return name }
        return name.prefix(length) + "..."
    }
}

import InklingText

/// What has to be said when somebody uses a name that is known with another key.
package struct KeyAlarm: Hashable, Sendable {
    /// How the one who is known spells the name.
    package var known: String
    /// Whether it is known for sure whose that name is.
    package var isVerified: Bool
    /// Under which other name this one is known, if any.
    package var formerName: String?
    /// Whether it was said in an earlier run.
    package var isRepeated: Bool

    package init(known: String, isVerified: Bool = false, formerName: String? = nil, isRepeated: Bool = false) {
        self.known = known
        self.isVerified = isVerified
        self.formerName = formerName
        self.isRepeated = isRepeated
    }

    /// The whole of it.
    package func line(_ label: Labels.Label) -> Line {
        isRepeated
            ? ChatLines.stillAnotherKey(label, known: known, isVerified: isVerified)
            : ChatLines.changedKey(label, known: known, isVerified: isVerified, formerName: formerName)
    }
}

/// Decides when alarms about keys are shown: the first at once, those that follow within a few seconds as one line with
/// their count. None is dropped, and nobody's message is shown before the alarm about that person.
///
/// Time is in milliseconds of a clock that never goes back.
package struct KeyAlarms: Sendable {
    /// The least time between two lines, other than those about somebody who says something.
    package static let interval: Int64 = 5_000
    /// How many people are named in a line about many.
    package static let named = 3
    /// About how many people alarms wait. With one more, all are shown.
    package static let waiting = 256

    private var alarms: [(user: String, alarm: KeyAlarm)] = []
    /// Until when further alarms wait.
    private var quietUntil: Int64?

    /// Nothing was said yet.
    package init() {}

    /// When to call `due(at:labels:)`, if at all.
    package var nextDeadline: Int64? { alarms.isEmpty ? nil : quietUntil }

    /// There is an alarm about somebody. Returns what has to be shown at once.
    package mutating func take(_ alarm: KeyAlarm, about user: String, at now: Int64, labels: Labels) -> [Line] {
        var lines = due(at: now, labels: labels)
        var alarm = alarm
        if let index = alarms.firstIndex(where: { $0.user == user }) {
            // Whoever takes one name after another counts once, by the worst.
            let earlier = alarms.remove(at: index).alarm
            if earlier.isVerified && !alarm.isVerified { alarm = earlier }
        }
        alarms.append((user, alarm))
        if quietUntil.map({ $0 <= now }) ?? true {
            lines += flush(labels: labels)
            quietUntil = now + Self.interval
        } else if alarms.count > Self.waiting {
            lines += flush(labels: labels)
        }
        return lines
    }

    /// What has to be shown by now.
    package mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        quietUntil = now + Self.interval
        return flush(labels: labels)
    }

    /// Somebody is about to be heard. Returns the alarm about them, if it waits.
    package mutating func beforeMessage(of user: String, labels: Labels) -> [Line] {
        guard let index = alarms.firstIndex(where: { $0.user == user }) else { return [] }
        let alarm = alarms.remove(at: index).alarm
        return [ChatLines.anotherKey(labels.label(of: user), known: alarm.known, isVerified: alarm.isVerified)]
    }

    /// Everything that waits.
    package mutating func flush(labels: Labels) -> [Line] {
        defer { alarms = [] }
        // Names that were verified first: they must not hide among "others".
        let sorted = alarms.filter(\.alarm.isVerified) + alarms.filter { !$0.alarm.isVerified }
        guard let first = sorted.first else { return [] }
        guard sorted.count > 1 else { return [first.alarm.line(labels.label(of: first.user))] }
        return [
            ChatLines.changedKeys(
                of: sorted.map { labels.label(of: $0.user) }, verified: alarms.count { $0.alarm.isVerified })
        ]
    }
}

import InklingModel
import InklingText

/// The alarm about a person who uses a known name with another key.
package struct KeyAlarm: Hashable, Sendable {
    /// The known person's spelling of the name.
    package var known: String
    /// Whether the known person is verified.
    package var isVerified: Bool
    /// Another name that this key had before, if any. The name is not verified.
    package var formerName: String?
    /// Whether the key had the name in an earlier run.
    package var isRepeated: Bool

    package init(known: String, isVerified: Bool = false, formerName: String? = nil, isRepeated: Bool = false) {
        self.known = known
        self.isVerified = isVerified
        self.formerName = formerName
        self.isRepeated = isRepeated
    }

    /// Creates the alarm for a newcomer whom readers could mistake for a person that the node knows.
    ///
    /// - Parameters:
    ///   - name: the newcomer's name.
    ///   - formerNames: the earlier names of the newcomer's key, the latest first.
    ///   - knownNames: the names of the known person, the latest first.
    ///   - isVerified: whether the known person is verified.
    ///   - isRepeated: whether the key had the name in an earlier run.
    package init(
        newcomer name: String, formerNames: some Sequence<String>, knownNames: [String], isVerified: Bool,
        isRepeated: Bool
    ) {
        let likeness = NameLikeness(of: name, withParts: false)
        let isAlike: (String) -> Bool = { NameLikeness(of: $0, withParts: false).isAlike(likeness) }
        // Never the newcomer's own spelling: the alarm would then compare the newcomer with themselves.
        let known = knownNames.first(where: isAlike) ?? knownNames.first ?? ""
        let former = isRepeated ? nil : formerNames.first { !isAlike($0) && Labels.shown($0) != nil }
        self.init(
            known: NormalForm.canonical(known), isVerified: isVerified,
            formerName: former.map { NormalForm.canonical($0) }, isRepeated: isRepeated)
    }

    /// Returns the full line of the alarm.
    package func line(_ label: Labels.Label) -> Line {
        isRepeated
            ? ChatLines.stillAnotherKey(label, known: known, isVerified: isVerified)
            : ChatLines.changedKey(label, known: known, isVerified: isVerified, formerName: formerName)
    }
}

/// Decides when the prompt shows alarms about keys. Simultaneous alarms make one block with their count. Alarms of the
/// next few seconds make another block. No alarm is dropped. The alarm about a person precedes the person's messages.
///
/// Time is in milliseconds of a clock that never goes back.
package struct KeyAlarms: Sendable {
    /// The time for which the first alarm waits for others. The line about the person's arrival waits as long, see
    /// `PresenceLines`.
    package static let firstWait: Int64 = 500
    /// The shortest time between two blocks. Alarms before a person's message do not wait.
    package static let interval: Int64 = 5_000
    /// The number of people that a line about many people names.
    package static let named = 3
    /// The number of people about whom alarms may wait. With one more, all alarms are shown.
    package static let waiting = 256

    private var alarms: [(user: String, alarm: KeyAlarm)] = []
    /// The time until which further alarms wait.
    private var quietUntil: Int64?
    /// The time of the last block.
    private var shownAt: Int64?
    /// Whether the waiting alarms came soon after others were shown.
    private var isFurther = false

    /// Creates a scheduler without alarms.
    package init() {}

    /// The time of the next call of `due(at:labels:)`; nil for none.
    package var nextDeadline: Int64? { alarms.isEmpty ? nil : quietUntil }

    /// Records an alarm about a person. Returns the lines to show at once.
    package mutating func record(_ alarm: KeyAlarm, about user: String, at now: Int64, labels: Labels) -> [Line] {
        var lines = due(at: now, labels: labels)
        var alarm = alarm
        if let index = alarms.firstIndex(where: { $0.user == user }) {
            // A person with several new names counts once, with the most serious alarm.
            let earlier = alarms.remove(at: index).alarm
            if earlier.isVerified && !alarm.isVerified { alarm = earlier }
        }
        if alarms.isEmpty {
            isFurther = shownAt.map { now < $0 + Self.interval } ?? false
            quietUntil = max(now + Self.firstWait, isFurther ? (shownAt ?? now) + Self.interval : now)
        }
        alarms.append((user, alarm))
        if alarms.count > Self.waiting {
            lines += flush(labels: labels)
            (shownAt, isFurther) = (now, true)
        }
        return lines
    }

    /// Returns the lines that are due.
    package mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        shownAt = now
        return flush(labels: labels)
    }

    /// Returns the waiting alarm about a person, to show before the person's message; empty if none waits.
    package mutating func beforeMessage(of user: String, labels: Labels) -> [Line] {
        guard let index = alarms.firstIndex(where: { $0.user == user }) else { return [] }
        let alarm = alarms.remove(at: index).alarm
        return [ChatLines.anotherKey(labels.label(of: user), known: alarm.known, isVerified: alarm.isVerified)]
    }

    /// Returns all waiting alarms.
    package mutating func flush(labels: Labels) -> [Line] {
        defer { alarms = [] }
        // Names of verified people come first, because they must not hide among "others".
        let sorted = alarms.filter(\.alarm.isVerified) + alarms.filter { !$0.alarm.isVerified }
        guard let first = sorted.first else { return [] }
        guard sorted.count > 1 else { return [first.alarm.line(labels.label(of: first.user))] }
        let known = first.alarm.known
        let likeness = NameLikeness(of: known, withParts: false)
        let isOne = sorted.allSatisfy { NameLikeness(of: $0.alarm.known, withParts: false).isAlike(likeness) }
        return [
            ChatLines.changedKeys(
                of: sorted.map { labels.label(of: $0.user) }, verified: alarms.count { $0.alarm.isVerified },
                known: isOne ? known : nil, areMore: isFurther)
        ]
    }
}

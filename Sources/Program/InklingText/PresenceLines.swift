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

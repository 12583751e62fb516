import InklingModel
import InklingText

/// Decides when the prompt reports new names: the first change at once, and all changes of the next 10 s together. The
/// line about an author's new name precedes the author's message. If a person leaves, a line first reports the person's
/// last name. Only a few people in that time get such a line.
///
/// Times are milliseconds of a clock that never goes back.
struct RenameLines: Sendable {
    /// The time for which further changes wait after a line.
    static let step: Int64 = 10_000
    /// The number of people that a line names. For more people, the line has only their number.
    static let named = 3

    /// The earlier labels of people whose new names have no line yet, in the order of the changes.
    private var pending: [(user: UserID, before: Labels.Label)] = []
    private var reportedAt: Int64?
    /// The times of the last lines about leaving people.
    private var farewells: [Int64] = []

    /// The time of the next call of ``due(at:labels:)``; nil for none.
    var nextDeadline: Int64? { pending.isEmpty ? nil : (reportedAt ?? 0) + Self.step }

    /// Records the new name of a present person.
    mutating func record(_ user: UserID, before: Labels.Label) {
        if !pending.contains(where: { $0.user == user }) { pending.append((user, before)) }
    }

    /// Returns the line about a leaving person's unreported name; empty if too many people leave.
    mutating func beforeLeaving(of user: UserID, at now: Int64, labels: Labels) -> [Line] {
        let lines = beforeMessage(of: user, labels: labels)
        guard !lines.isEmpty else { return [] }
        farewells = farewells.filter { now - $0 < Self.step }
        guard farewells.count < Self.named else { return [] }
        farewells.append(now)
        return lines
    }

    /// Returns the line to show before a person's message.
    mutating func beforeMessage(of user: UserID, labels: Labels) -> [Line] {
        defer { pending.removeAll { $0.user == user } }
        return lines(pending.filter { $0.user == user }, labels)
    }

    /// Returns the lines that are due.
    mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard reportedAt.map({ $0 + Self.step <= now }) ?? true else { return [] }
        let lines = lines(pending, labels)
        pending = []
        if !lines.isEmpty { reportedAt = now }
        return lines
    }

    private func lines(_ entries: [(user: UserID, before: Labels.Label)], _ labels: Labels) -> [Line] {
        let changes = entries.compactMap { user, before in
            let after = labels.label(of: user.description)
            return after.name == before.name ? nil : (before, after)
        }
        guard changes.count <= Self.named else { return [ChatLines.renamed(changes.count)] }
        return changes.map { ChatLines.renamed($0, to: $1) }
    }
}

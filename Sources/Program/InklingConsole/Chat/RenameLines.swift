import InklingModel
import InklingText

/// Reports new names: the first change at once, and those within 10 s of such a line together at their end. The line
/// about an author's new name precedes the author's message. A person who leaves is reported under the last name first,
/// for a few people in that time.
///
/// Times are milliseconds of a clock that never goes back.
struct RenameLines: Sendable {
    /// How long further changes wait after a line.
    static let step: Int64 = 10_000
    /// How many people are named; of more, only their number is.
    static let named = 3

    /// The earlier labels of people whose new names are not reported yet, in the order of the changes.
    private var pending: [(user: UserID, before: Labels.Label)] = []
    private var toldAt: Int64?
    /// When the last names of leaving people were reported.
    private var farewells: [Int64] = []

    /// When to call ``due(at:labels:)``, if at all.
    var nextDeadline: Int64? { pending.isEmpty ? nil : (toldAt ?? 0) + Self.step }

    /// Records the new name of a person who is there.
    mutating func take(_ user: UserID, before: Labels.Label) {
        if !pending.contains(where: { $0.user == user }) { pending.append((user, before)) }
    }

    /// Returns the line about a leaving person's unreported name; nothing in a flood.
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
        guard toldAt.map({ $0 + Self.step <= now }) ?? true else { return [] }
        let lines = lines(pending, labels)
        pending = []
        if !lines.isEmpty { toldAt = now }
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

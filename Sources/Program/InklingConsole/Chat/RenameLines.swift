import InklingModel
import InklingText

/// Says who is called something else now: the first change at once, those that follow within 10 s of such a line together
/// at their end, and whoever speaks under a new name before they do. The last name of somebody who leaves is told before
/// that, for a few people in that time.
///
/// Times are milliseconds of a clock that never goes back.
struct RenameLines: Sendable {
    /// How long further changes wait after a line.
    static let step: Int64 = 10_000
    /// How many people are named; of more, only their number is.
    static let named = 3

    /// How those were called whose new names were not told yet, in the order of the changes.
    private var pending: [(user: UserID, before: Labels.Label)] = []
    private var toldAt: Int64?
    /// When the last names of people who left were told.
    private var farewells: [Int64] = []

    /// When to call ``due(at:labels:)``, if at all.
    var nextDeadline: Int64? { pending.isEmpty ? nil : (toldAt ?? 0) + Self.step }

    /// Somebody who is there has another name than before.
    mutating func take(_ user: UserID, before: Labels.Label) {
        if !pending.contains(where: { $0.user == user }) { pending.append((user, before)) }
    }

    /// What there is to say of somebody who leaves under a name that was not told. In a flood it is nothing.
    mutating func beforeLeaving(of user: UserID, at now: Int64, labels: Labels) -> [Line] {
        let lines = beforeMessage(of: user, labels: labels)
        guard !lines.isEmpty else { return [] }
        farewells = farewells.filter { now - $0 < Self.step }
        guard farewells.count < Self.named else { return [] }
        farewells.append(now)
        return lines
    }

    /// What there is to say before a message of somebody.
    mutating func beforeMessage(of user: UserID, labels: Labels) -> [Line] {
        defer { pending.removeAll { $0.user == user } }
        return lines(pending.filter { $0.user == user }, labels)
    }

    /// What has to be said by now.
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

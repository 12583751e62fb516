/// A line about people who came, left or changed in the same way.
public struct PresenceLine: Hashable, Sendable {
    /// The people, one or more, in the order in which to name them.
    public var labels: [Labels.Label]
    /// The change that these people have in common.
    public var change: PresenceChange
    /// Whether the person comes and goes. Such a line does not name the present state.
    public var isRepeated: Bool

    /// A line about this change of these people.
    public init(labels: [Labels.Label], change: PresenceChange, isRepeated: Bool = false) {
        self.labels = labels
        self.change = change
        self.isRepeated = isRepeated
    }

    /// Such as "Alice and Bob are here" or "Alice keeps coming and going"; of more than three people, two are named.
    public var text: String { text(labels.map(\.marked)) }

    /// The same with each name isolated.
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
    /// They came.
    case online
    /// They are no longer away.
    case back
    /// They say that they are elsewhere.
    case away
    /// They left.
    case left
    /// Nothing arrives from them any more.
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

/// Joins words.
package enum Words {
    /// As a list: "a", "a and b", "a, b and c".
    ///
    /// - Parameter conjunction: the word before the last of several.
    package static func list(_ words: [String], last conjunction: String = "and") -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }
}

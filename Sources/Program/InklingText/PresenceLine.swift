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

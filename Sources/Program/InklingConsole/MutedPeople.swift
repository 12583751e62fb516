import InklingModel
import InklingText

/// The people muted in this session, by identity, with the numbers of their hidden messages.
package struct MutedPeople: Sendable {
    /// A muted person.
    package struct Person: Hashable, Sendable {
        /// The latest label of the person.
        package var label: Labels.Label
        /// The number of messages from the person since then.
        package var messages: Int

        package init(label: Labels.Label, messages: Int = 0) {
            self.label = label
            self.messages = messages
        }
    }

    private var people: [String: Person] = [:]

    /// Makes an empty list.
    package init() {}

    /// All muted people, in the order of their labels.
    package var all: [Person] {
        people.values.sorted { ($0.label.text, $0.label.user) < ($1.label.text, $1.label.user) }
    }

    package func contains(_ user: String) -> Bool { people[user] != nil }

    /// Mutes a person.
    ///
    /// - Returns: `false` if the person is muted already.
    package mutating func mute(_ label: Labels.Label) -> Bool {
        guard !contains(label.user) else { return false }
        people[label.user] = Person(label: label)
        return true
    }

    /// Unmutes a person.
    ///
    /// - Returns: The person's entry; `nil` if the person is not muted.
    package mutating func unmute(_ user: String) -> Person? { people.removeValue(forKey: user) }

    /// Counts a message if its author is muted.
    ///
    /// - Returns: Whether the author is muted.
    package mutating func countMessage(from user: String) -> Bool {
        people[user]?.messages += 1
        return contains(user)
    }

    /// Updates the label of a muted person.
    package mutating func rename(_ label: Labels.Label) { people[label.user]?.label = label }

    /// Finds a muted person by label, name in any case, user ID or suffix.
    package func find(_ text: some StringProtocol) -> Labels.Match {
        var wanted = Self.folded(text)
        while wanted.first?.isWhitespace == true || wanted.first == "@" { wanted.removeFirst() }
        while wanted.last?.isWhitespace == true { wanted.removeLast() }
        if wanted.hasSuffix(" " + Labels.verifiedMark) { wanted.removeLast(2) }
        guard !wanted.isEmpty else { return .nobody }
        let labels = all.map(\.label)
        if let exact = labels.first(where: { $0.user == wanted || Self.folded($0.text) == wanted }) {
            return .one(exact.user)
        }
        let found = labels.filter { Self.folded($0.name) == wanted || $0.suffix == wanted }
        switch found.count {
        case 0: return .nobody
        case 1: return .one(found[0].user)
        default: return .several(found.map(\.text))
        }
    }

    private static func folded(_ text: some StringProtocol) -> String {
        NormalForm.compatible(text).uppercased().lowercased()
    }
}

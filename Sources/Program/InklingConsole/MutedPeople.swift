import InklingModel
import InklingText

/// The muted people of this session, by identity, with the count of their hidden messages.
package struct MutedPeople: Sendable {
    /// Somebody who is muted.
    package struct Person: Hashable, Sendable {
        /// The latest label of the person.
        package var label: Labels.Label
        /// How many messages came from them since.
        package var messages: Int

        package init(label: Labels.Label, messages: Int = 0) {
            self.label = label
            self.messages = messages
        }
    }

    private var people: [String: Person] = [:]

    /// Nobody is muted.
    package init() {}

    /// Everybody who is, in the order of their labels.
    package var all: [Person] {
        people.values.sorted { ($0.label.text, $0.label.user) < ($1.label.text, $1.label.user) }
    }

    package func contains(_ user: String) -> Bool { people[user] != nil }

    /// `false`: that person is muted already.
    package mutating func mute(_ label: Labels.Label) -> Bool {
        guard !contains(label.user) else { return false }
        people[label.user] = Person(label: label)
        return true
    }

    /// Returns what was known of the person; `nil` if that person is not muted.
    package mutating func unmute(_ user: String) -> Person? { people.removeValue(forKey: user) }

    /// A message came. Returns whether it is from somebody muted, who is then counted.
    package mutating func take(messageFrom user: String) -> Bool {
        people[user]?.messages += 1
        return contains(user)
    }

    /// Somebody's label may have changed.
    package mutating func rename(_ label: Labels.Label) { people[label.user]?.label = label }

    /// Finds who of the muted is meant: by the label, the name in any case, the user ID or the suffix.
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

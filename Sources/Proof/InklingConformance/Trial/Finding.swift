/// What a case found: the program did not do what the clause demands.
package struct Finding: Error, Sendable, Equatable {
    /// What the clause demands here.
    package let expected: String
    /// What the program did.
    package let actual: String

    package init(expected: String, actual: String) {
        self.expected = expected
        self.actual = actual
    }
}

/// Fails unless a condition holds.
func expect(
    _ condition: Bool, _ expected: @autoclosure () -> String, actual: @autoclosure () -> String
) throws(Finding) {
    guard condition else { throw Finding(expected: expected(), actual: actual()) }
}

/// The program says that it leaves out what a case needs (J-13).
package struct Unsupported: Error, Sendable, Equatable {
    /// The word for it.
    package let feature: Feature
}

/// The case could not be tried, for a reason that says nothing about the program.
package struct Untried: Error, Sendable, Equatable {
    package let reason: String
}

/// What a driven node may leave out, by its words in `ready` (J-13, A-31).
package enum Feature: String, CaseIterable, Sendable {
    case away, block, chats, discovery, load, messages, nick, people, peer, secret, sightings, stats, suspend, who
    case lastWill = "last-will"
    /// The answers to requests: a node leaves them out by not naming its `interface`, and not by this word.
    case interface
}

/// A difference between the program's behaviour and a clause.
package struct Finding: Error, Sendable, Equatable {
    /// The behaviour that the clause demands.
    package let expected: String
    /// The behaviour of the program.
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

/// The absence of a feature that a case needs, as the program reports it (J-13).
package struct Unsupported: Error, Sendable, Equatable {
    package let feature: Feature
}

/// The reason why the case could not run. The program is not at fault.
package struct Untried: Error, Sendable, Equatable {
    package let reason: String
}

/// A feature that a program may leave out, with its word in `ready` (J-13, A-31).
package enum Feature: String, CaseIterable, Sendable {
    case away, block, chats, discovery, invitations, load, messages, moves, nick, people, peer, secret, sightings,
        stats,
        suspend, who
    case lastWill = "last-will"
    /// The answers to requests. A program without them leaves `interface` out of `ready`, instead of this word.
    case interface
}

import InklingCore

/// A promise of the protocol that a run broke.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    /// The rules for every step of every run.
    package enum Rule: String, CaseIterable, Sendable {
        /// A node shows typing longer than 3.0 s after the last evidence of it.
        case staleTyping = "stale typing"
        /// A node shows typing that no datagram announced, or that came from an older datagram or another person.
        case untrueTyping = "untrue typing"
        /// A node shows its own user as typing.
        case ownTyping = "own typing"
        /// A node still shows a person typing after the message that ended the typing.
        case typingAfterMessage = "typing after message"
        /// A node shows an offline or blocked person as typing.
        case absentTyping = "absent typing"
        case doubledMessage = "doubled message"
        case reorderedMessage = "reordered message"
        case alteredMessage = "altered message"
        /// A message has no outcome, or was reported as delivered but never shown.
        case lostMessage = "lost message"
        case wrongReport = "wrong report"
        /// A message fails before its link is forgotten. A cable unplugged for 10 s would then lose the message.
        case hastyFailure = "hasty failure"
        /// During an attack, a message of a verified friend does not show in time.
        case lateMessage = "late message"
        /// Two datagrams sealed under one key and one counter.
        case reusedNonce = "reused nonce"
        /// A node reports a person as offline while datagrams of that person arrive.
        case falseOffline = "false offline"
        /// A node reports a farewell of a person who has not left, or is already back.
        case falseFarewell = "false farewell"
        /// A person said farewell in a good network, but a node does not show the person as gone.
        case lostFarewell = "lost farewell"
        /// A node shows a person as online long after silence should have ended it.
        case ghost
        /// A node shows a person again who has not answered lately.
        case revival
        /// A node holds two links to one run of another node.
        case doubledLink = "doubled link"
        /// A node does not show a person with whom it could exchange datagrams for long enough.
        case missingPerson = "missing person"
        /// A person types, but a node does not show it without a gap, although the path between them was whole.
        case missingTyping = "missing typing"
        /// A node shows an online person as away, or an away person as online.
        case wrongPresence = "wrong presence"
        /// A node shows a person under a wrong or outdated name.
        case wrongName = "wrong name"
        /// The typing frames of an edge and its copies are missing, late or surplus.
        case edges
        /// Heartbeats come too seldom or too often.
        case heartbeats
        /// An adversary got more than a limit allows.
        case limit
        /// A key that the owner did not choose, and that no member gave the secret, has a link in the owner's chat.
        case intruder
        /// A chosen member who is present is not in the owner's newest chat, although the network is good.
        case strandedMember = "stranded member"
        /// A node takes a successor of somebody else, a second one of a chat, or one that leads elsewhere.
        case falseMove = "false move"
        /// A node moves more often than its chain may.
        case hastyMove = "hasty move"
        /// A node shows somebody in a chat that it departed from, or sends its successor too often.
        case departedChat = "departed chat"
        case tableGrowth = "table growth"
        case traffic
        /// A node asks for a timer again and again although it has nothing to do.
        case spinning
        /// 10 s after the faults ended, the nodes disagree on presence, or typing or messages do not arrive.
        case divergence
    }

    package let rule: Rule
    package let at: Instant
    package let text: String

    package var description: String {
        let milliseconds = at.nanoseconds / 1_000_000
        return
            "\(rule.rawValue) at \(milliseconds / 1_000).\(String(milliseconds % 1_000 + 1_000).dropFirst()) s: \(text)"
    }
}

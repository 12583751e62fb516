import InklingCore

/// A promise of the protocol that a run broke.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    /// The rules for every step of every run.
    package enum Rule: String, CaseIterable, Sendable {
        /// A status is shown longer than 3.0 s after the last evidence of it.
        case staleTyping = "stale typing"
        /// A status begins that no datagram said, that an older datagram said, or that another person's said.
        case untrueTyping = "untrue typing"
        /// A node shows its own user as typing.
        case ownTyping = "own typing"
        /// Somebody shows as typing after the message that ended it.
        case typingAfterMessage = "typing after message"
        /// Somebody shows as typing who is offline, or blocked.
        case absentTyping = "absent typing"
        case doubledMessage = "doubled message"
        case reorderedMessage = "reordered message"
        case alteredMessage = "altered message"
        /// Neither delivered nor reported as failed, or reported as delivered and never shown.
        case lostMessage = "lost message"
        case wrongReport = "wrong report"
        /// A message fails sooner than its link is forgotten: a cable that is out for 10 s costs it.
        case hastyFailure = "hasty failure"
        /// A message of a verified friend does not show in time while somebody attacks.
        case lateMessage = "late message"
        /// Two datagrams sealed under one key and one counter.
        case reusedNonce = "reused nonce"
        /// Somebody is declared offline while datagrams of theirs arrive.
        case falseOffline = "false offline"
        /// A farewell is reported of somebody who has not gone, or is back since.
        case falseFarewell = "false farewell"
        /// Somebody has said farewell in a good network, and is not shown as gone.
        case lostFarewell = "lost farewell"
        /// Somebody is shown as online who is gone for longer than silence takes.
        case ghost
        /// Somebody is shown again who has answered nothing lately.
        case revival
        /// A node holds two links to one run of another.
        case doubledLink = "doubled link"
        /// Somebody is not shown as there with whom datagrams could be exchanged for long enough.
        case missingPerson = "missing person"
        /// Somebody types and does not show, or not without a gap, although nothing stood between the two.
        case missingTyping = "missing typing"
        /// Somebody is shown as away who is not, or as online who is away.
        case wrongPresence = "wrong presence"
        /// Somebody is shown under a name that is not theirs, or no longer.
        case wrongName = "wrong name"
        /// The typing frames of an edge and its copies don't go out when they have to, or others do.
        case edges
        /// Heartbeats come too seldom, or too often.
        case heartbeats
        /// An adversary got more than a limit allows.
        case limit
        case tableGrowth = "table growth"
        case traffic
        /// A node asks to be woken again and again for nothing.
        case spinning
        /// 10 s after the faults ended the nodes do not agree on who is there, or typing or messages do not get
        /// through.
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

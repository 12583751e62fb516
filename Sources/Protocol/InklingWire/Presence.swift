/// Whether a person is reachable.
public enum Presence: String, Sendable, Hashable, Codable, CaseIterable {
    /// The person is in the chat, and their node was heard lately.
    case online
    /// The person is in the chat, but reports to be away. Messages arrive.
    case away
    /// The person is not in the chat, or out of reach. Messages don't arrive, and don't wait.
    case offline
}

/// The reason for a change of somebody's presence.
public enum PresenceReason: String, CaseIterable, Sendable, Hashable {
    /// The person came, or changed their name.
    case hello
    /// The person is back from being away.
    case back
    /// The person reports to be away.
    case away
    /// The person left the chat, or ended their node.
    case bye
    /// The person owns the chat, and has removed this user from it (M-97).
    case removed
    /// The person's node ended without a bye, and its helper sent the bye.
    case will
    /// No datagram has arrived from the person's node for too long.
    case silence
    /// This user has blocked the person.
    case blocked
    /// The person's node was started again.
    case replaced
    /// This node had no more room for the link.
    case full
}

/// The reason why a message may not have been delivered to a person.
public enum FailureReason: String, CaseIterable, Sendable, Hashable {
    /// The person left the chat, or ended their node.
    case bye
    /// No datagram has arrived from the person's node for too long.
    case silence
    /// The person's node ended without a bye, and its helper sent the bye.
    case will
    /// This node left the chat.
    case left
    /// This user has blocked the person.
    case blocked
    /// The person's node was started again.
    case replaced
    /// This node was stopped.
    case quit
    /// The person's node is reachable, but has acknowledged no record for too long.
    case stalled
    /// This node had no more room for the link.
    case full
    /// The person's node has lost the records that it had received.
    case lostState = "lost-state"
    /// The text waited, and this node gave it up: after 7 days, at the user's word, or because the person left.
    case givenUp = "given-up"
    /// Too many texts wait already, or the disk takes none.
    case noRoom = "no-room"
}

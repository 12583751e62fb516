import InklingWire

/// Whether a person can be reached: the best that any of the links to that identity says.
package enum Presence: String, Sendable, Hashable {
    case online, away, offline
}

/// Why a presence changed.
package enum PresenceReason: String, Sendable, Hashable {
    case hello, back, away, bye, will, silence, blocked, replaced, full
}

/// Why a message is not known to be delivered.
package enum FailureReason: String, Sendable, Hashable {
    case bye, silence, will, left, blocked, replaced, quit, stalled, full
    case lostState = "lost-state"
}

/// A person in a chat. The name is that of the peer's name record: unsafe to print.
package struct Person: Hashable, Sendable {
    package let key: PublicKey
    package let name: String

    package init(key: PublicKey, name: String) {
        self.key = key
        self.name = name
    }
}

/// The purpose of an outgoing datagram: its kind on the wire, and for a sealed one the frame that caused it.
package enum DatagramKind: String, CaseIterable, Sendable, Hashable {
    case initiation, response, retry, ask, tell
    case heartbeat, typing, record, ack, forward, ping, pong, bye
}

/// The actions for the core's owner, in their order.
package enum Output: Equatable, Sendable {
    /// Send these bytes as one datagram.
    case send([UInt8], to: Address, DatagramKind)
    /// All who are typing in a chat, in the order in which to name them; on each change.
    case typing(ChatID, [Person])
    /// A person's presence changed.
    case presence(ChatID, Person, Presence, PresenceReason)
    /// A message came, whole and in order; `number` counts those received by this node. The owner says when its user has
    /// taken it, by ``Endpoint/messageTaken(_:)``.
    case message(ChatID, from: Person, number: UInt64, text: String)
    /// A message of ours was acknowledged whole by that person.
    case delivered(message: UInt64, ChatID, PublicKey)
    /// A message of ours is not known to be delivered to that person.
    case failed(message: UInt64, ChatID, PublicKey, FailureReason)
    /// Keep this datagram for when the node dies without a farewell, in place of the one before of that session.
    case keepWill(session: UInt32, [UInt8], to: Address)
    /// The session is over, and so is its last will.
    case dropWill(session: UInt32)
    /// The address that was given by hand belongs to this node itself, or to another device of its identity.
    case peerIsOneself(Address)
}

/// Why a command did nothing.
package enum CommandError: Error, Equatable, Sendable {
    case unknownChat
    case chatExists
    case tooManyChats
    case messageEmpty
    case messageTooLong(bytes: Int)
    case queueFull(PublicKey)
}

/// Why a datagram was dropped.
package enum DropReason: String, CaseIterable, Sendable, Hashable {
    case malformed, unknownChat, unknownIndex, replayed, unauthenticated, frames, notUnicast
    case ownIdentity, blocked, cookie, answerLimit, responseLimit, sourceLimit, linkLimit, peerLimit, unexpected,
        suspended, offLink
}

/// Counters of a node since its start.
package struct Counters: Equatable, Sendable {
    package var received: [Datagram.Kind: Int] = [:]
    package var sent: [DatagramKind: Int] = [:]
    package var bytesReceived = 0
    package var bytesSent = 0
    package var drops: [DropReason: Int] = [:]
    package var staleClears = 0
    package var typingStartsSent = 0
    package var typingStartsReceived = 0
    package var typingStartsLimited = 0
    package var messagesSent = 0
    package var messagesReceived = 0
    package var messagesPrecededByTyping = 0
    package var messagesDelivered = 0
    package var messagesFailed = 0
    package var recordsSent = 0
    package var retransmissions = 0
    package var handshakesCompleted = 0
    package var linksMade = 0
    package var linksDown = 0
    package var linksForgotten = 0
    package var lateTimers = 0
}

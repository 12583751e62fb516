import InklingWire

/// Whether a person is reachable, by the best of all links to the person's identity.
package enum Presence: String, Sendable, Hashable {
    case online, away, offline
}

/// The reason for a change of presence.
package enum PresenceReason: String, Sendable, Hashable {
    case hello, back, away, bye, removed, will, silence, blocked, replaced, full
}

/// The reason why a message may not have been delivered.
package enum FailureReason: String, Sendable, Hashable {
    case bye, silence, will, left, blocked, replaced, quit, stalled, full
    case lostState = "lost-state"
}

/// A person in a chat. The name comes from the peer's name record and is unsafe to print.
package struct Person: Hashable, Sendable {
    package let key: PublicKey
    package let name: String

    package init(key: PublicKey, name: String) {
        self.key = key
        self.name = name
    }
}

/// The purpose of an outgoing datagram: its kind on the wire, or for a sealed one the frame that caused it.
package enum DatagramKind: String, CaseIterable, Sendable, Hashable {
    case initiation, response, retry, ask, tell
    case heartbeat, typing, record, ack, forward, ping, pong, bye
}

/// The core's requests and reports to its owner, in order.
package enum Output: Equatable, Sendable {
    /// The owner sends these bytes as one datagram.
    case send([UInt8], to: Address, DatagramKind)
    /// The new list of all people who are typing in a chat, in the order in which to name them.
    case typing(ChatID, [Person])
    /// A person's presence changed.
    case presence(ChatID, Person, Presence, PresenceReason)
    /// A complete message arrived, in order. `number` counts the messages that this node received. The owner calls
    /// ``Endpoint/messageTaken(_:)`` when its user has taken the message. With an ID, the owner first calls
    /// ``Endpoint/textsKept(_:now:)`` when text and ID are on its disk.
    case message(ChatID, from: Person, number: UInt64, text: String, id: TextID?)
    /// The person invites this user to a chat, or knocks for a talk if there is no invite (M-46, M-47).
    case invite(ChatID, from: Person, Invite?)
    /// A link with the person begins to take messages or is up again, in a chat whose texts the owner keeps. The owner
    /// now sends what is unfinished for the person (M-86), before anything else.
    case reachable(ChatID, PublicKey)
    /// No link with the person is up any more, in a chat whose texts the owner keeps. From now on the unfinished texts
    /// for the person wait: those without an outcome stay in the queues of links that may come up again.
    case unreachable(ChatID, PublicKey)
    /// The person's last link ended by a bye with the reason *left*: the person left the chat, or blocked this node's
    /// user. The outcomes of messages and the person's presence follow.
    case left(ChatID, PublicKey)
    /// The person acknowledged one of this node's messages completely.
    case delivered(message: UInt64, ChatID, PublicKey)
    /// One of this node's messages may not have reached the person.
    case failed(message: UInt64, ChatID, PublicKey, FailureReason)
    /// The owner keeps this datagram, in place of the session's previous one. A helper sends it if the node dies
    /// without a bye.
    case keepWill(session: UInt32, [UInt8], to: Address)
    /// The owner drops the session's last will, because the session has ended.
    case dropWill(session: UInt32)
    /// The owner of a chat names the chat that follows it. The owner of the endpoint joins the new chat, and leaves the
    /// old one (M-91). Each chat has one such output at most.
    case successor(ChatID, from: PublicKey, Successor)
    /// A key that is neither chosen nor removed shows in a chat that this node departed from (M-95).
    case newcomer(ChatID, PublicKey)
    /// Another device of this identity has moved a chat that this node departed from, to another chat (M-94).
    case otherSuccessor(ChatID)
    /// The address added by hand belongs to this node itself, or to another device of its identity.
    case peerIsOneself(Address)
}

/// The reason why a command did nothing.
package enum CommandError: Error, Equatable, Sendable {
    case unknownChat
    case chatExists
    case tooManyChats
    case messageEmpty
    case messageTooLong(bytes: Int)
    case queueFull(PublicKey)
    /// The person has no link in the chat that takes messages.
    case unknownPerson
}

/// The reason why the node dropped a datagram.
package enum DropReason: String, CaseIterable, Sendable, Hashable {
    case malformed, unknownChat, unknownIndex, replayed, unauthenticated, frames, notUnicast
    case ownIdentity, blocked, cookie, answerLimit, responseLimit, sourceLimit, linkLimit, peerLimit, unexpected,
        suspended, offLink
}

/// The number of events of each kind. A search among few kinds takes less than hashing.
package struct Tally<Kind: Hashable & Sendable>: Equatable, Sendable {
    private var kinds: [Kind] = []
    private var numbers: [Int] = []

    package var counts: [Kind: Int] { Dictionary(uniqueKeysWithValues: zip(kinds, numbers)) }

    mutating func count(_ kind: Kind) {
        if let place = kinds.firstIndex(of: kind) { return numbers[place] += 1 }
        kinds.append(kind)
        numbers.append(1)
    }
}

/// Counters of a node since its start.
package struct Counters: Equatable, Sendable {
    package var received = Tally<Datagram.Kind>()
    package var sent = Tally<DatagramKind>()
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
    /// The repeated first records of texts with an ID.
    package var textsRetransmitted = 0
    /// The texts that came again with an ID that the node had seen (M-83).
    package var textsRepeated = 0
    package var messagesDelivered = 0
    package var messagesFailed = 0
    package var recordsSent = 0
    package var retransmissions = 0
    /// The transmissions of successor records (M-65).
    package var successorsSent = 0
    package var handshakesCompleted = 0
    package var linksMade = 0
    package var linksDown = 0
    package var linksForgotten = 0
    package var lateTimers = 0
}

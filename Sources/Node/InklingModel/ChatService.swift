@_exported import struct InklingWire.UserID

/// A node as front ends use it: one in this process, or one that this process is attached to.
///
/// All calls happen on one event loop. Requests don't wait; answers and events reach the front end's sink in one order.
package protocol ChatService: AnyObject {
    /// The identity of the node.
    var identity: NodeIdentity { get }

    /// Delivers events and answers to this sink from now on, beginning with those that waited.
    ///
    /// The service calls the sink on the event loop, and never from within the sink. Outputs that a call of the sink
    /// causes, such as answers, come in later calls, in order.
    func attach(_ sink: @escaping (ServiceOutput) -> Void)

    /// Makes a request. Each request gets one answer, in order, before the events that the request causes. The answer
    /// may come before this function returns, unless the sink itself asks.
    func ask(_ request: ServiceRequest)

    /// Whether the front end takes events: true at first, and false while its output is blocked.
    ///
    /// Until then events wait as those of `Node.events()` do: the latest state of each person and chat, and messages.
    /// Senders wait too when too many messages do, until the front end has taken nothing for 10 s. Answers come all the
    /// same. When the value becomes true again, the waiting events come at once, within the setter unless the sink sets
    /// it. A message counts as taken after the sink was called with it.
    var takesEvents: Bool { get set }

    /// Sends bye, for this front end alone or for the whole node, before the process is stopped.
    ///
    /// - Parameter completion: Called on the event loop when each bye is sent.
    func suspend(_ completion: @escaping () -> Void)

    /// Resumes after ``suspend(_:)``.
    func resume()

    /// Stops the node, which says goodbye to its peers and closes its sockets. An attached front end detaches, and its
    /// node stays. The sink gets the outcomes of messages, and ``ServiceOutput/ended(_:)`` last.
    ///
    /// - Parameter completion: Called on the event loop when everything is closed.
    func stop(_ completion: @escaping () -> Void)
}

/// The identity of a node, and its port.
package struct NodeIdentity: Hashable, Sendable {
    package var user: UserID
    /// The static public key.
    package var key: PublicKey
    /// The display name, in NFC.
    package var name: String
    /// The UDP port.
    package var port: UInt16
    /// Whether the identity ends with the node.
    package var isTemporary: Bool

    package init(user: UserID, key: PublicKey, name: String, port: UInt16, isTemporary: Bool) {
        self.user = user
        self.key = key
        self.name = name
        self.port = port
        self.isTemporary = isTemporary
    }
}

/// A request of a front end. Requests about a chat that the node is not in fail with ``NodeError/unknownChat(_:)``.
package enum ServiceRequest: Hashable, Sendable {
    /// Joins a chat for as long as the front end is there. Without a secret, the name alone selects a chat that the
    /// node is in, secret or not. Answered by ``ServiceAnswer/joined(_:_:)``. The user has to confirm a name that could
    /// mean another chat.
    case join(Chat, isConfirmed: Bool = false)
    /// Joins a chat until a user leaves it, over restarts of the node too. A front end may keep a chat that it is in
    /// already. A node that ends with its front end keeps no chat, and refuses.
    case keep(Chat, isConfirmed: Bool = false)
    /// Leaves a chat and keeps it no longer. The node stays in the chat for other front ends in it.
    case leave(chat: String)
    /// Opens this chat, the only one that the user now looks at. The previous chat's input field is empty. Waiting
    /// messages follow the answer, as ``ServiceOutput/waited(_:)``.
    case open(chat: String)
    /// Marks a chat's waiting messages that this front end received as seen by the user.
    case read(chat: String)
    /// Reports the new text of a chat's input field.
    case compose(String, chat: String)
    /// Reports that the user edited a message whose text the node does not get.
    case startTyping(chat: String)
    /// Reports that the user emptied or gave up a message.
    case stopTyping(chat: String)
    /// Sends a message. Answered by ``ServiceAnswer/sent(message:recipients:)``.
    case send(String, chat: String)
    case setAway(Bool)
    /// Changes the user's name.
    case rename(String)
    /// Stores whether the user compared fingerprints.
    case setVerified(Bool, key: PublicKey)
    /// Blocks a person permanently, or unblocks the person.
    case setBlocked(Bool, key: PublicKey)
    /// Blocks all keys with a user ID until the node ends.
    case block(UserID)
    case unblock(UserID)
    /// Answered by ``ServiceAnswer/peers(_:)``.
    case peers(chat: String)
    /// Measures the round trips to all peers of a chat again. ``peers(chat:)`` has the results a moment later.
    case measureRoundTrips(chat: String)
    /// Lists all known people. Answered by ``ServiceAnswer/knownPeers(_:)``.
    case knownPeers
    /// Answered by ``ServiceAnswer/knownPeers(_:)``.
    case blockedPeople
    /// Returns the digits that this user and the owner of a key compare. Answered by ``ServiceAnswer/fingerprint(_:)``.
    case fingerprint(key: PublicKey)
    /// Returns the invite for people who should join a chat. Answered by ``ServiceAnswer/invite(_:)``.
    case invite(chat: String)
    /// Lists the instances that discovery has found in a chat. Answered by ``ServiceAnswer/sightings(instance:_:)``.
    case sightings(chat: String)
    /// Selects the events that the front end gets from now on; before, these are the events of its own chats. The
    /// present state of newly selected chats and kinds follows the answer.
    case subscribe(Subscription)
    /// Answered by ``ServiceAnswer/chats(_:)``.
    case chats
    /// Answered by ``ServiceAnswer/status(_:)``.
    case status
    /// Answered by ``ServiceAnswer/statistics(_:)``.
    case statistics
    /// Ends the node, for all front ends.
    case shutDown
}

/// The answer to a request.
package enum ServiceAnswer: Hashable, Sendable {
    case done
    case failed(NodeError)
    /// The chat as the node has it, and those who are there and those who were met there before, by name.
    case joined(Chat, [Peer])
    /// The message has that number, and goes to so many people.
    case sent(message: MessageID, recipients: Int)
    /// By name; those who are offline with when they were last seen.
    case peers([Peer])
    /// The latest seen first.
    case knownPeers([KnownPeer])
    /// Groups of digits.
    case fingerprint([String])
    /// Nil for a chat without a secret.
    case invite(String?)
    /// The own instance's name, nil without discovery; and all who are announced.
    case sightings(instance: String?, [Sighting])
    /// Those that the node is in, in the order in which it joined them.
    case chats([ChatStatus])
    case status(NodeStatus)
    case statistics(Statistics)
}

/// A message that another front end of the node sent.
package struct OwnMessage: Hashable, Sendable {
    /// When it was sent.
    package var at: Timestamp
    package var chat: String
    /// The number among the messages that the node sent.
    package var message: MessageID
    package var text: String

    package init(at: Timestamp, chat: String, message: MessageID, text: String) {
        self.at = at
        self.chat = chat
        self.message = message
        self.text = text
    }
}

/// The state of the user that the front ends of one node share.
package struct UserState: Hashable, Sendable {
    /// When the state last changed.
    package var at: Timestamp
    /// The display name, in NFC.
    package var name: String
    /// Whether the user is away, set by any front end.
    package var isAway: Bool

    package init(at: Timestamp, name: String, isAway: Bool) {
        self.at = at
        self.name = name
        self.isAway = isAway
    }
}

/// An output of a node to a front end.
package enum ServiceOutput: Hashable, Sendable {
    case event(TimedEvent)
    /// A message that came while no front end had its chat open, or how many of these were lost.
    case waited(TimedEvent)
    case own(OwnMessage)
    /// The user's name or the away state has changed, through any front end.
    case user(UserState)
    case answer(ServiceAnswer, to: ServiceRequest)
    /// The last output.
    case ended(ServiceEnd)
}

/// Why a node has no more outputs.
package enum ServiceEnd: Hashable, Sendable {
    /// The node ended, or the front end wanted to go.
    case stopped
    /// The front end took nothing of what happened for too long, and the node gave it up.
    case tooSlow
    /// The connection to the node that it was attached to has ended.
    case lost
    /// The node that it is attached to has not answered for too long.
    case silent
}

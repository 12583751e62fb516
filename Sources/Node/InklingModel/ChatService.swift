@_exported import struct InklingWire.UserID

/// A node as front ends use it: one in this process, or one that this process is attached to.
///
/// All of it happens on one event loop. Requests don't wait; what comes of them goes to the front end's sink, together
/// with all that happens, in one order.
package protocol ChatService: AnyObject {
    /// Who the node is.
    var identity: NodeIdentity { get }

    /// From now on what happens, and what comes of requests, goes to this sink; first of all what waited for it.
    ///
    /// The sink is called on the event loop, and never from within itself: what happens in a call of it, such as the
    /// answer to what it asks for, comes in a call of its own, in the order in which it happened.
    func attach(_ sink: @escaping (ServiceOutput) -> Void)

    /// Asks for something. The answer comes to the sink: one for each request, in their order, and before all that the
    /// request leads to. It may come before this returns, unless it is the sink that asks.
    func ask(_ request: ServiceRequest)

    /// Whether the front end takes events: true from the beginning on, and false while its output is blocked.
    ///
    /// While it takes none, they wait for it as those of `Node.events()` do: the latest state of each person and chat,
    /// and messages, whose senders wait as well when there are too many of them, until nothing was taken for 10 s.
    /// Answers come all the same. What waited comes as soon as this is true again, within the call if the sink is not
    /// what calls. A message counts as taken once the sink was called with it.
    var takesEvents: Bool { get set }

    /// Says bye, for this front end alone or for the whole node, before the process is stopped.
    ///
    /// - Parameter completion: Called on the event loop when all is said.
    func suspend(_ completion: @escaping () -> Void)

    /// Goes on after ``suspend(_:)``.
    func resume()

    /// Ends it: a node says goodbye to everybody and closes everything, an attached front end goes and the node stays.
    /// The sink is told what that does to messages, and at last ``ServiceOutput/ended(_:)``.
    ///
    /// - Parameter completion: Called on the event loop when everything is closed.
    func stop(_ completion: @escaping () -> Void)
}

/// Who a node is, and where it can be reached.
package struct NodeIdentity: Hashable, Sendable {
    package var user: UserID
    /// The static public key in base64url, 43 characters.
    package var key: String
    /// The display name, in NFC.
    package var name: String
    /// The UDP port.
    package var port: UInt16
    /// Whether the identity ends with the node.
    package var isTemporary: Bool

    package init(user: UserID, key: String, name: String, port: UInt16, isTemporary: Bool) {
        self.user = user
        self.key = key
        self.name = name
        self.port = port
        self.isTemporary = isTemporary
    }
}

/// What a front end asks a node for. All about a chat fails with ``NodeError/unknownChat(_:)`` where the node is not in it.
package enum ServiceRequest: Hashable, Sendable {
    /// To be in a chat for as long as the front end is there. Without a secret, a chat of that name that the node is in is
    /// meant, secret or not. Answered by ``ServiceAnswer/joined(_:_:)``. A name that could mean another chat has to be
    /// confirmed by the user.
    case join(Chat, isConfirmed: Bool = false)
    /// The same, until somebody leaves the chat, over restarts of the node too; also where the front end is in it already.
    /// A node that ends with its front end keeps no chat, and refuses.
    case keep(Chat, isConfirmed: Bool = false)
    /// To be in a chat no longer, nor to keep it. The node stays in it for other front ends that are in it.
    case leave(chat: String)
    /// The user looks at this chat from now on, and at no other: the input field of the one before is empty. What waited
    /// for somebody to look follows the answer, as ``ServiceOutput/waited(_:)``.
    case open(chat: String)
    /// The user has seen what this front end was told of those messages of a chat that waited.
    case read(chat: String)
    /// The input field of a chat holds another text.
    case compose(String, chat: String)
    /// The user edited a message that the node is not shown.
    case startTyping(chat: String)
    /// The user emptied or gave up a message.
    case stopTyping(chat: String)
    /// To send a message. Answered by ``ServiceAnswer/sent(message:recipients:)``.
    case send(String, chat: String)
    case setAway(Bool)
    /// To be called something else from now on.
    case rename(String)
    /// To remember, permanently, whether fingerprints were compared.
    case setVerified(Bool, key: String)
    /// To block somebody permanently, or no longer.
    case setBlocked(Bool, key: String)
    /// To block all keys with a user ID until the node ends.
    case block(UserID)
    case unblock(UserID)
    /// Answered by ``ServiceAnswer/peers(_:)``.
    case peers(chat: String)
    /// To measure the round trips to all peers of a chat again, which ``peers(chat:)`` has a moment later.
    case measureRoundTrips(chat: String)
    /// All who are known. Answered by ``ServiceAnswer/knownPeers(_:)``.
    case knownPeers
    /// Answered by ``ServiceAnswer/knownPeers(_:)``.
    case blockedPeople
    /// What this user and the owner of a key compare. Answered by ``ServiceAnswer/fingerprint(_:)``.
    case fingerprint(key: String)
    /// What to give to people who should join a chat. Answered by ``ServiceAnswer/invite(_:)``.
    case invite(chat: String)
    /// What discovery has found in a chat. Answered by ``ServiceAnswer/sightings(instance:_:)``.
    case sightings(chat: String)
    /// Which events the front end gets from now on, in place of those of all the chats that it is in. Of what it did not
    /// get before, the present state follows the answer.
    case subscribe(Subscription)
    /// Answered by ``ServiceAnswer/chats(_:)``.
    case chats
    /// Answered by ``ServiceAnswer/status(_:)``.
    case status
    /// Answered by ``ServiceAnswer/statistics(_:)``.
    case statistics
    /// To end the node, for all front ends.
    case shutDown
}

/// What came of a request.
package enum ServiceAnswer: Hashable, Sendable {
    case done
    case failed(NodeError)
    /// The chat as the node has it, and those who are there and those who were met there before, by name.
    case joined(Chat, [Peer])
    /// The message has that number, and goes to so many people.
    case sent(message: UInt64, recipients: Int)
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
    /// When it was sent, in seconds since 1970.
    package var at: Double
    package var chat: String
    /// The number among the messages that the node sent.
    package var message: UInt64
    package var text: String

    package init(at: Double, chat: String, message: UInt64, text: String) {
        self.at = at
        self.chat = chat
        self.message = message
        self.text = text
    }
}

/// What front ends of one node have in common of its user.
package struct UserState: Hashable, Sendable {
    /// When it came to be so, in seconds since 1970.
    package var at: Double
    /// The display name, in NFC.
    package var name: String
    /// Whether the user said that they are away, by whatever front end.
    package var isAway: Bool

    package init(at: Double, name: String, isAway: Bool) {
        self.at = at
        self.name = name
        self.isAway = isAway
    }
}

/// What a node tells a front end.
package enum ServiceOutput: Hashable, Sendable {
    case event(TimedEvent)
    /// A message that came while no front end had its chat open, or how many of these were lost.
    case waited(TimedEvent)
    case own(OwnMessage)
    /// The name of the user has changed, or whether they are away, by whatever front end.
    case user(UserState)
    case answer(ServiceAnswer, to: ServiceRequest)
    /// Nothing more comes.
    case ended(ServiceEnd)
}

/// Why nothing more comes from a node.
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

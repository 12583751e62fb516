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

/// What a front end asks a node for.
package enum ServiceRequest: Hashable, Sendable {
    /// To join a chat. Answered by ``ServiceAnswer/peers(_:)``: those who were met there before.
    case join(Chat)
    case leave(chat: String)
    /// The input field of a chat holds another text.
    case compose(String, chat: String)
    /// To send a message. Answered by ``ServiceAnswer/sent(message:recipients:)``.
    case send(String, chat: String)
    case setAway(Bool)
    /// To be called something else from now on.
    case rename(String)
    /// To remember, permanently, whether fingerprints were compared.
    case setVerified(Bool, key: String)
    /// To block somebody permanently, or no longer.
    case setBlocked(Bool, key: String)
    /// Answered by ``ServiceAnswer/peers(_:)``.
    case peers(chat: String)
    /// Answered by ``ServiceAnswer/knownPeers(_:)``.
    case blockedPeople
    /// What this user and the owner of a key compare. Answered by ``ServiceAnswer/fingerprint(_:)``.
    case fingerprint(key: String)
}

/// What came of a request.
package enum ServiceAnswer: Hashable, Sendable {
    case done
    case failed(NodeError)
    /// The message has that number, and goes to so many people.
    case sent(message: UInt64, recipients: Int)
    /// By name; those who are offline with when they were last seen.
    case peers([Peer])
    /// The latest seen first.
    case knownPeers([KnownPeer])
    /// Groups of digits.
    case fingerprint([String])
}

/// What a node tells a front end.
package enum ServiceOutput: Hashable, Sendable {
    case event(TimedEvent)
    case answer(ServiceAnswer, to: ServiceRequest)
    /// Nothing more comes.
    case ended
}

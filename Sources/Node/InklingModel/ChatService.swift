@_exported import struct InklingWire.UserID

/// A node as front ends use it. The node runs in this process, or in a daemon to which this process is attached.
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

    /// The ID of the next request. A front end that awaits the answer records this ID before it asks, because the answer
    /// may come before ``ask(_:)`` returns.
    var nextRequestID: RequestID { get }

    /// Makes a request, and returns its ID. Each request gets one answer, in order, before the events that the request
    /// causes. A request after the end gets none. While the sink runs, no answer comes before this function returns.
    @discardableResult
    func ask(_ request: ServiceRequest) -> RequestID

    /// Makes a request whose success needs no answer. Only an edit of a draft can be done without an answer.
    ///
    /// - Returns: Whether no answer comes. Otherwise the answer comes as after ``ask(_:)``.
    func report(_ request: ServiceRequest) -> Bool

    /// Whether the front end takes events: true at first, and false while its output is blocked.
    ///
    /// While this is false, events wait as those of `Node.events()` do: the latest state of each person and chat, and
    /// messages. When too many messages wait, their senders wait too, until the front end has taken nothing for 10 s.
    /// Answers come without a wait. When the value becomes true again, the waiting events come at once, within the
    /// setter unless the sink sets it. A message counts as taken after the sink was called with it.
    var takesEvents: Bool { get set }

    /// Sends bye before the process is stopped, for this front end alone or for the whole node.
    ///
    /// - Parameter completion: Called on the event loop when each bye is sent.
    func suspend(_ completion: @escaping () -> Void)

    /// Ends the suspension that ``suspend(_:)`` began.
    func resume()

    /// Stops the node, which says goodbye to its peers and closes its sockets. An attached front end detaches, and its
    /// node stays. The sink gets the outcomes of messages, and ``ServiceOutput/ended(_:)`` last.
    ///
    /// - Parameter completion: Called on the event loop when everything is closed.
    func stop(_ completion: @escaping () -> Void)
}

extension ChatService {
    package func report(_ request: ServiceRequest) -> Bool {
        ask(request)
        return false
    }
}

/// A node as the service of its front ends calls it, on the node's event loop.
package protocol ServiceNode: AnyObject {
    /// The identity of the node.
    var identity: NodeIdentity { get }

    /// Passes all events to a sink from now on. The node is in no chat yet.
    func attach(_ sink: any EventSink)

    /// Performs a request. The answer comes before the events that the request causes.
    ///
    /// - Parameter completion: Called once with the answer: at once, or on the event loop after a wait for the disk.
    func perform(_ request: ServiceRequest, _ completion: @escaping (ServiceAnswer) -> Void)

    /// Returns the people who type in a chat.
    func typists(in chat: String) -> [Person]

    /// Performs an edit of a draft.
    ///
    /// - Returns: Whether the edit succeeded.
    @discardableResult
    func edit(_ request: ServiceRequest) -> Bool

    /// Asks the sink for settled messages soon, outside of its calls.
    func settle()

    /// As ``ChatService/suspend(_:)``, for the whole node.
    func suspend(_ completion: @escaping () -> Void)

    /// Ends the suspension.
    func resume()

    /// As ``ChatService/stop(_:)``, for the node. The sink gets the end before `completion` is called.
    func stop(_ completion: @escaping () -> Void)
}

/// The taker of a node's events, on the node's event loop.
package protocol EventSink: AnyObject {
    /// Takes an event. The node calls this between its steps. The sink makes no request meanwhile.
    func take(_ timed: TimedEvent)

    /// The node has no more events for now. The sink may make requests, whose events come within their calls.
    func flush()

    /// Returns the messages that no reader has to take any more, since the last call (M-20).
    func takeSettled() -> [MessageID]

    /// Whether messages wait for a reader, so that the node has to watch the reader.
    var isWatched: Bool { get }

    /// Checks for readers that take nothing. After `patience` checks in a row, no messages wait for such a reader.
    func look(patience: Int)

    /// The node has ended. No event follows.
    func end()
}

/// The number of a request among those of one service, from 1 and in order.
package struct RequestID: Hashable, Comparable, Sendable {
    package private(set) var number: UInt64 = 1

    /// The ID of the first request.
    package init() {}

    /// Advances to the ID of the next request.
    ///
    /// - Returns: The ID before.
    package mutating func advance() -> RequestID {
        defer { number += 1 }
        return self
    }

    package static func < (left: RequestID, right: RequestID) -> Bool { left.number < right.number }
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
    /// Joins a chat until the front end ends. Without a secret, the name alone selects a chat that the node is in,
    /// secret or not. Answered by ``ServiceAnswer/joined(_:_:)``. The user has to confirm a name that could mean
    /// another chat.
    ///
    /// A kept chat lasts until a user leaves it, even if the node restarts. A front end may keep a chat that it is in
    /// already. A node that ends with its front end keeps no chat, and refuses.
    case join(Chat, isKept: Bool = false, isConfirmed: Bool = false)
    /// Joins the talk with the owner of a key, or the chat of an open invitation. The answer, and what else happens, is
    /// that of ``join(_:isKept:isConfirmed:)``.
    case enter(ChatSource, name: String?, isKept: Bool = false, isConfirmed: Bool = false)
    /// Asks the owner of a key to join the talk with this user, if they are there and not in the talk.
    case knock(key: PublicKey)
    /// Lists the open invitations. Answered by ``ServiceAnswer/invitations(_:)``.
    case invitations
    case decline(invitation: Int)
    /// Moves a private chat, which the user owns, to a new secret. The keys follow; the removed keys, oldest first,
    /// are refused in the new chat. Answered by ``ServiceAnswer/moved(_:)`` when the new chat is stored.
    ///
    /// The new owner is one of `keys`; nil for the user.
    case move(chat: String, keys: [PublicKey], removed: [PublicKey] = [], owner: PublicKey? = nil)
    /// Lets a further key follow a chat that this node has moved.
    case admit(chat: String, key: PublicKey)
    /// Leaves a chat and keeps it no longer. The node stays in the chat for other front ends in it.
    case leave(chat: String)
    /// Opens a chat, the only one that the user now looks at; nil for none. The previous chat's input field counts as
    /// empty. Unread messages follow the answer, as ``ServiceOutput/unread(_:)``.
    case open(chat: String?)
    /// Marks a chat's unread messages that this front end received as read by the user.
    case read(chat: String)
    /// Lists the last messages of a chat, or those before an entry or with a text. Answered by
    /// ``ServiceAnswer/messages(_:)``. A driven node holds none.
    case messages(chat: String, before: UInt64? = nil, text: String? = nil, count: Int? = nil)
    /// Begins or ends the history of a private chat. The end removes the kept messages. A driven node keeps none.
    case history(Bool, chat: String)
    /// Lets texts to a chat wait for members who are offline, or gives up all that wait. A driven node keeps none.
    case hold(Bool, chat: String)
    /// Lists the texts that wait, of a chat or of all. Answered by ``ServiceAnswer/waitingTexts(_:)``.
    case waitingTexts(chat: String?)
    /// Gives up the waiting text with a number, those of a chat, or all.
    case forget(chat: String?, entry: UInt64?)
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
    /// Blocks the owner of a key permanently, or all keys with a user ID until the node ends; or unblocks them.
    case setBlocked(Bool, BlockTarget)
    /// Lists the people of a chat; none without a chat. Answered by ``ServiceAnswer/peers(_:)``.
    case peers(chat: String?)
    /// Measures the round trips to all peers of a chat again. ``peers(chat:)`` has the results a moment later.
    case measureRoundTrips(chat: String)
    /// Lists all known people, or the blocked ones. Answered by ``ServiceAnswer/knownPeers(_:)``.
    case knownPeers(areBlocked: Bool = false)
    /// Returns the digits that this user and the owner of a key compare. Answered by ``ServiceAnswer/fingerprint(_:)``.
    case fingerprint(key: PublicKey)
    /// Returns the invite for people who should join a chat, answered by ``ServiceAnswer/invite(_:)``. With a key, sends
    /// the invite to its owner, answered by ``ServiceAnswer/invited(message:via:)``.
    case invite(chat: String, key: PublicKey? = nil)
    /// Lists the instances that discovery has found in a chat. Answered by ``ServiceAnswer/sightings(instance:_:)``.
    case sightings(chat: String)
    /// Selects the events that the front end gets from now on. Before the first selection, it gets the events of its
    /// own chats. The present state of newly selected chats and kinds follows the answer.
    case subscribe(Subscription)
    /// Lists the chats of the node. Answered by ``ServiceAnswer/chats(_:)``.
    case chats
    /// Asks for the state of the node. Answered by ``ServiceAnswer/status(_:)``.
    case status
    /// Asks who the node is. Answered by ``ServiceAnswer/identity(_:)``.
    case identity
    /// Asks for the node's counters. Answered by ``ServiceAnswer/statistics(_:)``.
    case statistics
    /// Ends the front end.
    case quit
    /// Ends the node, for all front ends.
    case shutDown
}

/// The people whom a user blocks or unblocks.
package enum BlockTarget: Hashable, Sendable {
    case key(PublicKey)
    case user(UserID)
}

/// The origin of a chat that a front end joins without its secret.
package enum ChatSource: Hashable, Sendable {
    /// The talk with the owner of the key (W-41).
    case talk(PublicKey)
    /// The chat of the open invitation with this number.
    case invitation(Int)
}

extension ServiceRequest {
    /// Whether the request reports an edit of a draft. Such a request either is done at once, or fails without effect.
    package var isEdit: Bool {
        switch self {
        case .compose, .startTyping, .stopTyping: true
        default: false
        }
    }
}

/// The answer to a request.
package enum ServiceAnswer: Hashable, Sendable {
    case done
    case failed(NodeError)
    /// The chat as the node has it, and its people by name: those who are there, and those met there before.
    case joined(Chat, [Peer])
    /// The message has that number, and goes to so many people.
    case sent(message: MessageID, recipients: Int)
    /// The invite has that number among the messages, and goes over the links of the chat `via`.
    case invited(message: MessageID, via: String)
    /// The new chat, under the name of the old one.
    case moved(Chat)
    /// The open invitations, the oldest first.
    case invitations([Invitation])
    /// By name; those who are offline with when they were last seen.
    case peers([Peer])
    /// The known people, the latest seen first.
    case knownPeers([KnownPeer])
    /// The digits of a fingerprint, in groups.
    case fingerprint([String])
    /// The texts that wait for people who are offline, the oldest first.
    case waitingTexts([WaitingEntry])
    /// Messages of a chat, in their order.
    case messages([RecentMessage])
    /// The invite; nil for a chat without a secret.
    case invite(String?)
    /// The node's own instance, nil without discovery, and all announced instances of the chat.
    case sightings(instance: String?, [Sighting])
    /// The chats that the node is in, in the order in which it joined them.
    case chats([ChatStatus])
    case status(NodeStatus)
    case identity(NodeIdentity)
    case statistics(Statistics)
}

/// A message that another front end of the node sent.
package struct OwnMessage: Hashable, Sendable {
    /// When it was sent.
    package var at: Timestamp
    package var chat: String
    /// The number among the messages that the node sent.
    package var message: MessageID
    /// The number of people to whom the message goes.
    package var recipients: Int
    package var text: String

    package init(at: Timestamp, chat: String, message: MessageID, recipients: Int, text: String) {
        self.at = at
        self.chat = chat
        self.message = message
        self.recipients = recipients
        self.text = text
    }
}

/// The state of the user that the front ends of one node share.
package struct UserState: Hashable, Sendable {
    /// When the state last changed.
    package var at: Timestamp
    /// The display name, in NFC.
    package var name: String
    /// Whether the user is away. Any front end can set this.
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
    /// A message that arrived while no front end had its chat open, or the number of such messages that were lost.
    case unread(TimedEvent)
    indirect case own(OwnMessage)
    /// The user's name or away state has changed, through any front end.
    indirect case user(UserState)
    indirect case answer(ServiceAnswer, to: RequestID)
    /// The last output.
    case ended(ServiceEnd)
}

/// The reason why a node has no more outputs.
package enum ServiceEnd: Hashable, Sendable {
    /// The node ended, or this front end detached.
    case stopped
    /// The front end took no events for too long, so the node cut it off.
    case tooSlow
    /// The connection to the daemon has ended.
    case lost
    /// The daemon has not answered for too long.
    case silent
}

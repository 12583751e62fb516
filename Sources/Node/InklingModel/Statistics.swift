/// Counters of a node since its start.
public struct Statistics: Codable, Sendable, Hashable {
    /// Datagrams received, by kind.
    public var datagramsReceived: [ReceivedKind: Int] = [:]
    /// Datagrams sent, by kind. Sealed ones are counted by their content.
    public var datagramsSent: [SentKind: Int] = [:]
    /// Bytes of UDP payload received.
    public var bytesReceived: Int = 0
    /// Bytes of UDP payload sent.
    public var bytesSent: Int = 0
    /// Dropped datagrams, by reason.
    public var drops: [Drop: Int] = [:]
    /// Errors of the socket when the node sent, by the system's name for them, such as `ENETUNREACH`.
    public var sendErrors: [String: Int] = [:]
    /// Typing that ended because no status had confirmed it for 3 s (T-15).
    public var staleClears: Int = 0
    /// Records that were sent again (M-11, M-12). Messages consist of records.
    public var retransmissions: Int = 0
    /// Starts of typing that this node announced.
    public var typingStartsSent: Int = 0
    /// Starts of typing that peers announced.
    public var typingStartsReceived: Int = 0
    /// Starts of typing that followed too fast and were dropped (T-16).
    public var typingStartsLimited: Int = 0
    /// Messages that programs asked this node to send.
    public var messagesSent: Int = 0
    /// Messages that arrived completely.
    public var messagesReceived: Int = 0
    /// The share of received messages before which the author was shown as typing, 0 to 1; 0 before the first message.
    public var indicatedShare: Double = 0
    /// Pairs of a message and a recipient who acknowledged it completely.
    public var messagesDelivered: Int = 0
    /// Pairs of a message and a recipient for whom it failed.
    public var messagesFailed: Int = 0
    /// Handshakes that either side completed.
    public var handshakesCompleted: Int = 0
    /// Links that the node has made.
    public var linksMade: Int = 0
    /// The number of times a link went down because the peer fell silent.
    public var linksLostToSilence: Int = 0
    /// The number of times this node's own timer was more than 500 ms late (L-30). The process or the machine was then
    /// stopped or too busy.
    public var lateTimers: Int = 0
    /// The links that are up now.
    public var links: Int = 0
    /// The lowest smoothed round trip of a peer, in milliseconds; nil if none was measured.
    public var roundTripMinimum: Double?
    /// The highest smoothed round trip of a peer, in milliseconds; nil if none was measured.
    public var roundTripMaximum: Double?

    /// Counters of zero.
    package init() {}
}

extension Statistics {
    /// The kind of a received datagram on the wire (W-13).
    public enum ReceivedKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// The first datagram of a handshake.
        case initiation
        /// The answer to an initiation.
        case response
        /// All datagrams of a session: statuses, messages and acknowledgements.
        case sealed
        /// A cookie from a node under load, in place of an answer.
        case retry
        /// The question for the static key of the node at an address.
        case ask
        /// The answer to an ask.
        case tell
    }

    /// The purpose of a sent datagram: its kind on the wire, and for a sealed one the frame that caused it.
    public enum SentKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// The first datagram of a handshake.
        case initiation
        /// The answer to an initiation.
        case response
        /// A cookie from this node under load, in place of an answer.
        case retry
        /// The question for the static key of the node at an address.
        case ask
        /// The answer to an ask.
        case tell
        /// The user's status, sent at regular times.
        case heartbeat
        /// A start or a stop of typing, or a copy of one.
        case typing
        /// A record: the name, a message, or a part of a message.
        case record
        /// The acknowledgement of the peer's records.
        case ack
        /// The announcement that this node will not repeat failed records.
        case forward
        /// The question whether a peer is still there, or reachable at a new address.
        case ping
        /// The answer to a ping.
        case pong
        /// A bye, or a copy of one.
        case bye
    }

    /// The reason why the node dropped a datagram.
    public enum Drop: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// The datagram does not have the form of this version of the protocol (W-12 to W-14).
        case malformed
        /// The datagram is for a chat that this node is not in (L-8).
        case unknownChat
        /// The datagram is for a session or handshake that this node does not hold (W-15).
        case unknownIndex
        /// The datagram's counter was used before, or is too old to tell (W-22).
        case replayed
        /// The datagram was altered, or made without the key (W-23).
        case unauthenticated
        /// The datagram is authentic, but its frames are not well-formed (W-24).
        case frames
        /// The datagram's source is not a unicast address.
        case notUnicast
        /// The datagram came from a node of the same identity (D-7).
        case ownIdentity
        /// The datagram came from a person whom this user has blocked (L-36).
        case blocked
        /// The datagram's cookie is not from this node, or is too old (L-11).
        case cookie
        /// The node has answered as many initiations as the limit permits (L-10).
        case answerLimit
        /// The node has opened as many responses to the handshake as the limit permits (L-49).
        case responseLimit
        /// The source has sent more initiations than the limit permits (L-97).
        case sourceLimit
        /// The node has the maximum number of links, and evicts none for this one (L-39, L-52, L-53).
        case linkLimit
        /// The link has received more datagrams than the limit permits (L-25).
        case peerLimit
        /// The datagram does not fit the state of its handshake or link.
        case unexpected
        /// The node is suspended.
        case suspended
        /// The datagram is an ask or an initiation from beyond the networks of this host (D-16).
        case offLink
        /// The datagram arrived over an interface that the node does not use (D-15).
        case interface
    }
}

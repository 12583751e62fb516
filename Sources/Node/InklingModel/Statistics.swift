/// Counters of a node since its start.
public struct Statistics: Codable, Sendable, Hashable {
    /// Datagrams received, by kind.
    public var datagramsReceived: [ReceivedKind: Int] = [:]
    /// Datagrams sent, by kind; sealed ones by what they carried.
    public var datagramsSent: [SentKind: Int] = [:]
    /// Bytes of UDP payload received.
    public var bytesReceived: Int = 0
    /// Bytes of UDP payload sent.
    public var bytesSent: Int = 0
    /// Datagrams that were dropped, by reason.
    public var drops: [Drop: Int] = [:]
    /// Errors of the socket when it sent, by the system's name for them, such as `ENETUNREACH`.
    public var sendErrors: [String: Int] = [:]
    /// Typing states that ended because no status said so any more for 3 s (T-15).
    public var staleClears: Int = 0
    /// Records, of which messages are made, that were sent again (M-11, M-12).
    public var retransmissions: Int = 0
    /// Starts of typing that were announced.
    public var typingStartsSent: Int = 0
    /// Starts of typing that peers announced.
    public var typingStartsReceived: Int = 0
    /// Starts of typing that came too fast and were dropped (T-16).
    public var typingStartsLimited: Int = 0
    /// Messages that this node was asked to send.
    public var messagesSent: Int = 0
    /// Messages that came whole.
    public var messagesReceived: Int = 0
    /// The share of the messages received that an indicator preceded, 0 to 1; 0 before the first.
    public var indicatedShare: Double = 0
    /// Pairs of message and person that were acknowledged whole.
    public var messagesDelivered: Int = 0
    /// Pairs of message and person that failed.
    public var messagesFailed: Int = 0
    /// Handshakes that were completed, by either side.
    public var handshakesCompleted: Int = 0
    /// Links that were made.
    public var linksMade: Int = 0
    /// How often a link went down because the peer fell silent.
    public var linksLostToSilence: Int = 0
    /// How often this node's own timer was more than 500 ms late (L-30): the process or the machine was stopped, or too
    /// busy.
    public var lateTimers: Int = 0
    /// The links that are up now.
    public var links: Int = 0
    /// The lowest smoothed round trip of a peer, in milliseconds; nil if none was measured.
    public var roundTripMinimum: Double?
    /// The highest smoothed round trip of a peer, in milliseconds; nil if none was measured.
    public var roundTripMaximum: Double?

    /// Nothing was counted.
    package init() {}
}

extension Statistics {
    /// The kind of a received datagram on the wire (W-13).
    public enum ReceivedKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// The first datagram of a handshake.
        case initiation
        /// The answer to an initiation.
        case response
        /// All that is sent once there is a session: statuses, messages and acknowledgements.
        case sealed
        /// A cookie in place of an answer, by a node under load.
        case retry
        /// The question for the key of the node at an address.
        case ask
        /// The answer to an ask.
        case tell
    }

    /// The purpose of a sent datagram: its kind on the wire, and the frame that a sealed one was made for.
    public enum SentKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// The first datagram of a handshake.
        case initiation
        /// The answer to an initiation.
        case response
        /// A cookie in place of an answer, under load.
        case retry
        /// The question for the key of the node at an address.
        case ask
        /// The answer to an ask.
        case tell
        /// The status at regular times.
        case heartbeat
        /// A start or a stop of typing, and its copies.
        case typing
        /// A record: the name, or a message or a part of one.
        case record
        /// The acknowledgement of the peer's records.
        case ack
        /// The announcement that failed records will not come.
        case forward
        /// The question whether a peer is still there, or at a new address.
        case ping
        /// The answer to a ping.
        case pong
        /// A farewell, and its copies.
        case bye
    }

    /// Why a datagram was dropped.
    public enum Drop: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// Not a datagram of this version of the protocol (W-12 to W-14).
        case malformed
        /// For a chat that this node is not in (L-8).
        case unknownChat
        /// For a session or handshake that this node does not hold (W-15).
        case unknownIndex
        /// The counter came before, or is too old to tell (W-22).
        case replayed
        /// Altered, or made without the key (W-23).
        case unauthenticated
        /// Authentic, with frames that are not well-formed (W-24).
        case frames
        /// Its source is not a unicast address.
        case notUnicast
        /// From a node of the same identity (D-7).
        case ownIdentity
        /// From a person whom this user has blocked (L-36).
        case blocked
        /// Its cookie is not one of this node, or is too old (L-11).
        case cookie
        /// More initiations were answered lately than may be (L-10).
        case answerLimit
        /// More responses to its handshake came than are opened (L-49).
        case responseLimit
        /// More initiations came from its source lately than may (L-97).
        case sourceLimit
        /// The node has as many links as it may, and evicts none for this one (L-39, L-52, L-53).
        case linkLimit
        /// More came on its link lately than may (L-25).
        case peerLimit
        /// Unexpected in the state of its handshake or link.
        case unexpected
        /// The node is suspended.
        case suspended
        /// A question or an opening from beyond the networks of this host (D-16).
        case offLink
        /// Received over an interface that the node does not use (D-15).
        case interface
    }
}

/// Counters of a node since its start (R28).
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
    /// Errors of the socket, by the system's name for them.
    public var sendErrors: [String: Int] = [:]
    /// Statuses that ended because no evidence came for 3 s.
    public var staleClears: Int = 0
    /// Records that were sent again.
    public var retransmissions: Int = 0
    /// Starts of typing that were announced.
    public var typingStartsSent: Int = 0
    /// Starts of typing that peers announced.
    public var typingStartsReceived: Int = 0
    /// Starts of peers that came too fast and were dropped.
    public var typingStartsLimited: Int = 0
    /// Messages that the app sent.
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
    /// Links that came up.
    public var linksMade: Int = 0
    /// Links that ended because the peer fell silent.
    public var linksLostToSilence: Int = 0
    /// How often this node's own timer was more than 500 ms late.
    public var lateTimers: Int = 0
    /// The links that are up.
    public var links: Int = 0
    /// The lowest smoothed round trip of a peer, in milliseconds.
    public var roundTripMinimum: Double?
    /// The highest smoothed round trip of a peer, in milliseconds.
    public var roundTripMaximum: Double?

    /// Nothing was counted.
    package init() {}
}

extension Statistics {
    /// What kind of datagram came, as it shows on the wire (W-13).
    public enum ReceivedKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        case initiation, response, sealed, retry, ask, tell
    }

    /// What a datagram was sent for: its kind on the wire, and of a sealed one the frame that it was made for.
    public enum SentKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        case initiation, response, retry, ask, tell, hello, heartbeat, typing, message, ack, ping, pong, bye
    }

    /// Why a datagram was dropped.
    public enum Drop: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        /// It is not a datagram of the protocol.
        case malformed
        /// It is for a chat that this node is not in.
        case unknownChat
        /// It is for a session that is not there.
        case unknownIndex
        /// It came once before.
        case replayed
        /// It was not made with the key that it claims.
        case unauthenticated
        /// What it carries is not well-formed.
        case frames
        /// Its source is not the address of one host.
        case notUnicast
        /// It is from a node of the same identity.
        case ownIdentity
        /// This user has blocked who sent it.
        case blocked
        /// Its cookie is not one of this node.
        case cookie
        /// More were answered lately than may be.
        case answerLimit
        /// More responses to its handshake came than are opened.
        case responseLimit
        /// More handshakes came from its source lately than may.
        case sourceLimit
        /// The node has as many links as it may.
        case linkLimit
        /// More came on its link lately than may.
        case peerLimit
        /// It does not fit the state of its handshake or link.
        case unexpected
        /// The node is suspended.
        case suspended
        /// It asks or opens from beyond the networks of this host.
        case offLink
        /// It arrived over an interface that is not used.
        case interface
    }
}

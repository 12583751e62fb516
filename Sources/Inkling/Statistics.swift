import InklingCore
import InklingWire

/// Counters of a node since its start (R28).
public struct Statistics: Codable, Sendable, Equatable {
    /// Datagrams received, by kind.
    public var datagramsReceived: [ReceivedKind: Int]
    /// Datagrams sent, by kind; sealed ones by what they carried.
    public var datagramsSent: [SentKind: Int]
    /// Bytes of UDP payload received.
    public var bytesReceived: Int
    /// Bytes of UDP payload sent.
    public var bytesSent: Int
    /// Datagrams that were dropped, by reason.
    public var drops: [Drop: Int]
    /// Errors of the socket, by the system's name for them.
    public var sendErrors: [String: Int]
    /// Statuses that ended because no evidence came for 3 s.
    public var staleClears: Int
    /// Records that were sent again.
    public var retransmissions: Int
    /// Starts of typing that were announced.
    public var typingStartsSent: Int
    /// Starts of typing that peers announced.
    public var typingStartsReceived: Int
    /// Starts of peers that came too fast and were dropped.
    public var typingStartsLimited: Int
    /// Messages that the app sent.
    public var messagesSent: Int
    /// Messages that came whole.
    public var messagesReceived: Int
    /// The share of the messages received that an indicator preceded, 0 to 1; 0 before the first.
    public var indicatedShare: Double
    /// Pairs of message and person that were acknowledged whole.
    public var messagesDelivered: Int
    /// Pairs of message and person that failed.
    public var messagesFailed: Int
    /// Handshakes that were completed, by either side.
    public var handshakesCompleted: Int
    /// Links that came up.
    public var linksMade: Int
    /// Links that ended because the peer fell silent.
    public var linksLostToSilence: Int
    /// How often this node's own timer was more than 500 ms late.
    public var lateTimers: Int
    /// The links that are up.
    public var links: Int
    /// The lowest smoothed round trip of a peer, in milliseconds.
    public var roundTripMinimum: Double?
    /// The highest smoothed round trip of a peer, in milliseconds.
    public var roundTripMaximum: Double?

    init(
        _ counters: Counters, sendErrors: [String: Int], elsewhere: Int, links: Int, roundTrips: [Duration]
    ) {
        datagramsReceived = [:]
        for (kind, count) in counters.received { datagramsReceived[ReceivedKind(kind)] = count }
        datagramsSent = [:]
        for (kind, count) in counters.sent { datagramsSent[SentKind(kind)] = count }
        bytesReceived = counters.bytesReceived
        bytesSent = counters.bytesSent
        drops = [:]
        for (reason, count) in counters.drops { drops[Drop(reason)] = count }
        if elsewhere > 0 { drops[.interface] = elsewhere }
        self.sendErrors = sendErrors
        staleClears = counters.staleClears
        retransmissions = counters.retransmissions
        typingStartsSent = counters.typingStartsSent
        typingStartsReceived = counters.typingStartsReceived
        typingStartsLimited = counters.typingStartsLimited
        messagesSent = counters.messagesSent
        messagesReceived = counters.messagesReceived
        indicatedShare =
            counters.messagesReceived == 0
            ? 0 : Double(counters.messagesPrecededByTyping) / Double(counters.messagesReceived)
        messagesDelivered = counters.messagesDelivered
        messagesFailed = counters.messagesFailed
        handshakesCompleted = counters.handshakesCompleted
        linksMade = counters.linksMade
        linksLostToSilence = counters.linksLostToSilence
        lateTimers = counters.lateTimers
        self.links = links
        roundTripMinimum = roundTrips.min().map { Double($0.nanoseconds) / 1_000_000 }
        roundTripMaximum = roundTrips.max().map { Double($0.nanoseconds) / 1_000_000 }
    }
}

extension Statistics {
    /// What kind of datagram came, as it shows on the wire (W-13).
    public enum ReceivedKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        case initiation, response, sealed, retry, ask, tell

        init(_ kind: Datagram.Kind) {
            switch kind {
            case .initiation: self = .initiation
            case .response: self = .response
            case .sealed: self = .sealed
            case .retry: self = .retry
            case .ask: self = .ask
            case .tell: self = .tell
            }
        }
    }

    /// What a datagram was sent for: its kind on the wire, and of a sealed one the frame that it was made for.
    public enum SentKind: String, CaseIterable, Codable, CodingKeyRepresentable, Hashable, Sendable {
        case initiation, response, retry, ask, tell, hello, heartbeat, typing, message, ack, ping, pong, bye

        init(_ kind: DatagramKind) {
            switch kind {
            case .initiation: self = .initiation
            case .response: self = .response
            case .retry: self = .retry
            case .ask: self = .ask
            case .tell: self = .tell
            case .hello: self = .hello
            case .heartbeat: self = .heartbeat
            case .typing: self = .typing
            case .message: self = .message
            case .ack: self = .ack
            case .ping: self = .ping
            case .pong: self = .pong
            case .bye: self = .bye
            }
        }
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

        init(_ reason: DropReason) {
            switch reason {
            case .malformed: self = .malformed
            case .unknownChat: self = .unknownChat
            case .unknownIndex: self = .unknownIndex
            case .replayed: self = .replayed
            case .unauthenticated: self = .unauthenticated
            case .frames: self = .frames
            case .notUnicast: self = .notUnicast
            case .ownIdentity: self = .ownIdentity
            case .blocked: self = .blocked
            case .cookie: self = .cookie
            case .answerLimit: self = .answerLimit
            case .responseLimit: self = .responseLimit
            case .sourceLimit: self = .sourceLimit
            case .linkLimit: self = .linkLimit
            case .peerLimit: self = .peerLimit
            case .unexpected: self = .unexpected
            case .suspended: self = .suspended
            case .offLink: self = .offLink
            }
        }
    }
}

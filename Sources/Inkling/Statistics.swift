import InklingCore

/// Counters of a node since its start (R28).
public struct Statistics: Codable, Sendable, Equatable {
    /// Datagrams received, by kind.
    public var datagramsReceived: [String: Int]
    /// Datagrams sent, by kind; sealed ones by what they carried.
    public var datagramsSent: [String: Int]
    /// Bytes of UDP payload received.
    public var bytesReceived: Int
    /// Bytes of UDP payload sent.
    public var bytesSent: Int
    /// Datagrams that were dropped, by reason.
    public var drops: [String: Int]
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

    init(_ counters: Counters, sendErrors: [String: Int], links: Int, roundTrips: [Duration]) {
        datagramsReceived = [:]
        for (kind, count) in counters.received { datagramsReceived["\(kind)"] = count }
        datagramsSent = [:]
        for (kind, count) in counters.sent { datagramsSent[kind.rawValue] = count }
        bytesReceived = counters.bytesReceived
        bytesSent = counters.bytesSent
        drops = [:]
        for (reason, count) in counters.drops { drops[reason.rawValue] = count }
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

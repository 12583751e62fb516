import InklingCore
import InklingModel
import InklingWire

// Converts the counters of the core and the socket into those that programs see.

extension Statistics {
    init(
        _ counters: Counters, sendErrors: [String: Int], elsewhere: Int, links: Int, roundTrips: [Duration]
    ) {
        self.init()
        for (kind, count) in counters.received.counts { datagramsReceived[ReceivedKind(kind)] = count }
        for (kind, count) in counters.sent.counts { datagramsSent[SentKind(kind)] = count }
        bytesReceived = counters.bytesReceived
        bytesSent = counters.bytesSent
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
        linksLostToSilence = counters.linksDown
        lateTimers = counters.lateTimers
        self.links = links
        roundTripMinimum = roundTrips.min().map { Double($0.nanoseconds) / 1_000_000 }
        roundTripMaximum = roundTrips.max().map { Double($0.nanoseconds) / 1_000_000 }
    }
}

extension Statistics.ReceivedKind {
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

extension Statistics.SentKind {
    init(_ kind: DatagramKind) {
        switch kind {
        case .initiation: self = .initiation
        case .response: self = .response
        case .retry: self = .retry
        case .ask: self = .ask
        case .tell: self = .tell
        case .heartbeat: self = .heartbeat
        case .typing: self = .typing
        case .record: self = .record
        case .ack: self = .ack
        case .forward: self = .forward
        case .ping: self = .ping
        case .pong: self = .pong
        case .bye: self = .bye
        }
    }
}

extension Statistics.Drop {
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

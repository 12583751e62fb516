import InklingWire

/// What this node shares with one run of a peer in one chat.
struct Link {
    /// Whether the peer is heard from.
    enum Liveness {
        case alive
        /// Silent for too long: pings go out, and the link ends when none is answered.
        case suspect(pings: Int, next: Instant)
    }

    /// What of it was last made known to the user.
    struct Told: Equatable {
        let name: String
        let isAway: Bool
    }

    let id: LinkID
    let chat: ChatTag
    let key: PublicKey
    let run: UInt64
    let madeAt: Instant
    var name: String
    var address: Address
    /// The local index of the session that sends: the one completed last.
    var sendingSession: UInt32
    /// The local indices of those before it, oldest first: they only receive.
    var olderSessions: [UInt32] = []
    var isAway = false
    /// Nil before anything was told.
    var told: Told?
    var typing: ReceivedTyping
    var liveness = Liveness.alive
    var lastEvidence: Instant
    /// The peer's idle interval, as its last heartbeat announced it.
    var announcedInterval = Limits.idleInterval
    /// The order of the newest session that carried a status, and of the newest that carried a hello.
    var newestStatusOrder: UInt64 = 0
    var newestHelloOrder: UInt64 = 0
    var nextHeartbeat: Instant
    var outgoing: SendStream
    var incoming = ReceiveStream()
    /// The last streams that this side has named in this link, by which a hello shows that it speaks of it (M-7).
    private(set) var ownStreams: [UInt32] = []
    var datagrams: TokenBucket
    var records: TokenBucket
    /// When pacing lets the next record go, if it held one back.
    var resumeAt: Instant?
    var lastProbe: Instant?
    var pings = PingClock()
    var typedSinceMessage = false

    /// Keeps a stream that a hello has named, or may name next.
    mutating func rememberStream(_ stream: UInt32? = nil) {
        let stream = stream ?? outgoing.id
        guard !ownStreams.contains(stream) else { return }
        ownStreams = ownStreams.suffix(Limits.rememberedStreams - 1) + [stream]
    }

    /// When silence makes it suspect.
    var suspectAt: Instant {
        lastEvidence + announcedInterval * Limits.suspicionQuarterIntervals / 4
    }

    var nextDeadline: Instant? {
        let silence: Instant =
            switch liveness {
            case .alive: suspectAt
            case .suspect(_, let next): next
            }
        return earliest(silence, nextHeartbeat, typing.nextDeadline, outgoing.nextDeadline, resumeAt)
    }

    var isSuspect: Bool {
        if case .suspect = liveness { true } else { false }
    }

    var presence: Presence { isAway ? .away : .online }
    var sessions: [UInt32] { olderSessions + [sendingSession] }
    var person: Person { Person(key: key, name: name) }
    var personID: PersonID { PersonID(chat: chat, key: key) }
    /// The smoothed round trip, if one was measured.
    var roundTrip: Duration? { pings.roundTrip ?? outgoing.roundTrip }
}

/// The pings in flight of one link, and what their pongs tell.
struct PingClock {
    private(set) var roundTrip: Duration?
    private var token: UInt16 = 0
    private var sentAt: [UInt16: Instant] = [:]

    mutating func next(_ now: Instant) -> UInt16 {
        token &+= 1
        if sentAt.count >= 16 { sentAt.removeAll() }
        sentAt[token] = now
        return token
    }

    mutating func pong(_ token: UInt16, now: Instant) {
        guard let sent = sentAt.removeValue(forKey: token) else { return }
        let sample = now - sent
        roundTrip = roundTrip.map { $0 * 7 / 8 + sample / 8 } ?? sample
    }
}

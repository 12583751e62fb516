import InklingWire

/// What the peer of a link says of itself: its name, whether it is away, whether it types.
struct PeerStatus {
    /// What is reported.
    private struct Told: Equatable {
        let name: String
        let isAway: Bool
    }

    /// The name that the newest hello gave: unsafe to print.
    private(set) var name: String
    private(set) var isAway = false
    private var typing: ReceivedTyping
    /// Nil before anything was reported.
    private var told: Told?
    /// The orders of the newest session that carried a status, and of the newest that carried a hello.
    private var newestStatusOrder = SessionOrder.first
    private var newestHelloOrder = SessionOrder.first

    init(name: String, now: Instant) {
        self.name = name
        typing = ReceivedTyping(now: now)
    }

    /// When typing ends for want of evidence.
    var nextDeadline: Instant? { typing.nextDeadline }
    /// Since when the peer has been typing; nil when it isn't.
    var typingSince: Instant? { typing.since }

    // MARK: Inputs

    /// A newer hello of a session came.
    ///
    /// - Returns: Whether it counts: no newer session of the link has said one (L-22).
    mutating func receive(_ hello: Hello, of session: Session) -> Bool {
        guard session.order >= newestHelloOrder else { return false }
        newestHelloOrder = session.order
        name = hello.name
        return true
    }

    /// What a status comes to.
    enum Answer: Equatable {
        /// It counts; so does the idle interval that came with it.
        case applied(ReceivedTyping.Change)
        /// It is old, or waited for too long; it may end typing, and does nothing else.
        case ignored(ReceivedTyping.Change)
    }

    /// The status of a datagram.
    ///
    /// - Parameter isBehind: Whether it may have waited in the socket for long (L-30).
    mutating func receive(
        _ status: Status, of opened: Session.Opened, on session: inout Session, isBehind: Bool, now: Instant
    ) -> Answer {
        defer { session.note(status, counter: opened.counter) }
        // Nothing is older than it that was read before, and no newer session has carried one.
        let isNewest = session.isNewestStatus(opened.counter) && session.order >= newestStatusOrder
        guard isNewest, !isBehind else {
            // It starts nothing. It still ends typing if it is the newest and has only waited, or if it comes with a
            // message, and the peer has not said on that session since that typing goes on (T-13, R4).
            let typesOn = session.typesOn(after: opened.counter)
            let ends = !status.isTyping && (isNewest || (opened.hasMessage && !typesOn))
            return .ignored(ends ? typing.apply(isTyping: false, now: now) : .none)
        }
        newestStatusOrder = session.order
        isAway = status.isAway
        return .applied(typing.apply(isTyping: status.isTyping, now: now))
    }

    /// Ends typing of which no evidence came for 3 s (T-15).
    mutating func advance(_ now: Instant) -> ReceivedTyping.Change { typing.advance(now) }

    /// Whether name or presence differ from what was last reported; they count as reported from now on.
    mutating func isNews() -> Bool {
        let current = Told(name: name, isAway: isAway)
        guard told != current else { return false }
        told = current
        return true
    }
}

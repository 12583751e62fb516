import InklingWire

/// The peer's reports about itself on a link: its name, and whether it is away or typing.
struct PeerStatus: Sendable {
    /// The name in the newest name record, unsafe to print; nil before record 0 has arrived (L-85).
    var name: String?
    private(set) var isAway = false
    private var typing: ReceivedTyping
    /// The highest counter of a datagram with a status (T-13).
    private var newest: UInt32?

    init(now: Instant) { typing = ReceivedTyping(now: now) }

    /// The time when typing ends without new evidence (T-15).
    var nextDeadline: Instant? { typing.nextDeadline }
    var isTyping: Bool { typing.since != nil }

    // MARK: Inputs

    /// The effect of a status.
    enum Answer: Equatable {
        case applied(ReceivedTyping.Change)
        /// The status was too old, or a newer one arrived before.
        case ignored(ReceivedTyping.Change)
    }

    /// Applies the status of a datagram (T-13).
    ///
    /// - Parameter isBehind: Whether the status may have waited in the socket for long. Such a status can only end
    ///   typing (L-90).
    mutating func receive(_ status: Status, counter: UInt32, isBehind: Bool, now: Instant) -> Answer {
        if let newest, counter <= newest { return .ignored(.none) }
        newest = counter
        guard !status.isUnheard else { return .ignored(.none) }
        guard !isBehind else {
            return .ignored(status.isTyping ? .none : typing.apply(isTyping: false, now: now))
        }
        isAway = status.isAway
        return .applied(typing.apply(isTyping: status.isTyping, now: now))
    }

    /// Records the counter of a status that does not count (T-13).
    mutating func note(_ status: Status?, counter: UInt32) {
        if status != nil { newest = max(newest ?? 0, counter) }
    }

    /// Ends typing without evidence for 3 s (T-15).
    mutating func advance(_ now: Instant) -> ReceivedTyping.Change { typing.advance(now) }

    /// Ends typing because the link is down (T-14).
    mutating func endTyping(_ now: Instant) { _ = typing.apply(isTyping: false, now: now) }
}

import InklingWire

/// The records that a node sends on one link: order, window, timer, repeats and failures (M-9 to M-37).
///
/// A new sender is down. Its owner calls ``advance(_:)`` at ``nextDeadline``. After each input the owner sends
/// ``nextForward(_:)``, and asks the ``RecordPacer`` for a turn if ``wantsToSend`` is true.
struct RecordSender: Sendable {
    private enum Forward: Equatable {
        case none
        case due(UInt32)
        case awaited(UInt32)

        var number: UInt32? {
            switch self {
            case .none: nil
            case .due(let number), .awaited(let number): number
            }
        }

        /// Lets a forward that was sent go once more.
        mutating func sendAgain() {
            if case .awaited(let number) = self { self = .due(number) }
        }
    }

    /// Whether the link is up or suspect.
    private(set) var isUp = false
    /// The records that were sent and are not acknowledged.
    private(set) var window = SendWindow()
    private var queue: SendQueue
    private var timer: RetransmissionTimer
    private var forward = Forward.none
    private var isPeerNamed = false
    /// The next of the newest ack, and the counter of its datagram.
    private var acknowledged: UInt32 = 0
    private var newestAck: UInt32?

    /// The time for which the link was up.
    private var up = Stopwatch()
    /// The time for which a record or forward was in flight, and its reading at the last ack of something new (M-19).
    private var wait = Stopwatch()
    private var waitAtProgress = Duration.zero
    /// The oldest message, and the time for which the link was up when it became the oldest (M-30).
    private var oldest: (message: UInt64, since: Duration)?
    private var isNameDue = true
    /// Whether a name failed and was not sent again. The node may send such a name before the peer is named, like
    /// record 0.
    private var isNameLost = false

    /// - Parameters:
    ///   - name: The display name, 0 to 64 bytes, which becomes record 0 (M-24).
    ///   - isOnLink: Whether the link's address is on-link (M-11).
    init(name: String, isOnLink: Bool) {
        queue = SendQueue(name: name)
        timer = RetransmissionTimer(isOnLink: isOnLink)
    }

    // MARK: Queries

    /// The room of the link's queue for one more message.
    enum Room: Equatable, Sendable {
        case fits
        /// The queue is full, and the oldest message is at most 5 s old: the message is refused (M-14).
        case full
        /// The queue is full, and the oldest message is older than 5 s: the message fails on this link (M-30).
        case overdue
    }

    /// Returns the room for a message of `size` bytes.
    func room(for size: Int, now: Instant) -> Room {
        guard queuedBytes + size + Limits.queuedMessageOverhead > Limits.queueSize else { return .fits }
        guard let oldest else { return .full }
        let since = oldestBegun.map { min($0, oldest.since) } ?? oldest.since
        return up.reading(now) - since > Limits.overdueMessage ? .overdue : .full
    }

    /// The bytes of text that are not acknowledged, with 256 for each unfinished message (M-14).
    var queuedBytes: Int { queue.bytes + window.parts.reduce(0) { $0 + $1.cost } }

    /// Whether a record could go now if the rates allow.
    var wantsToSend: Bool { isUp && (window.hasRepeat || canBegin) }

    /// The messages that are not acknowledged whole, oldest first.
    var unfinished: [UInt64] { RecordSender.messages(of: window.parts, then: queue.messages) }

    /// The smoothed round trip; nil before the first sample.
    var roundTrip: Duration? { timer.smoothed }

    /// The instant of the next ``advance(_:)``; nil when there is none.
    var nextDeadline: Instant? {
        guard isUp else { return nil }
        let stalled = wait.instant(of: waitAtProgress + Limits.stalled)
        let longest = oldestBegun.flatMap { up.instant(of: $0 + Limits.longestDelivery) }
        return earliest(earliest(timer.deadline, isNameDue ? nil : queue.nameDue), earliest(stalled, longest))
    }

    private static func messages(of parts: [SendQueue.Part], then queued: [UInt64]) -> [UInt64] {
        var messages: [UInt64] = []
        for message in parts.compactMap(\.message) + queued where messages.last != message {
            messages.append(message)
        }
        return messages
    }

    private var oldestBegun: Duration? { window.firstText?.begun ?? queue.firstBegun }

    /// Whether a record or a forward is in flight. None is while the link is down.
    private var isInFlight: Bool {
        if case .awaited = forward { true } else { window.inFlight > 0 }
    }

    /// Whether a record may be sent for the first time (M-10, M-34, M-37, L-85).
    private var canBegin: Bool {
        guard forward == .none, window.hasRoom else { return false }
        return window.next == 0 || isNameLost && isNameDue || isPeerNamed && (isNameDue || !queue.isEmpty)
    }

    // MARK: Inputs

    /// Queues a message of 1 to 65,536 bytes of UTF-8.
    mutating func enqueue(_ message: UInt64, text: [UInt8], now: Instant) {
        precondition(Limits.messageSizes.contains(text.count), "A message has 1 to 65,536 bytes.")
        queue.add(message, text: text)
        settle(now)
    }

    /// Queues another display name, 0 to 64 bytes. The name replaces a name that still waits (M-24).
    mutating func rename(_ name: String, now: Instant) {
        queue.rename(name)
        settle(now)
    }

    /// Lets a record of the greasing type go before the next message.
    mutating func grease(_ body: [UInt8]) { queue.greasing = body }

    /// Applies that the peer's record 0 was delivered, so that more than record 0 may go (L-85).
    mutating func peerWasNamed(now: Instant) {
        isPeerNamed = true
        settle(now)
    }

    /// Applies whether the link's address is on-link (M-11).
    mutating func setOnLink(_ isOnLink: Bool) { timer.isOnLink = isOnLink }

    /// Applies that the link came up: unacknowledged records go out, from the lowest on (M-29).
    mutating func comeUp(now: Instant) {
        isUp = true
        window.comeUp()
        settle(now)
    }

    /// Applies that the link went down, where the times stand still (M-44).
    mutating func goDown(now: Instant) {
        isUp = false
        window.goDown()
        forward.sendAgain()
        settle(now)
    }

    /// Begins a new state on the link, which is down then (L-69).
    ///
    /// - Returns: The messages of which a record was sent. They failed with `lost-state`; the others stay queued.
    mutating func restart(now: Instant) -> [UInt64] {
        let begun = queue.dropBegun().map { [$0] } ?? []
        let failed = RecordSender.messages(of: window.parts, then: begun)
        queue.beginState()
        timer = RetransmissionTimer(isOnLink: timer.isOnLink)
        (window, forward, acknowledged, newestAck) = (SendWindow(), .none, 0, nil)
        (isUp, isPeerNamed, isNameLost) = (false, false, false)
        waitAtProgress = wait.reading(now)
        settle(now)
        return failed
    }

    /// The effect of an ack.
    enum AckEffect: Equatable, Sendable {
        /// These messages are acknowledged whole.
        case taken(delivered: [UInt64])
        /// The ack goes back, or beyond what was sent, and changed nothing. If its datagram was the newest evidence, the
        /// link is to be forgotten (L-94).
        case impossible
    }

    /// Applies an ack. An ack older than another changes nothing (M-31).
    ///
    /// - Parameters:
    ///   - counter: The counter of the ack's datagram.
    ///   - isTimely: Whether the ack gives a sample; false while the node catches up (M-32).
    mutating func receive(_ ack: Ack, counter: UInt32, isTimely: Bool, now: Instant) -> AckEffect {
        if let newestAck, counter < newestAck { return .taken(delivered: []) }
        guard ack.next >= acknowledged, ack.next <= forward.number ?? window.next else { return .impossible }
        newestAck = counter
        acknowledged = ack.next
        defer { settle(now) }
        guard forward == .none else {
            guard ack.next == forward.number else { return .taken(delivered: []) }
            forward = .none
            waitAtProgress = wait.reading(now)
            return .taken(delivered: [])
        }
        let (parts, sample) = window.receive(ack, now)
        if isTimely, let sample { timer.measure(sample) }
        if !parts.isEmpty {
            timer.run(false, now)
            waitAtProgress = wait.reading(now)
        }
        return .taken(delivered: parts.filter(\.isLast).compactMap(\.message))
    }

    /// Runs the deadlines that have passed.
    ///
    /// - Returns: The messages that failed with `stalled` (M-19).
    mutating func advance(_ now: Instant) -> [UInt64] {
        if timer.expire(now) {
            window.timeOut()
            forward.sendAgain()
        }
        settle(now)
        return isStalled(now) ? stall(now) : []
    }

    // MARK: Outputs

    /// Returns the number of a forward that is to be sent now, marked as sent; nil when there is none (M-37).
    mutating func nextForward(_ now: Instant) -> UInt32? {
        guard isUp, case .due(let number) = forward else { return nil }
        forward = .awaited(number)
        settle(now)
        return number
    }

    /// Returns this node's name while it is not acknowledged, to go beside a pong (L-82); nil on a down link.
    mutating func nameBesidePong() -> Record? { isUp ? window.recordZero() : nil }

    /// How many records were sent again.
    private(set) var repeats = 0

    /// Returns the next record that the window lets go, marked as sent; nil when there is none.
    mutating func nextRecord(_ now: Instant) -> Record? {
        guard wantsToSend else { return nil }
        defer { settle(now) }
        if let record = window.repeatRecord(now) {
            repeats += 1
            return record
        }
        guard let part = queue.next(now: now, up: up.reading(now)) else { return nil }
        if part.type == .name { isNameLost = false }
        return window.send(part, now)
    }

    // MARK: Helpers

    private func isStalled(_ now: Instant) -> Bool {
        wait.reading(now) - waitAtProgress >= Limits.stalled
            || oldestBegun.map { up.reading(now) - $0 >= Limits.longestDelivery } ?? false
    }

    /// Fails all waiting records and begins a forward. A forward that is not acknowledged yet stays (M-19, M-37).
    private mutating func stall(_ now: Instant) -> [UInt64] {
        let failed = unfinished
        if window.parts.contains(where: { $0.type == .name }) {
            queue.repeatName()
            isNameLost = true
        }
        queue.removeAll()
        waitAtProgress = wait.reading(now)
        if forward == .none { forward = .due(window.skip()) }
        settle(now)
        return failed
    }

    /// Brings timer and clocks up to date. Every input ends here.
    private mutating func settle(_ now: Instant) {
        isNameDue = queue.nameDue.map { $0 <= now } ?? false
        timer.run(isInFlight, now)
        up.run(isUp, now)
        wait.run(isInFlight, now)
        let message = window.firstText?.message ?? queue.first
        if oldest?.message != message { oldest = message.map { ($0, up.reading(now)) } }
    }
}

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

        /// Schedules the forward again if it was sent before.
        mutating func sendAgain() {
            if case .awaited(let number) = self { self = .due(number) }
        }
    }

    /// Whether the link is up or suspect.
    private(set) var isUp = false
    /// The records that were sent but not acknowledged.
    private(set) var window = SendWindow()
    private var queue: SendQueue
    private var timer: RetransmissionTimer
    private var forward = Forward.none
    private var isPeerNamed = false
    /// The next expected record in the newest ack, and the counter of that ack's datagram.
    private var acknowledged: UInt32 = 0
    private var newestAck: UInt32?

    /// The stopwatch of the time for which the link was up.
    private var up = Stopwatch()
    /// The stopwatch of the time with a record or forward in flight, and its reading at the last new acknowledgement
    /// (M-19).
    private var wait = Stopwatch()
    private var waitAtProgress = Duration.zero
    /// The oldest unfinished message, and the link's up time when it became the oldest (M-30).
    private var oldest: (message: UInt64, since: Duration)?
    private var isNameDue = true
    /// Whether a name failed and was not sent again. Like record 0, the node may send such a name before the peer names
    /// itself.
    private var isNameLost = false

    /// - Parameters:
    ///   - name: The display name, 0 to 64 bytes, which becomes record 0 (M-24).
    ///   - isOnLink: Whether the link's address is on-link (M-11).
    init(name: String, isOnLink: Bool) {
        queue = SendQueue(name: name)
        timer = RetransmissionTimer(isOnLink: isOnLink)
    }

    // MARK: Queries

    /// The room for one more message in the link's queue.
    enum Room: Equatable, Sendable {
        case fits
        /// The queue is full, and its oldest message is at most 5 s old. The whole message is refused (M-14).
        case full
        /// The queue is full, and its oldest message is older than 5 s. The message fails on this link (M-30).
        case overdue
        /// The text has an ID, and the link has no room or lacks an older text. The text fails on this link, and its
        /// owner keeps it (M-84).
        case waits
    }

    /// Returns the room for a message of `size` bytes.
    func room(for size: Int, now: Instant) -> Room {
        guard queuedBytes + size + Limits.queuedMessageOverhead > Limits.queueSize else { return .fits }
        guard let oldest else { return .full }
        let since = oldestBegun.map { min($0, oldest.since) } ?? oldest.since
        return up.reading(now) - since > Limits.overdueMessage ? .overdue : .full
    }

    /// The bytes of text that are not acknowledged, plus 256 for each unfinished message (M-14).
    var queuedBytes: Int { queue.bytes + window.parts.reduce(0) { $0 + $1.cost } }

    /// Whether the sender has a record that it could send now if the rates permit.
    @inline(__always)
    var wantsToSend: Bool { isUp && (window.hasRepeat || canBegin) }

    /// The messages that are not completely acknowledged, oldest first.
    var unfinished: [UInt64] { RecordSender.messages(of: window.parts, then: queue.messages) }

    /// Whether the peer has acknowledged the successor. The link then has nothing more to send (M-65).
    @inline(__always)
    var isSuccessorDelivered: Bool {
        queue.successor != nil && isPeerNamed && !queue.isSuccessorWaiting
            && !window.parts.contains { $0.type == .successor }
    }

    /// The IDs of the unfinished texts.
    var textIDs: Set<TextID> { window.textIDs.union(queue.textIDs) }

    /// The smoothed round trip; nil before the first sample.
    var roundTrip: Duration? { timer.smoothed }

    /// The time of the next ``advance(_:)``; nil if none is necessary.
    @inline(__always)
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

    /// Whether a record or a forward is in flight. While the link is down, none is.
    private var isInFlight: Bool {
        if case .awaited = forward { true } else { window.inFlight > 0 }
    }

    /// Whether the sender may send a record for the first time (M-10, M-34, M-37, L-85).
    @inline(__always)
    private var canBegin: Bool {
        guard forward == .none, window.hasRoom else { return false }
        return window.next == 0 || isNameLost && isNameDue
            || isPeerNamed && (isNameDue || queue.isSuccessorDue || !queue.isEmpty)
    }

    // MARK: Inputs

    /// Queues a message of 1 to 65,536 bytes of UTF-8.
    mutating func enqueue(_ message: UInt64, text: [UInt8], _ id: TextID? = nil, now: Instant) {
        precondition(Limits.messageSizes.contains(text.count), "A message has 1 to 65,536 bytes.")
        queue.add(message, .text, id, text: text)
        settle(now)
    }

    /// Queues an invite, or a knock with an empty body (M-45).
    mutating func enqueue(_ message: UInt64, invite body: [UInt8], now: Instant) {
        queue.add(message, .invite, text: body)
        settle(now)
    }

    /// Queues another display name, 0 to 64 bytes. The name replaces an earlier name that was not sent yet (M-24).
    mutating func rename(_ name: String, now: Instant) {
        queue.rename(name)
        settle(now)
    }

    /// Fails all messages of which no record was sent, and queues the successor of the chat (M-65).
    ///
    /// - Returns: The failed messages.
    mutating func close(with successor: [UInt8], now: Instant) -> [UInt64] {
        let failed = queue.close(with: successor)
        settle(now)
        return failed
    }

    /// Removes a text of which no record was sent.
    ///
    /// - Returns: Whether the text was there.
    mutating func withdraw(_ id: TextID, now: Instant) -> Bool {
        defer { settle(now) }
        return queue.remove(id)
    }

    /// Adds a record of the greasing type before the next message.
    mutating func grease(_ body: [UInt8]) { queue.greasing = body }

    /// Records that the peer's record 0 has arrived. The sender may now send more than its own record 0 (L-85).
    mutating func peerWasNamed(now: Instant) {
        isPeerNamed = true
        settle(now)
    }

    /// Sets whether the link's address is on-link (M-11).
    mutating func setOnLink(_ isOnLink: Bool) { timer.isOnLink = isOnLink }

    /// Records that the link came up. Unacknowledged records go out again, from the lowest number on (M-29).
    mutating func comeUp(now: Instant) {
        isUp = true
        window.comeUp()
        settle(now)
    }

    /// Records that the link went down. The times of M-44 stand still while it is down.
    mutating func goDown(now: Instant) {
        isUp = false
        window.goDown()
        forward.sendAgain()
        settle(now)
    }

    /// Begins a new state on a down link (L-69).
    ///
    /// - Returns: The messages of which the node had sent a record, and all texts with an ID (M-86). They fail with
    ///   `lost-state`. All other messages stay queued.
    mutating func restart(now: Instant) -> [UInt64] {
        let begun = queue.dropBegun().map { [$0] } ?? []
        let failed = RecordSender.messages(of: window.parts, then: begun) + queue.dropIdentified()
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
        /// These messages are now completely acknowledged.
        case taken(delivered: [UInt64])
        /// The ack is lower than an earlier one, or beyond the sent records, and changes nothing. If its datagram was
        /// the newest evidence, the node forgets the link (L-94).
        case impossible
    }

    /// Applies an ack. An ack older than another one changes nothing (M-31).
    ///
    /// - Parameters:
    ///   - counter: The counter of the ack's datagram.
    ///   - isTimely: Whether the ack may give a round trip; false while the node catches up (M-32).
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

    /// Returns the number of a forward to send now, and marks the forward as sent; nil if none is due (M-37).
    mutating func nextForward(_ now: Instant) -> UInt32? {
        guard isUp, case .due(let number) = forward else { return nil }
        forward = .awaited(number)
        settle(now)
        return number
    }

    /// Returns the record with this node's name if it is not acknowledged yet, to go beside a pong (L-82); nil on a
    /// down link.
    mutating func nameBesidePong() -> Record? { isUp ? window.recordZero() : nil }

    /// The number of repeated records.
    private(set) var repeats = 0

    /// Returns the next record that the window permits, and marks it as sent; nil if there is none.
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

    /// Fails all unacknowledged messages and begins a forward. An earlier forward that is not acknowledged yet stays
    /// (M-19, M-37).
    private mutating func stall(_ now: Instant) -> [UInt64] {
        let failed = unfinished
        if window.parts.contains(where: { $0.type == .name }) {
            queue.repeatName()
            isNameLost = true
        }
        if window.parts.contains(where: { $0.type == .successor }) { queue.repeatSuccessor() }
        queue.removeAll()
        waitAtProgress = wait.reading(now)
        if forward == .none { forward = .due(window.skip()) }
        settle(now)
        return failed
    }

    /// Ends an input: updates the timer and the stopwatches.
    private mutating func settle(_ now: Instant) {
        isNameDue = queue.nameDue.map { $0 <= now } ?? false
        timer.run(isInFlight, now)
        up.run(isUp, now)
        wait.run(isInFlight, now)
        let message = window.firstText?.message ?? queue.first
        if oldest?.message != message { oldest = message.map { ($0, up.reading(now)) } }
    }
}

/// The sent but unacknowledged records of a link, and the congestion window (M-10, M-12, M-31 to M-35).
struct SendWindow {
    private enum State {
        /// The record waits to be sent again as soon as the window permits.
        case queued
        /// The record is due to be sent again at once (M-12). Until then it counts as in flight.
        case again
        case inFlight
        /// The bitmap of the newest ack contains the record.
        case held
    }

    private struct SentRecord {
        let part: SendQueue.Part
        var state = State.inFlight
        /// The number of the record's last transmission, counted over all transmissions of the link; 0 before the
        /// first.
        var transmission: UInt64 = 0
        var isRepeated = false
        var sentAt = Instant.zero
        /// The number of acknowledged records whose last transmission was later than this record's.
        var overtakings = 0

        var isInFlight: Bool { state == .inFlight || state == .again }
    }

    /// The lowest unacknowledged record number.
    private(set) var base: UInt32 = 0
    private var sent: [SentRecord] = []
    private var transmissions: UInt64 = 0
    private var limit = Limits.initialWindow
    /// The next unused number at the time when the window was last halved.
    private var halvedUntil: UInt32 = 0

    // MARK: Queries

    /// The next unused record number.
    var next: UInt32 { base + UInt32(sent.count) }
    /// The unacknowledged parts, lowest number first.
    var parts: [SendQueue.Part] { sent.map(\.part) }
    /// The first part that belongs to a message; nil if there is none.
    var firstText: SendQueue.Part? { sent.first { $0.part.message != nil }?.part }
    /// The number of records in flight: sent, and neither acknowledged, nor in the newest bitmap, nor set back by the
    /// timer (M-34).
    var inFlight: Int { sent.count(where: \.isInFlight) }
    /// Whether the window has room for a record's first transmission (M-10, M-34).
    var hasRoom: Bool { isOpen && sent.count < Limits.recordsAbove }
    /// The IDs of the texts of which a record is unacknowledged.
    var textIDs: Set<TextID> { Set(sent.lazy.compactMap(\.part.textID)) }
    /// Returns the text ID to send beside a record, which begins a text (M-80).
    func textID(of record: Record) -> TextID? {
        guard record.isFirst, record.number >= base, record.number < next else { return nil }
        return sent[Int(record.number - base)].part.textID
    }

    /// Whether a record may be sent again now.
    var hasRepeat: Bool { repeatIndex != nil }

    private var isOpen: Bool { inFlight < limit }

    private var repeatIndex: Int? {
        let isOpen = isOpen
        return sent.firstIndex { $0.state == .again || ($0.state == .queued && isOpen) }
    }

    // MARK: Transmissions

    /// Gives a part its record number and marks it as sent.
    mutating func send(_ part: SendQueue.Part, _ now: Instant) -> Record {
        sent.append(SentRecord(part: part))
        return transmit(sent.count - 1, now)
    }

    /// Returns the lowest record that may be sent again, and marks it as sent; nil if there is none.
    mutating func repeatRecord(_ now: Instant) -> Record? { repeatIndex.map { transmit($0, now) } }

    /// Returns record 0 if it was sent but not acknowledged, to go beside a pong (L-82). Its ack then gives no round
    /// trip.
    mutating func recordZero() -> Record? {
        guard base == 0, let first = sent.first else { return nil }
        sent[0].isRepeated = true
        return Record(
            number: 0, type: first.part.type, isFirst: first.part.isFirst, isLast: first.part.isLast,
            body: first.part.body)
    }

    private mutating func transmit(_ index: Int, _ now: Instant) -> Record {
        transmissions += 1
        sent[index].isRepeated = sent[index].transmission > 0
        sent[index].state = .inFlight
        sent[index].transmission = transmissions
        sent[index].sentAt = now
        sent[index].overtakings = 0
        let part = sent[index].part
        return Record(
            number: base + UInt32(index), type: part.type, isFirst: part.isFirst, isLast: part.isLast, body: part.body)
    }

    // MARK: Events

    /// Applies the newest ack, whose next is not beyond ``next``.
    ///
    /// - Returns: The parts that the ack acknowledges, and the round trip of the latest record that it acknowledges or
    ///   names for the first time. The round trip is nil if the node sent that record twice (M-32).
    mutating func receive(_ ack: Ack, _ now: Instant) -> (acknowledged: [SendQueue.Part], sample: Duration?) {
        var latest: SentRecord?
        for index in sent.indices {
            let number = base + UInt32(index)
            guard number < ack.next || ack.names(number) else {
                if sent[index].state == .held { sent[index].state = .inFlight }
                continue
            }
            if sent[index].state != .held, sent[index].transmission > latest?.transmission ?? 0 { latest = sent[index] }
            sent[index].state = .held
        }
        let acknowledged = removeAcknowledged(below: ack.next)
        if !acknowledged.isEmpty { limit = min(limit + 1, Limits.maximumWindow) }
        repeatOvertaken()
        return (acknowledged, latest.flatMap { $0.isRepeated ? nil : now - $0.sentAt })
    }

    private mutating func removeAcknowledged(below next: UInt32) -> [SendQueue.Part] {
        guard next > base else { return [] }
        let removed = sent.prefix(Int(next - base))
        sent.removeFirst(removed.count)
        base = next
        for index in sent.indices {
            sent[index].overtakings += removed.count { $0.transmission > sent[index].transmission }
        }
        return removed.map(\.part)
    }

    /// Schedules records that three later transmissions overtook, and halves the window once for them (M-12, M-35).
    private mutating func repeatOvertaken() {
        let held = sent.filter { $0.state == .held }.map(\.transmission)
        var isOvertaken = false
        for index in sent.indices where sent[index].state == .inFlight {
            let later = sent[index].overtakings + held.count { $0 > sent[index].transmission }
            guard later >= Limits.laterRecordsUntilRepeat else { continue }
            sent[index].state = .again
            isOvertaken = true
        }
        guard isOvertaken, base >= halvedUntil else { return }
        limit = max(limit / 2, 1)
        halvedUntil = next
    }

    /// Handles the expiry of the timer: records in flight count as not sent (M-33, M-35).
    mutating func timeOut() {
        for index in sent.indices where sent[index].isInFlight { sent[index].state = .queued }
        limit = 1
    }

    /// Handles a link that went down: all records must be sent again (M-29).
    mutating func goDown() {
        for index in sent.indices { sent[index].state = .queued }
    }

    /// Handles a link that came up (M-34).
    mutating func comeUp() { limit = Limits.initialWindow }

    /// Drops all records and skips one unused number.
    ///
    /// - Returns: The number for a forward (M-37).
    mutating func skip() -> UInt32 {
        base = next + 1
        sent = []
        return base
    }
}

/// The one retransmission timer of a link (M-32), computed as RFC 6298, section 2 (M-11).
struct RetransmissionTimer {
    /// Whether the link's address is on-link. The limits of the timer are shorter then (M-11).
    var isOnLink: Bool {
        didSet { if isOnLink != oldValue { deadline = startedAt.map { $0 + timeout } } }
    }
    /// The smoothed round trip; nil before the first sample.
    private(set) var smoothed: Duration?
    /// The time when the timer expires; nil while it is stopped.
    private(set) var deadline: Instant?
    private var startedAt: Instant?
    private var variation = Duration.zero
    private var doublings = 0

    init(isOnLink: Bool) { self.isOnLink = isOnLink }

    /// The time from a transmission to its repeat. Each expiry of the timer has doubled the time.
    var timeout: Duration {
        let (initial, shortest, longest) = RetransmissionTimer.bounds(isOnLink)
        let computed = smoothed.map { $0 + max(.milliseconds(1), variation * 4) } ?? initial
        return min(max(computed, shortest) * (1 << doublings), longest)
    }

    private static func bounds(_ isOnLink: Bool) -> (initial: Duration, shortest: Duration, longest: Duration) {
        isOnLink
            ? (Limits.initialTimerOnLink, Limits.minimumTimerOnLink, Limits.maximumTimerOnLink)
            : (Limits.initialTimerOffLink, Limits.minimumTimerOffLink, Limits.maximumTimerOffLink)
    }

    /// Starts the timer if it does not run yet, or stops it.
    mutating func run(_ isRunning: Bool, _ now: Instant) {
        startedAt = isRunning ? startedAt ?? now : nil
        deadline = isRunning ? deadline ?? now + timeout : nil
    }

    /// Applies the round trip of a record that was sent only once. The doublings end (M-32).
    mutating func measure(_ sample: Duration) {
        if let smoothed {
            let deviation = smoothed > sample ? smoothed - sample : sample - smoothed
            variation = variation * 3 / 4 + deviation / 4
            self.smoothed = smoothed * 7 / 8 + sample / 8
        } else {
            smoothed = sample
            variation = sample / 2
        }
        doublings = 0
    }

    /// Stops an expired timer and doubles its time.
    ///
    /// - Returns: Whether the timer had expired.
    mutating func expire(_ now: Instant) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = nil
        startedAt = nil
        // Six doublings of the shortest timer exceed every longest timer.
        doublings = min(doublings + 1, 6)
        return true
    }
}

/// A stopwatch: measures the total time of an activity with pauses.
struct Stopwatch {
    private var counted = Duration.zero
    private var runsSince: Instant?

    func reading(_ now: Instant) -> Duration { counted + (runsSince.map { now - $0 } ?? .zero) }

    /// Returns the time when the stopwatch will show `reading` if it does not pause before; nil while it pauses.
    func instant(of reading: Duration) -> Instant? { runsSince.map { $0 + (reading - counted) } }

    mutating func run(_ isRunning: Bool, _ now: Instant) {
        guard isRunning != (runsSince != nil) else { return }
        counted = reading(now)
        runsSince = isRunning ? now : nil
    }
}

import InklingWire

/// The sender's side of one link's reliable stream of records.
struct SendStream {
    private struct SentRecord {
        let record: Record
        let message: UInt64
        let begun: Begun
        var isAcked = false
        var isLost = false
        /// The number of the last transmission among all of the stream; 0 before the first.
        var transmission: UInt64 = 0
        var transmissions = 0
        /// How many that went out after the last transmission were acknowledged since.
        var overtaken = 0
        var sentAt = Instant.zero
    }

    private struct Queued {
        let message: UInt64
        let text: [UInt8]
        var offset = 0
        /// Nil before its first record.
        var begun: Begun?
    }

    /// When the first record of a message was first sent.
    private struct Begun {
        let at: Instant
        /// How long the peer had been waited for by then.
        let waited: Duration
    }

    /// The stream's identifier, never 0.
    private(set) var id: UInt32
    /// The peer said that it holds this stream: only then do records go out.
    private(set) var isHeld = false
    /// Bytes of text that are not acknowledged yet, and what each message is counted with besides.
    private(set) var queuedBytes = 0

    private var queue: [Queued] = []
    private var queueHead = 0
    /// Records from the lowest unacknowledged on.
    private var inFlight: [SentRecord] = []
    private var base: UInt32 = 0
    private var transmissions: UInt64 = 0
    private var timer = RetransmissionTimer()
    /// How long the peer was waited for, and how long when it last acknowledged something new.
    private var wait = Stopwatch()
    private var waitedAtProgress = Duration.zero

    init(id: UInt32) { self.id = id }

    /// When the oldest record in flight counts as lost, or the stream as stalled.
    var nextDeadline: Instant? {
        let stalled = wait.instant(of: waitedAtProgress + Limits.stalledStream)
        return earliest(timer.deadline, earliest(stalled, oldestBegun.map { $0.at + Limits.longestDelivery }))
    }
    /// When the oldest message that is not acknowledged whole began to be sent; nil if it did not.
    private var oldestBegun: Begun? { inFlight.first?.begun ?? (isEmpty ? nil : queue[queueHead].begun) }
    /// Whether a record was ever sent on this stream.
    var isUsed: Bool { base > 0 || inFlight.contains { $0.transmissions > 0 } }
    /// Whether nothing waits for an acknowledgement.
    var isEmpty: Bool { inFlight.isEmpty && queueHead == queue.count }
    /// The round trip as the acknowledgements show it.
    var roundTrip: Duration? { timer.smoothed }

    /// What a message of so many bytes adds to `queuedBytes`.
    static func cost(of size: Int) -> Int { size + Limits.queuedMessageOverhead }

    /// Queues a message of 1 to 65,536 bytes of UTF-8.
    mutating func enqueue(_ message: UInt64, text: [UInt8], now: Instant) {
        if isEmpty { waitedAtProgress = wait.reading(now) }
        queuedBytes += SendStream.cost(of: text.count)
        queue.append(Queued(message: message, text: text))
    }

    /// Whether nothing was acknowledged for 30 s in which the peer was waited for, or the oldest message was begun 60 s
    /// ago (M-19).
    func isStalled(_ now: Instant) -> Bool {
        guard !isEmpty else { return false }
        return wait.reading(now) - waitedAtProgress >= Limits.stalledStream
            || oldestBegun.map { now - $0.at >= Limits.longestDelivery } ?? false
    }

    /// Whether the peer was waited for as long with the oldest message that a full queue is its own affair (M-14).
    func isOverdue(_ now: Instant) -> Bool {
        !isEmpty && wait.reading(now) - (oldestBegun?.waited ?? waitedAtProgress) >= Limits.overdueMessage
    }

    /// Every input ends here.
    ///
    /// - Parameter isHeldBack: Whether our own pace keeps the next record back: with none in flight, the peer is not
    ///   waited for then.
    mutating func settle(isHeldBack: Bool, now: Instant) {
        wait.run(!inFlight.isEmpty || (!isEmpty && !isHeldBack), now)
    }

    /// Whether a record could go out now, were there no pacing.
    var wantsToSend: Bool {
        guard isHeld, base < UInt32.max - UInt32(Limits.recordsInFlight) else { return false }
        return inFlight.contains { $0.isLost } || (inFlight.count < Limits.recordsInFlight && queueHead < queue.count)
    }

    /// The next record to send, marked as sent now; nil when there is none. `isRepeat` says that it went out before.
    mutating func nextRecord(_ now: Instant) -> (record: Record, isRepeat: Bool)? {
        guard wantsToSend else { return nil }
        if let lost = inFlight.firstIndex(where: { $0.isLost }) {
            return (transmit(lost, now), true)
        }
        guard let record = cut(now) else { return nil }
        inFlight.append(record)
        return (transmit(inFlight.count - 1, now), false)
    }

    private mutating func transmit(_ index: Int, _ now: Instant) -> Record {
        transmissions += 1
        inFlight[index].isLost = false
        inFlight[index].transmission = transmissions
        inFlight[index].transmissions += 1
        inFlight[index].overtaken = 0
        inFlight[index].sentAt = now
        timer.startIfStopped(now)
        return inFlight[index].record
    }

    /// Cuts the next record from the queue, at the boundary of a scalar.
    private mutating func cut(_ now: Instant) -> SentRecord? {
        guard queueHead < queue.count else { return nil }
        let queued = queue[queueHead]
        let begun = queued.begun ?? Begun(at: now, waited: wait.reading(now))
        var end = min(queued.offset + Limits.maximumRecordTextSize, queued.text.count)
        if end < queued.text.count {
            while end > queued.offset, queued.text[end] & 0xC0 == 0x80 { end -= 1 }
        }
        let record = Record(
            stream: id, number: base + UInt32(inFlight.count), isFirst: queued.offset == 0,
            isLast: end == queued.text.count,
            text: String(decoding: queued.text[queued.offset..<end], as: UTF8.self))
        queue[queueHead].offset = end
        queue[queueHead].begun = begun
        if record.isLast {
            queueHead += 1
            if queueHead > 64, queueHead * 2 > queue.count {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
        }
        return SentRecord(record: record, message: queued.message, begun: begun)
    }

    /// An acknowledgement came; the answer names the messages that are now acknowledged whole.
    ///
    /// - Parameter isAnswer: Whether it answers a record, so that it measures the round trip; a hello does not.
    mutating func receive(_ ack: Ack, isAnswer: Bool = true, now: Instant) -> [UInt64] {
        guard ack.stream == id, ack.next >= base, UInt64(ack.next) <= UInt64(base) + UInt64(inFlight.count) else {
            return []
        }
        var newest: SentRecord?
        var acknowledged: [UInt64] = []
        for index in inFlight.indices where !inFlight[index].isAcked {
            let distance = Int(base) + index - Int(ack.next)
            let isNamed = distance < 0 || (1...16).contains(distance) && ack.bitmap >> (distance - 1) & 1 == 1
            guard isNamed, inFlight[index].transmissions > 0 else { continue }
            inFlight[index].isAcked = true
            inFlight[index].isLost = false
            acknowledged.append(inFlight[index].transmission)
            if inFlight[index].transmission > newest?.transmission ?? 0 { newest = inFlight[index] }
        }
        guard !acknowledged.isEmpty else { return [] }
        if isAnswer, let newest, newest.transmissions == 1 { timer.measure(now - newest.sentAt) }
        let delivered = dropAcked()
        markLost(acknowledged)
        waitedAtProgress = wait.reading(now)
        timer.progress(now, isEmpty: !inFlight.contains { !$0.isAcked && $0.transmissions > 0 })
        return delivered
    }

    private mutating func dropAcked() -> [UInt64] {
        var delivered: [UInt64] = []
        let count = inFlight.firstIndex { !$0.isAcked } ?? inFlight.count
        for sent in inFlight.prefix(count) {
            queuedBytes -= sent.record.text.utf8.count
            guard sent.record.isLast else { continue }
            queuedBytes -= Limits.queuedMessageOverhead
            delivered.append(sent.message)
        }
        inFlight.removeFirst(count)
        base += UInt32(count)
        return delivered
    }

    /// A record is lost when three that went out after its last transmission are acknowledged.
    private mutating func markLost(_ acknowledged: [UInt64]) {
        for index in inFlight.indices where !inFlight[index].isAcked && inFlight[index].transmissions > 0 {
            inFlight[index].overtaken += acknowledged.count { $0 > inFlight[index].transmission }
            if inFlight[index].overtaken >= Limits.laterRecordsUntilLost { inFlight[index].isLost = true }
        }
    }

    /// The timer passed: everything in flight counts as lost.
    mutating func advance(_ now: Instant) {
        guard let deadline = timer.deadline, deadline <= now else { return }
        for index in inFlight.indices where !inFlight[index].isAcked && inFlight[index].transmissions > 0 {
            inFlight[index].isLost = true
        }
        timer.backOff(now)
    }

    /// The peer's hello came.
    ///
    /// - Returns: The messages that are thereby delivered, or that have failed because the peer lost its state; with
    ///   the latter a new stream has begun under `replacement`.
    mutating func synchronise(
        held: UInt32, next: UInt32, replacement: UInt32, now: Instant
    ) -> (delivered: [UInt64], failed: [UInt64]) {
        // It may say less than is acknowledged already, when an ack overtook it, but not more than was ever sent.
        if held == id, UInt64(next) <= UInt64(base) + UInt64(inFlight.count) {
            let wasHeld = isHeld
            isHeld = true
            let delivered = receive(Ack(stream: id, next: next, bitmap: 0), isAnswer: false, now: now)
            if !wasHeld {
                for index in inFlight.indices where !inFlight[index].isAcked && inFlight[index].transmissions > 0 {
                    inFlight[index].isLost = true
                }
            }
            return (delivered, [])
        }
        guard isUsed else {
            isHeld = false
            return ([], [])
        }
        return ([], restart(id: replacement))
    }

    /// The session that sends is a new one: records wait for the peer's hello on it.
    mutating func awaitHello() { isHeld = false }

    /// Begins a new stream; messages of which a record was sent have failed, the others stay queued.
    private mutating func restart(id: UInt32) -> [UInt64] {
        var failed: [UInt64] = []
        for sent in inFlight where failed.last != sent.message { failed.append(sent.message) }
        if queueHead < queue.count, queue[queueHead].offset > 0 {
            if failed.last != queue[queueHead].message { failed.append(queue[queueHead].message) }
            queueHead += 1
        }
        let waiting = Array(queue[queueHead...])
        self = SendStream(id: id)
        queue = waiting
        queuedBytes = waiting.reduce(0) { $0 + SendStream.cost(of: $1.text.count) }
        return failed
    }

    /// The messages that are not acknowledged whole, oldest first.
    var unfinished: [UInt64] {
        var messages: [UInt64] = []
        for sent in inFlight where messages.last != sent.message { messages.append(sent.message) }
        for queued in queue[queueHead...] where messages.last != queued.message { messages.append(queued.message) }
        return messages
    }
}

/// How long something went on, with pauses.
struct Stopwatch {
    private var counted = Duration.zero
    private var runsSince: Instant?

    func reading(_ now: Instant) -> Duration { counted + (runsSince.map { now - $0 } ?? .zero) }

    /// When it will read that, unless it pauses before; nil while it pauses.
    func instant(of reading: Duration) -> Instant? { runsSince.map { $0 + (reading - counted) } }

    mutating func run(_ isRunning: Bool, _ now: Instant) {
        guard isRunning != (runsSince != nil) else { return }
        counted = reading(now)
        runsSince = isRunning ? now : nil
    }
}

/// The retransmission timer of RFC 6298, with a floor of 200 ms and a ceiling of 1 s.
struct RetransmissionTimer {
    private(set) var smoothed: Duration?
    private(set) var deadline: Instant?
    private var variation = Duration.zero
    private var timeout = Limits.initialRTO

    mutating func startIfStopped(_ now: Instant) {
        if deadline == nil { deadline = now + timeout }
    }

    mutating func measure(_ sample: Duration) {
        if let smoothed {
            let deviation = smoothed > sample ? smoothed - sample : sample - smoothed
            variation = variation * 3 / 4 + deviation / 4
            self.smoothed = smoothed * 7 / 8 + sample / 8
        } else {
            smoothed = sample
            variation = sample / 2
        }
        timeout = min(max((smoothed ?? sample) + variation * 4, Limits.minimumRTO), Limits.maximumRTO)
    }

    /// New records were acknowledged. Only a sample takes a backed-off timeout back: a round trip that is longer than
    /// the timeout would else never be measured, as each record would be sent twice.
    mutating func progress(_ now: Instant, isEmpty: Bool) { deadline = isEmpty ? nil : now + timeout }

    mutating func backOff(_ now: Instant) {
        timeout = min(timeout * 2, Limits.maximumRTO)
        deadline = now + timeout
    }
}

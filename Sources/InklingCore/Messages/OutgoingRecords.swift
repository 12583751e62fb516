import InklingWire

/// What a link has to send of our messages: the stream of records, its pacing, and the streams that it named before.
struct OutgoingRecords {
    private var records: SendStream
    private var pace: TokenBucket
    /// When pacing lets the next record go, if it held one back.
    private var resumeAt: Instant?
    /// When this link's turn comes, if it waits for the rate of the node: a token was taken for it.
    private var turn: Instant?
    /// The last streams that this side has named in this link, by which a hello shows that it speaks of it (M-7).
    private var named: [UInt32]

    init(stream: UInt32, now: Instant) {
        records = SendStream(id: stream)
        pace = TokenBucket(
            perSecond: Limits.recordsPerSecondPerLink, burst: Limits.recordBurstPerLink, now: now)
        named = [stream]
    }

    // MARK: Queries

    /// The identifier of the stream, never 0.
    var stream: UInt32 { records.id }
    /// Whether the peer said that it holds the stream: only then do records go out.
    var isHeld: Bool { records.isHeld }
    /// Bytes of text that are not acknowledged yet, and what each message is counted with besides.
    var queuedBytes: Int { records.queuedBytes }
    /// The messages that are not acknowledged whole, oldest first.
    var unfinished: [UInt64] { records.unfinished }
    /// The round trip as the acknowledgements show it.
    var roundTrip: Duration? { records.roundTrip }
    var nextDeadline: Instant? { earliest(records.nextDeadline, resumeAt) }

    /// Whether a full queue is this peer's own affair: its oldest message is older than 5 s (M-14).
    func isOverdue(_ now: Instant) -> Bool { records.isOverdue(now) }

    /// Whether a hello of ours has named that stream lately, or may have.
    func hasNamed(_ stream: UInt32) -> Bool { named.contains(stream) }

    // MARK: Inputs

    /// A hello has named, or may name next, that stream.
    mutating func remember(_ stream: UInt32) {
        guard !named.contains(stream) else { return }
        named = named.suffix(Limits.rememberedStreams - 1) + [stream]
    }

    mutating func enqueue(_ message: UInt64, text: [UInt8], now: Instant) {
        records.enqueue(message, text: text, now: now)
        settle(now)
    }

    /// An acknowledgement came; the answer names the messages that are now acknowledged whole.
    mutating func receive(_ ack: Ack, now: Instant) -> [UInt64] {
        defer { settle(now) }
        return records.receive(ack, now: now)
    }

    /// The peer's hello came.
    ///
    /// - Returns: The messages that are thereby delivered, or that have failed because the peer lost its state; with
    ///   the latter a new stream has begun under `replacement`.
    mutating func synchronise(
        held: UInt32, next: UInt32, replacement: UInt32, now: Instant
    ) -> (delivered: [UInt64], failed: [UInt64]) {
        defer {
            remember(records.id)
            settle(now)
        }
        return records.synchronise(held: held, next: next, replacement: replacement, now: now)
    }

    /// The session that sends is a new one: records wait for the peer's hello on it.
    mutating func awaitHello() { records.awaitHello() }

    /// What passing time leads to.
    enum Advance: Equatable {
        case none
        /// The peer lives and acknowledges too little: these have failed, and a new stream has to begin (M-19).
        case stalled(failed: [UInt64])
    }

    mutating func advance(_ now: Instant) -> Advance {
        records.advance(now)
        if let resumeAt, resumeAt <= now { self.resumeAt = nil }
        settle(now)
        return records.isStalled(now) ? .stalled(failed: records.unfinished) : .none
    }

    /// A new stream begins, with nothing to send.
    mutating func restart(_ stream: UInt32) {
        records = SendStream(id: stream)
        remember(stream)
    }

    /// The next record that window and pacing let go, marked as sent now; `isRepeat` says that it went out before.
    mutating func next(_ pacer: inout RecordPacer, now: Instant) -> (record: Record, isRepeat: Bool)? {
        defer { settle(now) }
        guard records.wantsToSend else { return nil }
        guard pace.has(now) else {
            resumeAt = pace.nextToken(now)
            return nil
        }
        if turn == nil, !pacer.take(now) { turn = pacer.reserve(now) }
        if let turn {
            if let later = pacer.use(turn, now) {
                resumeAt = later
                return nil
            }
            self.turn = nil
        }
        _ = pace.take(now)
        resumeAt = nil
        return records.nextRecord(now)
    }

    private mutating func settle(_ now: Instant) { records.settle(isHeldBack: resumeAt != nil, now: now) }

    /// A turn that came and found nothing to send goes back; when the link is over, any.
    mutating func giveBackTurn(_ pacer: inout RecordPacer, isOver: Bool = false, now: Instant) {
        guard let turn, isOver || (turn <= now && resumeAt == nil) else { return }
        self.turn = nil
        pacer.giveBack()
    }
}

/// The records that a node may send over all of its links (M-13), and the turns of those that wait (M-21).
///
/// A link that waits takes the next token that nobody has, also one of the future: that is its turn. So whoever sent a
/// record comes after those that waited before.
struct RecordPacer {
    private var tokens: TokenBucket
    /// How many hold a token that they have not used.
    private var turns = 0
    private var sentThisInput = 0

    init(now: Instant) {
        tokens = TokenBucket(perSecond: Limits.recordsPerSecondPerNode, burst: Limits.recordBurstPerNode, now: now)
    }

    /// A new input begins.
    mutating func begin() { sentThisInput = 0 }

    /// Takes what a record costs, if it may go now.
    mutating func take(_ now: Instant) -> Bool {
        guard sentThisInput < Limits.recordsPerInput, tokens.take(now, reserved: turns) else { return false }
        sentThisInput += 1
        return true
    }

    /// Takes what a record costs that has to wait.
    ///
    /// - Returns: When its turn comes.
    mutating func reserve(_ now: Instant) -> Instant {
        defer { turns += 1 }
        return tokens.reserve(now, reserved: turns)
    }

    /// Lets a record go in its turn.
    ///
    /// - Returns: When it may go, if that is later.
    mutating func use(_ turn: Instant, _ now: Instant) -> Instant? {
        let due = max(turn, tokens.due(now, reserved: turns))
        guard sentThisInput < Limits.recordsPerInput else { return max(due, now + Limits.recordRest) }
        guard due <= now else { return due }
        turns -= 1
        sentThisInput += 1
        return nil
    }

    /// A turn is not used.
    mutating func giveBack() {
        turns -= 1
        tokens.giveBack()
    }
}

import InklingWire

/// What a link has to send of our messages: the stream of records, its pacing, and the streams that it named before.
struct OutgoingRecords {
    private var records: SendStream
    private var pace: TokenBucket
    /// When pacing lets the next record go, if it held one back.
    private var resumeAt: Instant?
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
    }

    /// An acknowledgement came; the answer names the messages that are now acknowledged whole.
    mutating func receive(_ ack: Ack, now: Instant) -> [UInt64] { records.receive(ack, now: now) }

    /// The peer's hello came.
    ///
    /// - Returns: The messages that are thereby delivered, or that have failed because the peer lost its state; with
    ///   the latter a new stream has begun under `replacement`.
    mutating func synchronise(
        held: UInt32, next: UInt32, replacement: UInt32, now: Instant
    ) -> (delivered: [UInt64], failed: [UInt64]) {
        defer { remember(records.id) }
        return records.synchronise(held: held, next: next, replacement: replacement, now: now)
    }

    /// The session that sends is a new one: records wait for the peer's hello on it.
    mutating func awaitHello() { records.awaitHello() }

    /// What passing time leads to.
    enum Advance: Equatable {
        case none
        /// The peer lives and acknowledges nothing: these have failed, and a new stream has to begin (M-19).
        case stalled(failed: [UInt64])
    }

    mutating func advance(_ now: Instant) -> Advance {
        records.advance(now)
        if let resumeAt, resumeAt <= now { self.resumeAt = nil }
        return records.isStalled(now) ? .stalled(failed: records.unfinished) : .none
    }

    /// A new stream begins, with nothing to send.
    mutating func restart(_ stream: UInt32) {
        records = SendStream(id: stream)
        remember(stream)
    }

    /// The next record that window and pacing let go, marked as sent now; `isRepeat` says that it went out before.
    mutating func next(_ pacer: inout RecordPacer, now: Instant) -> (record: Record, isRepeat: Bool)? {
        guard records.wantsToSend else { return nil }
        var pace = pace
        guard pacer.hasRoom else {
            resumeAt = now + Limits.recordRest
            return nil
        }
        guard pace.take(now) else {
            resumeAt = pace.nextToken(now)
            return nil
        }
        if let later = pacer.take(now) {
            resumeAt = later
            return nil
        }
        self.pace = pace
        return records.nextRecord(now)
    }
}

/// The records that a node may send over all of its links (M-13).
struct RecordPacer {
    private var tokens: TokenBucket
    private var sentThisInput = 0

    init(now: Instant) {
        tokens = TokenBucket(perSecond: Limits.recordsPerSecondPerNode, burst: Limits.recordBurstPerNode, now: now)
    }

    /// A new input begins.
    mutating func begin() { sentThisInput = 0 }

    /// Whether more may go out before the socket is read again.
    var hasRoom: Bool { sentThisInput < Limits.recordsPerInput }

    /// Takes what a record costs.
    ///
    /// - Returns: When the next one may go, if this one may not.
    mutating func take(_ now: Instant) -> Instant? {
        guard tokens.take(now) else { return tokens.nextToken(now) }
        sentThisInput += 1
        return nil
    }
}

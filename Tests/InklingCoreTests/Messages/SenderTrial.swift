import InklingWire

@testable import InklingCore

/// A sender in virtual time without a peer. The test supplies the acks.
struct SenderTrial {
    var sender: RecordSender
    var now = Instant.zero
    private var counter: UInt32 = 0

    /// Makes a sender of an up link, whose name was acknowledged a minute ago.
    init(isOnLink: Bool = true) {
        sender = RecordSender(name: "Alice", isOnLink: isOnLink)
        sender.comeUp(now: now)
        sender.peerWasNamed(now: now)
        send()
        ack(1)
        sender.goDown(now: now)
        wait(60)
        sender.comeUp(now: now)
    }

    /// Queues messages, each of one record.
    mutating func enqueue(_ messages: ClosedRange<UInt64>) {
        for message in messages { sender.enqueue(message, text: Array("text \(message)".utf8), now: now) }
    }

    /// Sends all permitted records.
    ///
    /// - Returns: The numbers of the records.
    @discardableResult
    mutating func send() -> [UInt32] { sendRecords().map(\.number) }

    mutating func sendRecords() -> [Record] {
        var records: [Record] = []
        while let record = sender.nextRecord(now) { records.append(record) }
        return records
    }

    /// Applies an ack with `next` and these further records in its bitmap.
    @discardableResult
    mutating func ack(_ next: UInt32, naming named: [UInt32] = []) -> RecordSender.AckEffect {
        counter += 1
        let bitmap = named.reduce(UInt16(0)) { $0 | 1 << UInt16($1 - next - 1) }
        return sender.receive(Ack(next: next, bitmap: bitmap), counter: counter, isTimely: true, now: now)
    }

    /// Applies acks of one record each, until `window` records are in flight.
    mutating func grow(to window: Int) {
        for _ in 0..<100 where sender.window.inFlight < window {
            ack(sender.window.base + 1)
            send()
        }
    }

    /// Lets time pass without running deadlines.
    mutating func wait(_ seconds: Double) { now = now + .nanoseconds(Int64((seconds * 1e9).rounded())) }

    /// Waits for the next deadline and runs it.
    ///
    /// - Returns: The messages that failed.
    @discardableResult
    mutating func runDeadline() -> [UInt64] {
        now = max(now, sender.nextDeadline ?? now)
        return sender.advance(now)
    }

    /// The time until the next deadline in milliseconds; nil if there is none.
    var timer: Double? { sender.nextDeadline.map { Double(($0 - now).nanoseconds) / 1e6 } }
}

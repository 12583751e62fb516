import InklingWire
import SeededRandom

@testable import InklingCore

typealias Seeded = SeededGenerator

extension SeededGenerator {
    /// Near seeds give numbers far apart.
    init(_ seed: UInt64) { self.init(seed: seed &* 0x9E37_79B9_7F4A_7C15) }
}

extension Instant {
    static func seconds(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

    var seconds: Double { Double(nanoseconds) / 1e9 }
}

/// One direction of a link in virtual time, over a channel that loses, delays, reorders and duplicates.
struct RecordExchange {
    struct Channel {
        var loss = 0.0
        var duplication = 0.0
        /// The range of delays in one direction, in milliseconds, drawn for each datagram.
        var delays = 0.5...0.5
    }

    enum Datagram {
        case record(Record)
        case forward(UInt32)
        case ack(Ack, counter: UInt32)
    }

    private struct Travelling: Comparable {
        let arrival: Instant
        let order: Int
        let datagram: Datagram

        static func < (left: Travelling, right: Travelling) -> Bool {
            (left.arrival, left.order) < (right.arrival, right.order)
        }

        static func == (left: Travelling, right: Travelling) -> Bool { left.order == right.order }
    }

    var channel: Channel
    var sender = RecordSender(name: "Alice", isOnLink: true)
    var receiver = RecordReceiver()
    var pools = TextPools<Int, Int, Int>()
    var pacer = RecordPacer<Int>(now: .zero)
    private(set) var now = Instant.zero
    /// The texts that the receiver delivered, in order. The user takes them at once.
    private(set) var texts: [String] = []
    private(set) var names: [String] = []
    private(set) var delivered: [UInt64] = []
    private(set) var stalled: [UInt64] = []
    /// The times and numbers of all record datagrams.
    private(set) var sent: [(at: Instant, number: UInt32)] = []
    /// The largest distance of a sent number from the lowest number without an ack at the sender.
    private(set) var farthest: UInt32 = 0
    private var acknowledged: UInt32 = 0
    private var travelling = Heap<Travelling>()
    private var order = 0
    private var acks: UInt32 = 0
    private var random: Seeded

    init(_ channel: Channel, seed: UInt64) {
        self.channel = channel
        random = Seeded(seed)
        sender.comeUp(now: .zero)
        sender.peerWasNamed(now: .zero)
        receiver.comeUp(now: .zero)
        flush()
    }

    mutating func enqueue(_ message: UInt64, _ text: String) {
        sender.enqueue(message, text: Array(text.utf8), now: now)
        flush()
    }

    mutating func rename(_ name: String) {
        sender.rename(name, now: now)
        flush()
    }

    /// Interrupts the link for a time. Both ends go down, and all datagrams on the way are lost.
    mutating func interrupt(_ duration: Duration) {
        sender.goDown(now: now)
        receiver.goDown(now: now)
        travelling = Heap()
        now = now + duration
        receiver.comeUp(now: now)
        sender.comeUp(now: now)
        flush()
    }

    /// Runs until `isDone` is true, or until `end`.
    mutating func run(until end: Instant, _ isDone: (RecordExchange) -> Bool = { _ in false }) {
        for _ in 0..<1_000_000 {
            guard !isDone(self), let next = nextInstant, next <= end else { return }
            now = max(now, next)
            pacer.socketWasRead()
            if let arriving = travelling.first, arriving.arrival <= now {
                _ = travelling.popFirst()
                arrive(arriving.datagram)
            } else {
                stalled += sender.advance(now)
                receiver.advance(now) { pools.grant($0, to: 1, RecordExchange.friend) }
            }
            flush()
        }
    }

    static let friend = TextPools<Int, Int, Int>.Tenant(standing: .verified, source: nil, secretChat: nil)

    private var nextInstant: Instant? {
        let deadlines = earliest(earliest(sender.nextDeadline, receiver.nextDeadline), pacer.nextDeadline(now))
        return earliest(travelling.first?.arrival, deadlines)
    }

    private mutating func arrive(_ datagram: Datagram) {
        switch datagram {
        case .record(let record):
            let events = receiver.receive(record, now: now) { pools.grant($0, to: 1, RecordExchange.friend) }
            take(events)
        case .forward(let number):
            let events = receiver.receive(forward: number, now: now) { pools.grant($0, to: 1, RecordExchange.friend) }
            take(events)
        case .ack(let ack, let counter):
            guard case .taken(let messages) = sender.receive(ack, counter: counter, isTimely: true, now: now) else {
                // The sender ignores acks that another ack has overtaken.
                preconditionFailure("An ack of the newest datagram goes back.")
            }
            acknowledged = max(acknowledged, ack.next)
            delivered += messages
        }
    }

    private mutating func take(_ events: [RecordEvent]) {
        for event in events {
            switch event {
            case .name(let name): names.append(name)
            case .message(let text):
                texts.append(text)
                pools.take(text.utf8.count, of: 1)
            case .text, .invite, .successor: continue
            }
        }
        travel(.ack(receiver.ack, counter: acks))
        acks += 1
    }

    private mutating func flush() {
        while let number = sender.nextForward(now) { travel(.forward(number)) }
        if sender.wantsToSend { pacer.request(1) }
        while let link = pacer.nextLink(now) {
            guard let record = sender.nextRecord(now) else { continue }
            pacer.sent(link, now: now)
            sent.append((now, record.number))
            farthest = max(farthest, record.number - acknowledged)
            travel(.record(record))
            if sender.wantsToSend { pacer.request(1) }
        }
    }

    private mutating func travel(_ datagram: Datagram) {
        for _ in 0..<(Double.random(in: 0..<1, using: &random) < channel.duplication ? 2 : 1)
        where Double.random(in: 0..<1, using: &random) >= channel.loss {
            let delay = Double.random(in: channel.delays, using: &random)
            order += 1
            travelling.insert(
                Travelling(arrival: now + .nanoseconds(Int64(delay * 1e6)), order: order, datagram: datagram))
        }
    }
}

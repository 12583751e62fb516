import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// A record as it is received, and what is acknowledged then.
struct Arrival: Sendable {
    let number: UInt32
    var flags: String = "FL"
    let next: UInt32
    var bits: [Int] = []

    var bitmap: UInt16 { bits.reduce(0) { $0 | 1 << UInt16($1) } }
}

struct Arrivals: Sendable, CustomTestStringConvertible {
    let name: String
    let arrivals: [Arrival]
    let texts: [String]
    var testDescription: String { name }

    /// F: first of a message, L: last. Each record's text is its number and a full stop.
    static let all: [Arrivals] = [
        .init(
            name: "in order", arrivals: [.init(number: 0, next: 1), .init(number: 1, next: 2)], texts: ["0.", "1."]),
        .init(
            name: "the second first", arrivals: [.init(number: 1, next: 0, bits: [0]), .init(number: 0, next: 2)],
            texts: ["0.", "1."]),
        .init(
            name: "doubled",
            arrivals: [
                .init(number: 0, next: 1), .init(number: 0, next: 1), .init(number: 2, next: 1, bits: [0]),
                .init(number: 2, next: 1, bits: [0]), .init(number: 1, next: 3), .init(number: 2, next: 3),
            ], texts: ["0.", "1.", "2."]),
        .init(
            name: "two holes",
            arrivals: [
                .init(number: 3, next: 0, bits: [2]), .init(number: 1, next: 0, bits: [0, 2]),
                .init(number: 0, next: 2, bits: [0]), .init(number: 2, next: 4),
            ], texts: ["0.", "1.", "2.", "3."]),
        .init(
            name: "the last of the window, and the first beyond it",
            arrivals: [
                .init(number: 15, next: 0, bits: [14]), .init(number: 16, next: 0, bits: [14]),
                .init(number: 17, next: 0, bits: [14]), .init(number: 0, next: 1, bits: [13]),
                .init(number: 16, next: 1, bits: [13, 14]), .init(number: 17, next: 1, bits: [13, 14]),
            ], texts: ["0."]),
        .init(
            name: "numbers near the end of all",
            arrivals: [
                .init(number: .max, next: 0), .init(number: .max - 1, next: 0), .init(number: 1 << 31, next: 0),
                .init(number: 0, next: 1), .init(number: .max, next: 1), .init(number: .max - 15, next: 1),
            ], texts: ["0."]),
        .init(
            name: "a message of three",
            arrivals: [
                .init(number: 0, flags: "F", next: 1), .init(number: 2, flags: "L", next: 1, bits: [0]),
                .init(number: 1, flags: "", next: 3),
            ], texts: ["0.1.2."]),
        .init(
            name: "no first at the beginning",
            arrivals: [
                .init(number: 0, flags: "", next: 1), .init(number: 1, flags: "L", next: 2),
                .init(number: 2, next: 3),
            ], texts: ["2."]),
        .init(
            name: "a first within a message goes with what it would join",
            arrivals: [
                .init(number: 0, flags: "F", next: 1), .init(number: 1, flags: "F", next: 2),
                .init(number: 2, flags: "L", next: 3), .init(number: 3, next: 4),
            ], texts: ["3."]),
        .init(
            name: "a whole message within a message",
            arrivals: [
                .init(number: 0, flags: "F", next: 1), .init(number: 1, flags: "FL", next: 2),
                .init(number: 2, flags: "L", next: 3), .init(number: 3, flags: "F", next: 4),
                .init(number: 4, flags: "L", next: 5),
            ], texts: ["3.4."]),
        .init(
            name: "a last without a first",
            arrivals: [
                .init(number: 0, next: 1), .init(number: 1, flags: "L", next: 2), .init(number: 2, next: 3),
            ], texts: ["0.", "2."]),
    ]
}

@Suite("Streams")
struct StreamTests {
    private static let chat = VirtualLAN.lobby.tag

    // MARK: Receiving

    @Test(
        "each record is answered at once, and messages come once, whole and in order (M-2, M-15, M-16)",
        arguments: Arrivals.all)
    func receives(_ row: Arrivals) throws {
        let peer = try ScriptedPeer.linked()
        for (place, arrival) in row.arrivals.enumerated() {
            peer.clear()
            peer.send(
                record: arrival.number, "\(arrival.number).", first: arrival.flags.contains("F"),
                last: arrival.flags.contains("L"))
            #expect(peer.acks == [Ack(stream: 5_000, next: arrival.next, bitmap: arrival.bitmap)], "arrival \(place)")
        }
        #expect(peer.lan.messages(0) == row.texts)
    }

    @Test(
        "random orders, doubles and gaps deliver the messages once, whole and in order (M-2, M-15, M-16, R26)",
        arguments: 1...12)
    func randomOrders(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let peer = try ScriptedPeer.linked()
        var parts: [(text: String, first: Bool, last: Bool)] = []
        var messages: [String] = []
        while parts.count < 100 {
            let count = Int.random(in: 1...6, using: &generator)
            let pieces = (0..<count).map { "\(messages.count)/\($0) " }
            for (place, piece) in pieces.enumerated() { parts.append((piece, place == 0, place == count - 1)) }
            messages.append(pieces.joined())
        }
        var came: Set<Int> = []
        var next = 0
        while next < parts.count {
            let number = max(0, next + Int.random(in: -6...20, using: &generator))
            guard number < parts.count else { continue }
            peer.clear()
            peer.send(
                record: UInt32(number), parts[number].text, first: parts[number].first, last: parts[number].last)
            if number < next + 16 { came.insert(number) }
            while came.contains(next) { next += 1 }
            let bits = (0..<16).filter { came.contains(next + 1 + $0) }
            let ack = Ack(stream: 5_000, next: UInt32(next), bitmap: bits.reduce(0) { $0 | 1 << UInt16($1) })
            #expect(peer.acks == [ack])
            if Int.random(in: 0..<4, using: &generator) == 0 { peer.run(for: 20) }
        }
        #expect(peer.lan.messages(0) == messages)
    }

    @Test("a message of 65,536 bytes is taken, and one of a byte more is dropped with its rest (M-1, M-2)")
    func longest() throws {
        let peer = try ScriptedPeer.linked()
        func send(_ size: Int, from number: UInt32) -> UInt32 {
            var (left, next) = (size, number)
            while left > 0 {
                let part = min(left, 1_163)
                let text = String(repeating: "x", count: part)
                peer.send(record: next, text, first: left == size, last: part == left)
                (left, next) = (left - part, next + 1)
            }
            #expect(peer.acks.last?.next == next)
            return next
        }
        var next = send(65_536, from: 0)
        #expect(peer.lan.messages(0).map(\.utf8.count) == [65_536])
        peer.run(for: 1_000)
        next = send(65_537, from: next)
        #expect(peer.lan.messages(0).count == 1)
        next = send(80_000, from: next)
        #expect(peer.lan.messages(0).count == 1)
        next = send(3, from: next)
        #expect(peer.lan.messages(0).map(\.utf8.count) == [65_536, 3], "and the next message is whole")
    }

    @Test("messages and acks of another stream, or of stream 0, are ignored (M-8)")
    func otherStreams() throws {
        let peer = try ScriptedPeer.linked()
        for stream in [0, 4_999, 5_001, peer.heldStream, .max] {
            peer.send(record: 0, "foreign", stream: stream)
        }
        #expect(peer.acks.isEmpty)
        #expect(peer.lan.messages(0).isEmpty)
        peer.lan.send(0, "mine")
        peer.poll()
        for stream in [0, peer.heldStream &+ 1, peer.heldStream &- 1, peer.stream, .max] {
            peer.send(ack: 1, bitmap: .max, stream: stream)
        }
        #expect(peer.lan.outcomes(0).isEmpty)
        peer.send(ack: 1)
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil])
    }

    @Test("another own stream in a hello drops what waits for reassembly and begins at record 0 (M-7)")
    func anotherStream() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(record: 0, "a", last: false)
        peer.send(record: 2, "c", first: false)
        peer.sayHello()
        peer.send(record: 1, "b", first: false, last: false)
        #expect(peer.lan.messages(0) == ["abc"], "a hello of the same stream drops nothing")
        peer.send(record: 3, "d", last: false)
        peer.send(record: 5, "f", first: false)
        peer.stream = 6_000
        peer.clear()
        peer.sayHello()
        #expect(peer.hellos.last?.heldStream == 6_000)
        #expect(peer.hellos.last?.nextRecord == 0)
        peer.send(record: 4, "e", first: false, stream: 5_000)
        #expect(peer.acks.isEmpty)
        peer.send(record: 0, "x", first: false, last: false)
        peer.send(record: 1, "y", first: false)
        peer.send(record: 2, "z")
        #expect(peer.lan.messages(0) == ["abc", "z"], "nothing of the old stream is joined")
        #expect(peer.acks.last == Ack(stream: 6_000, next: 3, bitmap: 0))
    }

    // MARK: Hello

    @Test("a hello names both streams and the record expected next (M-3, M-4)")
    func hello() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peer = ScriptedPeer(lan, host: 100)
        try peer.meet()
        #expect(peer.hellos.first.map { [$0.heldStream, $0.nextRecord] } == [0, 0])
        #expect(peer.hellos.last.map { [$0.heldStream, $0.nextRecord] } == [5_000, 0])
        #expect(Set(peer.hellos.map(\.stream)).count == 1)
        #expect(peer.hellos.first?.stream != 0)
        for number in 0..<3 { peer.send(record: UInt32(number), "\(number)") }
        peer.send(record: 4, "4")
        peer.run(for: 100)
        try peer.openUncrossed()
        peer.clear()
        peer.sayHello()
        #expect(peer.hellos.last.map { [$0.heldStream, $0.nextRecord] } == [5_000, 3], "streams outlive sessions")
        #expect(peer.hellos.last?.stream == peer.heldStream)
        peer.send(record: 3, "3")
        #expect(lan.messages(0) == ["0", "1", "2", "3", "4"])
    }

    @Test("streams are random, not 0, and another in each link and after each loss of state (M-3)")
    func numbers() throws {
        var streams: [UInt32] = []
        for run in 1...3 {
            let lan = VirtualLAN()
            for _ in 0..<run { lan.add(identity: 0) }
            let peer = ScriptedPeer(lan, node: run - 1, host: 100)
            try peer.meet()
            peer.settle()
            streams.append(peer.heldStream)
            for _ in 0..<5 {
                lan.send(run - 1, "x")
                peer.poll()
                peer.send([.hello(Hello(run: peer.run, stream: peer.stream, heldStream: 0, nextRecord: 0, name: ""))])
                peer.poll()
                peer.sayHello()
                peer.clear()
                lan.send(run - 1, "y")
                peer.poll()
                #expect(peer.records.map(\.record.number) == [0], "numbered from 0")
                #expect(peer.records.map(\.record.stream) == [peer.heldStream])
                streams.append(peer.heldStream)
            }
        }
        #expect(Set(streams).count == streams.count)
        #expect(!streams.contains(0))
    }

    @Test("a hello that holds the stream acknowledges all before its next record, and sending goes on there (M-5)")
    func helloAcknowledges() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<5 { peer.lan.send(0, "\(number)") }
        peer.poll()
        peer.nextRecord = 3
        peer.sayHello()
        #expect(peer.lan.outcomes(0).map(\.message) == [1, 2, 3])
        #expect(peer.lan.outcomes(0).allSatisfy { $0.failure == nil })
        try peer.openUncrossed()
        peer.clear()
        peer.nextRecord = 4
        peer.sayHello()
        #expect(peer.lan.outcomes(0).map(\.message) == [1, 2, 3, 4])
        #expect(peer.records.map(\.record.number) == [4], "sent again at once on the new session")
        peer.send(ack: 5)
        #expect(peer.lan.outcomes(0).map(\.message) == [1, 2, 3, 4, 5])
    }

    @Test("a hello that an ack has overtaken takes nothing back (M-5, R26)")
    func lateHello() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<5 { peer.lan.send(0, "\(number)") }
        peer.poll()
        let stream = peer.heldStream
        let late = peer.seal([peer.hello], counter: 10)
        peer.send([.ack(Ack(stream: stream, next: 2, bitmap: 0))], counter: 11)
        peer.inject(late)
        peer.poll()
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil, nil], "nothing has failed")
        #expect(peer.heldStream == stream, "and the stream goes on")
        peer.send([.ack(Ack(stream: stream, next: 5, bitmap: 0))], counter: 12)
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil, nil, nil, nil, nil])
        peer.clear()
        peer.lan.send(0, "6")
        peer.poll()
        #expect(peer.records.map(\.record.number) == [5])
    }

    @Test(
        "a hello or an ack of records that were never sent delivers nothing, and loses nothing (M-5, M-17)",
        arguments: [3, 4, 100, UInt32.max - 1, UInt32.max])
    func neverSent(_ next: UInt32) throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<2 { peer.lan.send(0, "\(number)") }
        peer.poll()
        peer.send(ack: next)
        peer.send(ack: next, bitmap: .max)
        #expect(peer.lan.outcomes(0).isEmpty)
        peer.send([.hello(Hello(run: 77, stream: 5_000, heldStream: peer.heldStream, nextRecord: next, name: "Hand"))])
        peer.poll()
        #expect(!peer.lan.outcomes(0).contains { $0.failure == nil }, "never delivered")
        peer.send([.bye(.quit)])
        #expect(peer.lan.outcomes(0).map(\.message).sorted() == [1, 2], "and one outcome each")
    }

    @Test("an ack's bitmap counts for records that were sent, and for no others (M-5, M-12)")
    func bitmaps() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<3 { peer.lan.send(0, "\(number)") }
        peer.poll()
        peer.send(ack: 0, bitmap: .max)
        #expect(peer.lan.outcomes(0).isEmpty, "the first is missing")
        peer.lan.send(0, "3")
        peer.clear()
        peer.send(ack: 1)
        #expect(peer.lan.outcomes(0).map(\.message) == [1, 2, 3])
        peer.run(for: 600)
        #expect(peer.records.map(\.record.number).contains(3), "the fourth was not sent when the bitmap named it")
    }

    @Test(
        "a hello that does not hold the stream fails what was sent, keeps what was not, and starts again (M-6, M-18)",
        arguments: [0, 4_242] as [UInt32])
    func lostState(_ held: UInt32) throws {
        let peer = try ScriptedPeer.linked()
        let old = peer.heldStream
        for number in 0..<20 { peer.lan.send(0, "\(number)") }
        peer.poll()
        peer.send(ack: 2, bitmap: 0b100)
        #expect(peer.records.count == 18)
        let lost = Hello(run: 77, stream: 5_000, heldStream: held, nextRecord: 0, name: "Hand")
        peer.clear()
        peer.send([.hello(lost)])
        peer.poll()
        let outcomes = peer.lan.outcomes(0)
        #expect(outcomes.prefix(2).allSatisfy { $0.failure == nil })
        #expect(outcomes.dropFirst(2).map(\.message) == Array(3...18))
        #expect(outcomes.dropFirst(2).allSatisfy { $0.failure == .lostState })
        #expect(peer.heldStream != old)
        #expect(peer.records.isEmpty, "nothing goes out before the new stream is held")
        peer.sayHello()
        #expect(peer.records.map(\.record.text) == ["18", "19"])
        #expect(peer.records.map(\.record.number) == [0, 1])
        peer.send(ack: 2)
        #expect(peer.lan.outcomes(0).map(\.message) == Array(1...20))
    }

    @Test("a message of which some records went out fails as a whole, and its rest is never sent (M-6)")
    func partlySent() throws {
        let peer = try ScriptedPeer.linked()
        let long = String(repeating: "l", count: 1_163 * 30)
        peer.lan.send(0, long)
        peer.lan.send(0, "next")
        peer.poll()
        #expect(peer.records.count == 16)
        peer.send(ack: 4)
        peer.clear()
        peer.send([.hello(Hello(run: 77, stream: 5_000, heldStream: 0, nextRecord: 0, name: "Hand"))])
        peer.poll()
        peer.sayHello()
        #expect(peer.lan.outcomes(0).map(\.failure) == [.lostState])
        #expect(peer.records.map(\.record.text) == ["next"])
    }

    @Test("a stream of which nothing was ever sent is kept by a hello that does not hold it (M-6)")
    func unusedIsKept() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        let peer = ScriptedPeer(lan, host: 100)
        lan.perform(0) {
            $0.found("x", chat: peer.chat.tag, key: peer.identity.publicKey, addresses: [peer.address], now: $1)
        }
        lan.run(for: .zero)
        try peer.answerNewest()
        let stream = peer.heldStream
        peer.send([.hello(Hello(run: 77, stream: 5_000, heldStream: 0, nextRecord: 0, name: ""))])
        lan.send(0, "early")
        peer.poll()
        #expect(peer.records.isEmpty, "messages wait until the stream is held (L-18)")
        #expect(Set(peer.hellos.map(\.stream)) == [stream])
        peer.sayHello()
        #expect(peer.records.map(\.record.text) == ["early"])
        #expect(lan.outcomes(0).isEmpty)
    }

    @Test("on a new session records wait for the peer's hello, and then go on where they were (M-5, L-18, R26)")
    func newSession() throws {
        let peer = try ScriptedPeer.linked()
        peer.lan.send(0, "one")
        peer.poll()
        try peer.openUncrossed()
        peer.send([.ping(1)], on: peer.sessions[1])
        peer.lan.send(0, "two")
        peer.run(for: 100)
        peer.nextRecord = 0
        peer.clear()
        peer.sayHello()
        peer.run(for: 100)
        let fresh = peer.seen.filter { $0.session === peer.sessions[1] && $0.frames.contains(where: \.isMessage) }
        #expect(fresh.count == peer.records.count)
        #expect(peer.records.contains { $0.record.text == "one" })
        peer.send(ack: 2)
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil, nil])
    }

    // MARK: Sending

    @Test("no record goes out that is 16 above the lowest unacknowledged one (M-10)")
    func window() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<60 { peer.lan.send(0, "\(number)") }
        peer.poll()
        #expect(peer.records.map(\.record.number) == Array(0..<16))
        peer.send(ack: 0, bitmap: 0b111_1111_1111_1110)
        #expect(!peer.records.contains { $0.record.number >= 16 }, "the first is missing still")
        peer.send(ack: 1)
        #expect(peer.records.map(\.record.number).max() == 16)
        peer.send(ack: 16)
        peer.run(for: 20)
        #expect(peer.records.map(\.record.number).max() == 31)
    }

    @Test("an unacknowledged record is sent again after 0.5 s and then each second (M-11)")
    func backOff() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        let start = peer.now
        peer.lan.send(0, "x")
        peer.run(for: 7_000)
        #expect(peer.records.map { $0.at - start } == [0, 500, 1_500, 2_500, 3_500, 4_500, 5_500, 6_500])
        #expect(Set(peer.records.map(\.record)).count == 1, "the same record each time")
        #expect(Set(peer.seen.map(\.counter)).count == peer.seen.count, "under counters of their own")
        #expect(peer.lan.hosts[0].endpoint.counters.retransmissions == 7, "R28")
    }

    @Test(
        "the timeout follows the round trips as RFC 6298 has it (M-11)",
        arguments: [
            ([20], 200), ([60], 200), ([300], 900), ([300, 300], 750), ([300, 300, 500], 862), ([100, 100, 100], 212),
            ([499, 990], 1_000),
        ])
    func roundTrips(_ samples: [Int], _ timeout: Int) throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        for (place, sample) in samples.enumerated() {
            peer.lan.send(0, "\(place)")
            peer.run(for: sample)
            peer.send(ack: UInt32(place + 1))
        }
        #expect(peer.records.count == samples.count, "each was sent once")
        peer.clear()
        let start = peer.now
        peer.lan.send(0, "measured")
        peer.run(for: 6_000)
        #expect(peer.records.dropFirst().first.map { $0.at - start } == timeout)
    }

    @Test("a record sent twice gives no sample, and its ack does not take the longer timeout back (M-11)")
    func karn() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        peer.lan.send(0, "near")
        peer.run(for: 20)
        peer.send(ack: 1)
        let start = peer.now
        peer.clear()
        peer.lan.send(0, "far")
        peer.run(for: 700)
        #expect(peer.records.map { $0.at - start } == [0, 200, 600])
        peer.send(ack: 2)
        peer.clear()
        peer.lan.send(0, "farther")
        peer.run(for: 700)
        #expect(peer.records.count == 1, "the timeout stays at 800 ms until a round trip was measured")
        peer.send(ack: 3)
        peer.clear()
        peer.lan.send(0, "measured")
        peer.run(for: 700)
        #expect(peer.records.count == 1)
    }

    @Test("an ack starts the timer again for what is left, and without any left there is no timer (M-11)")
    func timerRestarts() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        for number in 0..<2 { peer.lan.send(0, "\(number)") }
        peer.run(for: 100)
        peer.clear()
        let start = peer.now
        peer.send(ack: 1)
        peer.run(for: 1_000)
        #expect(peer.records.first.map { $0.at - start } == 300, "RTO of one sample of 100 ms")
        peer.send(ack: 2)
        peer.clear()
        peer.run(for: 8_000)
        #expect(peer.records.isEmpty)
    }

    @Test("a record is sent again at once when three that went out after it are acknowledged, not before (M-12)")
    func fastRetransmit() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<8 { peer.lan.send(0, "\(number)") }
        peer.clear()
        peer.send(ack: 0, bitmap: 0b01)
        peer.send(ack: 0, bitmap: 0b11)
        #expect(peer.records.isEmpty)
        peer.send(ack: 0, bitmap: 0b111)
        #expect(peer.records.map(\.record.number) == [0])
        peer.send(ack: 0, bitmap: 0b1111)
        peer.send(ack: 0, bitmap: 0b111_1111)
        #expect(peer.records.map(\.record.number) == [0], "all of these went out before it was sent again")
        for number in 8..<11 { peer.lan.send(0, "\(number)") }
        peer.clear()
        peer.send(ack: 0, bitmap: 0b11_1111_1111)
        #expect(peer.records.map(\.record.number) == [0], "three after its last transmission")
    }

    @Test("records that were sent again count by when they went out, not by their number (M-12)")
    func overtakenByLower() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<7 { peer.lan.send(0, "\(number)") }
        peer.clear()
        // 4, 5 and 6 have come: 0 to 3 are lost and go out again, in this order. Of these, 0 is lost again.
        peer.send(ack: 0, bitmap: 0b11_1000)
        #expect(peer.records.map(\.record.number) == [0, 1, 2, 3])
        peer.clear()
        peer.send(ack: 0, bitmap: 0b11_1001)
        peer.send(ack: 0, bitmap: 0b11_1011)
        #expect(peer.records.isEmpty)
        peer.send(ack: 0, bitmap: 0b11_1111)
        #expect(peer.records.map(\.record.number) == [0])
    }

    @Test("lower records that were sent again and acknowledged one by one count for those above (M-12)")
    func overtakenByDropped() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<10 { peer.lan.send(0, "\(number)") }
        peer.clear()
        // 0, 1, 2 and 6 are missing; by the acks of 7, 8 and 9 all four are lost and sent again: 0, 1, 2, 6.
        peer.send(ack: 0, bitmap: 0b1_1101_1100)
        #expect(peer.records.map(\.record.number) == [0, 1, 2, 6])
        // New records follow, after which 6 has still not come.
        for number in 10..<13 { peer.lan.send(0, "\(number)") }
        peer.clear()
        peer.send(ack: 3, bitmap: 0)
        #expect(peer.records.isEmpty, "these went out before 6 did")
        peer.send(ack: 6, bitmap: 0b111)
        #expect(peer.records.isEmpty)
        peer.send(ack: 6, bitmap: 0b11_1111)
        #expect(peer.records.map(\.record.number) == [6])
    }

    @Test("a lower record that was sent again later counts, also when its ack moved the window on (M-12)")
    func overtakenAcrossTheWindow() throws {
        let peer = try ScriptedPeer.linked()
        for number in 0..<6 { peer.lan.send(0, "\(number)") }
        peer.clear()
        peer.send(ack: 0, bitmap: 0b1011)
        #expect(peer.records.map(\.record.number) == [0], "1, 2 and 4 have come")
        peer.clear()
        peer.send(ack: 3, bitmap: 0b01)
        #expect(peer.records.isEmpty, "4 and 0 went out after 3")
        peer.send(ack: 3, bitmap: 0b11)
        #expect(peer.records.map(\.record.number) == [3], "and so did 5")
    }

    @Test("a hello acknowledges but tells no round trip (M-5, M-11)")
    func helloIsNoSample() throws {
        let peer = try ScriptedPeer.linked()
        peer.sign = [.pong(1)]
        peer.lan.send(0, "x")
        peer.run(for: 400)
        peer.nextRecord = 1
        peer.sayHello()
        #expect(peer.lan.outcomes(0).map(\.failure) == [nil])
        peer.clear()
        let start = peer.now
        peer.lan.send(0, "y")
        peer.run(for: 1_500)
        #expect(peer.records.map { $0.at - start } == [0, 500, 1_500])
    }
}

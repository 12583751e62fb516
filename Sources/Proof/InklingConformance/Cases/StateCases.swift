import InklingWire

/// The timelines of links.json: the states of a link, and the behaviour of a receiver of records.
extension Catalogue {
    /// Timelines that depend on a single instant, which two processes can't meet.
    private static let instants: Set<String> = [
        "a suspect link goes down at the instant of late evidence", "a pong of a ping 3 s ago is not awaited",
        "other datagrams on a down link draw a ping each 125 ms, and an old token counts for nothing",
        "a second unheard heartbeat counts after 10 s", "an unheard heartbeat within 3 s of coming up changes nothing",
        "a pong of the suspicion brings a down link up",
    ]

    /// Cases for the other timelines of a link's states, without those that take 20 s or more.
    static let stateCases = each(
        of: Vector.stateTimelines.filter { $0.until < .seconds(20) && !instants.contains($0.name) }, from: 201
    ) { trial, vector in
        // Up to three tries, because a busy machine can be late by more than a step of the timeline.
        for _ in 0..<2 {
            do { return try play(vector, trial) } catch is Finding {}
        }
        try play(vector, trial)
    }

    private static func play(_ vector: Vector, _ trial: Trial) throws {
        let program = try trial.start()
        defer { program.signal(.kill) }
        let peer = try trial.peer()
        peer.habits = .quiet
        _ = try peer.openSession(to: program)
        // The first datagram makes the link with the counter 0. So the timeline's counters are one higher here.
        peer.sendPlaintext([0x5A, 0, 0])
        let start = trial.now
        for input in vector.entries("inputs") {
            trial.pump(until: start + input.instant())
            let values = input["frames"]?.array ?? []
            // A ping that the timeline answers may still be on its way.
            let named = values.compactMap { place(of: $0["token"]) }
            let latest = trial.now + .milliseconds(200)
            while programPings(peer).count < named.max() ?? 0, trial.now < latest {
                trial.pump(until: trial.now + .milliseconds(2))
            }
            let pings = programPings(peer).map { $0.ping ?? 0 }
            let frames = try values.map { try frame($0, pings: pings) }
            peer.send(frames, counter: UInt32(input["counter"]?.integer ?? 0) + 1)
        }
        let end = vector.until
        trial.pump(until: start + end + .milliseconds(100))
        try judge(vector, start, end, program, peer)
    }

    /// Returns the pings of the program, without repeats, in the order of their counters.
    private static func programPings(_ peer: Peer) -> [ReceivedFrames] {
        var counters: Set<UInt32> = []
        return peer.received.filter { $0.ping != nil && counters.insert($0.counter).inserted }
            .sorted { $0.counter < $1.counter }
    }

    /// Returns the place, from 1, among the program's pings that a token such as `t1` stands for.
    private static func place(of token: JSONValue?) -> Int? { token?.string.flatMap { Int($0.dropFirst()) } }

    /// Returns a frame of a timeline, with the program's tokens in place of their names.
    private static func frame(_ value: JSONValue, pings: [UInt16]) throws -> Frame {
        func number<Number: FixedWidthInteger>(_ name: String) -> Number {
            value[name]?.integer.flatMap(Number.init(exactly:)) ?? 0
        }
        func token() throws -> UInt16 {
            guard let place = place(of: value["token"]) else { return number("token") }
            guard pings.indices.contains(place - 1) else {
                throw Finding(expected: "\(place) pings of the program", actual: "\(pings.count) came")
            }
            return pings[place - 1]
        }
        let status = Status(
            isTyping: value["typing"] == true, isAway: value["away"] == true, isUnheard: value["unheard"] == true)
        let body = bytes(hex: value["body"]?.string ?? "")
        switch value["type"] {
        case "heartbeat": return .heartbeat(Heartbeat(status: status, interval: number("interval")))
        case "typing": return .typing(status)
        case "ping": return .ping(try token())
        case "pong": return .pong(try token())
        case "ack": return .ack(Ack(next: number("next"), bitmap: number("bitmap")))
        case "forward": return .forward(number("next"))
        case "bye":
            let reasons: [String: ByeReason] = ["quit": .quit, "left": .left, "suspended": .suspended]
            return .bye(reasons[value["reason"]?.string ?? ""] ?? .lastWill)
        case "unknown": return .unknown(type: number("code"), body: body)
        default:
            return .record(
                Record(
                    number: number("number"), type: RecordType(code: number("recordType")),
                    isFirst: value["first"] == true, isLast: value["last"] == true, body: body))
        }
    }

    private static func judge(
        _ vector: Vector, _ start: Duration, _ end: Duration, _ program: Program, _ peer: Peer
    ) throws {
        let (trial, received) = (peer.trial, peer.received)
        // Datagrams due near the end may arrive after it.
        let last = end - .milliseconds(100)
        func times(_ seen: [Duration]) -> String { seen.map { ($0 - start).text }.joined(separator: ", ") }
        func compare(_ what: String, _ seen: [Duration], _ expected: [Duration]) throws {
            let (seen, expected) = (seen.filter { $0 - start < last }, expected.filter { $0 < last })
            let fits = zip(seen, expected).allSatisfy {
                $0 - start >= $1 - trial.early && $0 - start <= $1 + trial.late
            }
            try expect(
                seen.count == expected.count && fits,
                "\(what) at " + (expected.isEmpty ? "no time" : times(expected.map { $0 + start })),
                actual: "\(what) at " + (seen.isEmpty ? "no time" : times(seen)))
        }
        var expected: [String: [Duration]] = [:]
        for entry in vector.entries("expect") {
            if let presence = entry["presence"]?.string { expected[presence, default: []].append(entry.instant()) }
            let kinds = entry["frames"]?.array?.compactMap { $0["type"]?.string } ?? []
            for kind in kinds == ["heartbeat"] ? ["unheard"] : kinds {
                expected[kind, default: []].append(entry.instant())
            }
        }
        try compare("pings", programPings(peer).map(\.at), expected["ping"] ?? [])
        try compare("pongs", received.filter { $0.pong != nil }.map(\.at), expected["pong"] ?? [])
        try compare("byes", received.filter { $0.bye != nil }.map(\.at), expected["bye"] ?? [])
        let alone = received.filter { $0.status?.isUnheard == true && $0.ping == nil && $0.pong == nil }
        try compare("unheard heartbeats", alone.map(\.at), expected["unheard"] ?? [])
        for presence in ["online", "offline"] {
            let events = program.peerEvents(peer.user).filter { $0.value["presence"]?.string == presence }
            try compare("`peer` with \(presence)", events.map(\.at), expected[presence] ?? [])
        }
    }

    /// One case for each timeline of a receiver of records.
    static let recordTimelineCases = each(of: Vector.recordTimelines, from: 301) { trial, vector in
        let (program, peer) = try trial.startLinked(needs: .messages)
        peer.habits.heartbeat = nil
        trial.run(for: .milliseconds(200))
        let start = trial.now
        for input in vector.entries("inputs") {
            trial.pump(until: start + input.instant())
            peer.send([try frame(input["frame"] ?? .null, pings: [])])
        }
        trial.run(for: .milliseconds(400))
        let acks = peer.received(since: start).compactMap(\.ack).map { "next \($0.next), bitmap \($0.bitmap)" }
        let expected = vector.entries("expect")
        let wanted = expected.compactMap { entry in
            entry["ack"]?.integer.map { "next \($0), bitmap \(entry["bitmap"]?.integer ?? 0)" }
        }
        try expect(acks == wanted, "the acks \(wanted)", actual: "\(acks)")
        let texts = expected.compactMap { $0["text"]?.string }
        let shown = program.messages(from: peer.user)
        try expect(shown == texts, "the messages \(texts)", actual: "\(shown)")
    }
}

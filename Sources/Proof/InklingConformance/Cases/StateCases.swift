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
        of: Vector.stateTimelines.filter { (Int($0.values[0]) ?? 0) < 20_000 && !instants.contains($0.name) }, from: 201
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
        for input in vector.parts(1) {
            trial.pump(until: start + .milliseconds(Int(input[0]) ?? 0))
            // A ping that the timeline answers may still be on its way.
            let named = input[2].split(whereSeparator: { ",+".contains($0) }).compactMap { word in
                word.hasPrefix("t") ? Int(word.dropFirst()) : nil
            }
            let latest = trial.now + .milliseconds(200)
            while programPings(peer).count < named.max() ?? 0, trial.now < latest {
                trial.pump(until: trial.now + .milliseconds(2))
            }
            let pings = programPings(peer).map { $0.ping ?? 0 }
            let frames = try input[2].split(separator: "+").map { try frame(String($0), pings: pings) }
            peer.send(frames, counter: (UInt32(input[1]) ?? 0) + 1)
        }
        let end = Duration.milliseconds(Int(vector.values[0]) ?? 0)
        trial.pump(until: start + end + .milliseconds(100))
        try judge(vector, start, end, program, peer)
    }

    /// Returns the pings of the program, without repeats, in the order of their counters.
    private static func programPings(_ peer: Peer) -> [ReceivedFrames] {
        var counters: Set<UInt32> = []
        return peer.received.filter { $0.ping != nil && counters.insert($0.counter).inserted }
            .sorted { $0.counter < $1.counter }
    }

    /// Returns a frame from the notation of the list. The token `t1` stands for the token of the program's first ping.
    private static func frame(_ text: String, pings: [UInt16]) throws -> Frame {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let number = UInt32(words[1]) ?? 0
        func token() throws -> UInt16 {
            guard words[1].hasPrefix("t") else { return UInt16(words[1]) ?? 0 }
            guard let place = Int(words[1].dropFirst()), pings.indices.contains(place - 1) else {
                throw Finding(expected: "\(words[1].dropFirst()) pings of the program", actual: "\(pings.count) came")
            }
            return pings[place - 1]
        }
        let status = Status(
            isTyping: words[1].hasPrefix("1"), isAway: words[1].dropFirst().hasPrefix("1"),
            isUnheard: words[1].hasSuffix("1"))
        switch words[0] {
        case "heartbeat": return .heartbeat(Heartbeat(status: status, interval: UInt8(words[2]) ?? 0))
        case "typing": return .typing(status)
        case "ping": return .ping(try token())
        case "pong": return .pong(try token())
        case "ack": return .ack(Ack(next: number, bitmap: UInt16(words[2]) ?? 0))
        case "forward": return .forward(number)
        case "bye": return .bye(["quit": .quit, "left": .left, "suspended": .suspended][words[1]] ?? .lastWill)
        case "unknown": return .unknown(type: 0x41, body: [])
        default:
            return .record(
                Record(
                    number: number, type: RecordType(code: UInt8(words[2]) ?? 0), isFirst: words[3].hasPrefix("1"),
                    isLast: words[3].hasSuffix("1"), body: bytes(hex: words[4])))
        }
    }

    private static func judge(
        _ vector: Vector, _ start: Duration, _ end: Duration, _ program: Program, _ peer: Peer
    ) throws {
        let received = peer.received
        // Datagrams due near the end may arrive after it.
        let last = end - .milliseconds(100)
        func times(_ seen: [Duration]) -> String { seen.map { ($0 - start).text }.joined(separator: ", ") }
        func compare(_ what: String, _ seen: [Duration], _ expected: [Duration]) throws {
            let (seen, expected) = (seen.filter { $0 - start < last }, expected.filter { $0 < last })
            let fits = zip(seen, expected).allSatisfy {
                $0 - start >= $1 - Trial.early && $0 - start <= $1 + Trial.late
            }
            try expect(
                seen.count == expected.count && fits,
                "\(what) at " + (expected.isEmpty ? "no time" : times(expected.map { $0 + start })),
                actual: "\(what) at " + (seen.isEmpty ? "no time" : times(seen)))
        }
        var expected: [String: [Duration]] = [:]
        for entry in vector.parts(2) {
            let at = Duration.milliseconds(Int(entry[0]) ?? 0)
            for word in entry[1].split(separator: "+") { expected[String(word), default: []].append(at) }
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
        for input in vector.parts(1) {
            trial.pump(until: start + .milliseconds(Int(input[0]) ?? 0))
            peer.send([try frame(input[1], pings: [])])
        }
        trial.run(for: .milliseconds(400))
        let acks = peer.received(since: start).compactMap(\.ack).map { "next \($0.next), bitmap \($0.bitmap)" }
        let expected = vector.parts(2)
        let wanted = expected.filter { $0[1] == "ack" }.map { "next \($0[2]), bitmap \($0[3])" }
        try expect(acks == wanted, "the acks \(wanted)", actual: "\(acks)")
        let texts = expected.filter { $0[1] == "text" }.map { String(decoding: bytes(hex: $0[2]), as: UTF8.self) }
        let shown = program.messages(from: peer.user)
        try expect(shown == texts, "the messages \(texts)", actual: "\(shown)")
    }
}

import InklingWire

/// A published timeline of typing, as its vector lists it.
private struct Timeline {
    /// A typing frame that the peer should see, with its time.
    struct Entry {
        var at: Duration
        var isTyping: Bool
        var isAway = false
        /// The kind of frame: `c` for a copy, `h` for a heartbeat, `m` for a frame with a message. Empty for an edge or
        /// a change.
        var kind = ""
    }

    let vector: Vector
    let until: Duration
    let inputs: [(at: Duration, value: JSONValue)]
    let expected: [Entry]

    init(_ vector: Vector) {
        self.vector = vector
        until = vector.until
        inputs = vector.entries("inputs").map { ($0.instant(), $0) }
        expected = vector.entries("expect").map { value in
            Entry(
                at: value.instant(), isTyping: value["typing"] == true || value["shown"] == true,
                isAway: value["away"] == true,
                kind: (value["frame"] == "heartbeat" ? "h" : "") + (value["copy"] == true ? "c" : "")
                    + (value["with"] == nil ? "" : "m"))
        }
    }

    /// Returns whether an input lies so close to a deadline of another input that two processes can't play it.
    func hingesOn(_ deadline: Duration) -> Bool {
        inputs.contains { later in
            inputs.contains { earlier in
                let gap = later.at - earlier.at - deadline
                return gap > .milliseconds(-20) && gap < .milliseconds(20)
            }
        }
    }

    /// Whether inputs follow each other too fast for two processes.
    var isDense: Bool { zip(inputs, inputs.dropFirst()).contains { $1.at - $0.at < .milliseconds(5) } }

    /// Whether an edge follows its opposite so fast that a slightly late process leaves one out.
    var hasShortTyping: Bool {
        let edges = expected.filter { $0.kind != "h" }
        return zip(edges, edges.dropFirst()).contains {
            $0.isTyping && !$1.isTyping && $1.at - $0.at < .milliseconds(25)
        }
    }
}

extension Catalogue {
    /// Cases for the timelines of the sender, without those that depend on less than 25 ms.
    static let senderCases = eachTimeline(
        of: Vector.senderTimelines.filter {
            !Timeline($0).hingesOn(.milliseconds(2_900)) && !Timeline($0).hingesOn(.milliseconds(500))
                && !Timeline($0).hasShortTyping
        }, from: 1
    ) { trial, timeline in try play(timeline, asSender: trial) }

    /// Cases for the timelines of the receiver, without those that depend on 1 ms.
    static let receiverCases = eachTimeline(
        of: Vector.receiverTimelines.filter { !Timeline($0).hingesOn(.milliseconds(3_000)) && !Timeline($0).isDense },
        from: 101
    ) { trial, timeline in try play(timeline, asReceiver: trial) }

    private static func eachTimeline(
        of vectors: [Vector], from number: Int, _ play: @escaping @Sendable (Trial, Timeline) throws -> Void
    ) -> [Case] {
        each(of: vectors, from: number) { trial, vector in
            // Up to three tries, because a busy machine can be late by more than a step of the timeline.
            for _ in 0..<2 {
                do { return try play(trial, Timeline(vector)) } catch is Finding {}
            }
            try play(trial, Timeline(vector))
        }
    }

    // MARK: The sender

    private static func play(_ timeline: Timeline, asSender trial: Trial) throws {
        let acts = Set(timeline.inputs.compactMap { $0.value["do"]?.string })
        let program = try trial.start(ProgramArguments(chat: trial.chatName))
        defer { program.signal(.kill) }
        try program.need(acts.contains("send") ? [.messages] : [])
        try program.need(acts.contains("away") ? [.away] : [])
        let peer = try trial.peer()
        try peer.open(to: program)
        trial.run(for: .milliseconds(400))

        let start = trial.now
        var field = ""
        for (at, input) in timeline.inputs {
            trial.pump(until: start + at)
            switch input["do"] {
            case "compose":
                field = input["text"]?.string ?? ""
                program.compose(field)
            case "send":
                program.send(field.isEmpty ? "some text" : field)
                field = ""
            default: program.tell(["do": input["do"] ?? .null])
            }
        }
        trial.pump(until: start + timeline.until + .milliseconds(50))
        var seen: [Timeline.Entry] = []
        var records: Set<UInt32> = []
        for datagram in peer.received where datagram.at >= start && datagram.session.state === peer.state {
            guard let status = datagram.status else { continue }
            if let record = datagram.record, record.type != .text || !records.insert(record.number).inserted {
                continue
            }
            let kind = datagram.heartbeat != nil ? "h" : datagram.record != nil ? "m" : ""
            seen.append(
                Timeline.Entry(
                    at: datagram.at - start, isTyping: status.isTyping, isAway: status.isAway, kind: kind))
        }
        // The timeline does not list later datagrams.
        seen = seen.filter { $0.at <= timeline.until }
        let expected = timeline.expected
        try trial.judge(seen.filter { $0.kind != "h" }, expected.filter { $0.kind != "h" }, "typing frame")
        // Heartbeats of an idle node also arrive (T-11).
        try trial.judge(
            seen.filter { $0.kind == "h" && $0.isTyping }, expected.filter { $0.kind == "h" && $0.isTyping },
            "heartbeat that says typing")
        for entry in expected where entry.kind == "h" && !entry.isTyping {
            try expect(
                seen.contains(where: { trial.fits($0, entry) && $0.kind == "h" }),
                "a heartbeat: " + Timeline.text([entry]),
                actual: Timeline.text(seen.filter { $0.kind == "h" }))
        }
    }

    // MARK: The receiver

    private static func play(_ timeline: Timeline, asReceiver trial: Trial) throws {
        let program = try trial.start(ProgramArguments(chat: trial.chatName))
        defer { program.signal(.kill) }
        try program.need(timeline.inputs.contains { $0.value["do"] == "block" } ? [.block] : [])
        let peer = try trial.peer()
        let session = try peer.open(to: program)
        trial.run(for: .milliseconds(300))
        peer.habits = .none
        let base = session.state.nextCounter + 10
        func counter(of input: JSONValue) -> UInt32? { input["counter"]?.integer.flatMap(UInt32.init(exactly:)) }
        // Leaves free counters for pings between the timeline's counters, if the replay window permits.
        let counters = timeline.inputs.compactMap { counter(of: $0.value) }
        let scale: UInt32 = (counters.max() ?? 0) > 500 ? 1 : 32
        var highest = base
        var isGone = false

        let start = trial.now
        var nextPing = start + .milliseconds(500)
        func keepAlive(until end: Duration) {
            while !isGone, nextPing < end {
                trial.pump(until: nextPing)
                highest += 1
                peer.send([.ping(1)], on: session, counter: highest)
                nextPing += .milliseconds(500)
            }
            trial.pump(until: end)
        }
        for (at, input) in timeline.inputs {
            keepAlive(until: start + at)
            if let counter = counter(of: input) {
                let used = base + counter * scale
                highest = max(highest, used)
                peer.send([.typing(Status(isTyping: input["typing"] == true))], on: session, counter: used)
            } else if input["do"] == "bye" {
                peer.send([.bye(.quit)], on: session, counter: highest + 1_000)
                isGone = true
            } else {
                program.tell(["do": "block", "user": .string(peer.user)])
                isGone = true
            }
        }
        keepAlive(until: start + timeline.until + .milliseconds(50))
        let changes = program.typingChanges(of: peer.user, since: start)
        try trial.judge(
            changes.map { Timeline.Entry(at: $0.at - start, isTyping: $0.shown) }, timeline.expected,
            "change of `typing`")
    }
}

extension Trial {
    /// Fails unless a program's entries are those of a timeline.
    fileprivate func judge(_ seen: [Timeline.Entry], _ expected: [Timeline.Entry], _ what: String) throws {
        try expect(
            seen.count == expected.count && zip(seen, expected).allSatisfy({ fits($0, $1) }),
            "each \(what): " + Timeline.text(expected), actual: Timeline.text(seen))
    }

    /// Returns whether a program's entry is that of a timeline, within the tolerance.
    fileprivate func fits(_ seen: Timeline.Entry, _ expected: Timeline.Entry) -> Bool {
        seen.isTyping == expected.isTyping && seen.isAway == expected.isAway
            && (seen.kind == "m") == (expected.kind == "m")
            && seen.at >= expected.at - early && seen.at <= expected.at + late
    }
}

extension Timeline {
    fileprivate static func text(_ entries: [Entry]) -> String {
        entries.isEmpty
            ? "none"
            : entries.map {
                ($0.isTyping ? "on" : "off") + ($0.isAway ? " and away" : "") + " at \($0.at.text)"
                    + ($0.kind == "m" ? " with a message" : "")
            }.joined(separator: ", ")
    }
}

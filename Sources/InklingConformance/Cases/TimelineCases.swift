import InklingWire2

/// A published timeline of typing, as its vector lists it.
private struct Timeline {
    let vector: Vector
    let until: Duration
    let inputs: [(at: Duration, words: [String])]
    /// What is to be seen: when, whether it says typing, and whether a message is in the same datagram.
    let expected: [(at: Duration, isTyping: Bool, hasMessage: Bool)]

    init(_ vector: Vector) {
        self.vector = vector
        func instant(_ word: String?) -> Duration { .milliseconds(word.flatMap { Int($0) } ?? 0) }
        until = instant(vector.values[0])
        inputs = vector.parts(1).map { (instant($0.first), Array($0.dropFirst())) }
        expected = vector.parts(2).filter { !($0.last?.hasPrefix("h") ?? false) }.map { words in
            (instant(words.first), words[1] == "1", words.last?.hasSuffix("m") ?? false)
        }
    }

    /// Whether an input lies so close to a deadline of another one that two processes can't play it.
    func hingesOn(_ deadline: Duration) -> Bool {
        inputs.contains { later in
            inputs.contains { earlier in
                let gap = later.at - earlier.at - deadline
                return gap > .milliseconds(-20) && gap < .milliseconds(20)
            }
        }
    }
}

extension Catalogue {
    /// One case for each timeline of the sender. Left out are those that hinge on less than 20 ms before or after the
    /// end of typing: "an edit 1 ms before the end keeps typing, and one after it begins anew".
    static let senderCases = each(
        of: Vector.senderTimelines.filter { !Timeline($0).hingesOn(.milliseconds(2_900)) }, from: 1
    ) { trial, vector in
        try repeating { try play(Timeline(vector), asSender: trial) }
    }

    /// One case for each timeline of the receiver. Left out are "six lost statuses in a row end nothing" and "a status
    /// that says typing after the end shows it anew", which hinge on 1 ms.
    static let receiverCases = each(
        of: Vector.receiverTimelines.filter { !Timeline($0).hingesOn(.milliseconds(3_000)) }, from: 101
    ) { trial, vector in
        try repeating { try play(Timeline(vector), asReceiver: trial) }
    }

    /// Plays a timeline up to three times: where the machine is late by more than its steps, once is not enough.
    private static func repeating(_ play: () throws -> Void) throws {
        for _ in 0..<2 {
            do { return try play() } catch is Finding {}
        }
        try play()
    }

    // MARK: The sender

    private static func play(_ timeline: Timeline, asSender trial: Trial) throws {
        let words = Set(timeline.inputs.compactMap(\.words.first))
        let program = try trial.start(ProgramArguments(chat: trial.chatName))
        defer { program.signal(.kill) }
        try program.need(words.contains("send") ? [.messages] : [])
        try program.need(words.contains("away") ? [.away] : [])
        let peer = try trial.peer()
        let session = try peer.open(to: program)
        trial.run(for: .milliseconds(400))

        let start = trial.now
        var field = ""
        for (at, words) in timeline.inputs {
            trial.pump(until: start + at)
            switch words.first {
            case "compose":
                field = String(decoding: bytes(hex: words.last ?? ""), as: UTF8.self)
                program.compose(field)
            case "send":
                program.send(field.isEmpty ? "some text" : field)
                field = ""
            default: program.tell(["do": .string(words.first ?? "")])
            }
        }
        trial.pump(until: start + timeline.until + .milliseconds(50))
        let frames = typingFrames(to: peer, on: session, since: start)
        try judge(timeline, frames.map { ($0.at - start, $0.isTyping, $0.hasMessage) }, "typing frame")
    }

    /// The typing frames that came, each record's once.
    private static func typingFrames(
        to peer: Peer, on session: PeerSession, since start: Duration
    ) -> [(at: Duration, isTyping: Bool, hasMessage: Bool)] {
        var records: Set<UInt32> = []
        return peer.received.compactMap { datagram in
            guard datagram.session === session, datagram.at >= start, let status = datagram.typing else { return nil }
            if let record = datagram.record, !records.insert(record.number).inserted { return nil }
            return (datagram.at, status.isTyping, datagram.record != nil)
        }
    }

    // MARK: The receiver

    private static func play(_ timeline: Timeline, asReceiver trial: Trial) throws {
        let program = try trial.start(ProgramArguments(chat: trial.chatName))
        defer { program.signal(.kill) }
        try program.need(timeline.inputs.contains { $0.words == ["block"] } ? [.block] : [])
        let peer = try trial.peer()
        let session = try peer.open(to: program)
        trial.run(for: .milliseconds(300))
        peer.habits = .none
        let base = session.state.nextCounter + 10
        // Room for pings between the counters of the timeline, where the replay window leaves it.
        let counters = timeline.inputs.compactMap { $0.words.count == 3 ? UInt32($0.words[1]) : nil }
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
        for (at, words) in timeline.inputs {
            keepAlive(until: start + at)
            if words.count == 3, let counter = UInt32(words[1]) {
                let used = base + counter * scale
                highest = max(highest, used)
                let status = Status(isTyping: words[2] == "1", isAway: false)
                peer.send([.typing(status)], on: session, counter: used)
            } else if words == ["bye"] {
                peer.send([.bye(.quit)], on: session, counter: highest + 1_000)
                isGone = true
            } else {
                program.tell(["do": "block", "user": .string(peer.user)])
                isGone = true
            }
        }
        keepAlive(until: start + timeline.until + .milliseconds(50))
        let changes = program.typingChanges(of: peer.user, since: start)
        try judge(timeline, changes.map { ($0.at - start, $0.shown, false) }, "change of `typing`")
    }

    // MARK: Judging

    private static func judge(
        _ timeline: Timeline, _ seen: [(at: Duration, isTyping: Bool, hasMessage: Bool)], _ what: String
    ) throws {
        func text(_ entries: [(at: Duration, isTyping: Bool, hasMessage: Bool)]) -> String {
            entries.isEmpty
                ? "none"
                : entries.map {
                    "\($0.isTyping ? "on" : "off") at \($0.at.text)\($0.hasMessage ? " with a message" : "")"
                }.joined(separator: ", ")
        }
        let fits =
            seen.count == timeline.expected.count
            && zip(seen, timeline.expected).allSatisfy { seen, expected in
                seen.isTyping == expected.isTyping && seen.hasMessage == expected.hasMessage
                    && seen.at >= expected.at - Trial.early && seen.at <= expected.at + Trial.late
            }
        guard fits else {
            throw Finding(expected: "each \(what): " + text(timeline.expected), actual: text(seen))
        }
    }
}

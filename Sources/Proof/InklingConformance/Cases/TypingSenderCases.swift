import InklingWire

/// The announcements of the user's typing (T-1 to T-9). The cases also prove R1 to R3 and R8.
extension Catalogue {
    /// Texts that count as typing: each has a visible character and does not begin with a slash (T-3).
    private static let counting = [
        "h", " x", " /x", "x/", "\u{301}", "\u{2800}", "\u{E000}", "👩\u{200D}👩\u{200D}👧", "\u{200B}x",
    ]
    /// Blanks, commands, and texts of invisible characters (T-3).
    private static let notCounting = [
        "", " ", "   ", "\t\n", "\u{A0}\u{3000}\u{2028}\u{2029}", "\u{85}", "/", "/help", "/ x", "\u{200B}",
        "\u{200D}\u{2060}\u{FEFF}", "\u{AD}", "\u{202E}", "\u{FE0F}", "\u{34F}", "\u{3164}", "\u{115F}", "\u{FFFE}",
        "\u{600}", "\u{E0001}", "\u{1}",
    ]

    static let typingSenderCases: [Case] = [
        Case("T-1.1", "no datagram holds the text of the draft, or grows with it") { trial in
            let (program, peer) = try trial.startLinked()
            let drafts = ["secret draft", String(repeating: "never tell anybody this ", count: 60)]
            var sizes: [Set<Int>] = []
            for draft in drafts {
                let start = trial.now
                program.compose(draft)
                try peer.awaitTyping(true)
                trial.run(for: .milliseconds(700))
                let needle = Array(draft.utf8.prefix(10))
                for frames in peer.received(since: start) where frames.plaintext.contains(run: needle) {
                    throw Finding(
                        expected: "no datagram holds the text of the draft",
                        actual: "it holds it: \(frames.plaintext.hex)")
                }
                sizes.append(Set(peer.edges(since: start).map(\.bytes.count)))
                program.compose("")
                try peer.awaitTyping(false)
                trial.run(for: .milliseconds(300))
            }
            try expect(
                sizes[0] == sizes[1], "datagrams of the same sizes for drafts of 12 and 1,440 bytes",
                actual: "they had \(sizes[0].sorted()) and \(sizes[1].sorted()) bytes")
        },
        Case("T-2.1", "each status says whether the user types and is away", also: "T-10", "X-1") { trial in
            let (program, peer) = try trial.startLinked(needs: .away)
            let steps: [(words: String, act: () -> Void, status: UInt8)] = [
                ("`compose` of a text", { program.compose("h") }, 1),
                ("`compose` of an empty text", { program.compose("") }, 0),
                ("`away`", { program.tell(["do": "away"]) }, 2),
                ("`compose` of a text while away", { program.compose("hi") }, 3),
                ("`compose` of an empty text while away", { program.compose("") }, 2),
                ("`back`", { program.tell(["do": "back"]) }, 0),
            ]
            for step in steps {
                step.act()
                try peer.await("the status \(step.status) after \(step.words)") { $0.status?.byte == step.status }
                // The next heartbeat repeats the status, because each status is complete.
                let start = trial.now + .milliseconds(50)
                let next = try peer.await("a heartbeat after \(step.words)", since: start) { $0.heartbeat != nil }
                try expect(
                    next.statusByte == step.status,
                    "the status byte \(step.status) in the heartbeat after \(step.words)", actual: next.plaintext.hex)
            }
        },
        Case("T-3.1", "an edit to a text that counts begins typing") { trial in
            let (program, peer) = try trial.startLinked()
            for text in counting {
                let start = trial.now
                program.compose(text)
                try peer.await("a start after the edit to \(text.named)", within: .seconds(2), since: start) {
                    $0.status?.isTyping == true
                }
                program.compose("")
                try peer.awaitTyping(false)
            }
        },
        Case("T-3.2", "no other text begins typing: empty, blank, a command, or invisible") { trial in
            let (program, peer) = try trial.startLinked()
            for text in notCounting {
                let start = trial.now
                program.compose(text)
                try trial.never(for: .milliseconds(150), "no start after the edit to \(text.named)") {
                    peer.statuses(since: start).contains { $0.status?.isTyping == true }
                }
            }
            program.compose("x")
            try peer.awaitTyping(true)
        },
        Case("T-4.1", "composing the text that is there already does not put off the end", also: "T-9") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("caf\u{E9}")
            let first = try peer.awaitTyping(true)
            for text in ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}", "cafe\u{301}"] {
                trial.run(for: .milliseconds(600))
                program.compose(text)
            }
            let stop = try peer.await("typing ends 2.9 s after the edit", within: .seconds(5), since: start) {
                $0.counter > first.counter && $0.status?.isTyping == false
            }
            try trial.judge("the end of typing", at: stop.at, after: start, is: .milliseconds(2_900))
            let end = trial.now
            program.compose("caf\u{E9}")
            program.compose("cafe\u{301}")
            try trial.never(for: .milliseconds(300), "no start by an equal text after typing has ended") {
                peer.statuses(since: end).contains { $0.counter > stop.counter && $0.status?.isTyping == true }
            }
            program.compose("cafe")
            try peer.awaitTyping(true)
        },
        Case("T-4.2", "typing in one chat does not touch another", also: "J-5") { trial in
            let program = try trial.start(needs: .chats)
            let other = trial.chatName + "-other"
            program.tell(["do": "join", "chat": .string(other)])
            let here = try trial.peer()
            let there = try trial.peer(named: "Bob", in: ChatKeys(open: other))
            try here.open(to: program)
            try there.open(to: program, in: other)
            let start = trial.now
            program.compose("hello", chat: trial.chatName)
            try here.awaitTyping(true)
            try trial.never(for: .milliseconds(600), "no typing in the other chat") {
                there.statuses(since: start).contains { $0.status?.isTyping == true }
            }
            program.compose("hi", chat: other)
            try there.awaitTyping(true)
            let both = trial.now
            program.compose("", chat: other)
            try there.awaitTyping(false)
            try trial.never(for: .milliseconds(600), "typing goes on in the first chat") {
                here.statuses(since: both).contains { $0.status?.isTyping == false }
            }
        },
        Case("T-5.1", "a start is announced at once") { trial in
            let (program, peer) = try trial.startLinked()
            for round in 0..<3 {
                let start = trial.now
                program.compose("text \(round)")
                let frames = try peer.awaitTyping(true)
                try trial.judge("a start", at: frames.at, after: start, is: .zero)
                program.compose("")
                try peer.awaitTyping(false)
                trial.run(for: .milliseconds(700))
            }
        },
        Case("T-5.2", "a second start within 500 ms waits until the first is 500 ms old") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("h")
            program.compose("")
            trial.run(for: .milliseconds(50))
            program.compose("hi")
            trial.run(for: .milliseconds(450) + trial.late)
            let statuses = peer.statuses(since: start)
            let stop = statuses.firstIndex { $0.status?.isTyping == false } ?? 0
            guard stop > 0, let second = statuses[stop...].first(where: { $0.status?.isTyping == true }) else {
                throw Finding(
                    expected: "a start, a stop, and a second start within 750 ms", actual: peer.summary(since: start))
            }
            try trial.judge(
                "the second start", at: second.at, after: start, is: .milliseconds(500), early: .milliseconds(5),
                late: trial.late)
        },
        Case("T-5.3", "rapid typing announces at most two starts a second") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            for round in 0..<60 {
                program.compose(round.isMultiple(of: 2) ? "h" : "")
                trial.run(for: .milliseconds(50))
            }
            let elapsed = trial.now - start
            trial.run(for: .milliseconds(300))
            var starts = 0
            var wasTyping = false
            for frames in peer.statuses(since: start) {
                let isTyping = frames.status?.isTyping ?? false
                if isTyping, !wasTyping { starts += 1 }
                wasTyping = isTyping
            }
            let limit = elapsed.milliseconds / 500 + 2
            try expect(
                (2...limit).contains(starts),
                "2 to \(limit) starts in \(elapsed.text) of edits that change all the time",
                actual: "there were \(starts)")
        },
        Case("T-6.1", "a start and a stop go to each link at once, with copies 30 and 120 ms later", also: "T-7", "T-8")
        { trial in
            let program = try trial.start()
            let peers = [try trial.peer(), try trial.peer(named: "Bob")]
            for peer in peers { try peer.open(to: program) }
            for (text, isTyping) in [("h", true), ("", false)] {
                let start = trial.now
                program.compose(text)
                trial.run(for: .milliseconds(120) + trial.late)
                for peer in peers {
                    let frames = peer.edges(since: start)
                    try expect(
                        frames.count == 3 && frames.allSatisfy({ $0.typing?.isTyping == isTyping }),
                        "three typing frames that say \(isTyping ? "a start" : "a stop") in 370 ms",
                        actual: frames.isEmpty ? "none came" : frames.map { $0.frames[0].word }.joined(separator: ", "))
                    for (frame, delay) in zip(frames, [0, 30, 120]) {
                        try trial.judge(
                            "\(isTyping ? "a start" : "a stop") or its copy", at: frame.at, after: start,
                            is: .milliseconds(delay), early: .milliseconds(5))
                    }
                    try expect(
                        Set(frames.map(\.counter)).count == 3, "each copy under its own counter",
                        actual: "two have the same")
                }
                trial.run(for: .milliseconds(300))
            }
        },
        Case("T-7.1", "a new edge cancels the copies of the one before") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("h")
            program.compose("")
            trial.run(for: .milliseconds(700))
            let frames = peer.edges(since: start)
            guard let stop = frames.firstIndex(where: { $0.typing?.isTyping == false }), stop > 0 else {
                throw Finding(expected: "a start and then a stop", actual: peer.summary(since: start))
            }
            let after = frames[stop...]
            try expect(
                after.count == 3 && after.allSatisfy({ $0.typing?.isTyping == false }),
                "a stop and its two copies after the start, and none of the start's",
                actual: after.map { $0.frames[0].word }.joined(separator: ", "))
        },
        Case("T-7.2", "a copy carries the state of its own moment", also: "T-2") { trial in
            let (program, peer) = try typist(trial, needs: .away)
            let start = trial.now
            program.compose("")
            program.tell(["do": "away"])
            trial.run(for: .milliseconds(120) + trial.late)
            let statuses = peer.statuses(since: start)
            guard let away = statuses.firstIndex(where: { $0.status?.isAway == true }) else {
                throw Finding(expected: "a status that says away", actual: peer.summary(since: start))
            }
            try expect(
                statuses[away...].allSatisfy({ $0.statusByte == 2 }),
                "only statuses that say away, after the first that did",
                actual: statuses.compactMap { $0.statusByte.map(String.init) }.joined(separator: ", "))
        },
        Case("T-8.1", "while typing is announced a heartbeat goes out every 500 ms, and no typing frame") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("h")
            let edge = try peer.awaitTyping(true)
            for round in 0..<16 {
                program.compose("text \(round)")
                trial.run(for: .milliseconds(250))
            }
            let heartbeats = peer.received(since: edge.at).filter {
                $0.heartbeat != nil && $0.pong == nil && $0.ping == nil && $0.counter > edge.counter
            }
            for number in 1...7 {
                let due = Duration.milliseconds(500 * number)
                let fits = heartbeats.contains {
                    $0.at >= start + due - trial.early && $0.at <= edge.at + due + trial.late
                        && $0.status?.isTyping == true
                }
                try expect(
                    fits, "a heartbeat with typing \(due.text) after the edge, within −30 ms and +250 ms",
                    actual: "they came after " + heartbeats.map { ($0.at - edge.at).text }.joined(separator: ", "))
            }
            try expect(heartbeats.count <= 10, "8 heartbeats in 4 s", actual: "\(heartbeats.count) came")
            let frames = peer.edges(since: start)
            try expect(
                frames.count <= 3, "no typing frames but the start and its two copies", actual: "\(frames.count) came")
            if peer.statuses(since: edge.at).contains(where: {
                $0.counter > edge.counter && $0.status?.isTyping == false
            }) {
                throw Finding(expected: "typing goes on as long as the edits do", actual: peer.summary(since: edge.at))
            }
        },
        Case("T-9.1", "typing ends 2.9 s after the last edit") { trial in
            let (program, peer) = try trial.startLinked()
            program.compose("h")
            try peer.awaitTyping(true)
            trial.run(for: .milliseconds(1_200))
            let start = trial.now
            program.compose("hi")
            let stop = try peer.awaitTyping(false, within: .seconds(6))
            try trial.judge("the end of typing", at: stop.at, after: start, is: .milliseconds(2_900))
        },
    ]
}

extension ReceivedFrames {
    /// The byte of the status, including its undefined bits (X-1).
    var statusByte: UInt8? {
        guard let first = frames.first else { return nil }
        switch first {
        case .heartbeat, .typing: return plaintext[1]
        default: return status?.byte
        }
    }
}

extension String {
    /// The text for a report. If a scalar is invisible, the result lists the scalars.
    var named: String {
        if !isEmpty, unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F }) { return "`\(self)`" }
        return isEmpty
            ? "the empty text"
            : unicodeScalars.map { "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}

extension [UInt8] {
    /// Returns whether these bytes occur one after another.
    func contains(run bytes: [UInt8]) -> Bool {
        guard !bytes.isEmpty, count >= bytes.count else { return bytes.isEmpty }
        return (0...(count - bytes.count)).contains { self[$0..<($0 + bytes.count)].elementsEqual(bytes) }
    }
}

/// The end of announced typing (T-10). The cases also prove R4 to R6.
extension Catalogue {
    /// Starts a program with one link, whose user types. The start and its copies have been sent.
    static func typist(_ trial: Trial, needs features: Feature...) throws -> (program: Program, peer: Peer) {
        let program = try trial.start()
        try program.need(features)
        let peer = try trial.peer()
        try peer.open(to: program)
        program.compose("hello")
        try peer.awaitTyping(true)
        trial.run(for: .milliseconds(200))
        return (program, peer)
    }

    /// Fails unless the program announces the end of typing at once, and no other status for a second.
    private static func expectStop(
        _ trial: Trial, _ peer: Peer, after what: String, endsByBye: Bool = false, _ act: () -> Void
    ) throws {
        let start = trial.now
        act()
        let isStop = { (frames: ReceivedFrames) in
            frames.status?.isTyping == false || endsByBye && frames.bye != nil
        }
        let stop = try peer.await("the end of typing at once after \(what)", within: .seconds(3), where: isStop)
        try trial.judge("the end of typing, \(what),", at: stop.at, after: start, is: .zero)
        let words = "no typing is announced after \(what)"
        try trial.never(for: .seconds(1), words, actual: { peer.summary(since: start) }) {
            peer.received(since: start).contains {
                $0.session === stop.session && $0.counter > stop.counter && $0.status?.isTyping == true
            }
        }
    }

    static let typingEndCases: [Case] = [
        Case("T-10.1", "typing ends at once on sending", also: "J-5") { trial in
            let (program, peer) = try typist(trial, needs: .messages)
            try expectStop(trial, peer, after: "`send`") { program.send("hello") }
        },
        Case("T-10.2", "typing ends at once on an edit to a text that does not count") { trial in
            let (program, peer) = try typist(trial)
            for text in ["", "   ", "/help", "\u{200B}"] {
                try expectStop(trial, peer, after: "an edit to \(text.named)") { program.compose(text) }
                program.compose("hello again")
                try peer.awaitTyping(true)
            }
        },
        Case("T-10.3", "typing ends at once on opening another chat") { trial in
            let (program, peer) = try typist(trial, needs: .chats)
            let other = trial.chatName + "-other"
            program.tell(["do": "join", "chat": .string(other)])
            try expectStop(trial, peer, after: "`open` of another chat") {
                program.tell(["do": "open", "chat": .string(other)])
            }
        },
        Case("T-10.4", "typing ends at once on leaving the chat") { trial in
            let (program, peer) = try typist(trial, needs: .chats)
            try expectStop(trial, peer, after: "`leave`", endsByBye: true) {
                program.tell(["do": "leave", "chat": .string(trial.chatName)])
            }
        },
        Case("T-10.5", "typing ends at once on going away", also: "T-21") { trial in
            let (program, peer) = try typist(trial, needs: .away)
            try expectStop(trial, peer, after: "`away`") { program.tell(["do": "away"]) }
        },
        Case("T-10.6", "typing ends at once on suspending, and does not come back by itself") { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer, .suspend)
            try peer.awaitLink(from: program)
            program.compose("hello")
            try peer.awaitTyping(true)
            try expectStop(trial, peer, after: "SIGTSTP", endsByBye: true) { program.signal(.terminalStop) }
            let start = trial.now
            program.signal(.resume)
            try peer.await("record 0 after SIGCONT", within: .seconds(10), since: start) { $0.name != nil }
            try trial.never(for: .milliseconds(700), "no typing after SIGCONT", actual: { peer.summary(since: start) })
            {
                peer.received(since: start).contains { $0.status?.isTyping == true }
            }
        },
        Case("T-10.7", "typing ends at once on quitting") { trial in
            let (program, peer) = try typist(trial)
            try expectStop(trial, peer, after: "SIGTERM", endsByBye: true) { program.signal(.terminate) }
        },
        Case("T-10.8", "a start that is due is dropped when typing ends before", also: "T-5") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            for text in ["h", "", "hi", ""] { program.compose(text) }
            trial.run(for: .milliseconds(1_200))
            let statuses = peer.statuses(since: start)
            guard let first = statuses.firstIndex(where: { $0.status?.isTyping == true }),
                let stop = statuses[first...].firstIndex(where: { $0.status?.isTyping == false })
            else { throw Finding(expected: "a start and a stop", actual: peer.summary(since: start)) }
            if let late = statuses[stop...].first(where: { $0.status?.isTyping == true }) {
                throw Finding(
                    expected: "no second start: the text was emptied while it was due",
                    actual: "one came after \((late.at - start).text)")
            }
            program.compose("hello")
            try peer.awaitTyping(true)
        },
    ]
}

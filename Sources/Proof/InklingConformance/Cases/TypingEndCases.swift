import InklingWire

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

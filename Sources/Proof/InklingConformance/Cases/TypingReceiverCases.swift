import InklingWire

/// The times at which the program shows a peer as typing (T-13 to T-18). The cases also prove R10 and R15.
extension Catalogue {
    private static let typing = Status(isTyping: true, isAway: false)
    private static let idle = Status(isTyping: false, isAway: false)

    /// Starts a program and a peer with a link. The peer sends no heartbeats by itself.
    private static func linked(_ trial: Trial, needs features: Feature...) throws -> (program: Program, peer: Peer) {
        let program = try trial.start()
        try program.need(features)
        let peer = try trial.peer()
        try peer.open(to: program)
        peer.stopHeartbeats()
        return (program, peer)
    }

    /// Makes the program show the peer as typing by a single status.
    ///
    /// - Returns: The time of sending.
    private static func showTyping(_ trial: Trial, _ program: Program, _ peer: Peer) throws -> Duration {
        let start = trial.now
        peer.announce(typing: true)
        try program.awaitTyping(true, of: peer.user)
        return start
    }

    /// Fails unless the program shows the peer as typing, and keeps doing so for a while.
    private static func expectShown(
        _ isShown: Bool, _ trial: Trial, _ program: Program, _ peer: Peer,
        for duration: Duration = .milliseconds(300), _ why: String
    ) throws {
        let words = "`typing` \(isShown ? "still shows" : "does not show") the peer: \(why)"
        try trial.never(for: duration, words, actual: { "it \(isShown ? "no longer does" : "does")" }) {
            program.shows(typing: peer.user) != isShown
        }
    }

    static let typingReceiverCases: [Case] = [
        Case("T-13.1", "a status under a lower counter neither ends typing nor revives it") { trial in
            let (program, peer) = try linked(trial)
            let base = peer.sending?.state.nextCounter ?? 0
            peer.status = typing
            peer.send([.typing(typing)], counter: base + 5)
            try program.awaitTyping(true, of: peer.user)
            peer.send([.typing(idle)], counter: base + 3)
            try expectShown(true, trial, program, peer, "the stop came under a lower counter than the start")
            peer.send([.typing(idle)], counter: base + 8)
            peer.status = idle
            try program.awaitTyping(false, of: peer.user)
            peer.send([.typing(typing)], counter: base + 7)
            peer.send([.heartbeat(Heartbeat(status: typing, interval: 10))], counter: base + 6)
            try expectShown(false, trial, program, peer, "the starts came under lower counters than the stop")
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
        },
        Case("T-13.2", "a doubled start does not revive typing") { trial in
            let (program, peer) = try linked(trial)
            let start = peer.send([.typing(typing)])
            try program.awaitTyping(true, of: peer.user)
            peer.announce(typing: false)
            try program.awaitTyping(false, of: peer.user)
            peer.sendBytes(start, to: program.address)
            try expectShown(false, trial, program, peer, "the start had come before")
            _ = try showTyping(trial, program, peer)
        },
        Case("T-13.3", "an unheard status still counts as the highest", also: "L-45") { trial in
            let (program, peer) = try linked(trial)
            let base = peer.state.nextCounter
            peer.send([.unheard], counter: base + 5)
            try peer.ping()
            peer.send([.typing(typing)], counter: base + 3)
            try expectShown(false, trial, program, peer, "an unheard status had come under a higher counter")
            _ = try showTyping(trial, program, peer)
        },
        Case("T-13.4", "counters decide, and not sessions, which status is the newest", also: "L-70") { trial in
            let (program, peer) = try linked(trial)
            let older = peer.sending
            try peer.openAnother(to: program)
            peer.stopHeartbeats()
            try peer.ping()
            let base = peer.state.nextCounter
            peer.send([.typing(idle)], counter: base + 5)
            peer.send([.typing(typing)], on: older, counter: base + 3)
            try expectShown(false, trial, program, peer, "the start came under a lower counter")
            peer.send([.typing(typing)], on: older)
            try program.awaitTyping(true, of: peer.user)
            peer.send([.typing(idle)])
            try program.awaitTyping(false, of: peer.user)
        },
        Case("T-13.5", "a stop with a message on an older session ends typing before the message shows", also: "M-9") {
            trial in
            let (program, peer) = try linked(trial, needs: .messages)
            let older = peer.sending
            try peer.openAnother(to: program)
            peer.stopHeartbeats()
            _ = try showTyping(trial, program, peer)
            let record = Record(number: 1, text: "sent")
            peer.send([.typing(idle), .record(record)], on: older)
            peer.status = idle
            try program.await("message")
            try expect(
                !program.shows(typing: peer.user), "typing has ended when the message shows",
                actual: "the last `typing` before the message still had the peer")
        },
        Case("T-13.6", "a late message with a stop does not end typing that began after it") { trial in
            let (program, peer) = try linked(trial, needs: .messages)
            let base = peer.sending?.state.nextCounter ?? 0
            peer.status = typing
            peer.send([.typing(typing)], counter: base + 5)
            try program.awaitTyping(true, of: peer.user)
            let record = Record(number: 1, text: "late")
            peer.send([.typing(idle), .record(record)], counter: base + 2)
            try program.await("message")
            try expectShown(true, trial, program, peer, "the message was sent before typing began")
            peer.announce(typing: false)
            try program.awaitTyping(false, of: peer.user)
        },
        Case("T-13.7", "a status beyond the rate of its link counts as the highest", also: "L-25", load: .heavy) {
            trial in
            let (program, peer) = try linked(trial)
            peer.stopHeartbeats()
            peer.exceedRate()
            let base = peer.state.nextCounter
            peer.send([.typing(idle)], counter: base + 5)
            trial.run(for: .milliseconds(500))
            peer.send([.typing(typing)], counter: base + 3)
            try expectShown(false, trial, program, peer, "a status had come under a higher counter")
            _ = try showTyping(trial, program, peer)
        },
        Case("T-14.1", "a status shows at once, be it in a typing frame or a heartbeat") { trial in
            let (program, peer) = try linked(trial)
            for isHeartbeat in [false, true] {
                for status in [typing, idle] {
                    peer.status = status
                    let start = trial.now
                    peer.send([isHeartbeat ? .heartbeat(Heartbeat(status: status, interval: 10)) : .typing(status)])
                    let at = try program.awaitTyping(status.isTyping, of: peer.user)
                    try trial.judge("the change of `typing`", at: at, after: start, is: .zero)
                    trial.run(for: .milliseconds(50))
                }
            }
        },
        Case("T-14.2", "a bye ends the typing that is shown at once", also: "L-34") { trial in
            let (program, peer) = try linked(trial)
            _ = try showTyping(trial, program, peer)
            let start = trial.now
            peer.send([.bye(.quit)])
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: start, is: .zero)
            try program.awaitPresence("offline", of: peer.user)
        },
        Case("T-14.3", "a last will ends the typing that is shown at once", also: "W-21") { trial in
            let (program, peer) = try linked(trial)
            _ = try showTyping(trial, program, peer)
            let start = trial.now
            peer.send([.bye(.lastWill)], counter: Limits.lastWillCounter)
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: start, is: .zero)
        },
        Case("T-14.4", "to block a person ends the typing that is shown at once", also: "L-36") { trial in
            let (program, peer) = try linked(trial, needs: .block)
            _ = try showTyping(trial, program, peer)
            let start = trial.now
            program.tell(["do": "block", "user": .string(peer.user)])
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: start, is: .zero)
        },
        Case("T-14.5", "to leave the chat ends the typing that is shown at once") { trial in
            let (program, peer) = try linked(trial, needs: .chats)
            _ = try showTyping(trial, program, peer)
            let start = trial.now
            program.tell(["do": "leave", "chat": .string(trial.chatName)])
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: start, is: .zero)
        },
        Case("T-14.6", "typing ends when the link goes down before its 3 s are over", also: "L-45") { trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .settled)
            _ = try showTyping(trial, program, peer)
            peer.habits = .none
            let start = trial.now
            peer.send([.unheard])
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing with the link", at: at, after: start, is: .milliseconds(625))
        },
        Case("T-15.1", "typing ends 3.0 s after the last status, whatever else comes") { trial in
            let (program, peer) = try linked(trial)
            let start = try showTyping(trial, program, peer)
            peer.habits.answersPings = false
            while trial.now < start + .milliseconds(2_600) {
                trial.run(for: .milliseconds(400))
                peer.send([.ping(1)])
            }
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: start, is: .seconds(3))
        },
        Case("T-15.2", "each status that says typing begins the 3.0 s again") { trial in
            let (program, peer) = try linked(trial)
            let start = try showTyping(trial, program, peer)
            var last = start
            while trial.now < start + .milliseconds(3_500) {
                trial.run(for: .milliseconds(500))
                last = trial.now
                peer.send([peer.heartbeatFrame])
                try expect(
                    program.shows(typing: peer.user), "typing shows while a status says so every 500 ms",
                    actual: "it ended \((trial.now - start).text) after the start")
            }
            // Old copies of an edge must change nothing. The peer answers no pings, because its pongs would still
            // report typing.
            peer.habits.answersPings = false
            let at = try program.awaitTyping(false, of: peer.user)
            try trial.judge("the end of typing", at: at, after: last, is: .seconds(3))
            try expect(
                program.typingChanges(of: peer.user).count == 2, "typing is shown once and ends once",
                actual: "it changed \(program.typingChanges(of: peer.user).count) times")
        },
        Case("T-16.1", "starts beyond ten a second are not shown, and ends always are") { trial in
            let (program, peer) = try linked(trial)
            peer.stopHeartbeats()
            // The rate of lists (T-22) hides dropped starts, except a last one. One start in 25 arrives just when
            // another is permitted.
            for round in 1...3 {
                for _ in 0..<15 {
                    peer.announce(typing: true)
                    trial.run(for: .milliseconds(2))
                    peer.announce(typing: false)
                    trial.run(for: .milliseconds(2))
                }
                peer.announce(typing: true)
                trial.run(for: .milliseconds(200) + trial.late)
                guard let last = program.typingChanges(of: peer.user).last else {
                    throw Finding(expected: "the first of 16 starts is shown", actual: "none was")
                }
                if !last.shown { break }
                try expect(
                    round < 3, "of 16 starts within less than half a second the last is not shown",
                    actual: "it was, three times")
                peer.announce(typing: false)
                try program.awaitTyping(false, of: peer.user)
                trial.run(for: .milliseconds(500))
            }
            peer.announce(typing: false)
            trial.run(for: .milliseconds(400))
            _ = try showTyping(trial, program, peer)
        },
        Case("T-22.1", "of many changes of who types at most 20 a second are told, the first at once") { trial in
            let program = try trial.start()
            let peers = try (1...4).map { try trial.peer(named: "Peer \($0)") }
            for peer in peers {
                try peer.open(to: program)
                peer.stopHeartbeats()
            }
            let start = trial.now
            peers[0].announce(typing: true)
            try program.awaitTyping(true, of: peers[0].user)
            try trial.judge("the first `typing`", at: trial.now, after: start, is: .zero)
            // Each peer sends as many starts as T-16 permits.
            for _ in 0..<20 {
                for peer in peers {
                    for isTyping in [false, true] {
                        peer.announce(typing: isTyping)
                        trial.run(for: .milliseconds(12))
                    }
                }
            }
            for peer in peers { peer.announce(typing: false) }
            peers[1].announce(typing: true)
            try trial.wait(
                .milliseconds(50) + trial.late, for: "the last state of all",
                when: {
                    peers.allSatisfy { program.shows(typing: $0.user) == ($0 === peers[1]) }
                })
            let span = trial.now - start
            let count = program.events("typing", since: start).count
            let limit = 20 + 20 * span.milliseconds / 1_000 + 1
            try expect(count <= limit, "at most \(limit) lists in \(span.text)", actual: "\(count)")
        },
        Case("T-26.1", "of many changes of a presence at most 20 a second are told, the first at once") { trial in
            let (program, peer) = try linked(trial)
            let other = try trial.peer(named: "Other")
            try other.open(to: program)
            trial.run(for: .milliseconds(1_200))
            let start = trial.now
            peer.announce(away: true)
            try program.awaitPresence("away", of: peer.user)
            try trial.judge("the first change", at: trial.now, after: start, is: .zero)
            for number in 0..<150 {
                peer.announce(away: number % 2 == 1)
                trial.run(for: .milliseconds(8))
            }
            let middle = trial.now
            other.announce(away: true)
            try program.awaitPresence("away", of: other.user)
            try trial.judge("the first change of another", at: trial.now, after: middle, is: .zero)
            peer.announce(away: false)
            try program.awaitPresence("online", of: peer.user)
            trial.run(for: .milliseconds(100))
            let span = trial.now - start
            let count = program.peerEvents(peer.user, since: start).count
            let limit = 21 + 20 * span.milliseconds / 1_000 + 1 + span.milliseconds / 1_000
            try expect(
                count <= limit && program.presence(of: peer.user) == "online",
                "at most \(limit) changes in \(span.text), and the last one says online",
                actual: "\(count) changes, and \(program.presence(of: peer.user) ?? "none")")
        },
        Case("T-17.1", "nothing of the own identity is shown", also: "D-14") { trial in
            let peer = try trial.peer()
            peer.habits.answersAsks = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let ask = try trial.wait(
                .seconds(3), for: "an ask to the address added by hand", until: { peer.asks.first })
            peer.tell(ask.value, to: ask.source, key: program.key)
            let words = "no link with the own key, and nothing of it is shown"
            try trial.never(for: .seconds(1), words) {
                !peer.initiations.isEmpty || !program.peerEvents(program.user).isEmpty
            }
            let other = try trial.peer(named: "Bob")
            try other.open(to: program)
            other.announce(typing: true)
            try program.awaitTyping(true, of: other.user)
        },
        Case("T-17.2", "a person with the user's own name is shown like any other") { trial in
            let program = try trial.start()
            let peers = [try trial.peer(named: "Subject"), try trial.peer(named: "Subject")]
            for peer in peers {
                try peer.open(to: program)
                peer.announce(typing: true)
            }
            for peer in peers { try program.awaitTyping(true, of: peer.user) }
        },
        Case("T-18.1", "a deadline that has passed runs before the input that waited", also: "T-9") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("h")
            try peer.awaitTyping(true)
            trial.run(for: .milliseconds(500))
            program.signal(.stop)
            trial.run(for: .milliseconds(1_900))
            program.compose("hi")
            trial.pump(until: start + .milliseconds(3_400))
            let resumed = trial.now
            program.signal(.resume)
            let words = "a stop after SIGCONT: the text had not changed for 2.9 s when the edit was read"
            let stop = try peer.await(words, within: .seconds(1), since: resumed) { $0.status?.isTyping == false }
            try peer.await("a start by the edit that waited", since: resumed) {
                $0.counter > stop.counter && $0.status?.isTyping == true
            }
        },
    ]
}

import InklingWire

/// The reports on sent messages: M-17 to M-19.
extension Catalogue {
    /// Starts a program with a message that a peer has received but does not acknowledge.
    private static func waiting(_ trial: Trial, needs features: Feature...) throws -> (program: Program, peer: Peer) {
        let program = try trial.start(needs: .messages)
        try program.need(features)
        return (program, try waiting(trial, program))
    }

    /// Returns another peer that has received a message of the program but does not acknowledge it.
    private static func waiting(_ trial: Trial, _ program: Program) throws -> Peer {
        let peer = try trial.peer()
        try peer.open(to: program)
        peer.habits.acknowledges = false
        program.send("hello")
        try peer.await("the message") { $0.text != nil }
        return peer
    }

    /// Fails unless the outcomes for a person are these, and stay the same for a while.
    private static func expectOutcomes(
        _ expected: [String], _ trial: Trial, _ program: Program, _ user: String, _ why: String
    ) throws {
        let words = { program.outcomes(for: user).map { $0.kind + ($0.why.map { " " + $0 } ?? "") } }
        trial.run(for: .milliseconds(300))
        try expect(words() == expected, "the outcomes \(expected), \(why)", actual: "\(words())")
    }

    private static func expectSent(to count: Int, _ program: Program) throws {
        let sent = try program.await("sent")
        try expect(sent.value["to"]?.integer == count, "`to` is \(count)", actual: program.describe(sent.value))
    }

    static let outcomeCases: [Case] = [
        Case("M-17.1", "each person has one outcome of a message", also: "J-6") { trial in
            let program = try trial.start(needs: .messages)
            let good = try trial.peer()
            let bad = try trial.peer(named: "Bob")
            for peer in [good, bad] { try peer.open(to: program) }
            bad.habits.acknowledges = false
            program.send("hello", tag: "both")
            try expectSent(to: 2, program)
            try program.awaitDelivered(to: good.user)
            bad.bye(.quit)
            try program.awaitFailure("bye", for: bad.user)
            good.sendAck()
            good.bye(.quit)
            try program.awaitPresence("offline", of: good.user)
            try expectOutcomes(["delivered"], trial, program, good.user, "as it acknowledged the message")
            try expectOutcomes(["failed bye"], trial, program, bad.user, "as it said bye before")
        },
        Case("M-17.2", "a message is delivered when all its records are acknowledged, not before") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            program.send(String(repeating: "x", count: 3 * 1_167))
            try trial.wait(.seconds(3), for: "three records", when: { peer.distinctTexts.count >= 3 })
            let last = peer.distinctTexts.map(\.number).max() ?? 0
            peer.send([.ack(Ack(next: last - 1))])
            peer.send([.ack(Ack(next: last, bitmap: 0))])
            peer.send([.ack(Ack(next: last, bitmap: 0b10))])
            try expectOutcomes([], trial, program, peer.user, "as one record or another is missing")
            peer.send([.ack(Ack(next: last + 1))])
            try program.awaitDelivered(to: peer.user)
            try expectOutcomes(["delivered"], trial, program, peer.user, "as all records are acknowledged")
        },
        Case("M-17.3", "one link of a person that acknowledges is enough", also: "T-19") { trial in
            let program = try trial.start(needs: .messages)
            let first = try trial.peer()
            let second = try trial.peer(identity: first.identity)
            for peer in [first, second] { try peer.open(to: program) }
            first.habits.acknowledges = false
            program.send("hello")
            try expectSent(to: 1, program)
            try program.awaitDelivered(to: first.user)
            first.bye(.quit)
            try expectOutcomes(["delivered"], trial, program, first.user, "whatever becomes of the other link")
        },
        Case(
            "M-17.4", "a message fails when no link of the person is left, with the reason of the last one",
            also: "M-18"
        ) { trial in
            let program = try trial.start(needs: .messages)
            let first = try trial.peer()
            let second = try trial.peer(identity: first.identity)
            for peer in [first, second] {
                try peer.open(to: program)
                peer.habits.acknowledges = false
            }
            program.send("hello")
            for peer in [first, second] { try peer.await("the message", since: .zero) { $0.text != nil } }
            first.bye(.quit)
            try expectOutcomes([], trial, program, first.user, "as the message still waits on the other link")
            second.send([.bye(.lastWill)], counter: Limits.lastWillCounter)
            try program.awaitFailure("will", for: first.user)
            try expectOutcomes(["failed will"], trial, program, first.user, "as the last link gives the reason")
        },
        Case("M-17.5", "a message to nobody goes to 0 people, and has no outcome", also: "J-6") { trial in
            let program = try trial.start(needs: .messages)
            program.send("anybody?")
            try expectSent(to: 0, program)
            let peer = try trial.peer()
            try peer.open(to: program)
            try expectOutcomes([], trial, program, peer.user, "as the message went to nobody")
            try expect(peer.texts.isEmpty, "nothing is kept for who comes later", actual: "a record came")
            program.send("now")
            try program.awaitDelivered(to: peer.user)
        },
        Case("M-18.1", "messages that wait fail with `bye` when the peer says bye") { trial in
            let program = try trial.start(needs: .messages)
            for reason in [ByeReason.quit, .left, .suspended] {
                let peer = try waiting(trial, program)
                peer.bye(reason)
                try program.awaitFailure("bye", for: peer.user)
            }
        },
        Case("M-18.2", "messages that wait fail with `will` by a last will, or a bye with reason 3") { trial in
            let program = try trial.start(needs: .messages)
            for counter in [Limits.lastWillCounter, nil] {
                let peer = try waiting(trial, program)
                peer.send([.bye(.lastWill)], counter: counter)
                try program.awaitFailure("will", for: peer.user)
            }
        },
        Case(
            "M-18.3",
            "messages that wait fail with `silence` when the link is forgotten, at once if it was up for less than 10 s",
            also: "L-84"
        ) { trial in
            let (program, peer) = try waiting(trial)
            let last = try peer.fallSilent()
            let failure = try program.awaitFailure("silence", for: peer.user)
            try trial.judge("`failed`", at: failure.at, after: last, is: .seconds(3))
        },
        Case("M-18.4", "messages that wait fail with `left` when the program leaves the chat") { trial in
            let (program, peer) = try waiting(trial, needs: .chats)
            program.tell(["do": "leave", "chat": .string(trial.chatName)])
            try program.awaitFailure("left", for: peer.user)
        },
        Case("M-18.5", "messages that wait fail with `blocked` when the person is blocked") { trial in
            let (program, peer) = try waiting(trial, needs: .block)
            program.tell(["do": "block", "user": .string(peer.user)])
            try program.awaitFailure("blocked", for: peer.user)
        },
        Case("M-18.6", "messages that wait fail with `quit` when the program quits") { trial in
            let (program, peer) = try waiting(trial)
            program.tell(["do": "quit"])
            try trial.wait(
                .seconds(5), for: "`failed` with the reason `quit` before the program ends",
                actual: { program.exit == nil ? "it has not come" : "the program ended without it" },
                when: { program.outcomes(for: peer.user).contains { $0.why == "quit" } })
        },
        Case("M-18.7", "messages that wait fail with `quit` when the program is suspended") { trial in
            let (program, peer) = try waiting(trial, needs: .suspend)
            program.signal(.terminalStop)
            trial.run(for: .milliseconds(700))
            program.signal(.resume)
            try program.awaitFailure("quit", for: peer.user)
            try program.awaitPresence("offline", of: peer.user)
        },
        Case(
            "M-19.1", "records that wait for 30 s without an ack fail with `stalled`, and a forward skips them",
            also: "M-37", "M-15", load: .long
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            let start = trial.now
            program.send("never acknowledged")
            let failure = try program.awaitFailure("stalled", for: peer.user, within: .seconds(34))
            try trial.judge("`failed` with `stalled`", at: failure.at, after: start, is: .seconds(30))
            let highest = peer.records.map(\.value.number).max() ?? 0
            let forward = try peer.await("a forward", since: failure.at - trial.late) { $0.forward != nil }
            try expect(
                forward.forward == highest + 2, "a forward to \(highest + 2), one above the next unused number",
                actual: "one to \(forward.forward ?? 0)")
            program.send("after the forward")
            try trial.never(for: .milliseconds(500), "no record before the forward is acknowledged") {
                peer.records.contains { $0.value.number > highest }
            }
            try peer.await("the forward again") { $0.forward == highest + 2 }
            peer.habits.acknowledges = true
            try program.awaitDelivered(to: peer.user)
            try expect(
                peer.distinctTexts.last?.number == highest + 2, "record \(highest + 2)",
                actual: "\(peer.distinctTexts.map(\.number))")
        },
        Case(
            "M-19.2", "a message that is unfinished after 60 s fails, although records are acknowledged", also: "M-37",
            load: .long
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            program.send(String(repeating: "x", count: 20 * 1_167))
            program.send("after it")
            let first = try peer.await("the first record", since: .zero) { $0.text != nil }
            for step in 1...5 {
                trial.run(for: .seconds(10))
                peer.send([.ack(Ack(next: (first.record?.number ?? 0) + UInt32(step)))])
            }
            try trial.wait(
                .seconds(15), for: "two `failed`", actual: { "there are \(program.outcomes(for: peer.user).count)" },
                when: { program.outcomes(for: peer.user).count == 2 })
            try expect(
                program.outcomes(for: peer.user).allSatisfy({ $0.why == "stalled" }), "the reason `stalled`",
                actual: "\(program.outcomes(for: peer.user))")
            try trial.judge("`failed` with `stalled`", at: trial.now, after: first.at, is: .seconds(60))
            try peer.await("a forward", since: trial.now - trial.late) { $0.forward != nil }
        },
    ]
}

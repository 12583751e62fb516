import InklingWire

/// A program that stops and continues, and peers that report that they hear nothing: L-30, L-42 and L-44 to L-46.
extension Catalogue {
    private static let typing = Status(isTyping: true, isAway: false)
    private static let idle = Status(isTyping: false, isAway: false)

    /// Stops the program for a while, runs each step at its time, and returns the time at which the program continues.
    private static func sleep(
        _ trial: Trial, _ program: Program, for duration: Duration, _ steps: [(after: Duration, act: () -> Void)] = []
    ) -> Duration {
        let start = trial.now
        program.signal(.stop)
        for step in steps {
            trial.pump(until: start + step.after)
            step.act()
        }
        trial.pump(until: start + duration)
        let end = trial.now
        program.signal(.resume)
        return end
    }

    static let sleepCases: [Case] = [
        Case("L-30.1", "statuses that waited while the program was stopped do not count", also: "L-46", "T-15") {
            trial in
            let (program, peer) = try trial.startLinked()
            peer.stopHeartbeats()
            let steps = [300, 700, 1_100, 1_500, 1_750].map { time in
                (
                    after: Duration.milliseconds(time),
                    act: { () -> Void in peer.send([.heartbeat(Heartbeat(status: typing, interval: 10))]) }
                )
            }
            _ = sleep(trial, program, for: .milliseconds(1_800), steps)
            try trial.never(for: .milliseconds(600), "typing that waited is not shown") {
                !program.typingChanges(of: peer.user).isEmpty
            }
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
        },
        Case("L-90.1", "a status without typing that waited ends typing, and no older start revives it", also: "L-46") {
            trial in
            let (program, peer) = try trial.startLinked()
            peer.stopHeartbeats()
            let base = peer.sending?.state.nextCounter ?? 0
            let shown = trial.now
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
            let steps = [
                (
                    after: Duration.milliseconds(300),
                    act: { () -> Void in
                        peer.status = idle
                        peer.send([.typing(idle)], counter: base + 9)
                    }
                )
            ]
            let resumed = sleep(trial, program, for: .milliseconds(1_800), steps)
            let at = try program.awaitTyping(false, of: peer.user)
            try expect(
                at < shown + .milliseconds(2_800), "typing ends at once after SIGCONT, by the stop that waited",
                actual: "it ended \((at - resumed).text) after SIGCONT, when its 3.0 s were over")
            peer.send([.typing(typing)], counter: base + 5)
            try trial.never(for: .milliseconds(300), "a start that is older than the stop shows nothing") {
                program.shows(typing: peer.user)
            }
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
        },
        Case("L-89.1", "after a stop of more than 3 s a silent link gets a whole new round of pings", also: "L-42") {
            trial in
            let (program, peer) = try trial.startLinked()
            _ = try peer.fallSilent()
            let resumed = sleep(trial, program, for: .milliseconds(3_600))
            let down = try program.awaitPresence("offline", of: peer.user)
            // After SIGCONT the program may sleep for the rest of its timer, up to 1 s (L-46).
            try trial.judge(
                "offline by silence", at: down.at, after: resumed, is: .milliseconds(1_250),
                late: .seconds(1) + trial.late)
            let pings = Set(peer.received(since: resumed).filter { $0.ping != nil }.map(\.counter)).count
            try expect(pings >= 10, "ten pings after SIGCONT", actual: "\(pings) came")
        },
        Case("L-30.2", "evidence that waited does not count, so the pings go out all the same") { trial in
            let (program, peer) = try trial.startLinked()
            peer.stopHeartbeats()
            let steps = [600, 1_200, 1_800, 2_400, 3_000, 3_500].map { time in
                (after: Duration.milliseconds(time), act: { () -> Void in peer.send([.pong(1)]) })
            }
            let resumed = sleep(trial, program, for: .milliseconds(3_600), steps)
            let ping = try peer.await("a ping after SIGCONT", since: resumed) { $0.ping != nil }
            try trial.judge("the first ping", at: ping.at, after: resumed, is: .zero)
            peer.habits.heartbeat = .seconds(1)
            try trial.never(for: .milliseconds(1_500), "the peer stays online: it answers") {
                program.presence(of: peer.user) != "online"
            }
            try peer.ping()
        },
        Case("L-30.3", "a message that waited is shown as delayed, and acknowledged", also: "L-42", "M-15", "J-15") {
            trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let resumed = sleep(
                trial, program, for: .milliseconds(3_600), [(.milliseconds(1_500), { peer.sendMessage("waited") })])
            let message = try program.await("message") { $0["text"]?.string == "waited" }
            try expect(
                message.value["delayed"]?.boolean == true, "`delayed` of the message",
                actual: program.describe(message.value))
            try peer.await("an ack of the message", since: resumed) { $0.ack?.next == 2 }
            if let event = program.peerEvents(peer.user, since: resumed).first {
                throw Finding(
                    expected: "nothing is reported of a peer that is still there",
                    actual: program.describe(event.value))
            }
        },
        Case("L-30.4", "a bye that waited ends the link") { trial in
            let (program, peer) = try trial.startLinked()
            let resumed = sleep(
                trial, program, for: .milliseconds(3_600), [(.milliseconds(1_500), { peer.send([.bye(.quit)]) })])
            let event = try program.awaitPresence("offline", of: peer.user)
            try trial.judge("offline by the bye", at: event.at, after: resumed, is: .zero)
        },
        Case(
            "L-42.1", "after a stop of more than 3 s a new handshake keeps a peer that gave the program up",
            also: "L-101"
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .peer)
            peer.stopHeartbeats()
            peer.habits.answersPings = false
            let old = peer.sessions.count
            let resumed = sleep(trial, program, for: .milliseconds(3_600))
            let session = try trial.wait(
                .seconds(4), for: "an initiation of the program after SIGCONT, answered, and a sealed datagram on it",
                actual: { "\(peer.initiations.count { $0.at >= resumed }) initiations came" },
                until: { peer.sessions.dropFirst(old).first { $0.isComplete } })
            let initiation = peer.initiations.first { $0.at >= resumed }
            try trial.judge(
                "the initiation", at: initiation?.at ?? trial.now, after: resumed, is: .zero,
                late: .milliseconds(1_300) + trial.late)
            peer.habits.answersPings = true
            peer.habits.heartbeat = .milliseconds(500)
            trial.run(for: .seconds(2))
            if let event = program.peerEvents(peer.user, since: resumed).first {
                throw Finding(expected: "the peer stays online, without a word", actual: program.describe(event.value))
            }
            try peer.ping(on: session)
        },
        Case("L-44.1", "a link that goes down says so in an unheard heartbeat, three times", also: "T-2", load: .long) {
            trial in
            let (program, peer) = try trial.startLinked()
            // The program forgets a link that was up for a shorter time at once (L-84).
            trial.run(for: .milliseconds(10_200))
            program.compose("hello")
            try peer.awaitTyping(true)
            let last = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            trial.run(for: .milliseconds(120) + trial.late)
            let unheard = peer.received(since: last).filter { $0.status?.isUnheard == true && $0.ping == nil }
            try expect(
                unheard.count == 3 && unheard.allSatisfy({ $0.heartbeat?.status == Status(isUnheard: true) }),
                "three heartbeats with the status 0x04", actual: peer.summary(since: last))
            for (heartbeat, delay) in zip(unheard, [0, 30, 120]) {
                try trial.judge("an unheard heartbeat", at: heartbeat.at, after: last, is: .milliseconds(3_000 + delay))
            }
        },
        Case("L-45.3", "unheard datagrams make a link suspect at most once in 10 s", also: "L-110", load: .long) {
            trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .settled)
            func pings(after wait: Duration) -> Int {
                let start = trial.now
                peer.send([.unheard])
                trial.run(for: wait)
                return peer.received(since: start).count { $0.ping != nil }
            }
            let (first, second) = (pings(after: .milliseconds(700)), pings(after: .milliseconds(9_000)))
            trial.run(for: .milliseconds(600))
            let third = pings(after: .milliseconds(700))
            try expect(
                first > 0 && second == 0 && third > 0,
                "pings after an unheard datagram, none in the 10 s, and some after that",
                actual: "\(first), \(second) and \(third) pings")
        },
        Case("L-45.1", "an unheard heartbeat makes the link suspect, with five pings left", also: "L-110") { trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .settled)
            peer.habits = .none
            let start = trial.now
            peer.send([.unheard])
            try expectDown(trial, program, peer, after: start, is: .milliseconds(625))
            let pings = Set(peer.received(since: start).filter { $0.ping != nil }.map(\.counter)).count
            try expect(pings >= 5, "five pings", actual: "\(pings) came")
        },
        Case("L-45.4", "an unheard heartbeat within 3 s of coming up makes no link suspect", also: "L-110") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            peer.send([.unheard])
            try trial.never(for: .milliseconds(500), "no ping") {
                peer.received.contains { $0.at > start && $0.ping != nil }
            }
            try peer.ping()
            try expect(program.presence(of: peer.user) == "online", "the peer is online", actual: "it is not")
        },
        Case("L-45.2", "an unheard heartbeat is no evidence, and a suspicion goes on as before") { trial in
            let (program, peer) = try trial.startLinked()
            let last = try peer.fallSilent()
            trial.pump(until: last + .milliseconds(2_700))
            peer.send([.unheard])
            try expectDown(trial, program, peer, after: last)
        },
    ]
}

import InklingWire

/// The rate of messages, and their queue: M-13, M-14, M-21 and M-30.
extension Catalogue {
    static let queueCases: [Case] = [
        Case("M-13.1", "at most 400 datagrams with a message a second go out on a link", load: .heavy) { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            let count = 1_500
            for number in 0..<count { program.send("message \(number)") }
            trial.run(for: .milliseconds(500))
            // The limit applies only to messages.
            let start = trial.now
            peer.send([.ping(0x1313)])
            let pong = try peer.await("a pong while messages wait", since: start) { $0.pong == 0x1313 }
            try trial.judge("the pong while messages wait", at: pong.at, after: start, is: .zero)
            try program.awaitDelivered(count, to: peer.user, within: .seconds(15))
            try expectRate(400, burst: 64, peer.texts.map(\.at), "on a link", trial)
        },
        Case("M-13.2", "at most 2,000 datagrams with a message a second go out in all", load: .heavy) { trial in
            let program = try trial.start(needs: .messages)
            let peers = try eightPeers(of: program, in: trial)
            let count = 500
            for number in 0..<count { program.send("message \(number)") }
            for peer in peers {
                try program.awaitDelivered(count, to: peer.user, within: .seconds(15))
            }
            try expectRate(2_000, burst: 128, peers.flatMap { $0.texts.map(\.at) }.sorted(), "in all", trial)
        },
        Case("M-14.1", "a message that would queue more than 4 MiB is refused for all", also: "J-6", load: .heavy) {
            trial in
            let (program, slow, quick) = try fullQueue(trial)
            // A program may leave messages in flight out of its count of the queue.
            program.send(block, tag: "64")
            program.send(block, tag: "65")
            let error = try program.await("error", within: .seconds(10)) { $0["tag"]?.string == "65" }
            try expect(
                error.value["code"]?.string == "queue-full", "the code `queue-full`",
                actual: program.describe(error.value))
            let sent = program.events("sent").count
            try program.awaitDelivered(sent, to: quick.user, within: .seconds(30))
            trial.run(for: .milliseconds(500))
            let lasts = quick.distinctTexts.count { $0.isLast }
            try expect(
                lasts == sent, "nothing to anybody of a message that is refused",
                actual: "\(lasts) messages came, of \(sent) that were accepted")
            try slow.ping()
        },
        Case(
            "M-14.2", "a full queue whose oldest message is older than 5 s holds up nobody else", also: "M-17", "M-30",
            load: .heavy
        ) { trial in
            let (program, slow, quick) = try fullQueue(trial)
            program.send(block, tag: "64")
            try trial.wait(
                .seconds(10), for: "an answer to the 64th message",
                when: {
                    (program.events("sent") + program.events("error")).contains { $0.value["tag"]?.string == "64" }
                })
            let sent = program.events("sent").count
            try program.awaitDelivered(sent, to: quick.user, within: .seconds(30))
            trial.run(for: .seconds(5))
            for number in 1...2 { program.send(block, tag: "late \(number)") }
            for number in 1...2 {
                let late = try program.await("sent", within: .seconds(5)) { $0["tag"]?.string == "late \(number)" }
                try expect(
                    late.value["to"]?.integer == 2, "a message to 2 people", actual: program.describe(late.value))
            }
            try program.awaitFailure("stalled", for: slow.user, within: .seconds(2))
            try program.awaitDelivered(sent + 2, to: quick.user, within: .seconds(10))
            try slow.ping()
        },
        Case("M-14.3", "a message that would go to nobody for full queues is refused", load: .heavy) { trial in
            let (program, slow) = try trial.startForMessages()
            for _ in 1...63 { program.send(block) }
            try trial.wait(.seconds(10), for: "63 `sent`", when: { program.events("sent").count == 63 })
            trial.run(for: .seconds(7))
            for tag in ["64", "65"] { program.send(block, tag: tag) }
            let error = try program.await("error", within: .seconds(5)) { $0["tag"]?.string == "65" }
            try expect(
                error.value["code"]?.string == "queue-full", "the code `queue-full`",
                actual: program.describe(error.value))
            try slow.ping()
        },
        Case("M-21.1", "links that wait for the rate of the node take turns", also: "M-13", load: .heavy) { trial in
            let program = try trial.start(needs: .messages)
            let peers = try eightPeers(of: program, in: trial)
            let count = 1_500
            for number in 0..<count { program.send("message \(number)") }
            func most() -> Int { peers.map(\.texts.count).max() ?? 0 }
            let end = trial.now + .seconds(20)
            // Counting takes time, so the case does not count after each datagram.
            while most() < count, trial.now < end { trial.run(for: .milliseconds(100)) }
            try expect(
                most() >= count, "all of \(count) messages at one of eight peers within 20 s",
                actual: "one has \(most())")
            let least = peers.map(\.texts.count).min() ?? 0
            try expect(
                least >= count * 2 / 3, "that all of eight peers who acknowledge at once get on alike",
                actual: "one had \(least) of \(count) messages when another had all")
            for peer in peers { try program.awaitDelivered(count, to: peer.user, within: .seconds(15)) }
        },
    ]

    private static let block = String(repeating: "x", count: 65_536)

    /// Starts a program with two peers. One of them acknowledges nothing, and has the highest permitted amount of text
    /// queued.
    private static func fullQueue(_ trial: Trial) throws -> (program: Program, slow: Peer, quick: Peer) {
        let program = try trial.start(needs: .messages)
        let slow = try trial.peer(named: "Slow")
        let quick = try trial.peer(named: "Quick")
        try slow.open(to: program)
        try quick.open(to: program)
        slow.habits.acknowledges = false
        // 63 messages of 65,536 bytes, each counted with 256 more, are less than 4 MiB, and 64 are more.
        for number in 1...63 { program.send(block, tag: "\(number)") }
        try trial.wait(
            .seconds(4), for: "63 `sent`", actual: { "there are \(program.events("sent").count)" },
            when: { program.events("sent").count == 63 })
        if let error = program.events("error").first {
            throw Finding(expected: "room for 63 messages", actual: program.describe(error.value))
        }
        return (program, slow, quick)
    }

    /// Fails if datagrams went out faster than a burst and `rate` a second permit.
    private static func expectRate(_ rate: Int, burst: Int, _ times: [Duration], _ whose: String, _ trial: Trial) throws
    {
        // The first datagrams of a span may be late, and the last ones punctual. `slack` allows for both.
        let slack = rate * trial.late.milliseconds / 2_000
        var first = 0
        for last in times.indices {
            while times[last] - times[first] > .seconds(2) { first += 1 }
            let span = times[last] - times[first]
            let limit = burst + rate * span.milliseconds / 1_000 + slack
            try expect(
                last - first < limit,
                "at most \(rate) datagrams with a message a second \(whose), and \(burst) at once",
                actual: "\(last - first + 1) in \(span.text)")
        }
    }
}

/// Returns eight peers with links to the program.
private func eightPeers(of program: Program, in trial: Trial) throws -> [Peer] {
    try (1...8).map { number in
        let peer = try trial.peer(named: "Peer \(number)")
        try peer.open(to: program)
        return peer
    }
}

/// The room for incomplete messages: M-39 to M-42. `M-20.1` fills it.
extension Catalogue {
    /// Sends a record on a session, and returns the ack that answers it.
    private static func ack(
        of number: UInt32, first: Bool = true, last: Bool = true, on session: PeerSession, of peer: Peer
    ) throws -> Ack {
        for _ in 0..<3 {
            let start = peer.trial.now
            peer.sendRecord(number, "text", first: first, last: last, on: session)
            func answer() -> Ack? { peer.received(since: start).last { $0.session === session && $0.ack != nil }?.ack }
            if let ack = try? peer.trial.wait(.milliseconds(600), for: "", until: answer) { return ack }
        }
        throw Finding(expected: "an ack of record \(number)", actual: "none came to three of them")
    }

    static let poolCases: [Case] = [
        Case(
            "M-40.1",
            "strangers' records beyond the expected one are held while less than 2 MiB are taken, and acks say so",
            also: "M-39", "M-41", "M-42", load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.messages)
            let sessions = try crowd(33, of: peer, at: program)
            let probe = sessions[32]
            let before = try ack(of: 2, on: probe, of: peer)
            try expect(
                before.next == 1 && before.bitmap == 1, "an ack that names record 2 as held, while there is room",
                actual: "next \(before.next), bitmap \(before.bitmap)")
            for session in sessions.prefix(32) {
                let taken = try ack(of: 1, last: false, on: session, of: peer)
                try expect(
                    taken.next == 2, "room for 32 messages of 65,792 bytes", actual: "an ack that expects \(taken.next)"
                )
            }
            let full = try ack(of: 4, on: probe, of: peer)
            try expect(
                full.next == 1 && full.bitmap & 0b100 == 0,
                "an ack that does not name record 4, with 2,105,344 bytes taken",
                actual: "next \(full.next), bitmap \(full.bitmap)")
            // The next expected message still has room.
            let turn = try ack(of: 1, on: probe, of: peer)
            try expect(turn.next == 3, "an ack that expects record 3", actual: "it expects \(turn.next)")
            let start = trial.now
            for session in sessions.prefix(8) {
                let whole = try ack(of: 2, first: false, on: session, of: peer)
                try expect(whole.next == 3, "an ack that expects record 3", actual: "it expects \(whole.next)")
            }
            try peer.await("an ack that nothing asked for, when there is room again", since: start) {
                $0.session === probe && $0.ack?.next == 3
            }
            let after = try ack(of: 4, on: probe, of: peer)
            try expect(
                after.next == 3 && after.bitmap & 1 == 1, "an ack that names record 4",
                actual: "next \(after.next), bitmap \(after.bitmap)")
        },
        Case(
            "M-42.1", "people of one secret chat who are not verified hold a quarter: 31 messages begun", also: "M-39",
            "M-41", load: .heavy
        ) { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.startInSecretChat(secret, needs: .messages)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            let sessions = try crowd(36, of: peer, at: program)
            var (taken, refused): ([PeerSession], [PeerSession]) = ([], [])
            for session in sessions {
                let answer = try ack(of: 1, last: false, on: session, of: peer)
                if answer.next == 2 { taken.append(session) } else { refused.append(session) }
            }
            try expect(taken.count == 31, "31 messages begun in 2 MiB", actual: "\(taken.count)")
            let start = trial.now
            // 15 links use less than half of the room.
            for session in taken.prefix(16) { _ = try ack(of: 2, first: false, on: session, of: peer) }
            for session in refused {
                try peer.await("an ack that nothing asked for, when half is free again", since: start) {
                    $0.session === session && $0.ack?.next == 1
                }
                let answer = try ack(of: 1, last: false, on: session, of: peer)
                try expect(answer.next == 2, "room for the record", actual: "an ack that expects \(answer.next)")
            }
        },
    ]
}

/// Queued messages: on a down link, behind a forward, or until they fail.
extension Catalogue {
    static let waitingCases: [Case] = [
        Case(
            "M-29.1", "a message to a link that is down waits, and goes out when it comes up", also: "M-36", "M-44",
            "L-82", load: .long
        ) { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            let other = try trial.peer(named: "Bob")
            try other.open(to: program)
            trial.run(for: .milliseconds(10_300))
            program.send("before")
            try program.awaitDelivered(1, to: peer.user)
            let habits = peer.habits
            _ = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            let start = trial.now
            program.send("meanwhile")
            program.send("and again")
            try program.awaitDelivered(3, to: other.user)
            try trial.never(for: .seconds(2), "no record to a link that is down") {
                peer.texts.contains { $0.at >= start } || program.outcomes(for: peer.user).count > 1
            }
            peer.habits = habits
            peer.send([peer.heartbeatFrame])
            try program.awaitDelivered(3, to: peer.user)
            try expect(
                peer.distinctTexts.map(\.text) == ["before", "meanwhile", "and again"], "all three in order",
                actual: "\(peer.distinctTexts.map(\.text))")
        },
        Case("M-44.1", "the 30 s of M-19 stand still while the link is down", also: "M-19", "M-29", load: .long) {
            trial in
            let (program, peer) = try trial.startForMessages()
            trial.run(for: .milliseconds(10_300))
            program.send("patience")
            try peer.await("the message") { $0.text != nil }
            let start = trial.now
            var habits = peer.habits
            habits.acknowledges = true
            _ = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            try trial.never(for: .seconds(33) - (trial.now - start), "no outcome while the link is down") {
                !program.outcomes(for: peer.user).isEmpty
            }
            peer.habits = habits
            peer.send([peer.heartbeatFrame])
            try program.awaitDelivered(1, to: peer.user)
        },
        Case("M-37.1", "records that wait behind a forward fail too, and the forward stays", also: "M-19", load: .long)
        { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("first")
            try peer.await("the message") { $0.text != nil }
            let failure = try program.awaitFailure("stalled", for: peer.user, within: .seconds(34))
            let forward = try peer.await("a forward", since: failure.at - trial.late) { $0.forward != nil }
            program.send("second")
            let again = try program.awaitFailure(
                "stalled", for: peer.user, within: .seconds(34), since: failure.at + .seconds(1))
            try trial.judge("the second `failed`", at: again.at, after: failure.at, is: .seconds(30))
            trial.run(for: .milliseconds(1_500))
            let forwards = Set(peer.received(since: failure.at - trial.late).compactMap(\.forward))
            try expect(
                forwards == [forward.forward ?? 0] && peer.distinctTexts.count == 1,
                "the forward to \(forward.forward ?? 0) and no other, and no second text",
                actual: "forwards to \(forwards.sorted()), and \(peer.distinctTexts.count) texts")
            peer.habits.acknowledges = true
            program.send("third")
            try program.awaitDelivered(1, to: peer.user)
            try expect(
                peer.distinctTexts.last?.number == forward.forward, "the third as that record",
                actual: "\(peer.distinctTexts.map(\.number))")
        },
    ]
}

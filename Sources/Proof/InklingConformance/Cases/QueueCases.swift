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

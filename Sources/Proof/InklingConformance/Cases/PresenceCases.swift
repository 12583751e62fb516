import InklingWire

/// The presence that the program shows, even of a person with several links: T-11, T-12 and T-19 to T-21.
extension Catalogue {
    /// Starts a program, and two peers of one person: two devices with one identity, each with its own run.
    private static func twoDevices(
        _ trial: Trial, needs features: Feature...
    ) throws -> (program: Program, first: Peer, second: Peer) {
        let program = try trial.start()
        try program.need(features)
        let first = try trial.peer()
        let second = try trial.peer(identity: first.identity)
        try first.open(to: program)
        try second.open(to: program)
        return (program, first, second)
    }

    /// Returns the users in the last `typing`, in order.
    private static func typists(_ program: Program) -> [String] {
        program.events("typing").last?.value["users"]?.array?.compactMap { $0["user"]?.string } ?? []
    }

    static let presenceCases: [Case] = [
        Case("T-11.1", "an idle node sends a heartbeat every 750 to 1000 ms, at random", also: "T-30") { trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .milliseconds(500))
            let start = trial.now
            trial.run(for: .seconds(9))
            let times = peer.received(since: start).filter { $0.heartbeat != nil && $0.ping == nil && $0.pong == nil }
                .map(\.at)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            guard let longest = gaps.max(), let shortest = gaps.min(), gaps.count >= 6 else {
                throw Finding(expected: "at least 7 heartbeats in 9 s", actual: "\(times.count) came")
            }
            try expect(
                longest <= .seconds(1) + trial.late, "at most 1 s between two heartbeats",
                actual: "there was \(longest.text)")
            // Nine seconds hold at most twelve steps of 750 ms.
            try expect(
                gaps.count <= 12, "at least 750 ms between two heartbeats",
                actual: "\(times.count) heartbeats came in 9 s")
            try expect(
                longest - shortest >= .milliseconds(20) && shortest < .milliseconds(960),
                "intervals that vary at random between 750 ms and 1 s", actual: gaps.map(\.text).joined(separator: ", ")
            )
        },
        Case("T-11.2", "each heartbeat announces the idle interval of 1 s", also: "T-24") { trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            program.compose("hello")
            try peer.awaitTyping(true)
            trial.run(for: .milliseconds(1_200))
            program.compose("")
            trial.run(for: .milliseconds(1_300))
            for frames in peer.received(since: start) {
                if let heartbeat = frames.heartbeat, heartbeat.interval != 10 {
                    throw Finding(
                        expected: "heartbeats that announce 10 units of 100 ms, with one link",
                        actual: "one announced \(heartbeat.interval)")
                }
            }
        },
        Case(
            "T-11.3", "with more than 50 links the idle interval grows, rounded up to 100 ms", also: "T-24",
            load: .heavy
        ) { trial in
            let program = try trial.start()
            var peers: [Peer] = []
            for number in 1...51 {
                let peer = try trial.peer(named: "Peer \(number)")
                try peer.open(to: program)
                peer.habits.heartbeat = .milliseconds(1_500)
                peers.append(peer)
            }
            for (count, expected) in [(51, UInt8(11)), (56, UInt8(12))] {
                while peers.count < count {
                    let peer = try trial.peer(named: "Peer \(peers.count + 1)")
                    try peer.open(to: program)
                    peer.habits.heartbeat = .milliseconds(1_500)
                    peers.append(peer)
                }
                // Heartbeats that were due before the last link came up have arrived by now.
                trial.run(for: .milliseconds(300))
                let start = trial.now
                trial.run(for: .milliseconds(1_600))
                for peer in [peers[0], peers[count - 1]] {
                    let announced = peer.received(since: start).compactMap { $0.heartbeat?.interval }
                    try expect(
                        !announced.isEmpty && announced.allSatisfy({ $0 == expected }),
                        "heartbeats that announce \(expected) units of 100 ms, with \(count) links",
                        actual: announced.isEmpty
                            ? "no heartbeat came in 1.6 s" : announced.map(String.init).joined(separator: ", "))
                }
            }
        },
        Case("T-19.1", "a person's presence is the best of its links") { trial in
            let (program, first, second) = try twoDevices(trial)
            let user = first.user
            second.announce(away: true)
            try trial.never(for: .milliseconds(400), "the person stays online: one device is not away") {
                program.presence(of: user) != "online"
            }
            first.announce(away: true)
            try program.awaitPresence("away", of: user)
            second.announce(away: false)
            try program.awaitPresence("online", of: user)
            second.send([.bye(.quit)])
            try program.awaitPresence("away", of: user)
            first.send([.bye(.quit)])
            try program.awaitPresence("offline", of: user)
        },
        Case("T-19.2", "a person types as long as one of its links does, and is listed once") { trial in
            let (program, first, second) = try twoDevices(trial)
            let user = first.user
            first.announce(typing: true)
            try program.awaitTyping(true, of: user)
            second.announce(typing: true)
            trial.run(for: .milliseconds(100))
            try expect(typists(program) == [user], "the person once in `users`", actual: "\(typists(program))")
            first.announce(typing: false)
            try trial.never(for: .milliseconds(400), "typing still shows: the other device types") {
                !program.shows(typing: user)
            }
            second.send([.bye(.quit)])
            try program.awaitTyping(false, of: user)
            try expect(
                program.presence(of: user) == "online", "the person stays online by the other device",
                actual: "\(program.presence(of: user) ?? "no presence")")
        },
        Case("T-19.3", "typing still shows while its link is suspect") { trial in
            let (program, peer) = try trial.startLinked()
            peer.habits = .none
            let start = trial.now
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
            try peer.await("a ping of the suspicion", since: start) { $0.ping != nil }
            try trial.never(for: .milliseconds(2_700) - (trial.now - start), "typing shows while the link is suspect") {
                !program.shows(typing: peer.user)
            }
        },
        Case("T-20.1", "typists are listed with the latest start first, whatever comes after it", also: "J-7") {
            trial in
            let program = try trial.start()
            var peers: [Peer] = []
            for name in ["Alice", "Bob", "Charlie"] {
                let peer = try trial.peer(named: name)
                try peer.open(to: program)
                peers.append(peer)
            }
            let users = peers.map(\.user)
            for peer in peers {
                peer.announce(typing: true)
                try program.awaitTyping(true, of: peer.user)
                trial.run(for: .milliseconds(50))
            }
            func expectOrder(_ order: [Int], _ why: String) throws {
                try expect(
                    typists(program) == order.map({ users[$0] }), "the order \(order.map { peers[$0].name }), \(why)",
                    actual: "\(typists(program).map { user in peers.first { $0.user == user }?.name ?? user })")
            }
            try expectOrder([2, 1, 0], "the latest start first")
            peers[0].send([.typing(peers[0].status)])
            peers[1].send([peers[1].heartbeatFrame])
            trial.run(for: .milliseconds(300))
            try expectOrder([2, 1, 0], "as copies and heartbeats change nothing")
            peers[0].announce(typing: false)
            try program.awaitTyping(false, of: users[0])
            peers[0].announce(typing: true)
            try program.awaitTyping(true, of: users[0])
            try expectOrder([0, 2, 1], "the latest start first")
        },
        Case("T-21.1", "a change of the away bit goes out at once on all links") { trial in
            let program = try trial.start(needs: .away)
            let peers = [try trial.peer(), try trial.peer(named: "Bob")]
            for peer in peers { try peer.open(to: program) }
            for (command, isAway) in [("away", true), ("back", false)] {
                trial.run(for: .milliseconds(300))
                let start = trial.now
                program.tell(["do": .string(command)])
                for peer in peers {
                    let frames = try peer.await("a status after `\(command)`", since: start) {
                        $0.status?.isAway == isAway
                    }
                    try trial.judge("the status after `\(command)`", at: frames.at, after: start, is: .zero)
                }
            }
        },
        Case("T-21.2", "the status that says away carries the stop that it causes", also: "T-10") { trial in
            let (program, peer) = try trial.startLinked(needs: .away)
            let start = trial.now
            program.compose("hello")
            let edge = try peer.awaitTyping(true)
            trial.run(for: .milliseconds(200))
            program.tell(["do": "away"])
            trial.run(for: .milliseconds(120) + trial.late)
            let bytes = peer.statuses(since: start).filter { $0.counter >= edge.counter }.compactMap { $0.status?.byte }
            guard let change = bytes.firstIndex(where: { $0 != 1 }), bytes[change...].allSatisfy({ $0 == 2 }) else {
                throw Finding(
                    expected: "statuses 1 (typing), and from `away` on 2 (away), with none between them",
                    actual: bytes.map(String.init).joined(separator: ", "))
            }
        },
        Case("T-21.3", "a peer shows as away and back by its status", also: "T-2") { trial in
            let (program, peer) = try trial.startLinked()
            for (isAway, presence) in [(true, "away"), (false, "online")] {
                peer.announce(away: isAway)
                let event = try program.awaitPresence(presence, of: peer.user)
                let why = isAway ? "away" : "back"
                try expect(event.value["why"]?.string == why, "`why` is \(why)", actual: program.describe(event.value))
            }
            peer.announce(typing: true, away: true)
            try program.awaitPresence("away", of: peer.user)
            try program.awaitTyping(true, of: peer.user)
        },
        Case("L-31.1", "a link of a new run sends pings to the person's other link at once") { trial in
            let program = try trial.start()
            let first = try trial.peer()
            let second = try trial.peer(identity: first.identity)
            try first.open(to: program)
            trial.run(for: .milliseconds(300))
            let start = trial.now
            try second.open(to: program)
            let ping = try first.await("a ping to the first device", since: start) { $0.ping != nil }
            let made = second.sessions.first?.createdAt ?? start
            try trial.judge("the ping", at: ping.at, after: made, is: .zero)
        },
        Case("L-31.2", "two devices of one identity both keep their links", also: "T-6") { trial in
            let (program, first, second) = try twoDevices(trial)
            let start = trial.now
            trial.run(for: .seconds(4))
            program.compose("hello")
            for peer in [first, second] {
                try peer.awaitTyping(true)
                try peer.ping()
            }
            let events = program.peerEvents(first.user, since: start)
            if let change = events.first {
                throw Finding(expected: "the person stays online throughout", actual: program.describe(change.value))
            }
        },
        Case(
            "L-31.3", "a device that a newer run suspects, and that says nothing, goes down after its pings",
            also: "M-18"
        ) { trial in
            let program = try trial.start(needs: .messages)
            let first = try trial.peer()
            try first.open(to: program)
            first.habits = .none
            program.send("not acknowledged")
            try first.await("the message") { $0.text != nil }
            let second = try trial.peer(identity: first.identity)
            let start = trial.now
            try second.open(to: program)
            let failure = try program.awaitFailure("replaced", for: first.user)
            try trial.judge(
                "the end of the first link", at: failure.at, after: start, is: .milliseconds(1_250),
                late: trial.late + .milliseconds(250))
            try expect(
                program.presence(of: first.user) == "online", "the person is online by the second device",
                actual: program.presence(of: first.user) ?? "no presence")
        },
    ]
}

import InklingWire

extension Catalogue {
    static let limitCases: [Case] = [
        Case("L-6.1", "at most 200 initiations a second go out", load: .heavy) { trial in
            let peers = try crowd(160, trial)
            trial.run(for: .seconds(3))
            let times = peers.flatMap { $0.initiations.map(\.at) }.sorted()
            var (most, first) = (0, 0)
            for (last, time) in times.enumerated() {
                while time - times[first] >= .seconds(1) { first += 1 }
                most = max(most, last - first + 1)
            }
            // The check allows a quarter more, because the network may bring datagrams closer together.
            try expect(most <= 250, "at most 200 initiations within a second", actual: "\(most) of them")
        },
        Case("L-6.2", "at most 64 initiations are pending", load: .heavy) { trial in
            let peers = try crowd(160, trial)
            trial.run(for: .milliseconds(1_500))
            let answered = try peers.flatMap { peer in try peer.attempts.map { try peer.answer($0[0]) } }
            trial.run(for: .milliseconds(1_000))
            let count = answered.count(where: \.isComplete)
            try expect(
                (1...64).contains(count),
                "of \(answered.count) handshakes that are answered at once 64 complete at most",
                actual: "\(count) completed")
        },
        Case("L-98.1", "peers that were never tried take the place of those that do not answer", load: .heavy) {
            trial in
            let peers = try crowd(160, trial)
            try trial.wait(
                .seconds(12), for: "an initiation to each of 160 peers that do not answer",
                actual: { "\(peers.count { !$0.initiations.isEmpty }) got one" },
                when: { peers.allSatisfy { !$0.initiations.isEmpty } })
        },
        Case(
            "M-20.1", "strangers get 4 MiB for messages that are not whole, and what is begun is taken whole",
            also: "M-15", "M-39", "M-41", "M-42", load: .heavy
        ) { trial in try crowdOfLongMessages(trial) },
        Case("L-39.1", "a node is in 32 chats, and refuses one more") { trial in
            let program = try trial.start(needs: .chats)
            let names = (1...32).map { "\(trial.chatName)-\($0)" }
            for name in names.dropLast() { program.tell(["do": "join", "chat": .string(name)]) }
            let peer = try trial.peer()
            peer.habits = .quiet
            try expectTell(program, peer, of: names[30], "the 32nd chat")
            try expect(program.events("error").isEmpty, "32 chats", actual: "an `error` before")
            program.tell(["do": "join", "chat": .string(names[31])])
            try program.await("error", "an `error` for the 33rd chat")
            let count = peer.tells.count
            peer.sendBytes(ChatKeys(open: names[31]).ask(token: 9).encode(), to: program.address)
            try trial.never(for: .milliseconds(500), "no tell for the 33rd chat") { peer.tells.count > count }
            try expectTell(program, peer, of: trial.chatName, "the first chat")
            try trial.peer(named: "Bob", in: ChatKeys(open: names[30])).open(to: program, in: names[30])
        },
        Case(
            "L-39.2", "a node keeps 1,024 links, and takes more in a chat below its share, or of a verified person",
            also: "L-52", "L-99", "L-112", "L-32", "L-78", load: .heavy
        ) { trial in
            let (program, peer) = try fill(trial)
            try meetMore(1, peer, program)
            trial.run(for: .milliseconds(500))
            try expect(met(by: program) == 1_024, "no further link", actual: "\(met(by: program)) people")
            /// Opens a link of `newcomer`. The program must evict the newest link of `evicted` for it.
            func replace(_ evicted: Peer, by newcomer: Peer, in chat: String? = nil) throws {
                let session = evicted.sessions.last(where: \.isNamed)
                let start = trial.now
                newcomer.habits.answersInitiations = false
                try newcomer.open(to: program, in: chat)
                let left = program.events("peer", since: start).filter { $0.value["presence"]?.string == "offline" }
                try expect(
                    left.count == 1 && left[0].value["why"]?.string == "full",
                    "one `peer` that is offline, with `full`",
                    actual: "\(left.map { $0.value["why"]?.string ?? "none" })")
                try evicted.await("a bye with reason 0 on the newest link", since: start) {
                    $0.session === session && $0.bye == .quit
                }
            }
            let name = trial.chatName + "-2"
            program.tell(["do": "join", "chat": .string(name)])
            let stranger = try trial.peer(named: "Bob", in: ChatKeys(open: name))
            try replace(peer, by: stranger, in: name)
            if program.readyLine["unsupported"]?.array?.contains("people") != true {
                let friend = try trial.peer(named: "Carol")
                program.tell(["do": "verify", "key": .string(friend.identity.publicKey.base64url)])
                try replace(stranger, by: friend)
            }
            try peer.ping(on: peer.sessions.first)
        },
        Case(
            "L-76.1", "500 pings a second go out on strangers' suspect links, and three on each", also: "L-26",
            load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            peer.announcedInterval = 255
            for _ in 0..<15 { try meetMore(10, peer, program) }
            let sessions = peer.sessions.filter(\.isNamed)
            guard sessions.count >= 140 else { throw Untried(reason: "the program makes only \(sessions.count) links") }
            peer.habits = .none
            let start = trial.now
            for session in sessions {
                peer.send([.heartbeat(Heartbeat(status: Status(), interval: 10))], on: session)
            }
            trial.run(for: .seconds(5))
            let pings = peer.received(since: start).filter { $0.ping != nil }
            // The rounds take 1.25 s. In this time the limit allows 625 pings and a burst, plus pings that complete
            // three on a link.
            let counts = Dictionary(grouping: pings, by: { ObjectIdentifier($0.session) }).mapValues(\.count)
            try expect(
                counts.count == sessions.count && counts.values.allSatisfy({ $0 >= 3 }) && pings.count <= 1_150,
                "three pings or more on each of \(sessions.count) links, and 1,150 at most in all",
                actual: "\(pings.count), \(counts.values.min() ?? 0) or more on each of \(counts.count)")
        },
        Case(
            "L-53.1",
            "one key has eight links in a chat, each new one makes the others suspect, and a ninth is not made",
            also: "L-31", "L-8"
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            peer.habits = .mute
            peer.announcedInterval = 255
            var links: [PeerSession] = []
            for _ in 0..<8 {
                (peer.run, peer.sending) = (trial.generator.next(), nil)
                let start = trial.now
                let session = try peer.openSession(to: program)
                try peer.awaitNamed(on: session)
                for other in links {
                    try peer.await("a ping on each other link", since: start) { $0.session === other && $0.ping != nil }
                }
                links.append(session)
            }
            peer.run = trial.generator.next()
            let ninth = try peer.begin(to: program)
            try trial.never(for: .seconds(1), "no response for a ninth link") { peer.session(of: ninth) != nil }
            for session in links { try peer.expectPong(of: session, on: session, "eight links that stay") }
        },
        Case(
            "L-25.1",
            "of more than 1,000 datagrams a second on a link the surplus is not applied, and the link lives on",
            load: .heavy
        ) { trial in
            let (program, peer) = try trial.startLinked()
            peer.stopHeartbeats()
            let start = trial.now
            for round in 0..<300 {
                for number in 0..<10 { peer.send([.ping(UInt16(10 * round + number))]) }
                trial.pump(until: start + .milliseconds(2 * (round + 1)))
            }
            trial.run(for: .milliseconds(500))
            let answers = peer.received(since: start).filter { $0.pong != nil }
            let pongs = Set(answers.compactMap(\.pong)).count
            // The time ends with the last pong: a slow program still reads after the last ping, and may answer then.
            let time = (answers.last?.at ?? start) - start
            let limit = 2_000 + time.milliseconds + 50
            try expect(
                (1...limit).contains(pongs), "1 to \(limit) pongs to 3,000 pings in \(time.text)",
                actual: "\(pongs) came")
            trial.run(for: .milliseconds(1_000))
            try expect(program.presence(of: peer.user) == "online", "the peer is still online", actual: "it is not")
            try peer.ping()
        },
        Case("L-25.2", "a bye over the rate of its link still ends it", load: .heavy) { trial in
            let (program, peer) = try trial.startLinked()
            peer.stopHeartbeats()
            peer.exceedRate()
            let end = trial.now
            peer.send([.bye(.quit)])
            peer.forget()
            let event = try program.awaitPresence("offline", of: peer.user, within: .seconds(2))
            try trial.judge("offline by the bye", at: event.at, after: end, is: .zero, late: .seconds(1))
            try expect(event.value["why"]?.string == "bye", "`why` is bye", actual: program.describe(event.value))
        },
    ]

    /// Starts the program, and makes 1,024 links with it from one socket.
    private static func fill(_ trial: Trial) throws -> (program: Program, peer: Peer) {
        let (program, peer) = try trial.startWithQuietPeer()
        peer.announcedInterval = 255
        // The rate is about 90 a second, below the load at which the program asks for cookies.
        let start = trial.now
        func named() -> Int { peer.sessions.count(where: \.isNamed) }
        while named() < 1_024 {
            let now = trial.now
            let elapsed = now - start
            guard named() * 35_000 >= 1_024 * (elapsed.milliseconds - 5_000) else {
                throw Untried(reason: "the program makes \(named()) links in \(elapsed.text), too slowly for 1,024")
            }
            try meetMore(min(8, 1_024 - named()), peer, program)
            trial.pump(until: now + .milliseconds(88))
        }
        trial.run(for: .milliseconds(500))
        try expect(met(by: program) == 1_024, "1,024 people", actual: "\(met(by: program))")
        return (program, peer)
    }

    /// Returns the number of people whom the program has shown.
    private static func met(by program: Program) -> Int {
        Set(program.events("peer").compactMap { $0.value["user"]?.string }).count
    }

    /// Opens 120 links, each with the first record of a message of 65,352 bytes: together more than 8 MiB.
    private static func crowdOfLongMessages(_ trial: Trial) throws {
        let (program, peer) = try trial.startWithQuietPeer()
        peer.announcedInterval = 255
        // There are more messages than the program has room for, but less than twice as many.
        while peer.sessions.count(where: \.isNamed) < 120 {
            let before = peer.sessions.count
            try meetMore(min(10, 120 - peer.sessions.count(where: \.isNamed)), peer, program)
            guard peer.sessions.count > before else { throw Untried(reason: "the program makes only \(before) links") }
        }
        let sessions = peer.sessions.filter(\.isNamed)
        let text = String(repeating: "x", count: 1_167)
        var newest: [ObjectIdentifier: Ack] = [:]
        // Acks of names have `next` 0 and do not count here.
        var seen = peer.received.count
        /// Returns, for each session, the newest ack that acknowledges records of this peer.
        func acks() -> [ObjectIdentifier: Ack] {
            for frames in peer.received[seen...] {
                guard let ack = frames.ack, ack.next > 0 else { continue }
                newest[ObjectIdentifier(frames.session)] = ack
            }
            seen = peer.received.count
            return newest
        }
        func heldBytes(_ acks: [ObjectIdentifier: Ack]) -> Int {
            acks.values.map { Int($0.next - 1) * text.utf8.count }.reduce(0, +)
        }
        func send(_ number: UInt32, on sessions: [PeerSession]) {
            for (place, session) in sessions.enumerated() {
                peer.sendRecord(number, text, first: number == 1, last: number == 56, on: session)
                if place % 30 == 29 { trial.run(for: .milliseconds(10)) }
            }
            trial.run(for: .milliseconds(10))
        }
        /// Sends records of a message on the given sessions, and repeats lost ones. The program may have no room for a
        /// first record.
        func sendAll(_ numbers: ClosedRange<UInt32>, on sessions: [PeerSession], mayBeRefused: Bool = false) {
            for number in numbers {
                for _ in 0..<3 {
                    let known = acks()
                    let missing = sessions.filter { session in
                        known[ObjectIdentifier(session)].map { !mayBeRefused && $0.next <= number } ?? true
                    }
                    guard !missing.isEmpty else { break }
                    send(number, on: missing)
                    // A slow program takes longer, and loses datagrams meanwhile.
                    for _ in 0..<50 {
                        let known = acks()
                        let isAnswered = missing.allSatisfy { session in
                            known[ObjectIdentifier(session)].map { mayBeRefused || $0.next > number } ?? false
                        }
                        if isAnswered { break }
                        trial.run(for: .milliseconds(10))
                    }
                }
            }
        }
        sendAll(1...1, on: sessions, mayBeRefused: true)
        let known = acks()
        let taken = sessions.filter { known[ObjectIdentifier($0)]?.next ?? 0 > 1 }
        let refused = sessions.filter { known[ObjectIdentifier($0)]?.next == 1 }
        try expect(
            taken.count + refused.count == sessions.count, "an ack to the record on each of \(sessions.count) links",
            actual: "none on \(sessions.count - taken.count - refused.count)")
        sendAll(2...55, on: taken)
        let held = heldBytes(acks())
        try expect(
            held <= 4 * 1_024 * 1_024, "at most 4 MiB of messages that are not whole",
            actual: "\(held) bytes are acknowledged")
        try expect(
            !taken.isEmpty && acks().values.count(where: { $0.next == 56 }) == taken.count,
            "that each message is taken whole whose first record was", actual: "some are held back")
        send(2, on: refused)
        let repeated = acks()
        try expect(
            refused.allSatisfy({ repeated[ObjectIdentifier($0)]?.bitmap == 0 }) && held == heldBytes(repeated),
            "acks that repeat the first record of a message that is held back, and name none",
            actual: "\(Set(refused.map { repeated[ObjectIdentifier($0)].map { Frame.ack($0).word } ?? "none" }))")
        let middle = trial.now
        sendAll(56...56, on: taken)
        try trial.wait(
            .seconds(5), for: "\(taken.count) messages", actual: { "\(program.events("message").count) are shown" },
            when: { program.events("message").count >= taken.count })
        try trial.wait(
            .seconds(1), for: "an ack unprompted on each of \(refused.count) links held back",
            until: {
                let told = peer.received(since: middle).filter { $0.ack?.next == 1 }
                    .map { ObjectIdentifier($0.session) }
                return refused.allSatisfy { told.contains(ObjectIdentifier($0)) } ? true : nil
            })
        sendAll(1...56, on: refused)
        try trial.wait(
            .seconds(5), for: "all messages", actual: { "\(program.events("message").count) are shown" },
            when: { program.events("message").count == sessions.count })
    }

    /// Adds peers by hand. They tell their keys, but answer no initiation.
    private static func crowd(_ count: Int, _ trial: Trial) throws -> [Peer] {
        let peers = try (1...count).map { try trial.peer(named: "Peer \($0)") }
        for peer in peers { (peer.habits, peer.habits.answersAsks) = (.none, true) }
        _ = try trial.start(peers: peers, needs: .peer)
        try trial.wait(.seconds(5), for: "an initiation", when: { peers.contains { !$0.initiations.isEmpty } })
        return peers
    }

    /// Fails unless the program answers an ask for a chat.
    private static func expectTell(_ program: Program, _ peer: Peer, of chat: String, _ words: String) throws {
        let count = peer.tells.count
        for _ in 0..<5 where peer.tells.count == count {
            peer.sendBytes(ChatKeys(open: chat).ask(token: 7).encode(), to: program.address)
            peer.trial.run(for: .milliseconds(300))
        }
        try expect(peer.tells.count > count, "a tell to an ask for \(words)", actual: "none came")
    }

    /// Opens links with `count` new identities from the same socket.
    private static func meetMore(_ count: Int, _ peer: Peer, _ program: Program) throws {
        let trial = peer.trial
        peer.habits = .mute
        var openings: [PeerOpening] = []
        for _ in 0..<count {
            peer.identity = KeyPair(using: &trial.generator)
            openings.append(try peer.begin(to: program))
        }
        let isNamed = { (opening: PeerOpening) in peer.session(of: opening)?.isNamed ?? false }
        _ = try? trial.wait(.seconds(1), for: "", when: { openings.allSatisfy(isNamed) })
    }
}

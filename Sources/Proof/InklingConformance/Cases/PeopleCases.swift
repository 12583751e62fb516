import InklingWire

/// The rate of typing heartbeats of a node with many links, and its reports about people whose state changes fast.
extension Catalogue {
    /// Opens further links with new identities of one peer, which then sends nothing by itself.
    static func crowd(_ count: Int, of peer: Peer, at program: Program) throws -> [PeerSession] {
        let trial = peer.trial
        peer.habits = .mute
        peer.announcedInterval = 255
        let known = peer.sessions.count
        func named() -> [PeerSession] { peer.sessions[known...].filter(\.isNamed) }
        let end = trial.now + .seconds(20)
        while named().count < count {
            guard trial.now < end else {
                throw Untried(reason: "the program makes \(named().count) links in 20 s, and not \(count)")
            }
            var openings: [PeerOpening] = []
            for _ in 0..<min(8, count - named().count) {
                peer.identity = KeyPair(using: &trial.generator)
                openings.append(try peer.begin(to: program))
            }
            let isNamed = { (opening: PeerOpening) in peer.session(of: opening)?.isNamed ?? false }
            _ = try? trial.wait(.seconds(1), for: "", when: { openings.allSatisfy(isNamed) })
        }
        return named()
    }

    /// Makes the program's user type. Fails unless the typing heartbeats follow each other at the right intervals.
    private static func judgeTyping(
        _ program: Program, chat: String, on session: PeerSession, of peer: Peer, every expected: Duration
    ) throws {
        let trial = peer.trial
        let start = trial.now
        program.compose("hello", chat: chat)
        trial.run(for: .milliseconds(2_800))
        program.compose("", chat: chat)
        let times = peer.received(since: start).filter {
            $0.session === session && $0.status?.isTyping == true
                && ($0.heartbeat != nil || $0.at - start < .seconds(3))
        }
        guard let edge = times.first(where: { $0.typing != nil })?.at else {
            throw Finding(expected: "a typing frame", actual: peer.summary(since: start))
        }
        let beats = [edge] + times.filter { $0.heartbeat != nil }.map(\.at)
        let gaps = zip(beats, beats.dropFirst()).map { $1 - $0 }
        try expect(
            gaps.count >= 2 && gaps.allSatisfy({ $0 >= expected - trial.late / 2 && $0 <= expected + trial.late / 2 }),
            "heartbeats every \(expected.text) while typing is announced in \(chat)",
            actual: gaps.isEmpty ? "none came" : "they came after " + gaps.map(\.text).joined(separator: ", "))
    }

    static let peopleCases: [Case] = [
        Case(
            "T-23.1",
            "with 160 links strangers get the heartbeats of typing every 0.8 s, and preferred people every 0.5 s",
            also: "T-8", load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.chats, .secret)
            let secret = ChatSecret(using: &trial.generator)
            let name = trial.chatName + "-secret"
            program.tell(["do": "join", "chat": .string(name), "secret": .string(secret.base32)])
            let friend = try trial.peer(named: "Friend", in: ChatKeys(secret: secret, owner: nil))
            friend.announcedInterval = 255
            try friend.open(to: program, in: name)
            let sessions = try crowd(159, of: peer, at: program)
            trial.run(for: .milliseconds(500))
            try judgeTyping(program, chat: trial.chatName, on: sessions[0], of: peer, every: .milliseconds(800))
            guard let session = friend.sending else { throw Untried(reason: "the friend's link is gone") }
            try judgeTyping(program, chat: name, on: session, of: friend, every: .milliseconds(500))
        },
        Case(
            "T-24.1", "each wait for a heartbeat keeps within the interval announced before it, while links come",
            also: "T-11", "L-26", load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let witness = try trial.peer(named: "Witness")
            try witness.open(to: program)
            trial.run(for: .milliseconds(1_200))
            let start = trial.now
            _ = try crowd(119, of: peer, at: program)
            trial.run(for: .seconds(6))
            // A slow program may answer an opening that the peer has already replaced. It then has more than 120 links.
            let links = 1 + peer.sessions.count(where: \.isNamed)
            let units = (10 * links + 49) / 50
            let beats = witness.received(since: start).compactMap { frames in
                frames.ping == nil ? frames.heartbeat.map { (at: frames.at, interval: $0.interval) } : nil
            }
            let announced = beats.last.map { Int($0.interval) } ?? 0
            try expect(
                announced == units, "\(units) units of 100 ms announced with \(links) links", actual: "\(announced)")
            for (earlier, later) in zip(beats, beats.dropFirst()) {
                let wait = Duration.milliseconds(100 * Int(earlier.interval))
                try expect(
                    later.at - earlier.at <= wait + trial.late, "a heartbeat within the announced \(wait.text)",
                    actual: "it came after \((later.at - earlier.at).text)")
            }
        },
        Case("T-27.1", "a message waits at most 50 ms for the list that ends its author's typing", also: "T-22") {
            trial in
            let program = try trial.start(needs: .messages)
            let peers = try (1...4).map { try trial.peer(named: "Peer \($0)") }
            for peer in peers {
                try peer.open(to: program)
                peer.stopHeartbeats()
            }
            let author = peers[0]
            trial.run(for: .seconds(1))
            author.announce(typing: true)
            try program.awaitTyping(true, of: author.user)
            for round in 1...3 {
                // The changes are more than T-22 lets the program report.
                for _ in 0..<(round == 1 ? 7 : 2) {
                    for peer in peers.dropFirst() {
                        for isTyping in [true, false] {
                            peer.announce(typing: isTyping)
                            trial.run(for: .milliseconds(6))
                        }
                    }
                }
                let start = trial.now
                author.status.isTyping = false
                author.sendMessage("message \(round)")
                let message = try program.await("message", where: { $0["text"]?.string == "message \(round)" })
                try expect(
                    message.at - start <= .milliseconds(50) + trial.late, "the message within 50 ms",
                    actual: "it came after \((message.at - start).text)")
                try expect(
                    !program.shows(typing: author.user, before: "message \(round)"),
                    "a list without the author before the message", actual: "the message came first")
                author.announce(typing: true)
                trial.run(for: .milliseconds(100))
            }
        },
        Case("T-28.1", "a person of two devices has the name of the link made last", also: "L-31", "T-19") { trial in
            let program = try trial.start()
            let first = try trial.peer(named: "Alice")
            let second = try trial.peer(named: "Alicia", identity: first.identity)
            func awaitName(_ name: String) throws {
                try trial.wait(
                    .seconds(3), for: "`peer` with the name \(name)",
                    actual: { program.peerEvents(first.user).last.map { program.describe($0.value) } ?? "none" },
                    when: { program.peerEvents(first.user).last?.value["name"]?.string == name })
            }
            try first.open(to: program)
            try awaitName("Alice")
            trial.run(for: .milliseconds(300))
            try second.open(to: program)
            try awaitName("Alicia")
            trial.run(for: .seconds(1))
            first.sendName("Al")
            try trial.never(for: .milliseconds(500), "the name of the link made last") {
                program.peerEvents(first.user).last?.value["name"]?.string != "Alicia"
            }
            second.bye(.quit)
            try awaitName("Al")
        },
        Case("T-28.2", "a message on an older link has the name of the link made last") { trial in
            let program = try trial.start(needs: .messages)
            let first = try trial.peer(named: "Alice")
            try first.open(to: program)
            trial.run(for: .milliseconds(300))
            let second = try trial.peer(named: "Alicia", identity: first.identity)
            try second.open(to: program)
            try trial.wait(
                .seconds(3), for: "`peer` with the name Alicia",
                when: { program.peerEvents(first.user).last?.value["name"]?.string == "Alicia" })
            first.sendMessage("hello")
            let message = try program.await("message")
            try expect(
                message.value["from"]?["name"]?.string == "Alicia", "from Alicia",
                actual: program.describe(message.value))
        },
    ]
}

extension Program {
    /// Returns whether the last list before a message showed a person as typing.
    fileprivate func shows(typing user: String, before text: String) -> Bool {
        let before = lines.prefix { $0.kind != "message" || $0.value?["text"]?.string != text }
        let last = before.last { $0.kind == "typing" && $0.value?["chat"]?.string == arguments.chat }
        return last?.value?["users"]?.array?.contains { $0["user"]?.string == user } ?? false
    }
}

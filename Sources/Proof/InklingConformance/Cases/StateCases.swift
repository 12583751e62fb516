import InklingWire

/// The timelines of links.json: the states of a link, and the behaviour of a receiver of records.
extension Catalogue {
    /// Timelines that depend on a single instant, which two processes can't meet.
    private static let instants: Set<String> = [
        "a suspect link goes down at the instant of late evidence", "a pong of a ping 3 s ago is not awaited",
        "other datagrams on a down link draw a ping each 125 ms, and an old token counts for nothing",
        "a second unheard heartbeat counts after 10 s", "an unheard heartbeat within 3 s of coming up changes nothing",
        "a pong of the suspicion brings a down link up",
    ]

    /// Cases for the other timelines of a link's states, without those that take 20 s or more.
    static let stateCases = each(
        of: Vector.stateTimelines.filter { $0.until < .seconds(20) && !instants.contains($0.name) }, from: 201
    ) { trial, vector in
        // Up to three tries, because a busy machine can be late by more than a step of the timeline.
        for _ in 0..<2 {
            do { return try play(vector, trial) } catch is Finding {}
        }
        try play(vector, trial)
    }

    private static func play(_ vector: Vector, _ trial: Trial) throws {
        let program = try trial.start()
        defer { program.signal(.kill) }
        let peer = try trial.peer()
        peer.habits = .quiet
        _ = try peer.openSession(to: program)
        // The first datagram makes the link with the counter 0. So the timeline's counters are one higher here.
        peer.sendPlaintext([0x5A, 0, 0])
        let start = trial.now
        for input in vector.entries("inputs") {
            trial.pump(until: start + input.instant())
            let values = input["frames"]?.array ?? []
            // A ping that the timeline answers may still be on its way.
            let named = values.compactMap { place(of: $0["token"]) }
            let latest = trial.now + .milliseconds(200)
            while programPings(peer).count < named.max() ?? 0, trial.now < latest {
                trial.pump(until: trial.now + .milliseconds(2))
            }
            let pings = programPings(peer).map { $0.ping ?? 0 }
            let frames = try values.map { try frame($0, pings: pings) }
            peer.send(frames, counter: UInt32(input["counter"]?.integer ?? 0) + 1)
        }
        let end = vector.until
        trial.pump(until: start + end + .milliseconds(100))
        try judge(vector, start, end, program, peer)
    }

    /// Returns the pings of the program, without repeats, in the order of their counters.
    private static func programPings(_ peer: Peer) -> [ReceivedFrames] {
        var counters: Set<UInt32> = []
        return peer.received.filter { $0.ping != nil && counters.insert($0.counter).inserted }
            .sorted { $0.counter < $1.counter }
    }

    /// Returns the place, from 1, among the program's pings that a token such as `t1` stands for.
    private static func place(of token: JSONValue?) -> Int? { token?.string.flatMap { Int($0.dropFirst()) } }

    /// Returns a frame of a timeline, with the program's tokens in place of their names.
    private static func frame(_ value: JSONValue, pings: [UInt16]) throws -> Frame {
        func number<Number: FixedWidthInteger>(_ name: String) -> Number {
            value[name]?.integer.flatMap(Number.init(exactly:)) ?? 0
        }
        func token() throws -> UInt16 {
            guard let place = place(of: value["token"]) else { return number("token") }
            guard pings.indices.contains(place - 1) else {
                throw Finding(expected: "\(place) pings of the program", actual: "\(pings.count) came")
            }
            return pings[place - 1]
        }
        let status = Status(
            isTyping: value["typing"] == true, isAway: value["away"] == true, isUnheard: value["unheard"] == true)
        let body = bytes(hex: value["body"]?.string ?? "")
        switch value["type"] {
        case "heartbeat": return .heartbeat(Heartbeat(status: status, interval: number("interval")))
        case "typing": return .typing(status)
        case "ping": return .ping(try token())
        case "pong": return .pong(try token())
        case "ack": return .ack(Ack(next: number("next"), bitmap: number("bitmap")))
        case "forward": return .forward(number("next"))
        case "bye":
            let reasons: [String: ByeReason] = ["quit": .quit, "left": .left, "suspended": .suspended]
            return .bye(reasons[value["reason"]?.string ?? ""] ?? .lastWill)
        case "unknown": return .unknown(type: number("code"), body: body)
        default:
            return .record(
                Record(
                    number: number("number"), type: RecordType(code: number("recordType")),
                    isFirst: value["first"] == true, isLast: value["last"] == true, body: body))
        }
    }

    private static func judge(
        _ vector: Vector, _ start: Duration, _ end: Duration, _ program: Program, _ peer: Peer
    ) throws {
        let (trial, received) = (peer.trial, peer.received)
        // Datagrams due near the end may arrive after it.
        let last = end - .milliseconds(100)
        func times(_ seen: [Duration]) -> String { seen.map { ($0 - start).text }.joined(separator: ", ") }
        func compare(_ what: String, _ seen: [Duration], _ expected: [Duration]) throws {
            let (seen, expected) = (seen.filter { $0 - start < last }, expected.filter { $0 < last })
            let fits = zip(seen, expected).allSatisfy {
                $0 - start >= $1 - trial.early && $0 - start <= $1 + trial.late
            }
            try expect(
                seen.count == expected.count && fits,
                "\(what) at " + (expected.isEmpty ? "no time" : times(expected.map { $0 + start })),
                actual: "\(what) at " + (seen.isEmpty ? "no time" : times(seen)))
        }
        var expected: [String: [Duration]] = [:]
        for entry in vector.entries("expect") {
            if let presence = entry["presence"]?.string { expected[presence, default: []].append(entry.instant()) }
            let kinds = entry["frames"]?.array?.compactMap { $0["type"]?.string } ?? []
            for kind in kinds == ["heartbeat"] ? ["unheard"] : kinds {
                expected[kind, default: []].append(entry.instant())
            }
        }
        try compare("pings", programPings(peer).map(\.at), expected["ping"] ?? [])
        try compare("pongs", received.filter { $0.pong != nil }.map(\.at), expected["pong"] ?? [])
        try compare("byes", received.filter { $0.bye != nil }.map(\.at), expected["bye"] ?? [])
        let alone = received.filter { $0.status?.isUnheard == true && $0.ping == nil && $0.pong == nil }
        try compare("unheard heartbeats", alone.map(\.at), expected["unheard"] ?? [])
        for presence in ["online", "offline"] {
            let events = program.peerEvents(peer.user).filter { $0.value["presence"]?.string == presence }
            try compare("`peer` with \(presence)", events.map(\.at), expected[presence] ?? [])
        }
    }

    /// One case for each timeline of a receiver of records.
    static let recordTimelineCases = each(of: Vector.recordTimelines, from: 301) { trial, vector in
        let (program, peer) = try trial.startLinked(needs: .messages)
        peer.habits.heartbeat = nil
        trial.run(for: .milliseconds(200))
        let start = trial.now
        for input in vector.entries("inputs") {
            trial.pump(until: start + input.instant())
            peer.send([try frame(input["frame"] ?? .null, pings: [])])
        }
        trial.run(for: .milliseconds(400))
        let acks = peer.received(since: start).compactMap(\.ack).map { "next \($0.next), bitmap \($0.bitmap)" }
        let expected = vector.entries("expect")
        let wanted = expected.compactMap { entry in
            entry["ack"]?.integer.map { "next \($0), bitmap \(entry["bitmap"]?.integer ?? 0)" }
        }
        try expect(acks == wanted, "the acks \(wanted)", actual: "\(acks)")
        let texts = expected.compactMap { $0["text"]?.string }
        let shown = program.messages(from: peer.user)
        try expect(shown == texts, "the messages \(texts)", actual: "\(shown)")
    }
}

/// Talks of two keys: W-41, L-104 and A-39.
extension Catalogue {
    static let talkCases: [Case] = [
        Case("W-41.1", "both keys compute a talk's secret, whichever is smaller", also: "W-9", "A-39") { trial in
            for isSmaller in [true, false] {
                let program = try trial.startAnswering(
                    ProgramArguments(chat: trial.chatName, state: "smaller \(isSmaller)"),
                    needs: [.invitations, .chats, .secret, .messages])
                let identity = trial.identity(thatIsSmaller: isSmaller, than: program.key)
                let peer = try trial.peer(in: trial.talk(of: identity, with: program), identity: identity)
                let answer = try program.ask(["do": "talk", "key": peer.keyText, "chat": "Alice"], expecting: "ok")
                try expect(
                    answer["chat"]?.string == "Alice" && answer["with"] == peer.keyText && answer["invite"] == nil,
                    "`chat` Alice and `with`, without an `invite`", actual: program.describe(answer))
                try peer.open(to: program, in: "Alice")
                peer.sendMessage("hello")
                try program.await("message", where: { $0["chat"]?.string == "Alice" && $0["text"]?.string == "hello" })
                program.send("hello, Alice", chat: "Alice")
                try peer.await("the program's text", since: .zero) { $0.text != nil }
            }
        },
        Case("W-41.2", "the key with which a talk would have a secret of zeros has none", also: "W-4", "A-39") {
            trial in
            let program = try trial.startAnswering(needs: .invitations, .chats, .secret)
            for vector in Vector.invalidTalks {
                guard let key = PublicKey(vector.bytes("publicKey")) else {
                    throw Untried(reason: "\(vector.name) breaks W-3")
                }
                try program.ask(["do": "talk", "key": .string(key.base64url)], refusedWith: "unknown-peer")
            }
            let chats = try program.chatNames()
            try expect(chats == [trial.chatName], "the first chat alone", actual: "\(chats)")
        },
        Case("L-104.1", "a third key that knows a talk's secret gets no link in it", also: "L-36", "W-41") { trial in
            let program = try trial.startAnswering(needs: .invitations, .chats, .secret)
            let alice = try trial.peer()
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            let chat = try trial.talk(of: alice.identity, with: program)
            let thief = try trial.peer(named: "Mallory", in: chat)
            thief.habits = .quiet
            for _ in 1...2 {
                try thief.begin(to: program)
                try trial.never(for: .milliseconds(500), "no response to a third key") { !thief.responses.isEmpty }
            }
            alice.chat = chat
            try alice.open(to: program, in: "Alice")
            try thief.begin(to: program)
            try trial.never(for: .milliseconds(500), "no response beside the link") { !thief.responses.isEmpty }
            try alice.ping()
        },
        Case("L-104.2", "in a talk the node opens to nobody but its person", also: "L-36", "D-12") { trial in
            let (alice, thief) = (try trial.peer(), try trial.peer(named: "Mallory"))
            for peer in [alice, thief] { peer.habits.answersAsks = false }
            let program = try trial.startAnswering(
                ProgramArguments(chat: trial.chatName, peers: [alice.address, thief.address]),
                needs: [.invitations, .chats, .secret, .peer])
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            let chat = try trial.talk(of: alice.identity, with: program)
            for peer in [thief, alice] {
                (peer.chat, peer.habits.answersAsks) = (chat, true)
                try trial.wait(
                    .seconds(12), for: "an ask in the talk", when: { peer.asks.contains { chat.fits($0.value) } })
            }
            try trial.wait(
                .seconds(8), for: "a link of the talk",
                when: { alice.sessions.contains { $0.role == .responder && $0.isComplete } })
            try trial.never(for: .milliseconds(1_500), "no initiation to a third key") { !thief.initiations.isEmpty }
        },
        Case(
            "A-39.1", "`talk` knocks at the person in another chat, and at nobody else", also: "M-45", "M-46", "W-41"
        ) { trial in
            let (program, alice) = try trial.startInviting()
            let bob = try trial.peer(named: "Bob")
            try bob.open(to: program)
            let absent = KeyPair(using: &trial.generator).publicKey
            try program.ask(["do": "talk", "key": .string(absent.base64url)], expecting: "ok")
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.isEmpty && bob.invites.isEmpty, "no knock at others", actual: "one came")
            let answer = try program.ask(["do": "talk", "key": alice.keyText], expecting: "ok")
            let knock = try alice.awaitInvite()
            try expect(knock.body.isEmpty, "an invite without a body", actual: knock.body.hex)
            let name = answer["chat"]?.string ?? ""
            let chats = try program.ask(["do": "chats"], expecting: "chats")["chats"]?.array ?? []
            let talk = chats.first { $0["with"] == alice.keyText }
            try expect(
                talk?["chat"]?.string == name && talk?["secret"]?.boolean == true && chats.first?["with"] == nil,
                "the talk in `chats`, with `with`", actual: program.describe(.array(chats)))
            try trial.peerOfTalk(alice, with: program).open(to: program, in: name)
            let other = try program.ask(["do": "talk", "key": bob.keyText, "chat": "Bob the builder"], expecting: "ok")
            try expect(
                other["chat"]?.string == "Bob the builder", "the given name", actual: program.describe(other))
            _ = try bob.awaitInvite()
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.count == 1, "one knock at each", actual: "\(alice.invites.count)")
        },
        Case(
            "A-39.2", "`talk` refuses the own key, no key and a bad name; `talk` again knocks again", also: "W-2",
            needs: .node
        ) {
            trial in
            let (program, alice) = try trial.startInviting()
            let own: JSONValue = .string(program.key.base64url)
            try program.ask(["do": "talk", "key": own], refusedWith: "unknown-peer")
            for key: JSONValue in ["", "sesame", .string(String(repeating: "A", count: 42) + "B"), 7, .null] {
                try program.ask(["do": "talk", "key": key], refusedWith: "bad-command")
            }
            try program.ask(["do": "talk"], refusedWith: "bad-command")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": 7], refusedWith: "bad-command")
            try program.ask(["do": "talk", "key": alice.keyText, "keep": true], refusedWith: "unsupported")
            for name in ["", "a\nb", trial.chatName, "inkling:x"] {
                try program.ask(["do": "talk", "key": alice.keyText, "chat": .string(name)], expecting: "error")
            }
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.isEmpty, "no knock for a request that is refused", actual: "one came")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.count == 2, "two knocks", actual: "\(alice.invites.count)")
            let chats = try program.chatNames()
            try expect(chats == [trial.chatName, "Alice"], "both chats", actual: "\(chats)")
        },
    ]
}

extension Catalogue {
    static let securityCases: [Case] = [
        Case("S-1.1", "nothing that it sends in the clear holds the secret, the pre-shared key or its plain key") {
            trial in
            let secret = ChatSecret(using: &trial.generator)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            let program = try trial.startInSecretChat(secret, peers: [peer], needs: .peer)
            _ = try trial.ask(by: peer, at: program)
            try peer.awaitLink(from: program)
            let other = try trial.peer(named: "Bob", in: peer.chat)
            try other.open(to: program)
            let hidden = [
                ("the secret", secret.bytes), ("the text of the secret", Array(secret.base32.utf8)),
                ("the pre-shared key", peer.chat.preSharedKey), ("the static key", program.key.bytes),
            ]
            var sent = peer.initiations.map(\.bytes) + peer.asks.map(\.bytes) + peer.tells.map(\.bytes)
            sent += other.responses.map(\.bytes) + peer.received.map(\.bytes) + other.received.map(\.bytes)
            for bytes in sent {
                for (what, part) in hidden where bytes.holds(part) {
                    throw Finding(expected: "no datagram that holds \(what)", actual: bytes.hex)
                }
            }
        },
        Case("S-2.1", "no secret, draft or text of a message goes to standard error") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.startInSecretChat(secret, needs: .messages)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            try peer.open(to: program)
            program.compose("draft-3vfk")
            program.send("sent-8bqz")
            peer.sendMessage("received-5xwm")
            program.feed(Array("{\"do\":\"send\",\"text\":\"broken-7hgt".utf8))
            try program.await("message", where: { $0["text"]?.string == "received-5xwm" })
            try program.await("delivered")
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            let log = program.diagnostics.joined(separator: "\n")
            for part in [secret.base32, "draft-3vfk", "sent-8bqz", "received-5xwm"] where log.contains(part) {
                throw Finding(expected: "no \(part) on standard error", actual: String(log.prefix(400)))
            }
        },
        Case("S-3.1", "an initiation draws one response, no longer than itself and to its source alone") { trial in
            let program = try trial.start()
            let (stranger, _) = try trial.strangerAndWitness(of: program)
            let bystander = try stranger.addAddress()
            let opening = try stranger.makeOpening(to: program)
            stranger.sendBytes(opening.bytes, to: program.address)
            try trial.wait(.seconds(2), for: "a response", until: { stranger.responses.first })
            try trial.never(
                for: .milliseconds(1_500), "one response to one initiation",
                actual: { "\(stranger.datagramCount) datagrams" }, when: { stranger.datagramCount > 1 })
            guard let response = stranger.responses.first, response.bytes.count <= opening.bytes.count else {
                throw Finding(expected: "a response no longer than the initiation", actual: "a longer one")
            }
            _ = bystander
        },
        Case("S-3.2", "an ask draws one tell, no longer than itself and to its source alone", also: "D-13") { trial in
            let program = try trial.start()
            let (stranger, _) = try trial.strangerAndWitness(of: program)
            let source = try stranger.addAddress()
            let ask = stranger.chat.ask(token: 0x0102_0304).encode()
            stranger.sendBytes(ask, to: program.address, from: source)
            try trial.wait(.seconds(2), for: "a tell", until: { stranger.tells.first })
            try trial.never(
                for: .milliseconds(500), "one tell to one ask", actual: { "\(stranger.datagramCount) datagrams" },
                when: { stranger.datagramCount > 1 })
            guard let tell = stranger.tells.first, tell.bytes.count <= ask.count else {
                throw Finding(expected: "a tell no longer than the ask", actual: "a longer one")
            }
        },
        Case("S-4.1", "it tells its user that an open chat keeps nothing secret") { trial in
            let program = try trial.start()
            try program.await(
                "notice", "the notice `open-chat` about \(trial.chatName)",
                where: { $0["code"]?.string == "open-chat" && $0["chat"]?.string == trial.chatName })
        },
        Case("S-4.2", "it says so of an open chat that is joined later, too") { trial in
            let program = try trial.start(needs: .chats)
            let chat = trial.chatName + "-later"
            program.tell(["do": "join", "chat": .string(chat)])
            try program.await(
                "notice", "the notice `open-chat` about \(chat)",
                where: { $0["code"]?.string == "open-chat" && $0["chat"]?.string == chat })
        },
    ]
}

extension [UInt8] {
    /// Returns whether the bytes contain `part`.
    fileprivate func holds(_ part: [UInt8]) -> Bool {
        guard !part.isEmpty, count >= part.count else { return false }
        return (0...(count - part.count)).contains { self[$0..<($0 + part.count)].elementsEqual(part) }
    }
}

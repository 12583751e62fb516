import InklingWire2

extension Catalogue {
    static let vectorCases: [Case] =
        [
            family("W-8.v1", "the open chats of the vectors have these tags and pre-shared keys", Vector.openChats) {
                trial in
                let program = try trial.start(needs: .chats)
                for vector in Vector.openChats {
                    program.tell(["do": "join", "chat": .string(vector.text())])
                    let tag = UInt64(bigEndianBytes: vector.bytes(1)) ?? 0
                    try trial.expectSession(
                        tag: ChatTag(tag), preSharedKey: vector.bytes(2), with: program, vector.name)
                }
            },
            family("W-9.v1", "the secret chats of the vectors have these tags and pre-shared keys", Vector.secretChats)
            { trial in
                let program = try trial.start(needs: .chats, .secret)
                for (number, vector) in Vector.secretChats.enumerated() {
                    guard let secret = ChatSecret(vector.bytes()) else { continue }
                    program.tell(["do": "join", "chat": .string("secret \(number)"), "secret": .string(secret.base32)])
                    let tag = UInt64(bigEndianBytes: vector.bytes(1)) ?? 0
                    try trial.expectSession(
                        tag: ChatTag(tag), preSharedKey: vector.bytes(2), with: program, vector.name)
                }
            },
            family("W-2.v1", "the invalid chat names of the vectors are refused", Vector.invalidChatNames) { trial in
                let program = try trial.start(needs: .chats)
                for vector in Vector.invalidChatNames {
                    program.tell(["do": "join", "chat": .string(vector.text())])
                    try program.await(
                        "error", "an `error` for \(vector.name)", where: { $0["line"]?.integer == program.written })
                }
                _ = try trial.peer().openSession(to: program)
            },
            family("W-7.v1", "the texts of secrets of the vectors are taken for these bytes", Vector.secrets) { trial in
                let program = try trial.start(needs: .chats, .secret)
                for (number, vector) in Vector.secrets.enumerated() {
                    guard let secret = ChatSecret(vector.bytes(1)) else { continue }
                    program.tell([
                        "do": "join", "chat": .string("secret \(number)"), "secret": .string(vector.values[0]),
                    ])
                    let keys = ChatKeys(secret: secret)
                    try trial.expectSession(tag: keys.tag, preSharedKey: keys.preSharedKey, with: program, vector.name)
                }
            },
            family("W-7.v2", "the invalid secrets of the vectors are refused", Vector.invalidSecrets) { trial in
                let program = try trial.start(needs: .chats, .secret)
                for vector in Vector.invalidSecrets {
                    program.tell(["do": "join", "chat": "kitchen", "secret": .string(vector.text())])
                    try program.await(
                        "error", "an `error` for \(vector.name)", where: { $0["line"]?.integer == program.written })
                }
                // None of them made an open chat of that name.
                let peer = try trial.peer(in: ChatKeys(open: "kitchen"))
                _ = try peer.begin(to: program)
                try trial.never(for: .milliseconds(400), "no chat `kitchen`", when: { peer.datagramCount > 0 })
                _ = try trial.peer().openSession(to: program)
            },
            family("W-3.v1", "the invalid keys of the vectors are refused in a tell", Vector.invalidKeys) { trial in
                let peer = try trial.peer()
                peer.habits.answersAsks = false
                let program = try trial.start(peers: [peer], needs: .peer)
                var seen = 0
                for vector in Vector.invalidKeys {
                    let ask = try trial.wait(
                        .seconds(8), for: "an ask", until: { peer.asks.count > seen ? peer.asks.last : nil })
                    seen = peer.asks.count
                    peer.sendBytes(Tell(token: ask.value.token, nonce: 0, key: vector.bytes()).encode(), to: ask.source)
                    try trial.never(
                        for: .milliseconds(400), "no initiation after a tell of \(vector.name)",
                        when: { !peer.initiations.isEmpty })
                }
                peer.habits.answersAsks = true
                try peer.awaitLink(from: program)
            },
            family("W-5.v1", "the keys of the vectors have these user IDs", Vector.userIDs) { trial in
                let program = try trial.start()
                for vector in Vector.userIDs {
                    guard let pair = Vector.identities.first(where: { $0.values[0] == vector.values[0] }) else {
                        continue
                    }
                    let peer = try trial.peer(named: vector.name, identity: Peer.identity(privateKey: pair.bytes(1)))
                    _ = try peer.openSession(to: program)
                    try program.await(
                        "peer", "`peer` about \(vector.values[1])", where: { $0["user"]?.string == vector.values[1] })
                }
            },
            family("W-10.v1", "the masked keys of the vectors are unmasked", Vector.keyMasks) { trial in
                for vector in Vector.keyMasks {
                    guard
                        let pair = Vector.identities.first(where: { $0.values[0] == vector.values[2] }),
                        let secret = ChatSecret(vector.bytes()), let nonce = UInt64(bigEndianBytes: vector.bytes(1))
                    else { continue }
                    let peer = try trial.peer(
                        in: ChatKeys(secret: secret), identity: Peer.identity(privateKey: pair.bytes(1)))
                    peer.habits.answersAsks = false
                    let program = try trial.startInSecretChat(secret, peers: [peer], needs: .peer)
                    let ask = try trial.wait(.seconds(5), for: "an ask", until: { peer.asks.last })
                    peer.sendBytes(
                        Tell(token: ask.value.token, nonce: nonce, key: vector.bytes(3)).encode(), to: ask.source)
                    try trial.wait(
                        .seconds(3), for: "an initiation to the key of \(vector.name)",
                        actual: { "\(peer.initiations.count) initiations came" },
                        until: { peer.sessions.first { $0.role == .responder && $0.isComplete } })
                    program.tell(["do": "quit"])
                }
            },
            family(
                "W-15.v1", "the datagrams of the vectors are of no session of the program, and not answered",
                Vector.datagrams
            ) {
                trial in
                let program = try trial.start()
                let (stranger, witness) = try trial.strangerAndWitness(of: program)
                try trial.expectSilence(
                    to: Vector.datagrams.map { Sample($0.name, $0.bytes()) }, from: stranger, at: program,
                    witness: witness, batch: 1)
                try trial.expectAnswers(to: stranger, from: program)
            },
            family("W-12.v1", "the invalid datagrams of the vectors are not answered", Vector.invalidDatagrams) {
                trial in
                try refuseDatagrams(Vector.invalidDatagrams, trial)
            },
            family("W-17.v1", "the invalid initiations of the vectors are not answered", Vector.invalidInitiations) {
                trial in
                try refuseDatagrams(Vector.invalidInitiations, trial)
            },
            family("L-7.v1", "the invalid responses of the vectors are not answered", Vector.invalidResponses) {
                trial in
                try refuseDatagrams(Vector.invalidResponses, trial)
            },
            family("W-24.v1", "the valid frames of the vectors are taken", Vector.frames, also: "W-30") { trial in
                let program = try trial.start()
                let peer = try trial.peer()
                try peer.open(to: program)
                // A ping comes before those that have none; the others have to be answered as they are.
                let (own, without) = (Vector.frames.filter { $0.ping != nil }, Vector.frames.filter { $0.ping == nil })
                try trial.expectParsing(
                    of: without.map { Sample($0.name, $0.bytes()) }, areValid: true, by: program, from: peer)
                for vector in own {
                    if peer.sending?.ended ?? true { try peer.open(to: program) }
                    let start = trial.now
                    peer.sendPlaintext(vector.bytes())
                    try peer.await("a pong to the ping of \(vector.name)", since: start) { $0.pong == vector.ping }
                    if vector.hasBye { peer.forget() }
                }
            },
            family("W-24.v2", "the invalid frames of the vectors are dropped", Vector.invalidFrames) { trial in
                let program = try trial.start()
                let peer = try trial.peer()
                try peer.open(to: program)
                let samples = Vector.invalidFrames.filter { $0.values[1] != "empty" }.map {
                    Sample($0.name, $0.bytes())
                }
                let start = trial.now
                try trial.expectParsing(of: samples, areValid: false, by: program, from: peer)
                peer.sendPlaintext([])
                try peer.probe()
                guard program.typingChanges(of: peer.user, since: start).isEmpty,
                    program.peerEvents(peer.user, since: start).isEmpty
                else {
                    throw Finding(expected: "nothing changes that a user can see", actual: "typing or presence changed")
                }
            },
            family("W-19.v1", "the invalid sealed datagrams of the vectors are dropped", Vector.invalidSealed) {
                trial in
                let program = try trial.start()
                let peer = try trial.peer()
                let session = try peer.open(to: program)
                let start = trial.now
                for vector in Vector.invalidSealed {
                    let bytes = vector.bytes(1)
                    let key = CipherKey(bytes: vector.bytes())
                    if bytes.count >= 27, let counter = UInt32(bigEndianBytes: Array(bytes[5..<9])),
                        let plaintext = try? key.open(
                            Array(bytes[9...]), counter: UInt64(counter), associatedData: Array(bytes[..<9]))
                    {
                        // It authenticates: so does the same under the session's key.
                        let used = counter >= 0xFFFF_FFFE ? UInt64(counter) : session.state.nextCounter
                        peer.sendPlaintext(plaintext, on: session, counter: used)
                    } else {
                        peer.sendBytes(
                            bytes.prefix(1) + session.remoteIndex.bigEndianBytes + bytes.dropFirst(5),
                            to: program.address)
                    }
                    try peer.probe(on: session)
                    guard program.typingChanges(of: peer.user, since: start).isEmpty,
                        program.peerEvents(peer.user, since: start).isEmpty
                    else { throw Finding(expected: "\(vector.name) is dropped", actual: "typing or presence changed") }
                }
            },
        ] + replayCases + senderCases + receiverCases

    private static func family(
        _ id: String, _ title: String, _ vectors: [Vector], also clauses: String...,
        body: @escaping @Sendable (Trial) throws -> Void
    ) -> Case {
        let first = String(id.prefix { $0 != "." })
        return Case(id, title, alsoAll: vectors.clauses(but: first) + clauses, group: .vectors, body)
    }

    /// One case for each vector, numbered by the first of its clauses.
    static func each(
        of vectors: [Vector], from number: Int, _ body: @escaping @Sendable (Trial, Vector) throws -> Void
    ) -> [Case] {
        var numbers: [String: Int] = [:]
        return vectors.map { vector in
            let first = vector.clauses[0]
            numbers[first, default: number - 1] += 1
            return Case(
                "\(first).v\(numbers[first] ?? 0)", vector.name, alsoAll: Array(vector.clauses.dropFirst()),
                group: .vectors
            ) { try body($0, vector) }
        }
    }

    private static let replayCases = each(of: Vector.replays, from: 1) { trial, vector in
        let counters = vector.values[0].split(separator: " ").compactMap { word in
            UInt64(word.dropLast()).map { (counter: $0, isTaken: word.hasSuffix("+")) }
        }
        try replay(trial, counters)
    }

    /// Plays a sequence from a session's first counter on, as the sequences begin with any.
    private static func replay(_ trial: Trial, _ counters: [(counter: UInt64, isTaken: Bool)]) throws {
        let program = try trial.start()
        let peer = try trial.peer()
        peer.habits = .none
        peer.habits.takesResponses = true
        let session = try peer.openSession(to: program)
        var expected: [(counter: UInt64, token: UInt16, isTaken: Bool)] = []
        for (number, (counter, isTaken)) in counters.enumerated() {
            let token = trial.token()
            // The first one brings the hello: without it a ping would be ignored (L-20).
            let hello: [Frame] = number == 0 ? [.hello(peer.hello), peer.heartbeatFrame] : []
            peer.send(hello + [.ping(token)], on: session, counter: counter)
            expected.append((counter, token, isTaken))
            guard isTaken else { continue }
            try trial.wait(
                .seconds(3), for: "a pong to number \(number + 1), the counter \(counter)",
                until: { peer.hasPong(token) ? true : nil })
        }
        trial.run(for: .milliseconds(300))
        for (number, (counter, token, isTaken)) in expected.enumerated() where peer.hasPong(token) != isTaken {
            throw Finding(
                expected: "number \(number + 1), the counter \(counter), is \(isTaken ? "accepted" : "dropped")",
                actual: "a pong came")
        }
    }

    private static func refuseDatagrams(_ vectors: [Vector], _ trial: Trial) throws {
        let program = try trial.start(ProgramArguments(chat: "lobby"))
        let witness = try trial.peer(in: ChatKeys(open: "lobby"))
        try witness.open(to: program)
        let stranger = try trial.peer(named: "Stranger", in: ChatKeys(open: "lobby"))
        stranger.habits = .none
        try trial.expectSilence(
            to: vectors.map { Sample($0.name, $0.bytes()) }, from: stranger, at: program, witness: witness, batch: 1)
        try trial.expectAnswers(to: stranger, from: program)
    }
}

extension Vector {
    /// The token of the ping among its frames.
    fileprivate var ping: UInt16? {
        ((try? Frames.parse(bytes())) ?? []).lazy.compactMap { if case .ping(let token) = $0 { token } else { nil } }
            .first
    }

    fileprivate var hasBye: Bool {
        ((try? Frames.parse(bytes())) ?? []).contains { if case .bye = $0 { true } else { false } }
    }
}

extension Trial {
    /// Completes a handshake under a tag and pre-shared key that a vector gives.
    fileprivate func expectSession(
        tag: ChatTag, preSharedKey: [UInt8], with program: Program, _ what: String
    ) throws {
        let peer = try peer()
        peer.habits = .none
        peer.habits.takesResponses = true
        do {
            let opening = try peer.makeOpening(to: program, preSharedKey: preSharedKey, tag: tag)
            _ = try peer.openSession(opening)
        } catch let finding as Finding {
            throw Finding(expected: "a session under the tag and pre-shared key of \(what)", actual: finding.actual)
        }
    }
}

import InklingWire

extension Catalogue {
    static let vectorCases: [Case] =
        [
            family("W-9.v1", "the chats of the vectors have these keys", Vector.chats) { trial in
                let program = try trial.startAnswering(needs: .chats, .secret)
                for (number, vector) in Vector.chats.enumerated() {
                    let (keys, join) = try chat(vector, number: number)
                    guard keys.preSharedKey == vector.bytes("psk"), keys.prologueKey == vector.bytes("prologueKey")
                    else {
                        throw Untried(reason: "the suite derives other keys of \(vector.name)")
                    }
                    let answer = try program.ask(join)
                    // The program refuses to join a chat again that it is in already.
                    if answer["on"]?.string == "error" { continue }
                    try trial.expectSession(in: keys, with: program, vector.name)
                }
            },
            family("W-11.v1", "the invites of the vectors are taken", Vector.invites, also: "A-6") { trial in
                let program = try trial.startAnswering(needs: .chats, .secret)
                for vector in Vector.invites {
                    let answer = try program.ask(["do": "join", "invite": vector["text"] ?? .null, "confirm": true])
                    try expect(
                        answer["on"]?.string == "ok" && answer["chat"] == vector["chatName"],
                        "`ok` for \(vector.name)", actual: program.describe(answer))
                    let secret = try ChatSecret(base32: vector.string("secret"))
                    let owner = try vector["owner"]?.string.map { try PublicKey(base64url: $0) }
                    try trial.expectSession(in: ChatKeys(secret: secret, owner: owner), with: program, vector.name)
                    try program.ask(["do": "leave", "chat": vector["chatName"] ?? .null], expecting: "ok")
                }
            },
            family("W-34.v1", "the invalid invites of the vectors are refused", Vector.invalidInvites, also: "A-6") {
                trial in
                let program = try trial.startAnswering(needs: .chats, .secret)
                for vector in Vector.invalidInvites {
                    let answer = try program.ask(["do": "join", "invite": .string(vector.string("text"))])
                    try expect(
                        answer["on"]?.string == "error", "an `error` for \(vector.name)",
                        actual: program.describe(answer))
                }
            },
            family("W-2.v1", "the invalid chat names of the vectors are refused", Vector.invalidChatNames) { trial in
                let program = try trial.start(needs: .chats)
                for vector in Vector.invalidChatNames {
                    program.tell(["do": "join", "chat": .string(vector.string("chatName"))])
                    try program.await(
                        "error", "an `error` for \(vector.name)", where: { $0["line"]?.integer == program.written })
                }
                _ = try trial.peer().openSession(to: program)
            },
            family("W-7.v1", "the texts of secrets of the vectors are taken for these bytes", Vector.secrets) { trial in
                let program = try trial.start(needs: .chats, .secret)
                for (number, vector) in Vector.secrets.enumerated() {
                    guard let secret = ChatSecret(vector.bytes()) else { continue }
                    program.tell([
                        "do": "join", "chat": .string("secret \(number)"), "secret": .string(vector.string("text")),
                    ])
                    try trial.expectSession(in: ChatKeys(secret: secret), with: program, vector.name)
                }
            },
            family("W-7.v2", "the invalid secrets of the vectors are refused", Vector.invalidSecrets) { trial in
                let program = try trial.start(needs: .chats, .secret)
                for vector in Vector.invalidSecrets {
                    program.tell(["do": "join", "chat": "kitchen", "secret": .string(vector.string("text"))])
                    try program.await(
                        "error", "an `error` for \(vector.name)", where: { $0["line"]?.integer == program.written })
                }
                // None of these requests made the program join an open chat of that name.
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
                    let key = try TextEncoding.base64url.decode(vector.string("text").utf8, count: 32)
                    let ask = try trial.wait(
                        .seconds(8), for: "an ask", until: { peer.asks.count > seen ? peer.asks.last : nil })
                    seen = peer.asks.count
                    peer.sendBytes(peer.forgeTell(for: ask.value, key: key), to: ask.source)
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
                    guard let key = Vector.privateKey(of: vector.bytes("publicKey")) else { continue }
                    let user = vector.string("userID")
                    let peer = try trial.peer(named: vector.name, identity: Peer.identity(privateKey: key))
                    try peer.open(to: program)
                    try program.await("peer", "`peer` about \(user)", where: { $0["user"]?.string == user })
                }
            },
            family("M-25.v1", "the names of the vectors are shown so", Vector.names) { trial in
                let (program, peer) = try trial.startLinked()
                for (number, vector) in Vector.names.enumerated() {
                    // The name before is a different one, so that each name is a change.
                    peer.sendName("other \(number)")
                    try program.await("peer", where: { $0["name"]?.string == "other \(number)" })
                    let start = trial.now
                    let record = Record(number: peer.state.nextOwnRecord, type: .name, body: vector.bytes("body"))
                    peer.state.nextOwnRecord += 1
                    peer.send([.typing(peer.status), .record(record)])
                    try program.await("peer", since: start, "`peer` with the name of \(vector.name)") {
                        $0["name"]?.string.map { Array($0.utf8) } == Array(vector.string("displayName").utf8)
                    }
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
            family("W-24.v1", "the valid frames of the vectors are taken", Vector.frames, also: "W-30") { trial in
                let (program, peer) = try trial.startLinked()
                // Vectors without a ping go out behind a ping of the case. Vectors with a ping of their own go out
                // alone.
                let (own, without) = (Vector.frames.filter { $0.ping != nil }, Vector.frames.filter { $0.ping == nil })
                // Record 0 of each link is the peer's name.
                var number: UInt32 = 0
                func numbered(_ vector: Vector) -> [UInt8] {
                    number = vector.endsLink ? 0 : number + 1
                    return vector.numbered(number)
                }
                try trial.expectParsing(
                    of: without.map { Sample($0.name, numbered($0)) }, areValid: true, by: program, from: peer)
                for vector in own {
                    if peer.sending == nil { try peer.open(to: program) }
                    let start = trial.now
                    peer.sendPlaintext(numbered(vector))
                    try peer.await("a pong to the ping of \(vector.name)", since: start) { $0.pong == vector.ping }
                    if vector.endsLink { peer.forget() }
                }
            },
            family("W-24.v2", "the invalid frames of the vectors are dropped", Vector.invalidFrames) { trial in
                let (program, peer) = try trial.startLinked()
                let samples = Vector.invalidFrames.filter { $0["error"] != "empty" }.map {
                    Sample($0.name, $0.bytes())
                }
                let start = trial.now
                try trial.expectParsing(of: samples, areValid: false, by: program, from: peer)
                peer.sendPlaintext([])
                try peer.ping()
                try expect(
                    program.typingChanges(of: peer.user, since: start).isEmpty
                        && program.peerEvents(peer.user, since: start).isEmpty, "nothing changes that a user can see",
                    actual: "typing or presence changed")
            },
            family("W-19.v1", "the invalid sealed datagrams of the vectors are dropped", Vector.invalidSealed) {
                trial in
                let (program, peer, session) = try trial.startInSession()
                let start = trial.now
                for vector in Vector.invalidSealed {
                    let bytes = vector.bytes()
                    let key = CipherKey(bytes: vector.bytes("key"))
                    if bytes.count >= 27, let counter = UInt32(bigEndianBytes: Array(bytes[5..<9])),
                        let plaintext = try? key.open(
                            Array(bytes[9...]), counter: UInt64(counter), associatedData: Array(bytes[..<9]))
                    {
                        // The vector authenticates. So the case seals its plaintext under the session's key.
                        let used = counter >= 0xFFFF_FFFE ? counter : session.state.nextCounter
                        peer.sendPlaintext(plaintext, on: session, counter: used)
                    } else {
                        peer.sendBytes(
                            bytes.prefix(1) + session.remoteIndex.bigEndianBytes + bytes.dropFirst(5),
                            to: program.address)
                    }
                    try peer.ping(on: session)
                    try expect(
                        program.typingChanges(of: peer.user, since: start).isEmpty
                            && program.peerEvents(peer.user, since: start).isEmpty, "\(vector.name) is dropped",
                        actual: "typing or presence changed")
                }
            },
        ] + replayCases + senderCases + receiverCases + stateCases + recordTimelineCases

    private static func family(
        _ id: String, _ title: String, _ vectors: [Vector], also clauses: String...,
        body: @escaping @Sendable (Trial) throws -> Void
    ) -> Case {
        let first = String(id.prefix { $0 != "." })
        return Case(id, title, alsoAll: vectors.clauses(but: first) + clauses, body)
    }

    /// Returns one case for each vector, numbered by the first of the vector's clauses.
    static func each(
        of vectors: [Vector], from number: Int, _ body: @escaping @Sendable (Trial, Vector) throws -> Void
    ) -> [Case] {
        var numbers: [String: Int] = [:]
        return vectors.map { vector in
            let first = vector.clauses[0]
            numbers[first, default: number - 1] += 1
            return Case("\(first).v\(numbers[first] ?? 0)", vector.name, alsoAll: Array(vector.clauses.dropFirst())) {
                try body($0, vector)
            }
        }
    }

    private static let replayCases = each(of: Vector.replays, from: 1) { trial, vector in
        let program = try trial.start()
        let peer = try trial.peer()
        peer.habits = .quiet
        var sessions: [String: PeerSession] = [:]
        for (number, step) in vector.entries("steps").enumerated() {
            guard let name = step["session"]?.string,
                let counter = step["counter"]?.integer.flatMap(UInt32.init(exactly:)),
                let kind = step["datagram"]?.string, let outcome = step["outcome"]?.string
            else { preconditionFailure("a step of \(vector.name) has no form") }
            let session = try sessions[name] ?? peer.openSession(to: program)
            sessions[name] = session
            let token = trial.token()
            var bytes = session.seal(
                Frames.encode([.ping(token)]) + (kind == "unparsable" ? [0x3F] : []), counter: counter)
            if kind == "altered" { bytes[bytes.count - 1] ^= 1 }
            peer.sendBytes(bytes, to: program.address)
            let what = "number \(number + 1), \(kind) under \(counter) on session \(name)"
            if outcome == "accept" {
                try trial.wait(.seconds(3), for: "a pong to \(what)", when: { peer.hasPong(token) })
            } else if outcome == "drop" {
                try trial.never(for: .milliseconds(120), "no pong to \(what)") { peer.hasPong(token) }
            } else {
                trial.run(for: .milliseconds(50))
                let last = trial.token()
                peer.sendBytes(session.seal(Frames.encode([.ping(last)]), counter: 900), to: program.address)
                try trial.never(for: .milliseconds(300), "nothing on the link after \(what)") { peer.hasPong(last) }
            }
        }
    }

    /// Returns the keys of a chat that a vector lists, and the request that joins it.
    private static func chat(_ vector: Vector, number: Int) throws -> (ChatKeys, [String: JSONValue]) {
        guard let text = vector["chat"]?["secret"]?.string else {
            let name = try ChatName(vector["chat"]?["open"]?.string ?? "")
            return (ChatKeys(openName: name), ["do": "join", "chat": .string(name.text), "confirm": true])
        }
        let secret = try ChatSecret(base32: text)
        let owner = try vector["chat"]?["owner"]?.string.map { try PublicKey(base64url: $0) }
        let invite = Invite(name: try ChatName("secret \(number)"), secret: secret, owner: owner)
        return (ChatKeys(secret: secret, owner: owner), ["do": "join", "invite": .string(invite.text)])
    }
}

extension Vector {
    /// The token of the ping among the vector's frames, if any.
    fileprivate var ping: UInt16? {
        ((try? Frames.parse(bytes())) ?? []).lazy.compactMap { if case .ping(let token) = $0 { token } else { nil } }
            .first
    }

    /// Returns the vector's frames, in which a record gets this number. On a link, a number stands for one content
    /// (L-105).
    fileprivate func numbered(_ number: UInt32) -> [UInt8] {
        let bytes = bytes()
        guard case .record(let record)? = (try? Frames.parse(bytes))?.last, record.number < .max else { return bytes }
        let place = bytes.count - record.body.count - 5
        return bytes[..<place] + number.bigEndianBytes + bytes[(place + 4)...]
    }

    fileprivate var endsLink: Bool { ((try? Frames.parse(bytes())) ?? []).contains(where: \.endsLink) }
}

extension Trial {
    /// Completes a handshake in a chat.
    fileprivate func expectSession(in chat: ChatKeys, with program: Program, _ what: String) throws {
        let peer = try peer(in: chat)
        peer.habits = .quiet
        do {
            _ = try peer.openSession(to: program)
        } catch let finding as Finding {
            throw Finding(expected: "a session under the keys of \(what)", actual: finding.actual)
        }
    }
}

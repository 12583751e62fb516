import InklingWire

extension Catalogue {
    static let wireCases: [Case] = [
        Case("W-1.1", "numbers in its datagrams and frames are big-endian") { trial in
            let (program, peer, session) = try trial.startInSession(needs: .messages)
            program.send("one")
            try peer.await("the first message") { $0.text != nil }
            peer.sendMessage("first")
            let ack = try peer.await("an ack that expects record 2") { $0.ack != nil }
            guard let record = peer.texts.first?.value.number, (1...2).contains(record), ack.ack?.next == 2 else {
                throw Finding(
                    expected: "record 1, and an ack of the peer's record 1 that expects 2",
                    actual: "record \(peer.texts.first?.value.number ?? 0) and \(ack.frames.map(\.word))")
            }
            let counters = peer.received.filter { $0.session === session }.map(\.counter)
            guard let highest = counters.max(), highest < 1_000 else {
                throw Finding(expected: "counters that count from 0", actual: "the counters \(counters)")
            }
        },
        Case("W-31.1", "all that it sends leaves from the port that it receives on") { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            let other = try trial.peer(named: "Bob")
            try other.open(to: program)
            let sources = peer.asks.map(\.source) + peer.initiations.map(\.source) + peer.received.map(\.source)
            let ports = Set((sources + other.responses.map(\.source)).map(\.port))
            try expect(
                ports == [program.address.port], "the port \(program.address.port)", actual: "the ports \(ports)")
        },
        Case("W-32.1", "it is reached by IPv4 and by IPv6") { trial in
            let program = try trial.start()
            for host in ["127.0.0.1", "::1"] {
                guard let peer = try? trial.peer(host: host) else { throw Untried(reason: "\(host) has no socket") }
                let ask = peer.chat.ask(token: trial.generator.next())
                peer.sendBytes(ask.encode(), to: program.address(at: host))
                try trial.wait(.seconds(1), for: "a tell to \(host)", until: { peer.tells.first })
            }
        },
        Case("W-2.1", "it composes the name of a chat before it derives anything", also: "W-8") { trial in
            let number = trial.generator.next() % 1_000_000
            let program = try trial.start(ProgramArguments(chat: "cafe\u{301}-\(number)"))
            let composed = try trial.peer(in: ChatKeys(open: "caf\u{E9}-\(number)"))
            _ = try composed.openSession(to: program)
        },
        Case("W-2.2", "it does not start in a chat whose name is not valid") { trial in
            let names = [
                ("an empty name", ""), ("a name of 65 bytes", String(repeating: "n", count: 65)),
                ("a name with a line feed", "a\nb"), ("a name with a bidirectional override", "a\u{202E}b"),
                ("a name with a no-break space", "a\u{A0}b"), ("a name with a zero-width joiner", "a\u{200D}b"),
            ]
            for (what, name) in names {
                try trial.expectRefusal(of: ProgramArguments(chat: name, state: "refused"), what)
            }
            _ = try trial.start(ProgramArguments(chat: "a b \u{1F95E} \(String(repeating: "n", count: 55))"))
        },
        Case("W-2.3", "names of 64 bytes and names beyond ASCII are valid", also: "W-8") { trial in
            for name in ["\u{1F95E} caf\u{E9} \(trial.chatName)", trial.chatName.padded(to: 64)] {
                let program = try trial.start(ProgramArguments(chat: name))
                _ = try trial.peer(in: ChatKeys(open: name)).openSession(to: program)
            }
        },
        Case("W-3.1", "an initiation with a static key that is not canonical is not answered", also: "L-8") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let forged = stranger.forgeInitiation(to: program, staticKey: .topBitSet(stranger.identity.publicKey))
            try trial.expectSilence(
                to: [Sample("an initiation whose static key has its top bit set", forged)], from: stranger,
                at: program, witness: witness)
            try trial.expectAnswers(to: stranger, from: program)
        },
        Case("W-4.1", "an initiation with an ephemeral or static key of low order is not answered") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            var samples: [Sample] = []
            for point in Vector.lowOrderPoints {
                samples.append(
                    Sample(
                        "the ephemeral key \(point.hex)",
                        stranger.forgeInitiation(to: program, ephemeral: .lowOrder(point))))
                samples.append(
                    Sample(
                        "the static key \(point.hex)",
                        stranger.forgeInitiation(to: program, staticKey: .lowOrder(point))))
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness, batch: 1)
            try trial.expectAnswers(to: stranger, from: program)
        },
        Case("W-4.2", "a response with an ephemeral key of low order completes nothing", also: "L-7") { trial in
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let first = try trial.wait(.seconds(5), for: "an initiation", until: { peer.initiations.first })
            for point in Vector.lowOrderPoints {
                guard let forged = peer.forgeResponse(to: first.value, ephemeral: point) else {
                    throw Finding(expected: "an initiation that its responder can read", actual: first.bytes.hex)
                }
                peer.sendBytes(forged, to: first.source)
            }
            let start = trial.now
            try trial.never(
                for: .milliseconds(500), "nothing sealed after responses with keys of low order",
                when: { peer.unreadable.contains { $0.at >= start } })
            peer.habits.answersInitiations = true
            try peer.awaitLink(from: program)
        },
        Case("W-5.1", "user IDs are derived from public keys, its own and those of peers") { trial in
            let program = try trial.start()
            try expect(
                program.readyLine["user"]?.string == program.user, "the user ID \(program.user) of the key in `ready`",
                actual: program.describe(program.readyLine))
            let peer = try trial.peer()
            peer.habits.heartbeat = .milliseconds(500)
            _ = try peer.openSession(to: program)
            let event = try program.await("peer")
            try expect(
                event.value["user"]?.string == peer.user, "the user ID \(peer.user)",
                actual: program.describe(event.value))
        },
        Case("W-6.1", "its public key in text is base64url of 43 characters") { trial in
            let program = try trial.start()
            let text = program.readyLine["key"]?.string ?? ""
            try expect(
                text.utf8.count == 43 && (try? PublicKey(base64url: text))?.base64url == text,
                "43 characters of base64url with unused bits of zero", actual: text)
            _ = try trial.peer().openSession(to: program)
        },
        Case("W-7.1", "it does not start with a secret that is not one") { trial in
            let good = ChatSecret(using: &trial.generator)
            _ = try trial.startInSecretChat(good)
            let text = good.base32
            let secrets = [
                ("a passphrase", "correct horse battery stap"), ("a secret in capitals", text.uppercased()),
                ("a secret with a character less", String(text.dropLast())), ("a secret with one more", text + "a"),
                ("a secret with an unused bit set", String(repeating: "a", count: 25) + "b"), ("an empty secret", ""),
            ]
            for (what, secret) in secrets {
                try trial.expectRefusal(
                    of: ProgramArguments(chat: trial.chatName, secret: secret, state: "refused"), what)
            }
        },
        Case("W-8.1", "an open chat's keys are derived from its name") { trial in
            let program = try trial.start()
            let other = try trial.peer(in: ChatKeys(open: trial.chatName + "!"))
            _ = try other.begin(to: program)
            try trial.peer().open(to: program)
            try expect(other.datagramCount == 0, "no answer in a chat that the node is not in", actual: "it answered")
        },
        Case("W-9.1", "a secret chat's keys are derived from its secret, and not from its name") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.startInSecretChat(secret)
            try trial.peer(in: ChatKeys(secret: secret)).open(to: program)
            let open = try trial.peer()
            _ = try open.begin(to: program)
            let other = try trial.peer(in: ChatKeys(secret: ChatSecret(using: &trial.generator)))
            _ = try other.begin(to: program)
            try trial.never(
                for: .milliseconds(400), "no answer in the open chat of that name, or under another secret",
                when: { open.datagramCount + other.datagramCount > 0 })
            try trial.peer(named: "Carol", in: ChatKeys(secret: secret)).open(to: program)
        },
        Case("W-10.1", "its tells seal its key under a random nonce", also: "D-13", "W-36", "S-1") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            var nonces: Set<UInt64> = []
            for _ in 0..<3 {
                let tell = try trial.ask(by: peer, at: program)
                try expect(
                    (try? peer.chat.open(tell)) == program.key,
                    "the key \(program.key.bytes.hex), sealed under the token and nonce of the tell",
                    actual: tell.encode().hex)
                nonces.insert(tell.nonce)
            }
            try expect(nonces.count == 3, "a new nonce in each tell", actual: "the nonces \(nonces.sorted())")
        },
        Case("W-10.2", "it takes a key from a tell in a secret chat", also: "D-12") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            let program = try trial.startInSecretChat(secret, peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
        },
    ]
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: "n", count: max(0, count - utf8.count))
    }
}

extension Trial {
    /// Returns a peer without a link, which does nothing by itself, and a peer with a link.
    func strangerAndWitness(of program: Program) throws -> (stranger: Peer, witness: Peer) {
        let witness = try peer(named: "Witness")
        try witness.open(to: program)
        let stranger = try peer(named: "Stranger")
        stranger.habits = .none
        return (stranger, witness)
    }

    /// Opens a link from a peer whose earlier datagrams the program ignored. So the program ignored the datagrams, and
    /// not the peer.
    func expectAnswers(to stranger: Peer, from program: Program) throws {
        stranger.habits = .all
        try stranger.open(to: program)
    }

    /// Sends asks until a tell arrives with the token of one.
    func ask(by peer: Peer, at program: Program) throws -> Tell {
        var tokens: Set<UInt64> = []
        for _ in 0..<4 {
            let ask = peer.chat.ask(token: generator.next())
            tokens.insert(ask.token)
            peer.sendBytes(ask.encode(), to: program.address)
            let end = now + .seconds(1)
            while now < end {
                if let tell = peer.tells.last(where: { tokens.contains($0.value.token) }) { return tell.value }
                pump(until: min(end, now + .milliseconds(10)))
            }
        }
        throw Finding(expected: "a tell with the token of an ask", actual: "\(peer.tells.count) tells came")
    }

    /// Starts the program with arguments that it must refuse.
    func expectRefusal(of arguments: ProgramArguments, _ what: String) throws {
        let program = try launch(arguments)
        try wait(
            Program.startLimit, for: "it refuses \(what)", actual: { "it still runs" },
            until: { program.exit == nil && program.lines.isEmpty ? nil : true })
        let status = program.lines.contains { $0.kind == "ready" } ? nil : try program.awaitExit()
        guard let status, status != .exited(0) else {
            throw Finding(
                expected: "it refuses \(what), with an exit status other than 0",
                actual: status.map { "\($0)" } ?? "it got ready")
        }
    }
}

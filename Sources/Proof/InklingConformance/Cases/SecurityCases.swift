import InklingWire

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

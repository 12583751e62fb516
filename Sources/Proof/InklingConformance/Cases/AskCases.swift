import InklingWire

extension Catalogue {
    static let askCases: [Case] = [
        Case("D-11.1", "an unknown peer is asked at the times of attempts") { trial in
            let (_, peer) = try trial.startByHand(habits: .none)
            try trial.wait(
                .seconds(14), for: "seven asks", actual: { "\(peer.asks.count) came" },
                when: { peer.asks.count >= 7 })
            let times = peer.asks.map(\.at)
            let steps: [Duration] = [
                .milliseconds(300), .milliseconds(300), .milliseconds(600), .milliseconds(1_200), .milliseconds(600),
                .milliseconds(300),
            ]
            for (number, step) in steps.enumerated() {
                try trial.judge(
                    "ask \(number + 2)", times[number + 1] - times[number], from: step * 3 / 4, to: step * 5 / 4)
            }
        },
        Case("D-11.2", "each ask is for the chat and has a new token") { trial in
            let (_, peer) = try trial.startByHand(habits: .none)
            try trial.wait(.seconds(8), for: "five asks", when: { peer.asks.count >= 5 })
            try expect(
                peer.asks.allSatisfy({ peer.chat.fits($0.value) }), "asks whose check fits", actual: "another one")
            let tokens = peer.asks.map(\.value.token)
            try expect(
                Set(tokens).count == tokens.count, "a new random token in each ask", actual: "the tokens \(tokens)")
        },
        Case("D-11.3", "each attempt but the first goes out with an ask that has a new token", also: "D-24") { trial in
            let (_, peer) = try trial.startByHand(habits: .none)
            let told = try peer.tellKey()
            let attempts = try peer.awaitAttempts(3, within: .seconds(10))
            trial.run(for: .milliseconds(250))
            let early = peer.asks.filter { $0.at > told && $0.at < attempts[0][0].at + .milliseconds(250) }
            try expect(early.isEmpty, "no ask beside the first attempt", actual: "\(early.count)")
            var tokens: Set<UInt64> = []
            for attempt in attempts.dropFirst() {
                let start = attempt[0].at
                let ask = peer.asks.first { $0.at > told && abs(($0.at - start).milliseconds) <= 250 }
                guard let ask, tokens.insert(ask.value.token).inserted else {
                    throw Finding(
                        expected: "an ask with a new token beside the attempt at \(start.text)",
                        actual: "asks came at " + peer.asks.map(\.at.text).joined(separator: ", "))
                }
            }
        },
        Case("D-11.4", "an address that has a live link is not asked") { trial in
            let (program, peer) = try trial.startByHand()
            try peer.tellKey()
            try peer.awaitLink(from: program)
            let start = trial.now + .milliseconds(100)
            try trial.never(for: .seconds(7), "no ask") { peer.asks.contains { $0.at > start } }
            try peer.ping()
        },
        Case("D-11.5", "a peer whose program starts later is found") { trial in
            let (program, peer) = try trial.startByHand()
            trial.run(for: .seconds(3))
            peer.habits.answersAsks = true
            try peer.awaitLink(from: program)
        },
        Case("D-12.1", "a tell with another token is not taken") { trial in
            try expectNoOpening(trial) { peer, ask in
                peer.tell(ask.value, to: ask.source, token: ask.value.token ^ 1)
            }
        },
        Case("D-12.2", "a tell from another address than the ask went to is not taken") { trial in
            try expectNoOpening(trial) { peer, ask in
                peer.tell(ask.value, to: ask.source, from: try peer.addAddress())
            }
        },
        Case("D-12.3", "a tell with the token of the last ask but two is not taken") { trial in
            try expectNoOpening(trial) { peer, _ in
                let (earlier, later) = (peer.asks[peer.asks.count - 3], peer.asks[peer.asks.count - 1])
                try expect(
                    earlier.value.token != later.value.token, "a new token in each ask",
                    actual: "\(later.value.token) twice")
                peer.tell(earlier.value, to: later.source)
            }
        },
        Case("D-12.8", "a tell with the token of the last ask but one is taken") { trial in
            let (program, peer) = try trial.startByHand()
            try trial.wait(.seconds(8), for: "two asks", when: { peer.asks.count >= 2 })
            let asks = peer.asks.suffix(2)
            if let earlier = asks.first { peer.tell(earlier.value, to: earlier.source) }
            try peer.awaitLink(from: program)
        },
        Case("D-12.6", "a token serves once") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false, habits: .quiet)
            let other = trial.identity(thatIsSmaller: true, than: program.key)
            let ask = try peer.awaitAsk()
            peer.tell(ask.value, to: ask.source)
            trial.run(for: .milliseconds(30))
            peer.tell(ask.value, to: ask.source, key: other.publicKey)
            let session = try peer.answer(try peer.awaitInitiation())
            try peer.hear(on: session)
            try peer.bringUp(session, at: program)
        },
        Case("D-12.7", "a later tell replaces the key", also: "D-11") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            let old = trial.identity(thatIsSmaller: true, than: program.key)
            let ask = try peer.awaitAsk()
            peer.tell(ask.value, to: ask.source, key: old.publicKey)
            let second = try peer.awaitAsk()
            trial.run(for: .milliseconds(100))
            let latest = peer.asks.last ?? second
            let told = trial.now
            peer.tell(latest.value, to: latest.source)
            try trial.wait(
                .seconds(8), for: "an initiation to the key that was told last",
                actual: { "\(peer.initiations.count { $0.at > told }) others came" },
                until: {
                    peer.initiations.first { initiation in
                        initiation.at > told && peer.read(initiation.value) != nil
                    }
                })
            peer.habits = .all
            try peer.awaitLink(from: program)
        },
        Case("D-13.1", "an ask for the chat is answered with the key, where it came from") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let token = trial.generator.next()
            let tell = try ask(program, peer, token: token)
            try expect(
                tell.token == token && (try? peer.chat.open(tell)) == program.key,
                "the token \(token) and the sealed key \(program.key.bytes.hex)", actual: tell.encode().hex)
        },
        Case("D-13.2", "an ask for another chat gets nothing") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = ChatKeys(open: trial.chatName + "-other")
            peer.sendBytes(other.ask(token: 7).encode(), to: program.address)
            try trial.never(for: .milliseconds(500), "no answer") { peer.datagramCount > 0 }
            _ = try ask(program, peer, token: 8)
        },
        Case("D-25.1", "at most 32 asks a second of unknown addresses are answered") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let start = trial.now
            for token in 0..<240 {
                peer.sendBytes(peer.chat.ask(token: UInt64(token)).encode(), to: program.address)
                if token % 8 == 7 { trial.run(for: .milliseconds(20)) }
            }
            trial.run(for: .milliseconds(300))
            let elapsed = trial.now - start
            // The limit is a second of answers, plus the answers that become due while the asks run.
            let limit = 35 + 32 * elapsed.milliseconds / 1_000
            try expect(
                (16...limit).contains(peer.tells.count),
                "32 tells a second: 16 to \(limit) to 240 asks in \(elapsed.text)", actual: "\(peer.tells.count) tells")
            trial.run(for: .milliseconds(1_200))
            _ = try ask(program, peer, token: 1_000)
        },
        Case("D-13.3", "in a secret chat each tell has a new nonce, and the key is sealed with it", also: "W-10") {
            trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.start(ProgramArguments(chat: trial.chatName, secret: secret.base32))
            try program.need(.secret)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            peer.habits = .quiet
            let tells = [try ask(program, peer, token: 1), try ask(program, peer, token: 2)]
            try expect(tells[0].nonce != tells[1].nonce, "a new random nonce", actual: "\(tells[0].nonce) twice")
            for tell in tells where (try? peer.chat.open(tell)) != program.key {
                throw Finding(expected: "the key \(program.key.bytes.hex), sealed", actual: tell.encode().hex)
            }
        },
        Case("D-14.1", "a tell that names the own key makes no link, and the user is told", also: "D-7") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            let ask = try peer.awaitAsk()
            let told = trial.now
            peer.tell(ask.value, to: ask.source, key: program.key)
            try trial.never(for: .milliseconds(1_500), "no initiation and no `peer`") {
                !peer.initiations.isEmpty || !program.events("peer").isEmpty
            }
            let words = program.events("notice", since: told) + program.events("error", since: told)
            try expect(!words.isEmpty, "a `notice` that the address is the node's own", actual: "no line came")
            try trial.peer(named: "Bob").open(to: program)
        },
        Case("D-14.2", "an address that told the own key is asked again after 60 s", load: .long) { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            let ask = try peer.awaitAsk()
            peer.tell(ask.value, to: ask.source, key: program.key)
            let start = trial.now + .milliseconds(100)
            try trial.never(for: .seconds(58), "no ask for a minute") { peer.asks.contains { $0.at > start } }
            try trial.wait(.seconds(4), for: "an ask after a minute", when: { peer.asks.contains { $0.at > start } })
            try trial.peer(named: "Bob").open(to: program)
        },
    ]

    /// Answers the program's third ask with a bad tell. Fails if the program then opens, or does not open after a good
    /// tell.
    private static func expectNoOpening(
        _ trial: Trial, _ answer: (Peer, (at: Duration, value: Ask, bytes: [UInt8], source: UDPAddress)) throws -> Void
    ) throws {
        let (program, peer) = try trial.startByHand()
        try trial.wait(.seconds(8), for: "three asks", when: { peer.asks.count >= 3 })
        try answer(peer, try peer.awaitAsk())
        try trial.never(for: .milliseconds(900), "no initiation") { !peer.initiations.isEmpty }
        try peer.tellKey()
        try peer.awaitLink(from: program)
    }

    /// Sends asks until a tell arrives.
    private static func ask(_ program: Program, _ peer: Peer, token: UInt64) throws -> Tell {
        let count = peer.tells.count
        for _ in 0..<5 {
            peer.sendBytes(peer.chat.ask(token: token).encode(), to: program.address)
            let tell = try? peer.trial.wait(
                .milliseconds(600), for: "a tell", until: { peer.tells.dropFirst(count).first })
            if let tell { return tell.value }
        }
        throw Finding(expected: "a tell within 3 s", actual: "none came")
    }
}

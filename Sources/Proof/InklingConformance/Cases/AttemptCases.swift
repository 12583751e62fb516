import InklingWire

extension Catalogue {
    static let attemptCases: [Case] = [
        Case("L-4.1", "an attempt sends the same bytes at 0, 0.3, 0.6, 1.2 and 2.4 s") { trial in
            let attempt = try attempts(2, of: trial)[0]
            try expect(
                attempt.count == 5 && attempt.allSatisfy({ $0.bytes == attempt[0].bytes }), "five equal initiations",
                actual: "\(attempt.count) initiations, \(Set(attempt.map(\.bytes)).count) of them different")
            for (number, step) in steps(of: attempt).enumerated() {
                let nominal = nominalSteps[number]
                try trial.judge("transmission \(number + 2)", step, from: nominal * 3 / 4, to: nominal * 5 / 4)
            }
        },
        Case("L-4.2", "the steps between transmissions are varied at random") { trial in
            // Each wait varies by a quarter in either direction. All eight are this close only once in 400 million
            // runs.
            let all = try attempts(3, of: trial).prefix(2).flatMap { attempt in
                zip(steps(of: attempt), nominalSteps).map { (step: $0, nominal: $1) }
            }
            try expect(
                all.contains(where: { $0.step < $0.nominal * 98 / 100 || $0.step > $0.nominal * 102 / 100 }),
                "steps that differ from 0.3, 0.3, 0.6 and 1.2 s by up to a quarter",
                actual: all.map(\.step.text).joined(separator: ", "))
        },
        Case("L-4.3", "an attempt ends at 3 s, and the next takes a new index and ephemeral key") { trial in
            let attempts = try attempts(2, of: trial)
            let (first, second) = (attempts[0][0], attempts[1][0])
            try trial.judge("the second attempt", second.at - first.at, from: .seconds(3))
            try expect(
                first.value.noise.prefix(32) != second.value.noise.prefix(32), "a new ephemeral key",
                actual: "both attempts have \(first.value.noise.prefix(32))")
        },
        Case("L-4.4", "a response to an attempt that is over completes nothing", also: "L-7") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let old = try peer.awaitInitiation()
            trial.run(for: .milliseconds(3_300))
            let session = try peer.answer(old)
            try trial.never(for: .milliseconds(700), "no sealed datagram on the session") { session.isComplete }
            peer.habits = .all
            try peer.awaitLink(from: program)
        },
        Case("L-5.1", "the pauses between attempts are 0, 1.25 and 2.5 s") { trial in
            let attempts = try attempts(4, of: trial)
            let starts = attempts.map { $0[0].at }
            let pauses = [(Duration.zero, Duration.zero), (.milliseconds(938), .milliseconds(1_562))]
            for (number, pause) in (pauses + [(.milliseconds(1_875), .milliseconds(3_125))]).enumerated() {
                try trial.judge(
                    "attempt \(number + 2), after attempt \(number + 1) began,", starts[number + 1] - starts[number],
                    from: .seconds(3) + pause.0, to: .seconds(3) + pause.1)
            }
            let times = attempts.flatMap { $0.map(\.at) }
            for (earlier, later) in zip(times, times.dropFirst()) where later - earlier >= .seconds(5) {
                throw Finding(
                    expected: "less than 5 s between two initiations",
                    actual: "\((later - earlier).text) at \(later.text)")
            }
        },
        Case("L-5.2", "a peer that begins to answer late is opened to") { trial in
            let (program, peer) = try trial.startByHand()
            peer.habits.answersInitiations = false
            try peer.tellKey()
            _ = try peer.awaitAttempts(3, within: .seconds(10))
            peer.habits.answersInitiations = true
            try peer.awaitLink(from: program)
        },
        Case("L-7.1", "a response that fails to open leaves the handshake as it was") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            for _ in 0..<3 {
                let response = Response(receiverIndex: initiation.value.senderIndex, noise: peer.trial.noise(64))
                peer.sendBytes(response.encode(), to: initiation.source)
            }
            trial.run(for: .milliseconds(50))
            let session = try peer.answer(initiation)
            try peer.bringUp(session, at: program)
        },
        Case("L-7.2", "a response for an index that is not pending is dropped") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            let other = Response(receiverIndex: initiation.value.senderIndex ^ 1, noise: peer.trial.noise(64))
            peer.sendBytes(other.encode(), to: initiation.source)
            let session = try peer.answer(initiation)
            try peer.bringUp(session, at: program)
            let second = try peer.answer(initiation)
            try trial.never(for: .milliseconds(500), "nothing on a second session of the same handshake") {
                second.isComplete
            }
            try peer.ping(on: session)
        },
        Case("L-7.3", "a response that comes twice does no harm") { trial in
            let (program, peer) = try trial.startByHand()
            try peer.tellKey()
            let session = try peer.awaitLink(from: program)
            guard let response = peer.answered.values.first else {
                throw Finding(expected: "an initiation", actual: "none came")
            }
            for _ in 0..<3 { peer.sendBytes(response, to: program.address) }
            trial.run(for: .milliseconds(300))
            try peer.expectPong(of: session, on: session, "a pong on the same session")
            try expect(
                program.peerEvents(peer.user).count == 1, "one `peer`",
                actual: "\(program.peerEvents(peer.user).count) of them")
        },
        Case("L-7.4", "a response that was lost is made up for by the next transmission", also: "L-4") { trial in
            let (program, peer) = try trial.startByHand()
            peer.habits.answersInitiations = false
            try peer.tellKey()
            let index = try peer.awaitInitiation().value.senderIndex
            try trial.wait(.seconds(2), for: "a third transmission", when: { peer.initiations.count >= 3 })
            peer.habits.answersInitiations = true
            let session = try peer.awaitLink(from: program)
            try expect(session.remoteIndex == index, "the first attempt completes", actual: "another one did")
        },
        Case("L-49.1", "of the responses from an address four are opened for each initiation") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            forgeResponses(4, to: initiation, of: peer, from: peer.address)
            let session = try peer.answer(initiation)
            try trial.never(for: .milliseconds(120), "nothing on the session of a fifth response") {
                session.isComplete
            }
            let count = peer.initiations.count
            try trial.wait(
                .milliseconds(600), for: "the next transmission",
                when: { peer.initiations.count > count })
            repeatResponse(to: initiation, of: peer)
            try peer.hear(on: session)
            try peer.bringUp(session, at: program)
        },
        Case("L-49.2", "of the responses from where no transmission went 20 a second are opened at most") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            let stray = try peer.addAddress()
            forgeResponses(20, to: initiation, of: peer, from: stray)
            let session = try peer.answer(initiation, from: stray)
            try trial.never(for: .milliseconds(500), "nothing on the session of the 21st response") {
                session.isComplete
            }
            repeatResponse(to: initiation, of: peer)
            try peer.hear(on: session)
            try peer.bringUp(session, at: program)
        },
    ]

    private static let nominalSteps: [Duration] = [
        .milliseconds(300), .milliseconds(300), .milliseconds(600), .milliseconds(1_200),
    ]

    /// Returns `count` attempts to a peer that tells its key and answers no initiation. The last attempt has only
    /// begun.
    private static func attempts(_ count: Int, of trial: Trial) throws -> [[Peer.ReceivedInitiation]] {
        let (_, peer) = try trial.startByHand(habits: .none)
        try peer.tellKey()
        return try peer.awaitAttempts(count, within: .seconds(16))
    }

    private static func steps(of attempt: [Peer.ReceivedInitiation]) -> [Duration] {
        zip(attempt, attempt.dropFirst()).map { $1.at - $0.at }
    }

    /// Sends well-formed responses that do not decrypt.
    private static func forgeResponses(
        _ count: Int, to initiation: Peer.ReceivedInitiation, of peer: Peer, from source: UDPAddress
    ) {
        for _ in 0..<count {
            let response = Response(receiverIndex: initiation.value.senderIndex, noise: peer.trial.noise(64))
            peer.sendBytes(response.encode(), to: initiation.source, from: source)
        }
    }

    /// Repeats the response to an initiation, from the initiation's destination.
    private static func repeatResponse(to initiation: Peer.ReceivedInitiation, of peer: Peer) {
        guard let response = peer.answered[Array(initiation.bytes.prefix(121))] else { return }
        peer.sendBytes(response, to: initiation.source, from: initiation.destination)
    }
}

extension Catalogue {
    static let openingCases: [Case] = [
        Case("L-1.1", "the smaller key opens at once when it learns the peer's key", also: "D-11") { trial in
            let (_, peer) = try trial.startByHand(programIsSmaller: true, habits: .none)
            let told = try peer.tellKey()
            try trial.judge("an initiation", try peer.awaitInitiation(since: told).at - told, from: .zero)
        },
        Case("L-1.2", "the larger key opens 300 ms after it learned the peer's key", also: "D-11") { trial in
            let (_, peer) = try trial.startByHand(programIsSmaller: false, habits: .none)
            let told = try peer.tellKey()
            let first = try peer.awaitInitiation(since: told)
            try trial.judge("an initiation", first.at - told, from: .milliseconds(300))
        },
        Case("L-1.3", "the smaller key opens at once after its link fell silent", also: "L-102") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: true)
            let down = try fallSilent(peer, program)
            let again = try peer.awaitInitiation(since: down - .milliseconds(100))
            try trial.judge("an initiation", again.at - down, from: .zero)
        },
        Case("L-1.4", "the larger key opens 300 ms after its link fell silent") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false)
            let down = try fallSilent(peer, program)
            let again = try peer.awaitInitiation(since: down - .milliseconds(100))
            try trial.judge("an initiation", again.at - down, from: .milliseconds(300))
        },
        Case("L-2.1", "a response completes the handshake, whichever address it comes from") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            let other = try peer.addAddress()
            try peer.tellKey()
            let session = try peer.answer(try peer.awaitInitiation(), from: other)
            try peer.hear(on: session)
            try peer.bringUp(session, at: program)
        },
        Case("L-2.2", "an address that a live link has is not opened to") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false)
            peer.habits.answersInitiations = false
            try peer.tellKey()
            try peer.open(to: program)
            let start = trial.now + .milliseconds(100)
            try trial.never(for: .seconds(6), "no initiation to the address of the link") {
                peer.initiations.contains { $0.at > start }
            }
            try peer.ping()
        },
        Case("L-2.3", "an address that was added twice is opened to by one handshake at a time") { trial in
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            let program = try trial.start(peers: [peer, peer], needs: .peer)
            try peer.awaitInitiation(within: .seconds(8), since: .zero)
            trial.run(for: .seconds(4))
            let starts = peer.attempts.compactMap(\.first?.at)
            for (earlier, later) in zip(starts, starts.dropFirst()) where later - earlier < .milliseconds(2_970) {
                throw Finding(
                    expected: "a second handshake not before the first one is over, after 3 s",
                    actual: "it began \((later - earlier).text) after the first")
            }
            peer.habits.answersInitiations = true
            try peer.awaitLink(from: program)
        },
    ]

    /// Lets the program make a link, and then lets the peer fall silent. Returns the time when the link is down.
    private static func fallSilent(_ peer: Peer, _ program: Program) throws -> Duration {
        try peer.tellKey()
        try peer.awaitLink(from: program)
        return try peer.fallSilent() + .seconds(3)
    }
}

// The ways to make a link, which all other cases need.
extension Catalogue {
    static let linkCases: [Case] = [
        Case(
            "L-80.1", "a link that a peer opens comes up, and shows when the names were exchanged", also: "L-67",
            "L-85", "T-28"
        ) { trial in
            let (program, peer) = try trial.startLinked()
            try peer.ping()
        },
        Case("L-80.2", "a link that the program opens to an address by hand comes up and shows", also: "D-11", "L-67") {
            trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            try peer.ping()
        },
    ]
}

extension Catalogue {
    static let retryCases: [Case] = [
        Case("L-13.1", "a retry is obeyed with the same initiation and the cookie") { trial in
            let (program, peer, initiation) = try opening(trial)
            let cookie = peer.trial.noise(16)
            let answer = try retry(peer, initiation, cookie: cookie)
            try expect(
                answer.value.cookie == cookie && answer.bytes.prefix(121) == initiation.bytes[...],
                (initiation.bytes + cookie).hex, actual: answer.bytes.hex)
            try peer.bringUp(try peer.answer(answer), at: program)
        },
        Case("L-13.2", "of two retries for one transmission one is obeyed") { trial in
            let (program, peer, initiation) = try opening(trial)
            let start = trial.now
            try retry(peer, initiation, cookie: peer.trial.noise(16))
            let second = Retry(receiverIndex: initiation.value.senderIndex, cookie: peer.trial.noise(16))
            peer.sendBytes(second.encode(), to: initiation.source)
            // The second transmission follows after at least 225 ms.
            try trial.never(for: .milliseconds(150), "no second initiation with a cookie") {
                count(peer, since: start) > 1
            }
            try peer.bringUp(try peer.answer(initiation), at: program)
        },
        Case("L-13.3", "a retry is obeyed again after the next transmission") { trial in
            let (program, peer, initiation) = try opening(trial)
            try retry(peer, initiation, cookie: peer.trial.noise(16))
            let start = trial.now
            try trial.wait(.seconds(2), for: "the next transmission") {
                peer.initiations.first { $0.at > start && $0.value.cookie == nil }
            }
            let answer = try retry(peer, initiation, cookie: peer.trial.noise(16))
            try peer.bringUp(try peer.answer(answer), at: program)
        },
        Case("L-13.4", "a retry from an address that the initiation did not go to is not obeyed") { trial in
            let (program, peer, initiation) = try opening(trial)
            let other = try peer.addAddress()
            let start = trial.now
            let foreign = Retry(receiverIndex: initiation.value.senderIndex, cookie: peer.trial.noise(16))
            peer.sendBytes(foreign.encode(), to: initiation.source, from: other)
            try trial.never(for: .milliseconds(200), "no initiation with a cookie") { count(peer, since: start) > 0 }
            let answer = try retry(peer, initiation, cookie: peer.trial.noise(16))
            try peer.bringUp(try peer.answer(answer), at: program)
        },
        Case("L-13.5", "a retry for an index that is not pending is not obeyed") { trial in
            let (program, peer, initiation) = try opening(trial)
            let start = trial.now
            let foreign = Retry(receiverIndex: initiation.value.senderIndex ^ 1, cookie: peer.trial.noise(16))
            peer.sendBytes(foreign.encode(), to: initiation.source)
            try trial.never(for: .milliseconds(200), "no initiation with a cookie") { count(peer, since: start) > 0 }
            let session = try peer.answer(initiation)
            try peer.bringUp(session, at: program)
            let late = Retry(receiverIndex: initiation.value.senderIndex, cookie: peer.trial.noise(16))
            peer.sendBytes(late.encode(), to: initiation.source)
            try trial.never(for: .milliseconds(300), "no initiation once the handshake is complete") {
                count(peer, since: start) > 0
            }
            try peer.ping(on: session)
        },
    ]

    /// Lets the program send its first initiation to a peer that does not answer it.
    private static func opening(
        _ trial: Trial
    ) throws -> (program: Program, peer: Peer, initiation: Peer.ReceivedInitiation) {
        let (program, peer) = try trial.startByHand(habits: .quiet)
        try peer.tellKey()
        return (program, peer, try peer.awaitInitiation())
    }

    /// Sends a retry, and waits for the initiation with its cookie.
    @discardableResult
    private static func retry(
        _ peer: Peer, _ initiation: Peer.ReceivedInitiation, cookie: [UInt8]
    ) throws -> Peer.ReceivedInitiation {
        let retry = Retry(receiverIndex: initiation.value.senderIndex, cookie: cookie)
        peer.sendBytes(retry.encode(), to: initiation.source)
        return try peer.trial.wait(
            .milliseconds(500), for: "an initiation of 137 bytes with the cookie of the retry",
            actual: { "the last one was \(peer.initiations.last?.bytes.hex ?? "none")" },
            until: { peer.initiations.first { $0.value.cookie == cookie } })
    }

    /// Returns the number of initiations with a cookie.
    private static func count(_ peer: Peer, since start: Duration) -> Int {
        peer.initiations.count { $0.at >= start && $0.value.cookie != nil }
    }
}

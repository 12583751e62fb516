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

import InklingWire2

extension Catalogue {
    static let crossedCases: [Case] = [
        Case("L-14.1", "the larger key answers an initiation that crosses its own", group: .handshake) { trial in
            let (program, peer, _) = try crossing(trial, programIsSmaller: false)
            try peer.bringUp(try peer.openSession(to: program), at: program)
        },
        Case("L-14.2", "the larger key abandons its own opening when it answers", also: "L-7", group: .handshake) {
            trial in
            let (program, peer, own) = try crossing(trial, programIsSmaller: false)
            let session = try peer.openSession(to: program)
            let start = trial.now + .milliseconds(50)
            try trial.never(for: .milliseconds(1_500), "no more transmissions of its own initiation") {
                peer.initiations.contains { $0.at > start && $0.value.senderIndex == own.value.senderIndex }
            }
            let dead = try peer.answer(own)
            try trial.never(for: .milliseconds(400), "nothing on the handshake that was abandoned") { dead.isComplete }
            try peer.bringUp(session, at: program)
        },
        Case(
            "L-14.3", "the larger key opens again 5 s after it answered an opening that nothing follows",
            group: .handshake
        ) {
            trial in
            let (program, peer, _) = try crossing(trial, programIsSmaller: false)
            let session = try peer.openSession(to: program)
            let again = try peer.awaitInitiation(within: .seconds(7), since: trial.now + .milliseconds(50))
            try Trial.judge("an initiation", again.at - session.createdAt, from: .seconds(5))
            try peer.bringUp(try peer.answer(again), at: program)
        },
        Case(
            "L-14.4", "the larger key opens again 5 s after it answered, if no hello comes", also: "L-19",
            group: .handshake
        ) {
            trial in
            let (program, peer, _) = try crossing(trial, programIsSmaller: false)
            let session = try peer.openSession(to: program)
            let answered = session.createdAt
            peer.send([.ping(1)], on: session)
            let again = try peer.awaitInitiation(within: .seconds(7), since: trial.now + .milliseconds(50))
            try Trial.judge("an initiation", again.at - answered, from: .seconds(5))
            try peer.bringUp(try peer.answer(again), at: program)
        },
        Case("L-15.1", "the smaller key answers an initiation that crosses its own", group: .handshake) { trial in
            let (program, peer, _) = try crossing(trial, programIsSmaller: true)
            try peer.bringUp(try peer.openSession(to: program), at: program)
        },
        Case(
            "L-15.2", "the smaller key goes on with its own opening while the peer's is not confirmed",
            group: .handshake
        ) {
            trial in
            let (program, peer, own) = try crossing(trial, programIsSmaller: true)
            _ = try peer.openSession(to: program)
            try trial.wait(
                .seconds(3), for: "further transmissions of its own initiation",
                until: { peer.attempts.first.flatMap { $0.count >= 4 ? true : nil } })
            try peer.bringUp(try peer.answer(own), at: program)
        },
        Case(
            "L-15.3", "the smaller key abandons its own when the peer's is confirmed first", also: "L-7",
            group: .handshake
        ) {
            trial in
            let (program, peer, own) = try crossing(trial, programIsSmaller: true)
            let session = try peer.openSession(to: program)
            try peer.bringUp(session, at: program)
            let dead = try peer.answer(own)
            let start = trial.now + .milliseconds(50)
            try trial.never(for: .milliseconds(1_200), "nothing more of the handshake that was abandoned") {
                dead.isComplete || peer.initiations.contains { $0.at > start }
            }
            try peer.ping(on: session)
        },
        Case(
            "L-15.4", "both sides of a crossing end on the session that the smaller key began", also: "L-21",
            group: .handshake
        ) {
            trial in
            let (program, peer, own) = try crossing(trial, programIsSmaller: true)
            let theirs = try peer.openSession(to: program)
            let session = try peer.answer(own)
            try peer.hearHello(on: session)
            try peer.bringUp(session, at: program)
            peer.say(on: theirs)
            try peer.ping(on: session)
            try peer.expectPong(of: session, on: session, "a pong on the session that the smaller key began")
        },
        Case(
            "L-55.1", "the larger key no longer gives way after three initiations that nothing confirmed",
            group: .handshake
        ) {
            trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false, habits: .quiet)
            try peer.tellKey()
            for _ in 0..<4 {
                _ = try peer.openSession(to: program)
                trial.run(for: .milliseconds(20))
            }
            let initiation = try peer.awaitInitiation(within: .seconds(12))
            _ = try peer.openSession(to: program)
            try trial.wait(
                .milliseconds(700), for: "the next transmission of the same attempt",
                actual: { "\(peer.initiations.count) initiations came" },
                until: {
                    peer.initiations.first {
                        $0.at > initiation.at && $0.value.senderIndex == initiation.value.senderIndex
                    }
                })
            let session = try peer.answer(initiation)
            try peer.hearHello(on: session)
            try peer.bringUp(session, at: program)
        },
    ]

    /// Lets the program send its initiation to a peer that has sent none so far.
    private static func crossing(
        _ trial: Trial, programIsSmaller: Bool
    ) throws -> (program: Program, peer: Peer, own: Peer.ReceivedInitiation) {
        let (program, peer) = try trial.startByHand(programIsSmaller: programIsSmaller, habits: .quiet)
        try peer.tellKey()
        return (program, peer, try peer.awaitInitiation())
    }
}

import InklingWire

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

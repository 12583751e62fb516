import InklingWire

/// The address of a link, and the rules by which the link follows its peer to another: L-24, L-28 and L-51.
extension Catalogue {
    /// A program and a peer with a link, and another address of that peer.
    private static func linked(
        _ trial: Trial
    ) throws -> (program: Program, peer: Peer, session: PeerSession, other: UDPAddress) {
        let (program, peer, session) = try trial.startInSession()
        return (program, peer, session, try peer.addAddress())
    }

    /// Fails unless the program's next datagram on the link goes to the given address.
    private static func expectLink(_ trial: Trial, _ program: Program, of peer: Peer, at address: UDPAddress) throws {
        let start = trial.now
        program.compose("here")
        let frames = try peer.await("a status at \(address)", since: start) { $0.typing != nil }
        try expect(
            frames.destination == address, "datagrams to \(address)", actual: "one came to \(frames.destination)")
        program.compose("")
        try peer.awaitTyping(false)
        trial.run(for: .milliseconds(500))
    }

    /// Sends a heartbeat from an address, and returns the token of the ping that arrives there.
    private static func check(_ peer: Peer, _ session: PeerSession, at address: UDPAddress) throws -> UInt16 {
        let start = peer.trial.now
        session.source = address
        peer.send([peer.heartbeatFrame])
        let ping = try peer.await("a ping to \(address), where evidence came from", since: start) {
            $0.ping != nil && $0.destination == address
        }
        return ping.ping ?? 0
    }

    static let addressCases: [Case] = [
        Case("L-24.1", "the link's address follows the newest evidence, once a pong came from there", also: "L-51") {
            trial in
            let (program, peer, session, other) = try linked(trial)
            for address in [other, peer.address, other] {
                session.source = address
                try peer.ping()
                // The peer's pong may still be on its way.
                trial.run(for: trial.late)
                try expectLink(trial, program, of: peer, at: address)
            }
        },
        Case(
            "L-24.2", "the address follows no datagram that is older, or does not authenticate or parse", also: "L-23",
            "W-23"
        ) { trial in
            let (program, peer, session, other) = try linked(trial)
            let base = session.state.nextCounter
            session.state.nextCounter = base + 4
            try peer.ping()
            // Three datagrams that must not count: one with an old counter, one with a wrong tag, and one with a wrong
            // frame.
            let frames = Frames.encode([peer.heartbeatFrame])
            peer.sendBytes(session.seal(frames, counter: base + 1), to: program.address, from: other)
            var broken = session.seal(frames, counter: session.state.nextCounter + 1)
            broken[broken.count - 1] ^= 1
            peer.sendBytes(broken, to: program.address, from: other)
            peer.sendBytes(
                session.seal([0x3F, 0], counter: session.state.nextCounter), to: program.address, from: other)
            session.state.nextCounter += 2
            trial.run(for: .milliseconds(150))
            try expectLink(trial, program, of: peer, at: peer.address)
            if let datagram = peer.received.first(where: { $0.destination == other }) {
                throw Finding(
                    expected: "nothing to \(other)",
                    actual: "\(datagram.frames.map(\.word).joined(separator: "+")) came there")
            }
        },
        Case("L-28.2", "a pong goes to where the ping came from, and the link's address stays", also: "L-24") { trial in
            let (program, peer, session, other) = try linked(trial)
            let base = session.state.nextCounter
            session.state.nextCounter = base + 4
            try peer.ping()
            let old = session.seal(Frames.encode([.ping(0x7777)]), counter: base + 1)
            peer.sendBytes(old, to: program.address, from: other)
            let pong = try peer.await("a pong to the old ping") { $0.pong == 0x7777 }
            try expect(
                pong.destination == other, "the pong at \(other), where the ping came from",
                actual: "it came to \(pong.destination)")
            try expectLink(trial, program, of: peer, at: peer.address)
        },
        Case(
            "L-51.1", "until a pong comes from there, an address gets pings alone, and the link goes on where it was",
            also: "L-24"
        ) { trial in
            let (program, peer, session, other) = try linked(trial)
            peer.habits.answersPings = false
            peer.stopHeartbeats()
            session.source = other
            let start = trial.now
            var sent = 0
            while trial.now < start + .seconds(4) {
                sent += peer.send([peer.heartbeatFrame]).count
                trial.run(for: .milliseconds(40))
            }
            let period = trial.now - start
            let there = peer.received(since: start).filter { $0.destination == other }
            if let wrong = there.first(where: { $0.ping == nil || $0.frames.count > 1 }) {
                throw Finding(
                    expected: "nothing but pings to \(other)",
                    actual: "\(wrong.frames.map(\.word).joined(separator: "+")) came there")
            }
            let most = period.milliseconds / 125 + 2
            try expect(
                (1...most).contains(there.count), "1 to \(most) pings to \(other) in \(period.text)",
                actual: "\(there.count) came")
            let bytes = there.map(\.bytes.count).reduce(0, +)
            try expect(bytes <= 3 * sent, "at most \(3 * sent) bytes to \(other)", actual: "\(bytes) came")
            try expect(
                program.presence(of: peer.user) == "online", "the peer is online: it is heard", actual: "it is not")
            try expectLink(trial, program, of: peer, at: peer.address)
        },
        Case("L-51.2", "the pong of a ping that went to the link's address does not confirm another one") { trial in
            let (program, peer, session, other) = try linked(trial)
            let last = try peer.fallSilent()
            let ping = try peer.await("a ping to the silent peer", since: last) { $0.ping != nil }
            session.source = other
            peer.send([peer.heartbeatFrame, .pong(ping.ping ?? 0)])
            trial.run(for: .milliseconds(150))
            try expectLink(trial, program, of: peer, at: peer.address)
        },
        Case("L-51.3", "a pong confirms no address but the one that it comes from") { trial in
            let (program, peer, session, other) = try linked(trial)
            peer.habits.answersPings = false
            let token = try check(peer, session, at: other)
            session.source = peer.address
            peer.send([.pong(token)])
            session.source = other
            peer.send([peer.heartbeatFrame])
            trial.run(for: .milliseconds(50))
            try expectLink(trial, program, of: peer, at: peer.address)
        },
        Case("L-73.1", "after a pong with another token only a later ping confirms an address") { trial in
            let (program, peer, session, other) = try linked(trial)
            peer.habits.answersPings = false
            peer.stopHeartbeats()
            let token = try check(peer, session, at: other)
            for guess in [token ^ 0x5555, token] { peer.send([.pong(guess)]) }
            trial.run(for: .milliseconds(150))
            try expectLink(trial, program, of: peer, at: peer.address)
            let right = try check(peer, session, at: other)
            peer.send([.pong(right)])
            trial.run(for: .milliseconds(150))
            try expectLink(trial, program, of: peer, at: other)
        },
        Case(
            "L-72.1", "to an address that is not confirmed go at most three times the bytes that came from it",
            also: "L-28"
        ) { trial in
            let (program, peer, session, other) = try linked(trial)
            peer.habits.answersPings = false
            session.source = other
            let start = trial.now
            var sent = 0
            for token in UInt16(0)..<200 {
                sent += peer.send([.ping(token)]).count
                trial.run(for: .milliseconds(2))
            }
            session.source = peer.address
            try peer.ping()
            trial.run(for: trial.late)
            let there = peer.received(since: start).filter { $0.destination == other }
            let bytes = there.map(\.bytes.count).reduce(0, +)
            try expect(
                bytes <= 3 * sent && there.contains(where: { $0.pong != nil }),
                "pongs of at most \(3 * sent) bytes to \(other)", actual: "\(bytes) bytes came there")
            try expectLink(trial, program, of: peer, at: peer.address)
        },
        Case("L-51.4", "a pong more than 3 s after its ping confirms nothing") { trial in
            let (program, peer, session, other) = try linked(trial)
            peer.habits.answersPings = false
            let token = try check(peer, session, at: other)
            session.source = peer.address
            trial.run(for: .milliseconds(3_200))
            session.source = other
            peer.send([peer.heartbeatFrame, .pong(token)])
            trial.run(for: .milliseconds(50))
            try expectLink(trial, program, of: peer, at: peer.address)
        },
    ]
}

/// The source addresses of the program. Its machine has all addresses of 127.0.0.0/8, and the program must answer from
/// the address to which a datagram was sent.
extension Catalogue {
    static let localAddressCases: [Case] = [
        Case("L-50.1", "a tell leaves from the address that the ask was sent to") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = elsewhere(program)
            try expectReply(from: other, "a tell") {
                peer.sendBytes(peer.chat.ask(token: 9).encode(), to: other)
                return try trial.wait(.seconds(1), for: "a tell", until: { peer.tells.first }).source
            }
        },
        Case("L-50.2", "a response leaves from the address that the initiation was sent to") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = elsewhere(program)
            peer.habits.takesResponses = false
            let opening = try peer.makeOpening(to: program)
            for count in 1...2 {
                // The second response is a copy of the first.
                try expectReply(from: other, "response \(count)") {
                    peer.sendBytes(opening.bytes, to: other)
                    return try trial.wait(
                        .seconds(1), for: "response \(count)", until: { peer.responses.dropFirst(count - 1).first }
                    ).source
                }
            }
        },
        Case("L-50.3", "a pong leaves from the address that the ping was sent to") { trial in
            let (program, peer, session) = try trial.startInSession()
            let other = elsewhere(program)
            session.destination = other
            try expectReply(from: other, "a pong") { try peer.ping(on: session).source }
        },
    ]

    /// Returns another address of the program's machine, with the program's port.
    private static func elsewhere(_ program: Program) -> UDPAddress {
        UDPAddress(host: "127.0.0.9", port: program.address.port)
    }

    private static func expectReply(from address: UDPAddress, _ what: String, _ answer: () throws -> UDPAddress) throws
    {
        let source = try answer()
        guard source != address else { return }
        throw Finding(expected: "\(what) from \(address), where the question went", actual: "it came from \(source)")
    }
}

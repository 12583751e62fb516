import InklingWire2

extension Catalogue {
    static let sessionCases: [Case] = [
        Case("L-21.1", "row 2: of two sessions that one side began the later one sends", group: .links) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let second = try join(peer, program)
            try peer.hearHello(on: second)
            try peer.expectPong(of: first, on: second, "a pong on the later session")
            try peer.await("a heartbeat on the later session") { $0.session === second && $0.heartbeat != nil }
        },
        Case("L-21.2", "row 2: of two that were created 5 s apart the later one sends", group: .links) { trial in
            let (program, peer, own) = try linkByHand(trial, programIsSmaller: true)
            heartbeats(peer, on: own, until: own.createdAt + .milliseconds(5_400))
            let second = try join(peer, program)
            try peer.hearHello(on: second)
            try peer.expectPong(of: own, on: second, "a pong on the later session")
        },
        Case("L-21.3", "row 3: a peer that lost the link is heard on the later session", also: "M-7", group: .links) {
            trial in
            let (program, peer, own) = try linkByHand(trial, programIsSmaller: true)
            heartbeats(peer, on: own, until: own.createdAt + .milliseconds(1_600))
            let second = try peer.openSession(to: program)
            (peer.stream, peer.heldStream) = (peer.stream ^ 0x10, 0)
            peer.say(on: second)
            let hello = try peer.hearHello(on: second, "a hello that holds the new stream") {
                $0.heldStream == peer.stream
            }
            peer.heldStream = hello.value.stream
            peer.say(on: second)
            try peer.expectPong(of: own, on: second, "a pong on the later session")
        },
        Case(
            "L-21.4", "row 4: a hello that was long on its way does not turn a session in use away", also: "L-48",
            group: .links
        ) {
            trial in
            let (program, peer, early, own) = try crossed(trial)
            heartbeats(peer, on: own, until: early.createdAt + .milliseconds(1_300))
            peer.send([peer.heartbeatFrame], on: own)
            let start = trial.now
            peer.say(on: early) { $0.heldStream = 0 }
            try peer.expectPong(of: early, on: own, "a pong on the session in use")
            try trial.never(for: .milliseconds(300), "no hello on the session that does not send") {
                !peer.hellos(on: early, since: start).isEmpty
            }
            _ = program
        },
        Case("L-21.5", "row 5: the same hello counts where nothing came on the other session", group: .links) { trial in
            let (_, peer, early, own) = try crossed(trial)
            trial.run(for: .milliseconds(1_250))
            peer.say(on: early)
            try peer.hearHello(on: early, "a hello on the session that the smaller key began")
            try peer.expectPong(of: own, on: early, "a pong on the session that the smaller key began")
        },
        Case("L-21.6", "row 5: the larger key follows to the session that the smaller one began", group: .links) {
            trial in
            let (_, peer, early, own) = try crossed(trial)
            peer.say(on: early) { $0.heldStream = 0 }
            try peer.hearHello(on: early, "a hello on the session that the smaller key began")
            peer.say(on: early)
            try peer.expectPong(of: own, on: early, "a pong on the session that the smaller key began")
        },
        Case(
            "L-21.7", "row 5: the session that the smaller key began sends, also if the other was bound first",
            group: .links
        ) {
            trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: true, habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            let theirs = try peer.openSession(to: program)
            let own = try peer.answer(initiation)
            try peer.hearHello(on: own)
            peer.say(on: theirs)
            try program.awaitPresence("online", of: peer.user)
            let hello = try peer.hearHello(on: theirs, "a hello that holds the stream") {
                $0.heldStream == peer.stream
            }
            peer.heldStream = hello.value.stream
            let start = trial.now
            peer.say(on: own)
            try peer.hearHello(on: own, "a hello that names the link's streams", since: start) {
                $0.stream == peer.heldStream && $0.heldStream == peer.stream
            }
            try peer.expectPong(of: theirs, on: own, "a pong on the session that the smaller key began")
        },
        Case(
            "L-21.8", "row 5: the late hello of a crossed opening changes nothing", also: "L-22", "L-48", group: .links
        ) {
            trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: true, habits: .quiet)
            try peer.tellKey()
            let initiation = try peer.awaitInitiation()
            let theirs = try peer.openSession(to: program)
            let own = try peer.answer(initiation)
            try peer.hearHello(on: own)
            try peer.bringUp(own, at: program)
            let start = trial.now
            peer.say(on: theirs) { ($0.stream, $0.heldStream, $0.name) = ($0.stream ^ 0x10, 0, "Alison") }
            try peer.expectPong(of: theirs, on: own, "a pong on the session that the smaller key began")
            try trial.never(for: .milliseconds(300), "no hello that holds another stream, and no other name") {
                peer.hellos(on: own, since: start).contains { $0.value.heldStream != peer.stream }
                    || !program.events("peer", since: start).isEmpty
            }
        },
        Case("L-21.9", "an older session receives for 10 s after its last datagram", group: .links) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let second = try join(peer, program)
            let start = trial.now
            heartbeats(peer, on: second, until: start + .seconds(6))
            try peer.expectPong(of: first, on: second, "a pong on the newer session")
            heartbeats(peer, on: second, until: start + .seconds(13))
            try peer.expectPong(of: first, on: second, "a pong on the newer session")
        },
        Case("L-21.10", "an older session on which nothing comes for 10 s is dropped", group: .links) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let second = try join(peer, program)
            heartbeats(peer, on: second, until: trial.now + .milliseconds(10_700))
            try peer.pingInVain(on: first, "no pong to a ping on a session that is over")
            try peer.ping(on: second)
        },
        Case("L-21.11", "a fourth older session drops the oldest", group: .links) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            var sessions = [try peer.openAndMeet(program)]
            for _ in 0..<4 {
                let next = try join(peer, program)
                try peer.hearHello(on: next)
                sessions.append(next)
            }
            try peer.pingInVain(on: sessions[0], "no pong to a ping on the oldest of five sessions")
            for session in sessions.dropFirst() {
                try peer.expectPong(of: session, on: sessions[4], "a pong on the newest session")
            }
        },
        Case(
            "L-43.1", "the larger key goes where it hears hellos, once its own session was silent for 1.75 s",
            group: .links
        ) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer(programIsSmaller: false)
            let (first, second, last) = try superseded(peer, program)
            trial.pump(until: last + .milliseconds(1_200))
            peer.say(on: first)
            try peer.expectPong(
                of: first, on: second, "a pong on the session that sends, which is silent for 1.2 s alone")
            trial.pump(until: last + .milliseconds(2_100))
            let start = trial.now
            peer.say(on: first)
            try peer.hearHello(on: first, "a hello on the session on which the peer says hello", since: start)
            peer.say(on: first)
            try peer.expectPong(of: first, on: first, "a pong on the session on which the peer says hello")
        },
        Case(
            "L-43.2", "the larger key goes where it hears a status, once its own session was silent for 1.75 s",
            group: .links
        ) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer(programIsSmaller: false)
            let (first, _, last) = try superseded(peer, program)
            trial.pump(until: last + .milliseconds(1_000))
            peer.send([.ping(1)], on: first)
            trial.pump(until: last + .milliseconds(2_100))
            let start = trial.now
            peer.send([peer.heartbeatFrame], on: first)
            try peer.hearHello(on: first, "a hello on the session on which the status came", since: start)
            peer.say(on: first)
            try peer.expectPong(of: first, on: first, "a pong on that session")
        },
        Case("L-43.3", "the smaller key says its hello where it sends, and stays there", group: .links) { trial in
            let (program, peer) = try trial.startWithQuietPeer(programIsSmaller: true)
            let (first, second, last) = try superseded(peer, program)
            for wait in [Duration.milliseconds(600), .milliseconds(1_400), .milliseconds(2_200)] {
                trial.pump(until: last + wait)
                let start = trial.now
                peer.say(on: first)
                let hello = try peer.hearHello(on: second, "a hello on the session that sends", since: start)
                try Trial.judge("the hello", hello.at - start, from: .zero)
            }
            try peer.expectPong(of: first, on: second, "a pong on the session that sends")
        },
    ]

    /// Lets the peer begin one more session, and says hello on it.
    private static func join(_ peer: Peer, _ program: Program) throws -> PeerSession {
        let session = try peer.openSession(to: program)
        peer.say(on: session)
        return session
    }

    /// A link on a session that the program began.
    private static func linkByHand(
        _ trial: Trial, programIsSmaller: Bool
    ) throws -> (program: Program, peer: Peer, session: PeerSession) {
        let (program, peer) = try trial.startByHand(programIsSmaller: programIsSmaller, habits: .quiet)
        try peer.tellKey()
        let session = try peer.answer(try peer.awaitInitiation())
        try peer.hearHello(on: session)
        try peer.bringUp(session, at: program)
        return (program, peer, session)
    }

    /// The smaller key is the peer's: its session has a response and no more, and the link is on the program's.
    private static func crossed(
        _ trial: Trial
    ) throws -> (program: Program, peer: Peer, early: PeerSession, own: PeerSession) {
        let (program, peer) = try trial.startByHand(programIsSmaller: false, habits: .quiet)
        try peer.tellKey()
        let early = try peer.openSession(to: program)
        let initiation = try peer.awaitInitiation(within: .seconds(2), since: .zero)
        let own = try peer.answer(initiation)
        guard try isTaken(own, by: program, trial) else {
            throw Untried(reason: "the program had begun its own handshake before the peer's came")
        }
        try peer.bringUp(own, at: program)
        return (program, peer, early, own)
    }

    /// Whether hellos come on a session.
    private static func isTaken(_ session: PeerSession, by program: Program, _ trial: Trial) throws -> Bool {
        (try? trial.wait(.seconds(1), for: "a hello", until: { session.isComplete ? true : nil })) ?? false
    }

    /// Two sessions of a link; the second one sends. The third value is when the last datagram went there.
    private static func superseded(
        _ peer: Peer, _ program: Program
    ) throws -> (first: PeerSession, second: PeerSession, last: Duration) {
        let first = try peer.openAndMeet(program)
        let second = try join(peer, program)
        let last = peer.trial.now
        try peer.hearHello(on: second)
        return (first, second, last)
    }

    /// Sends a heartbeat every 500 ms until an instant.
    private static func heartbeats(_ peer: Peer, on session: PeerSession, until end: Duration) {
        while peer.trial.now < end {
            peer.send([peer.heartbeatFrame], on: session)
            peer.trial.pump(until: min(end, peer.trial.now + .milliseconds(500)))
        }
    }
}

import InklingWire

extension Catalogue {
    static let helloCases: [Case] = [
        Case("L-16.1", "a responder says hello as soon as its session is complete, and every 250 ms", group: .handshake)
        {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.ping(1)], on: session)
            try checkRhythm(of: peer, on: session, since: trial.now)
        },
        Case(
            "L-16.2", "an initiator says hello as soon as its session is complete, and every 250 ms", group: .handshake
        ) {
            trial in
            let (_, peer) = try trial.startByHand(habits: .none)
            try peer.tellKey()
            let session = try peer.answer(try peer.awaitInitiation())
            try checkRhythm(of: peer, on: session, since: trial.now)
        },
        Case("L-16.3", "the hellos every 250 ms end with the peer's hello that holds the stream", group: .handshake) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            _ = try peer.openAndMeet(program)
            trial.run(for: .milliseconds(250))
            let start = trial.now
            for _ in 0..<4 {
                trial.run(for: .milliseconds(500))
                peer.send([peer.heartbeatFrame])
            }
            let count = peer.hellos.count { $0.at >= start }
            guard count <= 3 else {
                throw Finding(expected: "no hello every 250 ms", actual: "\(count) hellos came in 2 s")
            }
        },
        Case("L-16.4", "the hellos begin again with a hello that does not hold the stream", group: .handshake) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            trial.run(for: .milliseconds(300))
            let start = trial.now
            peer.say(on: session) { $0.heldStream = 0 }
            try trial.wait(
                .milliseconds(1_250), for: "hellos every 250 ms", actual: { peer.summary(since: start) },
                until: { peer.hellos(on: session, since: start).count >= 3 ? true : nil })
            peer.say(on: session)
            try peer.ping(on: session)
        },
        Case(
            "L-16.5", "the first hello of a responder holds the stream of a hello that came before", also: "W-30",
            group: .handshake
        ) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.say(on: session)
            let first = try peer.hearHello(on: session).value
            guard first.heldStream == peer.stream else {
                throw Finding(expected: "\(peer.stream) as held", actual: "\(first.heldStream) as held")
            }
        },
        Case("L-17.1", "a hello is answered at once if the answer says something new", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            peer.stream ^= 0x10
            let start = trial.now
            peer.say(on: session)
            let answer = try peer.hearHello(on: session, "a hello that holds the new stream", since: start) {
                $0.heldStream == peer.stream
            }
            try Trial.judge("the answer", answer.at - start, from: .zero)
        },
        Case("L-17.2", "a hello that says nothing new is answered if 200 ms passed since the last", group: .handshake) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            for _ in 0..<3 {
                trial.run(for: .milliseconds(450))
                let start = trial.now
                peer.say(on: session)
                let answer = try peer.hearHello(on: session, "an answer to the hello", since: start)
                try Trial.judge("the answer", answer.at - start, from: .zero)
            }
        },
        Case("L-17.3", "after twelve answers there is one a second", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            let start = trial.now
            for _ in 0..<30 {
                trial.run(for: .milliseconds(220))
                peer.say(on: session)
            }
            trial.run(for: .milliseconds(200))
            let seconds = (trial.now - start).milliseconds / 1_000
            let count = peer.hellos(on: session, since: start).count
            guard (10...(12 + seconds)).contains(count) else {
                throw Finding(
                    expected: "12 answers at most, and then one a second: \(12 + seconds) in \(seconds) s",
                    actual: "\(count) answers to 30 hellos")
            }
            trial.run(for: .milliseconds(1_100))
            let last = trial.now
            peer.say(on: session)
            try peer.hearHello(on: session, "an answer when no hello was sent for a second", since: last)
        },
        Case("L-18.1", "until its stream is held every datagram carries the hello", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.say(on: session)
            try peer.hearHello(on: session, "a hello that holds the stream") { $0.heldStream == peer.stream }
            let start = trial.now
            try peer.ping(on: session)
            program.compose("hi")
            try peer.await("a status that says typing", since: start) { $0.status?.isTyping == true }
            trial.run(for: .milliseconds(700))
            if let bare = peer.received.first(where: { $0.session === session && $0.hello == nil }) {
                throw Finding(
                    expected: "a hello in every datagram", actual: bare.frames.map(\.word).joined(separator: "+"))
            }
        },
        Case("L-18.2", "until its stream is held no message goes out", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.messages)
            let session = try peer.openSession(to: program)
            peer.say(on: session)
            let hello = try peer.hearHello(on: session, "a hello that holds the stream") {
                $0.heldStream == peer.stream
            }
            program.send("hi")
            try trial.never(for: .milliseconds(900), "no message") { !peer.records.isEmpty }
            peer.heldStream = hello.value.stream
            let start = trial.now
            peer.say(on: session)
            try peer.await("the message once its stream is held", since: start) { $0.record?.text == "hi" }
        },
        Case("L-19.1", "a session without the peer's hello is dropped after 3 s", group: .handshake) { trial in
            let (program, late) = try trial.startWithQuietPeer()
            let timely = try trial.peer(named: "Bob")
            timely.habits = .quiet
            let lateSession = try late.openSession(to: program)
            late.send([.ping(1)], on: lateSession)
            try late.hearHello(on: lateSession)
            let timelySession = try timely.openSession(to: program)
            timely.send([.ping(1)], on: timelySession)
            trial.run(for: .milliseconds(2_500))
            try timely.meet(program, on: timelySession)
            trial.run(for: .milliseconds(1_100))
            let start = trial.now
            late.say(on: lateSession)
            try trial.never(for: .milliseconds(700), "nothing on a session that is over") {
                !late.received(since: start).isEmpty || program.presence(of: late.user) != nil
            }
            _ = try late.openAndMeet(program)
        },
        Case("L-19.2", "an initiator that gets no hello for 3 s goes on with the next attempt", group: .handshake) {
            trial in
            let (program, peer) = try trial.startByHand(habits: .none)
            try peer.tellKey()
            let first = try peer.awaitInitiation()
            let session = try peer.answer(first)
            try peer.hearHello(on: session)
            let completed = trial.now
            let again = try peer.awaitInitiation(within: .seconds(6), since: completed + .milliseconds(20))
            try Trial.judge("the next attempt", again.at - completed, from: .seconds(3))
            guard again.value.senderIndex != first.value.senderIndex else {
                throw Finding(expected: "a new index", actual: "the index \(first.value.senderIndex) again")
            }
            try peer.meet(program, on: try peer.answer(again))
        },
    ]

    /// Fails unless hello and heartbeat come at once, and from then on every 250 ms.
    private static func checkRhythm(of peer: Peer, on session: PeerSession, since start: Duration) throws {
        let trial = peer.trial
        trial.run(for: .milliseconds(2_300))
        var last = start
        for (number, hello) in peer.hellos(on: session, since: start).enumerated() {
            let limit = (number == 0 ? Duration.zero : .milliseconds(250)) + Trial.late
            guard hello.at - last <= limit else {
                throw Finding(
                    expected: "hello \(number + 1) at most \(limit.text) after what came before",
                    actual: "it came after \((hello.at - last).text)")
            }
            last = hello.at
        }
        guard last > start, trial.now - last <= .milliseconds(500) else {
            throw Finding(
                expected: "hellos every 250 ms for as long as the peer says none",
                actual: last > start ? "none came for \((trial.now - last).text)" : "none came in 2.3 s")
        }
        if let bare = peer.received.first(where: { $0.session === session && $0.heartbeat == nil }) {
            throw Finding(
                expected: "hello and heartbeat in one datagram", actual: bare.frames.map(\.word).joined(separator: "+"))
        }
    }
}

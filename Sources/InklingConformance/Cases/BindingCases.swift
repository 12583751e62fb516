import InklingWire

extension Catalogue {
    static let bindingCases: [Case] = [
        Case("L-20.1", "frames that come before the hello are ignored", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            let typing = Heartbeat(status: Status(isTyping: true, isAway: false), interval: 10)
            peer.send([.heartbeat(typing), .ping(7)], on: session)
            try trial.never(for: .milliseconds(500), "no pong, and nobody shown") {
                peer.received.contains { $0.pong != nil } || !program.events("peer").isEmpty
                    || program.shows(typing: peer.user)
            }
            try peer.meet(program, on: session)
            peer.announce(typing: true, on: session)
            try trial.wait(
                .seconds(3), for: "typing that came after the hello is shown",
                until: { program.shows(typing: peer.user) ? true : nil })
        },
        Case("L-20.2", "in the datagram that brings the hello all frames count", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.status.isTyping = true
            peer.say(on: session, with: [.ping(9)])
            try peer.await("a pong", since: .zero) { $0.pong == 9 }
            try trial.wait(
                .seconds(1), for: "the typing that came with the hello is shown",
                until: { program.shows(typing: peer.user) ? true : nil })
        },
        Case("L-20.3", "a status that was ignored counts against older ones", also: "T-13", group: .handshake) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([peer.heartbeatFrame], on: session, counter: 10)
            trial.run(for: .milliseconds(100))
            peer.status.isTyping = true
            peer.say(on: session, counter: 2)
            try program.awaitPresence("online", of: peer.user)
            try trial.never(for: .milliseconds(400), "no typing from an older status") {
                program.shows(typing: peer.user)
            }
            peer.send([peer.heartbeatFrame], on: session, counter: 11)
            try trial.wait(
                .seconds(3), for: "typing from a newer status",
                until: { program.shows(typing: peer.user) ? true : nil })
        },
        Case("L-20.4", "a bye before the hello ends its session", also: "L-34", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.ping(1)], on: session)
            try peer.hearHello(on: session)
            peer.send([.bye(.quit)], on: session)
            trial.run(for: .milliseconds(100))
            let start = trial.now
            peer.say(on: session)
            try trial.never(for: .milliseconds(700), "nothing on a session that is over") {
                !peer.received(since: start).isEmpty || program.presence(of: peer.user) != nil
            }
            _ = try peer.openAndMeet(program)
        },
        Case("L-22.1", "a hello under a lower counter is not applied", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            let (old, start) = (peer.stream, trial.now)
            peer.stream ^= 0x10
            peer.say(on: session, counter: 10)
            try peer.hearHello(on: session, "a hello that holds the new stream", since: start) {
                $0.heldStream == peer.stream
            }
            trial.run(for: .milliseconds(250))
            let late = trial.now
            peer.say(on: session, counter: 9) { $0.stream = old }
            try trial.never(for: .milliseconds(400), "no hello that holds the old stream") {
                peer.hellos(on: session, since: late).contains { $0.value.heldStream == old }
            }
            let again = trial.now
            peer.say(on: session, counter: 11)
            let last = try peer.hearHello(on: session, since: again)
            guard last.value.heldStream == peer.stream else {
                throw Finding(expected: "the new stream is held", actual: Frame.hello(last.value).word)
            }
        },
        Case("L-22.2", "an applied hello sets the name, an older one does not", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openAndMeet(program)
            peer.say(on: session, counter: 10) { $0.name = "Alicia" }
            try program.await("peer", "`peer` with the name Alicia") { $0["name"]?.string == "Alicia" }
            let start = trial.now
            peer.say(on: session, counter: 9) { $0.name = "Alison" }
            try trial.never(for: .milliseconds(500), "no `peer` with the name of an older hello") {
                !program.events("peer", since: start).isEmpty
            }
            peer.say(on: session, counter: 11) { $0.name = "Ali" }
            try program.await("peer", "`peer` with the name Ali") { $0["name"]?.string == "Ali" }
        },
        Case(
            "L-22.3", "a hello on an older session is not applied when a newer one had one", also: "L-21",
            group: .handshake
        ) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let second = try peer.openSession(to: program)
            peer.say(on: second)
            try peer.hearHello(on: second)
            let start = trial.now
            peer.say(on: first) { $0.name = "Alison" }
            try trial.never(for: .milliseconds(500), "no `peer` with the name of the older session") {
                !program.events("peer", since: start).isEmpty
            }
            peer.say(on: second) { $0.name = "Alicia" }
            try program.await("peer", "`peer` with the name Alicia") { $0["name"]?.string == "Alicia" }
        },
        Case("L-47.1", "with no link to the peer a hello names a fresh stream, and holds none", group: .handshake) {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.ping(1)], on: session)
            let hello = try peer.hearHello(on: session).value
            guard hello.stream != 0, hello.heldStream == 0, hello.nextRecord == 0 else {
                throw Finding(expected: "a stream, and held and next 0", actual: Frame.hello(hello).word)
            }
        },
        Case("L-47.2", "before the peer's hello a hello names the streams of the link that is there", group: .handshake)
        {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let second = try peer.openSession(to: program)
            peer.send([peer.heartbeatFrame], on: second)
            let hello = try peer.hearHello(on: second).value
            guard hello.stream == peer.heldStream, hello.heldStream == peer.stream else {
                throw Finding(
                    expected: "the stream \(peer.heldStream), and \(peer.stream) as held",
                    actual: "the stream \(hello.stream), and \(hello.heldStream) as held")
            }
            peer.say(on: second)
            try peer.expectPong(of: first, on: second, "a pong on the newer session")
        },
        Case("L-47.3", "when a link is made meanwhile the next hello names its streams", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let waiting = try peer.openSession(to: program)
            peer.send([.ping(1)], on: waiting)
            try peer.hearHello(on: waiting)
            _ = try peer.openAndMeet(program)
            let start = trial.now + .milliseconds(20)
            let hello = try peer.hearHello(on: waiting, since: start).value
            guard hello.stream == peer.heldStream, hello.heldStream == peer.stream else {
                throw Finding(
                    expected: "the stream \(peer.heldStream), and \(peer.stream) as held",
                    actual: "the stream \(hello.stream), and \(hello.heldStream) as held")
            }
        },
        Case("L-47.4", "when the link ends meanwhile the next hello names a fresh stream", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let waiting = try peer.openSession(to: program)
            peer.send([peer.heartbeatFrame], on: waiting)
            try peer.hearHello(on: waiting)
            peer.send([.bye(.quit)], on: first)
            try program.awaitPresence("offline", of: peer.user)
            let start = trial.now + .milliseconds(20)
            let hello = try peer.hearHello(on: waiting, since: start).value
            guard hello.stream != peer.heldStream, hello.heldStream == 0 else {
                throw Finding(
                    expected: "another stream than \(peer.heldStream), and 0 as held",
                    actual: "the stream \(hello.stream), and \(hello.heldStream) as held")
            }
        },
        Case("L-48.1", "the first hello binds the session to the link of its run", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let other = try trial.peer(named: "Alice", identity: peer.identity)
            other.habits = .quiet
            let second = try other.openAndMeet(program)
            try peer.expectPong(of: first, on: first, "a pong on the session of its own link")
            try other.expectPong(of: second, on: second, "a pong on the session of its own link")
        },
        Case("L-48.2", "the run in later hellos of a session means nothing", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let first = try peer.openAndMeet(program)
            let start = trial.now
            let (run, own) = (peer.run, peer.heldStream)
            peer.stream ^= 0x10
            peer.say(on: first) { $0.run = run ^ 1 }
            let answer = try peer.hearHello(on: first, "a hello that holds the new stream", since: start) {
                $0.heldStream == peer.stream
            }
            guard answer.value.stream == own else {
                throw Finding(expected: "the stream \(own) as before", actual: "the stream \(answer.value.stream)")
            }
            let second = try peer.openSession(to: program)
            peer.say(on: second)
            try peer.hearHello(on: second)
            try peer.expectPong(of: first, on: second, "the session of the same run in the same link")
        },
        Case("L-48.3", "a peer that was restarted is met anew, and stays online", also: "L-31", group: .handshake) {
            trial in
            let program = try trial.start()
            let peer = try trial.peer()
            try peer.open(to: program)
            peer.restart()
            let session = try peer.openSession(to: program)
            try peer.hearHello(on: session)
            try trial.never(for: .seconds(4), "no `peer` that says offline") {
                program.presence(of: peer.user) == "offline"
            }
            try peer.expectPong(of: session, on: session, "a pong on the new session")
        },
        Case("L-48.4", "a hello that comes after a later datagram makes the link", group: .handshake) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.ping(1)], on: session, counter: 3)
            try peer.hearHello(on: session)
            peer.say(on: session, counter: 1)
            try program.awaitPresence("online", of: peer.user)
        },
    ]
}

import InklingWire

/// What becomes of the streams of a link: M-3 to M-8.
extension Catalogue {
    private static func linked(
        _ trial: Trial, acknowledges: Bool = true
    ) throws -> (program: Program, peer: Peer) {
        let program = try trial.start(needs: .messages)
        let peer = try trial.peer()
        try peer.open(to: program)
        peer.habits.acknowledges = acknowledges
        return (program, peer)
    }

    /// Another stream number for the peer.
    private static func otherStream(_ trial: Trial, than peer: Peer) -> UInt32 {
        var stream = peer.stream
        while stream == peer.stream { stream = UInt32(truncatingIfNeeded: trial.generator.next()) | 1 }
        return stream
    }

    /// Says a hello of those streams by hand, and gives the program's next one.
    @discardableResult
    private static func sayHello(
        _ trial: Trial, _ peer: Peer, stream: UInt32? = nil, held: UInt32? = nil, next: UInt32 = 0,
        where fits: (Hello) -> Bool = { _ in true }, _ expected: String = "a hello of the program"
    ) throws -> Hello {
        // A program that said hello less than 200 ms ago need not answer the same again.
        trial.run(for: .milliseconds(250))
        let start = trial.now
        let hello = Hello(
            run: peer.run, stream: stream ?? peer.stream, heldStream: held ?? peer.heldStream, nextRecord: next,
            name: peer.name)
        peer.send([.hello(hello), peer.heartbeatFrame])
        let answer = try peer.await(expected, since: start) { $0.hello.map(fits) ?? false }
        return answer.hello ?? hello
    }

    /// Fails if the program shows or acknowledges a record of a stream that it does not hold.
    private static func expectIgnored(
        _ stream: UInt32, _ number: UInt32, _ trial: Trial, _ program: Program, _ peer: Peer, _ why: String
    ) throws {
        let start = trial.now
        peer.sendRecord(number, "ignored", stream: stream)
        let words = "a message of the stream \(stream) is ignored: \(why)"
        try trial.never(for: .milliseconds(300), words, actual: { peer.summary(since: start) }) {
            program.messages(from: peer.user).contains("ignored")
                || peer.received(since: start).contains { $0.ack?.stream == stream }
        }
    }

    static let streamCases: [Case] = [
        Case("M-3.1", "each link has a stream of its own, with a random number", group: .messages) { trial in
            let program = try trial.start()
            var streams: Set<UInt32> = []
            for name in ["Alice", "Bob", "Charlie", "Diana"] {
                let peer = try trial.peer(named: name)
                try peer.open(to: program)
                streams.insert(peer.heldStream)
            }
            let spread = (streams.max() ?? 0) - (streams.min() ?? 0)
            guard streams.count == 4, spread > 0xFFFF, !streams.contains(0) else {
                throw Finding(expected: "four random numbers as own streams", actual: "\(streams.sorted())")
            }
        },
        Case("M-4.1", "the first hello names an own stream, and holds none", also: "L-47", "L-16", group: .messages) {
            trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.saysHello = false
            peer.habits.heartbeat = nil
            _ = try peer.openSession(to: program)
            let start = trial.now
            peer.send([.pong(1)])
            let frames = try peer.await("a hello of the program") { $0.hello != nil }
            try trial.judge("the hello", at: frames.at, after: start, is: .zero)
            guard let hello = frames.hello, hello.heldStream == 0, hello.name == program.arguments.name,
                frames.heartbeat != nil
            else {
                throw Finding(
                    expected: "a hello with the name \(program.arguments.name) that holds 0, and a heartbeat",
                    actual: frames.frames.map(\.word).joined(separator: "+"))
            }
        },
        Case(
            "M-4.2", "a hello holds the peer's stream, and names the record that is expected next", also: "L-47",
            group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial)
            try peer.deliver([("one", true, true), ("two", true, true), ("half of three", true, false)])
            let session = try peer.openSession(to: program)
            let frames = try peer.await("a hello on a new session", since: session.createdAt) {
                $0.session === session && $0.hello != nil
            }
            guard let hello = frames.hello, hello.heldStream == peer.stream, hello.nextRecord == 3 else {
                throw Finding(
                    expected: "hello(held \(peer.stream), next 3)",
                    actual: frames.frames.map(\.word).joined(separator: "+"))
            }
        },
        Case("M-5.1", "a hello that holds the stream acknowledges the records before its next one", group: .messages) {
            trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            program.send("hello")
            try peer.await("the message") { $0.record != nil }
            peer.nextRecord = 1
            peer.sendHello()
            try program.awaitDelivered(to: peer.user, trial: trial)
        },
        Case(
            "M-5.2", "the first hello on a new session has what is in flight sent again at once, and later ones do not",
            also: "L-18", group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            program.send("hello")
            // When it has been sent twice, its timer is at 1 s.
            try trial.wait(.seconds(3), for: "the record twice", until: { peer.records.count >= 2 ? true : nil })
            let session = try peer.openSession(to: program)
            let frames = try peer.await("the record on the new session", since: session.createdAt) {
                $0.session === session && $0.record != nil
            }
            try trial.judge("the record on the new session", at: frames.at, after: session.createdAt, is: .zero)
            trial.run(for: .milliseconds(30))
            let start = trial.now
            peer.sendHello()
            try trial.never(for: .milliseconds(120), "no record again by a later hello") {
                peer.records.contains { $0.at >= start }
            }
            peer.nextRecord = 1
            peer.sendAck()
            try program.awaitDelivered(to: peer.user, trial: trial)
        },
        Case(
            "M-5.3", "a hello whose next record was never sent counts as not holding the stream", also: "M-6",
            group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            let old = peer.heldStream
            program.send("hello")
            try peer.await("the message") { $0.record != nil }
            let hello = try sayHello(
                trial, peer, next: 2, where: { $0.stream != old }, "a hello with another own stream")
            try program.awaitFailure("lost-state", for: peer.user)
            guard hello.stream != old else { throw Finding(expected: "another own stream", actual: "the same") }
        },
        Case(
            "M-6.1", "a hello that does not hold the stream fails what was sent, and a new stream begins at record 0",
            also: "M-3", "M-18", group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial)
            let old = peer.heldStream
            program.send("delivered")
            try program.awaitDelivered(to: peer.user, trial: trial)
            peer.habits.acknowledges = false
            program.send("lost")
            try peer.await("the message") { $0.record?.number == 1 }
            try sayHello(trial, peer, held: 0, where: { $0.stream != old }, "a hello with another own stream")
            try program.awaitFailure("lost-state", for: peer.user)
            peer.habits.acknowledges = true
            program.send("again")
            try program.awaitDelivered(2, to: peer.user, trial: trial)
            let records = peer.records.filter { $0.value.stream != old }
            guard records.first?.value.number == 0, records.allSatisfy({ $0.value.text == "again" }) else {
                throw Finding(
                    expected: "record 0 of the new stream with the text `again`",
                    actual: "\(records.map { "\($0.value.number) `\($0.value.text)`" })")
            }
        },
        Case("M-6.2", "messages of which nothing was sent stay queued for the new stream", group: .messages) { trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            let old = peer.heldStream
            program.send(String(repeating: "x", count: 20 * 1_163), tag: "lost")
            program.send("queued", tag: "queued")
            try trial.wait(
                .seconds(3), for: "16 records", until: { peer.distinctRecords().count >= 16 ? true : nil })
            peer.habits.acknowledges = true
            try sayHello(trial, peer, held: 0, where: { $0.stream != old }, "a hello with another own stream")
            try program.awaitDelivered(to: peer.user, trial: trial)
            trial.run(for: .milliseconds(300))
            let outcomes = program.outcomes(for: peer.user)
            let numbers = program.events("sent").compactMap { $0.value["message"]?.integer }
            guard numbers.count == 2, outcomes.count == 2,
                outcomes.contains(where: { $0.message == numbers[0] && $0.why == "lost-state" }),
                outcomes.contains(where: { $0.message == numbers[1] && $0.kind == "delivered" })
            else {
                throw Finding(
                    expected: "the first message failed with `lost-state`, and the second was delivered",
                    actual: "\(outcomes.map { "\($0.message ?? 0) \($0.kind) \($0.why ?? "")" })")
            }
            let first = peer.records.first { $0.value.stream != old }?.value
            guard first?.number == 0, first?.text == "queued" else {
                throw Finding(expected: "`queued` as record 0 of the new stream", actual: "\(first?.number ?? 0)")
            }
        },
        Case("M-6.3", "a stream of which nothing was sent is kept", group: .messages) { trial in
            let (_, peer) = try linked(trial)
            let old = peer.heldStream
            for held in [UInt32(0), old &+ 2] {
                let hello = try sayHello(trial, peer, held: held)
                guard hello.stream == old else {
                    throw Finding(expected: "the own stream \(old) as before", actual: "\(hello.stream)")
                }
            }
        },
        Case(
            "M-7.1", "a new stream of the peer is held from record 0, and what waited for reassembly is dropped",
            group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial)
            for holdsOwn in [true, false] {
                try peer.deliver([("half", true, false)])
                peer.sendRecord(peer.nextOwnRecord + 1, "beyond a gap")
                let stream = otherStream(trial, than: peer)
                (peer.stream, peer.nextOwnRecord) = (stream, 0)
                let hello = try sayHello(
                    trial, peer, held: holdsOwn ? peer.heldStream : 0, where: { $0.heldStream == stream },
                    "a hello that holds the new stream")
                guard hello.nextRecord == 0 else {
                    throw Finding(expected: "record 0 as the next one", actual: "\(hello.nextRecord)")
                }
                peer.sendHello()
                peer.sendRecord(1, "after \(holdsOwn)")
                peer.sendRecord(0, "new \(holdsOwn)")
                try program.await("message") { $0["text"]?.string == "after \(holdsOwn)" }
                peer.nextOwnRecord = 2
                trial.run(for: .milliseconds(50))
            }
            let shown = program.messages(from: peer.user)
            guard shown == ["new true", "after true", "new false", "after false"] else {
                throw Finding(expected: "only the messages of the new streams, in order", actual: "\(shown)")
            }
        },
        Case("M-7.2", "a hello that holds a stream never named here does not change the held one", group: .messages) {
            trial in
            let (program, peer) = try linked(trial)
            let foreign = otherStream(trial, than: peer)
            let hello = try sayHello(trial, peer, stream: foreign, held: peer.heldStream &+ 4)
            guard hello.heldStream == peer.stream else {
                throw Finding(
                    expected: "a hello that still holds the stream \(peer.stream)",
                    actual: "it holds \(hello.heldStream)")
            }
            try expectIgnored(foreign, 0, trial, program, peer, "the hello spoke of a link that is over")
            peer.sendHello()
            try peer.deliver([("old stream", true, true)])
            try program.await("message") { $0["text"]?.string == "old stream" }
        },
        Case("M-7.3", "a stream of which records came and that was given up is not held again", group: .messages) {
            trial in
            let (program, peer) = try linked(trial)
            let first = peer.stream
            try peer.deliver([("first stream", true, true)])
            let second = otherStream(trial, than: peer)
            (peer.stream, peer.nextOwnRecord) = (second, 0)
            try sayHello(
                trial, peer, where: { $0.heldStream == second }, "a hello that holds the new stream")
            let hello = try sayHello(trial, peer, stream: first)
            guard hello.heldStream == second else {
                throw Finding(
                    expected: "a hello that still holds the stream \(second)", actual: "it holds \(hello.heldStream)")
            }
            try expectIgnored(first, 0, trial, program, peer, "it was given up for another")
            peer.sendHello()
            try peer.deliver([("second stream", true, true)])
            try program.await("message") { $0["text"]?.string == "second stream" }
        },
        Case(
            "M-7.4", "a hello that holds one of the program's earlier streams brings the peer's new one", also: "M-6",
            group: .messages
        ) {
            trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            let old = peer.heldStream
            program.send("lost")
            try peer.await("the message") { $0.record != nil }
            try sayHello(trial, peer, held: 0, where: { $0.stream != old }, "a hello with another own stream")
            let stream = otherStream(trial, than: peer)
            (peer.stream, peer.nextOwnRecord) = (stream, 0)
            try sayHello(
                trial, peer, held: old, where: { $0.heldStream == stream },
                "a hello that holds the new stream, as \(old) is one of the last 8 that were named")
            peer.sendHello()
            try peer.deliver([("new", true, true)])
            try program.await("message") { $0["text"]?.string == "new" }
        },
        Case("M-8.1", "a message of another stream than the held one is ignored", group: .messages) { trial in
            let (program, peer) = try linked(trial)
            for stream in [otherStream(trial, than: peer), 0, peer.heldStream] {
                try expectIgnored(stream, 0, trial, program, peer, "the program holds \(peer.stream)")
            }
            try peer.deliver([("good", true, true)])
            try program.await("message") { $0["text"]?.string == "good" }
        },
        Case("M-8.2", "an ack of another stream than the own one is ignored", group: .messages) { trial in
            let (program, peer) = try linked(trial, acknowledges: false)
            program.send("hello")
            try peer.await("the message") { $0.record != nil }
            for stream in [peer.heldStream &+ 2, 0, peer.stream] {
                peer.send([.ack(Ack(stream: stream, next: 1, bitmap: 0))])
            }
            try trial.never(for: .milliseconds(300), "no outcome by an ack of another stream") {
                !program.outcomes(for: peer.user).isEmpty
            }
            peer.send([.ack(Ack(stream: peer.heldStream, next: 1, bitmap: 0))])
            try program.awaitDelivered(to: peer.user, trial: trial)
        },
    ]
}

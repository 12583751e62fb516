import InklingWire

extension Catalogue {
    static let orderCases: [Case] = [
        Case(
            "W-30.1", "the answer to a hello goes out before the pong that answers a ping beside it", also: "L-17",
            group: .links
        ) {
            trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.saysHello = false
            peer.habits.heartbeat = nil
            let session = try peer.openSession(to: program)
            peer.send([peer.heartbeatFrame], on: session)
            try peer.await("a hello on the complete session") { $0.hello != nil }
            guard let first = peer.received.first(where: { $0.hello != nil })?.hello else { return }
            (peer.heldStream, peer.nextRecord) = (first.stream, 0)
            let token = trial.token()
            peer.send([.ping(token), peer.heartbeatFrame, .hello(peer.hello)], on: session)
            let pong = try peer.await("a pong", since: .zero) { $0.pong == token }
            let answer = peer.received.filter { $0.hello?.heldStream == peer.stream }.map(\.counter).min()
            guard let answer, answer < pong.counter else {
                throw Finding(
                    expected: "a hello that holds the peer's stream, and then the pong",
                    actual:
                        "the pong under the counter \(pong.counter), the hello under \(answer.map(String.init) ?? "none")"
                )
            }
        },
        Case("W-30.2", "a status before the hello in its datagram counts", also: "L-20", group: .links) { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.saysHello = false
            peer.habits.heartbeat = nil
            let session = try peer.openSession(to: program)
            peer.send([.typing(Status(isTyping: true, isAway: false)), .hello(peer.hello)], on: session)
            try trial.wait(
                .seconds(3), for: "typing is shown", until: { program.shows(typing: peer.user) ? true : nil })
        },
        Case(
            "W-30.3", "presence comes before typing, and typing before the message of one datagram", also: "J-7",
            group: .links
        ) {
            trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            peer.habits.saysHello = false
            peer.habits.heartbeat = nil
            let session = try peer.openSession(to: program)
            let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "hi")
            let typing = Status(isTyping: true, isAway: false)
            peer.send([.typing(typing), .hello(peer.hello), .message(record)], on: session)
            try program.await("message", where: { $0["text"]?.string == "hi" })
            let kinds = program.lines.compactMap(\.kind).filter { ["peer", "typing", "message"].contains($0) }
            guard kinds == ["peer", "typing", "message"] else {
                throw Finding(expected: "the lines peer, typing, message", actual: "\(kinds)")
            }
        },
        Case("W-30.4", "a bye counts after a message that stands behind it", also: "L-34", group: .links) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            try peer.open(to: program)
            let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: "the last word")
            peer.send([.bye(.quit), .typing(Status(isTyping: false, isAway: false)), .message(record)])
            peer.sending?.ended = true
            try program.awaitPresence("offline", of: peer.user, within: .seconds(3))
            let kinds = program.lines.compactMap(\.kind).filter { ["peer", "message"].contains($0) }
            guard program.messages(from: peer.user) == ["the last word"], kinds.suffix(2) == ["message", "peer"] else {
                throw Finding(expected: "the message, and then `peer` offline", actual: "the lines \(kinds)")
            }
        },
        Case("W-30.5", "an ack counts before the bye that stands before it", also: "M-17", group: .links) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            peer.habits.acknowledges = false
            try peer.open(to: program)
            program.send("to the last")
            let record = try peer.await("the message", since: .zero) { $0.record != nil }
            let stream = record.record?.stream ?? 0
            peer.send([.bye(.quit), .ack(Ack(stream: stream, next: 1, bitmap: 0))])
            peer.sending?.ended = true
            let outcome = try trial.wait(
                .seconds(3), for: "`delivered` or `failed`",
                until: { program.events("delivered").first ?? program.events("failed").first })
            guard outcome.value["on"]?.string == "delivered" else {
                throw Finding(expected: "`delivered`", actual: program.describe(outcome.value))
            }
        },
        Case("W-30.6", "a bye counts after a status that stands behind it", also: "T-14", group: .links) { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            try peer.open(to: program)
            let start = trial.now
            peer.send([.bye(.quit), .typing(Status(isTyping: true, isAway: false))])
            peer.sending?.ended = true
            try program.awaitPresence("offline", of: peer.user, within: .seconds(3))
            try trial.never(
                for: .milliseconds(500), "no typing of a peer that has gone", when: { program.shows(typing: peer.user) }
            )
            let changes = program.typingChanges(of: peer.user, since: start).map(\.shown)
            guard changes == [true, false] else {
                throw Finding(expected: "typing shown, and then hidden by the bye", actual: "the changes \(changes)")
            }
        },
    ]
}

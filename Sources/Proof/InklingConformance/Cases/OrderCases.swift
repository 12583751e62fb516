import InklingWire

extension Catalogue {
    static let orderCases: [Case] = [
        Case("W-30.1", "what a ping causes leaves before what an ack and a record beside it cause") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.heartbeat = nil
            let token = trial.token()
            let number = peer.state.nextOwnRecord
            peer.state.nextOwnRecord += 1
            peer.send([.ping(token), peer.heartbeatFrame, .record(Record(number: number, text: "hi"))])
            let pong = try peer.await("a pong", since: .zero) { $0.pong == token }
            let ack = try peer.await("an ack", since: .zero) { ($0.ack?.next ?? 0) > number }
            try expect(pong.counter <= ack.counter, "the pong before the ack", actual: "the ack under a lower counter")
        },
        Case(
            "W-30.2", "a pong that brings a link up leaves before the records that the link then sends", also: "L-82",
            "L-80"
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.unheard], on: session)
            let first = try peer.await("the program's ping", since: .zero) { $0.ping != nil }
            let token = trial.token()
            peer.send(
                [
                    .heartbeat(Heartbeat(status: Status(isUnheard: true), interval: 10)), .ping(token),
                    .pong(first.ping ?? 0),
                ],
                on: session)
            let pong = try peer.await("a pong", since: .zero) { $0.pong == token }
            let name = try peer.await("record 0", since: .zero) { $0.name != nil }
            try expect(
                pong.counter < name.counter && name.record?.number == 0, "the pong, and then record 0",
                actual: peer.summary(since: .zero))
        },
        Case(
            "T-29.1", "presence comes before typing, and typing before the message of one datagram", also: "J-7", "W-30"
        ) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            peer.habits.sendsName = false
            peer.habits.heartbeat = nil
            let session = try peer.openSession(to: program)
            try trial.wait(.seconds(3), for: "the link comes up", when: { session.state.hasName })
            // The program holds the text until record 0 arrives, which shows the peer.
            peer.status.isTyping = true
            peer.sendRecord(1, "hi")
            peer.send([.typing(peer.status), .record(peer.nameRecord(0))])
            try program.await("message", where: { $0["text"]?.string == "hi" })
            let kinds = program.lines.compactMap(\.kind).filter { ["peer", "typing", "message"].contains($0) }
            try expect(kinds == ["peer", "typing", "message"], "the lines peer, typing, message", actual: "\(kinds)")
        },
        Case("W-30.4", "a bye counts after a message that stands behind it", also: "L-34") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let record = Record(number: peer.state.nextOwnRecord, text: "the last word")
            peer.send([.bye(.quit), .typing(Status(isTyping: false, isAway: false)), .record(record)])
            peer.forget()
            try program.awaitPresence("offline", of: peer.user, within: .seconds(3))
            try program.await("message", within: .seconds(1), where: { $0["text"]?.string == "the last word" })
        },
        Case("W-30.5", "an ack counts before the bye that stands before it", also: "M-17") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            program.send("to the last")
            let record = try peer.await("the message", since: .zero) { $0.text != nil }
            peer.send([.bye(.quit), .ack(Ack(next: (record.record?.number ?? 0) + 1))])
            peer.forget()
            let outcome = try trial.wait(
                .seconds(3), for: "`delivered` or `failed`",
                until: { program.events("delivered").first ?? program.events("failed").first })
            try expect(
                outcome.value["on"]?.string == "delivered", "`delivered`", actual: program.describe(outcome.value))
        },
    ]
}

import InklingWire

/// The sessions of a link, and how the link comes up: L-70 to L-77, L-80 to L-86, L-92, L-93, and L-5, L-51.
extension Catalogue {
    static let sessionCases: [Case] = [
        Case("L-70.1", "a node sends on the session that was completed last, and receives on all") { trial in
            let (program, peer, first) = try trial.startInSession()
            let second = try peer.openAnother(to: program)
            try peer.expectPong(of: first, on: second, "a pong on the session that was completed last")
            try peer.await("a heartbeat on that session") { $0.session === second && $0.heartbeat != nil }
            peer.stopHeartbeats()
            // The program sends nothing on an incomplete session.
            peer.habits = .quiet
            let third = try peer.openSession(to: program)
            peer.sending = second
            try peer.expectPong(of: second, on: second, "a pong on the session that is complete")
            try expect(!third.isComplete, "nothing on the new session", actual: "something")
        },
        Case("L-70.2", "a datagram that opens and does not parse makes its session the sending one", also: "L-67") {
            trial in
            let (program, peer, first) = try trial.startInSession()
            peer.habits = .quiet
            let second = try peer.openSession(to: program)
            peer.sending = first
            // A heartbeat without its interval.
            peer.sendPlaintext([1, 0], on: second)
            try peer.expectPong(of: first, on: second, "a pong on the session that was completed last")
        },
        Case(
            "L-74.1",
            "a heartbeat with a ping goes out when a session joins, and every 250 ms for 3 s while it is down",
            also: "L-44"
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.sendPlaintext([0x5A, 0, 0])
            let start = trial.now
            trial.run(for: .seconds(5))
            let pings = peer.received.filter { $0.session === session && $0.ping != nil }
            try expect(
                pings.count == 12 && pings.allSatisfy({ $0.heartbeat?.status == Status(isUnheard: true) }),
                "12 pings with unheard heartbeats", actual: "\(pings.count): " + peer.summary(since: start))
            for (number, ping) in pings.enumerated() {
                try trial.judge("a ping", at: ping.at, after: start, is: .milliseconds(250 * number))
            }
            try expect(program.events("peer").isEmpty, "no `peer`", actual: "one came")
        },
        Case("L-75.1", "an initiator drops a session that is not complete after 3 s") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let session = try peer.answer(try peer.awaitInitiation(since: .zero))
            try peer.hear(on: session)
            trial.run(for: .milliseconds(3_400))
            try peer.pingInVain(on: session, "nothing on a session that is over")
            peer.habits = .all
            try peer.awaitLink(from: program)
        },
        Case("L-77.1", "a fifth session replaces the one that was silent for longest, if for 3 s") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            var sessions = [try peer.open(to: program)]
            for _ in 0..<3 { sessions.append(try peer.openAnother(to: program)) }
            for session in [sessions[0], sessions[2], sessions[1]] {
                try peer.ping(on: session)
                trial.run(for: .milliseconds(20))
            }
            let early = try peer.openSession(to: program)
            peer.sending = sessions[3]
            try peer.pingInVain(on: early, "nothing on a fifth session, while all were heard in the last 3 s")
            for session in [sessions[0], sessions[2], sessions[1]] {
                try peer.ping(on: session)
                trial.run(for: .milliseconds(20))
            }
            trial.run(for: .milliseconds(3_300))
            sessions.append(try peer.openAnother(to: program))
            try peer.ping(on: sessions[4])
            // The fourth session was the sending one. The program was silent on the first one for longest.
            try peer.pingInVain(on: sessions[0], "nothing on the session that was silent for longest")
            for session in sessions.dropFirst() { try peer.ping(on: session) }
        },
        Case("L-38.1", "a session that was silent for 60 s is erased", load: .long) { trial in
            let (program, peer, first) = try trial.startInSession()
            let second = try peer.openAnother(to: program)
            trial.run(for: .seconds(57))
            try peer.ping(on: second)
            let third = try peer.openAnother(to: program)
            trial.run(for: .seconds(5))
            try peer.pingInVain(on: first, "nothing on a session that was silent for 60 s")
            for session in [second, third] { try peer.ping(on: session) }
        },
        Case("L-71.1", "on a down link a heartbeat and a name count for nothing, and draw a ping", also: "L-80") {
            trial in
            let (program, peer) = try trial.startWithQuietPeer()
            _ = try peer.openSession(to: program)
            trial.run(for: .milliseconds(100))
            peer.send([.heartbeat(Heartbeat(status: Status(isTyping: true), interval: 10))])
            trial.run(for: .milliseconds(3_400))
            let start = trial.now
            peer.sendName()
            let ping = try peer.await("a ping with a heartbeat", since: start) { $0.ping != nil && $0.heartbeat != nil }
            try trial.judge("the ping", at: ping.at, after: start, is: .zero)
            try trial.never(for: .milliseconds(500), "no ack and no `peer`") {
                !peer.acks.isEmpty || !program.events("peer").isEmpty
            }
        },
        Case(
            "L-85.1", "a link without the peer's record 0 gets no message and no typing, and is shown when it comes",
            also: "M-24", "T-6", "T-8", "M-36"
        ) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            peer.habits.sendsName = false
            let session = try peer.openSession(to: program)
            try trial.wait(.seconds(3), for: "the link comes up", when: { session.state.hasName })
            peer.announce(typing: true)
            program.compose("hello")
            program.send("hello")
            program.compose("more")
            try expect(
                try program.await("sent").value["to"]?.integer == 0, "a message to nobody", actual: "`to` is another")
            try trial.never(for: .milliseconds(1_500), "no text, no typing and no `peer`") {
                !peer.texts.isEmpty || peer.received.contains { $0.status?.isTyping == true }
                    || !program.events("peer").isEmpty
            }
            peer.send([.typing(peer.status), .record(peer.nameRecord(0))])
            try program.awaitPresence("online", of: peer.user)
            try program.awaitTyping(true, of: peer.user)
        },
        Case("L-108.1", "each pong of a link that is up carries record 0 until it is acknowledged", also: "L-28", "M-9")
        {
            trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.acknowledges = false
            let session = try peer.openSession(to: program)
            try trial.wait(
                .seconds(3), for: "both ends come up",
                when: { session.state.isUp && session.state.hasName && session.state.acknowledged > 0 })
            for _ in 0..<2 {
                let pong = try peer.ping(on: session)
                try expect(
                    pong.heartbeat != nil && pong.name?.number == 0,
                    "a heartbeat and record 0 beside the pong, while record 0 is not acknowledged",
                    actual: pong.frames.map(\.word).joined(separator: ", "))
            }
            peer.send([.ack(Ack(next: 1))], on: session)
            let pong = try peer.ping(on: session)
            try expect(
                pong.heartbeat != nil && pong.record == nil, "a pong without a record after the ack",
                actual: pong.frames.map(\.word).joined(separator: ", "))
        },
        Case("L-86.1", "a link whose peer hides its name ends by a bye after 10 s", load: .long) { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.sendsName = false
            let session = try peer.openSession(to: program)
            let up = try peer.await("record 0", since: .zero) { $0.name != nil }
            let bye = try peer.await("a bye", within: .seconds(12)) { $0.bye != nil && $0.session === session }
            try trial.judge("the bye", at: bye.at, after: up.at, is: .seconds(10))
            try expect(bye.bye == .quit, "the reason 0", actual: "another one")
        },
        Case("L-5.3", "after an attempt whose session brings no link up, the next begins at its time") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            try peer.tellKey()
            let first = try peer.awaitInitiation(since: .zero)
            let session = try peer.answer(first)
            try peer.hear(on: session)
            let next = try trial.wait(
                .seconds(5), for: "another attempt",
                until: { peer.initiations.first { $0.value.senderIndex != first.value.senderIndex } })
            try trial.judge("the next attempt", at: next.at, after: first.at, is: .seconds(3))
            peer.habits = .all
            try peer.awaitLink(from: program)
        },
        Case("L-92.1", "an initiation with a hop limit below 255 needs a cookie", also: "L-9") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            trial.stage.setHopLimit(64, of: peer.address)
            _ = try peer.openSession(to: program)
            try expect(
                peer.retries.count == 1, "a retry, and a response to the cookie",
                actual: "\(peer.retries.count) retries")
        },
        Case("L-93.1", "a datagram too old that completes a session ends no link on which others pass", also: "W-39") {
            trial in
            let (program, peer) = try trial.startLinked()
            peer.state.nextCounter += 2_000
            try peer.ping()
            peer.habits = .quiet
            let second = try peer.openSession(to: program)
            (peer.habits, peer.habits.comesUp) = (.all, false)
            peer.send([.ping(1)], on: second, counter: 900)
            peer.habits.heartbeat = .milliseconds(500)
            peer.join(second)
            try trial.never(for: .seconds(4), "the link stays") { program.presence(of: peer.user) != "online" }
            try peer.expectPong(of: second, on: second, "a pong on the session that the old datagram completed")
        },
        Case("L-93.2", "a marked counter that completes a session ends the link", also: "M-18") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            program.send("waits")
            try peer.await("the message", since: .zero) { $0.text != nil }
            peer.habits = .quiet
            let second = try peer.openSession(to: program)
            peer.send([.ping(1)], on: second, counter: 0)
            try program.awaitFailure("lost-state", for: peer.user)
        },
        Case(
            "L-51.5", "on a down link a datagram from elsewhere draws a ping there, whose pong brings the link up",
            also: "L-24", "L-81"
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            let other = try peer.addAddress()
            trial.run(for: .milliseconds(100))
            session.source = other
            let start = trial.now
            peer.send([.unheard])
            let ping = try peer.await("a ping to \(other)", since: start) { $0.ping != nil && $0.destination == other }
            peer.send([.unheard, .pong(ping.ping ?? 0)])
            let name = try peer.await("record 0") { $0.name != nil }
            try expect(name.destination == other, "record 0 at \(other)", actual: "it came to \(name.destination)")
            peer.sendName()
            try program.awaitPresence("online", of: peer.user)
        },
        Case("M-43.1", "a message goes on after 34 s, and is given up after 35 s until a forward", load: .long) {
            trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.sendRecord(1, "slow, ", first: true, last: false)
            trial.run(for: .milliseconds(34_000))
            peer.sendRecord(2, "but whole", first: false, last: true)
            try program.await("message", where: { $0["text"]?.string == "slow, but whole" })
            peer.sendRecord(3, "begun ", first: true, last: false)
            trial.run(for: .milliseconds(35_500))
            peer.sendRecord(4, "ended", first: false, last: true)
            peer.sendRecord(5, "next")
            trial.run(for: .milliseconds(300))
            try expect(
                program.messages(from: peer.user).count == 1 && peer.state.acknowledged == 4,
                "no record is taken any more", actual: "\(peer.state.acknowledged) is expected next")
            peer.send([.forward(7)])
            peer.sendRecord(7, "after the forward")
            try program.await("message", where: { $0["text"]?.string == "after the forward" })
        },
        Case("M-27.1", "no name goes out within a message", also: "M-24") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages, .nick)
            trial.run(for: .milliseconds(1_200))
            peer.habits.acknowledges = false
            program.send(String(repeating: "x", count: 20 * 1_167))
            program.send("after it")
            try peer.await("a record of the message", since: .zero) { $0.text != nil }
            program.tell(["do": "nick", "name": "Renamed"])
            trial.run(for: .milliseconds(200))
            peer.habits.acknowledges = true
            peer.sendAck()
            try program.awaitDelivered(2, to: peer.user, within: .seconds(10))
            try trial.wait(
                .seconds(3), for: "the name", until: { peer.names.first { $0.value.displayName == "Renamed" } })
            let number = peer.names.last?.value.number ?? 0
            // Datagrams can change their order on a loaded machine, so the first that came need not be the first sent.
            let behind = (peer.distinctTexts.first?.number ?? 0) + 20
            // The name goes before the message that waits, but after the message under way.
            try expect(
                number == behind, "the name as record \(behind), behind the message under way",
                actual: "it is record \(number)")
        },
        Case("M-28.1", "a record of the reserved type is acknowledged and changes nothing", also: "M-26") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let start = trial.now
            let record = Record(number: 1, type: .successor, body: Array("inkling:a#b".utf8))
            peer.send([.typing(peer.status), .record(record)])
            try trial.wait(.seconds(2), for: "an ack", when: { peer.state.acknowledged == 2 })
            let events = program.lines.filter { $0.at >= start }.compactMap(\.kind)
            try expect(events.isEmpty, "no line", actual: "\(events)")
        },
    ]
}

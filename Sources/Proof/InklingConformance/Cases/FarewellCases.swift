import InklingWire

/// The ends of links by a bye: L-32 to L-36.
extension Catalogue {
    /// Fails unless the peer got a bye with this reason on this session at once, and again after 30 and 120 ms.
    private static func expectByes(
        _ reason: ByeReason, _ trial: Trial, _ peer: Peer, on session: PeerSession, since start: Duration,
        at address: UDPAddress? = nil
    ) throws {
        trial.pump(until: start + .milliseconds(120) + trial.late)
        let frames = peer.received(since: start).filter { $0.session === session && $0.bye != nil }
        try expect(
            frames.count == 3 && frames.allSatisfy({ $0.bye == reason }),
            "three byes of reason \(reason.rawValue) (\(reason)) on each session in 370 ms",
            actual: frames.isEmpty
                ? "none came; " + peer.summary(since: start)
                : frames.map { $0.frames.map(\.word).joined(separator: "+") }.joined(separator: ", "))
        for (frame, delay) in zip(frames, [0, 30, 120]) {
            try trial.judge(
                "a bye or its copy", at: frame.at, after: start, is: .milliseconds(delay), early: .milliseconds(5))
            if let address, frame.destination != address {
                throw Finding(expected: "the byes at \(address)", actual: "one came to \(frame.destination)")
            }
        }
        let used = frames.map(\.counter).min() ?? 0
        let later = peer.received(since: start).first {
            $0.session === session && $0.counter > used && $0.bye == nil
        }
        if let later {
            throw Finding(
                expected: "nothing but byes on a session after the first of them",
                actual: later.frames.map(\.word).joined(separator: "+") + " under a higher counter")
        }
    }

    static let farewellCases: [Case] = [
        Case(
            "L-32.1", "`quit`, the end of input, SIGINT and SIGTERM say bye with reason 0, three times", also: "L-109",
            "J-10"
        ) { trial in
            let ends: [(Program) -> Void] = [
                { $0.tell(["do": "quit"]) }, { $0.closeInput() }, { $0.signal(.interrupt) }, { $0.signal(.terminate) },
            ]
            for end in ends {
                let (program, peer, session) = try trial.startInSession()
                let start = trial.now
                end(program)
                try expectByes(.quit, trial, peer, on: session, since: start)
                _ = try program.awaitExit()
            }
        },
        Case("L-32.2", "to leave a chat says bye with reason 1 to its peers, and to no others", also: "L-109") {
            trial in
            let program = try trial.start(needs: .chats)
            let other = trial.chatName + "-other"
            program.tell(["do": "join", "chat": .string(other)])
            let here = try trial.peer()
            let there = try trial.peer(named: "Bob", in: ChatKeys(open: other))
            let session = try here.open(to: program)
            try there.open(to: program, in: other)
            let start = trial.now
            program.tell(["do": "leave", "chat": .string(trial.chatName)])
            try expectByes(.left, trial, here, on: session, since: start)
            try there.ping()
            try expect(there.byes.isEmpty, "no bye in the other chat", actual: there.summary(since: start))
        },
        Case("L-32.3", "SIGTSTP says bye with reason 2, and SIGCONT brings the same run back", also: "L-109") { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer, .suspend)
            let session = try peer.awaitLink(from: program)
            let run = session.state.program.run
            let start = trial.now
            program.signal(.terminalStop)
            try expectByes(.suspended, trial, peer, on: session, since: start)
            trial.run(for: .milliseconds(500))
            let resumed = trial.now
            program.signal(.resume)
            try peer.await("record 0 after SIGCONT", within: .seconds(10), since: resumed) { $0.name != nil }
            let again = peer.state.program
            try expect(
                again.run == run && again.epoch > session.state.program.epoch,
                "the run \(run), as a suspended node keeps it, and a higher epoch",
                actual: "the run \(again.run), and the epoch \(again.epoch)")
            try program.awaitPresence("online", of: peer.user)
        },
        Case("L-32.4", "to block a person says bye with reason 1 to it alone", also: "L-109", "L-36") { trial in
            let program = try trial.start(needs: .block)
            let blocked = try trial.peer()
            let other = try trial.peer(named: "Bob")
            let session = try blocked.open(to: program)
            try other.open(to: program)
            let start = trial.now
            program.tell(["do": "block", "user": .string(blocked.user)])
            try expectByes(.left, trial, blocked, on: session, since: start)
            try other.ping()
            try expect(other.byes.isEmpty, "no bye to the other person", actual: other.summary(since: start))
        },
        Case("L-32.5", "the bye goes out on each session of a link, and to the link's address", also: "L-24") { trial in
            let (program, peer, older) = try trial.startInSession()
            let newer = try peer.openAnother(to: program)
            newer.source = try peer.addAddress()
            try peer.ping()
            // The peer's pong may still be on its way.
            trial.run(for: trial.late)
            let start = trial.now
            program.tell(["do": "quit"])
            try expectByes(.quit, trial, peer, on: newer, since: start, at: newer.source)
            try expectByes(.quit, trial, peer, on: older, since: start, at: newer.source)
        },
        Case(
            "L-33.1", "a killed program's last will comes under the counter 2^32 − 1, three times", also: "W-21", "T-14"
        ) { trial in
            let program = try trial.start(needs: .lastWill)
            let peers = [try trial.peer(), try trial.peer(named: "Bob")]
            for peer in peers { try peer.open(to: program) }
            trial.run(for: .milliseconds(500))
            let start = trial.now
            program.signal(.kill)
            trial.run(for: .seconds(1))
            for peer in peers {
                let wills = peer.received(since: start).filter { $0.bye == .lastWill }
                guard let will = wills.first, wills.count == 3 else {
                    throw Finding(
                        expected: "three byes of reason 3 within 1 s of the kill",
                        actual: "\(wills.count) came; " + peer.summary(since: start))
                }
                try expect(
                    wills.allSatisfy({ $0.counter == UInt32.max && $0.plaintext == [8, 3] }),
                    "the last will: exactly one bye, under the counter 4294967295",
                    actual: "counter \(will.counter), frames \(will.plaintext.hex)")
                for (will, delay) in zip(wills, [0, 30, 120]) {
                    try trial.judge(
                        "a last will or its copy", at: will.at, after: start, is: .milliseconds(delay),
                        early: .milliseconds(5))
                }
            }
        },
        Case("L-33.2", "after a farewell no last will follows") { trial in
            let (program, peer) = try trial.startLinked(needs: .lastWill)
            let start = trial.now
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            try trial.never(for: .milliseconds(700), "no last will after a bye") {
                peer.received(since: start).contains { $0.bye == .lastWill }
            }
            try expect(
                peer.byes.contains(where: { $0.value == .quit }), "a bye of reason 0",
                actual: peer.summary(since: start))
        },
        Case("L-34.1", "a bye of any reason ends its link at once", also: "X-2") { trial in
            let program = try trial.start()
            for reason in [UInt8(0), 1, 2, 3, 4, 5, 6, 255] {
                let peer = try trial.peer()
                let session = try peer.open(to: program)
                let start = trial.now
                peer.sendPlaintext([8, reason])
                peer.forget()
                let event = try program.awaitPresence("offline", of: peer.user)
                try trial.judge("offline by a bye of reason \(reason)", at: event.at, after: start, is: .zero)
                let why = reason == 3 ? "will" : "bye"
                try expect(event.value["why"]?.string == why, "`why` is \(why)", actual: program.describe(event.value))
                peer.send([.ping(0x3434)], on: session)
                try trial.never(for: .milliseconds(150), "nothing is answered on a link that has ended") {
                    peer.received(since: start).contains { $0.pong == 0x3434 }
                }
            }
            try trial.peer(named: "Last").open(to: program)
        },
        Case("L-34.2", "a bye ends its link whatever its counter") { trial in
            let (program, peer) = try trial.startLinked()
            guard let session = peer.sending else { return }
            let base = session.state.nextCounter
            session.state.nextCounter = base + 20
            try peer.ping()
            let start = trial.now
            peer.send([.bye(.quit)], counter: base + 3)
            peer.forget()
            let event = try program.awaitPresence("offline", of: peer.user)
            try trial.judge("offline by a late bye", at: event.at, after: start, is: .zero)
        },
        Case("L-34.3", "a bye on any session of a link ends it, also on an older one") { trial in
            let (program, peer, older) = try trial.startInSession()
            let newer = try peer.openAnother(to: program)
            try peer.ping()
            let start = trial.now
            peer.bye(.quit, on: older)
            let event = try program.awaitPresence("offline", of: peer.user)
            try trial.judge("offline by the bye", at: event.at, after: start, is: .zero)
            try peer.pingInVain(on: newer, "nothing is answered on the other session")
        },
        Case("L-34.4", "a bye on an unconfirmed session ends the link of its run and epochs, or that session alone") {
            trial in
            let (program, peer, first) = try trial.startInSession()
            peer.habits = .quiet
            for (run, epoch) in [(peer.run &+ 1, peer.epoch), (peer.run, peer.epoch + 1)] {
                let other = try peer.openSession(peer.makeOpening(to: program, run: run, epoch: epoch))
                peer.sending = first
                peer.send([.bye(.quit)], on: other)
                try peer.pingInVain(on: other, "nothing is answered on a session that a bye ended")
                try peer.expectPong(of: first, on: first, "the link of another run or epoch stays")
            }
            let same = try peer.openSession(to: program)
            peer.sending = first
            let start = trial.now
            peer.send([.bye(.quit)], on: same)
            peer.forget()
            let event = try program.awaitPresence("offline", of: peer.user)
            try trial.judge("offline by the bye", at: event.at, after: start, is: .zero)
            try peer.pingInVain(on: first, "nothing is answered on a link that has ended")
        },
        Case("L-35.1", "after a bye nothing goes to an address added by hand for 5 s, and then it is tried again") {
            trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            peer.send([.bye(.quit)])
            peer.restart()
            let start = trial.now
            try program.awaitPresence("offline", of: peer.user)
            let opened = { peer.asks.contains { $0.at > start } || peer.initiations.contains { $0.at > start } }
            try trial.never(
                for: start + .seconds(5) - trial.early - trial.now, "no ask and no initiation for 5 s after a bye",
                actual: { "one came after \((trial.now - start).text)" }, when: opened)
            try trial.wait(.seconds(8), for: "an ask or an initiation when the 5 s are over", when: { opened() })
        },
        Case("L-35.2", "after a bye the peer's initiation is answered as ever") { trial in
            let (program, peer) = try trial.startLinked()
            peer.send([.bye(.quit)])
            try program.awaitPresence("offline", of: peer.user)
            peer.restart()
            try peer.open(to: program)
        },
        Case(
            "L-35.3", "after silence an address added by hand is tried again, beginning with the first attempt",
            also: "L-1", "L-4", "L-102"
        ) { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            _ = try peer.fallSilent()
            let down = try program.awaitPresence("offline", of: peer.user)
            let first = try trial.wait(
                .seconds(3), for: "an initiation after silence", until: { peer.initiations.first { $0.at >= down.at } })
            try trial.judge(
                "the first initiation", at: first.at, after: down.at, is: .zero,
                late: .milliseconds(300) + trial.late)
            // An attempt of L-4 has its second transmission after 225 to 375 ms.
            let second = try trial.wait(
                .seconds(2), for: "the same initiation again",
                until: { peer.initiations.first { $0.at > first.at && $0.bytes == first.bytes } })
            try trial.judge(
                "the second transmission", at: second.at, after: first.at, is: .milliseconds(300),
                early: .milliseconds(75) + trial.late, late: .milliseconds(75) + trial.late)
        },
        Case("L-35.4", "the last address of a link that lived for 10 s is tried when it fell silent") { trial in
            let (program, peer) = try trial.startLinked(needs: .peer)
            trial.run(for: .milliseconds(10_500))
            _ = try peer.fallSilent()
            let down = try program.awaitPresence("offline", of: peer.user)
            try trial.wait(
                .seconds(3), for: "an initiation at the last address of a link that fell silent",
                until: { peer.initiations.first { $0.at >= down.at } })
        },
        Case("L-88.1", "a suspended node drops all, and opens to the last addresses when it returns") { trial in
            let (program, peer) = try trial.startLinked(needs: .suspend)
            program.signal(.terminalStop)
            try program.awaitPresence("offline", of: peer.user)
            trial.run(for: .milliseconds(500))
            let responses = peer.responses.count
            let opening = try peer.begin(to: program)
            try trial.never(for: .milliseconds(600), "no response") { peer.responses.count > responses }
            peer.openings.removeAll { $0.index == opening.index }
            let resumed = trial.now
            program.signal(.resume)
            try trial.wait(
                .seconds(10), for: "an initiation to the last address of the link",
                until: { peer.initiations.first { $0.at >= resumed } })
            try program.awaitPresence("online", of: peer.user)
        },
        Case("L-36.1", "a blocked key's initiations draw nothing, until it is unblocked") { trial in
            let (program, peer) = try trial.startLinked(needs: .block)
            program.tell(["do": "block", "user": .string(peer.user)])
            let event = try program.awaitPresence("offline", of: peer.user)
            try expect(
                event.value["why"]?.string == "blocked", "`why` is blocked", actual: program.describe(event.value))
            peer.restart()
            let start = trial.now
            let responses = peer.responses.count
            let opening = try peer.begin(to: program)
            trial.run(for: .milliseconds(300))
            peer.transmit(opening)
            try trial.never(for: .milliseconds(500), "no response, and nothing is shown of a blocked person") {
                peer.responses.count > responses || !program.peerEvents(peer.user, since: start).isEmpty
            }
            try trial.peer(named: "Bob").open(to: program)
            program.tell(["do": "unblock", "user": .string(peer.user)])
            peer.restart()
            try peer.open(to: program)
        },
        Case("L-36.2", "the instance of a blocked key is not opened to") { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer, .block)
            try peer.awaitLink(from: program)
            program.tell(["do": "block", "user": .string(peer.user)])
            try program.awaitPresence("offline", of: peer.user)
            peer.restart()
            let start = trial.now
            try trial.never(for: .seconds(7), "no initiation to a blocked person") {
                peer.initiations.contains { $0.at > start }
            }
            program.tell(["do": "unblock", "user": .string(peer.user)])
            try peer.begin(to: program)
            try program.awaitPresence("online", of: peer.user, within: .seconds(10))
        },
    ]
}

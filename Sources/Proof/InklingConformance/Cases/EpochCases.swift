import InklingWire

/// Runs, epochs, and the states that they identify: L-58 to L-69.
extension Catalogue {
    /// Waits for an initiation with a certain epoch.
    private static func awaitInitiation(
        naming epoch: UInt32, at peer: Peer, within limit: Duration, since start: Duration
    ) throws -> Peer.ReceivedInitiation {
        try peer.trial.wait(
            limit, for: "an initiation that names the epoch \(epoch)",
            actual: {
                let named = peer.initiations.filter { $0.at >= start }.compactMap { peer.read($0.value)?.peer.epoch }
                return "initiations named \(named)"
            },
            until: { peer.initiations.first { $0.at >= start && peer.read($0.value)?.peer.epoch == epoch } })
    }

    /// Lets a second device of a peer's identity make a link and end it. The program's epoch for the key is then 1.
    private static func raiseEpoch(of peer: Peer, at program: Program) throws {
        let device = try peer.trial.peer(named: "Device", identity: peer.identity)
        device.habits.answersInitiations = false
        try device.open(to: program)
        device.bye(.quit)
        peer.trial.run(for: .milliseconds(200))
    }

    static let epochCases: [Case] = [
        Case("L-58.1", "a run is that of one start of the node in one chat") { trial in
            let program = try trial.start(needs: .chats)
            let other = trial.chatName + "-b"
            program.tell(["do": "join", "chat": .string(other)])
            func run(_ program: Program, in chat: String) throws -> UInt64 {
                let peer = try trial.peer(in: ChatKeys(open: chat))
                peer.habits = .quiet
                return try peer.openSession(to: program).state.program.run
            }
            let first = try run(program, in: trial.chatName)
            let (again, there) = (try run(program, in: trial.chatName), try run(program, in: other))
            program.tell(["do": "leave", "chat": .string(trial.chatName)])
            program.tell(["do": "join", "chat": .string(trial.chatName)])
            let back = try run(program, in: trial.chatName)
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            let next = try run(try trial.start(), in: trial.chatName)
            try expect(
                first == again && first == back && Set([first, there, next]).count == 3,
                "one run for two handshakes and after a return, and others in another chat and start",
                actual: "\([first, again, back, there, next])")
        },
        Case(
            "L-60.1", "whenever a node forgets a link the epochs of its key grow by the chat's counter", also: "L-59",
            "L-62"
        ) { trial in
            let program = try trial.start()
            let (alice, bob) = (try trial.peer(), try trial.peer(named: "Bob"))
            var epochs: [UInt32] = []
            for peer in [alice, bob] {
                try peer.open(to: program)
                epochs.append(peer.state.program.epoch)
            }
            alice.bye(.quit)
            try program.awaitPresence("offline", of: alice.user)
            try alice.open(to: program)
            epochs.append(alice.state.program.epoch)
            // The epoch of the other key's link stays. A new key gets the counter as its epoch.
            try bob.openAnother(to: program)
            epochs.append(bob.state.program.epoch)
            let carol = try trial.peer(named: "Carol")
            try carol.open(to: program)
            epochs.append(carol.state.program.epoch)
            bob.bye(.quit)
            try program.awaitPresence("offline", of: bob.user)
            try bob.open(to: program)
            epochs.append(bob.state.program.epoch)
            try expect(epochs == [0, 0, 1, 0, 1, 2], "the epochs 0, 0, 1, 0, 1, 2", actual: "\(epochs)")
        },
        Case("L-61.1", "when both ends open at the same time both sessions join one link", also: "L-68") { trial in
            let (program, peer) = try trial.startByHand(habits: .answering)
            peer.habits.answersInitiations = false
            try peer.tellKey()
            let theirs = try peer.awaitInitiation(since: .zero)
            let own = try peer.begin(to: program)
            let answered = try peer.answer(theirs)
            let session = try trial.wait(.seconds(1), for: "a response", until: { peer.session(of: own) })
            try peer.bringUp(session, at: program)
            for one in [session, answered] { try peer.ping(on: one) }
            trial.run(for: .seconds(1))
            try expect(
                session.state === answered.state && program.peerEvents(peer.user).count == 1,
                "one pair of epochs and one `peer`",
                actual: "\(peer.states.count) states, \(program.peerEvents(peer.user).count) `peer`")
        },
        Case("L-63.1", "an initiation with an epoch below that of the link gets nothing") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.epoch = 5
            let session = try peer.open(to: program)
            let old = try peer.makeOpening(to: program, epoch: 4)
            peer.begin(old)
            try trial.never(for: .milliseconds(600), "no response") { peer.session(of: old) != nil }
            // The other run has no link, so each of its epochs is valid.
            _ = try peer.openSession(peer.makeOpening(to: program, run: peer.run ^ 1, epoch: 0))
            peer.sending = session
            try peer.ping(on: session)
        },
        Case(
            "L-65.1",
            "a response of a link's run to another epoch makes nothing, and draws a handshake with the link's",
            also: "L-64", "L-81"
        ) { trial in
            let hand = try trial.peer(named: "Hand")
            hand.habits = .none
            let program = try trial.start(peers: [hand], needs: .peer)
            let peer = try trial.peer(identity: hand.identity)
            hand.run = peer.run
            peer.habits.answersInitiations = false
            let link = try peer.open(to: program)
            try raiseEpoch(of: peer, at: program)
            try hand.tellKey()
            let first = try awaitInitiation(naming: 1, at: hand, within: .seconds(4), since: .zero)
            let start = trial.now
            let session = try hand.answer(first)
            _ = try awaitInitiation(naming: 0, at: hand, within: .seconds(1), since: start)
            try expect(!session.isComplete, "nothing on the session of that response", actual: "a sealed datagram came")
            try peer.ping(on: link)
        },
        Case(
            "L-66.1", "a response of a new run to an old epoch draws a handshake with the present one", also: "L-64",
            load: .long
        ) { trial in
            let program = try trial.start(needs: .peer)
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            try peer.open(to: program)
            try raiseEpoch(of: peer, at: program)
            trial.run(for: .seconds(10))
            let last = try peer.fallSilent()
            // The opening to the down link has the epoch of that link.
            let first = try awaitInitiation(naming: 0, at: peer, within: .seconds(5), since: last)
            let start = trial.now
            guard
                let session = peer.respond(
                    to: first.value, from: first.source, to: first.destination, run: peer.run ^ 1, epoch: 0)
            else { return }
            let second = try awaitInitiation(naming: 1, at: peer, within: .seconds(1), since: start)
            try expect(!session.isComplete, "nothing on the session of that response", actual: "a sealed datagram came")
            let made = peer.respond(
                to: second.value, from: second.source, to: second.destination, run: peer.run ^ 1, epoch: 0)
            if let made { try peer.hear(on: made) }
        },
        Case("L-68.1", "a session of an older pair of epochs is dropped when it would join", also: "L-67") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let old = try peer.openSession(to: program)
            peer.epoch = 1
            try peer.bringUp(try peer.openSession(to: program), at: program)
            peer.habits.heartbeat = .seconds(1)
            let link = peer.sending
            try peer.pingInVain(on: old, "nothing on a session whose pair of epochs is lower")
            try peer.ping(on: link)
        },
        Case(
            "L-69.1", "a greater epoch of the peer begins a new state: sent messages fail, queued ones follow",
            also: "L-107", "L-68", "M-18"
        ) { trial in
            let (program, peer, first) = try trial.startInSession(needs: .messages)
            peer.habits.acknowledges = false
            for number in 1...12 { program.send("message \(number)") }
            try trial.wait(.seconds(3), for: "records", when: { peer.distinctTexts.count >= 4 })
            trial.run(for: .milliseconds(50))
            let sent = Set(peer.distinctTexts.map(\.text))
            peer.forget()
            peer.habits.acknowledges = true
            let second = try peer.openSession(to: program)
            try peer.awaitNamed(on: second)
            try trial.wait(
                .seconds(5), for: "12 outcomes", actual: { "\(program.outcomes(for: peer.user).count) came" },
                when: { program.outcomes(for: peer.user).count == 12 })
            let failed = program.outcomes(for: peer.user).filter { $0.kind == "failed" }
            let texts = Set(peer.distinctTexts.map(\.text))
            try expect(
                failed.allSatisfy({ $0.why == "lost-state" }) && failed.count == sent.count
                    && texts.count == 12 - sent.count && texts.isDisjoint(with: sent),
                "\(sent.count) messages that failed with `lost-state`, and the others in the new state",
                actual: "\(failed.map { $0.why ?? "" }), and \(texts.count) came")
            let counters = peer.received.filter { $0.session === second }.map(\.counter)
            try expect(counters.min() == 0 && second.state !== first.state, "counters from 0 on", actual: "\(counters)")
        },
        Case("L-103.1", "a person whose link begins a new state stays shown for 3 s, without typing", also: "L-69") {
            trial in
            let (program, peer) = try trial.startLinked()
            let start = trial.now
            peer.forget()
            try peer.awaitNamed(on: try peer.openSession(to: program))
            trial.run(for: .milliseconds(3_300))
            try expect(
                program.peerEvents(peer.user, since: start).isEmpty, "no `peer` when the new state comes up",
                actual: "the last presence is \(program.presence(of: peer.user) ?? "none")")
            peer.announce(typing: true)
            try program.awaitTyping(true, of: peer.user)
            peer.forget()
            peer.habits = .quiet
            let session = try peer.openSession(to: program)
            let joined = trial.now
            peer.send([.unheard], on: session)
            try program.awaitTyping(false, of: peer.user, within: .seconds(1))
            let gone = try program.awaitPresence("offline", of: peer.user)
            try trial.judge("offline where no new state comes up", at: gone.at, after: joined, is: .seconds(3))
        },
        Case(
            "L-83.1", "within 60 s of silence the same epochs go on: a message that waited comes once, also elsewhere",
            also: "L-64", "L-68", "L-81", "M-29", "M-36", "M-44", "L-80", load: .long
        ) { trial in
            let (program, peer, first) = try trial.startInSession(needs: .messages)
            trial.run(for: .milliseconds(10_300))
            peer.habits = .none
            try program.awaitPresence("offline", of: peer.user)
            program.send("waited")
            try expect(
                try program.await("sent").value["to"]?.integer == 1, "a message to one person, whose link is down",
                actual: "`to` is another")
            try trial.never(for: .milliseconds(500), "no record on a down link") { !peer.texts.isEmpty }
            // The peer sends nothing from its old address, because a pong from there would also bring the link up.
            peer.sending = nil
            peer.habits = .all
            peer.habits.answersInitiations = false
            first.state.isUp = false
            let other = try peer.addAddress()
            let second = try peer.openSession(to: program, from: other)
            try program.awaitPresence("online", of: peer.user)
            try program.awaitDelivered(to: peer.user)
            try expect(
                second.state === first.state && peer.distinctTexts.map(\.text) == ["waited"],
                "the same epochs, and the message once", actual: "another state")
            let text = peer.received.last { $0.text != nil }
            try expect(
                text?.destination == other, "the link at \(other), where its session is", actual: "it is elsewhere")
        },
        Case("L-87.1", "forgetting a link drops the unconfirmed sessions of its key", also: "L-34") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let unconfirmed = try peer.openSession(to: program)
            let session = try peer.openSession(to: program)
            try peer.bringUp(session, at: program)
            peer.send([.bye(.quit)], on: session)
            try program.awaitPresence("offline", of: peer.user)
            try peer.pingInVain(on: unconfirmed, "nothing on a session that was unconfirmed when the link ended")
        },
        Case("L-94.1", "an ack that goes back, or beyond what was sent, ends the link", also: "M-18") { trial in
            let program = try trial.start(needs: .messages)
            for change in [Int64(-1), 5] {
                let peer = try trial.peer()
                try peer.open(to: program)
                peer.habits.acknowledges = false
                program.send("waits")
                try peer.await("the message", since: .zero) { $0.text != nil }
                let base = peer.state.nextCounter
                let wrong = Ack(next: UInt32(Int64(peer.state.nextRecord) + change))
                peer.state.nextCounter += 5
                try peer.ping()
                peer.send([.ack(wrong)], counter: base + 2)
                try trial.never(for: .milliseconds(200), "an old ack is ignored") {
                    program.presence(of: peer.user) != "online"
                }
                peer.send([.ack(wrong)])
                try program.awaitFailure("lost-state", for: peer.user)
                peer.forget()
            }
        },
        Case(
            "L-105.1", "a record under the number of another one, taken or held, ends the link unacknowledged",
            also: "M-18"
        ) { trial in
            let program = try trial.start(needs: .messages)
            for number in [UInt32(1), 2] {
                let peer = try trial.peer()
                try peer.open(to: program)
                peer.habits.acknowledges = false
                program.send("waits")
                try peer.await("the message", since: .zero) { $0.text != nil }
                for _ in 0..<2 {
                    let start = trial.now
                    peer.sendRecord(number, "before")
                    try peer.await("an ack of the record, also when it is repeated", since: start) { $0.ack != nil }
                    trial.run(for: .milliseconds(5))
                }
                let start = trial.now
                peer.sendRecord(number, "after")
                try program.awaitFailure("lost-state", for: peer.user)
                try expect(
                    !peer.received.contains { $0.at > start && $0.ack != nil }, "no ack of the other record",
                    actual: "an ack")
                peer.forget()
            }
        },
        Case(
            "L-95.1", "a response that names a lower epoch of the peer makes the node forget a down link", also: "L-60",
            load: .long
        ) { trial in
            let peer = try trial.peer()
            peer.epoch = 3
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            trial.run(for: .milliseconds(10_300))
            let last = try peer.fallSilent()
            let first = try awaitInitiation(naming: 0, at: peer, within: .seconds(5), since: last)
            let start = trial.now
            peer.respond(to: first.value, from: first.source, to: first.destination, epoch: 2)
            _ = try awaitInitiation(naming: 1, at: peer, within: .seconds(3), since: start)
        },
    ]
}

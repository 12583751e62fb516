import InklingWire

/// Queued messages: on a down link, behind a forward, or until they fail.
extension Catalogue {
    static let waitingCases: [Case] = [
        Case(
            "M-29.1", "a message to a link that is down waits, and goes out when it comes up", also: "M-36", "M-44",
            "L-82", load: .long
        ) { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            let other = try trial.peer(named: "Bob")
            try other.open(to: program)
            trial.run(for: .milliseconds(10_300))
            program.send("before")
            try program.awaitDelivered(1, to: peer.user)
            let habits = peer.habits
            _ = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            let start = trial.now
            program.send("meanwhile")
            program.send("and again")
            try program.awaitDelivered(3, to: other.user)
            try trial.never(for: .seconds(2), "no record to a link that is down") {
                peer.texts.contains { $0.at >= start } || program.outcomes(for: peer.user).count > 1
            }
            peer.habits = habits
            peer.send([peer.heartbeatFrame])
            try program.awaitDelivered(3, to: peer.user)
            try expect(
                peer.distinctTexts.map(\.text) == ["before", "meanwhile", "and again"], "all three in order",
                actual: "\(peer.distinctTexts.map(\.text))")
        },
        Case("M-44.1", "the 30 s of M-19 stand still while the link is down", also: "M-19", "M-29", load: .long) {
            trial in
            let (program, peer) = try trial.startForMessages()
            trial.run(for: .milliseconds(10_300))
            program.send("patience")
            try peer.await("the message") { $0.text != nil }
            let start = trial.now
            var habits = peer.habits
            habits.acknowledges = true
            _ = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            try trial.never(for: .seconds(33) - (trial.now - start), "no outcome while the link is down") {
                !program.outcomes(for: peer.user).isEmpty
            }
            peer.habits = habits
            peer.send([peer.heartbeatFrame])
            try program.awaitDelivered(1, to: peer.user)
        },
        Case("M-37.1", "records that wait behind a forward fail too, and the forward stays", also: "M-19", load: .long)
        { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("first")
            try peer.await("the message") { $0.text != nil }
            let failure = try program.awaitFailure("stalled", for: peer.user, within: .seconds(34))
            let forward = try peer.await("a forward", since: failure.at - trial.late) { $0.forward != nil }
            program.send("second")
            let again = try program.awaitFailure(
                "stalled", for: peer.user, within: .seconds(34), since: failure.at + .seconds(1))
            try trial.judge("the second `failed`", at: again.at, after: failure.at, is: .seconds(30))
            trial.run(for: .milliseconds(1_500))
            let forwards = Set(peer.received(since: failure.at - trial.late).compactMap(\.forward))
            try expect(
                forwards == [forward.forward ?? 0] && peer.distinctTexts.count == 1,
                "the forward to \(forward.forward ?? 0) and no other, and no second text",
                actual: "forwards to \(forwards.sorted()), and \(peer.distinctTexts.count) texts")
            peer.habits.acknowledges = true
            program.send("third")
            try program.awaitDelivered(1, to: peer.user)
            try expect(
                peer.distinctTexts.last?.number == forward.forward, "the third as that record",
                actual: "\(peer.distinctTexts.map(\.number))")
        },
    ]
}

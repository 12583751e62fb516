import InklingWire

/// Evidence of life, and the consequences of silence: L-23, L-25 to L-28, and T-12.
extension Catalogue {
    /// Waits until silence takes the peer offline, and judges the time.
    static func expectDown(
        _ trial: Trial, _ program: Program, _ peer: Peer, after last: Duration, is expected: Duration = .seconds(3)
    ) throws {
        let limit = max(.zero, last + expected - trial.now) + .seconds(2)
        let down = try program.awaitPresence("offline", of: peer.user, within: limit)
        try trial.judge("offline by silence", at: down.at, after: last, is: expected)
        try expect(down.value["why"]?.string == "silence", "`why` is silence", actual: program.describe(down.value))
    }

    static let silenceCases: [Case] = [
        Case("L-26.1", "a link without evidence for 1.75 s is sent ten pings 125 ms apart") { trial in
            let (program, peer) = try trial.startLinked()
            let last = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            trial.run(for: .milliseconds(100))
            var pings = peer.received(since: last).filter { $0.ping != nil }.sorted { $0.counter < $1.counter }
            // Other pings may be among these.
            for number in 0..<10 {
                let due = last + .milliseconds(1_750 + 125 * number)
                let fits = { (ping: ReceivedFrames) in
                    ping.at >= due - trial.early && ping.at <= due + trial.late
                }
                guard let ping = pings.first(where: fits) else {
                    throw Finding(
                        expected: "ping \(number + 1), under its own counter, \((due - last).text) after the last "
                            + "evidence, within −30 ms and +250 ms",
                        actual: "pings came after "
                            + peer.received(since: last).filter { $0.ping != nil }.map { ($0.at - last).text }
                            .joined(separator: ", "))
                }
                pings.removeAll { $0.counter <= ping.counter }
            }
        },
        Case("L-26.2", "the announced interval puts off the suspicion", also: "L-27") { trial in
            let (program, peer) = try trial.startLinked()
            peer.announcedInterval = 20
            peer.send([peer.heartbeatFrame])
            let last = try peer.fallSilent()
            try expectDown(trial, program, peer, after: last, is: .milliseconds(4_750))
        },
        Case("L-26.3", "before the first heartbeat an interval of 1 s counts") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            peer.send([.ping(1)])
            try peer.hear(on: session)
            let ping = try peer.await("the program's ping", since: .zero) { $0.ping != nil }
            peer.send([.pong(ping.ping ?? 0)])
            peer.sendName()
            let last = trial.now
            try program.awaitPresence("online", of: peer.user)
            try expectDown(trial, program, peer, after: last)
        },
        Case("L-26.4", "pings go with the same bytes to the link's address and to the address added by hand") { trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            let session = try peer.awaitLink(from: program)
            let other = try peer.addAddress()
            session.source = other
            try peer.ping()
            // The peer's pong may still be on its way.
            trial.run(for: trial.late)
            let last = try peer.fallSilent()
            try program.awaitPresence("offline", of: peer.user)
            let pings = peer.received(since: last).filter { $0.ping != nil }
            for address in [other, peer.address] where !pings.contains(where: { $0.destination == address }) {
                throw Finding(
                    expected: "pings to \(other), where the link is, and to \(peer.address), added by hand",
                    actual: "none came to \(address)")
            }
            let copies = [other, peer.address].map { address in
                Set(pings.filter { $0.destination == address }.map(\.bytes))
            }
            try expect(
                copies[1].count >= 10 && copies[1].isSubset(of: copies[0]),
                "ten pings with the same bytes to both addresses",
                actual: "\(copies[1].count) different ones came to \(peer.address), "
                    + "\(copies[1].subtracting(copies[0]).count) of them to that alone")
        },
        Case("T-12.1", "an announced interval below 1 s counts as 1 s", also: "L-26") { trial in
            let program = try trial.start()
            for interval in [UInt8(0), 1] {
                let peer = try trial.peer()
                try peer.open(to: program)
                peer.announcedInterval = interval
                peer.send([peer.heartbeatFrame])
                let last = try peer.fallSilent()
                try expectDown(trial, program, peer, after: last)
            }
        },
        Case("T-12.2", "an announced interval of 25.5 s is believed") { trial in
            let (program, peer) = try trial.startLinked()
            peer.announcedInterval = 255
            peer.send([peer.heartbeatFrame])
            let last = try peer.fallSilent()
            try trial.never(for: .seconds(6), "no suspicion before 44 s of silence") {
                program.presence(of: peer.user) != "online"
            }
            try peer.ping()
        },
        Case("L-27.1", "a link goes down 3.0 s after the last evidence") { trial in
            let (program, peer) = try trial.startLinked()
            let last = try peer.fallSilent()
            try expectDown(trial, program, peer, after: last)
        },
        Case("L-27.2", "any evidence ends a suspicion, and the 3.0 s begin again", also: "L-23") { trial in
            let (program, peer) = try trial.startLinked()
            let silence = try peer.fallSilent()
            var pings = 0
            try trial.wait(
                .seconds(5), for: "eight pings", actual: { "\(pings) came" },
                until: {
                    pings = Set(peer.received(since: silence).filter { $0.ping != nil }.map(\.counter)).count
                    return pings >= 8 ? true : nil
                })
            let last = trial.now
            // Even a pong without a ping is evidence.
            peer.send([.pong(0)])
            try expectDown(trial, program, peer, after: last)
        },
        Case("L-28.1", "a ping is answered at once with a heartbeat and a pong in one datagram") { trial in
            let (_, peer) = try trial.startLinked()
            for token in [UInt16(0), 0xA55A, 0xFFFF] {
                let start = trial.now
                peer.send([.ping(token)])
                let pong = try peer.await("a pong of the token \(token)", since: start) { $0.pong == token }
                try trial.judge("the pong", at: pong.at, after: start, is: .zero)
                try expect(
                    pong.heartbeat != nil, "a heartbeat beside the pong",
                    actual: pong.frames.map(\.word).joined(separator: ", "))
            }
        },
        Case("L-23.1", "what is old, forged or in error is no evidence", also: "L-27") { trial in
            let (program, peer) = try trial.startLinked()
            guard let session = peer.sending else { return }
            let base = session.state.nextCounter
            session.state.nextCounter = base + 100
            let last = try peer.fallSilent()
            var old = base
            while program.presence(of: peer.user) == "online", trial.now < last + .milliseconds(3_300) {
                // None of these is evidence: an older counter, a wrong tag, and a wrong frame under a new counter.
                peer.sendBytes(session.seal(Frames.encode([.pong(2)]), counter: old), to: program.address)
                var forged = session.seal(Frames.encode([.pong(2)]), counter: session.state.nextCounter + 500)
                forged[12] ^= 0x10
                peer.sendBytes(forged, to: program.address)
                peer.sendPlaintext([0x3F, 0])
                old += 1
                trial.run(for: .milliseconds(200))
            }
            try expectDown(trial, program, peer, after: last)
        },
        Case("L-23.2", "a datagram under a lower counter still delivers its message and ack", also: "M-15") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            guard let session = peer.sending else { return }
            let base = session.state.nextCounter
            session.state.nextCounter = base + 10
            try peer.ping()
            peer.habits.acknowledges = false
            program.send("acknowledged late")
            let text = try peer.await("the message") { $0.text != nil }
            peer.send([.ack(Ack(next: (text.record?.number ?? 0) + 1))], counter: base + 1)
            try program.awaitDelivered(to: peer.user)
            let record = Record(number: peer.state.nextOwnRecord, text: "late")
            peer.send([.typing(peer.status), .record(record)], counter: base + 2)
            try program.await("message") { $0["text"]?.string == "late" }
        },
    ]
}

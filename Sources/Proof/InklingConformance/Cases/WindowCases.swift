import InklingWire

/// How the program sends records, including names: the timer, the window, and down links.
extension Catalogue {
    /// Waits until `count` different text records have arrived.
    @discardableResult
    private static func awaitTexts(
        _ count: Int, of peer: Peer, within limit: Duration = .seconds(5)
    ) throws -> [Record] {
        try peer.trial.wait(
            limit, for: "\(count) different records", actual: { "\(peer.distinctTexts.count) came" },
            until: {
                let records = peer.distinctTexts
                return records.count >= count ? records : nil
            })
    }

    /// Returns the times at which the program sent a record.
    private static func transmissions(of number: UInt32, to peer: Peer) -> [Duration] {
        peer.texts.filter { $0.value.number == number }.map(\.at)
    }

    /// Waits for a second transmission of a record, and returns the time between the first two.
    private static func firstGap(of number: UInt32, to peer: Peer) throws -> Duration {
        let times = try peer.trial.wait(
            .seconds(3), for: "record \(number) twice",
            until: {
                let times = transmissions(of: number, to: peer)
                return times.count >= 2 ? times : nil
            })
        return times[1] - times[0]
    }

    /// Acknowledges four records one by one, each before the timer expires, and then nothing new.
    private static func playAcks(to program: Program, from peer: Peer) throws {
        let trial = peer.trial
        let known = peer.distinctTexts.count
        program.send(String(repeating: "x", count: 4 * 1_167))
        let records = Array(try awaitTexts(known + 4, of: peer)[known...])
        let count = peer.texts.count
        for record in records.dropLast() {
            trial.run(for: .milliseconds(110))
            try expect(
                peer.texts.count == count, "no record again while acks of something new come every 110 ms",
                actual: "one came before the ack of record \(record.number)")
            peer.send([.ack(Ack(next: record.number + 1))])
        }
        let start = trial.now
        while trial.now - start < .milliseconds(900), peer.texts.count == count {
            trial.run(for: .milliseconds(60))
            peer.send([.ack(Ack(next: records[3].number))])
        }
        guard let again = peer.texts.dropFirst(count).first, again.value.number == records[3].number else {
            throw Finding(
                expected: "record \(records[3].number) again, although acks of nothing new come",
                actual: "it did not come in 900 ms")
        }
    }

    static let windowCases: [Case] = [
        Case("M-24.1", "record 0 is the name, and a change of name is another record, the latest once a second") {
            trial in
            let (program, peer) = try trial.startLinked(needs: .nick)
            guard let first = peer.names.first?.value, first.number == 0,
                String(decoding: first.body, as: UTF8.self)
                    == program.arguments.name
            else {
                throw Finding(expected: "a name record 0", actual: peer.records.first.map { "\($0.value)" } ?? "none")
            }
            trial.run(for: .milliseconds(1_200))
            let start = trial.now
            for name in ["Uma", "Vera", "Wim", "Xenia"] { program.tell(["do": "nick", "name": .string(name)]) }
            trial.run(for: .milliseconds(1_600))
            let names = peer.names.filter { $0.at >= start }
            let words = names.map { String(decoding: $0.value.body, as: UTF8.self) }
            try expect(
                words == ["Uma", "Xenia"] && names[1].at - names[0].at >= .seconds(1) - trial.early,
                "records of the names Uma and, 1 s later, Xenia",
                actual: names.map { "\(String(decoding: $0.value.body, as: UTF8.self)) at \($0.at.text)" }.joined(
                    separator: ", "))
        },
        Case(
            "M-24.2", "without a name as record 0 texts are acknowledged and dropped, and the link ends after 10 s",
            also: "L-86", "L-85", load: .long
        ) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            peer.habits.sendsName = false
            let session = try peer.openSession(to: program)
            try trial.wait(.seconds(3), for: "the link comes up", when: { session.state.hasName })
            let start = trial.now
            for number in UInt32(0)...1 { peer.sendRecord(number, "text \(number)") }
            try peer.await("acks of both") { $0.ack?.next == 2 }
            try peer.await("a bye with reason 0", within: .seconds(11)) { $0.bye == .quit }
            try trial.judge("the bye", at: trial.now, after: start, is: .seconds(10), early: .milliseconds(500))
            try expect(
                program.messages(from: peer.user).isEmpty && program.peerEvents(peer.user).isEmpty,
                "nothing of a peer without a name", actual: "it was shown")
        },
        Case(
            "M-32.1",
            "an ack of a record that was sent twice leaves the doubled timer, and a round trip ends the doubling",
            also: "M-11"
        ) { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("one")
            let first = try awaitTexts(1, of: peer)[0].number
            // Transmissions at about 0, 0.2, 0.6 and 1.4 s double the timer to its limit of 1 s.
            try trial.wait(
                .seconds(5), for: "a record four times",
                when: { transmissions(of: first, to: peer).count >= 4 })
            peer.send([.ack(Ack(next: first + 1))])
            try program.awaitDelivered(1, to: peer.user)
            program.send("two")
            try awaitTexts(2, of: peer)
            let gap = try firstGap(of: first + 1, to: peer)
            try expect(
                gap > .milliseconds(750), "the doubled timer of 1 s",
                actual: "record \(first + 1) again after \(gap.text)")
            peer.habits.acknowledges = true
            peer.state.nextRecord = first + 2
            peer.sendAck()
            program.send("three")
            try program.awaitDelivered(3, to: peer.user)
            peer.habits.acknowledges = false
            program.send("four")
            try awaitTexts(4, of: peer)
            let last = try firstGap(of: first + 3, to: peer)
            try expect(last < .milliseconds(600), "a timer of 200 ms or little more", actual: "\(last.text)")
        },
        Case("M-32.2", "the timer begins again with each ack of something new, and with no other") { trial in
            let (program, peer) = try trial.startForMessages()
            // Up to three tries, because on a busy machine the lateness can exceed the timer.
            for _ in 0..<2 {
                do { return try playAcks(to: program, from: peer) } catch is Finding {}
                peer.send([.ack(Ack(next: (peer.distinctTexts.last?.number ?? 0) + 1))])
                trial.run(for: .seconds(1))
            }
            try playAcks(to: program, from: peer)
        },
        Case(
            "M-35.1", "a loss that acks show halves the window, once until all that was sent before is acknowledged",
            also: "M-12", "M-34"
        ) { trial in
            let (program, peer) = try trial.startForMessages()
            program.send(String(repeating: "x", count: 50 * 1_167))
            var next = try awaitTexts(4, of: peer)[0].number
            trial.run(for: .milliseconds(50))
            // Each ack of one record lets the program send two more.
            var window = peer.distinctTexts.count
            while window < 12 {
                next += 1
                peer.send([.ack(Ack(next: next))])
                window += 1
                try awaitTexts(Int(next - peer.distinctTexts[0].number) + window, of: peer, within: .milliseconds(150))
            }
            let highest = peer.distinctTexts.last?.number ?? 0
            let count = peer.texts.count
            // Records `next` and `next + 4` are missing.
            peer.send([.ack(Ack(next: next, bitmap: 0b111))])
            trial.run(for: .milliseconds(40))
            peer.send([.ack(Ack(next: next, bitmap: 0b111_0111))])
            trial.run(for: .milliseconds(40))
            let again = peer.texts.dropFirst(count).map(\.value.number)
            try expect(
                again == [next, next + 4], "records \(next) and \(next + 4) again, and no new one",
                actual: "records \(again)")
            peer.send([.ack(Ack(next: highest + 1))])
            trial.run(for: .milliseconds(120))
            let new = Set(peer.texts.map(\.value.number)).count { $0 > highest }
            try expect(new == 7, "7 new records: half of 12, and one for the ack of something new", actual: "\(new)")
        },
        Case("M-36.1", "a message goes to the links that were shown when it was sent, and to none later") { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("early")
            try awaitTexts(1, of: peer)
            let late = try trial.peer(named: "Late")
            try late.open(to: program)
            program.send("later")
            try trial.wait(.seconds(3), for: "the later message", until: { late.texts.first })
            trial.run(for: .milliseconds(500))
            let texts = late.distinctTexts.map(\.text)
            try expect(texts == ["later"], "the later message alone", actual: "\(texts)")
            peer.habits.acknowledges = true
            peer.sendAck()
            try program.awaitDelivered(2, to: peer.user)
            try program.awaitDelivered(1, to: late.user)
        },
    ]
}

import InklingWire

/// The sending of messages: M-1, M-9 to M-12, and M-33 to M-35.
extension Catalogue {
    /// Waits until `count` different records have arrived.
    @discardableResult
    private static func awaitRecords(
        _ count: Int, _ trial: Trial, _ peer: Peer, within limit: Duration = .seconds(5)
    ) throws -> [Record] {
        try trial.wait(
            limit, for: "\(count) different records", actual: { "\(peer.distinctTexts.count) came" },
            until: {
                let records = peer.distinctTexts
                return records.count >= count ? records : nil
            })
    }

    /// Fails unless these records are exactly one message with this text, cut by the rules of M-1.
    private static func expectCut(_ records: [Record], of text: String, from first: UInt32? = nil) throws {
        let number = first ?? records.first?.number ?? 0
        for (index, record) in records.enumerated() {
            let isFirst = index == 0
            let isLast = index == records.count - 1
            try expect(
                record.number == number + UInt32(index) && record.isFirst == isFirst && record.isLast == isLast,
                "record \(number + UInt32(index)), first: \(isFirst), last: \(isLast)",
                actual: "record \(record.number), first: \(record.isFirst), last: \(record.isLast)")
        }
        let whole = records.map(\.text).joined()
        try expect(
            Array(whole.utf8) == Array(text.utf8), "records that make up the \(text.utf8.count) bytes that were sent",
            actual: "they make up \(whole.utf8.count) bytes" + (whole.utf8.count == text.utf8.count ? ", others" : ""))
    }

    /// Fails if a datagram with wrong frames arrived, such as one with half a character.
    private static func expectSound(_ peer: Peer) throws {
        if let broken = peer.received.first(where: { $0.frames.isEmpty }) {
            throw Finding(
                expected: "sealed datagrams with sound frames, each text valid UTF-8 by itself",
                actual: "one has \(broken.plaintext.prefix(40).map { $0 }.hex)…")
        }
    }

    static let messageCases: [Case] = [
        Case("M-1.1", "a short message is one record, with both flags", also: "W-28") { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            for (number, text) in ["h", "Zoë 👋", "\u{FEFF}\n\t\u{0}"].enumerated() {
                program.send(text)
                let records = try awaitRecords(number + 1, trial, peer)
                try expectCut([records[number]], of: text)
            }
            try expectSound(peer)
        },
        Case("M-1.2", "a message of 65,536 bytes is cut at the boundaries of scalars, in order", also: "W-13", "W-28") {
            trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            let text = String(repeating: "aé€😀", count: 6_553) + "abcdef"
            program.send(text, tag: "long")
            try program.awaitDelivered(to: peer.user, within: .seconds(10))
            try expectSound(peer)
            try expectCut(peer.distinctTexts, of: text)
        },
        Case("M-1.3", "a message of 65,537 bytes, and an empty one, are refused", also: "J-6") { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            for text in [String(repeating: "x", count: 65_537), String(repeating: "€", count: 21_846), ""] {
                let start = trial.now
                program.send(text, tag: "refused")
                try program.await("error", since: start, "an `error` for a message of \(text.utf8.count) bytes")
            }
            trial.run(for: .milliseconds(300))
            try expect(
                peer.texts.isEmpty && program.events("sent").isEmpty, "nothing is sent of what is refused",
                actual: "\(peer.texts.count) records, \(program.events("sent").count) `sent`")
            program.send("fits")
            try expectCut(try awaitRecords(1, trial, peer), of: "fits")
        },
        Case(
            "M-9.1", "each datagram with a message begins with a typing frame that says no typing", also: "M-98", "T-10"
        ) {
            trial in
            let (program, peer) = try trial.startForMessages()
            program.compose("hello")
            try peer.awaitTyping(true)
            let start = trial.now
            program.send("hello " + String(repeating: "and more ", count: 300))
            try awaitRecords(3, trial, peer)
            trial.run(for: .milliseconds(800))
            for frames in peer.received(since: start) where frames.record != nil {
                guard case .typing(let status)? = frames.frames.first, !status.isTyping else {
                    throw Finding(
                        expected: "a typing frame without typing as the first frame",
                        actual: frames.frames.map(\.word).joined(separator: "+"))
                }
            }
        },
        Case("M-9.2", "a record that is sent again carries the status of that moment") { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("hello")
            try awaitRecords(1, trial, peer)
            program.compose("and then")
            let edge = try peer.awaitTyping(true)
            let again = try peer.await("the record again", since: edge.at) {
                $0.text != nil && $0.counter > edge.counter
            }
            guard case .typing(let status)? = again.frames.first, status.isTyping else {
                throw Finding(
                    expected: "a typing frame that says typing, which has begun again",
                    actual: again.frames.map(\.word).joined(separator: "+"))
            }
        },
        Case("M-10.1", "no record goes out that is 16 or more above the lowest unacknowledged one") { trial in
            let (program, peer) = try trial.startForMessages()
            program.send(String(repeating: "x", count: 50 * 1_167))
            let first = try awaitRecords(1, trial, peer)[0].number
            // Acks widen the window, and bitmaps take records out of flight. The peer never acknowledges the lowest
            // record.
            var (next, bits): (UInt32, UInt16) = (first, 0)
            let end = trial.now + .seconds(6)
            while trial.now < end {
                trial.run(for: .milliseconds(20))
                let numbers = Set(peer.distinctTexts.map(\.number))
                if next < first + 6, numbers.contains(next) { next += 1 }
                bits = (0..<16).reduce(0) { numbers.contains(next + 1 + UInt32($1)) ? $0 | 1 << UInt16($1) : $0 }
                peer.send([.ack(Ack(next: next, bitmap: bits))])
            }
            let highest = peer.distinctTexts.map(\.number).max() ?? 0
            try expect(
                highest == next + 15, "record \(next + 15) as the highest while record \(next) is not acknowledged",
                actual: "the highest is \(highest)")
        },
        Case(
            "M-34.1", "the window is 4 at first, and grows by one with each ack of something new", also: "M-31", "M-32"
        ) { trial in
            let (program, peer) = try trial.startForMessages()
            program.send(String(repeating: "x", count: 40 * 1_167))
            // Record 0 was acknowledged when the link came up, or will be soon. So the window is 4 or 5.
            let first = try awaitRecords(4, trial, peer)[0].number
            trial.run(for: .milliseconds(80))
            let start = peer.distinctTexts.count
            try expect((4...5).contains(start), "4 or 5 records in flight at first", actual: "\(start)")
            var expected = start
            for step in 1...5 {
                peer.send([.ack(Ack(next: first + UInt32(step)))])
                expected += 2
                try awaitRecords(expected, trial, peer, within: .milliseconds(150))
            }
            try expect(
                peer.distinctTexts.count == expected, "\(expected) records after 5 acks of one record each",
                actual: "\(peer.distinctTexts.count)")
        },
        Case(
            "M-33.1", "when the timer runs out the lowest record alone goes out again, and the window is 1",
            also: "M-35"
        ) { trial in
            let (program, peer) = try trial.startForMessages()
            program.send(String(repeating: "x", count: 4 * 1_167))
            let records = try awaitRecords(4, trial, peer)
            let count = peer.texts.count
            let again = try trial.wait(.seconds(2), for: "a record again", until: { peer.texts.dropFirst(count).first })
            trial.run(for: .milliseconds(100))
            let others = peer.texts.dropFirst(count + 1).filter { $0.at < again.at + .milliseconds(100) }
            try expect(
                again.value.number == records[0].number && others.isEmpty,
                "record \(records[0].number) again, and no other",
                actual: "record \(again.value.number), and \(others.count) others")
            // An ack of the lowest record lets the program repeat the others, except those in its bitmap.
            let start = trial.now
            peer.send([.ack(Ack(next: records[1].number, bitmap: 0b1))])
            trial.run(for: .milliseconds(150))
            let follow = Set(peer.texts.filter { $0.at >= start }.map(\.value.number))
            try expect(
                follow == [records[1].number, records[3].number],
                "records \(records[1].number) and \(records[3].number) again", actual: "\(follow.sorted())")
        },
        Case("M-11.1", "an unacknowledged record is sent again after 200 ms or more, doubling up to 1 s") { trial in
            let (program, peer) = try trial.startForMessages()
            program.send("hello")
            try awaitRecords(1, trial, peer)
            trial.run(for: .milliseconds(4_500))
            let times = peer.texts.map(\.at)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            let words = gaps.map(\.text).joined(separator: ", ")
            try expect(
                gaps.count >= 3, "at least 4 transmissions in 4.5 s",
                actual: "there were \(times.count), with \(words) between them")
            // On a slow machine one transmission may be late and the next one in time.
            let slack = trial.late / 2
            for (gap, least) in zip(gaps, [200, 400, 800, 1_000]) {
                try expect(gap >= .milliseconds(least) - slack, "200 ms or more, doubled up to 1 s", actual: words)
            }
            try expect(gaps.allSatisfy({ $0 <= .seconds(1) + trial.late }), "intervals up to 1 s", actual: words)
        },
        Case("M-11.2", "the timer adapts to quick acks down to 200 ms") { trial in
            let (program, peer) = try trial.startForMessages(acknowledges: true)
            for number in 1...8 {
                program.send("message \(number)")
                try program.awaitDelivered(number, to: peer.user)
            }
            peer.habits.acknowledges = false
            let start = trial.now
            program.send("not acknowledged")
            let times = try trial.wait(
                .seconds(3), for: "the last record twice",
                until: {
                    let times = peer.texts.filter { $0.at >= start }.map(\.at)
                    return times.count >= 2 ? times : nil
                })
            try expect(
                times[1] - start >= .milliseconds(195) && times[1] - times[0] < .milliseconds(450),
                "little more than 200 ms before a record is sent again, as acks came within milliseconds",
                actual: "it was after \((times[1] - times[0]).text)")
        },
        Case("M-12.1", "a record is sent again at once when three later ones are acknowledged") { trial in
            let (program, peer) = try trial.startForMessages()
            var delays: [Duration] = []
            // The timer takes 200 ms or more. Because the machine may be slow, only one of four rounds must be faster.
            for round in 0..<4 {
                program.send(String(repeating: "x", count: 4 * 1_167))
                let base = try awaitRecords(4 * round + 4, trial, peer)[4 * round].number
                let start = trial.now
                let count = peer.texts.count
                peer.send([.ack(Ack(next: base, bitmap: 0b111))])
                let again = try trial.wait(
                    .seconds(3), for: "record \(base) again",
                    until: { peer.texts.dropFirst(count).first { $0.value.number == base } })
                delays.append(again.at - start)
                peer.send([.ack(Ack(next: base + 4, bitmap: 0))])
                try program.awaitDelivered(round + 1, to: peer.user)
                if delays.last.map({ $0 < .milliseconds(120) }) == true { return }
            }
            throw Finding(
                expected: "a missing record at once after the ack of three later ones, before its timer of 200 ms",
                actual: "it came after " + delays.map(\.text).joined(separator: ", "))
        },
    ]
}

extension Trial {
    /// Starts the program with a link. The peer acknowledges all records by itself, or none.
    func startForMessages(acknowledges: Bool = false) throws -> (program: Program, peer: Peer) {
        let (program, peer) = try startLinked(needs: .messages)
        peer.habits.acknowledges = acknowledges
        return (program, peer)
    }
}

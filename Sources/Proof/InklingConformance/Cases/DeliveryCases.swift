import InklingWire

/// The acknowledgement, order and delivery of a peer's messages (M-2, M-15, M-16).
extension Catalogue {
    /// Waits for an ack of the peer's stream after an instant, and fails unless the ack has this `next` and bitmap.
    private static func expectAck(
        next: UInt32, bitmap: UInt16, _ trial: Trial, _ peer: Peer, since start: Duration, _ why: String
    ) throws {
        let expected = "an ack that expects record \(next) next, with the bitmap \(bitmap): \(why)"
        let frames = try peer.await(expected, since: start) { $0.ack != nil }
        guard let ack = frames.ack, ack.next == next, ack.bitmap == bitmap else {
            throw Finding(expected: expected, actual: frames.ack.map { Frame.ack($0).word } ?? "none")
        }
        try trial.judge("the ack", at: frames.at, after: start, is: .zero)
    }

    /// Sends a record, and fails unless its ack has this `next` and bitmap.
    private static func expectAck(
        next: UInt32, bitmap: UInt16 = 0, _ trial: Trial, _ peer: Peer, to number: UInt32, text: String = "text",
        first: Bool = true, last: Bool = true, _ why: String
    ) throws {
        let start = trial.now
        peer.sendRecord(number, text, first: first, last: last)
        try expectAck(next: next, bitmap: bitmap, trial, peer, since: start, why)
        trial.run(for: .milliseconds(5))
    }

    /// Waits until the program has shown as many messages of the peer as `texts` has. Fails unless the texts are these.
    private static func expectMessages(
        _ texts: [String], _ trial: Trial, _ program: Program, _ peer: Peer, _ why: String
    ) throws {
        try trial.wait(
            .seconds(5), for: "\(texts.count) messages, \(why)",
            actual: { "there are \(program.messages(from: peer.user).count)" },
            when: { program.messages(from: peer.user).count >= texts.count })
        trial.run(for: .milliseconds(200))
        let shown = program.messages(from: peer.user)
        guard shown.map({ Array($0.utf8) }) == texts.map({ Array($0.utf8) }) else {
            let short = { (list: [String]) in "\(list.map { $0.count > 20 ? $0.prefix(20) + "…" : $0 })" }
            throw Finding(expected: "the messages \(short(texts)), \(why)", actual: short(shown))
        }
    }

    /// Cuts a text into records of a size, by the rules of M-1.
    private static func records(_ size: Int, of text: String) -> [(text: String, first: Bool, last: Bool)] {
        var rest = Substring(text)
        var pieces: [String] = []
        while !rest.isEmpty {
            pieces.append(String(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces.enumerated().map { ($1, $0 == 0, $0 == pieces.count - 1) }
    }

    static let deliveryCases: [Case] = [
        Case("M-2.1", "messages are shown in the order of their records, whichever comes first") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            for number in [UInt32(4), 2, 3] { peer.sendRecord(number, "message \(number)") }
            trial.run(for: .milliseconds(200))
            try expect(
                program.messages(from: peer.user).isEmpty, "no message before record 1 has come",
                actual: "\(program.messages(from: peer.user))")
            peer.sendRecord(1, "message 1")
            try expectMessages(
                ["message 1", "message 2", "message 3", "message 4"], trial, program, peer,
                "in the order of the records")
        },
        Case("M-2.2", "a message is shown once, however often its record comes", also: "M-16") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.sendRecord(1, "once")
            peer.sendRecord(1, "once")
            try program.await("message")
            peer.sendRecord(1, "once")
            peer.sendRecord(3, "third")
            peer.sendRecord(3, "third")
            peer.sendRecord(2, "second")
            peer.sendRecord(3, "third")
            try expectMessages(["once", "second", "third"], trial, program, peer, "each once")
        },
        Case("M-2.3", "a message of several records is shown when it is whole") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.sendRecord(3, "👋", first: false, last: true)
            peer.sendRecord(1, "Zoë ", first: true, last: false)
            trial.run(for: .milliseconds(200))
            try expect(
                program.messages(from: peer.user).isEmpty, "no message before it is whole",
                actual: "\(program.messages(from: peer.user))")
            peer.sendRecord(2, "says ", first: false, last: false)
            try expectMessages(["Zoë says 👋"], trial, program, peer, "one and whole")
        },
        Case("M-2.4", "a first record within a message is dropped with it, and acknowledged", also: "M-1", "M-23") {
            trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            try peer.deliver([("half", true, false), ("whole", true, true), ("good", true, true)])
            try expectMessages(["good"], trial, program, peer, "as the second record begins a message within another")
        },
        Case(
            "M-2.5", "a record that begins no message where none is under way is dropped, and acknowledged",
            also: "M-1", "M-23"
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            try peer.deliver([("end", false, true), ("middle", false, false), ("good", true, true)])
            try expectMessages(["good"], trial, program, peer, "as the first two records have no beginning")
        },
        Case(
            "M-2.6", "a message of more than 65,536 bytes is dropped and acknowledged, and one of 65,536 is shown",
            also: "M-1", "M-23"
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let fits = String(repeating: "x", count: 65_536)
            try peer.deliver(records(1_167, of: fits))
            try expectMessages([fits], trial, program, peer, "of 65,536 bytes")
            try peer.deliver(records(1_100, of: fits + "y"))
            try peer.deliver([("good", true, true)])
            try expectMessages([fits, "good"], trial, program, peer, "and none of 65,537 bytes")
        },
        Case("M-2.7", "texts of every kind are shown as they were sent", also: "J-8", "W-28") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let texts = [
                "\u{1B}[31mred\u{7}", "\u{202E}evil", "a\u{0}b", "\u{FEFF}mark", "cafe\u{301}", "\"\\\n\r\t", " ",
                "\u{10FFFF}",
            ]
            try peer.deliver(texts.map { ($0, true, true) })
            try expectMessages(texts, trial, program, peer, "byte for byte")
        },
        Case("M-15.1", "each record is acknowledged at once: what is expected, and what is beyond", also: "M-16") {
            trial in
            let (_, peer) = try trial.startLinked(needs: .messages)
            try expectAck(next: 2, trial, peer, to: 1, "record 1 came")
            try expectAck(next: 2, bitmap: 0b1, trial, peer, to: 3, "record 3 came, and 2 did not")
            try expectAck(next: 2, bitmap: 0b101, trial, peer, to: 5, "records 3 and 5 came, and 2 did not")
            try expectAck(next: 2, bitmap: 0b101, trial, peer, to: 3, "record 3 came again")
            try expectAck(next: 2, bitmap: 0b101, trial, peer, to: 1, "record 1 came again")
            try expectAck(next: 4, bitmap: 0b1, trial, peer, to: 2, "record 2 came")
            try expectAck(next: 6, trial, peer, to: 4, "record 4 came")
        },
        Case("M-15.2", "records of a message under way are acknowledged as well") { trial in
            let (_, peer) = try trial.startLinked(needs: .messages)
            try expectAck(next: 2, trial, peer, to: 1, last: false, "record 1 came")
            try expectAck(next: 3, trial, peer, to: 2, first: false, last: false, "record 2 came")
            try expectAck(next: 3, bitmap: 0b10, trial, peer, to: 5, "record 5 came")
        },
        Case(
            "M-31.1", "the bitmap delivers nothing, and bits for records that were not sent mean nothing", also: "M-17"
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            program.send("one")
            program.send("two")
            let first = try peer.await("the first message", since: .zero) { $0.text != nil }
            let number = first.record?.number ?? 0
            try peer.await("the second message", since: .zero) { ($0.text?.number ?? 0) > number }
            peer.send([.ack(Ack(next: number, bitmap: 0xFFFF))])
            try trial.never(for: .milliseconds(300), "nothing is delivered by a bitmap") {
                !program.outcomes(for: peer.user).isEmpty
            }
            peer.send([.ack(Ack(next: number + 2))])
            try program.awaitDelivered(2, to: peer.user)
        },
        Case("M-16.1", "a record 16 or more above the expected one is neither held nor delivered", also: "M-15") {
            trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            try expectAck(next: 1, trial, peer, to: 17, text: "too far", "record 17 is outside of the window")
            try expectAck(next: 1, trial, peer, to: 40_000, text: "too far", "record 40,000 is outside of the window")
            try expectAck(
                next: 1, trial, peer, to: UInt32.max, text: "too far", "record 2^32 − 1 is outside of the window")
            try expectAck(
                next: 1, bitmap: 0x4000, trial, peer, to: 16, text: "16", "record 16 is the last within the window")
            peer.state.nextOwnRecord = 1
            try peer.deliver((1...15).map { ("\($0)", true, true) })
            try expectMessages((1...16).map(String.init), trial, program, peer, "without those outside of the window")
            try expectAck(next: 18, trial, peer, to: 17, text: "17", "record 17 comes again")
            try expectMessages((1...17).map(String.init), trial, program, peer, "with record 17 as it came again")
        },
        Case("M-38.1", "a forward drops what is held below it, and a message begun, and is acknowledged", also: "M-15")
        { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.sendRecord(1, "begun", first: true, last: false)
            peer.sendRecord(3, "held")
            try peer.await("an ack that names record 3 as held") { $0.ack == Ack(next: 2, bitmap: 1) }
            let start = trial.now
            peer.send([.forward(5)])
            try expectAck(next: 5, bitmap: 0, trial, peer, since: start, "a forward to 5 came")
            trial.run(for: .milliseconds(10))
            try expectAck(next: 6, trial, peer, to: 5, text: "good", "record 5 came")
            let again = trial.now
            peer.send([.forward(4)])
            try expectAck(next: 6, bitmap: 0, trial, peer, since: again, "a forward below the expected record came")
            try expectMessages(["good"], trial, program, peer, "as the forward skipped the others")
        },
        Case("M-16.2", "a long message comes whole although every third record is lost once", also: "M-2", "M-11") {
            trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.acknowledges = false
            let text = String((0..<11_000).map { "\($0) " }.joined())
            program.send(text, tag: "long")
            // The peer accepts two of three records at once. The peer accepts each third record only when the program
            // repeats it.
            var taken = 0
            try trial.wait(
                .seconds(15), for: "`delivered` of a message of \(text.utf8.count) bytes",
                actual: { "the peer expects record \(peer.state.nextRecord) next" },
                until: {
                    let all = peer.texts.map(\.value)
                    let waiting = Array(all.dropFirst(taken))
                    taken = all.count
                    for record in waiting {
                        let isNew = record.number >= peer.state.nextRecord && !peer.state.beyond.contains(record.number)
                        if isNew, record.number % 3 == 1, all.count(where: { $0.number == record.number }) < 2 {
                            continue
                        }
                        if record.number >= peer.state.nextRecord, record.number < peer.state.nextRecord + 16 {
                            peer.state.beyond.insert(record.number)
                        }
                        while peer.state.beyond.remove(peer.state.nextRecord) != nil { peer.state.nextRecord += 1 }
                        peer.sendAck()
                    }
                    return program.outcomes(for: peer.user).isEmpty ? nil : true
                })
            let records = peer.distinctTexts
            try expect(
                records.map(\.text).joined() == text && program.outcomes(for: peer.user).map(\.kind) == ["delivered"],
                "the whole text in records, and one `delivered`",
                actual: "\(records.count) records, and \(program.outcomes(for: peer.user).map(\.kind))")
        },
    ]
}

import InklingWire

extension Catalogue {
    /// The reading of TXT records that peers publish.
    static let recordCases: [Case] = [
        ignored("D-5.1", "a TXT record without txtvers is ignored") { key, _ in ["k=" + key] },
        ignored("D-5.2", "a TXT record with another txtvers is ignored") { key, _ in ["txtvers=1", "k=" + key] },
        ignored("D-5.3", "a TXT record without a key is ignored") { _, _ in ["txtvers=2"] },
        ignored("D-5.4", "a TXT record whose key is a character short is ignored") { key, _ in
            ["txtvers=2", "k=" + key.dropLast()]
        },
        ignored("D-5.5", "a TXT record whose key is padded is ignored") { key, _ in ["txtvers=2", "k=\(key)="] },
        Case("D-5.6", "a TXT record whose key is not canonical is ignored", also: "W-3") { trial in
            let (program, peer) = try start(trial)
            // The key is the prime 2^255 - 19 itself, which is not canonical.
            let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
            let nonce = trial.generator.next()
            let sealed = seal(prime, nonce: nonce, chatName: trial.chatName)
            try expectIgnored(["txtvers=2", "k=" + base64url(sealed)], nonce, peer, program)
        },
        ignored("D-5.7", "a TXT record of more than 1,300 bytes is ignored") { key, _ in
            ["txtvers=2", "k=" + key] + (0..<7).map { "x\($0)=" + String(repeating: "y", count: 200) }
        },
        taken("D-5.10", "a TXT record of 1,300 bytes is taken") { key, _ in
            let strings = ["txtvers=2", "k=" + key] + (0..<6).map { "x\($0)=" + String(repeating: "y", count: 190) }
            let left = 1_300 - record(strings).count - 1
            return strings + [String(repeating: "z", count: left)]
        },
        Case("D-5.11", "a key that was sealed for another chat is ignored", also: "W-10") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let other = ChatKeys(open: trial.chatName + "-other")
            try expectIgnored(["txtvers=2", "k=" + sealedText(peer, nonce: nonce, in: other)], nonce, peer, program)
        },
        Case("D-5.12", "a key that was sealed under another nonce is ignored", also: "W-10") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            try expectIgnored(
                ["txtvers=2", "k=" + sealedText(peer, nonce: nonce ^ 1, in: peer.chat)], nonce, peer, program)
        },
        taken("D-6.1", "unknown keys in a TXT record are ignored") { key, _ in
            ["txtvers=2", "a=b", "flag", "k=" + key, "zz=", "n=0000000000000000"]
        },
        taken("D-6.2", "the keys of a TXT record are compared without regard to case") { key, _ in
            ["TxtVers=2", "K=" + key]
        },
        taken("D-6.3", "the first of a repeated key counts") { key, other in
            ["txtvers=2", "k=" + key, "txtvers=1", "k=" + other]
        },
        taken("D-6.4", "empty strings, and those that begin with =, mean nothing") { key, _ in
            ["", "=txtvers=1", "txtvers=2", "=k=x", "k=" + key, ""]
        },
        ignored("D-6.5", "a key without = has an empty value, and counts if it is the first") { key, _ in
            ["txtvers", "txtvers=2", "k=" + key]
        },
    ]

    /// Returns strings as a TXT record.
    static func record(_ strings: [String]) -> [UInt8] {
        strings.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    }

    /// Returns a peer's sealed key as text.
    static func sealedText(_ peer: Peer, nonce: UInt64, in chat: ChatKeys) -> String {
        base64url(chat.instanceKey(of: peer.identity.publicKey, nonce: nonce))
    }

    /// Returns the base64url of a sealed key, whose 48 bytes need no padding.
    static func base64url(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return stride(from: 0, to: bytes.count - 2, by: 3).map { place in
            let group = bytes[place..<place + 3].reduce(0) { $0 << 8 | Int($1) }
            return String([18, 12, 6, 0].map { alphabet[group >> $0 & 63] })
        }.joined()
    }

    /// Seals a key that the specification forbids, for an open chat.
    private static func seal(_ bytes: [UInt8], nonce: UInt64, chatName: String) -> [UInt8] {
        func derive(_ key: [UInt8], _ salt: [UInt8], _ label: String) -> [UInt8] {
            deriveKey(key, salt: salt, info: Array(label.utf8))
        }
        let chatKey = SHA256.hash(Array("inkling/2 open chat".utf8) + [0] + chatName.utf8)
        let sealKey = derive(chatKey, [], "inkling/2 seal")
        return CipherKey(bytes: derive(sealKey, nonce.bigEndianBytes, "inkling/2 instance"))
            .seal(bytes, counter: 0, associatedData: [])
    }

    /// Returns a case with a record that the program must ignore, made from the peer's sealed key and another one.
    private static func ignored(
        _ id: String, _ title: String, _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title) { trial in
            let (program, peer) = try start(trial)
            let (nonce, key, other) = keys(of: peer)
            try expectIgnored(strings(key, other), nonce, peer, program)
        }
    }

    /// Returns a case with a record that the program must accept.
    private static func taken(
        _ id: String, _ title: String, _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title) { trial in
            let (program, peer) = try start(trial)
            let (nonce, key, other) = keys(of: peer)
            try advertise(peer, in: trial, nonce: nonce, txt: record(strings(key, other)))
            try awaitLink(peer, from: program)
        }
    }

    private static func keys(of peer: Peer) -> (nonce: UInt64, key: String, other: String) {
        let nonce = peer.trial.generator.next()
        let other = KeyPair(using: &peer.trial.generator).publicKey
        return (
            nonce, sealedText(peer, nonce: nonce, in: peer.chat),
            base64url(peer.chat.instanceKey(of: other, nonce: nonce))
        )
    }
}

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
            also: "M-11", "M-99"
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

import InklingWire

extension Catalogue {
    private static let message: [UInt8] = [4, 0, 0, 0, 1, 3]

    static let frameCases: [Case] = [
        Case("W-24.2", "a frame that is cut off anywhere spoils the whole datagram") { trial in
            let frames: [(String, [UInt8])] = [
                ("a heartbeat", [1, 0, 10]), ("a typing frame", [2, 1]),
                ("an ack", [5, 0, 0, 0, 1, 0, 0]), ("a forward", [9, 0, 0, 0, 9]), ("a pong", [7, 0, 1]),
                ("a bye", [8, 0]),
                ("an extension", [0x40, 0, 3, 1, 2, 3]),
            ]
            var samples: [Sample] = []
            for (what, bytes) in frames {
                for size in 1..<bytes.count {
                    samples.append(Sample("\(what) cut after \(size) bytes", Array(bytes.prefix(size))))
                }
            }
            for size in 1..<message.count {
                samples.append(Sample("a message cut after \(size) bytes", Array(message.prefix(size))))
            }
            try refuse(samples, trial)
        },
        Case("W-24.3", "no frame before a bad one is applied", also: "W-25", "W-28", "W-40") { trial in
            let (program, peer) = try trial.startLinked()
            let bad: [(String, [UInt8])] = [
                ("typing before a cut ping", [2, 1, 6, 0]), ("typing before an unknown type", [2, 1, 10]),
                ("typing before a name without a flag", [2, 1, 4, 0, 0, 0, 1, 0x11]),
                ("a bye before an unknown type", [8, 0, 0x3F]),
                ("a heartbeat with typing before itself", [1, 1, 10, 1, 1, 10]),
                ("away before an empty message", [2, 2] + message),
            ]
            let start = trial.now
            for (_, bytes) in bad { peer.sendPlaintext(bytes) }
            try peer.ping()
            trial.run(for: .milliseconds(300))
            try expect(
                program.typingChanges(of: peer.user, since: start).isEmpty
                    && program.peerEvents(peer.user, since: start).isEmpty,
                "nothing is applied of \(bad.map(\.0).joined(separator: "; "))",
                actual: "typing or presence changed: \(program.peerEvents(peer.user, since: start).count) `peer`")
            peer.announce(typing: true)
            try trial.wait(.seconds(3), for: "typing is shown", when: { program.shows(typing: peer.user) })
        },
        Case("W-25.1", "a type below 0x40 that is not in the table is an error") { trial in
            var samples: [Sample] = []
            for type in [UInt8(0x00), 0x03] + Array(0x0A...0x3F) {
                samples.append(Sample("type 0x\([type].hex) alone", [type]))
                samples.append(Sample("type 0x\([type].hex) as an extension", [type, 0, 2, 1, 1]))
            }
            try refuse(samples, trial)
        },
        Case("W-28.2", "what stands behind a message is its text") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            // The text has the bytes of a bye frame, which are two control characters.
            peer.sendMessage("hi\u{8}\u{0}")
            try trial.wait(
                .seconds(3), for: "the text with all bytes behind it",
                actual: { "the texts \(program.messages(from: peer.user))" },
                when: { program.messages(from: peer.user) == ["hi\u{8}\u{0}"] })
            try peer.ping()
            try expect(
                program.presence(of: peer.user) == "online", "no bye in the text of a message",
                actual: "the peer went offline")
        },
        Case("W-28.3", "texts of all scalars up to U+10FFFF are valid", also: "J-8") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let texts = [
                "\u{7F}\u{80}\u{7FF}\u{800}", "\u{D7FF}\u{E000}\u{FFFF}", "\u{10000}\u{10FFFF}", "\u{FEFF}x", "\u{0}",
            ]
            for text in texts { peer.sendMessage(text) }
            try trial.wait(
                .seconds(4), for: "all \(texts.count) messages, as they were sent",
                actual: { "the texts \(program.messages(from: peer.user).map { Array($0.utf8).hex })" },
                when: {
                    program.messages(from: peer.user).map { Array($0.utf8) } == texts.map { Array($0.utf8) }
                })
        },
    ]

    /// Sends plaintexts with a ping before each, and fails if the program answers one.
    private static func refuse(_ samples: [Sample], _ trial: Trial) throws {
        let (program, peer) = try trial.startLinked()
        try trial.expectParsing(of: samples, areValid: false, by: program, from: peer)
    }

    /// Sends plaintexts with a ping before each, and fails unless the program answers all.
    static func accept(_ samples: [Sample], _ trial: Trial) throws {
        let (program, peer) = try trial.startLinked()
        try trial.expectParsing(of: samples, areValid: true, by: program, from: peer)
    }
}

extension Catalogue {
    static let extensionCases: [Case] = [
        Case("X-1.1", "it sends unassigned bits of status and flags as zero") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            program.compose("h")
            trial.run(for: .milliseconds(700))
            program.send("h")
            program.send(String(repeating: "long ", count: 600))
            try trial.wait(
                .seconds(4), for: "four records", actual: { "\(peer.texts.count) came" },
                when: {
                    peer.texts.count >= 4 && peer.texts.contains { $0.value.isLast && $0.value.number > 0 }
                })
            trial.run(for: .seconds(1))
            for datagram in peer.received where !datagram.frames.isEmpty {
                // Parsing loses unknown bits. Encoding the parsed frames again writes zeros in their place.
                let frames = datagram.frames
                try expect(
                    frames.contains(where: { if case .unknown = $0 { true } else { false } })
                        || Frames.encode(frames) == datagram.plaintext, "the frames \(Frames.encode(frames).hex)",
                    actual: datagram.plaintext.hex)
            }
        },
        Case("X-1.2", "it ignores unassigned bits of a status", also: "T-14") { trial in
            let (program, peer) = try trial.startLinked()
            peer.habits.heartbeat = nil
            peer.sendPlaintext([2, 0xF8 | 1])
            try trial.wait(.seconds(3), for: "typing is shown", when: { program.shows(typing: peer.user) })
            peer.sendPlaintext([2, 0xF8])
            try trial.wait(
                .seconds(2), for: "typing is hidden", until: { program.shows(typing: peer.user) ? nil : true })
            peer.sendPlaintext([1, 0xF8 | 1, 10])
            try trial.wait(.seconds(2), for: "typing is shown", when: { program.shows(typing: peer.user) })
            try expect(
                program.presence(of: peer.user) == "online", "online",
                actual: program.presence(of: peer.user) ?? "no presence")
        },
        Case("X-1.3", "it ignores unassigned flags of a message", also: "M-2") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let head: [UInt8] = [2, 0, 4]
            peer.sendPlaintext(head + UInt32(1).bigEndianBytes + [0x0D] + Array("one, ".utf8))
            peer.sendPlaintext(head + UInt32(2).bigEndianBytes + [0x0C] + Array("two, ".utf8))
            peer.sendPlaintext(head + UInt32(3).bigEndianBytes + [0x0E] + Array("three".utf8))
            try trial.wait(
                .seconds(3), for: "the message \"one, two, three\"",
                actual: { "the messages \(program.messages(from: peer.user))" },
                when: { program.messages(from: peer.user) == ["one, two, three"] })
        },
        Case("X-2.1", "an unassigned bye reason counts as 0", also: "L-34", "M-18") { trial in
            let program = try trial.start()
            for reason: UInt8 in [6, 64, 255] {
                let peer = try trial.peer(named: "Peer \(reason)")
                try peer.open(to: program)
                peer.sendPlaintext([8, reason])
                peer.forget()
                let event = try program.awaitPresence("offline", of: peer.user, within: .seconds(1))
                try expect(event.value["why"]?.string == "bye", "`why` is `bye`", actual: program.describe(event.value))
            }
        },
        Case("X-3.1", "an unknown frame from 0x40 on changes nothing in the frames beside it", also: "W-26") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            peer.habits.heartbeat = nil
            let unknown: [UInt8] = [0x7A, 0, 5, 8, 0, 2, 0, 10]
            peer.sendPlaintext(unknown + [2, 1])
            try trial.wait(.seconds(3), for: "typing is shown", when: { program.shows(typing: peer.user) })
            peer.sendPlaintext([2, 0] + unknown)
            try trial.wait(
                .seconds(2), for: "typing is hidden", until: { program.shows(typing: peer.user) ? nil : true })
            let record: [UInt8] = [4, 0, 0, 0, 1, 3] + Array("hi".utf8)
            peer.sendPlaintext([2, 0] + unknown + [0xF1, 0, 0] + record)
            try trial.wait(.seconds(3), for: "the message", when: { program.messages(from: peer.user) == ["hi"] })
            peer.sendPlaintext(unknown + [8, 0])
            peer.forget()
            try program.awaitPresence("offline", of: peer.user, within: .seconds(2))
        },
        Case("X-3.2", "an unknown frame alone is evidence like any other datagram", also: "W-26", "L-23") { trial in
            let (program, peer) = try trial.startLinked()
            peer.habits.heartbeat = nil
            peer.habits.answersPings = false
            // For six seconds the peer sends only unknown frames. Without them, the link would be down after about
            // three.
            for _ in 0..<10 {
                trial.run(for: .milliseconds(500))
                peer.sendPlaintext([0x41, 0, 1, 0])
            }
            try expect(
                program.presence(of: peer.user) == "online", "online",
                actual: program.presence(of: peer.user) ?? "no presence")
            try peer.ping()
        },
        Case("W-26.1", "frames of unknown types from 0x40 on are skipped by their length", also: "X-3") { trial in
            var samples: [Sample] = []
            for type in UInt8(0x40)...0xFF {
                samples.append(Sample("type 0x\([type].hex) of no bytes", [type, 0, 0]))
                let size = Int(type)
                samples.append(
                    Sample(
                        "type 0x\([type].hex) of \(size) bytes",
                        [type, 0, UInt8(size)] + trial.noise(size) + [7, 0, 1]))
            }
            samples.append(Sample("the longest extension", [0x77] + UInt16(1_169).bigEndianBytes + trial.noise(1_169)))
            samples.append(Sample("a body that looks like a bye", [0x40, 0, 2, 8, 0]))
            samples.append(Sample("a body that is no frame", [0xFF, 0, 3, 0, 9, 0x3F]))
            samples.append(Sample("one type three times", [0x50, 0, 0, 0x50, 0, 1, 9, 0x50, 0, 0]))
            try accept(samples, trial)
        },
        Case("W-40.2", "records of unknown types are taken with any flags", also: "M-26") { trial in
            let (program, peer) = try trial.startLinked()
            for type: UInt8 in 4...15 {
                let number = peer.state.nextOwnRecord
                peer.state.nextOwnRecord += 1
                peer.sendPlaintext([2, 0, 4] + number.bigEndianBytes + [type << 4 | type & 3])
                try trial.wait(
                    .seconds(2), for: "an ack of a record of type \(type)",
                    when: { peer.state.acknowledged > number })
            }
        },
        Case("M-81.1", "a text beside a text ID comes once and is acknowledged", also: "M-87") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            let run = trial.noise(8)
            func id(_ number: UInt64) -> [UInt8] {
                run + number.bigEndianBytes + UInt64(1_764_000_000_000).bigEndianBytes
            }
            func frame(_ body: [UInt8]) -> [UInt8] { [0x41, 0, UInt8(body.count)] + body }
            let whole: UInt8 = 3
            let records: [(name: String, frames: [UInt8], flags: UInt8)] = [
                ("with an ID", frame(id(1)), whole),
                ("with an ID that is too short", frame(id(2).dropLast()), whole),
                ("with an ID that is too long", frame(id(3) + [0]), whole),
                ("with an empty ID", frame([]), whole),
                ("with the number 0", frame(id(0)), whole),
                ("with two IDs", frame(id(4)) + frame(id(5)), whole),
                ("with an ID, in two parts", frame(id(6)), 1), (": the second", frame(id(7)), 2),
            ]
            var expected: [String] = []
            for (name, frames, flags) in records {
                let number = peer.state.nextOwnRecord
                peer.state.nextOwnRecord += 1
                peer.sendPlaintext([2, 0] + frame(id(8)) + [7, 0, 1])
                peer.sendPlaintext([2, 0] + frames + [4] + number.bigEndianBytes + [flags] + Array(name.utf8))
                if flags == 2 { expected.append((expected.popLast() ?? "") + name) } else { expected.append(name) }
                try trial.wait(
                    .seconds(3), for: "an ack of the record \(name)", when: { peer.state.acknowledged > number })
            }
            try trial.wait(
                .seconds(3), for: "the messages \(expected)",
                actual: { "the messages \(program.messages(from: peer.user))" },
                when: { program.messages(from: peer.user) == expected })
        },
    ]
}

extension Catalogue {
    static let datagramCases: [Case] = [
        Case("W-12.1", "empty datagrams, other versions and unknown kinds are dropped", also: "W-15", "X-6") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            var samples = [Sample("an empty datagram", [])]
            for first in UInt8.min...UInt8.max where first != 0x21 {
                let what = "an initiation whose first byte is 0x\([first].hex)"
                samples.append(Sample(what, [first] + opening.bytes.dropFirst()))
            }
            for first in UInt8.min...UInt8.max where first != 0x25 {
                let ask = stranger.chat.ask(token: 7).encode()
                samples.append(Sample("an ask whose first byte is 0x\([first].hex)", [first] + ask.dropFirst()))
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-13.1", "datagrams a byte too long are dropped", also: "W-15") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            let ask = stranger.chat.ask(token: 9).encode()
            var samples: [Sample] = []
            for extra in [1, 2, 8, 15, 17, 32] {
                let tail = [UInt8](repeating: 0, count: extra)
                samples.append(Sample("an initiation with \(extra) bytes more", opening.bytes + tail))
                samples.append(Sample("an ask with \(extra) bytes more", ask + tail))
            }
            let cookie = [UInt8](repeating: 1, count: 16)
            samples.append(Sample("an initiation with a cookie and a byte more", opening.bytes + cookie + [0]))
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-13.2", "a sealed datagram of 1,200 bytes is taken, one of 1,201 is dropped") { trial in
            let (program, peer) = try trial.startLinked()
            // The datagram has a ping, and a record so far beyond the expected one that the program does not hold it
            // (M-16).
            let message: [UInt8] = [0x04, 0, 0, 1, 0, 3]
            func plaintext(_ size: Int, token: UInt16) -> [UInt8] {
                let text = [UInt8](repeating: 0x78, count: size - 3 - message.count)
                return [0x06] + token.bigEndianBytes + message + text
            }
            let (good, bad) = (trial.token(), trial.token())
            peer.sendPlaintext(plaintext(1_175, token: good))
            try trial.wait(.seconds(3), for: "a pong to 1,200 bytes", when: { peer.hasPong(good) })
            peer.sendPlaintext(plaintext(1_176, token: bad))
            try peer.ping()
            try trial.never(for: .milliseconds(200), "no pong to 1,201 bytes", when: { peer.hasPong(bad) })
        },
        Case("W-14.1", "an ask whose last 48 bytes are not zero draws no tell", also: "W-15") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let ask = stranger.chat.ask(token: 0x0A0B_0C0D).encode()
            var samples: [Sample] = []
            for position in 17..<65 {
                for bit in [0, 3, 7] {
                    var bytes = ask
                    bytes[position] = 1 << UInt8(bit)
                    samples.append(Sample("an ask with bit \(bit) of byte \(position) set", bytes))
                }
            }
            try trial.expectSilence(
                to: samples, from: stranger, at: program, witness: witness, batch: 8, pause: .milliseconds(20))
            _ = try trial.ask(by: stranger, at: program)
        },
        Case("W-14.2", "its own asks end in 48 zero bytes", also: "D-11") { trial in
            let peer = try trial.peer()
            peer.habits.answersAsks = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let bytes = try trial.wait(
                .seconds(5), for: "an ask",
                until: { peer.asks.first?.bytes ?? peer.unreadable.first { $0.bytes.first == 0x25 }?.bytes })
            try expect(
                bytes.count == 65 && bytes[17...].allSatisfy({ $0 == 0 }), "65 bytes, the last 48 zero",
                actual: bytes.hex)
            peer.habits.answersAsks = true
            try peer.awaitLink(from: program)
        },
        Case("W-15.1", "datagrams for indices that it does not hold are not answered") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            var samples: [Sample] = []
            for _ in 0..<60 {
                let index = UInt32(truncatingIfNeeded: trial.generator.next())
                let response = Response(receiverIndex: index, noise: trial.noise(64))
                samples.append(Sample("a response to nothing", response.encode()))
                samples.append(
                    Sample("a retry of nothing", Retry(receiverIndex: index, cookie: trial.noise(16)).encode()))
                let sealed = SealedDatagram(receiverIndex: index, counter: 0, ciphertext: trial.noise(40))
                samples.append(Sample("a sealed datagram of no session", sealed.encode()))
                let tell = stranger.chat.tell(token: 7, nonce: 0, key: stranger.identity.publicKey)
                samples.append(Sample("a tell that was not asked for", tell.encode()))
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            try trial.expectAnswers(to: stranger, from: program)
        },
    ]
}

extension Trial {
    /// Random bytes.
    func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) } }
}

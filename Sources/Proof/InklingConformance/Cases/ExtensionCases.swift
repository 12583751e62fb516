import InklingWire

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

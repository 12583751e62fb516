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
        Case("W-25.2", "a type below 0x40 that occurs twice is an error", also: "W-27") { trial in
            let ack: [UInt8] = [5, 0, 0, 0, 1, 0, 0]
            let forward: [UInt8] = [9, 0, 0, 0, 9]
            try refuse(
                [
                    Sample("two pings", [6, 0, 1]), Sample("two equal pongs", [7, 0, 1, 7, 0, 1]),
                    Sample("two acks", ack + ack), Sample("two forwards", forward + forward),
                    Sample("two byes", [8, 0, 8, 0]), Sample("two heartbeats", [1, 0, 10, 1, 0, 10]),
                    Sample("two typing frames", [2, 0, 2, 0]),
                    Sample("two pongs with an extension between", [7, 0, 1, 0x40, 0, 0, 7, 0, 2]),
                ], trial)
        },
        Case("W-27.1", "more than one frame with a status is an error") { trial in
            try refuse(
                [
                    Sample("heartbeat and typing", [1, 0, 10, 2, 0]), Sample("typing and heartbeat", [2, 1, 1, 0, 10]),
                    Sample("typing, pong and heartbeat", [2, 1, 7, 0, 1, 1, 1, 10]),
                    Sample("two statuses around an extension", [2, 1, 0x40, 0, 0, 1, 1, 10]),
                ], trial)
        },
        Case("W-28.1", "the text of a message is at least a byte, and valid UTF-8 by itself") { trial in
            var samples = [Sample("a message without text", message)]
            for (what, text) in badTexts { samples.append(Sample("a message with \(what)", message + text)) }
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
        Case("W-40.1", "a name, invite or successor without both flags is an error") { trial in
            var samples: [Sample] = []
            for type: UInt8 in 1...3 {
                for flags: UInt8 in 0...2 {
                    samples.append(
                        Sample("type \(type) with the flags \(flags)", [4, 0, 0, 0, 1, type << 4 | flags, 0x61]))
                }
            }
            try refuse(samples, trial)
        },
        Case("M-25.1", "names of 0 to 64 bytes are shown, others are taken as empty", also: "J-7") { trial in
            let program = try trial.start()
            for name in [String(repeating: "n", count: 64), String(repeating: "\u{1F95E}", count: 16), "\u{E9}", ""] {
                let peer = try trial.peer(named: name)
                try peer.open(to: program)
                try expectName(name, of: peer, by: program)
            }
            for bytes in [[UInt8](repeating: 0x6E, count: 65)] + badTexts.map(\.1) {
                let peer = try trial.peer(named: "Bob")
                try peer.open(to: program)
                let number = peer.state.nextOwnRecord
                peer.send([.typing(peer.status), .record(Record(number: number, type: .name, body: bytes))])
                try program.await("peer", where: { $0["user"]?.string == peer.user && $0["name"]?.string == "" })
            }
        },
    ]

    private static func expectName(_ name: String, of peer: Peer, by program: Program) throws {
        let event = program.peerEvents(peer.user).last?.value
        try expect(
            event?["name"]?.string.map({ Array($0.utf8) }) == Array(name.utf8), "the name \(name)",
            actual: event.map(program.describe) ?? "no `peer`")
    }

    private static let badTexts: [(String, [UInt8])] = [
        ("a lone continuation", [0x61, 0x80]), ("an overlong slash", [0xC0, 0xAF]),
        ("an overlong form of three bytes", [0xE0, 0x80, 0xAF]), ("a surrogate", [0xED, 0xA0, 0x80]),
        ("a scalar cut off", [0x61, 0xF0, 0x9F, 0x91]), ("a scalar above U+10FFFF", [0xF4, 0x90, 0x80, 0x80]),
        ("the byte 0xff", [0xFF]),
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

import InklingWire

extension Catalogue {
    /// Lines that are not commands, and the reasons.
    private static let badLines: [(what: String, line: [UInt8])] = [
        ("text that is not JSON", Array("hello".utf8)), ("an array", Array("[1,2]".utf8)),
        ("a string", Array("\"who\"".utf8)),
        ("a number", Array("7".utf8)), ("null", Array("null".utf8)),
        ("an object that is cut off", Array("{\"do\":\"who\"".utf8)),
        ("two objects", Array("{\"do\":\"away\"}{\"do\":\"away\"}".utf8)), ("no `do`", Array("{\"text\":\"x\"}".utf8)),
        ("an unknown `do`", Array("{\"do\":\"dance\"}".utf8)), ("a `do` in capitals", Array("{\"do\":\"AWAY\"}".utf8)),
        ("a `do` that is null", Array("{\"do\":null}".utf8)), ("a `do` that is a number", Array("{\"do\":7}".utf8)),
        ("compose without a text", Array("{\"do\":\"compose\"}".utf8)),
        ("compose of a number", Array("{\"do\":\"compose\",\"text\":7}".utf8)),
        ("compose of null", Array("{\"do\":\"compose\",\"text\":null}".utf8)),
        ("compose in the chat null", Array("{\"do\":\"compose\",\"text\":\"x\",\"chat\":null}".utf8)),
        ("bytes that are not UTF-8", Array("{\"do\":\"compose\",\"text\":\"".utf8) + [0xFF] + Array("\"}".utf8)),
        ("100,000 brackets", [UInt8](repeating: 0x5B, count: 100_000)),
    ]

    static let driverLineCases: [Case] = [
        Case("J-4.1", "a line that is no command yields one `error` with its number, and changes nothing") { trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .milliseconds(300))
            let start = trial.now
            for (what, line) in badLines {
                program.feed(line)
                try program.await(
                    "error", "an `error` with the line \(program.written) for \(what)",
                    where: {
                        $0["line"]?.integer == program.written && $0["code"]?.string != nil && $0["text"]?.string != nil
                    })
            }
            trial.run(for: .milliseconds(500))
            try expect(
                program.events("error").count == badLines.count, "\(badLines.count) errors",
                actual: "\(program.events("error").count)")
            let statuses = peer.received(since: start).compactMap(\.status)
            try expect(
                !statuses.contains(where: { $0.isTyping || $0.isAway }), "no change of the status",
                actual: "a status that says typing or away")
            program.compose("h")
            try peer.await("typing after a good line") { $0.status?.isTyping == true }
        },
        Case("J-4.2", "a member that is missing or not valid yields an `error`, whichever the command") { trial in
            let program = try trial.start(needs: .chats, .messages, .block, .who)
            let lines = [
                "{\"do\":\"send\"}", "{\"do\":\"send\",\"text\":\"\\ud800\"}", "{\"do\":\"send\",\"text\":null}",
                "{\"do\":\"send\",\"text\":[\"x\"]}",
                "{\"do\":\"send\",\"text\":\"x\",\"tag\":5}", "{\"do\":\"send\",\"text\":\"x\",\"tag\":null}",
                "{\"do\":\"send\",\"text\":\"x\",\"chat\":7}", "{\"do\":\"join\"}", "{\"do\":\"join\",\"chat\":null}",
                "{\"do\":\"join\",\"chat\":\"\"}", "{\"do\":\"join\",\"chat\":\"x\",\"secret\":null}",
                "{\"do\":\"join\",\"chat\":\"x\",\"secret\":\"sesame\"}", "{\"do\":\"leave\"}",
                "{\"do\":\"open\",\"chat\":null}",
                "{\"do\":\"open\",\"chat\":true}", "{\"do\":\"block\"}", "{\"do\":\"block\",\"user\":null}",
                "{\"do\":\"block\",\"user\":\"nobody\"}", "{\"do\":\"unblock\"}", "{\"do\":\"who\",\"chat\":7}",
                "{\"do\":\"move\"}", "{\"do\":\"move\",\"keys\":null}", "{\"do\":\"move\",\"keys\":[7]}",
                "{\"do\":\"admit\"}", "{\"do\":\"admit\",\"key\":null}",
                "{\"do\":\"hold\"}", "{\"do\":\"waiting\",\"chat\":7}", "{\"do\":\"forget\",\"entry\":\"x\"}",
            ]
            for line in lines {
                program.feed(Array(line.utf8))
                try program.await("error", "an `error` for \(line)", where: { $0["line"]?.integer == program.written })
            }
            program.tell(["do": "who"])
            try program.await("who")
            try expect(
                program.events("error").count == lines.count && program.events("sent").isEmpty,
                "\(lines.count) errors, and nothing sent", actual: "\(program.events("error").count) errors")
            // Without the secret of chat x, the program must not open the open chat x.
            let peer = try trial.peer(in: ChatKeys(open: "x"))
            _ = try peer.begin(to: program)
            try trial.never(for: .milliseconds(400), "no chat x", when: { peer.datagramCount > 0 })
        },
        Case("J-4.3", "a line of more than 1 MiB yields an `error`, and a shorter one is taken") { trial in
            let (program, peer) = try trial.startLinked()
            let head = Array("{\"do\":\"compose\",\"text\":\"".utf8)
            program.feed(head + [UInt8](repeating: 0x78, count: 1_100_000) + [0x22, 0x7D])
            try program.await("error", within: .seconds(10), where: { $0["line"]?.integer == program.written })
            trial.run(for: .milliseconds(300))
            try expect(
                !peer.received.contains(where: { $0.status?.isTyping == true }) && program.events("error").count == 1,
                "one error, and no typing", actual: "\(program.events("error").count) errors")
            program.feed(head + [UInt8](repeating: 0x78, count: 1_000_000) + [0x22, 0x7D])
            try peer.await("typing after a line of 1,000,028 bytes", within: .seconds(10), since: .zero) {
                $0.status?.isTyping == true
            }
            program.feed(Array("{".utf8))
            try program.await("error", where: { $0["line"]?.integer == program.written })
        },
        Case("J-4.4", "a blank line is skipped, but counted") { trial in
            let program = try trial.start()
            for count in [1, 3, 10] {
                for _ in 0..<count { program.feed([]) }
                program.feed(Array("?".utf8))
                try program.await(
                    "error", "an `error` for line \(program.written)",
                    where: {
                        $0["line"]?.integer == program.written
                    })
            }
            try expect(
                program.events("error").count == 3, "no error for a blank line",
                actual: "\(program.events("error").count) errors")
        },
        Case("J-4.5", "unknown members are ignored") { trial in
            let (program, peer) = try trial.startLinked()
            program.feed(
                Array("{\"at\":1.5,\"x\":{\"y\":[null,{}]},\"do\":\"compose\",\"mood\":null,\"text\":\"h\"}".utf8))
            try peer.await("typing", since: .zero) { $0.status?.isTyping == true }
            try expect(
                program.events("error").isEmpty, "no error", actual: program.describe(program.events("error")[0].value))
        },
        Case("J-4.6", "escapes in a line stand for their characters", also: "J-1") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            program.feed(
                Array(" {\t\"text\" : \"\\u0063af\\u00e9 \\ud83e\\udd5e\\n\\\"\\/\" , \"do\":\"s\\u0065nd\"} ".utf8))
            let datagram = try peer.await("a message", since: .zero) { $0.text != nil }
            try expect(
                datagram.record?.text == "caf\u{E9} \u{1F95E}\n\"/", "the text with its escapes undone",
                actual: datagram.record?.text ?? "")
        },
        Case("J-4.7", "a command about a chat that the node is not in yields an `error`", also: "J-5") { trial in
            let program = try trial.start(needs: .chats, .who)
            for command in ["leave", "open", "who", "compose"] {
                program.tell(["do": .string(command), "chat": "another chat", "text": "x"])
                let error = try program.await("error", where: { $0["line"]?.integer == program.written })
                try expect(
                    error.value["code"]?.string == "unknown-chat", "the code `unknown-chat` for `\(command)`",
                    actual: program.describe(error.value))
            }
            try expect(program.events("who").isEmpty, "no `who`", actual: "one came")
        },
    ]
}
